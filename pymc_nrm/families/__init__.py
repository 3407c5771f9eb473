"""Conjugate families: the distribution of a cluster's data, with the component parameters integrated out."""

# First, so that families derived from others find all of their methods.
from pymc_nrm.families import fast_paths as fast_paths
from pymc_nrm.families.definitions.bernoulli_beta import BernoulliBeta
from pymc_nrm.families.definitions.categorical_dirichlet import CategoricalDirichlet
from pymc_nrm.families.definitions.multinomial_dirichlet import MultinomialDirichlet
from pymc_nrm.families.definitions.normal_gamma import NormalGamma
from pymc_nrm.families.definitions.normal_regression import NormalRegression
from pymc_nrm.families.definitions.normal_wishart import NormalWishart
from pymc_nrm.families.definitions.poisson_gamma import PoissonGamma
from pymc_nrm.families.derived.hurdle_log_normal import HurdleLogNormal
from pymc_nrm.families.derived.hurdle_poisson import HurdlePoisson
from pymc_nrm.families.derived.log_normal_gamma import LogNormalGamma
from pymc_nrm.families.derived.log_normal_wishart import LogNormalWishart

__all__ = [
    "BernoulliBeta",
    "CategoricalDirichlet",
    "HurdleLogNormal",
    "HurdlePoisson",
    "LogNormalGamma",
    "LogNormalWishart",
    "MultinomialDirichlet",
    "NormalGamma",
    "NormalRegression",
    "NormalWishart",
    "PoissonGamma",
]
