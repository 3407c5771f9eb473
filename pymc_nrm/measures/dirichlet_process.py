"""Dirichlet process: the normalized gamma measure."""

from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.kernels.special import symbolic_log_rising_factorial
from pymc_nrm.measures.base import Hyperparameter, as_float64_scalar, random_measure
from pymc_nrm.measures.generalized_gamma import generalized_gamma


@generalized_gamma
@random_measure(hyperparameters={"alpha": Hyperparameter((), "positive")})
class DirichletProcess(NamedTuple):
    """Dirichlet process with concentration alpha.

    Parameters
    ----------
    alpha : positive float, scalar tensor or random variable
        Total mass.  The number of clusters among n items grows like ``alpha log n``.

    Notes
    -----
    The Levy intensity is ``alpha w^-1 e^-w dw``.  The probability of a partition is
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

    def stable_parameters(self):
        return self.alpha, 0.0

    def symbolic_log_eppf(self, counts):
        alpha, counts = as_float64_scalar(self.alpha), pt.as_tensor(counts)
        sizes = (counts.shape[0] - 1) * pt.log(alpha) + pt.gammaln(counts).sum()
        return sizes - symbolic_log_rising_factorial(alpha + 1.0, counts.sum() - 1)

    def n_clusters_mean(self, n):
        return float((self.alpha / (self.alpha + np.arange(n))).sum())
