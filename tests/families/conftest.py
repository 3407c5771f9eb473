"""The table of families; to test a new family, add a row."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse

import pymc_nrm as nrm
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import complete, localise, prepare_data
from pymc_nrm.families.definitions.hurdle import HurdleLogNormal, HurdlePoisson
from pymc_nrm.families.definitions.log_normal_gamma import LogNormalGamma
from pymc_nrm.families.definitions.log_normal_wishart import LogNormalWishart
from pymc_nrm.families.definitions.shifted_poisson_gamma import ShiftedPoissonGamma


class Row(NamedTuple):
    """A family as a user writes it, and what is known about it independently of its implementation."""

    name: str
    family: Any
    # Data (n, d), dense or sparse, from a random generator.
    simulate: Callable
    # Data that must be refused, each with a pattern that the message must match after the name of the family.
    bad: list


class Case(NamedTuple):
    """A prepared row: ``full`` has full shape, and ``local`` is what kernels get with ``data``."""

    row: Row
    family: Any
    X: Any
    dense: np.ndarray
    full: Any
    local: Any
    data: Any


def make_case(row):
    X = row.simulate(np.random.default_rng(20240501))
    family = complete(row.family, X)
    full = broadcast_hyperparameters(family, *X.shape)
    data = prepare_data(full, X)
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype="float64")
    return Case(row, family, X, dense, full, localise(full, data), data)


def with_missing(X):
    X = np.array(X, dtype="float64")
    X[1, 0] = X[4, 1] = X[5, :] = np.nan
    return X


def simulate_normal(rng):
    return rng.normal([100.0, -3.0], [0.5, 4.0], size=(12, 2))


def simulate_log_normal(rng):
    return rng.lognormal([2.0, 0.0], [0.5, 0.1], size=(12, 2)) - [0.0, 1.0]


def simulate_line(rng):
    return np.where(np.arange(12) == 4, np.nan, COVARIATES @ [3.0, 2.1, -1.0] + rng.normal(size=12))[:, None]


def simulate_words(rng):
    return rng.poisson([0.3, 2.0, 0.2, 9.0], size=(12, 4)) + np.eye(12, 4, dtype=int)


def simulate_presence(rng):
    return rng.random((12, 2)) > 0.4


BAD_COUNTS = [([[0, -2]], "-2"), ([[0.5]], "0.5"), ([[np.nan]], "NaN"), ([[np.inf]], "infinite"), ([1, 2], "shape")]
bernoulli = Row(
    name="BernoulliBeta",
    family=nrm.BernoulliBeta(1.5, np.array([0.5, 2.0, 1.0])),
    simulate=lambda rng: rng.integers(0, 2, size=(12, 3)),
    bad=[([[0, 2]], " 2"), ([[0, -1]], "-1"), ([[0.5]], "0.5"), ([[np.inf]], "infinite"), ([0, 1], "shape")],
)
normal_gamma = Row(
    name="NormalGamma",
    family=nrm.NormalGamma(mu=np.array([98.0, 0.0]), kappa=0.5, alpha=np.array([2.5, 3.0]), beta=2.0),
    simulate=simulate_normal,
    bad=[([[np.inf]], "infinite"), ([0.5, 1.0], "shape"), (sparse.csr_array([[1.0]]), "dense")],
)
normal_wishart = Row(
    name="NormalWishart",
    family=nrm.NormalWishart(mu=np.array([98.0, 0.0]), kappa=0.5, Psi=np.array([[2.0, 0.5], [0.5, 9.0]]), nu=6.0),
    simulate=simulate_normal,
    bad=[([[np.inf, 0.0]], "infinite"), ([0.5, 1.0], "shape"), (sparse.csr_array([[1.0, 2.0]]), "dense")],
)
COVARIATES = np.column_stack([np.ones(12), np.linspace(7.0, 9.0, 12) ** 2, np.cos(np.arange(12))])
log_normal_gamma = Row(
    name="LogNormalGamma, missing",
    family=LogNormalGamma([1, 0], [2.0, 0.0], kappa=0.5, alpha=np.array([2.5, 3.0]), beta=0.5),
    simulate=lambda rng: with_missing(simulate_log_normal(rng)),
    bad=[([[np.inf, 1.0]], "infinite"), ([[0.0, 1.0]], "above 0 .* got 0.0 in row 0, column 0"), ([1.0, 2.0], "shape")],
)
log_normal_wishart = Row(
    name="LogNormalWishart",
    family=LogNormalWishart([1, 0], [2.0, 0.0], 0.5, np.array([[2.0, 0.5], [0.5, 9.0]]), 6.0),
    simulate=lambda rng: simulate_log_normal(rng),
    bad=[
        ([[np.inf, 0.0]], "infinite"),
        ([[-1.0, 1.0]], "above 0 .* got -1.0 in row 0, column 0"),
        ([[1.0]], "1 features"),
    ],
)
normal_regression = Row(
    name="NormalRegression, missing",
    family=nrm.NormalRegression(COVARIATES, [1.0, 2.0, 0.0], np.diag([0.3, 0.5, 0.8]) + 0.1, 2.5, 0.9),
    simulate=simulate_line,
    bad=[
        ([[np.inf]], "infinite"),
        ([0.5, 1.0], "shape"),
        ([[0.5, 1.0]] * 12, "vector"),
        ([[0.5]], "12"),
        (sparse.csr_array([[1.0]]), "dense"),
    ],
)
simulate_counts = lambda rng: rng.poisson([0.7, 8.0], size=(12, 2))  # noqa: E731
BAD_COUNTS_WITH_GAPS = [row for row in BAD_COUNTS if row[1] != "NaN"]
poisson = Row("PoissonGamma", nrm.PoissonGamma(np.array([1.5, 4.0]), 0.8), simulate_counts, BAD_COUNTS_WITH_GAPS)
shifted_poisson = Row(
    name="ShiftedPoissonGamma, missing",
    family=ShiftedPoissonGamma(np.array([1.5, 4.0]), 0.8),
    simulate=lambda rng: with_missing(1 + simulate_counts(rng)),
    bad=[([[0, 2]], "at least 1; got 0"), ([[1.5]], "1.5"), ([[np.inf]], "infinite"), ([1, 2], "shape")],
)
hurdle_poisson = Row(
    name="HurdlePoisson, missing",
    family=HurdlePoisson([1.0, 2.0], [0.8, 1.2], np.array([1.5, 4.0]), 0.8),
    simulate=lambda rng: with_missing(simulate_counts(rng) * simulate_presence(rng)),
    bad=BAD_COUNTS_WITH_GAPS,
)
hurdle_log_normal = Row(
    name="HurdleLogNormal, missing",
    family=HurdleLogNormal([1.0, 2.0], [0.8, 1.2], [0.3, 2.0], 0.8, 2.5, [0.3, 0.8]),
    simulate=lambda rng: with_missing(rng.lognormal([0.5, 2.0], 0.5, size=(12, 2)) * simulate_presence(rng)),
    bad=[([[-0.5, 1.0]], "at least 0; got -0.5"), ([[np.inf, 0.0]], "infinite"), ([1.0, 2.0], "shape")],
)
categorical = Row(
    name="CategoricalDirichlet",
    family=nrm.CategoricalDirichlet(0.7),
    simulate=lambda rng: rng.integers(0, [4, 2, 3], size=(12, 3)),
    bad=[
        ([[4, 0, 0]], "4.* feature 0.* 4 levels"),
        ([[0, 2, 0]], "2.* feature 1.* 2 levels"),
        ([[0, -1, 0]], "-1"),
        ([[0.5, 0, 0]], "0.5"),
        ([[np.inf, 0, 0]], "infinite"),
        ([1, 0, 1], "shape"),
    ],
)
multinomial = Row(
    name="MultinomialDirichlet",
    family=nrm.MultinomialDirichlet(0.6),
    simulate=simulate_words,
    bad=[
        *BAD_COUNTS,
        (sparse.csr_array([[0, -2]]), "-2"),
        (sparse.csr_array([[0, 0.5]]), "0.5"),
        (sparse.csr_array([[0, np.nan]]), "NaN"),
    ],
)

LEVELS = np.array([[0.5, 1.0, 2.0, 0.3], [1.0, 0.2, 0.0, 0.0], [3.0, 0.1, 1.0, 0.0]])
FAMILIES = [
    bernoulli,
    bernoulli._replace(name="BernoulliBeta, missing", simulate=lambda rng: with_missing(bernoulli.simulate(rng))),
    normal_wishart,
    normal_wishart._replace(
        name="NormalWishart, three features",
        family=nrm.NormalWishart(mu=1.0, kappa=2.0, Psi=np.eye(3) + 0.2, nu=9.0),
        simulate=lambda rng: rng.normal(size=(12, 3)),
    ),
    normal_gamma,
    normal_gamma._replace(name="NormalGamma, missing", simulate=lambda rng: with_missing(simulate_normal(rng))),
    log_normal_gamma,
    log_normal_wishart,
    normal_regression,
    poisson,
    poisson._replace(name="PoissonGamma, missing", simulate=lambda rng: with_missing(simulate_counts(rng))),
    shifted_poisson,
    hurdle_poisson,
    hurdle_log_normal,
    categorical,
    categorical._replace(
        name="CategoricalDirichlet, missing", simulate=lambda rng: with_missing(categorical.simulate(rng))
    ),
    categorical._replace(name="CategoricalDirichlet, matrix", family=nrm.CategoricalDirichlet(LEVELS, [4, 2, 3])),
    multinomial,
    multinomial._replace(
        name="MultinomialDirichlet, sparse",
        family=nrm.MultinomialDirichlet(np.array([0.2, 1.0, 0.5, 2.0])),
        simulate=lambda rng: sparse.csr_matrix(simulate_words(rng)),
    ),
]


@pytest.fixture(scope="session", params=FAMILIES, ids=lambda row: row.name)
def case(request):
    return make_case(request.param)


FAST = ("NormalWishart", "PoissonGamma")


@pytest.fixture(
    params=[pytest.param(row, id=row.name, marks=[pytest.mark.slow] * (row.name not in FAST)) for row in FAMILIES]
)
def compiled_case(request):
    """Cases for tests that compile all kernels of a family, which are slow for all families but two."""
    return make_case(request.param)
