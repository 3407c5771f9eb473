"""Features that are zero or positive: a Bernoulli variable, and a family of the values that are not zero."""

from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
import scipy

from pymc_nrm.families import base, components, conjugate, fast
from pymc_nrm.families.arguments import LARGEST_COUNT, check_matrix
from pymc_nrm.families.base import Centred, Dense, Hyperparameter, conjugate_family
from pymc_nrm.families.definitions.bernoulli_beta import BernoulliBeta
from pymc_nrm.families.definitions.normal_gamma import NormalGamma
from pymc_nrm.families.definitions.shifted_poisson_gamma import CountsWithGaps, ShiftedPoissonGamma, shifted_poisson_cdf
from pymc_nrm.families.features import features
from pymc_nrm.families.learned.hyperpriors import Hyperpriors, gamma_fields, shared_text
from pymc_nrm.families.product import Product, ProductData
from pymc_nrm.families.shared import two_components
from pymc_nrm.families.shared.moments import summation_grid
from pymc_nrm.families.shared.sample_covariance import feature_moments
from pymc_nrm.kernels.generic import generic, kernel
from pymc_nrm.kernels.lanes import LANES


@generic
def parts(family):
    """The product of the family of what is not zero, a Bernoulli variable, and of the values that are not zero."""
    raise NotImplementedError


@generic
def of_parts(data):
    """Data of the two parts, as a product reads them."""
    raise NotImplementedError


class Amounts(NamedTuple):
    """Data of a kernel: what is positive (n, d), logarithms of positive values (n, d), and the grid of their sums."""

    positive: Any
    logs: Any
    grid: Any

    def of_parts(self):
        return ProductData(Dense(self.positive), Centred(self.logs, None, self.grid))

    def features(self, rng):
        return features(of_parts(self), rng)

    def take_items(self, items):
        return self._replace(positive=self.positive[items], logs=self.logs[items])


class CountsWithZeros(NamedTuple):
    """Data of a kernel: what is positive (n, d), positive counts less one (n, d), and sums of their log factorials."""

    positive: Any
    counts: Any
    log_factorials: Any

    def of_parts(self):
        return ProductData(Dense(self.positive), CountsWithGaps(self.counts, self.log_factorials))

    def features(self, rng):
        return features(of_parts(self), rng)

    def take_items(self, items):
        return CountsWithZeros(*[array[items] for array in self])


@generic
def log_volume(family, data, item):
    """Logarithm of the volume of the map from the second part to the values that are not zero."""
    return 0.0


@generic
def log_volumes(family, statistics):
    """Sum of :func:`log_volume` over the items of a cluster."""
    return 0.0


@conjugate_family(
    hyperparameters={
        "ones": Hyperparameter(("d",), "positive"),
        "zeros": Hyperparameter(("d",), "positive"),
        "mu": Hyperparameter(("d",), "real"),
        "kappa": Hyperparameter(("d",), "positive"),
        "alpha": Hyperparameter(("d",), "positive"),
        "beta": Hyperparameter(("d",), "positive"),
    },
    parameters={"probability": ("d",), "location": ("d",), "variance": ("d",)},
    continuous=True,
    missing_allowed=True,
)
class HurdleLogNormal(NamedTuple):
    """Amounts that are zero or positive, such as rain or spending, independent across features within a cluster.

    ``x[i, j] > 0`` with probability ``p[c, j] ~ Beta(ones[j], zeros[j])``; where it is, ``log x[i, j]`` is that of a
    :class:`NormalGamma`.  Missing values (NaN) are left out of the likelihood.

    Parameters
    ----------
    ones, zeros : positive float, tensor or random variable, scalar or shape (d,)
        Prior numbers of positive values and of zeros.
    mu, kappa, alpha, beta
        Hyperparameters of the logarithms of positive values, as those of :class:`NormalGamma`.

    Notes
    -----
    The density has a mass at zero: it is ``1 - p`` there, and ``p`` times the log-normal density elsewhere.  This is a
    hurdle model (Cragg 1971), since zeros have a process of their own.
    """

    ones: Any
    zeros: Any
    mu: Any
    kappa: Any
    alpha: Any
    beta: Any

    @classmethod
    @shared_text(", or a feature has less than two different positive values")
    def learned(cls, name: str, X: Any) -> "HurdleLogNormal":
        """Hyperparameters learned with the partition.

        Those of zeros are learned as by :meth:`BernoulliBeta.learned`, those of the logarithms of positive values as by
        :meth:`NormalGamma.learned`.
        Other units of the features leave the distributions of partitions and of predictions unchanged.

        Examples
        --------
        >>> import pymc as pm
        >>> X = [[0.0, 3.2], [1.5, 4.0], [7.1, 0.0], [2.0, 0.3]]
        >>> with pm.Model() as model:
        ...     family = HurdleLogNormal.learned("x", X)
        >>> [variable.name for variable in model.free_RVs]
        ['x_zero_concentration', 'x_share', 'x_kappa', 'x_excess']
        """
        prior = Hyperpriors(name, X)
        values = check_matrix(cls, prior.values, lower=0)
        features = prior.features()
        mean, variances = feature_moments(NormalGamma, logarithms(values))
        concentration = prior.log_normal("zero_concentration", 0.0, 1.0, dims=features)
        share = prior.log_normal("share", -1.0, 1.0, dims=features)
        kappa, excess = prior.log_normal("kappa", -3.0, 1.0), prior.log_normal("excess", 1.0, 1.0)
        rest = gamma_fields(share, kappa, excess, variances=variances)
        return cls(*beta_fields(values, concentration), mean, **rest)

    def parts(self):
        return Product(BernoulliBeta(self.ones, self.zeros), NormalGamma(self.mu, self.kappa, self.alpha, self.beta))

    def prepare_data(self, X):
        values = check_matrix(self, X, lower=0)
        logs = logarithms(values)
        # Logarithms are not centred, so that they are at hand for the density.
        return Amounts(is_positive(values), logs, summation_grid(logs))

    def prepare_alike(self, X, data):
        return base.prepare_data(self, X)._replace(grid=data.grid)

    def check_resolution(self, data, title):
        logs = Centred(data.logs, np.zeros(len(self.mu)), data.grid)
        base.check_resolution(parts(self).second, logs, f"{title}, logarithms")

    def log_volume(self, data, item):
        total = 0.0
        for j in range(data.logs.shape[1]):
            if not np.isnan(data.logs[item, j]):
                total += data.logs[item, j]
        return total

    def log_volumes(self, statistics):
        d = self.mu.shape[0]
        total, start = 0.0, 2 * d
        for j in range(d):
            total += statistics[start + d + j] + statistics[start + 3 * d + j]
        return total

    # A row of statistics: that of BernoulliBeta for what is positive, and that of NormalGamma for logarithms.
    def statistics_size(self):
        return base.statistics_size(parts(self))

    def add_item(self, statistics, data, item, sign):
        base.add_item(parts(self), statistics, of_parts(data), item, sign)

    def cache_size(self):
        return base.cache_size(parts(self))

    def refresh_cache(self, statistics, cache):
        base.refresh_cache(parts(self), statistics, cache)

    def log_predictive(self, cache, data, item):
        return base.log_predictive(parts(self), cache, of_parts(data), item) - log_volume(self, data, item)

    def log_predictive_without(self, statistics, cache, data, item):
        value = fast.log_predictive_without(parts(self), statistics, cache, of_parts(data), item)
        return value - log_volume(self, data, item)

    def panel_shape(self):
        return fast.panel_shape(parts(self))

    def write_panel(self, cache, rows, lanes, column):
        fast.write_panel(parts(self), cache, rows, lanes, column)

    def add_log_predictives(self, rows, lanes, data, item, width, values):
        fast.add_log_predictives(parts(self), rows, lanes, of_parts(data), item, width, values)
        subtract_log_volume(self, data, item, width, values)

    def log_likelihood(self, X, labels):
        of_signs, of_values = parts(self)
        positive, logs = symbolic_parts(X, pt.log)
        known_logs = pt.switch(pt.isnan(logs), 0.0, logs)
        value = base.log_likelihood(of_signs, positive, labels) + base.log_likelihood(of_values, logs, labels)
        return value - known_logs.sum()

    def log_marginal(self, statistics):
        return conjugate.log_marginal(parts(self), statistics) - log_volumes(self, statistics)

    def log_marginals_with_gradient(self, statistics, gradient):
        of_signs, of_values = parts(self).first, parts(self).second
        size = base.statistics_size(of_signs)
        total = fast.log_marginals_with_gradient(of_signs, statistics[:, :size].copy(), gradient[:size])
        total += fast.log_marginals_with_gradient(of_values, statistics[:, size:].copy(), gradient[size:])
        for k in range(statistics.shape[0]):
            total -= log_volumes(self, statistics[k])
        return total

    def parameters_size(self):
        return conjugate.parameters_size(parts(self))

    def draw_parameters(self, statistics, rng, parameters):
        conjugate.draw_parameters(parts(self), statistics, rng, parameters)

    def log_parameter_density(self, statistics, parameters):
        return conjugate.log_parameter_density(parts(self), statistics, parameters)

    def split_parameters(self, parameters, p, q, rng, first, second):
        two_components.split_parameters(parts(self), parameters, p, q, rng, first, second)

    def join_parameters(self, p, q, first, second, parameters):
        return two_components.join_parameters(parts(self), p, q, first, second, parameters)

    def draw_item(self, parameters, rng, item, values):
        d = values.shape[0]
        conjugate.draw_item(parts(self).second, parameters[d:], rng, item, values)
        for j in range(d):
            values[j] = np.exp(values[j]) if rng.random() < parameters[j] else 0.0

    def component_panel(self, n_columns):
        return components.component_panel(parts(self), n_columns)

    def write_component(self, parameters, panel, column):
        components.write_component(parts(self), parameters, panel, column)

    def add_component_densities(self, panel, data, item, width, values):
        components.add_component_densities(parts(self), panel, of_parts(data), item, width, values)
        subtract_log_volume(self, data, item, width, values)

    def component_mean(self, parameters):
        return parameters["probability"] * np.exp(parameters["location"] + parameters["variance"] / 2)

    def component_cdf(self, parameters, feature, x):
        x = np.asarray(x, dtype="float64")
        location, variance = parameters["location"][:, feature, None], parameters["variance"][:, feature, None]
        with np.errstate(divide="ignore"):
            below = scipy.special.ndtr((np.log(np.maximum(x, 0.0)) - location) / np.sqrt(variance))
        return hurdle_cdf(parameters["probability"][:, feature], below, x)

    def log_affinities(self, parameters):
        mean, variance = parameters["location"], parameters["variance"]
        pairs = [
            conjugate.diagonal_gaussian_log_affinities(m[:, None], v[:, None])
            for m, v in zip(mean.T, variance.T, strict=True)
        ]
        return hurdle_log_affinities(parameters["probability"], pairs)


@conjugate_family(
    hyperparameters={
        "ones": Hyperparameter(("d",), "positive"),
        "zeros": Hyperparameter(("d",), "positive"),
        "alpha": Hyperparameter(("d",), "positive"),
        "beta": Hyperparameter(("d",), "positive"),
    },
    parameters={"probability": ("d",), "rate": ("d",)},
    continuous=False,
    missing_allowed=True,
)
class HurdlePoisson(NamedTuple):
    """Counts with zeros of their own, such as numbers of visits, independent across features within a cluster.

    ``x[i, j] > 0`` with probability ``p[c, j] ~ Beta(ones[j], zeros[j])``; where it is, ``x[i, j] - 1`` is a Poisson
    variable of rate ``rate[c, j] ~ Gamma(alpha[j], rate beta[j])``.  Missing values (NaN) are left out of the
    likelihood.

    Parameters
    ----------
    ones, zeros : positive float, tensor or random variable, scalar or shape (d,)
        Prior numbers of positive values and of zeros.
    alpha, beta : positive float, tensor or random variable, scalar or shape (d,)
        Prior sum of positive counts less one, and the prior number of observations behind it.

    Notes
    -----
    This is a hurdle model (Mullahy 1986) whose positive part is a shifted Poisson variable, which is conjugate; one
    that is truncated at zero is not.
    """

    ones: Any
    zeros: Any
    alpha: Any
    beta: Any

    @classmethod
    @shared_text(", or a feature has no positive value")
    def learned(cls, name: str, X: Any) -> "HurdlePoisson":
        """Hyperparameters learned with the partition.

        Those of zeros are learned as by :meth:`BernoulliBeta.learned`, those of positive counts less one as by
        :meth:`PoissonGamma.learned`.

        Examples
        --------
        >>> import pymc as pm
        >>> X = [[0, 3], [1, 4], [7, 0]]
        >>> with pm.Model() as model:
        ...     family = HurdlePoisson.learned("x", X)
        >>> [variable.name for variable in model.free_RVs]
        ['x_zero_concentration', 'x_concentration']
        """
        prior = Hyperpriors(name, X)
        values = check_matrix(cls, prior.values, integer=True, lower=0, upper=LARGEST_COUNT)
        features = prior.features()
        positive = values > 0.0
        if not positive.any(axis=0).all():
            empty = np.flatnonzero(~positive.any(axis=0)).tolist()
            raise ValueError(f"X must have a positive value in every column; got none in columns {empty}")
        means = (np.where(positive, values - 1.0, 0.0).sum(axis=0) + 0.5) / positive.sum(axis=0)
        of_zeros = prior.log_normal("zero_concentration", 0.0, 1.0, dims=features)
        shape = prior.log_normal("concentration", 0.0, 1.0, dims=features)
        return cls(*beta_fields(values, of_zeros), shape, shape / means)

    def parts(self):
        return Product(BernoulliBeta(self.ones, self.zeros), ShiftedPoissonGamma(self.alpha, self.beta))

    def prepare_data(self, X):
        values = check_matrix(self, X, integer=True, lower=0, upper=LARGEST_COUNT)
        counts = np.where(values > 0.0, values, np.nan)
        return CountsWithZeros(is_positive(values), *base.prepare_data(parts(self).second, counts))

    # A row of statistics: that of BernoulliBeta for what is positive, and that of ShiftedPoissonGamma for counts.
    statistics_size = HurdleLogNormal.statistics_size
    add_item = HurdleLogNormal.add_item
    cache_size = HurdleLogNormal.cache_size
    refresh_cache = HurdleLogNormal.refresh_cache
    log_predictive = HurdleLogNormal.log_predictive
    log_predictive_without = HurdleLogNormal.log_predictive_without
    panel_shape = HurdleLogNormal.panel_shape
    write_panel = HurdleLogNormal.write_panel
    add_log_predictives = HurdleLogNormal.add_log_predictives

    def log_likelihood(self, X, labels):
        of_signs, of_values = parts(self)
        positive, counts = symbolic_parts(X.astype("float64"), lambda x: x)
        return base.log_likelihood(of_signs, positive, labels) + base.log_likelihood(of_values, counts, labels)

    log_marginal = HurdleLogNormal.log_marginal
    log_marginals_with_gradient = HurdleLogNormal.log_marginals_with_gradient
    parameters_size = HurdleLogNormal.parameters_size
    draw_parameters = HurdleLogNormal.draw_parameters
    log_parameter_density = HurdleLogNormal.log_parameter_density
    split_parameters = HurdleLogNormal.split_parameters
    join_parameters = HurdleLogNormal.join_parameters

    def draw_item(self, parameters, rng, item, values):
        d = values.shape[0]
        conjugate.draw_item(parts(self).second, parameters[d:], rng, item, values)
        for j in range(d):
            values[j] = values[j] if rng.random() < parameters[j] else 0.0

    component_panel = HurdleLogNormal.component_panel
    write_component = HurdleLogNormal.write_component
    add_component_densities = HurdleLogNormal.add_component_densities

    def component_mean(self, parameters):
        return parameters["probability"] * (1.0 + parameters["rate"])

    def component_cdf(self, parameters, feature, x):
        x = np.asarray(x, dtype="float64")
        below = shifted_poisson_cdf(parameters["rate"][:, feature], x)
        return hurdle_cdf(parameters["probability"][:, feature], below, x)

    def log_affinities(self, parameters):
        roots = np.sqrt(parameters["rate"])
        pairs = [-0.5 * (root[:, None] - root) ** 2 for root in roots.T]
        return hurdle_log_affinities(parameters["probability"], pairs)


@kernel
def subtract_log_volume(family, data, item, width, values):
    """Subtract :func:`log_volume` from the values of all columns of a panel."""
    shared = log_volume(family, data, item)
    for k in range(width // LANES * LANES):
        values[k] -= shared


def is_positive(values):
    """1 where values are positive, 0 where they are zero, NaN where they are missing."""
    return np.where(np.isnan(values), np.nan, (values > 0.0).astype("float64"))


def logarithms(values):
    """Logarithms of positive values, NaN for zeros and missing values."""
    return np.where(values > 0.0, np.log(np.where(values > 0.0, values, 1.0)), np.nan)


def symbolic_parts(X, function):
    """Symbolic :func:`is_positive`, and a function of positive values with NaN for the others."""
    positive = pt.gt(X, 0.0)
    values = pt.switch(positive, function(pt.switch(positive, X, 1.0)), np.nan)
    return pt.switch(pt.isnan(X), np.nan, positive.astype("float64")), values


def beta_fields(values, concentration):
    """Prior numbers of positive values and of zeros, whose share is that of the data, half a value of each added."""
    positive = is_positive(values)
    ones, known = np.nansum(positive, axis=0) + 0.5, (~np.isnan(positive)).sum(axis=0) + 1.0
    return concentration * (ones / known), concentration * (1.0 - ones / known)


def hurdle_cdf(probability, below, x):
    """Distribution functions at x (m,), given probabilities (n,) and functions (n, m) of what is positive."""
    probability = probability[:, None]
    return np.where(x < 0.0, 0.0, 1.0 - probability + probability * below)


def hurdle_log_affinities(probability, pairs):
    """Log affinities given probabilities (K, d), and for each feature those of what is positive, shape (K, K)."""
    total = np.zeros((len(probability), len(probability)))
    for p, log_affinity in zip(probability.T, pairs, strict=True):
        root, rest = np.sqrt(p), np.sqrt(1.0 - p)
        total += np.log(np.minimum(rest[:, None] * rest + root[:, None] * root * np.exp(log_affinity), 1.0))
    np.fill_diagonal(total, 0.0)
    return total
