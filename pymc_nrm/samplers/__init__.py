"""Steps that sample partitions."""

from typing import TYPE_CHECKING

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
    "SliceSampler",
    "SlotGibbs",
    "SlotNUTS",
    "SplitMerge",
    "TreeGuided",
]

if not TYPE_CHECKING:  # to type checkers, a module with this function has every attribute

    def __getattr__(name):
        if name in ("PublishedNestedGibbs", "PublishedTreeGuided"):
            raise AttributeError(f"{name} is pymc_nrm.published.{name} now")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
