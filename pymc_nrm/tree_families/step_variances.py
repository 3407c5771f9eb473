"""Defaults for how far node means are from those of their parents."""

import numpy as np

from pymc_nrm.common.checks import check_count

__all__ = ["BETWEEN_LEAVES", "falling_steps"]

# The default variance between the means of leaves, in units of the variance of items about their leaf: leaves are then
# a fifth as wide as the data.
BETWEEN_LEAVES = 24.0


def falling_steps(depth):
    """Default of tau: levels below the root sum to 24 and fall by half from level to level; the root has 24 itself."""
    check_count("depth", depth, 1)
    shares = 0.5 ** np.arange(depth)
    return BETWEEN_LEAVES * np.concatenate([[1.0], shares / shares.sum()])
