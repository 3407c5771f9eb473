"""Normal-Wishart clusters of real columns and of the logarithms of positive ones."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.common.supports import ZeroOrOne
from pymc_nrm.families import gaps
from pymc_nrm.families.base import Hyperparameter, conjugate_family
from pymc_nrm.families.conjugate import gaussian_log_affinities
from pymc_nrm.families.definitions.normal_wishart import NormalWishart
from pymc_nrm.families.derived.log_columns import LogColumns, cdf_of_component, mean_of_component, on_log_scale
from pymc_nrm.families.derived.mapped import inherit_methods, underlying
from pymc_nrm.families.learned.fields import as_operations
from pymc_nrm.families.learned.hyperpriors import Hyperpriors, shared_text, wishart_fields
from pymc_nrm.families.shared.sample_covariance import sample_moments
from pymc_nrm.families.shared.wishart_rows import low_offset


@inherit_methods(LogColumns)
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
    """Real and positive features; each cluster has its own mean and full covariance, on the scale of logarithms.

    With ``y[i, j] = log x[i, j]`` where ``log_columns[j]`` is 1 and ``y[i, j] = x[i, j]`` elsewhere, y follows a
    :class:`NormalWishart`.  Densities, predictions and quantiles refer to x, in its units.  Missing values (NaN)
    are drawn as in :class:`NormalWishart`.

    Parameters
    ----------
    log_columns : array_like of 0 and 1, shape (d,)
        1 for positive columns that are modelled on the logarithmic scale; constants.
    mu : float, tensor or random variable, scalar or shape (d,)
        Prior mean of the locations: means of logarithms where ``log_columns`` is 1.
    kappa : positive float, tensor or random variable
        Prior number of observations behind ``mu``.
    Psi : tensor or random variable, shape (d, d)
        Scale matrix of the inverse Wishart distribution of the covariance of y, positive definite.
    nu : tensor or random variable
        Degrees of freedom, greater than d - 1.

    Raises
    ------
    ValueError
        If a value is not above 0 in a column whose logarithm is modelled.

    Notes
    -----
    ``log p(x) = log p(y) - sum_j log_columns[j] log x[j]``.  Parameters of clusters are ``location`` and ``covariance``
    of y: the median of a positive feature is ``exp(location)``, its mean ``exp(location + variance / 2)`` (Johnson,
    Kotz & Balakrishnan 1994, "Continuous univariate distributions", chapter 14).

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> X = [[1200.0, 0.3], [950.0, -0.1], [8000.0, 2.2]]  # an income and a score
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     family = nrm.LogNormalWishart([1, 0], mu=[7.0, 0.0], kappa=0.1, Psi=np.eye(2), nu=5.0)
    ...     x = nrm.Mixture("x", z, family, observed=X)
    >>> print(model.str_repr())
               z ~ Partition[DirichletProcess](3, 1)
    z_n_clusters = Deterministic(f(z))
               x ~ Mixture[LogNormalWishart](z, <constant>, <constant>, 0.1, <constant>, 5)
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
        return cls(log_columns, mean, **prior.normal_wishart(cls, prior.features(), covariance))

    learned_fields = staticmethod(as_operations(wishart_fields))

    def underlying(self):
        return NormalWishart(self.mu, self.kappa, self.Psi, self.nu)

    # The name by which steps for learned hyperparameters ask for it.
    leading = underlying

    # A row of statistics: the row of NormalWishart for real columns and logarithms.
    def sum_of_values(self, statistics, j):
        return statistics[1 + j] + statistics[1 + j + low_offset(self.mu.shape[0])]

    def draw_missing(self, cache, data, item, rng):
        gaps.draw_missing(underlying(self), cache, data, item, rng)

    def component_mean(self, parameters):
        variance = np.diagonal(parameters["covariance"], axis1=1, axis2=2)
        return mean_of_component(self, parameters["location"], variance)

    def component_cdf(self, parameters, feature, x):
        variance = parameters["covariance"][:, feature, feature]
        return cdf_of_component(self, parameters["location"][:, feature], variance, feature, x)

    def log_affinities(self, parameters):
        return gaussian_log_affinities(parameters["location"], parameters["covariance"])
