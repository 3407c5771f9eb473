"""Greedy clustering, potentials and bounds against enumeration."""

import numpy as np
import pytest
from tree_reference import FAMILIES, MEASURES, ROWS, below, greedy, log_evidence, log_moment, marginals

from pymc_nrm.moves.guide_trees.tree import check_tree
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
@pytest.mark.parametrize("algorithm", [bhc, ibhc])
def test_evidence_sums_over_partitions_of_the_tree(measure, family, algorithm):
    log_p, _, _ = marginals(family)
    result = algorithm(*take(family, 6), MEASURES[measure], random_seed=3)
    exact = log_evidence(log_p, 6, MEASURES[measure], set(below(result.tree)))
    assert result.log_evidence == pytest.approx(exact, abs=1e-8)
    assert result.log_evidence < log_evidence(log_p, 6, MEASURES[measure])


def test_dirichlet_process_does_not_depend_on_u():
    low, high = (bhc(*take("NormalGamma", 6), MEASURES["DP"], u=u) for u in (1e-3, 1e6))
    assert np.array_equal(low.tree.left, high.tree.left)
    np.testing.assert_allclose(low.dissimilarity, high.dissimilarity, atol=1e-8)
    assert low.log_evidence == pytest.approx(high.log_evidence, abs=1e-7)
