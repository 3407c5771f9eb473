"""The prior that ``NormalWishart.learned`` adds to a model."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from pymc_nrm.families.learned import learned_prior
from pymc_nrm.families.normal_wishart import NormalWishart
from pymc_nrm.families.sample_covariance import sample_moments
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
    # The covariance expected within clusters is share / m * L T T' L', where L L' is the sample covariance and T T' has
    # the law Wishart(m, I): T is lower triangular, T_ii^2 ~ chi-squared(m - i), and T_ij ~ N(0, 1) below the diagonal
    # (Bartlett).  If the data become A x, L becomes A L Q with Q orthogonal, and Q T T' Q' has the law of T T'.
    m = d + 2
    squares = pm.ChiSquared(f"{name}_squared_pivot", m - np.arange(d), dims=features)
    factor = pt.diag(pt.sqrt(squares))
    if d > 1:
        rows, columns = np.tril_indices(d, -1)
        pm.modelcontext(None).add_coord(f"{name}_pair", [f"{i}, {j}" for i, j in zip(rows, columns, strict=True)])
        below = pm.Normal(f"{name}_below_pivot", 0.0, 1.0, dims=f"{name}_pair")
        factor = factor[rows, columns].set(below)
    root = np.linalg.cholesky(covariance) @ factor
    Psi = (share * excess / m) * (root @ root.T)
    return NormalWishart(mu=mean, kappa=kappa, Psi=Psi, nu=d + 1.0 + excess)
