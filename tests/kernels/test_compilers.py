"""Parts of compiled functions, the line about compilation, and kernels with a numba whose internals are not known."""

import contextlib
import itertools
import logging
import os
import pathlib
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import pytest
from numba.core import event
from pytensor.link.utils import write_generated_src

import pymc_nrm as nrm
from pymc_nrm.kernels import compilation, compile_times
from pymc_nrm.kernels.compilation import announced_compilation, without_announcements
from pymc_nrm.kernels.generic import kernel, precompile
from pymc_nrm.kernels.part_compiler import CACHE, COMPILER, are_known, lacking_names

MODULE = """
import sys
from pymc_nrm.kernels.generic import kernel

@kernel
def checked(x):
    # Both need Python objects that machine code finds by address.
    print("x is", x)
    if x > 3.0:
        raise ValueError("too large", x)
    return x + 1.0

@kernel
def double(x):
    return 2.0 * checked(x)

@kernel
def triple(x):
    return 3.0 * checked(x)

for f in [globals()[name] for name in sys.argv[1:]]:
    print(f(1.0))
    try:
        f(5.0)
    except ValueError as error:
        print(error.args)
for f in (checked, double, triple):
    loaded = [sum(d.stats.cache_hits.values()) for d in (f.dispatcher, f.part)]
    print(f.__name__, loaded)
"""


@pytest.fixture
def run(tmp_path):
    """Run some kernels of the module in a process of its own; the lines that it prints."""
    path = tmp_path / "kernels_with_a_part.py"
    path.write_text(MODULE)

    def run(*names):
        done = subprocess.run([sys.executable, path, *names], capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    return run


def results(factor):
    return ["x is 1.0", str(2.0 * factor), "x is 5.0", "('too large', 5.0)"]


@pytest.mark.slow
def test_parts_print_and_raise_wherever_they_come_from(run):
    compiled = run("double")
    assert compiled == [*results(2), "checked [0, 0]", "double [0, 0]", "triple [0, 0]"]
    part_from_disk = run("triple")
    assert part_from_disk == [*results(3), "checked [0, 1]", "double [0, 0]", "triple [0, 0]"]
    whole_from_disk = run("double", "triple")
    assert whole_from_disk == [*results(2), *results(3), "checked [0, 0]", "double [1, 0]", "triple [1, 0]"]


# Functions without a file are not kept on disk.
SHAPES = """
import numpy as np
from typing import NamedTuple
from pymc_nrm.kernels.generic import generic, kernel

@generic
def area(shape):
    raise NotImplementedError

class Square(NamedTuple):
    side: float

    def area(self):
        return np.full(2, self.side).prod()

@kernel
def half(shape):
    return 0.5 * area(shape)

@kernel
def total(shape):
    return area(shape) + half(shape)
"""


def test_what_parts_and_the_whole_call_is_compiled_once():
    space = {"__name__": __name__}
    exec(SHAPES, space)
    with event.install_recorder("numba:compile") as recorder:
        assert space["total"](space["Square"](3.0)) == 13.5
    counts = Counter(e.data["dispatcher"].py_func.__name__ for _, e in recorder.buffer if e.is_start)
    assert counts["area"] == counts["half"] == counts["total"] == 1


@pytest.fixture
def messages(caplog, monkeypatch, tmp_path):
    monkeypatch.setattr(compile_times, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(compilation, "SECONDS_BEFORE_LINE", 0.0)
    caplog.set_level(logging.INFO, logger="pymc")
    monkeypatch.setattr(logging.getLogger("pymc"), "propagate", True)
    return lambda: [record.getMessage() for record in caplog.records]


@pytest.fixture
def compile_two():
    """Two functions that are compiled anew each time: they have no source file whose cache is used."""
    first, second = (kernel(eval("lambda x: x + 1.0")) for _ in range(2))

    def compile_them():
        precompile(first, 1.0)
        precompile(second, 1.0)

    return compile_them


def test_one_line_names_the_step_and_the_families_the_first_time(messages, compile_two):
    for _ in range(2):
        with announced_compilation("SplitMerge", [nrm.PoissonGamma, nrm.NormalGamma, nrm.NormalGamma]):
            compile_two()
    [line] = messages()
    assert line.startswith("Compiling SplitMerge for NormalGamma and PoissonGamma; later")


def test_the_line_says_how_long_it_took_the_last_time(messages, monkeypatch):
    clock = itertools.count(0.0, 8.0)
    monkeypatch.setattr(compilation, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    for _ in range(2):
        with announced_compilation("SplitMerge", [nrm.PoissonGamma]):
            for _ in range(2):
                precompile(kernel(eval("lambda x: x + 1.0")), 1.0)
    start, end = "Compiling SplitMerge for PoissonGamma", "; later runs load it from disk."
    # Two parts begin, and the context exits.
    assert messages() == [f"{start}{end}", f"{start}, which took 16 s last time{end}"]


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"x": "long"}', b"\xff"])
def test_times_in_a_damaged_file_are_not_known(content, monkeypatch, tmp_path):
    monkeypatch.setattr(compile_times, "cache_folder", lambda: tmp_path)
    compile_times.keep_seconds("x", 3.25)
    assert compile_times.last_seconds("x") == 3.2 and compile_times.last_seconds("y") is None
    [path] = tmp_path.iterdir()
    path.write_bytes(content)
    assert compile_times.last_seconds("x") is None
    compile_times.keep_seconds("x", 4.0)
    assert compile_times.last_seconds("x") == 4.0


@pytest.mark.parametrize("folder", [None, "missing"])
def test_times_are_not_kept_without_a_folder(folder, monkeypatch, tmp_path):
    monkeypatch.setattr(compile_times, "cache_folder", lambda: folder and tmp_path / folder)
    compile_times.keep_seconds("x", 3.0)
    assert compile_times.last_seconds("x") is None and not list(tmp_path.iterdir())


def test_quiet_runs_say_nothing(messages, compile_two):
    with without_announcements(), announced_compilation("SplitMerge", []):
        compile_two()
    assert messages() == []
    with without_announcements(quiet=False), announced_compilation("SplitMerge", []):
        precompile(kernel(eval("lambda x: x + 2.0")), 1.0)
        precompile(kernel(eval("lambda x: x + 3.0")), 1.0)
    assert len(messages()) == 1


@pytest.mark.parametrize(("progressbar", "has_seconds"), [(True, True), (False, False)])
def test_seconds_are_shown_where_bars_are(messages, compile_two, progressbar, has_seconds):
    titles = []

    @contextlib.contextmanager
    def note(title):
        titles.append(title)
        yield

    with without_announcements(False, progressbar), announced_compilation("SplitMerge", [nrm.PoissonGamma], note):
        compile_two()
    assert titles == ["Compiling SplitMerge for PoissonGamma"] * has_seconds


CHANGED = f"""
import warnings
from pymc_nrm.kernels import part_compiler as numba_internals

{{change}}
{SHAPES}
@kernel
def double(x):
    return x + x

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(total(Square(3.0)) + double(1.0))
stats = double.dispatcher.stats
print(sum(stats.cache_hits.values()) if stats.cache_path else "no cache")
print(*[warning.message for warning in caught], sep="\\n")
"""


def run_changed(tmp_path, change):
    """What a program prints that changes what is known of numba."""
    script = tmp_path / "kernels.py"
    if not script.exists():
        script.write_text(CHANGED.format(change=change))
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_names_that_numba_lacks_are_named():
    assert lacking_names(CACHE | COMPILER) == []
    assert are_known()
    used = {
        "numba.core.compiler": {"Compiler": ("_compile_core", "_compile_wood")},
        "numba.core.caching": {"Bank": ("save",)},
        "numba.core.nowhere": {"Thing": ()},
    }
    found = lacking_names(used)
    assert found == ["numba.core.compiler.Compiler._compile_wood", "numba.core.caching.Bank", "numba.core.nowhere"]


@pytest.mark.quick("version")
@pytest.mark.parametrize(
    ("change", "hits", "message"),
    [
        ("", ["0", "1"], None),
        ("numba_internals.LAST = (0, 60)", ["0"], "is not among the tested versions, 0.61 to 0.60"),
        (
            "numba_internals.COMPILER['numba.core.compiler']['Compiler'] = ('_compile_wood',)",
            ["0", "1"],
            "lacks numba.core.compiler.Compiler._compile_wood. Kernels are compiled by numba's own compiler, which "
            "takes longer, and are kept on disk as usual",
        ),
        (
            "numba_internals.CACHE['numba.core.caching']['FunctionCache'] = ('_money',)",
            ["no cache"],
            "lacks numba.core.caching.FunctionCache._money. Kernels are compiled by numba's own compiler, which takes "
            "longer, and are not kept on disk",
        ),
    ],
    ids=["known", "version", "compiler", "cache"],
)
def test_kernels_run(tmp_path, change, hits, message):
    for expected in hits:
        value, found, *warnings = run_changed(tmp_path, change)
        assert float(value) == 15.5 and found == expected
        if message is None:
            assert warnings == [""] or warnings == []
        else:
            assert len(warnings) == 1 and message in warnings[0]


def test_sources_of_a_run_have_a_folder_that_it_removes():
    folder = pathlib.Path(write_generated_src("x = 1")).parent
    assert folder.name.startswith("pymc_nrm_generated_")
    assert f"generated_src_dir={folder}" in os.environ["PYTENSOR_FLAGS"]
