"""Multinomial observations with a Dirichlet base measure, such as documents as word counts, dense or sparse."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.sparse as ps
import pytensor.tensor as pt
from pytensor.graph.basic import Constant
from scipy import sparse
from scipy.special import gammaln

from pymc_nrm.families.arguments import LARGEST_COUNT, check_matrix
from pymc_nrm.families.base import (
    Hyperparameter,
    add_item,
    cache_size,
    complete,
    conjugate_family,
    log_likelihood,
    log_predictive,
    prepare_data,
    refresh_cache,
    statistics_size,
)
from pymc_nrm.families.components import (
    add_component_densities,
    component_panel,
    log_component_density,
    write_component,
    write_logarithms,
)
from pymc_nrm.families.conjugate import (
    draw_dirichlet,
    draw_item,
    draw_parameters,
    log_marginal,
    parameter_shapes,
    parameters_size,
)
from pymc_nrm.families.fast import (
    add_log_predictives,
    add_log_rising_factorials,
    add_logarithms,
    log_predictive_without,
    multiply_rising_factorial,
    panel_shape,
    update_cache,
    update_panel,
)
from pymc_nrm.families.learned import learned_family
from pymc_nrm.lanes import LANES
from pymc_nrm.special import log_gamma_ratio, log_rising_factorial, symbolic_log_rising_factorial


@conjugate_family(
    hyperparameters={
        "alpha": Hyperparameter(("d",), "positive"),
        "total": Hyperparameter(("n",), "non-negative whole"),
    },
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
    >>> with pm.Model():
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.MultinomialDirichlet(0.5), observed=[[0, 3, 1], [0, 4, 0], [7, 0, 1]])
    """

    alpha: Any = 1.0
    total: Any = None

    @classmethod
    def learned(cls, name: str, X: Any) -> "MultinomialDirichlet":
        """Hyperparameters learned with the partition: a hyperprior in the model at hand, centred at the frequencies.

        With p_v the share of entry v among all counts, half a count of each entry added::

            alpha_v = concentration p_v,   concentration ~ LogNormal(log(d) / 2, 1.5)


        Parameters
        ----------
        name : str
            Names of the new variables begin with it; usually the name of the Mixture.
        X : array_like or DataFrame, shape (n, d)
            The data. Columns of a DataFrame name the features.

        Returns
        -------
        MultinomialDirichlet
            Its fields are tensors.

        Raises
        ------
        TypeError
            If there is no model at hand, or the data are not numbers.
        ValueError
            If the family does not allow these values.

        Examples
        --------
        >>> import pymc as pm
        >>> X = [[0, 3, 1], [0, 4, 0], [7, 0, 1]]
        >>> with pm.Model() as model:
        ...     family = MultinomialDirichlet.learned("x", X)
        >>> [variable.name for variable in model.free_RVs]
        ['x_concentration']
        """
        return learned_family(cls, name, X)


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


@complete.register(MultinomialDirichlet)
def _(family, X):
    if family.total is not None:
        return family
    if not sparse.issparse(X):
        X = check_matrix(family, X, integer=True, lower=0)
    return family._replace(total=np.asarray(X.sum(axis=1)).ravel())


@prepare_data.register(MultinomialDirichlet)
def _(family, X):
    if sparse.issparse(X):
        rows = sparse.csr_array(X, dtype="float64", copy=True)
        # Only the explicit values can be wrong: check them as a matrix of one column.
        check_matrix(family, rows.data[:, None], integer=True, lower=0, upper=LARGEST_COUNT)
        rows.sum_duplicates()
        rows.eliminate_zeros()
    else:
        rows = sparse.csr_array(check_matrix(family, X, integer=True, lower=0, upper=LARGEST_COUNT))
    totals = np.asarray(rows.sum(axis=1)).ravel()
    log_factorials = rows.copy()
    log_factorials.data = gammaln(rows.data + 1)
    log_coefficients = gammaln(totals + 1) - np.asarray(log_factorials.sum(axis=1)).ravel()
    return SparseCounts(rows.indptr.astype("int64"), rows.indices.astype("int64"), rows.data, totals, log_coefficients)


@parameter_shapes.register(MultinomialDirichlet)
def _(family):
    return {"probability": (family.alpha.shape[0],)}


@log_likelihood.register(MultinomialDirichlet)
def _(family, X, labels):
    alpha = family.alpha
    v = X.shape[1]
    n_clusters = labels.max() + 1
    if isinstance(X.type, ps.SparseTensorType):
        rows, columns, values = _coordinates(X)
        n_items = X.shape[0]
        totals = pt.zeros(n_items)[rows].inc(values)
        sums = pt.zeros(n_clusters * v)[labels[rows] * v + columns].inc(values)
    else:
        values = X.astype("float64")
        totals = values.sum(axis=1)
        sums = pt.zeros((n_clusters, v))[labels].inc(values).ravel()
    coefficients = pt.gammaln(totals + 1).sum() - pt.gammaln(values + 1).sum()
    # A word that is absent from a cluster adds nothing, and most clusters lack most words.
    cells = pt.nonzero(sums)[0]
    alpha_cells = alpha[cells % v]
    words = symbolic_log_rising_factorial(alpha_cells, sums[cells]).sum()
    cluster_totals = pt.zeros(n_clusters)[labels].inc(totals)
    return coefficients + words - symbolic_log_rising_factorial(alpha.sum(), cluster_totals).sum()


def _coordinates(X):
    """Rows, columns and values of the entries of a sparse matrix."""
    if isinstance(X, Constant):
        entries = sparse.coo_array(X.data)
        row, column = entries.coords
        return pt.as_tensor(row), pt.as_tensor(column), pt.as_tensor(entries.data.astype("float64"))
    values, indices, indptr, shape = ps.csm_properties(X)
    n_major = shape[0] if X.format == "csr" else shape[1]
    major, minor = pt.repeat(pt.arange(n_major), pt.diff(indptr)), indices
    rows, columns = (major, minor) if X.format == "csr" else (minor, major)
    return rows, columns, values.astype("float64")


# A row of statistics: sums (v), total, log coefficient.
# A row of the cache: A, A_n, log Gamma(A_n), log alpha_n (v), alpha_n (v); A_n is the sum of alpha_n = alpha + sums.


@statistics_size.register(MultinomialDirichlet)
def _(family):
    return family.alpha.shape[0] + 2


@cache_size.register(MultinomialDirichlet)
def _(family):
    return 3 + 2 * family.alpha.shape[0]


@parameters_size.register(MultinomialDirichlet)
def _(family):
    return family.alpha.shape[0]


@add_item.register(MultinomialDirichlet)
def _(family, statistics, data, item, sign):
    v = family.alpha.shape[0]
    for k in range(data.indptr[item], data.indptr[item + 1]):
        statistics[data.indices[k]] += sign * data.values[k]
    statistics[v] += sign * data.totals[item]
    statistics[v + 1] += sign * data.log_coefficients[item]


@log_marginal.register(MultinomialDirichlet)
def _(family, statistics):
    v = family.alpha.shape[0]
    if statistics[v] <= 0.0:
        return 0.0
    prior_total = total = last_alpha = log_gamma_alpha = 0.0
    for j in range(v):
        alpha = family.alpha[j]
        prior_total += alpha
        if statistics[j] > 0.0:
            if alpha != last_alpha:
                last_alpha, log_gamma_alpha = alpha, math.lgamma(alpha)
            total += log_gamma_ratio(alpha, statistics[j], log_gamma_alpha)
    return total + statistics[v + 1] - log_rising_factorial(prior_total, statistics[v])


@refresh_cache.register(MultinomialDirichlet)
def _(family, statistics, cache):
    v = family.alpha.shape[0]
    prior_total = 0.0
    last = log_last = 0.0
    for j in range(v):
        prior_total += family.alpha[j]
        alpha_n = family.alpha[j] + statistics[j]
        # Most words are absent from a cluster, and often share one alpha.
        if alpha_n != last:
            last = alpha_n
            log_last = math.log(alpha_n)
        cache[3 + j] = log_last
        cache[3 + v + j] = alpha_n
    cache[0] = prior_total
    cache[1] = prior_total + statistics[v]
    cache[2] = math.lgamma(cache[1])


@update_cache.register(MultinomialDirichlet)
def _(family, statistics, cache, data, item, sign):
    # Only the words of the item and the total change.
    add_item(family, statistics, data, item, sign)
    v = family.alpha.shape[0]
    for k in range(data.indptr[item], data.indptr[item + 1]):
        j = data.indices[k]
        alpha_n = family.alpha[j] + statistics[j]
        cache[3 + j] = math.log(alpha_n)
        cache[3 + v + j] = alpha_n
    cache[1] = cache[0] + statistics[v]
    cache[2] = math.lgamma(cache[1])


@log_predictive.register(MultinomialDirichlet)
def _(family, cache, data, item):
    # Gamma(alpha_n + x) / Gamma(alpha_n) is a product of x factors, mostly of a single one.
    v = family.alpha.shape[0]
    total = data.log_coefficients[item] - log_gamma_ratio(cache[1], data.totals[item], cache[2])
    product = 1.0
    for k in range(data.indptr[item], data.indptr[item + 1]):
        j, x = data.indices[k], data.values[k]
        if x == 1.0:
            total += cache[3 + j]
        else:
            total, product = multiply_rising_factorial(total, product, cache[3 + v + j], x)
    return total + math.log(product)


@log_predictive_without.register(MultinomialDirichlet)
def _(family, statistics, cache, data, item):
    v = family.alpha.shape[0]
    total = data.log_coefficients[item]
    total -= log_rising_factorial(cache[0] + (statistics[v] - data.totals[item]), data.totals[item])
    product = 1.0
    for k in range(data.indptr[item], data.indptr[item + 1]):
        j, x = data.indices[k], data.values[k]
        others = family.alpha[j] + (statistics[j] - x)
        total, product = multiply_rising_factorial(total, product, others, x)
    return total + math.log(product)


# A panel is the transposed cache, a column of which changes only in the words of an item; the first row is memory.


@panel_shape.register(MultinomialDirichlet)
def _(family):
    return cache_size(family), 0, 0


@update_panel.register(MultinomialDirichlet)
def _(family, cache, rows, lanes, column, data, item):
    v = family.alpha.shape[0]
    for i in range(1, 3):
        rows[i, column] = cache[i]
    for k in range(data.indptr[item], data.indptr[item + 1]):
        j = 3 + data.indices[k]
        rows[j, column] = cache[j]
        rows[v + j, column] = cache[v + j]


@add_log_predictives.register(MultinomialDirichlet)
def _(family, rows, lanes, data, item, width, values):
    v = family.alpha.shape[0]
    product = rows[0]
    for k in range(width // LANES * LANES):
        values[k] += data.log_coefficients[item] - log_gamma_ratio(rows[1, k], data.totals[item], rows[2, k])
        product[k] = 1.0
    n_factors = 0
    for place in range(data.indptr[item], data.indptr[item + 1]):
        j, x = 3 + data.indices[place], data.values[place]
        n_factors = add_log_rising_factorials(rows[j], rows[v + j], x, n_factors, product, width, values)
    add_logarithms(product, width, values)


@draw_parameters.register(MultinomialDirichlet)
def _(family, statistics, rng, parameters):
    draw_dirichlet(rng, family.alpha + statistics[: family.alpha.shape[0]], parameters)


@draw_item.register(MultinomialDirichlet)
def _(family, parameters, rng, item, values):
    # Each entry is binomial given the earlier ones.
    remaining, mass = int(family.total[item]), 1.0
    for j in range(values.shape[0]):
        p = min(1.0, parameters[j] / mass) if mass > 0.0 else 1.0
        values[j] = rng.binomial(remaining, p) if j < values.shape[0] - 1 else remaining
        remaining -= int(values[j])
        mass -= parameters[j]


@log_component_density.register(MultinomialDirichlet)
def _(family, parameters, points, log_values):
    for i in range(points.totals.shape[0]):
        total = points.log_coefficients[i]
        for k in range(points.indptr[i], points.indptr[i + 1]):
            p = parameters[points.indices[k]]
            total += points.values[k] * math.log(p) if p > 0.0 else -math.inf
        log_values[i] = total


@component_panel.register(MultinomialDirichlet)
def _(family, n_columns):
    return np.empty((family.alpha.shape[0], n_columns))


@write_component.register(MultinomialDirichlet)
def _(family, parameters, panel, column):
    write_logarithms(parameters, panel, column)


@add_component_densities.register(MultinomialDirichlet)
def _(family, panel, data, item, width, values):
    for k in range(width // LANES * LANES):
        values[k] += data.log_coefficients[item]
    for place in range(data.indptr[item], data.indptr[item + 1]):
        count, log_p = data.values[place], panel[data.indices[place]]
        for k in range(width // LANES * LANES):
            values[k] += count * log_p[k]
