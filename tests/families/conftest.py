"""The table of families; to test a new family, add a row."""

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse, stats

from pymc_nrm.families import (
    BernoulliBeta,
    CategoricalDirichlet,
    MultinomialDirichlet,
    NormalGamma,
    NormalWishart,
    PoissonGamma,
)
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import complete, localise, prepare_data


class Row(NamedTuple):
    """A family, and what is known about it independently of its implementation.

    Parameters of a component are a dict of arrays by the names of ``parameter_shapes``, in the coordinates of the user,
    with the draws along the first axis.

    Parameters
    ----------
    name : str
    family : Family
        As a user writes it: scalars where shapes are broadcast.
    simulate : callable
        ``simulate(rng)`` gives data, shape (n, d), dense or sparse.
    log_density : callable
        ``log_density(parameters, X)`` of the items of dense X given parameters, shape (draws, items).
    posterior_mean : callable
        ``posterior_mean(family, X)``, expected parameters given that all of dense X is one cluster.
    item_moments : callable
        ``item_moments(parameters, family)``, mean and variance of one item given one draw of the parameters, (d,) each.
    support : callable
        ``support(X)``, points (m, d) and weights (m,) with which any density of an item adds up to one.
    bad : list
        Data that must be refused, each with a pattern that the message must match.
    """

    name: str
    family: Any
    simulate: Callable
    log_density: Callable
    posterior_mean: Callable
    item_moments: Callable
    support: Callable
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


def sum_over_features(log_p):
    return np.where(np.isnan(log_p), 0.0, log_p).sum(axis=-1)


def grid(axes, weights):
    """Points and weights of a product of rules, one for each feature."""
    return np.array(list(product(*axes)), dtype="float64"), np.prod(list(product(*weights)), axis=1)


def real_line(X, reach=9, n_nodes=301):
    # x = center + scale sinh(t), trapezoid rule in t: algebraic tails become exponential ones.
    t = np.linspace(-reach, reach, n_nodes)
    centers, scales = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    weights = np.cosh(t) * (t[1] - t[0])
    return grid([c + s * np.sinh(t) for c, s in zip(centers, scales, strict=True)], [s * weights for s in scales])


def bernoulli_log_density(parameters, X):
    p = parameters["probability"][:, None, :]
    return sum_over_features(np.where(np.isnan(X), np.nan, np.where(X == 1, np.log(p), np.log1p(-p))))


def bernoulli_posterior(family, X):
    ones = np.nansum(X, axis=0)
    return {"probability": (family.alpha + ones) / (family.alpha + family.beta + (~np.isnan(X)).sum(axis=0))}


def poisson_posterior(family, X):
    return {"rate": (family.alpha + X.sum(axis=0)) / (family.beta + len(X))}


def normal_gamma_posterior(family, X):
    mean, beta = [], []
    for x, mu, kappa, prior_alpha, prior_beta in zip(X.T, *family, strict=True):
        x = x[~np.isnan(x)]
        weight = len(x) * kappa / (kappa + len(x))
        mean.append((kappa * mu + x.sum()) / (kappa + len(x)))
        rate = prior_beta + 0.5 * ((x - x.mean()) ** 2).sum() + 0.5 * weight * (x.mean() - mu) ** 2
        beta.append(rate / (prior_alpha + 0.5 * len(x) - 1))
    return {"mean": np.array(mean), "variance": np.array(beta)}


def normal_wishart_log_density(parameters, X):
    residuals = X - parameters["mean"][:, None]
    precision = np.linalg.inv(parameters["covariance"])
    distance = np.einsum("kni,kij,knj->kn", residuals, precision, residuals)
    log_determinant = np.linalg.slogdet(2 * np.pi * parameters["covariance"])[1]
    return -0.5 * (distance + log_determinant[:, None])


def normal_wishart_posterior(family, X):
    n, d = X.shape
    mean, kappa_n = X.mean(axis=0), family.kappa + n
    shift = mean - family.mu
    scatter = (X - mean).T @ (X - mean) + family.kappa * n / kappa_n * np.outer(shift, shift)
    covariance = (family.Psi + scatter) / (family.nu + n - d - 1)
    return {"mean": (family.kappa * family.mu + n * mean) / kappa_n, "covariance": covariance}


def categorical_log_density(parameters, X):
    p = parameters["probability"]
    with np.errstate(divide="ignore"):
        levels = np.where(np.isnan(X), 0, X).astype(int)
        log_p = np.log(p[:, np.arange(X.shape[1]), levels])
    return sum_over_features(np.where(np.isnan(X), np.nan, log_p))


def categorical_posterior(family, X):
    counts = (X[:, :, None] == np.arange(family.alpha.shape[1])).sum(axis=0)
    weights = family.alpha + counts
    return {"probability": weights / weights.sum(axis=1, keepdims=True)}


def categorical_moments(parameters, family):
    levels = np.arange(parameters["probability"].shape[1])
    mean = parameters["probability"] @ levels
    return mean, parameters["probability"] @ levels**2 - mean**2


def multinomial_posterior(family, X):
    weights = family.alpha + X.sum(axis=0)
    return {"probability": weights / weights.sum()}


def multinomial_log_density(parameters, X):
    p = parameters["probability"][:, None, :]
    return stats.multinomial.logpmf(X, n=X.sum(axis=1), p=p / p.sum(axis=-1, keepdims=True))


def compositions(X):
    total = int(X[0].sum())
    points = [x for x in product(range(total + 1), repeat=X.shape[1]) if sum(x) == total]
    return np.array(points, dtype=float), np.ones(len(points))


def simulate_normal(rng):
    return rng.normal([100.0, -3.0], [0.5, 4.0], size=(12, 2))


def simulate_words(rng):
    return rng.poisson([0.3, 2.0, 0.2, 9.0], size=(12, 4)) + np.eye(12, 4, dtype=int)


bernoulli = Row(
    name="BernoulliBeta",
    family=BernoulliBeta(1.5, np.array([0.5, 2.0, 1.0])),
    simulate=lambda rng: rng.integers(0, 2, size=(12, 3)),
    log_density=bernoulli_log_density,
    posterior_mean=bernoulli_posterior,
    item_moments=lambda p, family: (p["probability"], p["probability"] * (1 - p["probability"])),
    support=lambda X: grid([range(2)] * 3, [np.ones(2)] * 3),
    bad=[
        ([[0, 2]], "BernoulliBeta.* 2"),
        ([[0, -1]], "BernoulliBeta.*-1"),
        ([[0.5]], "BernoulliBeta.*0.5"),
        ([[np.inf]], "BernoulliBeta.*infinite"),
        ([0, 1], "BernoulliBeta.*shape"),
    ],
)
normal_gamma = Row(
    name="NormalGamma",
    family=NormalGamma(mu=np.array([98.0, 0.0]), kappa=0.5, alpha=np.array([2.5, 3.0]), beta=2.0),
    simulate=simulate_normal,
    log_density=lambda p, X: sum_over_features(
        stats.norm.logpdf(X, p["mean"][:, None], np.sqrt(p["variance"])[:, None])
    ),
    posterior_mean=normal_gamma_posterior,
    item_moments=lambda p, family: (p["mean"], p["variance"]),
    support=real_line,
    bad=[
        ([[np.inf]], "NormalGamma.*infinite"),
        ([0.5, 1.0], "NormalGamma.*shape"),
        (sparse.csr_array([[1.0]]), "NormalGamma.*dense"),
    ],
)
normal_wishart = Row(
    name="NormalWishart",
    family=NormalWishart(mu=np.array([98.0, 0.0]), kappa=0.5, Psi=np.array([[2.0, 0.5], [0.5, 9.0]]), nu=6.0),
    simulate=simulate_normal,
    log_density=normal_wishart_log_density,
    posterior_mean=normal_wishart_posterior,
    item_moments=lambda p, family: (p["mean"], np.diag(p["covariance"])),
    support=real_line,
    bad=[
        ([[np.inf, 0.0]], "NormalWishart.*infinite"),
        ([[np.nan, 0.0]], "NormalWishart.*NaN"),
        ([0.5, 1.0], "NormalWishart.*shape"),
        (sparse.csr_array([[1.0, 2.0]]), "NormalWishart.*dense"),
    ],
)
poisson = Row(
    name="PoissonGamma",
    family=PoissonGamma(np.array([1.5, 4.0]), 0.8),
    simulate=lambda rng: rng.poisson([0.7, 8.0], size=(12, 2)),
    log_density=lambda p, X: stats.poisson.logpmf(X, p["rate"][:, None]).sum(axis=-1),
    posterior_mean=poisson_posterior,
    item_moments=lambda p, family: (p["rate"], p["rate"]),
    support=lambda X: grid([range(100)] * 2, [np.ones(100)] * 2),
    bad=[
        ([[0, -2]], "PoissonGamma.*-2"),
        ([[0.5]], "PoissonGamma.*0.5"),
        ([[np.nan]], "PoissonGamma.*NaN"),
        ([[np.inf]], "PoissonGamma.*infinite"),
        ([1, 2], "PoissonGamma.*shape"),
    ],
)
categorical = Row(
    name="CategoricalDirichlet",
    family=CategoricalDirichlet(0.7),
    simulate=lambda rng: rng.integers(0, [4, 2, 3], size=(12, 3)),
    log_density=categorical_log_density,
    posterior_mean=categorical_posterior,
    item_moments=categorical_moments,
    support=lambda X: grid([range(4), range(2), range(3)], [np.ones(4), np.ones(2), np.ones(3)]),
    bad=[
        ([[4, 0, 0]], "CategoricalDirichlet.*4.* feature 0.* 4 levels"),
        ([[0, 2, 0]], "CategoricalDirichlet.*2.* feature 1.* 2 levels"),
        ([[0, -1, 0]], "CategoricalDirichlet.*-1"),
        ([[0.5, 0, 0]], "CategoricalDirichlet.*0.5"),
        ([[np.inf, 0, 0]], "CategoricalDirichlet.*infinite"),
        ([1, 0, 1], "CategoricalDirichlet.*shape"),
    ],
)
multinomial = Row(
    name="MultinomialDirichlet",
    family=MultinomialDirichlet(0.6),
    simulate=simulate_words,
    log_density=multinomial_log_density,
    posterior_mean=multinomial_posterior,
    item_moments=lambda p, family: (
        family.total[0] * p["probability"],
        family.total[0] * p["probability"] * (1 - p["probability"]),
    ),
    support=compositions,
    bad=[
        ([[0, -2]], "MultinomialDirichlet.*-2"),
        ([[0.5]], "MultinomialDirichlet.*0.5"),
        ([[np.nan]], "MultinomialDirichlet.*NaN"),
        ([[np.inf]], "MultinomialDirichlet.*infinite"),
        ([1, 2], "MultinomialDirichlet.*shape"),
        (sparse.csr_array([[0, -2]]), "MultinomialDirichlet.*-2"),
        (sparse.csr_array([[0, 0.5]]), "MultinomialDirichlet.*0.5"),
        (sparse.csr_array([[0, np.nan]]), "MultinomialDirichlet.*NaN"),
    ],
)

FAMILIES = [
    bernoulli,
    bernoulli._replace(name="BernoulliBeta, missing", simulate=lambda rng: with_missing(bernoulli.simulate(rng))),
    normal_wishart,
    normal_wishart._replace(
        name="NormalWishart, three features",
        family=NormalWishart(mu=1.0, kappa=2.0, Psi=np.eye(3) + 0.2, nu=9.0),
        simulate=lambda rng: rng.normal(size=(12, 3)),
        support=lambda X: real_line(X, reach=6, n_nodes=81),
    ),
    normal_gamma,
    normal_gamma._replace(name="NormalGamma, missing", simulate=lambda rng: with_missing(simulate_normal(rng))),
    poisson,
    categorical,
    categorical._replace(
        name="CategoricalDirichlet, missing", simulate=lambda rng: with_missing(categorical.simulate(rng))
    ),
    categorical._replace(
        name="CategoricalDirichlet, matrix",
        family=CategoricalDirichlet(
            np.array([[0.5, 1.0, 2.0, 0.3], [1.0, 0.2, 0.0, 0.0], [3.0, 0.1, 1.0, 0.0]]), [4, 2, 3]
        ),
    ),
    multinomial,
    multinomial._replace(
        name="MultinomialDirichlet, sparse",
        family=MultinomialDirichlet(np.array([0.2, 1.0, 0.5, 2.0])),
        simulate=lambda rng: sparse.csr_matrix(simulate_words(rng)),
    ),
]


@pytest.fixture(scope="session", params=FAMILIES, ids=lambda row: row.name)
def case(request):
    return make_case(request.param)


@pytest.fixture(
    params=[
        pytest.param(
            row, id=row.name, marks=[] if row.name in ("NormalWishart", "PoissonGamma") else [pytest.mark.slow]
        )
        for row in FAMILIES
    ]
)
def compiled_case(request):
    """Cases for tests that compile all kernels of a family, which are slow for all families but two."""
    return make_case(request.param)
