"""Functions that only become part of compiled ones work without machine code of their own."""

import subprocess
import sys
from collections import Counter

import pytest
from numba.core import event

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
WITHOUT_FILE = """
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
    exec(WITHOUT_FILE, space)
    with event.install_recorder("numba:compile") as recorder:
        assert space["total"](space["Square"](3.0)) == 13.5
    counts = Counter(e.data["dispatcher"].py_func.__name__ for _, e in recorder.buffer if e.is_start)
    assert counts["area"] == counts["half"] == counts["total"] == 1
