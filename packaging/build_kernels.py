"""Build a wheel with machine code of all families and recipes, for this version of Python and of numba.

``uv run --with build --with wheel packaging/build_kernels.py dist`` compiles for every processor of the architecture,
in some minutes, and writes ``dist/pymc_nrm_kernels-*.whl``, with the tags of the wheel of numba.  Where it is
installed, ``pymc_nrm`` loads kernels from it instead of compiling them.
"""

import importlib.metadata
import json
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

from numba.core.caching import UserProvidedCacheLocator

import pymc_nrm
from pymc_nrm.kernels import compile_times
from pymc_nrm.kernels.kernel_cache import with_hash, without_hash
from pymc_nrm.kernels.reached_files import ROOT
from pymc_nrm.kernels.shipped import PACKAGE

PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "pymc-nrm-kernels"
version = "{version}"
description = "Machine code of pymc-nrm, so that its first run compiles nothing"
license = "Apache-2.0"
requires-python = "=={python}.*"
dependencies = ["pymc-nrm=={version}", "numba=={numba}"]

[tool.hatch.build]
artifacts = ["*.nbi", "*.nbc"]
"""


def main():
    """Compile, copy the machine code into a package, and build its wheel."""
    target = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        cache, project = Path(name, "cache"), Path(name, "project")
        processor = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(cache)}
        subprocess.run([sys.executable, "-m", "pymc_nrm.warm_up"], env=os.environ | processor, check=True)
        fill(project / PACKAGE, cache)
        versions = {"version": pymc_nrm.__version__, "numba": importlib.metadata.version("numba")}
        python = ".".join(map(str, sys.version_info[:2]))
        project.joinpath("pyproject.toml").write_text(PROJECT.format(python=python, **versions))
        subprocess.run([sys.executable, "-m", "build", "--wheel", "--outdir", name, project], check=True)
        (wheel,) = Path(name).glob("*.whl")
        command = [sys.executable, "-m", "wheel", "tags", "--remove", *tags_of_numba(), wheel]
        tagged = subprocess.run(command, check=True, capture_output=True)
        target.mkdir(parents=True, exist_ok=True)
        made = Path(name, tagged.stdout.decode().split()[-1])
        target.joinpath(made.name).write_bytes(made.read_bytes())
        print(f"{made.name}: {made.stat().st_size / 1e6:.1f} MB")


def tags_of_numba():
    """Options for ``wheel tags``: the same interpreter, binary interface and platforms as the installed numba."""
    lines = importlib.metadata.distribution("numba").read_text("WHEEL").splitlines()
    tags = [line.removeprefix("Tag: ").split("-") for line in lines if line.startswith("Tag: ")]
    python, abi, _ = tags[0]
    return ["--python-tag", python, "--abi-tag", abi, "--platform-tag", ".".join(platform for *_, platform in tags)]


def fill(package, cache):
    """Copy machine code from a cache into a package, by the folder of its source, without times of change."""
    for folder in [ROOT, *(path for path in ROOT.rglob("*") if path.is_dir())]:
        found = cache / UserProvidedCacheLocator.get_suitable_cache_subpath(str(folder / "x.py"))
        copies = package / folder.relative_to(ROOT)
        for path in found.glob("*.nb[ic]"):
            copies.mkdir(parents=True, exist_ok=True)
            copies.joinpath(path.name).write_bytes(_without_time(path))
    package.joinpath("__init__.py").write_text('"""Machine code of pymc_nrm, which loads it from here."""\n')
    (seconds,) = cache.rglob(compile_times.NAME)
    known = json.loads(seconds.read_text())
    # Other titles tell how long this machine compiled.
    known = {title: 0.0 for title in known if title.startswith("moves ")}
    package.joinpath(compile_times.NAME).write_text(json.dumps(known))


def _without_time(path):
    """Content of an index or a file of machine code, without the time when its source was changed."""
    content = path.read_bytes()
    if path.suffix == ".nbc":
        _, key, code = pickle.loads(without_hash(content, path.name))
        return with_hash(pickle.dumps((None, key, code), protocol=-1))
    version = pickle.dumps(pickle.loads(content), protocol=-1)
    _, overloads = pickle.loads(content[len(version) :])
    return version + pickle.dumps((None, overloads), protocol=-1)


if __name__ == "__main__":
    main()
