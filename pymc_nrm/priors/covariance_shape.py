"""A prior on the shape of a covariance matrix that all linear maps of the data leave as it is."""

import numpy as np
import pymc as pm

from pymc_nrm.priors.random_covariance import random_covariance

__all__ = ["covariance_shape"]


def covariance_shape(name, features, covariance):
    """Add a random matrix with the law of Wishart and return it in the coordinates of a sample covariance. It is ``L W
    L'`` with ``W ~ Wishart(d + 2, I) / (d + 2)``, so that its mean is the sample covariance. Shapes: ``covariance`` (d,
    d); returns (d, d).
    """
    d = len(covariance)
    # Let T T' ~ Wishart(m, I): T is lower triangular, T_ii^2 ~ chi-squared(m - i), and T_ij ~ N(0, 1) below the
    # diagonal (Bartlett).  If the data become A x, then L becomes A L Q with Q orthogonal, and Q T T' Q' has the same
    # law as T T'.
    m = d + 2
    squares = pm.ChiSquared(f"{name}_squared_pivot", m - np.arange(d), dims=features)
    below = np.empty(0)
    if d > 1:
        rows, columns = np.tril_indices(d, -1)
        pm.modelcontext(None).add_coord(f"{name}_pair", [f"{i}, {j}" for i, j in zip(rows, columns, strict=True)])
        below = pm.Normal(f"{name}_below_pivot", 0.0, 1.0, dims=f"{name}_pair")
    return random_covariance(np.linalg.cholesky(covariance) / np.sqrt(m), squares, below)
