"""Rows of a table whose columns are clustered: an item of an ordinary mixture, given the clusters of columns."""

from typing import Any, NamedTuple

from pymc_nrm.families import base, conjugate


class RowSums(NamedTuple):
    """Data of a kernel: statistics of the entries of each row in each cluster of columns, (n, n_blocks * size)."""

    values: Any


class TableRows(NamedTuple):
    """Family of rows with a block for each cluster of columns.

    The family of entries is behind an address, so that this family compiles once for all.
    """

    # Family of the entries, an `Erased`.
    entries: Any
    # Number of clusters of columns.
    n_blocks: Any

    def statistics_size(self):
        return self.n_blocks * base.statistics_size(self.entries)

    def add_item(self, statistics, data, item, sign):
        for k in range(statistics.shape[0]):
            statistics[k] += sign * data.values[item, k]

    def log_marginal(self, statistics):
        size, total = base.statistics_size(self.entries), 0.0
        for block in range(self.n_blocks):
            total += conjugate.log_marginal(self.entries, statistics[block * size : (block + 1) * size])
        return total
