"""Tables of blocks after moves equal tables built from the labels, and marginals that moves keep are up to date."""

import numpy as np
import pymc as pm
import pytest

import pymc_nrm as nrm
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.measures.base import weights
from pymc_nrm.moves.guide_trees.tree import check_tree
from pymc_nrm.networks import BlockModel, BlockSampler
from pymc_nrm.networks.moves.block_state import build_blocks
from pymc_nrm.networks.moves.node_tree import node_cells, node_tree
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.stats import adjusted_rand
from tests.networks.block_cases import FAMILIES, matrix, symmetric

N = 24


def two_networks():
    """A step for an undirected network of numbers of ties and a directed one, with gaps and a number for each node."""
    first, second = matrix("Poisson", 1, gaps=2, n=N), matrix("Bernoulli", 2, directed=True, gaps=2, n=N)
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(2.0), n=N)
        BlockModel("first", z, FAMILIES["Poisson"].family, observed=first * (first > 1), directed=False)
        BlockModel("second", z, FAMILIES["Bernoulli"].family, observed=second, directed=True)
        nrm.Mixture("x", z, nrm.NormalGamma(0.0, 0.3, 2.0, 1.0), observed=np.arange(N) % 3.0)
        step = BlockSampler([z], rng=1, n_moves=10, n_tree_moves=20)
    return model, step


def test_tables_after_moves():
    model, step = two_networks()
    rng = np.random.default_rng(3)
    step.setup_chain(rng, 0, 10)
    _, family, data = step.target.at(model.initial_point())
    table = weights(nrm.DirichletProcess(2.0), N, 1.5)
    state = build_blocks(np.arange(N) % 5, family, data)
    n_kept = 0
    for _ in range(20):
        state, _ = step.moves(state, table, family, data)
        slots = state.clusters.active[: state.clusters.size[0]]
        labels = canonical_labels(state.labels)
        order = np.array([labels[np.flatnonzero(state.labels == slot)[0]] for slot in slots])
        fresh = build_blocks(labels, family, data)
        for name in ("sums", "undirected", "directed"):
            found, expected = getattr(state, name), getattr(fresh, name)
            np.testing.assert_allclose(found[np.ix_(slots, slots)], expected[np.ix_(order, order)], atol=1e-9)
        np.testing.assert_allclose(state.sizes[slots], fresh.sizes[order])
        np.testing.assert_allclose(state.clusters.statistics[slots], fresh.clusters.statistics[order], atol=1e-9)
        n_kept += _check_kept(state, family, data, slots)
    assert n_kept > 20


def _check_kept(state, family, data, slots):
    """Compare what is kept for one node more with the tables of a network that has this node."""
    pairs, n_kept = data.pairs, 0
    for r, s in np.argwhere(np.isfinite(state.one_more[0])):
        if r == s or r not in slots or s not in slots:
            continue
        added = state.sizes[s] * pairs.default
        sums = state.sums.copy()
        sums[r, s] += added
        sums[s, r] += added
        [undirected], [directed], n = family.undirected, family.directed, pairs.n_undirected
        expected = [
            log_marginal(undirected, sums[r, s, :n]),
            log_marginal(directed, sums[r, s, n:]),
            log_marginal(directed, sums[s, r, n:]),
        ]
        np.testing.assert_allclose(state.one_more[:, r, s], expected, atol=1e-9)
        n_kept += 1
    return n_kept


@pytest.mark.parametrize("directed", [False, True])
def test_cells_of_the_guide_tree_find_blocks(directed):
    """Cells hold nodes of one block, whether ties are within blocks or between them."""
    labels, rng = np.repeat([0, 1, 2], 40), np.random.default_rng(5)
    A = (rng.random((120, 120)) < np.where(np.eye(3, dtype=bool), 0.1, 0.6)[labels][:, labels]).astype(float)
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=120)
        BlockModel("ties", z, nrm.BernoulliBeta(1.0, 1.0), observed=A if directed else symmetric(A), directed=directed)
        step = BlockSampler([z], rng=1)
    _, family, data = step.target.at(model.initial_point())
    cells = node_cells(rng, data.pairs)
    assert sum(len(set(labels[cells == cell])) > 1 for cell in range(cells.max() + 1)) <= 3
    tree, cut = node_tree(rng, weights(nrm.DirichletProcess(1.0), 120, 1.0), family, data)
    check_tree(tree)
    assert adjusted_rand(cut, labels) > 0.9


def test_guide_trees_of_pairs_that_tell_nothing():
    """A network without ties, one of a single value, and one node."""
    for A in (np.zeros((9, 9)), np.ones((9, 9)), np.full((9, 9), np.nan), np.zeros((1, 1))):
        A[:1, 1:2] = A[1:2, :1] = 0.0
        n = len(A)
        with pm.Model():
            z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=n)
            BlockModel("ties", z, nrm.BernoulliBeta(1.0, 1.0), observed=A, directed=False, loops=n == 1)
            step = BlockSampler([z], rng=1)
        step.setup_chain(np.random.default_rng(1), 0, 3)
        point = {"z": np.zeros(n, dtype=np.int64)}
        for _ in range(3):
            point, _ = step.step(point)
        assert len(step.guides) == 2
