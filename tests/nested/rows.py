"""Rows of nested partitions in tables of other tests."""

import functools
import itertools

import numpy as np
import pymc as pm

import pymc_nrm as nrm
from pymc_nrm.testing import all_partitions
from tests.tools.transformed_cases import Transformed, mixture

MEASURE = nrm.PitmanYorProcess(0.3, 1.2)
WEIGHTS = nrm.nested.HierarchicalDirichletProcess(0.8, 1.5)


def columns(number):
    """Matrices of this number of columns, each a partition of three items."""
    return np.array([np.column_stack(one) for one in itertools.product(all_partitions(3), repeat=number)])


KINDS = {
    "nested": (lambda: nrm.nested.NestedPartition.dist(MEASURE, 2, n=3), columns(2)),
    "weighted": (lambda: nrm.nested.NestedPartition.dist(MEASURE, 1, WEIGHTS, n=3), columns(3)),
    "known": (lambda: nrm.nested.NestedPartition.dist(weights=WEIGHTS, paths=[7, 2, 7]), columns(3)),
}
# Pairs of one kind whose options differ.
OTHER_OPTIONS = {
    "known": (lambda: nrm.nested.NestedPartition.dist(weights=WEIGHTS, paths=[7, 3, 7]), KINDS["known"][0]),
}
# Partitions by what makes them of a name, a measure and a number of items.
VARIABLES = {"nested": functools.partial(nrm.nested.NestedPartition, depth=2)}
OF_MEASURES = {"tree": functools.partial(nrm.nested.NestedPartition, depth=2)}


def _with_weights(name, measure, n):
    weights = nrm.nested.HierarchicalDirichletProcess(1.0)
    return nrm.nested.NestedPartition(name, nrm.DirichletProcess(1.0), depth=2, n=n, weights=weights)


FOR_PRIORS = {"nested": _with_weights}


def _saved():
    with pm.Model() as model:
        z = nrm.nested.NestedPartition("z", nrm.DirichletProcess(pm.Gamma("alpha", 2, 1)), depth=2, n=4)
        X = np.array([[5.1], [4.9], [7.0], [6.4]])
        nrm.Mixture("x", z, nrm.nested.IndependentNormalDiffusion.learned("x", X, depth=2), observed=X)
    return model


SAVED = {"nested": _saved}


def _groups(name, measure, dims):
    return nrm.nested.NestedPartition(name, paths=[0, 0, 1, 1], weights=WEIGHTS, dims=dims)


OF_DATA = {"groups": _groups}
SOURCES = {
    "tree": """
z = nrm.nested.NestedPartition("z", measure, n=20, depth=2)
nrm.Mixture("x", z, nrm.nested.NormalDiffusion.learned("x", X, 2), observed=X)
"""
}
# Families with two levels, and what makes their partitions of a name, a measure and a number of items.
LEARNED_FAMILIES = dict.fromkeys(
    (nrm.nested.NormalDiffusion, nrm.nested.IndependentNormalDiffusion), VARIABLES["nested"]
)


def _known_paths():
    weights = nrm.nested.HierarchicalDirichletProcess(pm.Gamma("alpha", 2, 1), 1.0)
    return nrm.nested.NestedPartition("z", weights=weights, paths=["a", "b"] * 4, dims="item")


def _tree():
    measure, weights = nrm.DirichletProcess(pm.Gamma("alpha", 2, 1)), nrm.nested.HierarchicalDirichletProcess(1.0, 1.0)
    return nrm.nested.NestedPartition("z", measure, depth=2, weights=weights, dims="item")


TRANSFORMED = {
    "known paths": Transformed(lambda: mixture(_known_paths), "NestedPartition[KnownPaths]", quick=True),
    "a tree": Transformed(lambda: mixture(_tree), "NestedPartition[DirichletProcess]"),
}
