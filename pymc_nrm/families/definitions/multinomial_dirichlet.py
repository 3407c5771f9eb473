"""Multinomial observations with a Dirichlet base measure, such as documents as word counts, dense or sparse."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
import scipy
from pytensor.graph.basic import Constant

from pymc_nrm.families.arguments import LARGEST_COUNT, check_matrix, check_total, on_grid
from pymc_nrm.families.base import Hyperparameter, conjugate_family, whole_numbers
from pymc_nrm.families.conjugate import draw_dirichlet, log_dirichlet_density
from pymc_nrm.families.learned.hyperpriors import Hyperpriors, shared_text
from pymc_nrm.families.shared.two_components import join_probabilities, split_probabilities
from pymc_nrm.kernels.special import log_gamma_ratio, log_rising_factorial, symbolic_log_rising_factorial

# Counts with more columns are projected on this many random directions, which keeps distances to about 10 percent.
_MOST_COLUMNS = 128


@conjugate_family(
    hyperparameters={
        "alpha": Hyperparameter(("d",), "positive"),
        "total": Hyperparameter(("n",), "non-negative whole", for_draws_alone=True),
    },
    parameters={"probability": ("d",)},
    continuous=False,
    missing_allowed=False,
)
class MultinomialDirichlet(NamedTuple):
    """Vectors of counts up to 1e9; every cluster has its own Dirichlet distributed probabilities of the entries.

    ``x[i] ~ Multinomial(total[i], p[c])``, ``p[c] ~ Dirichlet(alpha)``.  The data are a dense array or a SciPy sparse
    matrix of shape (n, v), which is never made dense.

    Parameters
    ----------
    alpha : positive float, tensor or random variable, scalar or shape (v,)
        Prior number of observations of each entry.
    total : int or array of int, scalar or shape (n,), optional
        Sum of the counts of each item.  Draws of data need it; with observed data it defaults to their row sums.

    Notes
    -----
    The log marginal of items with column sums s and total sum S is
    ``sum_v log Gamma(alpha_v + s_v) / Gamma(alpha_v) - log Gamma(A + S) / Gamma(A)`` plus the log multinomial
    coefficients of the items, where A is the sum of the alpha_v.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.MultinomialDirichlet(0.5), observed=[[0, 3, 1], [0, 4, 0], [7, 0, 1]])
    >>> print(model.str_repr())
    z ~ Partition[DirichletProcess](3, 1)
    z_n_clusters = Deterministic(f(z))
    x ~ Mixture[MultinomialDirichlet](z, <constant>, <constant>)
    """

    alpha: Any = 1.0
    total: Any = None

    @classmethod
    @shared_text()
    def learned(cls, name: str, X: Any) -> "MultinomialDirichlet":
        """Hyperparameters learned with the partition: a hyperprior in the model at hand, centred at the frequencies.

        With p_v the share of entry v among all counts, half a count of each entry added::

            alpha_v = concentration p_v,   concentration ~ LogNormal(log(d) / 2, 1.5)

        Examples
        --------
        >>> import pymc as pm
        >>> X = [[0, 3, 1], [0, 4, 0], [7, 0, 1]]
        >>> with pm.Model() as model:
        ...     family = MultinomialDirichlet.learned("x", X)
        >>> [variable.name for variable in model.free_RVs]
        ['x_concentration']
        """
        prior = Hyperpriors(name, X)
        counts = prior.prepared(cls())
        # Half a count of each entry keeps frequencies above 0.
        sums = np.bincount(counts.indices, weights=counts.values, minlength=prior.values.shape[1]) + 0.5
        concentration = prior.log_normal("concentration", np.log(len(sums)) / 2, 1.5)
        return cls(alpha=concentration * (sums / sums.sum()))

    def complete(self, X):
        if self.total is not None:
            return self
        if not scipy.sparse.issparse(X):
            X = check_matrix(self, X, integer=True, lower=0)
        return self._replace(total=np.asarray(X.sum(axis=1)).ravel())

    def prepare_data(self, X):
        if scipy.sparse.issparse(X):
            rows = scipy.sparse.csr_array(X, dtype="float64", copy=True)
            # Only the explicit values can be wrong: check them as a matrix of one column.
            check_matrix(self, rows.data[:, None], integer=True, lower=0, upper=LARGEST_COUNT)
            rows.sum_duplicates()
            rows.eliminate_zeros()
        else:
            rows = scipy.sparse.csr_array(check_matrix(self, X, integer=True, lower=0, upper=LARGEST_COUNT))
        totals = np.asarray(rows.sum(axis=1)).ravel()
        check_total(self, totals.sum())
        log_factorials = rows.copy()
        log_factorials.data = scipy.special.gammaln(rows.data + 1)
        log_coefficients = scipy.special.gammaln(totals + 1) - np.asarray(log_factorials.sum(axis=1)).ravel()
        return SparseCounts(
            rows.indptr.astype("int64"), rows.indices.astype("int64"), rows.data, totals, on_grid(log_coefficients)
        )

    # A row of statistics: sums (v), total, log coefficient.
    def statistics_size(self):
        return self.alpha.shape[0] + 2

    def add_item(self, statistics, data, item, sign):
        v = self.alpha.shape[0]
        for k in range(data.indptr[item], data.indptr[item + 1]):
            statistics[data.indices[k]] += sign * data.values[k]
        statistics[v] += sign * data.totals[item]
        statistics[v + 1] += sign * data.log_coefficients[item]

    def log_likelihood(self, X, labels):
        alpha = self.alpha
        v = X.shape[1]
        n_clusters = labels.max() + 1
        if _is_sparse(X):
            rows, columns, values = _coordinates(X)
            values, is_possible = _possible(values)
            n_items = X.shape[0]
            totals = pt.zeros(n_items)[rows].inc(values)
            sums = pt.zeros(n_clusters * v)[labels[rows] * v + columns].inc(values)
        else:
            values, is_possible = _possible(X.astype("float64"))
            totals = values.sum(axis=1)
            sums = pt.zeros((n_clusters, v))[labels].inc(values).ravel()
        coefficients = pt.gammaln(totals + 1).sum() - pt.gammaln(values + 1).sum()
        # A word that is absent from a cluster adds nothing, and most clusters lack most words.
        cells = pt.nonzero(sums)[0]
        alpha_cells = alpha[cells % v]
        words = symbolic_log_rising_factorial(alpha_cells, sums[cells]).sum()
        cluster_totals = pt.zeros(n_clusters)[labels].inc(totals)
        total = coefficients + words - symbolic_log_rising_factorial(alpha.sum(), cluster_totals).sum()
        return pt.switch(is_possible, total, -np.inf)

    def log_marginal(self, statistics):
        v = self.alpha.shape[0]
        if statistics[v] <= 0.0:
            return 0.0
        prior_total = total = last_alpha = log_gamma_alpha = 0.0
        for j in range(v):
            alpha = self.alpha[j]
            prior_total += alpha
            if statistics[j] > 0.0:
                if alpha != last_alpha:
                    last_alpha, log_gamma_alpha = alpha, math.lgamma(alpha)
                total += log_gamma_ratio(alpha, statistics[j], log_gamma_alpha)
        return total + statistics[v + 1] - log_rising_factorial(prior_total, statistics[v])

    def parameters_size(self):
        return self.alpha.shape[0]

    def draw_parameters(self, statistics, rng, parameters):
        draw_dirichlet(rng, self.alpha + statistics[: self.alpha.shape[0]], parameters)

    def log_parameter_density(self, statistics, parameters):
        return log_dirichlet_density(self.alpha, statistics, parameters)

    def split_parameters(self, parameters, p, q, rng, first, second):
        split_probabilities(parameters, self.alpha, p, q, rng, first, second)

    def join_parameters(self, p, q, first, second, parameters):
        return join_probabilities(self.alpha, p, q, first, second, parameters)

    def log_density(self, parameters, data, item):
        total = data.log_coefficients[item]
        for place in range(data.indptr[item], data.indptr[item + 1]):
            p = parameters[data.indices[place]]
            total += data.values[place] * math.log(p) if p > 0.0 else -math.inf
        return total

    def draw_item(self, parameters, rng, item, values):
        # Each entry is binomial given the earlier ones.
        remaining, mass = int(self.total[item]), 1.0
        for j in range(values.shape[0]):
            p = min(1.0, parameters[j] / mass) if mass > 0.0 else 1.0
            values[j] = rng.binomial(remaining, p) if j < values.shape[0] - 1 else remaining
            remaining -= int(values[j])
            mass -= parameters[j]


class SparseCounts(NamedTuple):
    """Data of a kernel: compressed rows, with positive values only.

    Item i has the values ``values[indptr[i] : indptr[i + 1]]`` in the columns ``indices[indptr[i] : indptr[i + 1]]``;
    ``totals`` and ``log_coefficients``, its row sum and log multinomial coefficient, have shape (n,).
    """

    indptr: Any
    indices: Any
    values: Any
    totals: Any
    log_coefficients: Any

    def features(self, rng):
        n, n_columns = len(self.totals), int(self.indices.max(initial=0)) + 1
        lengths = np.diff(self.indptr)
        roots = np.sqrt(self.values / np.repeat(np.maximum(self.totals, 1.0), lengths))
        rows = scipy.sparse.csr_array((roots, self.indices, self.indptr), shape=(n, n_columns))
        if n_columns <= _MOST_COLUMNS:
            return rows.toarray()
        return np.asarray(rows @ rng.normal(scale=_MOST_COLUMNS**-0.5, size=(n_columns, _MOST_COLUMNS)))

    def take_items(self, items):
        lengths = np.diff(self.indptr)[items]
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(self.indptr.dtype)
        places = np.arange(indptr[-1]) + np.repeat(self.indptr[items] - indptr[:-1], lengths)
        per_item = self.totals[items], self.log_coefficients[items]
        return SparseCounts(indptr, self.indices[places], self.values[places], *per_item)


def _is_sparse(X):
    from pytensor.sparse import SparseTensorType  # imports scipy.sparse

    return isinstance(X.type, SparseTensorType)


def _possible(values):
    """Values without those that are no counts, and whether all are; there are no gaps."""
    return whole_numbers(pt.switch(pt.isnan(values), -1.0, values))


def _coordinates(X):
    """Rows, columns and values of the entries of a sparse matrix."""
    if isinstance(X, Constant):
        entries = scipy.sparse.coo_array(X.data)
        row, column = entries.coords
        return pt.as_tensor(row), pt.as_tensor(column), pt.as_tensor(entries.data.astype("float64"))
    from pytensor.sparse import csm_properties

    values, indices, indptr, shape = csm_properties(X)
    n_major = shape[0] if X.format == "csr" else shape[1]
    major, minor = pt.repeat(pt.arange(n_major), pt.diff(indptr)), indices
    rows, columns = (major, minor) if X.format == "csr" else (minor, major)
    return rows, columns, values.astype("float64")
