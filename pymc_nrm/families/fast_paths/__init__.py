"""Fast forms of functions that follow from the definition of a family, one file per family, added on import."""

from pymc_nrm.families.fast_paths import (  # noqa: F401
    bernoulli_beta,
    categorical_dirichlet,
    multinomial_dirichlet,
    normal_gamma,
    normal_regression,
    normal_wishart,
    poisson_gamma,
    principal_normal_wishart,
)
