"""Normal observations with a normal-gamma base measure, independent across features."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
import scipy
from pytensor.gradient import disconnected_grad

from pymc_nrm.families.arguments import check_matrix
from pymc_nrm.families.base import Hyperparameter, conjugate_family, segment_sum
from pymc_nrm.families.conjugate import diagonal_gaussian_log_affinities
from pymc_nrm.families.learned.fields import as_operations
from pymc_nrm.families.learned.hyperpriors import Hyperpriors, gamma_fields, shared_text
from pymc_nrm.families.shared.moments import (
    centred,
    centred_product,
    check_location,
    check_ratio,
    check_shape,
    sample_location,
    symbolic_log_growth,
    symbolic_shrinkage,
)
from pymc_nrm.families.shared.sample_covariance import feature_moments
from pymc_nrm.families.shared.two_normals import join_normal, split_normal
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.pairs import split_at, split_product
from pymc_nrm.kernels.special import draw_variance, log_rising_factorial, symbolic_log_rising_factorial

_LOG_2_PI = math.log(2.0 * math.pi)


@conjugate_family(
    hyperparameters={
        "mu": Hyperparameter(("d",), "real"),
        "kappa": Hyperparameter(("d",), "positive"),
        "alpha": Hyperparameter(("d",), "positive"),
        "beta": Hyperparameter(("d",), "positive"),
    },
    parameters={"mean": ("d",), "variance": ("d",)},
    continuous=True,
    missing_allowed=True,
)
class NormalGamma(NamedTuple):
    """Real features, each with its own mean and variance in every cluster: Gaussian clusters, diagonal covariances.

    ``x[i, j] ~ N(m[c, j], 1 / lambda[c, j])``, ``m ~ N(mu, 1 / (kappa lambda))``, ``lambda ~ Gamma(alpha, rate beta)``,
    so that the prior mean of the variance is ``beta / (alpha - 1)``.  The likelihood leaves out NaN.

    Parameters
    ----------
    mu : float, tensor or random variable, scalar or shape (d,)
        Prior mean, in the units of the data, and within 1e140 of them.
    kappa : positive float, tensor or random variable, scalar or shape (d,)
        Prior number of observations behind ``mu``.
    alpha : positive float, tensor or random variable, scalar or shape (d,)
        Shape of the prior of the precision, at most 1e8.
    beta : positive float, tensor or random variable, scalar or shape (d,)
        Rate of the prior of the precision, in squared units of the data.

    Notes
    -----
    With n values of mean m and sum of squares S about it, ``kappa_n = kappa + n``, ``alpha_n = alpha + n/2`` and
    ``beta_n = beta + S/2 + kappa n / (2 kappa_n) (m - mu)^2``, the log marginal of a feature is
    ``log Gamma(alpha_n) / Gamma(alpha) + alpha log beta - alpha_n log beta_n + log(kappa / kappa_n)/2 - n/2 log 2 pi``
    (Murphy 2007, "Conjugate Bayesian analysis of the Gaussian distribution", eq. 95); the predictive is a Student t
    (eq. 100).

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> X = np.random.default_rng(1).normal(size=(5, 2))
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=5)
    ...     x = nrm.Mixture("x", z, nrm.NormalGamma(mu=0, kappa=0.1, alpha=2, beta=1), observed=X)
    >>> print(model.str_repr())
    z ~ Partition[DirichletProcess](5, 1)
    z_n_clusters = Deterministic(f(z))
    x ~ Mixture[NormalGamma](z, <constant>, <constant>, <constant>, <constant>)
    """

    mu: Any
    kappa: Any
    alpha: Any
    beta: Any

    @classmethod
    @shared_text(", or a feature has no positive variance")
    def from_data(cls, X: Any) -> "NormalGamma":
        """Weakly informative hyperparameters on the scale of the data.

        ``mu`` is the mean of each feature and ``kappa = 0.1``, as in Lee & Choi (2015).  ``alpha = 2`` follows
        Richardson & Green (1997, "On Bayesian analysis of mixtures with an unknown number of components"); it gives the
        variance of a cluster a finite mean but no finite variance.  Their beta has prior mean 0.02 times the squared
        range.  For evenly spread data the squared range is twelve times the variance, hence ``beta`` = variance / 4
        here: clusters are expected to be half as wide as the data.

        Examples
        --------
        >>> NormalGamma.from_data([[0.0], [2.0], [4.0]]).beta
        array([1.])
        """
        mean, variance = feature_moments(cls, X)
        return cls(mu=mean, kappa=0.1, alpha=2.0, beta=variance / 4)

    @classmethod
    @shared_text(", or a feature has no positive variance")
    def learned(cls, name: str, X: Any) -> "NormalGamma":
        """Hyperparameters learned with the partition: hyperpriors in the model at hand, centred at the sample moments.

        With m_j and v_j the mean and variance of feature j::

            share_j ~ LogNormal(-1, 1)               kappa ~ LogNormal(-2, 1.5)
            beta_j / (alpha - 1) = share_j v_j       alpha - 1 = excess ~ LogNormal(1, 1)
            mu_j = m_j

        Clusters are expected to have the variance ``share_j v_j`` in feature j.  The prior moves with the data: other
        units or origins of the features leave the distributions of partitions and of predictions unchanged.

        Examples
        --------
        >>> import pymc as pm
        >>> X = np.random.default_rng(1).normal(size=(50, 2))
        >>> with pm.Model() as model:
        ...     family = NormalGamma.learned("x", X)
        >>> [variable.name for variable in model.free_RVs]
        ['x_share', 'x_kappa', 'x_excess']
        """
        prior = Hyperpriors(name, X)
        mean, variance = feature_moments(cls, prior.values)
        return cls(mu=mean, **prior.normal_gamma(cls, variance))

    @staticmethod
    @as_operations
    def learned_fields(share, kappa, excess, *, variances):
        """Hyperparameters given the variables that ``learned`` adds, and the variances of the features."""
        return gamma_fields(share, kappa, excess, variances=variances)

    def prepare_data(self, X):
        return centred(check_matrix(self, X))

    def check_resolution(self, data, title):
        check_shape("alpha of NormalGamma", self.alpha, "variance", "beta")
        check_ratio(data, np.sqrt(self.beta), "beta", title)
        check_location("mu of NormalGamma", self.mu, data)

    # A row of statistics: counts (d), sums (d), sums of squares (d), low parts of the sums (d) and of the squares (d).
    def statistics_size(self):
        return 5 * self.mu.shape[0]

    def add_item(self, statistics, data, item, sign):
        d = data.values.shape[1]
        for j in range(d):
            x = data.values[item, j]
            if not math.isnan(x):
                high, low = split_at(x, data.grid[0, j])
                square, square_low = split_product(x, x, 1.5 * data.grid[1, j] * data.grid[1, j])
                statistics[j] += sign
                statistics[d + j] += sign * high
                statistics[2 * d + j] += sign * square
                statistics[3 * d + j] += sign * low
                statistics[4 * d + j] += sign * square_low

    def log_likelihood(self, X, labels):
        mu, kappa, alpha, beta = self
        n_clusters = labels.max() + 1
        observed = pt.invert(pt.isnan(X))
        # Shifting a cluster and its mu changes nothing, so the gradient may treat centres as constants.  Sums of
        # squares are taken about cluster means, so that no large second moments are subtracted.
        counts = segment_sum(observed.astype("float64"), labels, n_clusters)
        divisors = pt.maximum(counts, 1)
        centers = disconnected_grad(segment_sum(pt.switch(observed, X, 0), labels, n_clusters) / divisors)
        X = pt.switch(observed, X - centers[labels], 0)
        means = segment_sum(X, labels, n_clusters) / divisors
        residuals = pt.switch(observed, X - means[labels], 0)
        scatter = segment_sum(residuals**2, labels, n_clusters)
        kappa_n = kappa + counts
        added = scatter / 2 + counts / 2 * symbolic_shrinkage(kappa, counts) * (means + (centers - mu)) ** 2
        return (
            symbolic_log_rising_factorial(alpha, counts / 2)
            - alpha * symbolic_log_growth(beta, added)
            - counts / 2 * pt.log(beta + added)
            + (pt.log(kappa) - pt.log(kappa_n)) / 2
            - counts / 2 * np.log(2 * np.pi)
        ).sum()

    def log_marginal(self, statistics):
        total = 0.0
        for j in range(self.mu.shape[0]):
            total += log_marginal_of_feature(self, statistics, j)
        return total

    def parameters_size(self):
        return 2 * self.mu.shape[0]

    def draw_parameters(self, statistics, rng, parameters):
        d = self.mu.shape[0]
        for j in range(d):
            kappa_n, alpha_n, mean, beta_n = posterior(self, statistics, j)
            variance = draw_variance(rng, alpha_n, beta_n)
            parameters[j] = mean + math.sqrt(variance / kappa_n) * rng.standard_normal()
            parameters[d + j] = variance

    def log_parameter_density(self, statistics, parameters):
        d = self.mu.shape[0]
        total = 0.0
        for j in range(d):
            kappa_n, alpha_n, mean, beta_n = posterior(self, statistics, j)
            variance, shift = parameters[d + j], parameters[j] - mean
            total += alpha_n * math.log(beta_n) - math.lgamma(alpha_n) + 0.5 * (math.log(kappa_n) - _LOG_2_PI)
            total -= (alpha_n + 1.5) * math.log(variance) + (beta_n + 0.5 * kappa_n * shift * shift) / variance
        return total

    def split_parameters(self, parameters, p, q, rng, first, second):
        d = self.mu.shape[0]
        whole, part_a, part_b = np.empty(2), np.empty(2), np.empty(2)
        for j in range(d):
            whole[0], whole[1] = parameters[j], parameters[d + j]
            split_normal(whole, p, q, rng, part_a, part_b)
            first[j], first[d + j], second[j], second[d + j] = part_a[0], part_a[1], part_b[0], part_b[1]

    def join_parameters(self, p, q, first, second, parameters):
        d = self.mu.shape[0]
        whole, part_a, part_b = np.empty(2), np.empty(2), np.empty(2)
        total = 0.0
        for j in range(d):
            part_a[0], part_a[1], part_b[0], part_b[1] = first[j], first[d + j], second[j], second[d + j]
            total += join_normal(p, q, part_a, part_b, whole)
            parameters[j], parameters[d + j] = whole[0], whole[1]
        return total

    def log_density(self, parameters, data, item):
        d = data.values.shape[1]
        total = 0.0
        for j in range(d):
            x, variance = data.values[item, j], parameters[d + j]
            if not math.isnan(x):
                total -= 0.5 * (_LOG_2_PI + math.log(variance) + (x - parameters[j]) ** 2 / variance)
        return total

    def draw_item(self, parameters, rng, item, values):
        d = values.shape[0]
        for j in range(d):
            values[j] = parameters[j] + math.sqrt(parameters[d + j]) * rng.standard_normal()

    def component_mean(self, parameters):
        return parameters["mean"]

    def component_cdf(self, parameters, feature, x):
        mean, variance = parameters["mean"][:, feature], parameters["variance"][:, feature]
        return scipy.special.ndtr((x - mean[:, None]) / np.sqrt(variance)[:, None])

    def log_affinities(self, parameters):
        return diagonal_gaussian_log_affinities(parameters["mean"], parameters["variance"])


@kernel
def posterior(family, statistics, j):
    """kappa_n, alpha_n, the mean m_n and the rate beta_n of a feature."""
    n = statistics[j]
    inverse_count, shrinkage = pooling_weights(family.kappa[j], n)
    mean, beta_n = posterior_location_scale(family, statistics, j, inverse_count, shrinkage)
    return family.kappa[j] + n, family.alpha[j] + 0.5 * n, mean, beta_n


@kernel
def log_marginal_of_feature(family, statistics, j):
    """What a feature adds to the log marginal density of a cluster."""
    n, alpha, beta = statistics[j], family.alpha[j], family.beta[j]
    if n == 0.0:
        return 0.0
    inverse_count, shrinkage = pooling_weights(family.kappa[j], n)
    _, beta_n = posterior_location_scale(family, statistics, j, inverse_count, shrinkage)
    # Avoid a difference that cancels and a quotient that overflows.
    log_beta_n, growth = math.log(beta_n), beta_n / beta
    log_growth = math.log(growth) if growth < 1e300 else log_beta_n - math.log(beta)
    of_data = alpha * log_growth + 0.5 * n * (log_beta_n + math.log(2.0 * math.pi))
    return log_rising_factorial(alpha, 0.5 * n) - of_data + 0.5 * math.log(shrinkage)


@kernel
def pooling_weights(kappa, n):
    """Reciprocal of the count, or 0 if it is 0, and the weight of the prior mean."""
    return (1.0 / n if n > 0.0 else 0.0), kappa / (kappa + n)


@kernel
def posterior_location_scale(family, statistics, j, inverse_count, shrinkage):
    """Posterior mean m_n and rate beta_n of a feature."""
    d = family.mu.shape[0]
    n, total, total_low = statistics[j], statistics[d + j], statistics[3 * d + j]
    location, remainder = sample_location(total, total_low, n, inverse_count)
    squares, squares_low = statistics[2 * d + j], statistics[4 * d + j]
    scatter, _ = centred_product(squares, squares_low, location, total, total_low, location, remainder)
    correction = remainder * inverse_count
    shift = (location - family.mu[j]) + correction
    beta_n = family.beta[j] + 0.5 * (max(scatter, 0.0) + shrinkage * n * shift * shift)
    return location + (correction - shrinkage * shift), beta_n
