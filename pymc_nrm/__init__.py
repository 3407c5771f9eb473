"""Mixtures over random partitions in PyMC, with exact samplers of the partition."""

import importlib
import importlib.metadata
from typing import TYPE_CHECKING

from pymc_nrm import datasets, growth, nested, random_measure, recipes, states, stats, steps
from pymc_nrm.families import (
    BernoulliBeta,
    CategoricalDirichlet,
    HurdleLogNormal,
    HurdlePoisson,
    LogNormalGamma,
    LogNormalWishart,
    MultinomialDirichlet,
    NormalGamma,
    NormalRegression,
    NormalWishart,
    PoissonGamma,
)
from pymc_nrm.measures import (
    DirichletProcess,
    MixtureOfFiniteMixtures,
    NormalizedGeneralizedGamma,
    NormalizedInverseGaussian,
    PitmanYorProcess,
)
from pymc_nrm.models.mixture import Mixture
from pymc_nrm.models.partition import Partition
from pymc_nrm.models.stick_breaking import log_stick_breaking
from pymc_nrm.models.summed_model import summed_out
from pymc_nrm.moves.chunks.source import Chunks
from pymc_nrm.posterior import (
    cluster_probabilities,
    compute_log_likelihood,
    conditional_quantiles,
    describe,
    draw_labels,
    fused_estimate,
    label_rows,
    log_predictive_density,
    predictive_density,
    sample_cluster_parameters,
    sample_new_labels,
    sample_posterior_predictive,
)
from pymc_nrm.recipes import (
    MixtureEstimator,
    elicit,
    gaussian_mixture,
    mixture_model,
    regression_model,
    table_data,
)
from pymc_nrm.run import convergence_report, load, resume, sample, save
from pymc_nrm.stats import (
    credible_ball,
    point_estimate,
    point_estimates,
    similarity,
    summary,
)

__all__ = [
    "BernoulliBeta",
    "CategoricalDirichlet",
    "Chunks",
    "DirichletProcess",
    "HurdleLogNormal",
    "HurdlePoisson",
    "LogNormalGamma",
    "LogNormalWishart",
    "Mixture",
    "MixtureEstimator",
    "MixtureOfFiniteMixtures",
    "MultinomialDirichlet",
    "NormalGamma",
    "NormalRegression",
    "NormalWishart",
    "NormalizedGeneralizedGamma",
    "NormalizedInverseGaussian",
    "Partition",
    "PitmanYorProcess",
    "PoissonGamma",
    "cluster_probabilities",
    "compute_log_likelihood",
    "conditional_quantiles",
    "convergence_report",
    "credible_ball",
    "datasets",
    "describe",
    "draw_labels",
    "elicit",
    "fused_estimate",
    "gaussian_mixture",
    "growth",
    "label_rows",
    "load",
    "log_predictive_density",
    "log_stick_breaking",
    "mixture_model",
    "nested",
    "plots",
    "point_estimate",
    "point_estimates",
    "predictive_density",
    "published",
    "random_measure",
    "recipes",
    "regression_model",
    "resume",
    "sample",
    "sample_cluster_parameters",
    "sample_new_labels",
    "sample_posterior_predictive",
    "save",
    "similarity",
    "states",
    "stats",
    "steps",
    "summary",
    "summed_out",
    "table_data",
    "trees",
]

# Parts that are imported when first used, since nobody needs them to make a model and sample from it.
_ON_DEMAND = ("networks", "plots", "published", "serving", "testing", "trees")

if TYPE_CHECKING:
    from pymc_nrm import networks as networks
    from pymc_nrm import plots, published, trees
    from pymc_nrm import serving as serving
    from pymc_nrm import testing as testing
    from pymc_nrm.versions import show_versions as show_versions

    __version__: str
else:  # to type checkers, a module with this function has every attribute

    def __getattr__(name):
        if name == "__version__":
            return importlib.metadata.version("pymc-nrm")
        if name == "show_versions":  # about the installation, like __version__, and no name of a model
            return importlib.import_module(f"{__name__}.versions").show_versions
        if name in _ON_DEMAND:
            return importlib.import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *_ON_DEMAND, "__version__", "show_versions"})
