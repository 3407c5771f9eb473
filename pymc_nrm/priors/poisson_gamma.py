"""The prior that ``PoissonGamma.learned`` adds to a model."""

from pymc_nrm.families.learned import learned_prior
from pymc_nrm.families.poisson_gamma import PoissonGamma
from pymc_nrm.priors.features import concentrations, feature_dimension, prior_data


@learned_prior(PoissonGamma)
def poisson_gamma_prior(name, X):
    """Add shapes of the rates about the mean counts, see :meth:`PoissonGamma.learned`."""
    values = prior_data(PoissonGamma(), name, X).values
    # Half a count in each feature keeps means above 0.
    means = (values.sum(axis=0) + 0.5) / len(values)
    shape = concentrations(name, feature_dimension(name, X, values.shape[1]))
    return PoissonGamma(alpha=shape, beta=shape / means)
