"""Normalized generalized gamma measure."""

from typing import Any, NamedTuple

from pymc_nrm.measures.base import Hyperparameter, random_measure
from pymc_nrm.measures.generalized_gamma import generalized_gamma


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
