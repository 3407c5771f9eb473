"""Clusters along leading principal directions, and shared noise along the others, as one law of the columns."""

import numpy as np
import pytensor.tensor as pt
import pytest
from attack.reference import LOG_MARGINALS
from helpers import log_marginal_of, mixture_of, refused
from scipy import stats

import pymc_nrm as nrm
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import prepare_data, statistics_size
from pymc_nrm.families.conjugate import draw_item, draw_parameters
from pymc_nrm.families.principal_normal_wishart import PrincipalNormalWishart, principal_directions
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.testing import check_family

RNG = np.random.default_rng(1)
X = RNG.normal(size=(12, 3)) @ RNG.normal(size=(3, 3)) * [1.0, 10.0, 100.0] + [5.0, -3.0, 1e3]
MAP = principal_directions(X)[:3]
FAMILY = PrincipalNormalWishart(*MAP, [0.3, -0.2], 0.5, np.array([[2.0, 0.5], [0.5, 1.0]]), 5.0, [0.7])


def prepared(family, values):
    full = broadcast_hyperparameters(family, *values.shape)
    return full, prepare_data(full, values)


def by_parts(family, values, labels):
    """Log density as that of a normal-Wishart of scores, times that of noise, times the Jacobian."""
    scores = (values - family.center) / family.scale @ family.directions
    k = len(family.location)
    law = nrm.NormalWishart(*family[3:7])
    total = sum(LOG_MARGINALS["NormalWishart"](law, scores[labels == label, :k]) for label in np.unique(labels))
    total += stats.norm(0.0, np.sqrt(family.noise)).logpdf(scores[:, k:]).sum()
    return total - len(values) * np.log(family.scale).sum()


@pytest.mark.parametrize("n", [1, 3, 12])
def test_density_is_that_of_scores_and_noise(n):
    full, data = prepared(FAMILY, X)
    found = log_marginal_of(full, data, range(n))
    assert found == pytest.approx(by_parts(full, X[:n], np.zeros(n, dtype=int)), rel=1e-10)


def test_directions_follow_units():
    units = np.array([1e3, 1.0, 1e-6])
    center, scale, directions, variances = principal_directions(X)
    other = principal_directions(X * units + 7.0)
    np.testing.assert_allclose(directions.T @ directions, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(other[1], scale * units, rtol=1e-9)
    for one, expected in zip(other[2:], (directions, variances), strict=True):
        np.testing.assert_allclose(one, expected, atol=1e-9)
    scores = (X - center) / scale @ directions
    np.testing.assert_allclose(np.cov(scores, rowvar=False), np.diag(variances), atol=1e-12)


test_bad_hyperparameters = refused(
    lambda change: mixture_of(FAMILY._replace(**change), X),
    ({"directions": np.ones((3, 3))}, "directions .* must be an orthogonal matrix"),
    ({"nu": 0.9}, "nu .* greater than the number of leading directions minus 1"),
    ({"noise": [0.0]}, "noise .* above 0"),
    ({"scale": pt.vector("scale", shape=(3,))}, "must be constants"),
)


@pytest.mark.slow
@pytest.mark.parametrize("family", [FAMILY, FAMILY._replace(location=[0.1], Psi=[[1.5]], noise=[0.7, 0.2])])
def test_the_functions_of_the_family_agree(family):
    check_family(family, X)


@kernel
def draw_rows(family, rng, parameters, values):
    empty = np.zeros(statistics_size(family))
    for i in range(parameters.shape[0]):
        draw_parameters(family, empty, rng, parameters[i])
        draw_item(family, parameters[i], rng, 0, values[i])


@pytest.mark.slow
def test_parameters_are_those_of_the_columns():
    """Prior means of the mean and the covariance of a cluster; 4.5 standard errors."""
    full, _ = prepared(FAMILY, X)
    rows, values = np.zeros((40_000, 12)), np.zeros((40_000, 3))
    draw_rows(full, np.random.default_rng(2), rows, values)
    axes = full.scale[:, None] * full.directions
    of_scores = np.diag([0.0, 0.0, 0.7])
    of_scores[:2, :2] = full.Psi / (full.nu - 3.0)
    mean = full.center + axes[:, :2] @ full.location
    expected = np.concatenate([mean, (axes @ of_scores @ axes.T).ravel()])
    errors = rows.std(axis=0) / np.sqrt(len(rows))
    assert np.abs((rows.mean(axis=0) - expected) / errors).max() < 4.5
    assert np.abs((values.mean(axis=0) - mean) / (values.std(axis=0) / 200)).max() < 4.5
