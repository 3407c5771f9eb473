"""Normal-gamma clusters of real columns and of the logarithms of positive ones, independent across features."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.common.supports import ZeroOrOne
from pymc_nrm.families.base import Hyperparameter, conjugate_family
from pymc_nrm.families.conjugate import diagonal_gaussian_log_affinities
from pymc_nrm.families.definitions.normal_gamma import NormalGamma
from pymc_nrm.families.derived.log_columns import LogColumns, cdf_of_component, mean_of_component, on_log_scale
from pymc_nrm.families.derived.mapped import inherit_methods
from pymc_nrm.families.learned.fields import as_operations
from pymc_nrm.families.learned.hyperpriors import Hyperpriors, gamma_fields, shared_text
from pymc_nrm.families.shared.sample_covariance import feature_moments


@inherit_methods(LogColumns)
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
    """Real and positive features, each with its own mean and variance in every cluster, on the scale of logarithms.

    With ``y[i, j] = log x[i, j]`` where ``log_columns[j]`` is 1 and ``y[i, j] = x[i, j]`` elsewhere, y follows a
    :class:`NormalGamma`.  Densities, predictions and quantiles refer to x, in its units.  Missing values (NaN) are
    left out of the likelihood.

    Parameters
    ----------
    log_columns : array_like of 0 and 1, shape (d,)
        1 for positive columns that are modelled on the logarithmic scale; constants.
    mu : float, tensor or random variable, scalar or shape (d,)
        Prior mean of the locations: means of logarithms where ``log_columns`` is 1.
    kappa : positive float, tensor or random variable, scalar or shape (d,)
        Prior number of observations behind ``mu``.
    alpha, beta : positive float, tensor or random variable, scalar or shape (d,)
        Shape and scale of the inverse gamma distribution of the variance of y.

    Raises
    ------
    ValueError
        If a value is not above 0 in a column whose logarithm is modelled.

    Notes
    -----
    ``log p(x) = log p(y) - sum_j log_columns[j] log x[j]``.  Parameters of clusters are ``location`` and ``variance``
    of y: the median of a positive feature is ``exp(location)``, its mean ``exp(location + variance / 2)`` (Johnson,
    Kotz & Balakrishnan 1994, "Continuous univariate distributions", chapter 14).

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     family = nrm.LogNormalGamma([1], mu=7.0, kappa=0.1, alpha=2.0, beta=0.5)
    ...     income = nrm.Mixture("income", z, family, observed=[1200.0, 950.0, 8000.0])
    >>> print(model.str_repr())
               z ~ Partition[DirichletProcess](3, 1)
    z_n_clusters = Deterministic(f(z))
          income ~ Mixture[LogNormalGamma](z, 1, 7, 0.1, 2, 0.5)
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
        return cls(log_columns, mean, **prior.normal_gamma(cls, variance))

    learned_fields = staticmethod(as_operations(gamma_fields))

    def underlying(self):
        return NormalGamma(self.mu, self.kappa, self.alpha, self.beta)

    # A row of statistics: the row of NormalGamma for real columns and logarithms.
    def sum_of_values(self, statistics, j):
        d = self.mu.shape[0]
        return statistics[d + j] + statistics[3 * d + j]

    def component_mean(self, parameters):
        return mean_of_component(self, parameters["location"], parameters["variance"])

    def component_cdf(self, parameters, feature, x):
        location, variance = parameters["location"][:, feature], parameters["variance"][:, feature]
        return cdf_of_component(self, location, variance, feature, x)

    def log_affinities(self, parameters):
        return diagonal_gaussian_log_affinities(parameters["location"], parameters["variance"])
