"""Steps that sample partitions, missing entries of their data, and hyperparameters of their families."""

from pymc_nrm.common.docstrings import document_all
from pymc_nrm.common.pymc_internals import register_steps
from pymc_nrm.steps.chunked_sampler import ChunkedSampler
from pymc_nrm.steps.learned_gibbs import LearnedGibbs
from pymc_nrm.steps.marginal_gibbs import MarginalGibbs
from pymc_nrm.steps.missing_gibbs import MissingGibbs
from pymc_nrm.steps.slice_sampler import SliceSampler
from pymc_nrm.steps.slot_gibbs import SlotGibbs
from pymc_nrm.steps.slot_nuts import SlotNUTS
from pymc_nrm.steps.split_merge import SplitMerge
from pymc_nrm.steps.tree_guided import Move, TreeGuided
from pymc_nrm.steps.weighted_gibbs import WeightedGibbs
from pymc_nrm.steps.weighted_nuts import WeightedNUTS

__all__ = [
    "ChunkedSampler",
    "LearnedGibbs",
    "MarginalGibbs",
    "MissingGibbs",
    "Move",
    "SliceSampler",
    "SlotGibbs",
    "SlotNUTS",
    "SplitMerge",
    "TreeGuided",
    "WeightedGibbs",
    "WeightedNUTS",
]

register_steps(
    *(TreeGuided, SplitMerge, MarginalGibbs, SliceSampler, SlotGibbs, WeightedGibbs),
    *(ChunkedSampler, MissingGibbs),
)

document_all(globals())
