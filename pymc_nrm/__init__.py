"""Mixtures over random partitions in PyMC, with exact samplers of the partition."""

import importlib
import importlib.metadata
from typing import TYPE_CHECKING

from pymc_nrm import datasets, growth, nested, recipes, states, stats, steps
from pymc_nrm.common.pymc_internals import register_steps
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
    measure_cdf,
    measure_density,
    measure_mean,
    predictive_density,
    sample_cluster_parameters,
    sample_new_labels,
    sample_posterior_predictive,
    sample_random_measure,
)
from pymc_nrm.recipes import (
    MixtureEstimator,
    column_kinds,
    elicit,
    gaussian_mixture,
    jitter_ties,
    mixture_model,
    regression_model,
    suggest_max_clusters,
    table_data,
)
from pymc_nrm.run import convergence_report, load, resume, sample, save
from pymc_nrm.stats import (
    add_diagnostics,
    assignment_uncertainty,
    cluster_parameters,
    component_draws,
    credible_ball,
    expected_loss,
    levels,
    partition_convergence,
    point_estimate,
    point_estimates,
    similarity,
    summary,
    without_labels,
)
from pymc_nrm.steps import (
    ChunkedSampler,
    LearnedGibbs,
    MarginalGibbs,
    MissingGibbs,
    SliceSampler,
    SlotGibbs,
    SlotNUTS,
    SplitMerge,
    TreeGuided,
    WeightedGibbs,
    WeightedNUTS,
)

__all__ = [
    "BernoulliBeta",
    "CategoricalDirichlet",
    "ChunkedSampler",
    "Chunks",
    "DirichletProcess",
    "HurdleLogNormal",
    "HurdlePoisson",
    "LearnedGibbs",
    "LogNormalGamma",
    "LogNormalWishart",
    "MarginalGibbs",
    "MissingGibbs",
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
    "SliceSampler",
    "SlotGibbs",
    "SlotNUTS",
    "SplitMerge",
    "TreeGuided",
    "WeightedGibbs",
    "WeightedNUTS",
    "add_diagnostics",
    "assignment_uncertainty",
    "cluster_parameters",
    "cluster_probabilities",
    "column_kinds",
    "component_draws",
    "compute_log_likelihood",
    "conditional_quantiles",
    "convergence_report",
    "credible_ball",
    "datasets",
    "describe",
    "draw_labels",
    "elicit",
    "expected_loss",
    "fused_estimate",
    "gaussian_mixture",
    "growth",
    "jitter_ties",
    "label_rows",
    "levels",
    "load",
    "log_predictive_density",
    "log_stick_breaking",
    "measure_cdf",
    "measure_density",
    "measure_mean",
    "mixture_model",
    "nested",
    "partition_convergence",
    "plots",
    "point_estimate",
    "point_estimates",
    "predictive_density",
    "published",
    "recipes",
    "regression_model",
    "resume",
    "sample",
    "sample_cluster_parameters",
    "sample_new_labels",
    "sample_posterior_predictive",
    "sample_random_measure",
    "save",
    "similarity",
    "states",
    "stats",
    "steps",
    "suggest_max_clusters",
    "summary",
    "summed_out",
    "table_data",
    "trees",
    "without_labels",
]

# Parts that are imported when first used, since nobody needs them to make a model and sample from it.
_ON_DEMAND = ("plots", "published", "trees")

# Names that were given up, and what took their place.
_RENAMED = {
    "density": "predictive_density",
    "log_density": "log_predictive_density",
    "priors": "the method learned of every family",
    "distributions": "models",
    "predictions": "posterior",
    "samplers": "steps",
    "elicitation": "recipes.elicitation",
    "estimators": "recipes.estimator",
    "predict_labels": "cluster_probabilities",
    "sample_components": "sample_cluster_parameters",
    "WishartGibbs": "LearnedGibbs",
    "HiddenStates": "states.HiddenStates",
    "StateGibbs": "states.StateGibbs",
    "StateSampler": "states.StateSampler",
    "Transitions": "states.Transitions",
    "describe_regimes": "states.describe_regimes",
    "forecast_density": "states.forecast_density",
    "regime_model": "states.regime_model",
    "state_durations": "states.state_durations",
    "state_probabilities": "states.state_probabilities",
    "transition_matrix": "states.transition_matrix",
}

if TYPE_CHECKING:
    from pymc_nrm import plots, published, trees

    __version__: str
else:  # to type checkers, a module with this function has every attribute

    def __getattr__(name):
        if name == "__version__":
            return importlib.metadata.version("pymc-nrm")
        if name in _ON_DEMAND:
            return importlib.import_module(f"{__name__}.{name}")
        if name in _RENAMED:
            raise AttributeError(f"{name} is {_RENAMED[name]} now")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *_ON_DEMAND})


register_steps(
    *(TreeGuided, SplitMerge, MarginalGibbs, SliceSampler, SlotGibbs, WeightedGibbs),
    *(ChunkedSampler, MissingGibbs),
)
