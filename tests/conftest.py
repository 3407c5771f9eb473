"""Settings for all tests."""

import faulthandler
import functools
import gc
import os
import pathlib
import shutil
import sys
import tempfile

import pytest

TESTS = pathlib.Path(__file__).resolve().parent
# Scripts for type checkers, which collecting would run.
collect_ignore = ["typing"]
# Rows that a tool imports, and that import it.
collect_ignore_glob = ["*/same_draws.py"]

# Where bytecode may not be written, each of the many processes that tests start would compile PyMC's modules again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# PyTensor writes the source of every function that it makes into a file and leaves it there, thousands in a run.  They
# have a folder of the run, which processes of pytest-xdist and scripts of tests inherit.
OWN_FOLDER = None
if "generated_src_dir" not in os.environ.get("PYTENSOR_FLAGS", ""):
    OWN_FOLDER = tempfile.mkdtemp(prefix="pymc_nrm_generated_")
    flags = filter(None, [os.environ.get("PYTENSOR_FLAGS"), f"generated_src_dir={OWN_FOLDER}"])
    os.environ["PYTENSOR_FLAGS"] = ",".join(flags)


def pytest_addoption(parser):
    parser.addoption("--part", metavar="K/N", help="of the slow rows, run every N-th, beginning with the K-th")


def pytest_unconfigure():
    # Pytest collects garbage several times at the end, which takes seconds after thousands of tests.
    gc.freeze()
    if OWN_FOLDER is not None:
        shutil.rmtree(OWN_FOLDER, ignore_errors=True)


# Data sets that are not part of the package lie beside the repository.
SHARED = TESTS.parents[1] / "shared"

# Files that use the same kernels run in one process, so no kernel is compiled twice at the same time.  Groups begin
# in this order, the longest first and files of no group last, so that all processes end at about the same time; those
# that share some kernels are apart.
GROUPS = {
    "NormalGamma": (
        "recipes/test_mixture_estimator.py",
        "recipes/test_scikit_learn.py",
        "exact/test_moves.py",
        "exact/test_steps.py",
        "faults/test_attack.py",
        "faults/test_start.py",
        "pymc/test_model.py",
        "pymc/test_posterior.py",
        "pymc/test_reproducible.py",
        "pymc/test_steps_of_pymc.py",
        "trees",
    ),
    "PoissonGamma": (
        "exact/test_own_moves.py",
        "published/test_published.py",
        "pymc/test_diagnostics_groups.py",
        "pymc/test_geweke.py",
        "pymc/test_ways_to_run.py",
        "stats/test_without_labels.py",
    ),
    "nested": (
        "nested/test_nested_model.py",
        "nested/test_nested_predictions.py",
        "nested/test_nested_runs.py",
    ),
    "given labels": ("exact/test_given_labels.py",),
    "measures": ("measures",),
    "predictions": ("predictions", "serving"),
    "diffusion": ("nested/test_diffusion.py", "nested/test_tree_families.py"),
    "nested kernels": ("nested", "published"),
    "stats": ("stats",),
}


# Examples of docstrings whose kernels few quick tests need.
OF_SLOW_EXAMPLES = (
    "published",
    "steps",
    "nested.models.nested_partition",
    "nested.steps",
    "posterior.conditional_quantiles",
    "nested.testing.tree_family_checks",
)


def pytest_configure(config):
    if config.option.dist != "no" and not hasattr(config, "workerinput"):
        return  # the process that starts the workers runs no test, and they wait for its imports
    import pytensor
    from pytensor.compile.mode import Mode

    if OWN_FOLDER is not None:
        pytensor.config.generated_src_dir = OWN_FOLDER
    # PyTensor otherwise looks up the lines of code that made each variable, a quarter of the time of building models.
    pytensor.config.traceback__limit = 0
    config.compiled_mode = pytensor.config.mode
    if config.option.markexpr == "not slow":
        # Compiling a function of PyTensor with numba takes seconds, and most tests call it a few times.  The quick set
        # runs such functions in Python, except in tests with the fixture ``compiled``; all other runs do as users do.
        pytensor.config.mode = Mode(linker="py", optimizer="fast_run").excluding("fusion", "inplace")


def pytest_sessionstart():
    gc.disable()


def pytest_collection_finish():
    """Exclude what was imported and collected from garbage collection, and collect garbage less often."""
    gc.freeze()
    gc.set_threshold(20_000, 100, 20)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark rows as slow, and put every test into the group of its family, folder or file, for ``--dist loadgroup``."""
    mark_slow_rows(config, items)
    if part := config.getoption("--part"):
        keep_part(config, items, part)
    rank = {name: k for k, name in enumerate(GROUPS)}
    for item in items:
        if not any(item.iter_markers("xdist_group")):
            item.add_marker(pytest.mark.xdist_group(group_of(item.path)))
    items.sort(key=lambda item: rank.get(item.get_closest_marker("xdist_group").args[0], len(rank)))


def mark_slow_rows(config, items):
    """Make rows slow that the marks ``quick`` and ``every`` of a test leave out, and examples that compile much."""
    missing, places = {}, {}
    for item in items:
        if mark := item.get_closest_marker("every"):
            place = places[item.path, item.originalname] = places.get((item.path, item.originalname), -1) + 1
            if place % mark.args[0]:
                item.add_marker(pytest.mark.slow)
        if item.name.startswith(tuple(f"pymc_nrm.{name}." for name in OF_SLOW_EXAMPLES)):
            item.add_marker(pytest.mark.slow)
        if mark := item.get_closest_marker("quick"):
            rows = missing.setdefault((item.path, item.originalname), set(mark.args))
            if item.callspec.id in mark.args:
                rows.discard(item.callspec.id)
            else:
                item.add_marker(pytest.mark.slow)
    if not any("::" in argument for argument in config.args):
        for (path, name), rows in missing.items():
            if rows:
                raise pytest.UsageError(f"{path.name}: {name} has no rows {sorted(rows)}")


def keep_part(config, items, part):
    """Leave out the slow rows of other parts, so that a long matrix runs in sittings."""
    try:
        k, n = map(int, part.split("/"))
        if not 1 <= k <= n:
            raise ValueError
    except ValueError:
        raise pytest.UsageError(f"--part must be K/N with 1 <= K <= N, such as 2/6; got {part!r}") from None
    slow = [item for item in items if item.get_closest_marker("slow")]
    left_out = set(slow) - set(slow[k - 1 :: n])
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


@functools.cache
def group_of(path):
    """Name of the group of a file: a row of ``GROUPS``, or its own."""
    for name, places in GROUPS.items():
        if any(path.is_relative_to(TESTS / place) for place in places):
            return name
    return path.relative_to(TESTS.parent).as_posix() if path.is_relative_to(TESTS.parent) else path.name


@pytest.fixture(scope="session")
def shared():
    """Folder of data sets for comparison with published results; tests are skipped without it."""
    if not SHARED.is_dir():
        pytest.skip("needs the data sets beside the repository")
    return SHARED


@pytest.fixture(scope="module")
def compiled(pytestconfig):
    """Run PyTensor's functions as users do, from the first test that asks for it to the end of its file."""
    import pytensor

    with pytensor.config.change_flags(mode=pytestconfig.compiled_mode):
        yield


@pytest.fixture
def unbroken(monkeypatch):
    """Messages without breaks of lines, so that tests find their words wherever lines end."""
    from pymc_nrm.common import wrapping

    monkeypatch.setattr(wrapping, "WIDTH", 10_000)


@pytest.fixture(autouse=True)
def no_open_figures():
    """Close the figures that a test or an example leaves open, which matplotlib otherwise keeps for the next one."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def rng():
    import numpy as np

    return np.random.default_rng(20261121)


@pytest.fixture
def returns():
    """End the process of a test that takes two minutes: nothing else ends a loop of a kernel that has no end."""
    faulthandler.dump_traceback_later(120, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
