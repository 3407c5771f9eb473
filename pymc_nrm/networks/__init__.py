"""Networks and two-way tables: a wing for block models, with the rooms of the package.

Read in this order: ``models/block_model.py``, the model; ``models/block_sums.py``, its density;
``moves/block_gibbs.py`` and ``steps/block_sampler.py``, a draw; ``posterior/block_draws.py``, what follows from draws.
"""

from typing import TYPE_CHECKING

from pymc_nrm.common.docstrings import document_all
from pymc_nrm.common.on_demand import modules_on_demand
from pymc_nrm.common.pymc_internals import register_steps
from pymc_nrm.models.learned_priors import OF_FAMILIES
from pymc_nrm.networks.models.block_data import BlockData, block_data, block_models, is_block_model
from pymc_nrm.networks.models.block_model import BlockModel, BlockModelRV
from pymc_nrm.networks.posterior.block_parameters import block_parameters
from pymc_nrm.networks.posterior.described_blocks import of_blocks
from pymc_nrm.networks.posterior.new_nodes import new_node_probabilities
from pymc_nrm.networks.posterior.pair_log_likelihood import pair_log_likelihood
from pymc_nrm.networks.posterior.pair_probabilities import pair_probabilities
from pymc_nrm.networks.recipes.network_model import network_model, two_way_model
from pymc_nrm.networks.steps.block_sampler import BlockSampler
from pymc_nrm.networks.steps.learned import SumsOfBlocks
from pymc_nrm.posterior.describe import SPECIAL_OF_USE
from pymc_nrm.steps.learned_gibbs import SUMS_OF

__all__ = [
    "BlockData",
    "BlockModel",
    "BlockSampler",
    "block_data",
    "block_models",
    "block_parameters",
    "is_block_model",
    "network_model",
    "new_node_probabilities",
    "pair_log_likelihood",
    "pair_probabilities",
    "two_way_model",
]

# What the core cannot know: the step of partitions on whose labels block models depend, how the statistics of blocks
# are summed, from which hyperparameters that ``learned`` makes are drawn, and how their clusters are described.
register_steps(BlockSampler)
OF_FAMILIES.append(BlockModelRV)
SUMS_OF[BlockModelRV] = SumsOfBlocks
SPECIAL_OF_USE[BlockModelRV] = of_blocks

document_all(globals())

if TYPE_CHECKING:
    from pymc_nrm.networks import plots as plots
else:  # to type checkers, a module with this function has every attribute
    __getattr__ = modules_on_demand(__name__, "plots")
