"""What makes sampling faster, never different: functions that a family may override, and their defaults."""

import math

from pymc_nrm.families.base import add_item, refresh_cache
from pymc_nrm.generic import generic, kernel
from pymc_nrm.lanes import LANES


@generic
def update_cache(family, statistics, cache, data, item, sign):
    """Add or subtract one item and bring the cache up to date, in place.

    ``statistics`` and ``cache`` must belong together beforehand.  Families override this if changing the cache
    costs less than computing it again.
    """
    add_item(family, statistics, data, item, sign)
    refresh_cache(family, statistics, cache)


@generic(inline=True)
def log_predictive_without(family, statistics, cache, data, item):
    """Log density of an item of a cluster of several given the other items, from rows that hold it as well.

    Families override this if it costs less than a removal.  The value is nan if the family has no formula, or if the
    formula would lose digits: the caller must then remove the item.
    """
    return math.nan


@generic
def log_marginals_with_gradient(family, statistics, gradient):
    """Sum of the log marginals of several clusters; adds its derivatives in the hyperparameters to a row.

    With it NUTS needs a single kernel for the log-likelihood of observed data and its gradient; for families without
    it, the derivatives are those of ``log_likelihood``.

    Parameters
    ----------
    family : Family
    statistics : ndarray, shape (n_clusters, statistics_size)
    gradient : ndarray
        The entries of all fields, in their order, arrays in C order, and those of a symmetric matrix as if each were
        free.

    Returns
    -------
    float
    """
    raise NotImplementedError


@generic
def panel_shape(family):
    """Numbers of rows of the two arrays of a panel, from which :func:`log_predictives` weighs all clusters at once.

    A panel has one column per cluster: ``rows``, shape (n_rows, width), and ``lanes``, shape (n_blocks, n_lane_rows,
    LANES), in which ``squared_lengths`` of ``pymc_nrm.lanes`` finds the column of cluster k at ``[k // LANES, :, k %
    LANES]``.  A family without rows has no panel: its clusters are weighed one by one.
    """
    return 0, 0


@generic
def write_panel(family, cache, rows, lanes, column):
    """Write the cache row of a cluster into a column of a panel, in place.

    The rows are the transposed cache unless a family overrides this.
    """
    for i in range(rows.shape[0]):
        rows[i, column] = cache[i]


@generic
def log_predictives(family, rows, lanes, prior, data, item, width, values):
    """Write ``prior`` plus the log predictive density of an item, for the first ``width`` columns, into ``values``.

    Families override this and :func:`panel_shape` if weighing many clusters at once costs less than one by one.

    Parameters
    ----------
    family : Family
    rows, lanes : ndarray
        The panel.
    prior : ndarray, shape (at least width,)
    data : NamedTuple of arrays
    item : int
    width : int
        A multiple of LANES.
    values : ndarray, shape (at least width,)
    """


@kernel
def add_row(row, width, values):
    """Add the first ``width`` entries of a row, a multiple of LANES, to those of the values."""
    for k in range(width // LANES * LANES):
        values[k] += row[k]
