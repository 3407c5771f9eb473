"""Priors on the hyperparameters of families, centred at the data: what ``learned`` of each family adds to a model."""

from pymc_nrm.priors import (
    bernoulli_beta,
    categorical_dirichlet,
    diffusion,
    multinomial_dirichlet,
    normal_gamma,
    normal_wishart,
    poisson_gamma,
)

__all__ = [
    "bernoulli_beta",
    "categorical_dirichlet",
    "diffusion",
    "multinomial_dirichlet",
    "normal_gamma",
    "normal_wishart",
    "poisson_gamma",
]
