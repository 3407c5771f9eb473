"""The test of the house: a wing can be taken away, and all other tests pass."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pytest

from pymc_nrm.kernels.layers import WINGS

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Documentation and benchmarks are about all of the package.
ABOUT_ALL = tuple(
    f"tests/test_{name}.py"
    for name in (
        "docs",
        "notebooks",
        "benchmarks",
        "benchmark_page",
        "house",
        "manuscripts",
        "project_files",
        "stability",
    )
)


def without_wing(folder, wing):
    """A copy of the repository without a wing, the wings that need it, and their lines of registration."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    gone = {wing, *(other for other, needs in WINGS.items() if wing in needs)}
    left_out = tuple(f"{place}/{name}/" for place in ("pymc_nrm", "tests") for name in gone)
    for name in tracked.splitlines():
        if not name.startswith(left_out):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    for name in gone:
        change(folder / "pymc_nrm" / "kernels" / "layers.py", rf'^    "{name}": \(.*\),\n')
        change(folder / "pymc_nrm" / "__init__.py", rf'^    "{name}",\n|(?<= ){name}, (?=.*$)|"{name}", ')
    return folder


def change(path, pattern):
    text = path.read_text()
    changed = re.sub(pattern, "", text, flags=re.MULTILINE)
    assert changed != text
    path.write_text(changed)


@pytest.fixture(scope="module")
def place():
    """A folder for one copy after another, beside their machine code: what a wing does not touch compiles once."""
    with tempfile.TemporaryDirectory() as folder:
        yield pathlib.Path(folder)


@pytest.mark.slow
@pytest.mark.xdist_group("house")
@pytest.mark.parametrize("wing", WINGS)
def test_a_wing_can_be_taken_away(wing, place):
    """All quick tests of what remains pass, some 5,000."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs the repository")
    shutil.rmtree(place / "pymc_nrm", ignore_errors=True)
    folder = without_wing(place / "pymc_nrm", wing)
    ignored = [word for name in ABOUT_ALL for word in ("--ignore", name)]
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", *ignored]
    environment = os.environ | {"PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(place / "machine_code")}
    environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
