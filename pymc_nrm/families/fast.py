"""What makes sampling faster, never different: functions that a family may override, and their defaults."""

import math
import types

from pymc_nrm.families.base import (
    CACHED,
    add_item,
    log_likelihood,
    log_marginal,
    log_predictive,
    refresh_cache,
    statistics_size,
)
from pymc_nrm.kernels.generic import generic, kernel
from pymc_nrm.kernels.lanes import LANES, log_above_one
from pymc_nrm.kernels.special import log_rising_factorial


def fast_paths(family_class):
    """Decorator that gives a family the methods of a class: fast forms of functions that follow from its definition.

    Without them draws are the same up to rounding.  The family has the class as its attribute ``fast_paths``.
    """

    def add(paths):
        family_class.fast_paths = paths
        for name, method in vars(paths).items():
            if isinstance(method, types.FunctionType):
                if name in vars(family_class):
                    raise TypeError(f"{family_class.__name__} has a method {name} already")
                setattr(family_class, name, method)
        return paths

    return add


@generic(agrees_with=CACHED)
def update_cache(family, statistics, cache, data, item, sign):
    """Add or subtract one item and bring the cache up to date, in place; both rows belong together beforehand."""
    add_item(family, statistics, data, item, sign)
    refresh_cache(family, statistics, cache)


@generic(agrees_with=[*CACHED, log_predictive])
def student_predictive(family, cache, data, item, feature, law):
    """Write degrees of freedom, location and scale of one feature of an item given its others, if it is a Student t.

    The location is in the coordinates of the user; the value of the feature is not read.
    """
    raise NotImplementedError


@generic(inline=True, agrees_with=[*CACHED, log_predictive])
def log_predictive_without(family, statistics, cache, data, item):
    """Log density of an item of a cluster of several given the other items, from rows that hold it as well.

    It is nan if there is no formula, or if it would lose digits: the caller must then remove the item.
    """
    return math.nan


@generic(agrees_with=[log_marginal, log_likelihood, statistics_size, add_item])
def log_marginals_with_gradient(family, statistics, gradient):
    """Sum of the log marginals of clusters, (n_clusters, statistics_size), whose derivatives are added to a row.

    The row has the entries of all fields in their order; entries of a symmetric matrix count as if each were free.
    NUTS then needs a single kernel for the log-likelihood of observed data and its gradient.
    """
    raise NotImplementedError


@generic(agrees_with=[*CACHED, log_predictive])
def panel_shape(family):
    """Numbers of rows, of sets of lanes and of rows of a set in a panel, which weighs all clusters at once.

    A panel has one column per cluster: ``rows``, shape (n_rows, width), and ``lanes``, shape (n_sets, n_blocks,
    n_lane_rows, LANES), in which ``squared_lengths`` of ``pymc_nrm.kernels.lanes`` finds the column of cluster k at
    ``[set, k // LANES, :, k % LANES]``.  A family without rows has no panel: its clusters are weighed one by one.
    """
    return 0, 0, 0


@generic(reads=[panel_shape], agrees_with=[*CACHED, log_predictive])
def write_panel(family, cache, rows, lanes, column):
    """Write the cache row of a cluster into a column of a panel, by default the transposed cache."""
    for i in range(panel_shape(family)[0]):
        rows[i, column] = cache[i]


@generic(reads=[panel_shape, write_panel], agrees_with=[*CACHED, log_predictive])
def update_panel(family, cache, rows, lanes, column, data, item):
    """Bring a column of a panel up to date, in place, after one item has joined or left its cluster."""
    write_panel(family, cache, rows, lanes, column)


@generic(reads=[panel_shape, write_panel, update_panel], agrees_with=[*CACHED, log_predictive])
def add_log_predictives(family, rows, lanes, data, item, width, values):
    """Add the log predictive density of an item, for the first ``width`` columns of a panel, to ``values``.

    The width is a multiple of LANES; rows of the panel that the family does not read may serve as memory.
    """


@generic(agrees_with=[*CACHED, log_predictive, log_predictive_without, add_log_predictives])
def weigh(family, statistics, cache, rows, lanes, data, item, width, values):
    """Do :func:`add_log_predictives` and return :func:`log_predictive_without` for the cluster that holds the item."""
    add_log_predictives(family, rows, lanes, data, item, width, values)
    return log_predictive_without(family, statistics, cache, data, item)


@kernel
def add_row(row, width, values):
    """Add the first ``width`` entries of a row, a multiple of LANES, to the values."""
    for k in range(width // LANES * LANES):
        values[k] += row[k]


@kernel
def multiply_rising_factorial(total, product, a, x):
    """Multiply ``exp(total) product`` by ``Gamma(a + x) / Gamma(a)`` for whole x; return total and product.

    One logarithm then serves many small counts.
    """
    # Outside of these bounds eight factors may leave the range of doubles.
    if x > 8.0 or not 1e-200 < a < 1e25:
        return total + log_rising_factorial(a, x), product
    for i in range(int(x)):
        product *= a + i
    if not 1e-100 < product < 1e100:
        return total + math.log(product), 1.0
    return total, product


@kernel
def multiply_quotient(total, above, below, a, b):
    """Multiply ``exp(total) above / below`` by ``a / b``, and return the three; one logarithm serves many factors.

    The total is nan if a product is subnormal or infinite, so that its digits are lost.
    """
    above *= a
    below *= b
    if 1e-100 < above < 1e100 and 1e-100 < below < 1e100:
        return total, above, below
    is_right = min(above, below) > 1e-290 and max(above, below) < math.inf
    return total + math.log(above) - math.log(below) if is_right else math.nan, 1.0, 1.0


# Factors of a product before its logarithm is taken; none is above 1e19, so that it stays below the largest double.
_FACTORS = 16
# Counts above the first, and hyperparameters above the second, take gamma functions instead of products.
_LARGEST_COUNT, _LARGEST_START = 64.0, 1e15


@kernel
def add_log_rising_factorials(log_a, a, x, n_factors, product, width, values):
    """Add ``log Gamma(a + x) / Gamma(a)`` of each column, whole x > 0, to values and a product of at least 1.

    :func:`add_logarithms` adds the logarithm of the product at the end; it has ``n_factors`` so far, which is returned.
    """
    add_row(log_a, width, values)
    # Columns differ by sums of counts, so that any of them tells whether the hyperparameter is large.
    if x > _LARGEST_COUNT or a[0] > _LARGEST_START:
        for k in range(width // LANES * LANES):
            values[k] += log_rising_factorial(a[k] + 1.0, x - 1.0)
        return n_factors
    for i in range(1, int(x)):
        for k in range(width // LANES * LANES):
            product[k] *= a[k] + i
        n_factors += 1
        if n_factors == _FACTORS:
            add_logarithms(product, width, values)
            n_factors = 0
    return n_factors


@kernel
def add_logarithms(product, width, values):
    """Add the logarithms of a product to the values, and set the product to 1."""
    for k in range(width // LANES * LANES):
        values[k] += log_above_one(product[k])
        product[k] = 1.0
