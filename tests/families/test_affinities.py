"""Affinities of components against integrals and sums."""

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import pymc_nrm as nrm
from pymc_nrm.families.conjugate import log_affinities

WISHART = nrm.NormalWishart(mu=np.zeros(2), kappa=1.0, Psi=np.eye(2), nu=5.0)


def covariances(rng, n, d):
    factors = rng.normal(size=(n, d, d))
    return factors @ factors.transpose(0, 2, 1) + 0.3 * np.eye(d)


def test_gaussian_affinities_are_integrals():
    rng = np.random.default_rng(1)
    mean, covariance = rng.normal(size=(3, 2)), covariances(rng, 3, 2)
    log_affinity = log_affinities(WISHART, {"mean": mean, "covariance": covariance})
    grid = np.linspace(-14, 14, 1401)
    points = np.stack(np.meshgrid(grid, grid), axis=-1)
    roots = [np.exp(0.5 * stats.multivariate_normal(*p).logpdf(points)) for p in zip(mean, covariance, strict=True)]
    for a, b in itertools.product(range(3), repeat=2):
        integral = (roots[a] * roots[b]).sum() * (grid[1] - grid[0]) ** 2
        assert np.exp(log_affinity[a, b]) == pytest.approx(integral, rel=1e-6)


def test_gaussian_affinities_of_independent_features_are_integrals():
    family = nrm.NormalGamma(mu=np.zeros(2), kappa=1.0, alpha=2.0, beta=1.0)
    mean, variance = np.array([[0.0, 2.0], [1.5, -1.0]]), np.array([[1.0, 4.0], [0.3, 2.0]])
    log_affinity = log_affinities(family, {"mean": mean, "variance": variance})
    product = 1.0
    for j in range(2):
        f, g = (stats.norm(mean[k, j], np.sqrt(variance[k, j])).pdf for k in range(2))
        product *= quad(lambda x, f=f, g=g: np.sqrt(f(x) * g(x)), -20, 20, points=[0, 2])[0]
    assert np.exp(log_affinity[0, 1]) == pytest.approx(product, rel=1e-7)
    full = {"mean": mean, "covariance": np.stack([np.diag(v) for v in variance])}
    np.testing.assert_allclose(log_affinity, log_affinities(WISHART, full), atol=1e-12)


def test_affinities_of_counts_and_levels_are_sums():
    rates, k = np.array([[2.0, 0.5], [7.0, 0.1]]), np.arange(80)
    log_affinity = log_affinities(nrm.PoissonGamma(1.0, 1.0), {"rate": rates})
    sums = [np.sqrt(stats.poisson(rates[0, j]).pmf(k) * stats.poisson(rates[1, j]).pmf(k)).sum() for j in range(2)]
    assert np.exp(log_affinity[0, 1]) == pytest.approx(np.prod(sums), rel=1e-9)
    p = np.array([[0.2, 0.9], [0.7, 0.0]])
    two = np.stack([p, 1 - p], axis=2)
    expected = np.prod(np.sqrt(two[0] * two[1]).sum(axis=1))
    for family, probability in ((nrm.BernoulliBeta(1.0, 1.0), p), (nrm.CategoricalDirichlet(np.ones(2)), two)):
        log_affinity = log_affinities(family, {"probability": probability})
        assert np.exp(log_affinity[0, 1]) == pytest.approx(expected)
        np.testing.assert_array_equal(np.diag(log_affinity), 0.0)
    disjoint = log_affinities(nrm.BernoulliBeta(1.0, 1.0), {"probability": np.array([[0.0], [1.0]])})
    assert np.exp(disjoint).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_components_that_are_singular_in_doubles():
    """Components that have shrunk to items with equal values overlap with nothing but each other."""
    flat = np.diag([1.0, 1e-40, 1.0])
    flat[0, 2] = flat[2, 0] = 1.0
    covariance = np.array([flat, flat, np.zeros((3, 3)), np.eye(3)])
    mean = np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [4.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    log_affinity = log_affinities(WISHART, {"mean": mean, "covariance": covariance})
    assert np.isfinite(log_affinity).all()
    assert log_affinity[0, 1] == pytest.approx(0.0, abs=1e-9)
    others = log_affinity[[0, 0, 2], [2, 3, 3]]
    assert (others < -15.0).all(), others
