"""Normalized inverse Gaussian measure."""

from typing import Any, NamedTuple

from pymc_nrm.measures.base import Hyperparameter, random_measure
from pymc_nrm.measures.generalized_gamma import generalized_gamma


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
