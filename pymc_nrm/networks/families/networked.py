"""Nodes of networks as kernels see them: a family of their attributes that carries families of pairs of nodes.

To kernels that know of no networks it is the family of the attributes, also inside of the families of units that stay
together or have known labels.  :func:`network_of` and :func:`pairs_of` find the networks behind them.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families import base, conjugate, fast
from pymc_nrm.families.erased.entry import N_COLUMNS, N_STATISTICS
from pymc_nrm.families.erased.shared_kernel import erase
from pymc_nrm.families.product import product, product_data
from pymc_nrm.kernels.generic import generic


class Networked(NamedTuple):
    """Families of the attributes of nodes, of the pairs of undirected networks, and of the pairs of directed ones."""

    attributes: Any
    # Tuples of families of one number for each pair; in kernels each is one `Erased`.
    undirected: Any
    directed: Any

    def erase(self, data, form):
        attributes, rows = erase(self.attributes, data.attributes, form)
        undirected = _erased_layers(self.undirected, data.undirected, form)
        directed = _erased_layers(self.directed, data.directed, form)
        # Kernels read rows of statistics of pairs in place of their data.
        return Networked(attributes, undirected, directed), NetworkedData(rows, (), (), data.pairs)

    def statistics_size(self):
        return base.statistics_size(self.attributes)

    def cache_size(self):
        return base.cache_size(self.attributes)

    def add_item(self, statistics, data, item, sign):
        base.add_item(self.attributes, statistics, data.attributes, item, sign)

    def refresh_cache(self, statistics, cache):
        base.refresh_cache(self.attributes, statistics, cache)

    def update_cache(self, statistics, cache, data, item, sign):
        fast.update_cache(self.attributes, statistics, cache, data.attributes, item, sign)

    def log_predictive(self, cache, data, item):
        return base.log_predictive(self.attributes, cache, data.attributes, item)

    def log_marginal(self, statistics):
        return conjugate.log_marginal(self.attributes, statistics)


class NetworkedData(NamedTuple):
    """Data of the attributes, prepared data of each network, and the lists of neighbours."""

    attributes: Any
    undirected: Any
    directed: Any
    # `Pairs`.
    pairs: Any


def _erased_layers(families, data, form):
    """Several families behind addresses as one; none is a family without statistics."""
    if not families:
        table = np.zeros((0, N_COLUMNS), dtype=np.int64)
        return form(table, np.zeros(N_COLUMNS - N_STATISTICS, dtype=np.int64))
    return erase(product(families), product_data(data), form)[0]


@generic
def network_of(family):
    """The :class:`Networked` in a family of nodes, or of units of nodes."""
    return family


@generic
def pairs_of(data):
    """The lists of neighbours in data of nodes, or of units of nodes."""
    return data.pairs
