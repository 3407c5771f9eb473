"""Slow and plain computations for comparison with trees."""

import functools
import itertools
import math

import numpy as np
import pytest
from scipy import sparse

import pymc_nrm as nrm
from pymc_nrm.kernels.generic import lacking
from pymc_nrm.measures.base import log_eppf, log_tilted_moment, weights
from pymc_nrm.moves.guide_trees.tree import build_tree
from pymc_nrm.testing import all_partitions
from pymc_nrm.trees.inputs import family_and_data
from tests.helpers import log_marginal_of, random_merges

MEASURES = {
    "DP": nrm.DirichletProcess(1.3),
    "NIG": nrm.NormalizedInverseGaussian(0.6),
    "NGG": nrm.NormalizedGeneralizedGamma(0.5, 0.3),
    "PY": nrm.PitmanYorProcess(0.5, -0.2),
    "MFM": nrm.MixtureOfFiniteMixtures(0.6, 2.5),
}

_generator = np.random.default_rng(5)
_points = _generator.normal(size=(6, 2)) + np.array([0.0, 0, 0, 3, 3, 9])[:, None]
_points[2, 1] = np.nan

FAMILIES = {
    "NormalGamma": (nrm.NormalGamma(0.5, 0.2, 1.5, [0.8, 1.2]), _points),
    "MultinomialDirichlet": (nrm.MultinomialDirichlet(0.7), sparse.csr_array(_generator.poisson(1.5, size=(6, 4)))),
}

# Kernels are compiled for each family: the second row is slow.
ROWS = ["NormalGamma", pytest.param("MultinomialDirichlet", marks=pytest.mark.slow)]


def random_tree(rng, n, log_d=None):
    return build_tree(random_merges(rng, n), log_d)


@functools.cache
def marginals(name):
    """Log marginals of all sets of items, by frozenset, with the family and the data in the form of kernels."""
    family, data, n = family_and_data(*FAMILIES[name])
    sets = [items for size in range(1, n + 1) for items in itertools.combinations(range(n), size)]
    return {frozenset(items): log_marginal_of(family, data, items) for items in sets}, family, data


def greedy(log_p, n, log_kappa):
    """Greedy clustering of items 0..n - 1 from explicit weights: sets in order of merging, log d, log potentials."""
    trees = {frozenset([i]): log_kappa(1) + log_p[frozenset([i])] for i in range(n)}
    sets, log_d = [], []
    while len(trees) > 1:
        d, a, b = min(
            (trees[a] + trees[b] - log_kappa(len(a | b)) - log_p[a | b], sorted(a), sorted(b))
            for a, b in itertools.combinations(trees, 2)
        )
        a, b = frozenset(a), frozenset(b)
        apart = trees.pop(a) + trees.pop(b)
        trees[a | b] = float(np.logaddexp(log_kappa(len(a | b)) + log_p[a | b], apart))
        sets.append(a | b)
        log_d.append(d)
    return sets, log_d, next(iter(trees.values()))


def below(tree):
    n = len(tree.order)
    sets = [frozenset([i]) for i in range(n)]
    for v in range(n, 2 * n - 1):
        sets.append(sets[tree.left[v]] | sets[tree.right[v]])
    return sets


def clusters(labels):
    return [frozenset(np.flatnonzero(labels == k).tolist()) for k in range(max(labels) + 1)]


def log_moment(measure, m, u):
    """Log weight of a cluster of m items given u, in units in which jumps are multiplied by ``1 + u``."""
    if lacking(type(measure), [log_tilted_moment]):
        return weights(measure, m, math.log(u)).moment[m]
    return log_tilted_moment(measure, m, u) + m * math.log1p(u)


def log_joint_given_u(log_p, n, measure, u):
    """``log sum over partitions of prod_c kappa(|c|, u) p(X_c)`` in these units, by enumeration."""
    kappa = [log_moment(measure, m, u) if m else 0.0 for m in range(n + 1)]
    return np.logaddexp.reduce(
        [sum(kappa[len(c)] + log_p[c] for c in clusters(labels)) for labels in all_partitions(n)]
    )


def log_evidence(log_p, n, measure, sets=None):
    """``log sum over partitions of p(partition) p(X | partition)``, all of them or those made of the given sets."""
    terms = []
    for labels in all_partitions(n):
        parts = clusters(labels)
        if sets is None or all(part in sets for part in parts):
            terms.append(log_eppf(measure, np.array([len(c) for c in parts])) + sum(log_p[c] for c in parts))
    return np.logaddexp.reduce(terms)
