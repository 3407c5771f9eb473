"""The prior that ``CategoricalDirichlet.learned`` adds to a model."""

import numpy as np

from pymc_nrm.common.checks import naming
from pymc_nrm.families.base import complete, prepare_data
from pymc_nrm.families.categorical_dirichlet import CategoricalDirichlet
from pymc_nrm.families.learned import learned_prior
from pymc_nrm.priors.features import concentrations, data_matrix, feature_dimension


@learned_prior(CategoricalDirichlet)
def categorical_dirichlet_prior(name, X):
    """Add concentrations about the frequencies of levels, see :meth:`CategoricalDirichlet.learned`."""
    matrix = data_matrix(name, X)
    with naming("X"):
        family = complete(CategoricalDirichlet(), matrix)
        levels = prepare_data(family, matrix).values
    present = np.arange(family.n_levels.max()) < family.n_levels[:, None]
    # Half an observation of each level keeps frequencies above 0.
    counts = np.stack([np.bincount(column[column >= 0], minlength=present.shape[1]) for column in levels.T]) + 0.5
    frequencies = counts * present / (counts * present).sum(axis=1, keepdims=True)
    concentration = concentrations(name, feature_dimension(name, X, levels.shape[1]))
    return CategoricalDirichlet(alpha=concentration[:, None] * frequencies, n_levels=family.n_levels)
