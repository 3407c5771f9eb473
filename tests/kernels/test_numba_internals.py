"""With a numba whose internals are not known, kernels are compiled by numba's own compiler, and one warning says so."""

import os
import subprocess
import sys

import pytest

from pymc_nrm.kernels import part_compiler as numba_internals
from pymc_nrm.kernels.part_compiler import CACHE, COMPILER, are_known, lacking_names

KERNELS = """
import warnings
from typing import NamedTuple
from pymc_nrm.kernels import part_compiler as numba_internals
from pymc_nrm.kernels.generic import generic, kernel

{change}

@generic
def area(shape):
    raise NotImplementedError

class Square(NamedTuple):
    side: float
    def area(self):
        return double(self.side) ** 2 / 4.0

@kernel
def double(x):
    return x + x

@kernel
def total(shape, n):
    result = 0.0
    for _ in range(n):
        result += area(shape)
    return double(result)

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(total(Square(3.0), 4) + double(1.0))
stats = double.dispatcher.stats
print(sum(stats.cache_hits.values()) if stats.cache_path else "no cache")
print(*[warning.message for warning in caught], sep="\\n")
"""


def run(tmp_path, change):
    """What a program prints that changes what is known of numba."""
    script = tmp_path / "kernels.py"
    if not script.exists():
        script.write_text(KERNELS.format(change=change))
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_all_names_are_there():
    assert lacking_names(CACHE | COMPILER) == []
    assert are_known()


def test_what_is_lacking_is_named():
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
        ("numba_internals.LAST = (0, 60)", ["0"], "is not among the versions that were tried, 0.61 to 0.60"),
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
        value, found, *warnings = run(tmp_path, change)
        assert float(value) == 74.0 and found == expected
        if message is None:
            assert warnings == [""] or warnings == []
        else:
            assert len(warnings) == 1 and message in warnings[0]


def test_versions_are_in_order():
    assert numba_internals.FIRST < numba_internals.LAST
