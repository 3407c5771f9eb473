"""Networks of units of nodes, which stay together or have known labels."""

from pymc_nrm.networks.families.networked import network_of, pairs_of
from pymc_nrm.partitions.grouped import Grouped, GroupedRows
from pymc_nrm.partitions.known_labels import KnownGrouped, KnownRows


@network_of.register(Grouped)
def _of_grouped(family):
    return network_of(family.family)


@network_of.register(KnownGrouped)
def _of_known(family):
    return network_of(family.family)


@pairs_of.register(GroupedRows)
def _of_rows(data):
    return pairs_of(data.rows)


@pairs_of.register(KnownRows)
def _of_known_rows(data):
    return pairs_of(data.groups)
