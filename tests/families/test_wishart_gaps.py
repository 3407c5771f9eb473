"""Densities and draws of items with gaps, against the Student t law of their observed and missing entries."""

import itertools

import numpy as np
import pytest
from scipy.stats import multivariate_t

from pymc_nrm.families import NormalWishart, base
from pymc_nrm.families.gaps import draw_missing

D, N = 4, 7
RNG = np.random.default_rng(1)
X = RNG.normal(size=(N, D)) @ RNG.normal(size=(D, D)) + 3.0
ITEM = X.mean(axis=0) + RNG.normal(size=D)
MU, KAPPA, PSI, NU = np.full(D, 2.0), 0.7, np.eye(D) + 0.3, D + 1.5
GAPS = [gaps for size in range(1, D + 1) for gaps in itertools.combinations(range(D), size)]


def cluster():
    """Family, data and cache of a cluster of all items."""
    family = NormalWishart(MU, KAPPA, PSI, NU)
    data = base.prepare_data(family, X)
    family = base.localise(family, data)
    statistics, cache = np.zeros(base.statistics_size(family)), np.empty(base.cache_size(family))
    for item in range(N):
        base.add_item(family, statistics, data, item, 1.0)
    base.refresh_cache(family, statistics, cache)
    return family, data, cache


def law():
    """Location, shape and degrees of freedom of one more item (Murphy 2007, eq. 258)."""
    shift, centred, df = X.mean(axis=0) - MU, X - X.mean(axis=0), NU + N - D + 1
    scatter = PSI + centred.T @ centred + KAPPA * N / (KAPPA + N) * np.outer(shift, shift)
    return (KAPPA * MU + N * X.mean(axis=0)) / (KAPPA + N), scatter * (KAPPA + N + 1) / ((KAPPA + N) * df), df


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
