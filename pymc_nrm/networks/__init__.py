"""Networks and two-way tables: a wing for block models, whose rooms are those of the package.

Read in this order: ``models/block_model.py``, the model; ``models/block_sums.py``, its density;
``moves/block_gibbs.py`` and ``steps/block_sampler.py``, a draw.
"""

from pymc_nrm.common.docstrings import document_all
from pymc_nrm.common.pymc_internals import register_steps
from pymc_nrm.models.learned_priors import OF_FAMILIES
from pymc_nrm.networks.models.block_data import BlockData, block_data, block_models, is_block_model
from pymc_nrm.networks.models.block_model import BlockModel, BlockModelRV
from pymc_nrm.networks.steps.block_sampler import BlockSampler
from pymc_nrm.networks.steps.learned import SumsOfBlocks
from pymc_nrm.steps.learned_gibbs import SUMS_OF

__all__ = [
    "BlockData",
    "BlockModel",
    "BlockSampler",
    "block_data",
    "block_models",
    "is_block_model",
]

# What the core cannot know: the step of partitions on whose labels block models depend, and how the statistics of
# blocks are summed, from which hyperparameters that ``learned`` makes are drawn.
register_steps(BlockSampler)
OF_FAMILIES.append(BlockModelRV)
SUMS_OF[BlockModelRV] = SumsOfBlocks

document_all(globals())
