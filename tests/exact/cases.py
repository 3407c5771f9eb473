"""Tables of the exactness tests; to test a new sampler configuration, measure or family, add a row."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse

import pymc_nrm as nrm
from pymc_nrm.families.definitions.hurdle import HurdleLogNormal, HurdlePoisson
from pymc_nrm.families.definitions.log_normal_gamma import LogNormalGamma
from pymc_nrm.families.definitions.log_normal_wishart import LogNormalWishart
from pymc_nrm.families.definitions.principal_normal_wishart import PrincipalNormalWishart
from pymc_nrm.families.definitions.spherical_principal_normal_wishart import SphericalPrincipalNormalWishart
from pymc_nrm.steps.marginal_gibbs import MarginalGibbs
from pymc_nrm.steps.slice_sampler import SliceSampler
from pymc_nrm.steps.split_merge import SplitMerge
from pymc_nrm.steps.tree_guided import TreeGuided

# The kinds of moves along a guide tree.
TREE_MOVES = ("informed_split_merge", "tree_split_merge", "subtree_gibbs")

# No moves of TreeGuided but one item of Gibbs updates.
QUIET = dict.fromkeys(TREE_MOVES, 0) | {"marginal_gibbs": 1}

SCANS = {"n_moves": 2, "proposal": "restricted_gibbs", "n_items": 1}
# Steps and their options.
SAMPLERS = {
    "gibbs": (MarginalGibbs, {}),
    "gibbs of 2 items": (MarginalGibbs, {"n_items": 2}),
    "sequential": (SplitMerge, {"n_moves": 2}),
    "sequential, gibbs of 1 item": (SplitMerge, {"n_moves": 3, "n_items": 1}),
    **{f"{n} scans": (SplitMerge, SCANS | {"n_scans": n}) for n in (0, 1, 3)},
    "slice": (SliceSampler, {}),
    "tree": (TreeGuided, {}),
    "tree, three cycles": (TreeGuided, {"n_cycles": 3}),
    **{f"tree, {name}": (TreeGuided, {"moves": QUIET | {name: 4}, "n_cycles": 1}) for name in TREE_MOVES},
}

MEASURES = {
    "DP": nrm.DirichletProcess(1.0),
    "NIG": nrm.NormalizedInverseGaussian(0.6),
    "NGG": nrm.NormalizedGeneralizedGamma(0.5, 0.3),
    "PY": nrm.PitmanYorProcess(0.3, 1.0),
    "PY below 0": nrm.PitmanYorProcess(0.6, -0.2),
    "MFM": nrm.MixtureOfFiniteMixtures(0.7, 3.0),
}


class Data(NamedTuple):
    """Family and data as users write them; lists for several families over one partition."""

    family: Any
    X: Any


# The rows of the fast tests; all others are slow.
FAST = ("NormalGamma, missing", "NGG", "PY below 0")

_nan = np.nan

FAMILIES = {
    "NormalWishart": Data(
        nrm.NormalWishart(mu=[0.0, 1.0], kappa=0.3, Psi=[[1.5, 0.4], [0.4, 1.0]], nu=4.0),
        np.array([[0.0, 0.4], [1.1, 1.9], [0.7, 0.6], [-1.6, 1.2], [2.2, 2.4]]),
    ),
    "PrincipalNormalWishart": Data(
        PrincipalNormalWishart([0.5, 1.2], [2.0, 0.5], [[0.6, -0.8], [0.8, 0.6]], [0.1], 0.3, [[0.5]], 3.0, [0.4]),
        np.array([[0.0, 0.4], [1.1, 1.9], [0.7, 0.6], [-1.6, 1.2], [2.2, 2.4]]),
    ),
    "SphericalPrincipalNormalWishart": Data(
        SphericalPrincipalNormalWishart(
            *([0.5, 1.2, 0.1, 0.0, 0.3], [2.0, 0.5, 1.0, 1.5, 1.0], np.full((5, 1), np.sqrt(0.2))),
            *([0.1], 0.3, [[0.5]], 3.0, [0.4]),
        ),
        np.outer([0.0, 2.0, 1.7, -0.5], np.ones(5)) + np.cos(np.arange(20.0)).reshape(4, 5),
    ),
    "NormalWishart, vector": Data(
        nrm.NormalWishart(mu=20.0, kappa=0.2, Psi=np.eye(1), nu=3.0), np.array([19.1, 20.3, 21.8, 20.7, 18.0])
    ),
    "NormalGamma, missing": Data(
        nrm.NormalGamma(mu=[5.0, 0.0], kappa=0.3, alpha=1.5, beta=[0.8, 1.2]),
        np.array([[4.2, _nan], [5.6, 0.3], [_nan, -1.5], [6.3, 1.1], [_nan, _nan]]),
    ),
    "LogNormalWishart": Data(
        LogNormalWishart([1, 0], [0.0, 1.0], 0.3, [[1.5, 0.4], [0.4, 1.0]], 4.0),
        np.array([[1.0, 0.4], [3.0, 1.9], [2.0, 0.6], [0.2, 1.2], [9.0, 2.4]]),
    ),
    "LogNormalGamma, missing": Data(
        LogNormalGamma([1, 0], [1.5, 0.0], 0.3, 1.5, [0.8, 1.2]),
        np.array([[2.2, _nan], [9.0, 0.3], [_nan, -1.5], [12.0, 1.1], [_nan, _nan]]),
    ),
    "NormalRegression, missing": Data(
        nrm.NormalRegression([[1.0, 0], [1, 1], [1, 2], [1, 4], [1, 5]], 0.0, np.eye(2) * 0.3, 1.5, 0.8),
        np.array([0.2, 1.1, -2.0, 3.9, _nan]),
    ),
    "BernoulliBeta, missing": Data(
        nrm.BernoulliBeta(0.6, [0.5, 0.8, 0.6, 0.7]),
        np.array([[0, 1, 1, 0], [0, 1, _nan, 1], [1, 0, 1, 0], [1, _nan, 0, 0], [0, 1, 0, 0]]),
    ),
    "PoissonGamma": Data(nrm.PoissonGamma([1.2, 0.8], 0.4), np.array([[1, 4], [3, 2], [5, 4], [2, 0]])),
    "PoissonGamma, missing": Data(
        nrm.PoissonGamma([1.2, 0.8], [0.4, 0.7]), np.array([[1, 4], [3, _nan], [_nan, 6], [2, 0], [_nan, _nan]])
    ),
    "HurdlePoisson, missing": Data(
        HurdlePoisson(0.6, [0.5, 0.8], [1.2, 0.8], 0.4), np.array([[0, 4], [3, _nan], [5, 0], [2, 0], [0, 7]])
    ),
    "HurdleLogNormal, missing": Data(
        HurdleLogNormal(0.6, [0.5, 0.8], [0.0, 1.0], 0.3, 1.5, [0.8, 1.2]),
        np.array([[0.0, 4.2], [3.1, _nan], [0.5, 0.0], [2.3, 0.0], [0.0, 7.0]]),
    ),
    "CategoricalDirichlet, missing": Data(
        nrm.CategoricalDirichlet(0.5), np.array([[0, 1, 2], [0, _nan, 2], [1, 0, 0], [0, 1, 1], [1, 1, 2]])
    ),
    "MultinomialDirichlet": Data(nrm.MultinomialDirichlet(0.9), np.array([[2, 1, 0], [1, 2, 1], [0, 1, 3], [2, 0, 1]])),
    "MultinomialDirichlet, sparse": Data(
        nrm.MultinomialDirichlet([0.9, 1.1, 0.4]),
        sparse.csr_array(np.array([[2, 1, 0], [1, 2, 1], [0, 1, 3], [2, 0, 1], [0, 0, 0]])),
    ),
    "two families": Data(
        [nrm.NormalGamma(mu=0.0, kappa=0.5, alpha=2.0, beta=1.0), nrm.PoissonGamma(1.0, 0.5)],
        [np.array([-0.9, _nan, 0.4, 1.5]), np.array([[1, 3], [0, 2], [4, 3], [3, 1]])],
    ),
}


def rows(table, fast=FAST):
    """Names of a table as parameters of a test, all slow but some."""
    return [pytest.param(name, marks=[] if name in fast else [pytest.mark.slow]) for name in table]


def family_rows(fast=FAST):
    """Names of ``FAMILIES``; tests of the kernels of one family run in one process, see tests/conftest.py."""
    parameters = rows(FAMILIES, fast)
    for row in parameters:
        row.marks.append(pytest.mark.xdist_group(row.values[0].split(",")[0]))
    return parameters
