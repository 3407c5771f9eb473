"""Greedy clustering, potentials and bounds against enumeration."""

import math

import numpy as np
import pytest
from tree_reference import (
    FAMILIES,
    MEASURES,
    ROWS,
    below,
    greedy,
    log_evidence,
    log_joint_given_u,
    log_moment,
    marginals,
    random_tree,
)

from pymc_nrm.measures.base import log_joint_term, weights
from pymc_nrm.moves.guide_trees.potentials import potentials_from_marginals, tree_log_marginals, tree_potentials
from pymc_nrm.moves.guide_trees.tree import build_tree, check_tree
from pymc_nrm.trees import bhc, ibhc


def take(name, n):
    family, X = FAMILIES[name]
    return X[:n], family


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("family", ROWS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
def test_greedy_clustering_by_hand(measure, family, n):
    log_p, _, _ = marginals(family)
    u = 2.5
    result = bhc(*take(family, n), MEASURES[measure], u=u)
    check_tree(result.tree)
    sets, log_d, log_phi = greedy(log_p, n, lambda m: log_moment(MEASURES[measure], m, u))
    assert below(result.tree)[n:] == sets
    np.testing.assert_allclose(result.dissimilarity[n:], log_d, atol=1e-9)
    assert result.log_potential[-1] == pytest.approx(log_phi, abs=1e-9)
    np.testing.assert_allclose(result.log_marginal, [log_p[s] for s in below(result.tree)], atol=1e-9)
    assert result.u == pytest.approx(u)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("family", ROWS)
def test_potential_is_a_lower_bound(measure, family, rng):
    log_p, kernel_family, data = marginals(family)
    n = 6
    for u in (0.1, 3.0, 50.0):
        exact = log_joint_given_u(log_p, n, MEASURES[measure], u)
        table = weights(MEASURES[measure], n, math.log(u))
        found = [f(*take(family, n), MEASURES[measure], u=u, random_seed=1).log_potential[-1] for f in (bhc, ibhc)]
        found.append(tree_potentials(random_tree(rng, n), table, kernel_family, data).log_potential[-1])
        assert max(found) < exact
        assert log_joint_term(MEASURES[measure], n, math.log(u)) + max(found) < math.inf


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("n", [1, 2])
def test_bound_is_exact_for_two_items(measure, n):
    log_p, _, _ = marginals("NormalGamma")
    result = bhc(*take("NormalGamma", n), MEASURES[measure], u=0.7)
    assert result.log_potential[-1] == pytest.approx(log_joint_given_u(log_p, n, MEASURES[measure], 0.7), abs=1e-12)
    assert result.log_evidence == pytest.approx(log_evidence(log_p, n, MEASURES[measure]), abs=1e-8)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("family", ROWS)
@pytest.mark.parametrize("algorithm", [bhc, ibhc])
def test_evidence_sums_over_partitions_of_the_tree(measure, family, algorithm):
    log_p, _, _ = marginals(family)
    result = algorithm(*take(family, 6), MEASURES[measure], random_seed=3)
    exact = log_evidence(log_p, 6, MEASURES[measure], set(below(result.tree)))
    assert result.log_evidence == pytest.approx(exact, abs=1e-8)
    assert result.log_evidence < log_evidence(log_p, 6, MEASURES[measure])


def test_three_trees_of_three_items_make_the_sum_exact():
    log_p, family, data = marginals("NormalGamma")
    measure, u = MEASURES["NGG"], 1.7
    # Each tree has the finest and the coarsest partition, and one of the three between.
    table = weights(measure, 6, math.log(u))
    potentials = []
    for pair in ([0, 1], [0, 2], [1, 2]):
        [other] = {0, 1, 2} - set(pair)
        rest = [3, 4, 5]
        merges = [pair, [6, other], [7, rest[0]], [8, rest[1]], [9, rest[2]]]
        tree = build_tree(merges)
        p = potentials_from_marginals(tree, table.moment, tree_log_marginals(tree, family, data))
        potentials.append(p.log_potential[7])
    kappa = [log_moment(measure, m, u) for m in (1, 2, 3)]
    finest = 3 * kappa[0] + sum(log_p[frozenset([i])] for i in range(3))
    coarsest = kappa[2] + log_p[frozenset([0, 1, 2])]
    total = np.exp(potentials).sum() - 2 * np.exp(finest) - 2 * np.exp(coarsest)
    assert math.log(total) == pytest.approx(log_joint_given_u(log_p, 3, measure, u), abs=1e-9)


def test_dirichlet_process_does_not_depend_on_u():
    low, high = (bhc(*take("NormalGamma", 6), MEASURES["DP"], u=u) for u in (1e-3, 1e6))
    assert np.array_equal(low.tree.left, high.tree.left)
    np.testing.assert_allclose(low.dissimilarity, high.dissimilarity, atol=1e-8)
    assert low.log_evidence == pytest.approx(high.log_evidence, abs=1e-7)
