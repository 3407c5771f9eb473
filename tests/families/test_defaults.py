"""What follows from the definition of a family: predictive densities from marginals, panels from densities of items."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
import pytest

import pymc_nrm as nrm
from pymc_nrm.families import base
from pymc_nrm.families.arguments import check_matrix
from pymc_nrm.families.base import Dense, Hyperparameter, conjugate_family, segment_sum
from pymc_nrm.families.needs import COMPONENT_PANEL, ITEMS, PREDICTIVE, check_needs
from pymc_nrm.kernels.generic import lacking
from pymc_nrm.testing import check_family, exact_posterior
from tests.helpers import assert_law, mixture_of

COUNTS = np.array([[0, 3], [1, 0], [4, 1], [9, 2], [0, 0], [2, 7]])


def symbolic_log_beta(a, b):
    return pt.gammaln(a) + pt.gammaln(b) - pt.gammaln(a + b)


class Marginal(NamedTuple):
    """Numbers of failures before a success, each of probability p ~ Beta(a, b); five functions."""

    a: Any = 1.0
    b: Any = 1.0

    def prepare_data(self, X):
        return Dense(check_matrix(self, X, integer=True, lower=0))

    # A row of statistics: sums (d), count.
    def statistics_size(self):
        return self.a.shape[0] + 1

    def add_item(self, statistics, data, item, sign):
        d = self.a.shape[0]
        for j in range(d):
            statistics[j] += sign * data.values[item, j]
        statistics[d] += sign

    def log_marginal(self, statistics):
        total, n = 0.0, statistics[self.a.shape[0]]
        for j in range(self.a.shape[0]):
            a, b, failures = self.a[j], self.b[j], statistics[j]
            total += math.lgamma(a + n) + math.lgamma(b + failures) - math.lgamma(a + b + n + failures)
            total += math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
        return total

    def log_likelihood(self, X, labels):
        n = segment_sum(pt.ones_like(X, dtype="float64"), labels, labels.max() + 1)
        failures = segment_sum(X.astype("float64"), labels, labels.max() + 1)
        terms = symbolic_log_beta(self.a + n, self.b + failures) - symbolic_log_beta(self.a, self.b)
        return terms.sum()


class Geometric(Marginal):
    """The same, and four functions of the probability of a success."""

    def parameters_size(self):
        return self.a.shape[0]

    def draw_parameters(self, statistics, rng, parameters):
        d = self.a.shape[0]
        for j in range(d):
            parameters[j] = rng.beta(self.a[j] + statistics[d], self.b[j] + statistics[j])

    def log_density(self, parameters, data, item):
        total = 0.0
        for j in range(parameters.shape[0]):
            total += math.log(parameters[j]) + data.values[item, j] * math.log1p(-parameters[j])
        return total

    def draw_item(self, parameters, rng, item, values):
        for j in range(parameters.shape[0]):
            values[j] = rng.geometric(parameters[j]) - 1.0


describe = conjugate_family(
    hyperparameters={"a": Hyperparameter(("d",), "positive"), "b": Hyperparameter(("d",), "positive")},
    parameters={"probability": ("d",)},
    continuous=False,
    missing_allowed=False,
)
FAMILIES = [describe(Marginal)(2.0, [1.5, 0.7]), describe(Geometric)(2.0, [1.5, 0.7])]


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: type(family).__name__)
def test_a_family_without_more_than_its_definition_passes_the_check(family, compiled):
    check_family(family, COUNTS, compiled=compiled)


@pytest.mark.slow
@pytest.mark.parametrize(
    "step", [nrm.steps.TreeGuided, nrm.steps.SplitMerge, nrm.steps.MarginalGibbs, nrm.steps.SliceSampler]
)
def test_samplers_draw_from_the_posterior(step):
    family, measure, X = FAMILIES[1], nrm.NormalizedGeneralizedGamma(0.5, 0.3), COUNTS[:4]
    with mixture_of(family, X, measure) as model:
        idata = nrm.sample(3000, tune=50, chains=4, cores=1, step=[step([model["z"]])], random_seed=1, quiet=True)
    assert_law(idata.posterior["z"].values, *exact_posterior(measure, family, X))


def test_five_functions_are_enough_for_partitions_and_four_more_for_parameters():
    assert lacking(Marginal, [*PREDICTIVE, base.log_marginal]) == []
    assert lacking(Marginal, COMPONENT_PANEL) == ["log_density"]
    assert lacking(Geometric, [*PREDICTIVE, base.log_marginal, *ITEMS, *COMPONENT_PANEL]) == []


def test_a_default_is_not_there_if_it_would_read_what_another_function_wrote():
    class OwnPanel(Geometric):
        def component_panel(self, n_columns):
            return np.zeros((self.a.shape[0], n_columns))

    class OwnCache(Geometric):
        def cache_size(self):
            return 1

        def refresh_cache(self, statistics, cache):
            cache[0] = statistics.sum()

    class OwnDensity(Geometric):
        def log_predictive(self, cache, data, item):
            return 0.0

    assert lacking(OwnPanel, COMPONENT_PANEL) == ["write_component", "add_component_densities"]
    assert lacking(OwnCache, PREDICTIVE) == ["log_predictive"]
    assert lacking(OwnDensity, PREDICTIVE) == []
    with pytest.raises(NotImplementedError, match="OwnCache has no log_predictive, which check_family needs"):
        check_family(OwnCache(*FAMILIES[1]), COUNTS)


def test_what_follows_from_a_missing_function_is_called_by_its_name():
    class Nothing(NamedTuple):
        a: Any = 1.0

    with pytest.raises(NotImplementedError, match="Nothing has no log_marginal and no log_density, which"):
        check_needs(Nothing, [base.cache_size, base.refresh_cache, base.log_predictive, *COMPONENT_PANEL], "it")
    with pytest.raises(NotImplementedError):
        base.log_predictive(Nothing(), np.zeros(1), None, 0)
