"""Growth mixtures: a wing for groups of trajectories, whose rooms are those of the package.

Read in this order: ``recipes/growth_mixture.py``, the model; ``families/normal_trajectory.py``, the data of a group;
``posterior/trajectory_groups.py``, what follows from draws.
"""

from typing import TYPE_CHECKING

from pymc_nrm.common.docstrings import document_all
from pymc_nrm.common.on_demand import modules_on_demand
from pymc_nrm.growth.families import NormalTrajectory
from pymc_nrm.growth.models.growth import Growth
from pymc_nrm.growth.posterior.described_trajectories import of_trajectories
from pymc_nrm.growth.recipes.growth_mixture import data_of_trajectories, growth_mixture
from pymc_nrm.posterior.describe import SPECIAL_OF_FAMILY
from pymc_nrm.recipes.table_models import DATA_OF_ROWS

__all__ = [
    "NormalTrajectory",
    "growth_mixture",
]

# What the core cannot know: how groups of trajectories are described, and how rows of further subjects are read.
SPECIAL_OF_FAMILY[NormalTrajectory] = of_trajectories
DATA_OF_ROWS[Growth] = data_of_trajectories

document_all(globals())

if TYPE_CHECKING:
    from pymc_nrm.growth import plots as plots
else:  # to type checkers, a module with this function has every attribute
    __getattr__ = modules_on_demand(__name__, "plots")
