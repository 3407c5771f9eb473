"""Multivariate normal observations with full covariances and a normal-Wishart base measure."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
import scipy
from pytensor.gradient import disconnected_grad

from pymc_nrm.families.arguments import check_matrix
from pymc_nrm.families.base import Hyperparameter, conjugate_family, segment_sum
from pymc_nrm.families.conjugate import gaussian_log_affinities
from pymc_nrm.families.gaps import check_filled
from pymc_nrm.families.learned.fields import as_operations
from pymc_nrm.families.learned.hyperpriors import Hyperpriors, shared_text, wishart_fields
from pymc_nrm.families.shared import wishart_rows
from pymc_nrm.families.shared.factors import solve_column
from pymc_nrm.families.shared.moments import (
    LARGEST_DISTANCE,
    LARGEST_RATIO,
    centred,
    check_location,
    check_ratio,
    check_shape,
    symbolic_shrinkage,
)
from pymc_nrm.families.shared.sample_covariance import sample_moments
from pymc_nrm.families.shared.scatter import log_determinants, symbolic_log_determinant
from pymc_nrm.families.shared.two_normals import (
    factored_covariance,
    join_normal,
    normal_wishart_log_density,
    split_normal,
)
from pymc_nrm.kernels.pairs import split_at, split_product
from pymc_nrm.kernels.special import log_rising_factorial, symbolic_log_rising_factorial

_LOG_2_PI = math.log(2.0 * math.pi)


@conjugate_family(
    hyperparameters={
        "mu": Hyperparameter(("d",), "real"),
        "kappa": Hyperparameter((), "positive"),
        "Psi": Hyperparameter(("d", "d"), "positive definite"),
        "nu": Hyperparameter((), "greater than d - 1"),
    },
    parameters={"mean": ("d",), "covariance": ("d", "d")},
    continuous=True,
    missing_allowed=True,
)
class NormalWishart(NamedTuple):
    """Multivariate normal data; every cluster has its own mean and full covariance.

    ``x[i] ~ N(m[c], inverse(Lambda[c]))``, ``m ~ N(mu, inverse(kappa Lambda))``, ``Lambda ~ Wishart(nu,
    inverse(Psi))``, so that the prior mean of the covariance is ``Psi / (nu - d - 1)``.  Missing values (NaN) of a
    :class:`~pymc_nrm.Mixture` are variables of the model, drawn with the labels of their items.

    Parameters
    ----------
    mu : float, tensor or random variable, scalar or shape (d,)
        Prior mean, in the units of the data, and within about 2e10 widths of a cluster from them.
    kappa : positive float, tensor or random variable
        Prior number of observations behind ``mu``.
    Psi : positive definite tensor or random variable, shape (d, d)
        Prior scatter, in squared units of the data.
    nu : float, tensor or random variable, greater than d - 1
        Degrees of freedom, at most 1e8.

    Notes
    -----
    With n points of mean m and scatter S about it, ``kappa_n = kappa + n``, ``nu_n = nu + n`` and
    ``Psi_n = Psi + S + kappa n / kappa_n (m - mu)(m - mu)'``, the log marginal is
    ``-n d/2 log pi + d/2 log(kappa / kappa_n) + nu/2 log|Psi| - nu_n/2 log|Psi_n| + log Gamma_d(nu_n/2) /
    Gamma_d(nu/2)`` (Murphy 2007, "Conjugate Bayesian analysis of the Gaussian distribution", eq. 266); the predictive
    is a multivariate Student t (eq. 258).

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> X = np.random.default_rng(1).normal(size=(5, 2))
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=5)
    ...     x = nrm.Mixture("x", z, nrm.NormalWishart(mu=[0, 0], kappa=0.1, Psi=np.eye(2), nu=8), observed=X)
    >>> print(model.str_repr())
    z ~ Partition[DirichletProcess](5, 1)
    z_n_clusters = Deterministic(f(z))
    x ~ Mixture[NormalWishart](z, <constant>, 0.1, <constant>, 8)
    """

    mu: Any
    kappa: Any
    Psi: Any
    nu: Any

    @classmethod
    @shared_text(", n is at most d, or columns are constant or linear combinations of others")
    def from_data(cls, X: Any) -> "NormalWishart":
        """Fixed defaults in the units of the data, centred at their mean: those of Lee & Choi (2015), section 5.

        ``mu`` is the sample mean, ``kappa = 0.1``, ``nu = d + 6`` and ``Psi = Sigma / (10 |Sigma|)^(1/d)``, where Sigma
        is the sample covariance.  Psi has the shape of Sigma and the determinant 0.1 whatever the units of the data, so
        that partitions depend on the units: divide columns by their standard deviations, or use :meth:`learned`.

        Examples
        --------
        >>> X = np.random.default_rng(1).normal(size=(50, 2))
        >>> round(float(np.linalg.det(NormalWishart.from_data(X).Psi)), 6)
        0.1
        """
        mean, covariance = sample_moments(cls, X)
        d = len(mean)
        log_determinant = np.linalg.slogdet(covariance).logabsdet
        Psi = covariance / np.exp((math.log(10.0) + log_determinant) / d)
        return cls(mu=mean, kappa=0.1, Psi=Psi, nu=d + 6.0)

    @classmethod
    @shared_text(", n is at most d, or columns are constant or linear combinations of others")
    def learned(cls, name: str, X: Any) -> "NormalWishart":
        """Hyperparameters learned with the partition: hyperpriors in the model at hand, centred at the sample moments.

        With m and S the mean and covariance of the data and ``L L' = S``::

            share ~ LogNormal(-1, 1)                 kappa ~ LogNormal(-2, 1.5)
            W ~ Wishart(d + 2, I) / (d + 2)          nu - d - 1 = excess ~ LogNormal(1.5, 1)
            Psi / (nu - d - 1) = share L W L'        mu = m

        Clusters have the prior mean covariance ``share L W L'``: a share of the covariance of the data, of another
        shape.  W is made of its Bartlett factor, the variables ``squared_pivot`` and ``below_pivot``.  The prior moves
        with the data: if they become ``A x + b``, the distributions of partitions and of predictions are unchanged.

        Examples
        --------
        >>> import pymc as pm
        >>> X = np.random.default_rng(1).normal(size=(50, 2))
        >>> with pm.Model() as model:
        ...     family = NormalWishart.learned("x", X)
        >>> [variable.name for variable in model.free_RVs]
        ['x_share', 'x_kappa', 'x_excess', 'x_squared_pivot', 'x_below_pivot']
        """
        prior = Hyperpriors(name, X)
        mean, covariance = sample_moments(cls, prior.values)
        return cls(mu=mean, **prior.normal_wishart(cls, prior.features(), covariance))

    @staticmethod
    @as_operations
    def learned_fields(share, kappa, excess, squared_pivot, below_pivot, *, scale):
        """Hyperparameters given the variables that ``learned`` adds, and ``L / sqrt(d + 2)``, shape (d, d)."""
        return wishart_fields(share, kappa, excess, squared_pivot, below_pivot, scale=scale)

    def prepare_data(self, X):
        return centred(check_matrix(self, X))

    def check_resolution(self, data, title):
        check_filled(type(self), data.values, title)
        check_shape("nu of NormalWishart", self.nu, "covariance", "Psi")
        # The width of a cluster in each feature given all others; the check of supports refuses a singular Psi.
        width = np.sqrt(1.0 / np.diag(np.linalg.pinv(self.Psi)))
        check_ratio(data, width, "Psi", title)
        n, d = data.values.shape
        # Psi_n has the term w s s', next to which its factor must resolve Psi; a single variance has nothing to lose.
        weight = self.kappa / (1.0 + self.kappa / max(n, 1))
        largest = LARGEST_RATIO * width / np.sqrt(weight) if d > 1 else LARGEST_DISTANCE
        check_location("mu of NormalWishart", self.mu, data, largest)

    # A row of statistics: count, sums (d), second moments (lower triangle, by rows), and the low parts of both.
    def statistics_size(self):
        d = self.mu.shape[0]
        return 1 + d * (d + 3)

    def add_item(self, statistics, data, item, sign):
        x = data.values[item]
        d = x.shape[0]
        low_part = wishart_rows.low_offset(d)
        statistics[0] += sign
        k = 1 + d
        for i in range(d):
            x_i, large = x[i], 1.5 * data.grid[1, i]
            high, low = split_at(x_i, data.grid[0, i])
            statistics[1 + i] += sign * high
            statistics[1 + i + low_part] += sign * low
            row, row_low = statistics[k : k + i + 1], statistics[k + low_part : k + low_part + i + 1]
            for j in range(row.shape[0]):
                high, low = split_product(x_i, x[j], large * data.grid[1, j])
                row[j] += sign * high
                row_low[j] += sign * low
            k += i + 1

    def log_likelihood(self, X, labels):
        mu, kappa, Psi, nu = self
        n_clusters = labels.max() + 1
        d = X.shape[1]
        # Shifting a cluster and its mu changes nothing, so the gradient may treat centres as constants.  With residuals
        # about cluster means, no large second moments are subtracted.
        counts = segment_sum(pt.ones_like(labels, dtype="float64"), labels, n_clusters)
        divisors = pt.maximum(counts, 1)[:, None]
        centers = disconnected_grad(segment_sum(X, labels, n_clusters) / divisors)
        X = X - centers[labels]
        means = segment_sum(X, labels, n_clusters) / divisors
        shift = means + (centers - mu)
        # Psi_n is Psi plus the squares of these rows.
        rows = pt.concatenate([X - means[labels], pt.sqrt(counts * symbolic_shrinkage(kappa, counts))[:, None] * shift])
        row_labels = pt.concatenate([labels, pt.arange(n_clusters)])
        halves = pt.arange(d) / 2
        log_gamma_ratio = symbolic_log_rising_factorial(nu / 2 - halves, counts[:, None] / 2)
        return (
            -counts * d / 2 * np.log(np.pi)
            + d / 2 * (pt.log(kappa) - pt.log(kappa + counts))
            + nu / 2 * symbolic_log_determinant(Psi)
            - (nu + counts) / 2 * log_determinants(Psi, rows, row_labels, n_clusters)
            + log_gamma_ratio.sum(axis=1)
        ).sum()

    def log_marginal(self, statistics):
        d = self.mu.shape[0]
        n = statistics[0]
        if n <= 0.0:
            return 0.0
        nu, nu_n = self.nu, self.nu + n
        total = 0.5 * d * (math.log(self.kappa / (self.kappa + n)) - n * math.log(math.pi))
        total += 0.5 * nu * wishart_rows.prior_log_determinant(self)
        total -= 0.5 * nu_n * wishart_rows.log_determinant(self, statistics)
        # Gamma(x) Gamma(x - 1/2) is Gamma(2x - 1) up to a power of 2, which halves the number of gamma functions.
        for i in range(0, d - 1, 2):
            total += log_rising_factorial(nu - i - 1.0, n) - n * math.log(2.0)
        if d % 2 == 1:
            total += log_rising_factorial(0.5 * (nu - d + 1.0), 0.5 * n)
        return total

    def parameters_size(self):
        d = self.mu.shape[0]
        return d + d * d

    def draw_parameters(self, statistics, rng, parameters):
        wishart_rows.draw_mean_and_covariance(self, statistics, rng, parameters)

    def log_parameter_density(self, statistics, parameters):
        return normal_wishart_log_density(self, statistics, parameters)

    def split_parameters(self, parameters, p, q, rng, first, second):
        split_normal(parameters, p, q, rng, first, second)

    def join_parameters(self, p, q, first, second, parameters):
        return join_normal(p, q, first, second, parameters)

    def log_density(self, parameters, data, item):
        d = self.mu.shape[0]
        factor, shift = np.empty((d, d)), np.empty(d)
        log_covariance = factored_covariance(parameters, factor)
        for j in range(d):
            shift[j] = data.values[item, j] - parameters[j]
        return -0.5 * (d * _LOG_2_PI + log_covariance + solve_column(factor, shift))

    def draw_item(self, parameters, rng, item, values):
        d = values.shape[0]
        factor = np.linalg.cholesky(parameters[d:].copy().reshape((d, d)))
        for i in range(d):
            values[i] = parameters[i]
        for j in range(d):
            noise = rng.standard_normal()
            for i in range(j, d):
                values[i] += factor[i, j] * noise

    def component_mean(self, parameters):
        return parameters["mean"]

    def component_cdf(self, parameters, feature, x):
        mean, variance = parameters["mean"][:, feature], parameters["covariance"][:, feature, feature]
        return scipy.special.ndtr((x - mean[:, None]) / np.sqrt(variance)[:, None])

    def log_affinities(self, parameters):
        return gaussian_log_affinities(parameters["mean"], parameters["covariance"])
