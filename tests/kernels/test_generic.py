"""Dispatch in Python and in numba, and machine code on disk that cannot be out of date."""

import importlib
import pathlib
import pickle
import shutil
import subprocess
import sys
import textwrap
from typing import NamedTuple

import numba
import numpy as np
import pytest

import pymc_nrm
from pymc_nrm.families import PoissonGamma
from pymc_nrm.families.erased.entry import entry
from pymc_nrm.kernels import kernel_cache
from pymc_nrm.kernels.generic import generic, kernel, precompile
from pymc_nrm.kernels.kernel_cache import class_fingerprint, function_fingerprint
from pymc_nrm.moves.slice_labels import slice_move
from pymc_nrm.moves.tree_guided import tree_guided_cycles
from pymc_nrm.testing import kernel_inputs


@generic
def area(shape):
    raise NotImplementedError


@generic
def perimeter(shape, unit):
    return -1.0 * unit


class Square(NamedTuple):
    side: float

    def area(self):
        return self.side**2


class Rectangle(NamedTuple):
    width: float
    height: float

    def area(self):
        return self.width * self.height


class Pair(NamedTuple):
    first: Square
    second: Rectangle

    def area(self):
        return area(self.first) + area(self.second)


class Ring(Square):
    pass


class Polygon(NamedTuple):
    corners: np.ndarray
    scale: float


@area.register(Polygon)
def polygon_area(shape):
    x, y = shape.corners[:, 0], shape.corners[:, 1]
    total = 0.0
    for i in range(len(x)):
        total += x[i - 1] * y[i] - x[i] * y[i - 1]
    return 0.5 * total * shape.scale**2


@kernel
def twice_the_area(shape):
    """Doc of the kernel."""
    return 2.0 * area(shape)


@kernel
def area_and_perimeter(shape):
    return twice_the_area(shape) / 2.0, perimeter(shape, 3.0)


@kernel
def total_of_two(shapes):
    return area(shapes[0]) + area(shapes[1])


@kernel
def count_corners(shape):
    return corners(shape)


SHAPES = [
    (Square(3.0), 9.0),
    (Rectangle(2.0, 5.0), 10.0),
    (Rectangle(2, 5.0), 10.0),
    (Polygon(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), 2.0), 4.0),
    (Pair(Square(3.0), Rectangle(2.0, 5.0)), 19.0),
    (Ring(2.0), 4.0),
]


@pytest.mark.parametrize(("shape", "value"), SHAPES)
def test_dispatch_is_the_same_in_python_and_in_kernels(shape, value):
    assert area(shape) == pytest.approx(value)
    assert twice_the_area(shape) == pytest.approx(2 * value)
    assert area_and_perimeter(shape) == pytest.approx((value, -3.0))


def triangle(factor):
    """A class of the same name and fields for each factor, as a cell of a notebook that is edited and run defines."""

    class Triangle(NamedTuple):
        width: float
        height: float

        def area(self):
            return factor * self.width * self.height

    return Triangle


def test_classes_of_one_name_run_their_own_code():
    """Numba alone takes a class for an earlier one of the same name and fields."""
    half, whole = triangle(0.5)(2.0, 3.0), triangle(1.0)(2.0, 3.0)
    assert twice_the_area(half) == 6.0
    assert twice_the_area(whole) == 12.0
    assert twice_the_area(half) == 6.0
    precompile(total_of_two, (whole, half))
    assert total_of_two((whole, half)) == 9.0
    assert type(whole).__name__ == "Triangle"


def test_what_a_class_has_cannot_be_registered_again():
    with pytest.raises(TypeError, match="Square already has a method area; another cannot be registered"):
        area.register(Square)
    # A class that derives from it may have its own.
    area.register(Ring)(lambda shape: 1.0)
    assert area(Ring(2.0)) == 1.0
    del area.registry[Ring]


def test_a_type_that_registered_nothing_gets_the_default():
    class Circle(NamedTuple):
        radius: float

    assert perimeter(Circle(1.0), 2.0) == -2.0
    with pytest.raises(NotImplementedError):
        area(Circle(1.0))
    with pytest.raises(Exception, match=r"NotImplementedError|Failed in nopython mode"):
        twice_the_area(Circle(1.0))


def test_a_generic_function_may_come_after_the_first_compilation():
    global corners
    twice_the_area(Square(1.0))
    corners = generic(lambda shape: 4)
    assert count_corners(Square(2.0)) == 4


def test_kernels_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(twice_the_area)) is twice_the_area
    assert twice_the_area.__doc__ == "Doc of the kernel."


def test_nan_and_infinity_keep_their_meaning():
    @kernel
    def compare(x):
        return np.isnan(x[0]), np.isinf(x[1]), x[2] / 0.0, x[1] > 1e300

    assert compare(np.array([np.nan, np.inf, 1.0])) == (True, True, np.inf, True)


NOTEBOOK = """
class Local(NamedTuple):
    x: float

@size.register(Local)
def _(first):
    def inner(y):
        return y + {constant}

    return inner(1)
"""


def test_fingerprint_of_a_class_without_a_file():
    size = generic(lambda first: 0)

    def fingerprint(constant):
        environment = {"size": size, "NamedTuple": NamedTuple}
        exec(NOTEBOOK.format(constant=constant), environment)
        return class_fingerprint(environment["Local"])

    assert fingerprint(1) == fingerprint(1)
    assert fingerprint(1) != fingerprint(2)


NEAR = """
import functools
import far
from far import LOADED, Shape, inner, inner_kernel, pairs
from pymc_nrm.kernels.generic import kernel

def shift(x, by=far.LOADED[3]):
    return x + by

def make():
    scale = LOADED[4]
    return lambda x: x * scale

closure = make()
part = functools.partial(shift, by=LOADED[5])

@kernel
def outer(x):
    return inner(x) + far.deep.depth(x) + inner_kernel(x) + shift(x) + closure(x) + Shape.area(x) + part(x) + len(pairs)
"""

FAR = """
import json, pathlib
import numpy as np
import deep
from pymc_nrm.kernels.generic import kernel

LOADED = json.loads(pathlib.Path(__file__).with_name("numbers.json").read_text())
NUMBER, ARRAY, ENDS = LOADED[0], np.array(LOADED[1:2]), (1, (LOADED[2], "a"))
pairs = LOADED[:]

def inner(x):
    return x + NUMBER + outermost(x) + np.sum(ARRAY)

def outermost(x):
    return inner(x - 1) if x in {"a", "b", "c"} else ENDS[0]

@kernel
def inner_kernel(x):
    return LIMIT + x

LIMIT = LOADED[6]

class Shape:
    @staticmethod
    def area(x):
        return SIDE * x

SIDE = LOADED[7]
"""

DEEP = """
def depth(x):
    return x + 1
"""


@pytest.fixture
def reaching(tmp_path, monkeypatch):
    """Fingerprint of a kernel that reaches three modules and numbers from a file, as in a new process."""
    for name, text in (("near", NEAR), ("far", FAR), ("deep", DEEP)):
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def fingerprint(numbers=tuple(range(9)), file=None, old="", new=""):
        (tmp_path / "numbers.json").write_text(str(list(numbers)))
        if file is not None:
            text = (tmp_path / file).read_text()
            assert old in text
            (tmp_path / file).write_text(text.replace(old, new))
        for name in ("near", "far", "deep"):
            sys.modules.pop(name, None)
        return function_fingerprint(importlib.import_module("near").outer)

    yield fingerprint
    for name in ("near", "far", "deep"):
        sys.modules.pop(name, None)


def test_fingerprints_are_the_same_in_every_process(reaching):
    assert len({reaching() for _ in range(3)}) == 1


@pytest.mark.parametrize("change", range(9))
def test_fingerprints_cover_constants_but_not_what_stands_in_lists(reaching, change):
    numbers = np.arange(9)
    numbers[change] += 100
    assert (reaching(numbers.tolist()) == reaching()) == (change == 8)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [("far.py", "x - 1", "x - 2"), ("deep.py", "x + 1", "x + 2"), ("near.py", "len(pairs)", "1"), ("far.py", "*", "+")],
)
def test_fingerprints_cover_files(reaching, file, old, new):
    assert reaching() != reaching(file=file, old=old, new=new)


SCRIPT = """
    import pathlib, sys, types
    import numpy as np

    package = types.ModuleType("pymc_nrm")  # without the imports of the package's own __init__, which take long
    package.__path__ = [str(pathlib.Path("pymc_nrm").resolve())]
    sys.modules["pymc_nrm"] = package

    from pymc_nrm.families.erased.entry import describe
    from pymc_nrm.partitions.clusters import build_state, log_target
    from pymc_nrm.measures.base import Weights
    {family}
    labels = np.array([0, 0, 1])
    state = build_state(labels, family, data)
    value = log_target(state, Weights(np.zeros(4), np.zeros(4)), family, data)
    hits = sum(describe.dispatcher.stats.cache_hits.values())
    print(value, hits)
"""

BUILT_IN = """
    from pymc_nrm.families.definitions.poisson_gamma import PoissonGamma
    from pymc_nrm.families.base import prepare_data
    family = PoissonGamma(np.ones(1), np.ones(1))
    data = prepare_data(family, np.array([[0.0], [1.0], [8.0]]))
"""

FOREIGN = f"""{BUILT_IN}
    from foreign import Constant
    family = Constant(*family)
"""

FOREIGN_MODULE = """
    from pymc_nrm.families.definitions.poisson_gamma import PoissonGamma
    from helper import log_constant

    class Constant(PoissonGamma):
        def log_marginal(self, statistics):
            return 9.0 + log_constant()
"""

HELPER = """
    from pymc_nrm.kernels.generic import kernel

    CONSTANT = 1.0

    @kernel
    def log_constant():
        return CONSTANT
"""


@pytest.fixture
def copied_package(tmp_path):
    source = pathlib.Path(pymc_nrm.__file__).parent
    shutil.copytree(source, tmp_path / "pymc_nrm", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def run(folder, family, monkeypatch):
    """Value of a kernel, and how often the machine code of its family came from the disk, in a new process."""
    for name in ("NUMBA_CACHE_DIR", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)
    script = folder / "script.py"
    script.write_text(textwrap.dedent(SCRIPT.format(family=family)))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    value, hits = done.stdout.split()
    return float(value), int(hits)


@pytest.mark.slow
def test_machine_code_follows_edits_of_files_of_the_package_that_a_kernel_can_call(copied_package, monkeypatch):
    value, hits = run(copied_package, BUILT_IN, monkeypatch)
    assert hits == 0
    for name in ("moves/gibbs.py", "stats/convergence.py", "families/definitions/bernoulli_beta.py"):
        with (copied_package / "pymc_nrm" / name).open("a") as file:
            file.write("\n# edited\n")
    assert run(copied_package, BUILT_IN, monkeypatch) == (value, 1)
    with (copied_package / "pymc_nrm" / "families" / "definitions" / "poisson_gamma.py").open("a") as file:
        file.write("\n\ndef low(self, statistics):\n    return -1000.0\n\n\nPoissonGamma.log_marginal = low\n")
    assert run(copied_package, BUILT_IN, monkeypatch) == (-2000.0, 0)


def test_machine_code_of_moves_depends_on_no_family():
    """An edit of a family compiles its entry again, an edit of a move the kernels that call it, and nothing else."""
    reached = {
        kernel: kernel_cache._called_modules([kernel.__module__], ()) for kernel in (tree_guided_cycles, slice_move)
    }
    for files in reached.values():
        assert "pymc_nrm.moves.gibbs" in files
        assert not any(name.startswith(("pymc_nrm.families.definitions", "pymc_nrm.measures.p")) for name in files)
    assert "pymc_nrm.moves.slice_labels" not in reached[tree_guided_cycles]
    family, data = (numba.typeof(one) for one in kernel_inputs(PoissonGamma(1.0, 1.0), [0, 1, 8]))
    files = kernel_cache._called_modules([entry.__module__], (family, data))
    assert {f"pymc_nrm.families.{folder}.poisson_gamma" for folder in ("definitions", "fast_paths")} <= files
    assert not any(name.startswith("pymc_nrm.moves") or "bernoulli" in name for name in files)


@pytest.mark.slow
def test_machine_code_of_a_family_in_a_script_follows_its_code(copied_package, monkeypatch):
    """Each run defines the class anew; edits of other lines of the script compile nothing."""
    family = FOREIGN_MODULE.replace("from helper import log_constant", "CONSTANT = 1.0")
    family = f"{BUILT_IN}{family.replace('log_constant()', 'CONSTANT')}    family = Constant(*family)\n"
    assert run(copied_package, family, monkeypatch) == (20.0, 0)
    assert run(copied_package, f"{family}    unused = 1\n", monkeypatch) == (20.0, 1)
    assert run(copied_package, family.replace("9.0", "10.0"), monkeypatch) == (22.0, 0)
    assert run(copied_package, family.replace("CONSTANT = 1.0", "CONSTANT = 2.0"), monkeypatch) == (22.0, 0)
    assert run(copied_package, family, monkeypatch) == (20.0, 1)


@pytest.mark.slow
def test_machine_code_follows_edits_of_a_family_defined_elsewhere(copied_package, monkeypatch):
    module = copied_package / "foreign.py"
    module.write_text(textwrap.dedent(FOREIGN_MODULE))
    helper = copied_package / "helper.py"
    helper.write_text(textwrap.dedent(HELPER))
    assert run(copied_package, FOREIGN, monkeypatch) == (20.0, 0)
    assert run(copied_package, FOREIGN, monkeypatch) == (20.0, 1)
    module.write_text(textwrap.dedent(FOREIGN_MODULE).replace("9.0", "10.0"))
    assert run(copied_package, FOREIGN, monkeypatch) == (22.0, 0)
    helper.write_text(textwrap.dedent(HELPER).replace("1.0", "2.0"))
    assert run(copied_package, FOREIGN, monkeypatch) == (24.0, 0)
