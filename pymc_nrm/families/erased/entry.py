"""The entry of a family: one kernel for each type of family and data, which makes every call of a move."""

import numpy as np

from pymc_nrm.families import base, conjugate, fast
from pymc_nrm.kernels.addresses import (
    address_of,
    as_double,
    doubles,
    entry_address,
    lane_blocks,
    load,
    n_words,
    store,
    table,
    whole_numbers,
)
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.lanes import LANES

(
    ADD_ITEM,
    ADD_ALL,
    REFRESH_CACHE,
    UPDATE_CACHE,
    LOG_PREDICTIVE,
    LOG_PREDICTIVE_WITHOUT,
    LOG_MARGINAL,
    WRITE_PANEL,
    UPDATE_PANEL,
    ADD_LOG_PREDICTIVES,
    WEIGH,
) = range(11)

# Columns of the description of a family.
(
    ENTRY,
    COMPONENT_ENTRY,
    DRAW_ENTRY,
    GAP_ENTRY,
    VALUES,
    N_PARAMETERS,
    N_STATISTICS,
    N_CACHE,
    N_ROWS,
    N_SETS,
    N_LANE_ROWS,
) = range(11)
N_COLUMNS = 11


@kernel(inner_loop=True)
def entry(method, place, p, q, r, s, t, i, j, k, m, x):
    """Call a method of the family at a place; the other arguments are addresses, whole numbers and a double."""
    family, data = load(place)
    if method in (ADD_LOG_PREDICTIVES, WEIGH):
        shape = fast.panel_shape(family)
        rows, lanes = table(p, shape[0], k), lane_blocks(q, shape[1], k // LANES, m)
        fast.add_log_predictives(family, rows, lanes, data, i, j, doubles(r, k))
        if method == WEIGH:
            statistics, cache = doubles(s, base.statistics_size(family)), doubles(t, base.cache_size(family))
            return fast.log_predictive_without(family, statistics, cache, data, i)
    elif method == LOG_PREDICTIVE_WITHOUT:
        statistics, cache = doubles(p, base.statistics_size(family)), doubles(q, base.cache_size(family))
        return fast.log_predictive_without(family, statistics, cache, data, i)
    elif method == LOG_PREDICTIVE:
        return as_double(base.log_predictive(family, doubles(p, base.cache_size(family)), data, i))
    elif method == UPDATE_CACHE:
        statistics, cache = doubles(p, base.statistics_size(family)), doubles(q, base.cache_size(family))
        fast.update_cache(family, statistics, cache, data, i, x)
    elif method == LOG_MARGINAL:
        return as_double(conjugate.log_marginal(family, doubles(p, base.statistics_size(family))))
    elif method in (UPDATE_PANEL, WRITE_PANEL):
        shape, cache = fast.panel_shape(family), doubles(p, base.cache_size(family))
        rows, lanes = table(q, shape[0], k), lane_blocks(r, shape[1], k // LANES, m)
        if method == UPDATE_PANEL:
            fast.update_panel(family, cache, rows, lanes, i, data, j)
        else:
            fast.write_panel(family, cache, rows, lanes, i)
    elif method == ADD_ITEM:
        base.add_item(family, doubles(p, base.statistics_size(family)), data, i, x)
    elif method == ADD_ALL:
        size, rows, labels = base.statistics_size(family), doubles(p, j * k), whole_numbers(q, i)
        for item in range(i):
            if item % 64 == 0:
                check_signals()
            start = labels[item] * k
            base.add_item(family, rows[start : start + size], data, item, 1.0)
    elif method == REFRESH_CACHE:
        statistics, cache = doubles(p, base.statistics_size(family)), doubles(q, base.cache_size(family))
        base.refresh_cache(family, statistics, cache)
    return 0.0


@kernel
def describe(family, data, row):
    """Fill a row of ``N_COLUMNS`` whole numbers that describe a family and its data; return the words it points to.

    The entry belongs to the types of these very values, so that an address never meets another type.
    """
    words = np.empty(n_words((family, data)), dtype=np.int64)
    store((family, data), words)
    shape = fast.panel_shape(family)
    row[ENTRY], row[VALUES] = entry_address(entry, (family, data)), address_of(words)
    row[N_STATISTICS], row[N_CACHE] = base.statistics_size(family), base.cache_size(family)
    row[N_ROWS], row[N_SETS], row[N_LANE_ROWS] = shape
    return words
