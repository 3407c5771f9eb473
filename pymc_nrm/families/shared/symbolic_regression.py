"""The symbolic log marginal of regressions in clusters, and the form of their hyperparameters."""

import math

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from pymc_nrm.families.base import segment_sum
from pymc_nrm.families.shared.scatter import log_determinants, symbolic_log_determinant
from pymc_nrm.kernels.special import symbolic_log_rising_factorial

_LOG_2_PI = math.log(2.0 * math.pi)


def regression_log_marginals(family, rows, residuals, counts, labels, labels_of_rows):
    """Sum of the log marginals of the clusters, from covariates (N, p) and residuals (N,) about the prior mean.

    Rows have unit noise; ``counts`` (n,) has the number of responses of each item.
    """
    Lambda, alpha, beta = family.Lambda, family.alpha, family.beta
    n_clusters = labels.max() + 1
    counts = segment_sum(counts, labels, n_clusters)
    # About the prior mean, A has the blocks Lambda and 2 beta.
    side = pt.zeros_like(Lambda[:, :1])
    last = pt.concatenate([side.T, np.zeros((1, 1)) + 2 * beta], axis=1)
    A = pt.concatenate([pt.concatenate([Lambda, side], axis=1), last], axis=0)
    precision = log_determinants(Lambda, rows, labels_of_rows, n_clusters)
    both = pt.concatenate([rows, residuals[:, None]], axis=1)
    log_beta_n = log_determinants(A, both, labels_of_rows, n_clusters) - precision - np.log(2)
    return (
        symbolic_log_rising_factorial(alpha, counts / 2)
        - alpha * (log_beta_n - pt.log(beta))
        - counts / 2 * (log_beta_n + _LOG_2_PI)
        + (symbolic_log_determinant(Lambda) - precision) / 2
    ).sum()


def with_vector_of_means(family):
    """The family with a prior mean for each coefficient, where one number stands for all."""
    if np.ndim(family.mu) > 0:
        return family
    row = family.Lambda[0]
    return family._replace(mu=family.mu + (pt.zeros_like(row) if isinstance(row, Variable) else np.zeros_like(row)))
