"""Normal-gamma clusters of real columns and of the logarithms of positive ones, independent across features."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.common.supports import ZeroOrOne
from pymc_nrm.families.base import Hyperparameter, conjugate_family
from pymc_nrm.families.conjugate import diagonal_gaussian_log_affinities
from pymc_nrm.families.definitions.log_normal_wishart import (
    LogNormalWishart,
    cdf_of_component,
    mean_of_component,
    on_log_scale,
)
from pymc_nrm.families.definitions.normal_gamma import NormalGamma
from pymc_nrm.families.learned.hyperpriors import Hyperpriors, gamma_fields, shared_text
from pymc_nrm.families.shared.sample_covariance import feature_moments


@conjugate_family(
    hyperparameters={
        "log_columns": Hyperparameter(("d",), ZeroOrOne()),
        "mu": Hyperparameter(("d",), "real"),
        "kappa": Hyperparameter(("d",), "positive"),
        "alpha": Hyperparameter(("d",), "positive"),
        "beta": Hyperparameter(("d",), "positive"),
    },
    parameters={"location": ("d",), "variance": ("d",)},
    continuous=True,
    missing_allowed=True,
)
class LogNormalGamma(NamedTuple):
    """Real and positive features, each with its own mean and variance in every cluster, logarithms taken.

    With ``y = log x`` in the columns of ``log_columns`` and ``y = x`` in all others, y follows a
    :class:`NormalGamma`.  Densities are those of x, see :class:`LogNormalWishart`.  Missing values (NaN) are left out
    of the likelihood.

    Parameters
    ----------
    log_columns : array_like of 0 and 1, shape (d,)
        1 for the columns that are positive and modelled on the logarithmic scale.
    mu, kappa, alpha, beta
        Hyperparameters of the distribution of y, as those of :class:`NormalGamma`.

    Notes
    -----
    Parameters of clusters are the means and the variances of y; the median of a positive feature in a cluster is
    ``exp(location)``, its mean ``exp(location + variance / 2)``.
    """

    log_columns: Any
    mu: Any
    kappa: Any
    alpha: Any
    beta: Any

    @classmethod
    @shared_text(", or a feature has no positive variance after logarithms")
    def learned(cls, name: str, X: Any, log_columns: Any) -> "LogNormalGamma":
        """Hyperparameters learned with the partition, as :meth:`NormalGamma.learned` learns them from logarithms.

        Other units of the features leave the distributions of partitions and of predictions unchanged.

        Examples
        --------
        >>> import pymc as pm
        >>> X = np.exp(np.random.default_rng(1).normal(size=(50, 2)))
        >>> with pm.Model() as model:
        ...     family = LogNormalGamma.learned("x", X, [1, 1])
        >>> [variable.name for variable in model.free_RVs]
        ['x_share', 'x_kappa', 'x_excess']
        """
        prior = Hyperpriors(name, X)
        log_columns = np.asarray(log_columns, dtype="float64")
        mean, variance = feature_moments(NormalGamma, on_log_scale(cls, prior.values, log_columns))
        return cls(log_columns, mean, **prior.normal_gamma(variance))

    learned_fields = staticmethod(gamma_fields)

    def normal(self):
        return NormalGamma(self.mu, self.kappa, self.alpha, self.beta)

    def sum_of_values(self, statistics, j):
        d = self.mu.shape[0]
        return statistics[d + j] + statistics[3 * d + j]

    prepare_data = LogNormalWishart.prepare_data
    prepare_alike = LogNormalWishart.prepare_alike
    to_scale = LogNormalWishart.to_scale
    from_scale = LogNormalWishart.from_scale
    check_resolution = NormalGamma.check_resolution

    # A row of statistics: that of NormalGamma for real columns and logarithms.
    statistics_size = NormalGamma.statistics_size
    add_item = NormalGamma.add_item
    cache_size = NormalGamma.cache_size
    refresh_cache = NormalGamma.refresh_cache
    log_predictive = LogNormalWishart.log_predictive
    log_predictive_without = LogNormalWishart.log_predictive_without
    student_predictive = LogNormalWishart.student_predictive
    panel_shape = NormalGamma.panel_shape
    add_log_predictives = LogNormalWishart.add_log_predictives
    log_likelihood = LogNormalWishart.log_likelihood
    log_likelihood_on_scale = LogNormalWishart.log_likelihood_on_scale
    log_marginal = LogNormalWishart.log_marginal
    log_marginals_with_gradient = LogNormalWishart.log_marginals_with_gradient

    parameters_size = NormalGamma.parameters_size
    draw_parameters = NormalGamma.draw_parameters
    log_parameter_density = NormalGamma.log_parameter_density
    split_parameters = NormalGamma.split_parameters
    join_parameters = NormalGamma.join_parameters
    draw_item = LogNormalWishart.draw_item
    component_panel = NormalGamma.component_panel
    write_component = NormalGamma.write_component
    add_component_densities = LogNormalWishart.add_component_densities

    def component_mean(self, parameters):
        return mean_of_component(self, parameters["location"], parameters["variance"])

    def component_cdf(self, parameters, feature, x):
        location, variance = parameters["location"][:, feature], parameters["variance"][:, feature]
        return cdf_of_component(self, location, variance, feature, x)

    def log_affinities(self, parameters):
        return diagonal_gaussian_log_affinities(parameters["location"], parameters["variance"])
