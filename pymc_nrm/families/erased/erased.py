"""Families and data as moves see them: addresses of their entries, whatever their types are."""

from typing import Any, NamedTuple

from pymc_nrm.families.erased.entry import (
    ADD_ALL,
    ADD_ITEM,
    ADD_LOG_PREDICTIVES,
    ENTRY,
    LOG_MARGINAL,
    LOG_PREDICTIVE,
    LOG_PREDICTIVE_WITHOUT,
    N_CACHE,
    N_ROWS,
    N_SETS,
    N_STATISTICS,
    REFRESH_CACHE,
    UPDATE_CACHE,
    UPDATE_PANEL,
    VALUES,
    WEIGH,
    WRITE_PANEL,
)
from pymc_nrm.kernels.addresses import address_of, call_at
from pymc_nrm.kernels.generic import kernel

# Bytes of a double.
DOUBLE = 8


class ErasedData(NamedTuple):
    """Data of :class:`Erased`: the data to which its addresses lead, or further data of the same families."""

    # As for `Erased`.
    parts: Any

    def __reduce__(self):
        raise TypeError("data behind an address cannot be pickled or copied: the address is valid in one process")


class Erased(NamedTuple):
    """One or several families, whose data are independent given the partition, in kernels.

    A row of statistics or of the cache joins the rows of the families; their panels stand below each other.
    """

    # Kernels that fill in what a form of families needs beyond `entry.describe`.
    describers = ()

    # A row of `entry.describe` for each family; int64 of shape (n_families, N_COLUMNS).
    parts: Any
    # Sizes of a row of statistics and of the cache, and the shape of a panel; int64 of shape (5,).
    totals: Any

    def __reduce__(self):
        raise TypeError("a family behind an address cannot be pickled or copied: the address is valid in one process")

    def statistics_size(self):
        return self.totals[0]

    def cache_size(self):
        return self.totals[1]

    def panel_shape(self):
        return self.totals[2], self.totals[3], self.totals[4]

    def add_item(self, statistics, data, item, sign):
        p, parts = address_of(statistics), data.parts
        for part in range(parts.shape[0]):
            call_at(parts[part, ENTRY], ADD_ITEM, parts[part, VALUES], p, 0, 0, 0, 0, item, 0, 0, 0, sign)
            p += DOUBLE * parts[part, N_STATISTICS]

    def add_all(self, statistics, data, labels):
        p, q, parts = address_of(statistics), address_of(labels), data.parts
        n, m, size = labels.shape[0], statistics.shape[0], statistics.shape[1]
        for part in range(parts.shape[0]):
            call_at(parts[part, ENTRY], ADD_ALL, parts[part, VALUES], p, q, 0, 0, 0, n, m, size, 0, 0.0)
            p += DOUBLE * parts[part, N_STATISTICS]

    def refresh_cache(self, statistics, cache):
        p, q, parts = address_of(statistics), address_of(cache), self.parts
        for part in range(parts.shape[0]):
            call_at(parts[part, ENTRY], REFRESH_CACHE, parts[part, VALUES], p, q, 0, 0, 0, 0, 0, 0, 0, 0.0)
            p += DOUBLE * parts[part, N_STATISTICS]
            q += DOUBLE * parts[part, N_CACHE]

    def update_cache(self, statistics, cache, data, item, sign):
        p, q, parts = address_of(statistics), address_of(cache), data.parts
        for part in range(parts.shape[0]):
            call_at(parts[part, ENTRY], UPDATE_CACHE, parts[part, VALUES], p, q, 0, 0, 0, item, 0, 0, 0, sign)
            p += DOUBLE * parts[part, N_STATISTICS]
            q += DOUBLE * parts[part, N_CACHE]

    def log_predictive(self, cache, data, item):
        p, parts, total = address_of(cache), data.parts, 0.0
        for part in range(parts.shape[0]):
            total += call_at(parts[part, ENTRY], LOG_PREDICTIVE, parts[part, VALUES], p, 0, 0, 0, 0, item, 0, 0, 0, 0.0)
            p += DOUBLE * parts[part, N_CACHE]
        return total

    def log_predictive_without(self, statistics, cache, data, item):
        p, q, parts, total = address_of(statistics), address_of(cache), data.parts, 0.0
        for part in range(parts.shape[0]):
            total += call_at(
                parts[part, ENTRY], LOG_PREDICTIVE_WITHOUT, parts[part, VALUES], p, q, 0, 0, 0, item, 0, 0, 0, 0.0
            )
            p += DOUBLE * parts[part, N_STATISTICS]
            q += DOUBLE * parts[part, N_CACHE]
        return total

    def log_marginal(self, statistics):
        p, parts, total = address_of(statistics), self.parts, 0.0
        for part in range(parts.shape[0]):
            total += call_at(parts[part, ENTRY], LOG_MARGINAL, parts[part, VALUES], p, 0, 0, 0, 0, 0, 0, 0, 0, 0.0)
            p += DOUBLE * parts[part, N_STATISTICS]
        return total

    def write_panel(self, cache, rows, lanes, column):
        _change_panel(WRITE_PANEL, self.parts, cache, rows, lanes, column, 0)

    def update_panel(self, cache, rows, lanes, column, data, item):
        _change_panel(UPDATE_PANEL, data.parts, cache, rows, lanes, column, item)

    def add_log_predictives(self, rows, lanes, data, item, width, values):
        p, q, r, parts = address_of(rows), address_of(lanes), address_of(values), data.parts
        whole, depth = rows.shape[1], lanes.shape[2]
        for part in range(parts.shape[0]):
            call_at(
                *(parts[part, ENTRY], ADD_LOG_PREDICTIVES, parts[part, VALUES]),
                *(p, q, r, 0, 0, item, width, whole, depth, 0.0),
            )
            p += DOUBLE * whole * parts[part, N_ROWS]
            q += DOUBLE * whole * depth * parts[part, N_SETS]

    def weigh(self, statistics, cache, rows, lanes, data, item, width, values):
        p, q, r, s, t = (
            address_of(rows),
            address_of(lanes),
            address_of(values),
            address_of(statistics),
            address_of(cache),
        )
        parts, whole, depth, log_own_density = data.parts, rows.shape[1], lanes.shape[2], 0.0
        for part in range(parts.shape[0]):
            log_own_density += call_at(
                parts[part, ENTRY], WEIGH, parts[part, VALUES], p, q, r, s, t, item, width, whole, depth, 0.0
            )
            p += DOUBLE * whole * parts[part, N_ROWS]
            q += DOUBLE * whole * depth * parts[part, N_SETS]
            s += DOUBLE * parts[part, N_STATISTICS]
            t += DOUBLE * parts[part, N_CACHE]
        return log_own_density


@kernel
def _change_panel(method, parts, cache, rows, lanes, column, item):
    """Write or update a column of the panels of all families."""
    p, q, r = address_of(cache), address_of(rows), address_of(lanes)
    width, depth = rows.shape[1], lanes.shape[2]
    for part in range(parts.shape[0]):
        call_at(parts[part, ENTRY], method, parts[part, VALUES], p, q, r, 0, 0, column, item, width, depth, 0.0)
        p += DOUBLE * parts[part, N_CACHE]
        q += DOUBLE * width * parts[part, N_ROWS]
        r += DOUBLE * width * depth * parts[part, N_SETS]
