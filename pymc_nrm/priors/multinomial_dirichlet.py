"""The prior that ``MultinomialDirichlet.learned`` adds to a model."""

import numpy as np
import pymc as pm

from pymc_nrm.common.checks import naming
from pymc_nrm.families.base import prepare_data
from pymc_nrm.families.learned import learned_prior
from pymc_nrm.families.multinomial_dirichlet import MultinomialDirichlet
from pymc_nrm.priors.features import data_matrix


@learned_prior(MultinomialDirichlet)
def multinomial_dirichlet_prior(name, X):
    """Add a concentration about the frequencies of entries, see :meth:`MultinomialDirichlet.learned`."""
    matrix = data_matrix(name, X)
    with naming("X"):
        counts = prepare_data(MultinomialDirichlet(), matrix)
    # Half a count of each entry keeps frequencies above 0.
    sums = np.bincount(counts.indices, weights=counts.values, minlength=matrix.shape[1]) + 0.5
    concentration = pm.LogNormal(f"{name}_concentration", np.log(len(sums)) / 2, 1.5)
    return MultinomialDirichlet(alpha=concentration * (sums / sums.sum()))
