"""Normal-Wishart clusters along principal directions, and of items with gaps, against their laws in closed form."""

import itertools

import numpy as np
import pytensor.tensor as pt
import pytest
from scipy import stats
from scipy.linalg import null_space
from scipy.stats import multivariate_t

import pymc_nrm as nrm
from pymc_nrm.families import base
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import prepare_data, statistics_size
from pymc_nrm.families.conjugate import (
    draw_item,
    draw_parameters,
    gaussian_log_affinities,
    log_affinities,
    named_parameters,
)
from pymc_nrm.families.definitions.principal_normal_wishart import principal_directions
from pymc_nrm.families.gaps import draw_missing
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.testing import check_family
from tests.cases import PrincipalNormalWishart, SphericalPrincipalNormalWishart
from tests.helpers import log_marginal_of, mixture_of, refused
from tests.tools.attack.reference import LOG_MARGINALS

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


# Fewer rows than columns: the directions of four rows.
WIDE = RNG.normal(size=(4, 6)) * np.arange(1, 7) + 5.0
WIDE_MAP = principal_directions(WIDE)
SPHERICAL = SphericalPrincipalNormalWishart(
    *WIDE_MAP[:2], WIDE_MAP[2][:, :2], [0.3, -0.2], 0.5, np.array([[2.0, 0.5], [0.5, 1.0]]), 5.0, [0.7]
)


@pytest.mark.parametrize("n", [1, 4])
def test_other_directions_share_one_noise(n):
    """Any directions that complete the leading ones are those of equal noises, here of a family for square maps."""
    full, data = prepared(SPHERICAL, WIDE)
    others = null_space(full.directions.T)
    square = full._replace(directions=np.hstack([full.directions, others]), noise=np.full(4, 0.7))
    expected = by_parts(square, WIDE[:n], np.zeros(n, dtype=int))
    assert log_marginal_of(full, data, range(n)) == pytest.approx(expected, rel=1e-10)


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
test_bad_spherical_hyperparameters = refused(
    lambda change: mixture_of(SPHERICAL._replace(**change), WIDE),
    ({"directions": np.ones((6, 2))}, "directions of Spherical.* must be an orthogonal matrix, or columns of one"),
    ({"nu": 0.9}, "nu .* greater than the number of leading directions minus 1"),
    ({"noise": [0.0]}, "noise .* above 0"),
)


@pytest.mark.slow
@pytest.mark.parametrize("family", [FAMILY, FAMILY._replace(location=[0.1], Psi=[[1.5]], noise=[0.7, 0.2])])
def test_the_functions_of_the_family_agree(family):
    check_family(family, X)


@pytest.mark.slow
def test_the_functions_of_the_spherical_family_agree():
    check_family(SPHERICAL, WIDE, compiled=False)


def test_spherical_parameters_are_those_of_the_columns():
    """Means and variances of a cluster are those of its items: 4.5 standard errors; affinities those of all columns."""
    full, _ = prepared(SPHERICAL, WIDE)
    empty, rng = np.zeros(statistics_size(full)), np.random.default_rng(2)
    rows, values = np.zeros((2, 2 * 6 + 2 + 4)), np.zeros((4000, 6))
    for row in rows:
        draw_parameters(full, empty, rng, row)
    for value in values:
        draw_item(full, rows[0], rng, 0, value)
    error = values.std(axis=0) / np.sqrt(len(values))
    assert (np.abs(values.mean(axis=0) - rows[0, :6]) < 4.5 * error).all()
    squares = (values - rows[0, :6]) ** 2
    assert (np.abs(squares.mean(axis=0) - rows[0, 6:12]) < 4.5 * squares.std(axis=0) / np.sqrt(len(values))).all()
    axes = full.scale[:, None] * full.directions
    rest = 0.7 * (np.diag(full.scale**2) - axes @ axes.T)
    covariances = np.array([axes @ row[14:].reshape(2, 2) @ axes.T + rest for row in rows])
    np.testing.assert_allclose(np.diagonal(covariances, axis1=1, axis2=2), rows[:, 6:12])
    found = log_affinities(full, named_parameters(full, rows))
    np.testing.assert_allclose(found, gaussian_log_affinities(rows[:, :6], covariances), atol=1e-9)


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


D, N = 4, 7
RNG_OF_GAPS = np.random.default_rng(1)
GAPPED = RNG_OF_GAPS.normal(size=(N, D)) @ RNG_OF_GAPS.normal(size=(D, D)) + 3.0
ITEM = GAPPED.mean(axis=0) + RNG_OF_GAPS.normal(size=D)
MU, KAPPA, PSI, NU = np.full(D, 2.0), 0.7, np.eye(D) + 0.3, D + 1.5
GAPS = [gaps for size in range(1, D + 1) for gaps in itertools.combinations(range(D), size)]


def cluster():
    """Family, data and cache of a cluster of all items."""
    family = nrm.NormalWishart(MU, KAPPA, PSI, NU)
    data = base.prepare_data(family, GAPPED)
    family = base.localise(family, data)
    statistics, cache = np.zeros(base.statistics_size(family)), np.empty(base.cache_size(family))
    for item in range(N):
        base.add_item(family, statistics, data, item, 1.0)
    base.refresh_cache(family, statistics, cache)
    return family, data, cache


def law():
    """Location, shape and degrees of freedom of one more item (Murphy 2007, eq. 258)."""
    shift, centred, df = GAPPED.mean(axis=0) - MU, GAPPED - GAPPED.mean(axis=0), NU + N - D + 1
    scatter = PSI + centred.T @ centred + KAPPA * N / (KAPPA + N) * np.outer(shift, shift)
    return (KAPPA * MU + N * GAPPED.mean(axis=0)) / (KAPPA + N), scatter * (KAPPA + N + 1) / ((KAPPA + N) * df), df


@pytest.mark.slow
@pytest.mark.parametrize("gaps", GAPS)
def test_density_of_the_observed_entries(gaps):
    family, data, cache = cluster()
    row, (location, shape, df) = ITEM.copy(), law()
    row[list(gaps)] = np.nan
    known = np.flatnonzero(~np.isnan(row))
    new = base.prepare_alike(family, row[None], data)
    expected = (
        multivariate_t.logpdf(row[known], location[known], shape[np.ix_(known, known)], df) if len(known) else 0.0
    )
    np.testing.assert_allclose(base.log_predictive(family, cache, new, 0), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("gaps", [(0,), (1,), (3,), (0, 2), (1, 2, 3)])
def test_law_of_the_missing_entries(gaps):
    """Means and covariances of the Student t law given the observed entries."""
    family, data, cache = cluster()
    (location, shape, df), gaps = law(), list(gaps)
    known = [j for j in range(D) if j not in gaps]
    slope = np.linalg.solve(shape[np.ix_(known, known)], shape[np.ix_(known, gaps)]).T
    residual = ITEM[known] - location[known]
    mean = location[gaps] + slope @ residual
    distance = residual @ np.linalg.solve(shape[np.ix_(known, known)], residual)
    width = (df + distance) / (df + len(known) - 2)
    covariance = width * (shape[np.ix_(gaps, gaps)] - slope @ shape[np.ix_(known, gaps)])
    rng, drawn = np.random.default_rng(2), np.empty((4000, len(gaps)))
    for draw in drawn:
        row = ITEM.copy()
        row[gaps] = np.nan
        new = base.prepare_alike(family, row[None], data)
        draw_missing(family, cache, new, 0, rng)
        draw[:] = new.values[0, gaps] + data.center[gaps]
    error = np.sqrt(np.diag(covariance) / len(drawn))
    assert np.all(np.abs(drawn.mean(axis=0) - mean) < 5.0 * error)
    products = (drawn - mean)[:, :, None] * (drawn - mean)[:, None, :]
    error = products.std(axis=0) / np.sqrt(len(drawn))
    assert np.all(np.abs(products.mean(axis=0) - covariance) < 5.0 * error)
