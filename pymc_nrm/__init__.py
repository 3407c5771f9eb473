"""Normalized random measure mixtures in PyMC, with exact samplers of the partition."""

from pymc_nrm.distributions.mixture import Mixture
from pymc_nrm.distributions.partition import Partition
from pymc_nrm.families import *  # noqa: F403
from pymc_nrm.measures import *  # noqa: F403
