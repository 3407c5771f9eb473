"""The prior that ``NormalWishart.learned`` adds to a model."""

import pymc as pm

from pymc_nrm.families.learned import learned_prior
from pymc_nrm.families.normal_wishart import NormalWishart
from pymc_nrm.families.sample_covariance import sample_moments
from pymc_nrm.priors.covariance_shape import covariance_shape
from pymc_nrm.priors.features import data_matrix, feature_dimension


@learned_prior(NormalWishart)
def normal_wishart_prior(name, X):
    """Add the covariance expected within clusters, kappa and nu, see :meth:`NormalWishart.learned`."""
    values = data_matrix(name, X)
    mean, covariance = sample_moments(NormalWishart, values)
    d = len(mean)
    features = feature_dimension(name, X, d)
    share = pm.LogNormal(f"{name}_share", -1.0, 1.0)
    kappa = pm.LogNormal(f"{name}_kappa", -3.0, 1.0)
    excess = pm.LogNormal(f"{name}_excess", 1.5, 1.0)
    shape = covariance_shape(name, features, covariance)
    # The covariance expected within clusters is share * shape.
    Psi = share * excess * shape
    return NormalWishart(mu=mean, kappa=kappa, Psi=Psi, nu=d + 1.0 + excess)
