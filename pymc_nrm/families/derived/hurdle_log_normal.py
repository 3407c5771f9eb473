"""Amounts that are zero or positive: a Bernoulli variable, and the logarithms of positive amounts."""

from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
import scipy

from pymc_nrm.families import base, conjugate
from pymc_nrm.families.arguments import check_matrix
from pymc_nrm.families.base import Centred, Dense, Hyperparameter, conjugate_family
from pymc_nrm.families.conjugate import diagonal_gaussian_log_affinities
from pymc_nrm.families.definitions.bernoulli_beta import BernoulliBeta
from pymc_nrm.families.definitions.normal_gamma import NormalGamma
from pymc_nrm.families.derived.hurdle import (
    Hurdle,
    hurdle_cdf,
    hurdle_log_affinities,
    is_positive,
    shares_of_positive,
    symbolic_parts,
)
from pymc_nrm.families.derived.mapped import inherit_methods, underlying, underlying_data
from pymc_nrm.families.features import features
from pymc_nrm.families.learned.fields import as_operations
from pymc_nrm.families.learned.hyperpriors import Hyperpriors, gamma_fields, shared_text
from pymc_nrm.families.product import Product, ProductData
from pymc_nrm.families.shared.moments import summation_grid
from pymc_nrm.families.shared.sample_covariance import feature_moments
from pymc_nrm.families.shared.scale import positive_exp


class Amounts(NamedTuple):
    """Data of a kernel: what is positive (n, d), logarithms of positive values (n, d), and the grid of their sums."""

    positive: Any
    # They are not centred, so that they are at hand for the density.
    logs: Any
    grid: Any

    @property
    def values(self):
        """The values whose sums are on the grid."""
        return self.logs

    def underlying_data(self):
        return ProductData(Dense(self.positive), Centred(self.logs, None, self.grid))

    def features(self, rng):
        return features(underlying_data(self), rng)

    def take_items(self, items):
        return self._replace(positive=self.positive[items], logs=self.logs[items])


@inherit_methods(Hurdle)
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
    has_atoms=True,
)
class HurdleLogNormal(NamedTuple):
    """Amounts that are zero or positive, such as rain or spending, independent across features within a cluster.

    ``x[i, j] > 0`` with probability ``p[c, j] ~ Beta(ones[j], zeros[j])``; where it is, ``log x[i, j]`` follows a
    :class:`NormalGamma`.  Missing values (NaN) are left out of the likelihood.

    Parameters
    ----------
    ones, zeros : positive float, tensor or random variable, scalar or shape (d,)
        Prior numbers of positive values and of zeros.
    mu : float, tensor or random variable, scalar or shape (d,)
        Prior mean of the logarithms of positive values.
    kappa : positive float, tensor or random variable, scalar or shape (d,)
        Prior number of observations behind ``mu``.
    alpha, beta : positive float, tensor or random variable, scalar or shape (d,)
        Shape and scale of the inverse gamma distribution of the variance of these logarithms.

    Raises
    ------
    ValueError
        If a value is negative or infinite.

    Notes
    -----
    The density has a mass at zero: it is ``1 - p`` there, and ``p`` times the log-normal density, in the units of the
    data, elsewhere.  This is a hurdle model, since zeros have a process of their own (Cragg 1971, "Some statistical
    models for limited dependent variables with application to the demand for durable goods").  The mean of a cluster is
    ``probability exp(location + variance / 2)``, the median of its positive values ``exp(location)``.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
    ...     family = nrm.HurdleLogNormal(ones=1.0, zeros=1.0, mu=1.0, kappa=0.1, alpha=2.0, beta=1.0)
    ...     rain = nrm.Mixture("rain", z, family, observed=[0.0, 3.2, 0.0, 14.5])
    >>> print(model.str_repr())
               z ~ Partition[DirichletProcess](4, 1)
    z_n_clusters = Deterministic(f(z))
            rain ~ Mixture[HurdleLogNormal](z, 1, 1, 1, 0.1, 2, 1)
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

        Zeros have the hyperpriors of :meth:`BernoulliBeta.learned`, logarithms of positive values the hyperpriors of
        :meth:`NormalGamma.learned`.  Other units of the features leave the distributions of partitions and of
        predictions unchanged.

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
        mean, variances = feature_moments(NormalGamma, logarithms(values))
        dims = prior.features()
        concentration = prior.concentrations_of_levels("zero_concentration", dims)
        share = prior.log_normal("share", -1.0, 1.0, dims=dims)
        kappa, excess = prior.kappa(), prior.log_normal("excess", 1.0, 1.0)
        positive, zero = shares_of_positive(values)
        fields = cls.learned_fields(
            concentration, share, kappa, excess, positive=positive, zero=zero, variances=variances
        )
        return cls(mu=mean, **fields)

    @staticmethod
    @as_operations
    def learned_fields(zero_concentration, share, kappa, excess, *, positive, zero, variances):
        """Hyperparameters given the variables that ``learned`` adds, shares of positive values and of zeros, and
        variances of logarithms, (d,).
        """
        of_zeros = {"ones": zero_concentration * positive, "zeros": zero_concentration * zero}
        return of_zeros | gamma_fields(share, kappa, excess, variances=variances)

    def underlying(self):
        return Product(BernoulliBeta(self.ones, self.zeros), NormalGamma(self.mu, self.kappa, self.alpha, self.beta))

    def prepare_data(self, X):
        values = check_matrix(self, X, lower=0)
        logs = logarithms(values)
        return Amounts(is_positive(values), logs, summation_grid(logs))

    def prepare_alike(self, X, data):
        return base.prepare_data(self, X)._replace(grid=data.grid)

    def check_resolution(self, data, title):
        logs = Centred(data.logs, np.zeros(len(self.mu)), data.grid)
        base.check_resolution(underlying(self).second, logs, f"{title}, logarithms")

    # A row of statistics: the row of BernoulliBeta for what is positive, then the row of NormalGamma for logarithms.
    def log_volume(self, data, item):
        # The derivative of exp(y) is x = exp(y).
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

    def log_likelihood(self, X, labels):
        parts = underlying(self)
        positive, logs, is_possible = symbolic_parts(X, pt.log)
        value = base.log_likelihood(parts.first, positive, labels) + base.log_likelihood(parts.second, logs, labels)
        return pt.switch(is_possible, value - pt.switch(pt.isnan(logs), 0.0, logs).sum(), -np.inf)

    def draw_item(self, parameters, rng, item, values):
        d = values.shape[0]
        conjugate.draw_item(underlying(self).second, parameters[d:], rng, item, values)
        for j in range(d):
            values[j] = positive_exp(values[j]) if rng.random() < parameters[j] else 0.0

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
            diagonal_gaussian_log_affinities(m[:, None], v[:, None]) for m, v in zip(mean.T, variance.T, strict=True)
        ]
        return hurdle_log_affinities(parameters["probability"], pairs)


def logarithms(values):
    """Logarithms of positive values, NaN for zeros and missing values."""
    return np.where(values > 0.0, np.log(np.where(values > 0.0, values, 1.0)), np.nan)
