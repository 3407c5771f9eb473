"""What tests of several folders share: models, draws, trees, seeds from names, laws of partitions, densities."""

import contextlib
import inspect
import itertools
import time
import zlib

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from pymc.step_methods import BlockedStep
from pymc.util import get_value_vars_from_user_vars

import pymc_nrm as nrm
from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.kernels.kernel_cache import dispatchers
from pymc_nrm.partitions.labels import canonical_labels, is_canonical, label_counts  # noqa: F401 (for tests)
from pymc_nrm.testing import (
    all_partitions,
    largest_z,
    mean_and_error,
    partition_frequencies,
    total_variation,
    z_scores,
)


def mixture_of(family, observed, measure=None, **partition):
    """A model of a mixture, x, over a partition, z, of a Dirichlet process with alpha = 1 unless a measure is given.

    Several mixtures are dicts by name.  Where measure or family depend on variables, give functions that make them.
    """
    families, data = (family, observed) if isinstance(family, dict) else ({"x": family}, {"x": observed})
    first, measure = next(iter(data.values())), measure or nrm.DirichletProcess(1.0)
    size = {"chunks": first} if isinstance(first, nrm.Chunks) else {"n": len(first)}
    with pm.Model() as model:
        z = nrm.Partition("z", measure() if callable(measure) else measure, **size, **partition)
        for name, one in families.items():
            nrm.Mixture(name, z, one() if callable(one) else one, observed=data[name])
    return model


def functions_of(cls):
    """All generic functions that a class has: a subclass that states them may redefine one and keep the others."""
    found = {function.__name__: function.dispatch(cls) for function in dispatchers}
    return {name: method for name, method in found.items() if method in vars(cls).values()}


def learned_dirichlet_process():
    """Its concentration is a variable, alpha, of the model around it, and has a prior that NUTS samples."""
    return nrm.DirichletProcess(pm.LogNormal("alpha", 0.0, 1.0))


def measure_of(partition):
    """The measure of a partition; its fields are tensors."""
    op = partition.owner.op
    return op.priors(op.prior_inputs(partition.owner))[0]


def refused(call, *rows, error=ValueError, match="{}", within=contextlib.nullcontext):
    """A test whose rows are arguments that a call must refuse and the message, perhaps with the error before it.

    Arguments of a lambda that rows do not have are fixtures; they come first.
    """

    @pytest.mark.parametrize("row", rows, ids=lambda row: row[-1][:50])
    def test(row, request):
        *arguments, message = row
        is_own = isinstance(arguments[-1], type) and issubclass(arguments[-1], Exception)
        kind = arguments.pop() if is_own else error
        names = list(inspect.signature(call).parameters) if call.__name__ == "<lambda>" else []
        fixtures = map(request.getfixturevalue, names[: len(names) - len(arguments)])
        with within(), pytest.raises(kind, match=match.format(message)):
            call(*fixtures, *arguments)

    return test


def result_of(**arrays):
    """A result with these draws, each an array of shape (chains, draws, ...)."""
    dims = {name: [f"{name}_dim_{k}" for k in range(np.ndim(values) - 2)] for name, values in arrays.items()}
    variables = {name: (("chain", "draw", *dims[name]), np.asarray(values)) for name, values in arrays.items()}
    return xr.DataTree.from_dict({"posterior": xr.Dataset(variables)})


def in_order(labels):
    """Labels of every draw, along the last axis, in order of appearance."""
    return np.apply_along_axis(canonical_labels, -1, labels)


def assert_law(labels, partitions, probabilities, **options):
    """Assert that chains of labels, shape (chains, draws, n), have the given law."""
    scores = z_scores(labels, partitions, probabilities, **options)
    assert np.abs(scores).max() < largest_z(labels.shape, max(scores.size, 1))


def distance_to_law(labels, partitions, probabilities):
    """Total variation of chains of labels to a law, and their largest z-score relative to its limit."""
    scores = z_scores(labels, partitions, probabilities)
    largest = np.abs(scores).max() / largest_z(labels.shape, max(scores.size, 1))
    return total_variation(partition_frequencies(labels, partitions), probabilities), largest


def assert_means(values, expected):
    """Assert that functionals by name, each of shape (chains, draws), have the given means."""
    shape = next(iter(values.values())).shape
    for name, draws in values.items():
        mean, error, _ = mean_and_error(draws)
        assert abs(mean - expected[name]) / error < largest_z(shape, len(values)), (name, mean, expected[name], error)


class IgnoresData(BlockedStep):
    """A step that draws labels from their prior whatever the data are; ``draws`` are values for its draws."""

    name, default_blocked = "ignores_data", False

    def __init__(self, vars, draws, model=None):
        [self._value] = self.vars = get_value_vars_from_user_vars(vars, pm.modelcontext(model))
        self._draws = iter(draws)

    def set_rng(self, rng):
        pass

    def step(self, point):
        return {**point, self._value.name: next(self._draws)}, [{}]


def random_merges(rng, n):
    """Merges of a tree of random shape over n items."""
    nodes, merges = list(range(n)), []
    for k in range(n - 1):
        merges.append([nodes.pop(int(rng.integers(len(nodes)))) for _ in range(2)])
        nodes.append(n + k)
    return merges


def all_chains(n, n_levels):
    """All nested partitions, shape (number, n_levels, n)."""
    rows = itertools.product(all_partitions(n), repeat=n_levels)
    return np.array([one for one in rows if all(refines(below, above) for above, below in itertools.pairwise(one))])


def refines(below, above):
    """Whether items that share a cluster of one partition share one of another."""
    return len(set(zip(below.tolist(), above.tolist(), strict=True))) == below.max() + 1


def call_until_interrupted(function, seconds=60.0):
    """Call again and again: CPython 3.13 leaves the jump of a loop out of a ``try`` around the loop itself."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        function()
    pytest.fail(f"no interrupt came within {seconds:.0f} s")


def rows_with_all_pairs(*factors):
    """Rows with one value of each factor, in which every two values of two factors meet, far fewer than the product."""
    missing = {
        ((a, x), (b, y))
        for (a, xs), (b, ys) in itertools.combinations(enumerate(factors), 2)
        for x, y in itertools.product(xs, ys)
    }
    rows, candidates = [], list(itertools.product(*factors))
    while missing:
        pairs = [missing.intersection(itertools.combinations(enumerate(row), 2)) for row in candidates]
        best = max(range(len(candidates)), key=lambda k: len(pairs[k]))
        rows.append(candidates[best])
        missing -= pairs[best]
    return rows


def seeded(*names):
    return np.random.default_rng(zlib.crc32(" ".join(map(str, names)).encode()))


def log_density(family, data, labels):
    """Log density of the data of kernels given the clusters of the items."""
    return sum(log_marginal_of(family, data, np.flatnonzero(labels == label)) for label in set(labels))


def log_marginal_of(family, data, items):
    """Log density of the data of kernels of some items that share a cluster."""
    row = np.zeros(statistics_size(family))
    for item in items:
        add_item(family, row, data, item, 1.0)
    return float(log_marginal(family, row))
