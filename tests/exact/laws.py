"""Exact laws of the cases, and what is prepared once for all tests of them."""

import functools
import math

import numpy as np
from scipy.special import multigammaln

from pymc_nrm.kernels.generic import kernel, lacking
from pymc_nrm.measures.base import Weights, log_eppf, log_tilted_moment, weights
from pymc_nrm.moves.gibbs import weights_given
from pymc_nrm.testing import exact_posterior, kernel_inputs
from tests.cases import MEASURES, SMALL
from tests.helpers import label_counts

CHAINS = 4


@kernel
def draw_tables(rng, measure, n, n_tables):
    """Weights given 1, ..., n clusters, with a new u for each table: two arrays of shape (n, n_tables, n + 1)."""
    join = np.empty((n, n_tables, n + 1))
    moment = np.empty((n, n_tables, n + 1))
    for k in range(n):
        for t in range(n_tables):
            table, _, _ = weights_given(rng, measure, n, k + 1, math.nan)
            join[k, t] = table.join
            moment[k, t] = table.moment
    return Weights(join, moment)


@functools.cache
def inputs(family):
    """Family and data of kernels, by name."""
    return kernel_inputs(*SMALL[family])


@functools.cache
def posterior(measure, family):
    """All partitions and their exact probabilities, by names."""
    return exact_posterior(MEASURES[measure], *SMALL[family])


@functools.cache
def law_given_u(measure, family, u):
    partitions, probabilities = posterior(measure, family)
    measure, n = MEASURES[measure], partitions.shape[1]
    if lacking(type(measure), [log_tilted_moment]):
        moments = weights(measure, n, np.log(u)).moment
    else:
        # These do not rest on the tables that the samplers read.
        moments = np.array([0.0, *(log_tilted_moment(measure, m, u) for m in range(1, n + 1))])
    log_p = np.log(probabilities)
    for row, labels in enumerate(partitions):
        counts = label_counts(labels)
        log_p[row] += moments[counts].sum() - log_eppf(measure, counts)
    p = np.exp(log_p - log_p.max())
    return partitions, p / p.sum()


def log_marginal_of_wishart(rows, mu, kappa, Psi, nu):
    """Log marginals of normal-Wishart clusters by Murphy (2007), eq. 266, for many rows (..., n, d) or many values of
    the hyperparameters but mu.
    """
    n, d = rows.shape[-2:]
    kappa, mean = np.asarray(kappa), rows.mean(axis=-2)
    centred, shift = rows - mean[..., None, :], mean - mu
    scatter = np.swapaxes(centred, -1, -2) @ centred
    scatter = scatter + (kappa * n / (kappa + n))[..., None, None] * shift[..., None] * shift[..., None, :]
    value = d / 2 * np.log(kappa / (kappa + n)) - n * d / 2 * np.log(np.pi)
    value = value + nu / 2 * np.linalg.slogdet(Psi)[1] - (nu + n) / 2 * np.linalg.slogdet(Psi + scatter)[1]
    return value + multigammaln((nu + n) / 2, d) - multigammaln(nu / 2, d)
