"""Gaussian kernels on clusters and outliers up to 1e10 standard deviations away, against rational arithmetic."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import pymc_nrm as nrm
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import add_item, check_resolution, localise, log_likelihood, prepare_data, statistics_size
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.testing.family_kernels import leave_one_out, marginal, panel_values, walk
from tests.cases import PrincipalNormalWishart, SphericalPrincipalNormalWishart
from tests.helpers import log_marginal_of
from tests.tools.attack.reference import LOG_MARGINALS

TOLERANCE = 1e-6
DISTANCES = [1e0, 1e5, 1e7, 1e8, 1e9]


def separated(n, d, distance, oblique, seed=1):
    """Two alternating groups of unit variance, the second ``distance`` away along an axis or a diagonal."""
    rng = np.random.default_rng(seed)
    direction = np.linspace(1.0, 0.3, d) if oblique else np.eye(d)[0]
    return rng.normal(size=(n, d)) + (np.arange(n) % 2)[:, None] * distance * direction


def with_outlier(n, d, distance, oblique, seed=1):
    """One group of unit variance whose item 3 is ``distance`` away along an axis or a diagonal."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[3] += distance * (np.linspace(1.0, 0.3, d) if oblique else np.eye(d)[0])
    return X


def make_family(name, d):
    if name == "NormalGamma":
        return nrm.NormalGamma(mu=0.3, kappa=0.1, alpha=2.0, beta=1.0)
    Psi = 2.0 * np.eye(d) + 0.5
    return nrm.NormalWishart(mu=0.3, kappa=0.1, Psi=Psi, nu=d + 4.0)


class Problem:
    """A family and data as kernels read them, and exact log marginals of sets of items."""

    def __init__(self, name, X):
        self.X = X
        self.full = broadcast_hyperparameters(make_family(name, X.shape[1]), *X.shape)
        self.data = prepare_data(self.full, X)
        self.local = localise(self.full, self.data)
        self._marginal, self._known = LOG_MARGINALS[name], {}

    def marginal(self, items):
        key = tuple(sorted(items))
        if key not in self._known:
            self._known[key] = self._marginal(self.full, self.X[list(key)]) if key else 0.0
        return self._known[key]

    def predictive(self, item, items):
        return self.marginal([*items, item]) - self.marginal(items)


@kernel
def marginal_of_unions(family, data, parts, kept, n_parts):
    """Log marginal of the union of the kept parts: rows of all parts are added, those of the others subtracted."""
    rows = np.zeros((n_parts + 1, statistics_size(family)))
    for item in range(parts.shape[0]):
        add_item(family, rows[parts[item]], data, item, 1.0)
    for part in range(n_parts):
        rows[n_parts] += rows[part]
    for part in range(n_parts):
        if not kept[part]:
            rows[n_parts] -= rows[part]
    return log_marginal(family, rows[n_parts])


KINDS = [("NormalGamma", 1), ("NormalWishart", 2)]
SLOW = [("NormalGamma", 2), ("NormalWishart", 1), ("NormalWishart", 3)]


@pytest.fixture(scope="module", params=[*KINDS, *(pytest.param(one, marks=pytest.mark.slow) for one in SLOW)])
def kind(request):
    return request.param


def problems(kind, distance):
    name, d = kind
    for oblique in (False, True) if d > 1 else (False,):
        yield Problem(name, separated(12, d, distance, oblique))
        yield Problem(name, with_outlier(41, d, 10 * distance, oblique))


def item_sets(n, rng):
    """Items of the group at the origin, of the other group, and of both."""
    first, second = np.arange(0, n, 2), np.arange(1, n, 2)
    bulk = np.delete(np.arange(n), 3)
    return [first, second, bulk, rng.permutation(n)]


@pytest.mark.quick("kind0-1.0", "kind0-100000000.0")
@pytest.mark.parametrize("distance", DISTANCES)
def test_kernels_agree_with_rational_arithmetic(kind, distance):
    rng = np.random.default_rng(1)
    for problem in problems(kind, distance):
        n = len(problem.X)
        for items in item_sets(n, rng):
            others = np.setdiff1d(np.arange(n), items)
            # All items join; then those of the other groups leave.
            order = np.concatenate([rng.permutation(others), rng.permutation(items)])
            others = order[: len(others)]
            *_, given_rest, statistics = walk(problem.local, problem.data, order, len(others))
            assert marginal(problem.local, statistics) == pytest.approx(problem.marginal(items), abs=TOLERANCE)
            exact = [problem.predictive(item, items) for item in others]
            panel = problem.local, np.tile(statistics, (LANES, 1)), np.zeros(LANES), problem.data
            together = [panel_values(*panel, item)[0, 0, 3] for item in others]
            # A distance along the longest axis of a cluster is a small difference of large numbers.
            tolerance = 5 * TOLERANCE if distance == 1e9 else TOLERANCE
            np.testing.assert_allclose(given_rest[: len(others)], exact, atol=tolerance, rtol=0)
            np.testing.assert_allclose(together, exact, atol=tolerance, rtol=0)
            exact = [problem.predictive(item, np.setdiff1d(items, [item])) for item in items]
            formula, removal = leave_one_out(problem.local, problem.data, items)
            formula = np.where(np.isnan(formula), removal, formula)
            np.testing.assert_allclose(formula, exact, atol=TOLERANCE, rtol=0)


@pytest.mark.quick("kind0-1.0", "kind0-1000000.0")
@pytest.mark.parametrize("distance", [1.0, 1e6, 1e9])
def test_rows_of_unions_lose_nothing(kind, distance):
    rng = np.random.default_rng(2)
    for problem in problems(kind, distance):
        n = len(problem.X)
        parts = np.concatenate([np.arange(2), rng.integers(2, 6, n - 2)])
        kept = np.array([True, False, True, False, True, True])
        value = marginal_of_unions(problem.local, problem.data, parts, kept, 6)
        assert value == pytest.approx(problem.marginal(np.flatnonzero(kept[parts])), abs=TOLERANCE)


@pytest.mark.quick("kind1-1000000000.0")
@pytest.mark.parametrize("distance", DISTANCES)
def test_symbolic_likelihood_agrees_with_rational_arithmetic(kind, distance):
    for problem in problems(kind, distance):
        n, d = problem.X.shape
        X, labels = pt.tensor("X", shape=(None, d), dtype="float64"), pt.lvector("labels")
        family = broadcast_hyperparameters(make_family(kind[0], d), n, d)
        logp = log_likelihood(type(family)(*[pt.as_tensor(value) for value in family]), X, labels)
        mode = pytensor.compile.mode.Mode(linker="py", optimizer="fast_run")
        function = pytensor.function([X, labels], [logp, pt.grad(logp, X)], mode=mode)
        for z in (np.zeros(n, dtype="int64"), np.arange(n) % 2, (np.arange(n) == 3).astype("int64")):
            expected = sum(problem.marginal(np.flatnonzero(z == label)) for label in np.unique(z))
            value, gradient = function(problem.X, z)
            assert value == pytest.approx(expected, abs=TOLERANCE)
            assert np.isfinite(gradient).all()


@pytest.mark.parametrize("name", ["NormalGamma", "NormalWishart"])
def test_data_beyond_doubles_are_refused(name):
    X = separated(12, 2, 0.0, False)
    X[7, 1] = 1e12
    problem = Problem(name, X)
    with pytest.raises(ValueError, match=r"'x': item 7, feature 1 .* 1e\+12, .*larger (beta|Psi)"):
        check_resolution(problem.local, problem.data, "data of 'x'")
    X[7, 1] = 1e10
    problem = Problem(name, X)
    check_resolution(problem.local, problem.data, "data of 'x'")


@pytest.mark.parametrize("family_class", [PrincipalNormalWishart, SphericalPrincipalNormalWishart])
def test_outliers_along_the_noise_are_refused_or_cost_no_digits(family_class):
    """The noise is shared by all clusters: merging two leaves its part unchanged."""
    directions = np.eye(3) if family_class is PrincipalNormalWishart else np.eye(3)[:, :1]
    noise = [1.0, 1.0] if family_class is PrincipalNormalWishart else [1.0]
    scores = [0.0], 0.1, [[1.0]], 3.0
    family = family_class(np.zeros(3), np.ones(3), directions, *scores, noise)
    X = np.random.default_rng(3).normal(size=(40, 3))
    for outlier in (9e4, 1.1e5):
        X[-1, 2] = outlier
        full = broadcast_hyperparameters(family, *X.shape)
        data = prepare_data(full, X)
        if outlier > 1e5:
            with pytest.raises(
                ValueError, match=r"'x', principal directions: item 39 is 1\.1e\+05 times .*larger noise"
            ):
                check_resolution(full, data, "data of 'x'")
            continue
        check_resolution(full, data, "data of 'x'")
        halves = [list(range(20)), list(range(20, 40)), list(range(40))]
        first, second, whole = (log_marginal_of(full, data, items) for items in halves)
        of_scores = broadcast_hyperparameters(nrm.NormalWishart(*scores), 40, 1)
        alone = prepare_data(of_scores, X[:, :1])
        local = localise(of_scores, alone)
        expected = [log_marginal_of(local, alone, items) for items in halves]
        assert whole - first - second == pytest.approx(expected[2] - expected[0] - expected[1], abs=3e-6)


def test_missing_and_constant_features_have_centres():
    X = np.array([[np.nan, 0.0, 3.0], [np.nan, 0.0, np.nan], [np.nan, 0.0, 1e9]])
    problem = Problem("NormalGamma", X)
    np.testing.assert_array_equal(problem.data.center, [0.0, 0.0, 3.0])
    np.testing.assert_array_equal(problem.data.values[:, 2], [0.0, np.nan, 1e9 - 3.0])
    assert np.isfinite(problem.data.grid).all()
