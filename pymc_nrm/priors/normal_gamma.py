"""The prior that ``NormalGamma.learned`` adds to a model."""

import pymc as pm

from pymc_nrm.families.learned import learned_prior
from pymc_nrm.families.normal_gamma import NormalGamma
from pymc_nrm.priors.features import data_matrix, feature_dimension


@learned_prior(NormalGamma)
def normal_gamma_prior(name, X):
    """Add shares of the variances, kappa and alpha, see :meth:`NormalGamma.learned`."""
    values = data_matrix(name, X)
    moments = NormalGamma.from_data(values)
    variance = 4.0 * moments.beta
    share = pm.LogNormal(f"{name}_share", -1.0, 1.0, dims=feature_dimension(name, X, values.shape[1]))
    kappa = pm.LogNormal(f"{name}_kappa", -3.0, 1.0)
    excess = pm.LogNormal(f"{name}_excess", 1.0, 1.0)
    # The prior mean of the variance of a cluster is beta / (alpha - 1).
    return NormalGamma(mu=moments.mu, kappa=kappa, alpha=1.0 + excess, beta=share * variance * excess)
