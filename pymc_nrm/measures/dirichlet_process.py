"""Dirichlet process: the normalized gamma measure."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.generic import kernel
from pymc_nrm.measures.base import (
    Hyperparameter,
    as_float64_scalar,
    draw_log_u,
    draw_partition,
    log_eppf,
    n_clusters_mean,
    random_measure,
    symbolic_log_eppf,
)
from pymc_nrm.measures.generalized_gamma import implement_generalized_gamma, stable_parameters
from pymc_nrm.special import log_rising_factorial


@random_measure(hyperparameters={"alpha": Hyperparameter((), "positive")})
class DirichletProcess(NamedTuple):
    """Dirichlet process with concentration alpha.

    Parameters
    ----------
    alpha : positive float, scalar tensor or random variable
        Total mass.  The number of clusters among n items grows like ``alpha log n``.

    Notes
    -----
    Levy intensity ``alpha w^-1 e^-w dw``; partition probability
    ``alpha^k prod_c Gamma(n_c) Gamma(alpha) / Gamma(alpha + n)`` (Ewens 1972; Antoniak 1974, proposition 3).

    Examples
    --------
    >>> import numpy as np
    >>> from pymc_nrm.measures import DirichletProcess
    >>> from pymc_nrm.measures.base import draw_partition, n_clusters_mean
    >>> round(n_clusters_mean(DirichletProcess(1.0), 82), 6)
    4.99002
    >>> draw_partition(DirichletProcess(1.0), 5, np.random.default_rng(1)).shape
    (5,)
    """

    alpha: Any = 1.0


implement_generalized_gamma(DirichletProcess)


@stable_parameters.register(DirichletProcess)
def _(measure):
    return measure.alpha, 0.0


@draw_log_u.register(DirichletProcess)
def _(measure, n, n_clusters, rng):
    # u / (1 + u) ~ Beta(n, alpha), u is a ratio of gamma variables; G_a = G_(a+1) U^(1/a) does not underflow in logs.
    log_numerator = math.log(rng.standard_gamma(float(n)))
    log_denominator = math.log(rng.standard_gamma(measure.alpha + 1.0)) + math.log(1.0 - rng.random()) / measure.alpha
    return log_numerator - log_denominator


@log_eppf.register(DirichletProcess)
def _(measure, counts):
    return _log_eppf_kernel(float(measure.alpha), np.asarray(counts))


@kernel
def _log_eppf_kernel(alpha, counts):
    n = 0
    total = counts.shape[0] * math.log(alpha)
    for m in counts:
        n += m
        total += math.lgamma(m)
    return total - log_rising_factorial(alpha, n)


@symbolic_log_eppf.register(DirichletProcess)
def _(measure, counts):
    alpha, counts = as_float64_scalar(measure.alpha), pt.as_tensor(counts)
    sizes = counts.shape[0] * pt.log(alpha) + pt.gammaln(counts).sum()
    return sizes + pt.gammaln(alpha) - pt.gammaln(alpha + counts.sum())


@n_clusters_mean.register(DirichletProcess)
def _(measure, n):
    return float((measure.alpha / (measure.alpha + np.arange(n))).sum())


@draw_partition.register(DirichletProcess)
def _(measure, n, rng):
    return _draw_partition_kernel(float(measure.alpha), n, rng)


@kernel
def _draw_partition_kernel(alpha, n, rng):
    labels = np.zeros(n, dtype=np.int64)
    k = 1
    for i in range(1, n):
        if rng.random() * (alpha + i) < alpha:
            labels[i] = k
            k += 1
        else:
            labels[i] = labels[rng.integers(0, i)]
    return labels
