"""The priors that ``learned`` of the tree families adds to a model."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from pymc_nrm.families.learned import learned_prior
from pymc_nrm.families.sample_covariance import sample_moments
from pymc_nrm.priors.covariance_shape import covariance_shape
from pymc_nrm.priors.features import data_matrix, feature_dimension
from pymc_nrm.tree_families import IndependentNormalDiffusion, NormalDiffusion
from pymc_nrm.tree_families.step_variances import falling_steps


@learned_prior(NormalDiffusion)
def normal_diffusion_prior(name, data):
    """Add tau, the covariance expected about leaves and nu, see :meth:`NormalDiffusion.learned`."""
    X, depth = data
    mean, covariance = sample_moments(NormalDiffusion, data_matrix(name, X))
    d = len(mean)
    features = feature_dimension(name, X, d)
    tau, share = _steps(name, depth)
    spread = pm.LogNormal(f"{name}_spread", 0.0, 0.5)
    excess = pm.LogNormal(f"{name}_excess", 1.5, 1.0)
    shape = covariance_shape(name, features, covariance)
    Psi = share * spread * excess * shape
    return NormalDiffusion(mu=mean, tau=tau, Psi=Psi, nu=d + 1.0 + excess)


@learned_prior(IndependentNormalDiffusion)
def independent_normal_diffusion_prior(name, data):
    """Add tau, the variances expected about leaves and alpha, see :meth:`IndependentNormalDiffusion.learned`."""
    X, depth = data
    values = data_matrix(name, X)
    moments = IndependentNormalDiffusion.from_data(values, depth)
    variance = moments.beta * (1.0 + moments.tau[0])
    tau, share = _steps(name, depth)
    spread = pm.LogNormal(f"{name}_spread", 0.0, 0.5, dims=feature_dimension(name, X, values.shape[1]))
    excess = pm.LogNormal(f"{name}_excess", 1.0, 1.0)
    return IndependentNormalDiffusion(
        mu=moments.mu, tau=tau, alpha=1.0 + excess, beta=share * spread * variance * excess
    )


def _steps(name, depth):
    """Add the steps from level to level; return tau and the share of items about their leaf in the variance."""
    default = falling_steps(depth)
    pm.modelcontext(None).add_coord(f"{name}_level", [f"level_{level}" for level in range(1, depth + 1)])
    steps = pm.LogNormal(f"{name}_step", np.log(default[1:]), 1.0, dims=f"{name}_level")
    total = steps.sum()
    # The sample mean is mu, so that the step from mu to the root is only loosely known; the data are as wide as this.
    return pt.concatenate([total[None], steps]), 1.0 / (1.0 + total)
