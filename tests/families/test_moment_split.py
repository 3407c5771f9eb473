"""Densities of parameters, and of two parts with the moments of one component."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

import pymc_nrm as nrm
from pymc_nrm.families import conjugate
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import localise, prepare_data, statistics_size
from pymc_nrm.families.definitions.principal_normal_wishart import PrincipalNormalWishart
from pymc_nrm.families.derived.spherical_principal_normal_wishart import SphericalPrincipalNormalWishart
from pymc_nrm.families.needs import MOMENT_SPLIT
from pymc_nrm.families.product import Product, product_data
from pymc_nrm.families.shared.principal_scores import principal_directions
from pymc_nrm.families.shared.two_components import join_parameters, split_parameters
from pymc_nrm.kernels.generic import kernel, lacking
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.testing import kernel_inputs
from pymc_nrm.testing.family_kernels import panel_log_densities, sum_statistics


@pytest.fixture
def case(compiled_case):
    """A case whose family has densities of parameters and two parts in the place of one."""
    if lacking(type(compiled_case.local), MOMENT_SPLIT):
        pytest.skip("the family has no parts")
    return compiled_case


@kernel
def draw_parts(rng, family, statistics, p, rows):
    """Parameters of the whole, of two parts, and of the whole that follows from them, into rows (n, 2, 4, size), and
    log densities of the parts by two laws (n, 2, 2). Under the first, they are drawn from the whole; under the second,
    they are independent. ``statistics`` are those of the parts and of the whole (3, size).
    """
    values = np.empty((rows.shape[0], 2, 2))
    for k in range(rows.shape[0]):
        for law in range(2):
            one, other, whole = rows[k, law, 1], rows[k, law, 2], rows[k, law, 3]
            if law == 0:
                conjugate.draw_parameters(family, statistics[2], rng, rows[k, law, 0])
                split_parameters(family, rows[k, law, 0], p, 1.0 - p, rng, one, other)
            else:
                conjugate.draw_parameters(family, statistics[0], rng, one)
                conjugate.draw_parameters(family, statistics[1], rng, other)
            values[k, law, 0] = join_parameters(family, p, 1.0 - p, one, other, whole)
            values[k, law, 0] += conjugate.log_parameter_density(family, statistics[2], whole)
            values[k, law, 1] = conjugate.log_parameter_density(family, statistics[0], one)
            values[k, law, 1] += conjugate.log_parameter_density(family, statistics[1], other)
    return values


def check_parts(family, data, n=20_000):
    order, p = np.random.default_rng(2).permutation(12), 0.3
    statistics = np.array([sum_statistics(family, data, items) for items in (order[:4], order[4:], order)])
    rows = np.zeros((n, 2, 4, conjugate.parameters_size(family)))
    values = draw_parts(np.random.default_rng(3), family, statistics, p, rows)
    np.testing.assert_allclose(rows[:, 0, 3], rows[:, 0, 0], rtol=1e-6, atol=1e-12)
    # Draws x of either law have the same mean of t(x) times the density of the other law over the sum of both.
    log_ratio = values[..., 0] - values[..., 1]
    shares = expit(log_ratio * np.array([-1.0, 1.0]))
    parts = rows[:, :, 1:3].reshape(n, 2, -1)
    above = parts > np.median(parts, axis=(0, 1))
    for t in (np.ones((n, 2)), *np.moveaxis(above, 2, 0)):
        means, errors = (shares * t).mean(axis=0), (shares * t).std(axis=0) / np.sqrt(n)
        assert abs(means[0] - means[1]) <= 4.5 * np.hypot(*errors)
    assert shares.mean() > 0.01


@pytest.mark.quick("PoissonGamma")
def test_parts_have_the_density_and_the_moments_of_the_whole(case):
    check_parts(case.local, case.data)


@pytest.mark.slow
@pytest.mark.parametrize("spherical", [False, True])
def test_parts_along_principal_directions(spherical):
    X = np.random.default_rng(1).normal(size=(12, 3)) * [1.0, 3.0, 2.0]
    center, scale, directions, _ = principal_directions(X)
    family_class = SphericalPrincipalNormalWishart if spherical else PrincipalNormalWishart
    directions = np.ascontiguousarray(directions[:, :2]) if spherical else directions
    family = family_class(center, scale, directions, [0.3, -0.2], 0.5, [[2.0, 0.5], [0.5, 1.0]], 5.0, [0.7])
    check_parts(*kernel_inputs(family, X))


@pytest.mark.slow
def test_parts_of_a_product():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 1)), rng.poisson(2.0, size=(12, 1))
    families = nrm.NormalGamma(0.0, 0.5, 3.0, 2.0), nrm.PoissonGamma(2.0, 0.5)
    families = [broadcast_hyperparameters(family, 12, 1) for family in families]
    data = product_data([prepare_data(family, x) for family, x in zip(families, X, strict=True)])
    check_parts(localise(Product(*families), data), data)


def normal_wishart(family, mean, covariance):
    value = stats.invwishart(family.nu, family.Psi).logpdf(covariance)
    return value + stats.multivariate_normal(family.mu, covariance / family.kappa).logpdf(mean)


def normal_gamma(family, mean, variance):
    value = stats.invgamma(family.alpha, scale=family.beta).logpdf(variance)
    return (value + stats.norm(family.mu, np.sqrt(variance / family.kappa)).logpdf(mean)).sum()


def dirichlet(family, probability):
    rows = zip(np.atleast_2d(family.alpha), np.atleast_2d(probability), strict=True)
    return sum(stats.dirichlet(alpha[alpha > 0]).logpdf(x[alpha > 0] / x.sum()) for alpha, x in rows)


def gamma(family, rate):
    return stats.gamma(family.alpha, scale=1.0 / family.beta).logpdf(rate).sum()


def hurdle(density):
    """The density of a hurdle family: of the probability not to be zero, and of what a value above zero has."""

    def log_density(family, probability, *others):
        return stats.beta(family.ones, family.zeros).logpdf(probability).sum() + density(family, *others)

    return log_density


DENSITIES = {
    "NormalWishart": normal_wishart,
    "LogNormalWishart": normal_wishart,
    "NormalGamma": normal_gamma,
    "LogNormalGamma": normal_gamma,
    "HurdleLogNormal": hurdle(normal_gamma),
    "PoissonGamma": gamma,
    "HurdlePoisson": hurdle(gamma),
    "BernoulliBeta": lambda family, p: stats.beta(family.alpha, family.beta).logpdf(p).sum(),
    "CategoricalDirichlet": dirichlet,
    "MultinomialDirichlet": dirichlet,
}


@kernel
def densities(rng, family, statistics, rows):
    """Log densities (n, 2) of parameters drawn given statistics, with no data and with these, and the log marginal."""
    values = np.empty((rows.shape[0], 2))
    no_data = np.zeros(statistics_size(family))
    for k in range(rows.shape[0]):
        conjugate.draw_parameters(family, statistics, rng, rows[k])
        values[k, 0] = conjugate.log_parameter_density(family, no_data, rows[k])
        values[k, 1] = conjugate.log_parameter_density(family, statistics, rows[k])
    return values, conjugate.log_marginal(family, statistics)


@pytest.mark.quick("PoissonGamma")
def test_densities_of_parameters(case):
    family, data = case.local, case.data
    statistics = sum_statistics(family, data, np.arange(12))
    rows = np.zeros((LANES, conjugate.parameters_size(family)))
    values, marginal = densities(np.random.default_rng(4), family, statistics, rows)
    expected = DENSITIES[type(family).__name__]
    for row, value in zip(rows, values[:, 0], strict=True):
        named = conjugate.named_parameters(family, row[None])
        assert value == pytest.approx(expected(family, *(array[0] for array in named.values())), rel=1e-9)
    likelihoods = panel_log_densities(family, rows, data, 12).sum(axis=1)
    np.testing.assert_allclose(values[:, 1], values[:, 0] + likelihoods - marginal, rtol=1e-9)
