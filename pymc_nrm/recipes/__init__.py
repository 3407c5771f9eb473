"""Models from a matrix or a table in one call, elicited priors, and the interface of scikit-learn."""

from pymc_nrm.recipes.elicitation import ElicitedPrior, elicit, suggest_max_clusters
from pymc_nrm.recipes.estimator import MixtureEstimator
from pymc_nrm.recipes.gaussian_mixture import gaussian_mixture, held_out_density
from pymc_nrm.recipes.new_rows import update
from pymc_nrm.recipes.reading.table import column_kinds
from pymc_nrm.recipes.table_models import mixture_model, regression_model, table_data
from pymc_nrm.recipes.ties import jitter_ties

__all__ = [
    "ElicitedPrior",
    "MixtureEstimator",
    "column_kinds",
    "elicit",
    "gaussian_mixture",
    "held_out_density",
    "jitter_ties",
    "mixture_model",
    "regression_model",
    "suggest_max_clusters",
    "table_data",
    "update",
]
