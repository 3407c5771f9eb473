"""Dirichlet process, normalized inverse Gaussian and normalized generalized gamma measures."""

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


@generalized_gamma
@random_measure(hyperparameters={"alpha": Hyperparameter((), "positive")})
class NormalizedInverseGaussian(NamedTuple):
    """Normalized inverse Gaussian measure with total mass parameter alpha.

    This is the normalized generalized gamma measure with ``sigma = 1/2``.

    Parameters
    ----------
    alpha : positive float, scalar tensor or random variable
        Factor of the Levy intensity.  The number of clusters among n items grows like ``n^(1/2)``.

    Notes
    -----
    The Levy intensity is ``alpha pi^(-1/2) w^(-3/2) e^-w dw`` (Lijoi, Mena & Prünster 2005, "Hierarchical mixture
    modeling with normalized inverse-Gaussian priors"; parametrised as in Favaro & Teh 2013, section 2).

    Examples
    --------
    >>> from pymc_nrm.measures import NormalizedInverseGaussian
    >>> from pymc_nrm.measures.base import n_clusters_mean
    >>> round(n_clusters_mean(NormalizedInverseGaussian(1.0), 82), 6)
    19.192724
    """

    alpha: Any = 1.0

    def stable_parameters(self):
        return self.alpha, 0.5


@generalized_gamma
@random_measure(hyperparameters={"alpha": Hyperparameter((), "positive"), "sigma": Hyperparameter((), "unit interval")})
class NormalizedGeneralizedGamma(NamedTuple):
    """Normalized generalized gamma measure with total mass parameter alpha and stability sigma.

    Parameters
    ----------
    alpha : positive float, scalar tensor or random variable
        Factor of the Levy intensity.
    sigma : float in [0, 1), scalar tensor or random variable
        The number of clusters among n items grows like ``n^sigma``.  If sigma is 0, the measure is the Dirichlet
        process; if 1/2, the normalized inverse Gaussian measure.

    Notes
    -----
    The Levy intensity is ``alpha / Gamma(1 - sigma) w^(-1-sigma) e^-w dw`` (Favaro & Teh 2013, section 2), hence
    ``psi(u) = alpha / sigma ((1 + u)^sigma - 1)`` and
    ``kappa(m, u) = alpha Gamma(m - sigma) / Gamma(1 - sigma) (1 + u)^(sigma - m)``.  Partition probabilities follow
    from James, Lijoi & Prünster (2009).  The alpha of Lee & Choi (2015) differs: ``alpha = sigma * alpha_LC``.

    Examples
    --------
    >>> from pymc_nrm.measures import NormalizedGeneralizedGamma
    >>> from pymc_nrm.measures.base import n_clusters_mean
    >>> round(n_clusters_mean(NormalizedGeneralizedGamma(1.0, 0.25), 82), 6)
    9.510427
    """

    alpha: Any = 1.0
    sigma: Any = 0.5

    def stable_parameters(self):
        return self.alpha, self.sigma
