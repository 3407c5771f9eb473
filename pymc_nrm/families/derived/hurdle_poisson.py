"""Counts with zeros of their own: a Bernoulli variable, and Poisson variables of positive counts less one."""

from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
import scipy

from pymc_nrm.families import base, conjugate
from pymc_nrm.families.arguments import LARGEST_COUNT, check_matrix
from pymc_nrm.families.base import Dense, Hyperparameter, conjugate_family
from pymc_nrm.families.definitions.bernoulli_beta import BernoulliBeta
from pymc_nrm.families.definitions.poisson_gamma import Counts, PoissonGamma
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
from pymc_nrm.families.learned.hyperpriors import Hyperpriors, shared_text
from pymc_nrm.families.product import Product, ProductData


class CountsWithZeros(NamedTuple):
    """Data of a kernel: what is positive (n, d), positive counts less one (n, d), and sums of their log factorials."""

    positive: Any
    less_one: Any
    log_factorials: Any

    def underlying_data(self):
        return ProductData(Dense(self.positive), Counts(self.less_one, self.log_factorials))

    def features(self, rng):
        return features(underlying_data(self), rng)

    def take_items(self, items):
        return CountsWithZeros(*[array[items] for array in self])


@inherit_methods(Hurdle)
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
    """Counts up to 1e9 with zeros of their own, such as numbers of visits, independent across features in a cluster.

    ``x[i, j] > 0`` with probability ``p[c, j] ~ Beta(ones[j], zeros[j])``; where it is, ``x[i, j] - 1 ~
    Poisson(rate[c, j])`` with ``rate[c, j] ~ Gamma(alpha[j], rate beta[j])``.  Missing values (NaN) are left out of the
    likelihood.

    Parameters
    ----------
    ones, zeros : positive float, tensor or random variable, scalar or shape (d,)
        Prior numbers of positive values and of zeros.
    alpha, beta : positive float, tensor or random variable, scalar or shape (d,)
        Prior sum of positive counts less one, and the prior number of observations behind it.

    Raises
    ------
    ValueError
        If a value is negative, infinite, above 1e9 or no whole number.

    Notes
    -----
    This is a hurdle model (Mullahy 1986, "Specification and testing of some modified count data models") whose positive
    part is a shifted Poisson variable, which is conjugate; one that is truncated at zero is not.  The mean of a cluster
    is ``probability (1 + rate)``.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=5)
    ...     family = nrm.HurdlePoisson(ones=1.0, zeros=1.0, alpha=1.0, beta=0.2)
    ...     visits = nrm.Mixture("visits", z, family, observed=[0, 0, 4, 7, 0])
    >>> print(model.str_repr())
               z ~ Partition[DirichletProcess](5, 1)
    z_n_clusters = Deterministic(f(z))
          visits ~ Mixture[HurdlePoisson](z, 1, 1, 1, 0.2)
    """

    ones: Any
    zeros: Any
    alpha: Any
    beta: Any

    @classmethod
    @shared_text(", or a feature has no positive value")
    def learned(cls, name: str, X: Any) -> "HurdlePoisson":
        """Hyperparameters learned with the partition.

        Zeros have the hyperpriors of :meth:`BernoulliBeta.learned`, positive counts less one the hyperpriors of
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
        n_positive = (values > 0.0).sum(axis=0)
        if not n_positive.all():
            empty = np.flatnonzero(n_positive == 0).tolist()
            raise ValueError(f"X must have a positive value in every column; got none in columns {empty}")
        means = (np.where(values > 0.0, values - 1.0, 0.0).sum(axis=0) + 0.5) / n_positive
        dims = prior.features()
        of_zeros = prior.concentrations_of_levels("zero_concentration", dims)
        of_counts = prior.log_normal("concentration", 0.0, 1.0, dims=dims)
        positive, zero = shares_of_positive(values)
        return cls(**cls.learned_fields(of_zeros, of_counts, positive=positive, zero=zero, means=means))

    @staticmethod
    @as_operations
    def learned_fields(zero_concentration, concentration, *, positive, zero, means):
        """Hyperparameters given the variables that ``learned`` adds, shares of positive values and of zeros, and mean
        positive counts less one, (d,).
        """
        of_zeros = {"ones": zero_concentration * positive, "zeros": zero_concentration * zero}
        return of_zeros | {"alpha": concentration, "beta": concentration / means}

    def underlying(self):
        return Product(BernoulliBeta(self.ones, self.zeros), PoissonGamma(self.alpha, self.beta))

    # A row of statistics: the row of BernoulliBeta for what is positive, then the row of PoissonGamma for positive
    # counts less one.
    def prepare_data(self, X):
        values = check_matrix(self, X, integer=True, lower=0, upper=LARGEST_COUNT)
        less_one = np.where(values > 0.0, values - 1.0, np.nan)
        return CountsWithZeros(is_positive(values), *base.prepare_data(underlying(self).second, less_one))

    def log_likelihood(self, X, labels):
        parts = underlying(self)
        positive, less_one, is_possible = symbolic_parts(X.astype("float64"), lambda x: x - 1.0)
        value = base.log_likelihood(parts.first, positive, labels) + base.log_likelihood(parts.second, less_one, labels)
        return pt.switch(is_possible, value, -np.inf)

    def draw_item(self, parameters, rng, item, values):
        d = values.shape[0]
        conjugate.draw_item(underlying(self).second, parameters[d:], rng, item, values)
        for j in range(d):
            values[j] = 1.0 + values[j] if rng.random() < parameters[j] else 0.0

    def component_mean(self, parameters):
        return parameters["probability"] * (1.0 + parameters["rate"])

    def component_cdf(self, parameters, feature, x):
        x = np.asarray(x, dtype="float64")
        below = scipy.special.pdtr(np.floor(np.maximum(x - 1.0, 0.0)), parameters["rate"][:, feature, None])
        return hurdle_cdf(parameters["probability"][:, feature], np.where(x < 1.0, 0.0, below), x)

    def log_affinities(self, parameters):
        roots = np.sqrt(parameters["rate"])
        pairs = [-0.5 * (root[:, None] - root) ** 2 for root in roots.T]
        return hurdle_log_affinities(parameters["probability"], pairs)
