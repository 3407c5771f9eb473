"""The prior that ``MultinomialDirichlet.learned`` adds to a model."""

import numpy as np
import pymc as pm

from pymc_nrm.families.learned import learned_prior
from pymc_nrm.families.multinomial_dirichlet import MultinomialDirichlet
from pymc_nrm.priors.features import prior_data


@learned_prior(MultinomialDirichlet)
def multinomial_dirichlet_prior(name, X):
    """Add a concentration about the frequencies of entries, see :meth:`MultinomialDirichlet.learned`."""
    shape = np.shape(X) if not hasattr(X, "shape") else X.shape
    counts = prior_data(MultinomialDirichlet(), name, X)
    # Half a count of each entry keeps frequencies above 0.
    sums = np.bincount(counts.indices, weights=counts.values, minlength=shape[1]) + 0.5
    concentration = pm.LogNormal(f"{name}_concentration", np.log(len(sums)) / 2, 1.5)
    return MultinomialDirichlet(alpha=concentration * (sums / sums.sum()))
