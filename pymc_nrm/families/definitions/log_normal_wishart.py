"""Normal-Wishart clusters of real columns and of the logarithms of positive ones."""

from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
import scipy

from pymc_nrm.common.checks import known_value
from pymc_nrm.common.supports import ZeroOrOne
from pymc_nrm.families import base, components, conjugate, fast, gaps
from pymc_nrm.families.arguments import check_matrix
from pymc_nrm.families.base import Centred, Hyperparameter, conjugate_family
from pymc_nrm.families.definitions.normal_wishart import NormalWishart
from pymc_nrm.families.learned.hyperpriors import Hyperpriors, shared_text, wishart_fields
from pymc_nrm.families.shared.moments import centred, summation_grid
from pymc_nrm.families.shared.sample_covariance import sample_moments
from pymc_nrm.families.shared.wishart_rows import low_offset
from pymc_nrm.kernels.generic import generic, kernel
from pymc_nrm.kernels.lanes import LANES


@generic
def normal(family):
    """The family of the columns after logarithms were taken."""
    raise NotImplementedError


@generic
def sum_of_values(family, statistics, j):
    """Sum of a feature over the items of a cluster, on the scale of kernels."""
    raise NotImplementedError


@conjugate_family(
    hyperparameters={
        "log_columns": Hyperparameter(("d",), ZeroOrOne()),
        "mu": Hyperparameter(("d",), "real"),
        "kappa": Hyperparameter((), "positive"),
        "Psi": Hyperparameter(("d", "d"), "positive definite"),
        "nu": Hyperparameter((), "greater than d - 1"),
    },
    parameters={"location": ("d",), "covariance": ("d", "d")},
    continuous=True,
    missing_allowed=True,
)
class LogNormalWishart(NamedTuple):
    """Real and positive features; every cluster has its own mean and full covariance of these, logarithms taken.

    With ``y = log x`` in the columns of ``log_columns`` and ``y = x`` in all others, y follows a
    :class:`NormalWishart`.  Densities are those of x: the density of y divided by the product of the positive features.
    Missing values (NaN) are drawn as those of :class:`NormalWishart`.

    Parameters
    ----------
    log_columns : array_like of 0 and 1, shape (d,)
        1 for the columns that are positive and modelled on the logarithmic scale.
    mu, kappa, Psi, nu
        Hyperparameters of the distribution of y, as those of :class:`NormalWishart`.

    Notes
    -----
    ``log p(x) = log p(y) - sum_j log_columns[j] log x[j]``.  Parameters of clusters are the mean and the covariance of
    y; the median of a positive feature in a cluster is ``exp(location)``, its mean ``exp(location + variance / 2)``.
    """

    log_columns: Any
    mu: Any
    kappa: Any
    Psi: Any
    nu: Any

    @classmethod
    @shared_text(", n is at most d, or columns are constant or linear combinations of others after logarithms")
    def learned(cls, name: str, X: Any, log_columns: Any) -> "LogNormalWishart":
        """Hyperparameters learned with the partition, as :meth:`NormalWishart.learned` learns them from logarithms.

        Other units of the features leave the distributions of partitions and of predictions unchanged.

        Examples
        --------
        >>> import pymc as pm
        >>> X = np.exp(np.random.default_rng(1).normal(size=(50, 2)))
        >>> with pm.Model() as model:
        ...     family = LogNormalWishart.learned("x", X, [1, 0])
        >>> [variable.name for variable in model.free_RVs]
        ['x_share', 'x_kappa', 'x_excess', 'x_squared_pivot', 'x_below_pivot']
        """
        prior = Hyperpriors(name, X)
        log_columns = np.asarray(log_columns, dtype="float64")
        mean, covariance = sample_moments(NormalWishart, on_log_scale(cls, prior.values, log_columns))
        return cls(log_columns, mean, **prior.normal_wishart(prior.features(), covariance))

    learned_fields = staticmethod(wishart_fields)

    def normal(self):
        return NormalWishart(self.mu, self.kappa, self.Psi, self.nu)

    # The name by which steps for learned hyperparameters ask for it.
    leading = normal

    def sum_of_values(self, statistics, j):
        return statistics[1 + j] + statistics[1 + j + low_offset(self.mu.shape[0])]

    def prepare_data(self, X):
        log_columns = known_value(self.log_columns)
        if log_columns is None:
            raise ValueError(f"log_columns of {type(self).__name__} must be constants")
        values = on_log_scale(type(self), X, log_columns)
        # Logarithms are not centred, so that they are at hand for the density.
        center = np.where(log_columns == 1.0, 0.0, centred(values).center)
        values = values - center
        return Centred(values, center, summation_grid(values))

    def prepare_alike(self, X, data):
        return data._replace(values=on_log_scale(type(self), X, known_value(self.log_columns)) - data.center)

    def to_scale(self, columns, values, module=np):
        is_log = known_value(self.log_columns)[columns] == 1.0
        return module.where(is_log, module.log(module.where(is_log, values, 1.0)), values)

    def from_scale(self, columns, values):
        is_log = known_value(self.log_columns)[columns] == 1.0
        return np.where(is_log, np.exp(np.where(is_log, values, 0.0)), values)

    check_resolution = NormalWishart.check_resolution

    # A row of statistics: that of NormalWishart for real columns and logarithms.
    statistics_size = NormalWishart.statistics_size
    add_item = NormalWishart.add_item
    cache_size = NormalWishart.cache_size
    refresh_cache = NormalWishart.refresh_cache
    update_cache = NormalWishart.update_cache

    def log_predictive(self, cache, data, item):
        return base.log_predictive(normal(self), cache, data, item) - log_of_product(self, data, item)

    def log_predictive_without(self, statistics, cache, data, item):
        value = fast.log_predictive_without(normal(self), statistics, cache, data, item)
        return value - log_of_product(self, data, item)

    def draw_missing(self, cache, data, item, rng):
        gaps.draw_missing(normal(self), cache, data, item, rng)

    def student_predictive(self, cache, data, item, feature, law):
        fast.student_predictive(normal(self), cache, data, item, feature, law)

    panel_shape = NormalWishart.panel_shape
    write_panel = NormalWishart.write_panel

    def add_log_predictives(self, rows, lanes, data, item, width, values):
        fast.add_log_predictives(normal(self), rows, lanes, data, item, width, values)
        subtract_log_of_product(self, data, item, width, values)

    def log_likelihood(self, X, labels):
        is_log = pt.eq(self.log_columns, 1.0) & pt.invert(pt.isnan(X))
        logs = pt.log(pt.switch(is_log, X, 1.0))
        return base.log_likelihood(normal(self), pt.switch(is_log, logs, X), labels) - logs.sum()

    def log_likelihood_on_scale(self, X, labels):
        logs = pt.switch(pt.eq(self.log_columns, 1.0) & pt.invert(pt.isnan(X)), X, 0.0)
        return base.log_likelihood(normal(self), X, labels) - logs.sum()

    def log_marginal(self, statistics):
        return conjugate.log_marginal(normal(self), statistics) - log_of_products(self, statistics)

    def log_marginals_with_gradient(self, statistics, gradient):
        # Which columns are positive does not vary: its derivatives stay 0.
        d = self.mu.shape[0]
        total = fast.log_marginals_with_gradient(normal(self), statistics, gradient[d:])
        for k in range(statistics.shape[0]):
            total -= log_of_products(self, statistics[k])
        return total

    parameters_size = NormalWishart.parameters_size
    draw_parameters = NormalWishart.draw_parameters
    log_parameter_density = NormalWishart.log_parameter_density
    split_parameters = NormalWishart.split_parameters
    join_parameters = NormalWishart.join_parameters

    def draw_item(self, parameters, rng, item, values):
        conjugate.draw_item(normal(self), parameters, rng, item, values)
        raise_logarithms(self, values)

    component_panel = NormalWishart.component_panel
    write_component = NormalWishart.write_component

    def add_component_densities(self, panel, data, item, width, values):
        components.add_component_densities(normal(self), panel, data, item, width, values)
        subtract_log_of_product(self, data, item, width, values)

    def component_mean(self, parameters):
        variance = np.diagonal(parameters["covariance"], axis1=1, axis2=2)
        return mean_of_component(self, parameters["location"], variance)

    def component_cdf(self, parameters, feature, x):
        variance = parameters["covariance"][:, feature, feature]
        return cdf_of_component(self, parameters["location"][:, feature], variance, feature, x)

    def log_affinities(self, parameters):
        return conjugate.gaussian_log_affinities(parameters["location"], parameters["covariance"])


def on_log_scale(family_class, X, log_columns):
    """Checked data (n, d), with logarithms in the columns that are positive."""
    values, is_log = check_matrix(family_class, X), np.asarray(log_columns) == 1.0
    if is_log.shape != values.shape[1:]:
        raise ValueError(
            f"log_columns of {family_class.__name__} must have one entry for each of the {values.shape[1]} features; "
            f"got {len(is_log)}"
        )
    bad = is_log & (values <= 0.0)
    if bad.any():
        row, column = np.argwhere(bad)[0].tolist()
        raise ValueError(
            f"data of {family_class.__name__} must be above 0 in columns of which the logarithm is taken; got "
            f"{values[row, column]} in row {row}, column {column}"
        )
    return np.where(is_log, np.log(np.where(is_log, values, 1.0)), values)


@kernel
def log_of_product(family, data, item):
    """Logarithm of the product of the positive features of an item, missing ones left out."""
    total = 0.0
    for j in range(family.log_columns.shape[0]):
        if family.log_columns[j] == 1.0 and not np.isnan(data.values[item, j]):
            total += data.values[item, j]
    return total


@kernel
def log_of_products(family, statistics):
    """Sum of :func:`log_of_product` over the items of a cluster."""
    total = 0.0
    for j in range(family.log_columns.shape[0]):
        if family.log_columns[j] == 1.0:
            total += sum_of_values(family, statistics, j)
    return total


@kernel
def subtract_log_of_product(family, data, item, width, values):
    """Subtract :func:`log_of_product` from the values of all columns of a panel."""
    shared = log_of_product(family, data, item)
    for k in range(width // LANES * LANES):
        values[k] -= shared


@kernel
def raise_logarithms(family, values):
    """Turn logarithms into the features of an item, in place."""
    for j in range(values.shape[0]):
        if family.log_columns[j] == 1.0:
            values[j] = np.exp(values[j])


def mean_of_component(family, location, variance):
    """Means (n, d) of items given means and variances of their features on the scale of kernels."""
    is_log = np.asarray(family.log_columns) == 1.0
    return np.where(is_log, np.exp(np.where(is_log, location + variance / 2, 0.0)), location)


def cdf_of_component(family, location, variance, feature, x):
    """Distribution functions of a feature at x (m,) given its means and variances (n,) on the scale of kernels."""
    x = np.asarray(x, dtype="float64")
    if np.asarray(family.log_columns)[feature] == 1.0:
        with np.errstate(divide="ignore"):
            x = np.log(np.maximum(x, 0.0))
    return scipy.special.ndtr((x - location[:, None]) / np.sqrt(variance)[:, None])
