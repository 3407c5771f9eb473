"""The prior that ``BernoulliBeta.learned`` adds to a model."""

import numpy as np

from pymc_nrm.families.bernoulli_beta import BernoulliBeta
from pymc_nrm.families.learned import learned_prior
from pymc_nrm.priors.features import concentrations, feature_dimension, prior_data


@learned_prior(BernoulliBeta)
def bernoulli_beta_prior(name, X):
    """Add concentrations about the frequencies of ones, see :meth:`BernoulliBeta.learned`."""
    values = prior_data(BernoulliBeta(), name, X).values
    # Half an observation of each value keeps frequencies above 0 and below 1.
    ones, known = np.nansum(values, axis=0) + 0.5, (~np.isnan(values)).sum(axis=0) + 1.0
    concentration = concentrations(name, feature_dimension(name, X, values.shape[1]))
    return BernoulliBeta(alpha=concentration * (ones / known), beta=concentration * (1.0 - ones / known))
