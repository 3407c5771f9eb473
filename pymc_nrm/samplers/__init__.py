"""Steps that sample partitions."""

from pymc_nrm.samplers.huang.step import PublishedNestedGibbs
from pymc_nrm.samplers.lee_choi.step import PublishedTreeGuided
from pymc_nrm.samplers.marginal_gibbs import MarginalGibbs
from pymc_nrm.samplers.nested.nested_gibbs import NestedGibbs
from pymc_nrm.samplers.slice_sampler import SliceSampler
from pymc_nrm.samplers.slots.gibbs import SlotGibbs
from pymc_nrm.samplers.slots.nuts import SlotNUTS
from pymc_nrm.samplers.split_merge import SplitMerge
from pymc_nrm.samplers.tree_guided.step import TreeGuided

__all__ = [
    "MarginalGibbs",
    "NestedGibbs",
    "PublishedNestedGibbs",
    "PublishedTreeGuided",
    "SliceSampler",
    "SlotGibbs",
    "SlotNUTS",
    "SplitMerge",
    "TreeGuided",
]
