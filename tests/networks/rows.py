"""Rows of networks in tables of other tests."""

import numpy as np

import pymc_nrm as nrm
from pymc_nrm.networks.families.degree_shares import DegreeShares
from pymc_nrm.networks.families.networked import Networked
from pymc_nrm.networks.families.table_rows import TableRows


def _network(rng, distance):
    """Sixty nodes without blocks, or in two halves with more ties within."""
    half = np.arange(60) < 30
    probability = np.where(half[:, None] == half, 0.2 + 0.04 * distance, 0.2 - 0.02 * distance)
    A = np.triu(rng.random((60, 60)) < probability, 1).astype(float)
    return nrm.networks.network_model(A + A.T)


# Recipes of data with one group or, at a distance, two.
RECIPES = {"network": _network}

# Classes with statistics that are no wrappers.  Kernels of blocks see the families behind Networked themselves.
PLAIN = {DegreeShares: None, Networked: None, TableRows: None}
