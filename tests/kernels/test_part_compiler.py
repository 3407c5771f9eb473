"""Functions that only become part of compiled ones work without machine code of their own."""

import subprocess
import sys

import pytest

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


def test_parts_print_and_raise_wherever_they_come_from(run):
    compiled = run("double")
    assert compiled == [*results(2), "checked [0, 0]", "double [0, 0]", "triple [0, 0]"]
    part_from_disk = run("triple")
    assert part_from_disk == [*results(3), "checked [0, 1]", "double [0, 0]", "triple [0, 0]"]
    whole_from_disk = run("double", "triple")
    assert whole_from_disk == [*results(2), *results(3), "checked [0, 0]", "double [1, 0]", "triple [1, 0]"]
