"""Trees of items, estimates of trees and agreement with a truth, against sets and lists of all nested partitions."""

import itertools

import numpy as np
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm import stats
from pymc_nrm.nested.stats.nested_point_estimate import chain_losses, minimise_nested
from pymc_nrm.nested.stats.nested_search import NestedSearch
from pymc_nrm.stats.point_estimate import make_tables
from tests.helpers import all_chains, refused
from tests.tools.nested_cases import canonical_levels, noisy_draws, random_draws, sets_of


def chains_of(draws):
    labels = canonical_levels(draws)
    return labels.reshape(-1, *labels.shape[2:])


def clades_of(tree):
    return {frozenset(tree.positions(node).tolist()) for node in range(tree.n_nodes)}


def probabilities_of(chains):
    counts = {}
    for clade in itertools.chain.from_iterable(sets_of(chain) for chain in chains):
        counts[clade] = counts.get(clade, 0) + 1
    return {clade: count / len(chains) for clade, count in counts.items()}


def check_tree(tree):
    assert tree.parent[0] == -1 and tree.level[0] == 0 and tree.size[0] == tree.n_items
    for node in range(tree.n_nodes):
        own, children = tree.own_items(node), tree.children(node)
        assert (children > node).all() and (tree.level[children] > tree.level[node]).all()
        parts = [own, *(tree.positions(child) for child in children)]
        assert np.sort(np.concatenate(parts)).tolist() == tree.positions(node).tolist()
        assert [tree.positions(one)[0] for one in children] == sorted(tree.positions(one)[0] for one in children)
        assert tree.items(node).tolist() == tree.names[tree.positions(node)].tolist()
        for name in tree.items(node):
            assert node in tree.path(name)
    assert len(clades_of(tree)) == tree.n_nodes
    assert tree.edges() == [(int(parent), node) for node, parent in enumerate(tree.parent) if node]
    assert tree.to_newick().count("(") == tree.n_nodes and tree.to_newick().endswith(";")


@pytest.mark.parametrize("alpha", [0.3, 2.0])
def test_tree_of_levels(rng, alpha):
    for _ in range(20):
        chain = chains_of(random_draws(rng, n=8, n_draws=1, n_chains=1, alpha=alpha))[0]
        tree = nrm.nested.ItemTree.from_levels(chain, names=[f"i{k}" for k in range(8)])
        check_tree(tree)
        assert clades_of(tree) == sets_of(chain)
        for level in range(1, 4):
            np.testing.assert_array_equal(tree.labels(level), chain[level - 1])
        assert set(tree.labels(0)) == {0}
        # A single child stands at the level of its parent; otherwise depths count shared nodes.
        depth = sum((row[:, None] == row).astype(int) for row in chain)
        levels_of = [
            {tuple(np.flatnonzero(row == row[i])): k + 1 for k, row in reversed(list(enumerate(chain)))}
            for i in range(8)
        ]
        common = tree.common_depth()
        for i, j in itertools.combinations(range(8), 2):
            shared = [0, *(level for some, level in levels_of[i].items() if j in some and len(some) < 8)]
            assert common[i, j] == max(shared) <= depth[i, j]


def test_pruned_trees_keep_the_large_nodes(rng):
    tree = nrm.nested.ItemTree.from_levels(canonical_levels(random_draws(rng))[0, 0], names=None)
    for min_size in (1, 2, 3, 100):
        pruned = tree.pruned(min_size)
        large = [node for node in range(tree.n_nodes) if node == 0 or tree.size[node] >= min_size]
        expected = {frozenset(tree.positions(node).tolist()): tree.level[node] for node in large}
        found = {frozenset(pruned.positions(node).tolist()): pruned.level[node] for node in range(pruned.n_nodes)}
        assert found == expected


def test_newick_reads_back():
    tree = nrm.nested.ItemTree.from_levels([[0, 0, 0, 1, 1], [0, 0, 1, 2, 3]], names=["a", "b c", "d's", "e", "f"])
    assert tree.to_newick() == "((('a':1,'b c':1):1,('d''s':1):1):1,((e:1):1,(f:1):1):1);".replace("'a'", "a")
    known = nrm.nested.ItemTree(
        tree.parent, tree.level, tree.node_of_item, np.linspace(1, 0.3, tree.n_nodes), tree.names
    )
    assert known.to_newick().startswith("(((a:1,'b c':1)0.767:1,") and ")1.000" not in known.to_newick()
    assert known.to_newick(probabilities=False) == tree.to_newick()


@pytest.mark.parametrize("names", [["cat", "golden eagle", "ant", "bee", "dog"], None])
def test_trees_are_stored_and_read(tmp_path, names):
    draws = random_draws(np.random.default_rng(1), 5, 2)
    draws = draws.drop_vars("animal") if names is None else draws.assign_coords(animal=names)
    estimates = (
        nrm.nested.consensus_tree(draws, single_items=True),
        nrm.nested.nested_point_estimate(draws, random_seed=1),
    )
    for tree in (
        *estimates,
        nrm.nested.maximum_clade_credibility(draws),
        nrm.nested.ItemTree.from_levels([[0, 0, 0, 1, 1]]),
    ):
        tree.to_dataset().to_netcdf(tmp_path / "tree.nc")
        tree.to_dataset().to_zarr(tmp_path / "tree.zarr", mode="w")
        stored = xr.load_dataset(tmp_path / "tree.nc"), xr.load_dataset(tmp_path / "tree.zarr", engine="zarr")
        for dataset in (tree.to_dataset(), *stored):
            found = nrm.nested.ItemTree.from_dataset(dataset)
            assert str(found) == str(tree)
            assert found.to_newick() == tree.to_newick()
            assert found.names.dtype.kind == tree.names.dtype.kind
            assert found.information == tree.information
            assert found.nodes_at(2).tolist() == tree.nodes_at(2).tolist()
    with pytest.raises(TypeError, match="dataset must be a Dataset; got ItemTree"):
        nrm.nested.ItemTree.from_dataset(tree)
    with pytest.raises(ValueError, match="it has no level, probability, node_of_item, item"):
        nrm.nested.ItemTree.from_dataset(xr.Dataset({"parent": ("node", [-1])}))


def test_deep_trees():
    n = 3000
    merges = np.array([[0, 1, 1, 2]] + [[n + k, k + 2, k + 2, k + 3] for k in range(n - 2)], dtype=float)
    tree = nrm.nested.ItemTree.from_linkage(merges)
    assert tree.n_nodes == n - 1 and tree.level.max() == n - 2
    assert tree.to_newick().count("(") == n - 1 and len(str(tree).splitlines()) == n - 1
    assert tree.size.tolist() == list(range(n, 1, -1))


def test_linkage(rng):
    from scipy.cluster.hierarchy import average, fcluster

    linkage = average(rng.normal(size=(12, 2)))
    tree = nrm.nested.ItemTree.from_linkage(linkage, names=list("abcdefghijkl"))
    check_tree(tree)
    for k in range(2, 12):
        labels = fcluster(linkage, k, "maxclust")
        clusters = {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels)}
        assert {cluster for cluster in clusters if len(cluster) > 1} <= clades_of(tree)


test_errors_of_trees = refused(
    lambda call: call(nrm.nested.ItemTree.from_levels([[0, 0, 1]])),
    (lambda tree: nrm.nested.ItemTree.from_levels([[0, 0, 1], [0, 1, 0]]), "labels must be nested: label 0 of row 1"),
    (lambda tree: nrm.nested.ItemTree.from_levels([0, 0, 1]), r"labels must have shape \(L, n\); got shape \(3,\)"),
    (lambda tree: nrm.nested.ItemTree.from_levels([[0, 0, 1]], names=["a"]), "names must have one entry for each"),
    (lambda tree: nrm.nested.ItemTree.from_linkage([[0, 1]]), r"linkage must have shape \(n - 1, 4\)"),
    (lambda tree: tree.items(5), "node must be a whole number between 0 and 2; got 5"),
    (lambda tree: tree.path("x"), "item must be the name of one item; got 'x', the name of 0"),
    (lambda tree: tree.labels(-1), "level must be a whole number of at least 0"),
    (lambda tree: tree.pruned(0), "min_size must be"),
)


@pytest.mark.parametrize("least", [0.5, 0.8])
@pytest.mark.parametrize("single", [False, True])
def test_consensus_has_the_clades_of_most_draws(rng, least, single):
    truth = np.array([[0, 0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 1, 1, 2, 2, 2, 3, 4]])
    for draws in (random_draws(rng, n=6, alpha=0.5), noisy_draws(rng, truth)):
        chains = chains_of(draws)
        wanted = {
            clade: p
            for clade, p in probabilities_of(chains).items()
            if (p > least and (single or len(clade) > 1)) or len(clade) == chains.shape[2]
        }
        tree = nrm.nested.consensus_tree(draws, probability=least, single_items=single)
        check_tree(tree)
        found = {frozenset(tree.positions(k).tolist()): tree.probability[k] for k in range(tree.n_nodes)}
        assert found == pytest.approx(wanted)
        for node in range(1, tree.n_nodes):
            assert tree.level[node] == tree.level[tree.parent[node]] + 1


def test_probability_of_a_clade(rng):
    draws = random_draws(rng, n=5, n_levels=2, alpha=0.5)
    known = probabilities_of(chains_of(draws))
    for size in range(1, 6):
        for some in itertools.combinations(range(5), size):
            found = nrm.nested.clade_probability(draws, [f"animal {i}" for i in reversed(some)])
            assert float(found.probability) == pytest.approx(known.get(frozenset(some), 0.0))
            assert (float(found.mcse) == 0) == (float(found.probability) in (0, 1))
    without_names = draws.drop_vars("animal")
    assert float(nrm.nested.clade_probability(without_names, [0, 3]).probability) == known.get(frozenset((0, 3)), 0.0)
    with pytest.raises(ValueError, match="items must be values of 'animal'; got 'cat'"):
        nrm.nested.clade_probability(draws, ["animal 0", "cat"])
    with pytest.raises(ValueError, match="items must be different; got 2 items, 1 of them different"):
        nrm.nested.clade_probability(draws, ["animal 0", "animal 0"])


def test_clade_credibility_is_the_best_draw(rng):
    draws = random_draws(rng, n=5, n_levels=2)
    chains = chains_of(draws)
    known = probabilities_of(chains)
    for score, function in (("sum", lambda p: p - 0.5), ("product", np.log)):
        values = [sum(function(known[clade]) for clade in sets_of(chain) if len(clade) < 5) for chain in chains]
        tree = nrm.nested.maximum_clade_credibility(draws, score=score)
        check_tree(tree)
        best = chains[tree.information["draw"]]
        assert clades_of(tree) == sets_of(best)
        assert values[tree.information["draw"]] == pytest.approx(max(values))
        assert {
            frozenset(tree.positions(k).tolist()): tree.probability[k] for k in range(tree.n_nodes)
        } == pytest.approx({clade: known[clade] for clade in sets_of(best)})
    # The sum is least expected symmetric difference.
    distances = [np.mean([len(sets_of(a) ^ sets_of(b)) for b in chains]) for a in chains]
    best = nrm.nested.maximum_clade_credibility(draws).information["draw"]
    assert distances[best] == pytest.approx(min(distances))
    with pytest.raises(ValueError, match="score must be sum or product; got 'mean'"):
        nrm.nested.maximum_clade_credibility(draws, score="mean")
    with pytest.raises(ValueError, match="probability must be from 0.5 to less than 1; got 0.2"):
        nrm.nested.consensus_tree(draws, probability=0.2)


@pytest.mark.quick("4-3-binder_loss")
@pytest.mark.parametrize("loss", ["variation_of_information", "binder_loss"])
@pytest.mark.parametrize(("n", "n_levels"), [(4, 2), (5, 2), (4, 3)])
def test_point_estimate_is_the_best_of_all_nested_partitions(n, n_levels, loss):
    chains = all_chains(n, n_levels)
    assert len(chains) == {(4, 2): 60, (5, 2): 358, (4, 3): 154}[n, n_levels]
    rng = np.random.default_rng(5)
    costs = {"variation_of_information": {"base": 2}, "binder_loss": {"cost_false_join": 1.0, "cost_false_split": 1.0}}
    found = 0
    for _ in range(30):
        draws = chains[rng.choice(len(chains), size=25, p=rng.dirichlet(np.full(len(chains), 0.02)))]
        best = minimise_nested(draws, loss, costs[loss], [n] * n_levels, 4, 20, rng)
        least = chain_losses(chains, draws, loss, costs[loss]).min()
        value = chain_losses(best[None], draws, loss, costs[loss])[0]
        assert value >= least - 1e-9
        found += value < least + 1e-9
        # Within limits, a local search may miss the best, but no draw is better.
        limits = draws[0].max(axis=1) + 1
        limited = minimise_nested(draws, loss, costs[loss], limits, 4, 20, rng)
        assert (limited.max(axis=1) < limits).all()
        within = draws[(draws.max(axis=2) < limits).all(axis=1)]
        value = chain_losses(limited[None], draws, loss, costs[loss])[0]
        assert value <= chain_losses(within, draws, loss, costs[loss]).min() + 1e-9
    assert found == 30


def wrongly_hung():
    """A truth, tables of draws that all have it, and a start with a node of level 2 on the wrong branch."""
    truth = np.array([np.repeat([0, 1], [20, 20]), np.repeat([0, 1, 2, 3], 10)])
    start = np.array([np.repeat([0, 0, 0, 1], 10), truth[1]])
    draws = np.repeat(truth[None], 10, axis=0)
    tables = [make_tables(draws[:, k], "variation_of_information", {"base": 2}) for k in (0, 1)]
    return truth, NestedSearch(tables, start, (40, 40))


@pytest.mark.parametrize("joined", [False, True])
def test_search_leaves_wrong_branches(rng, joined):
    """No item alone has anything to gain: a whole node moves or, where two are joined, is dissolved."""
    truth, search = wrongly_hung()
    assert not any(search.move(np.array([item]), 2) for item in rng.permutation(40))
    if joined:
        assert search.move(np.arange(30, 40), 1)  # one node is better than the wrong two
        assert not any(search.move(np.flatnonzero(truth[1] == slot), 2) for slot in range(4))
    search.improve(rng, 20)
    np.testing.assert_array_equal(search.labels(), truth)


def test_point_estimate_of_more_items(rng):
    truth = np.array([np.repeat([0, 1, 2], [20, 12, 8]), np.repeat([0, 1, 2, 3, 4], [12, 8, 12, 4, 4])])
    draws = noisy_draws(rng, truth, moved=0.3)
    tree = nrm.nested.nested_point_estimate(draws, random_seed=1)
    check_tree(tree)
    np.testing.assert_array_equal([tree.labels(1), tree.labels(2)], truth)
    # No draw is as good: each has items on wrong paths.
    losses = chain_losses(chains_of(draws), chains_of(draws), "variation_of_information", {"base": 2})
    assert tree.information["expected_loss"] < losses.min()
    assert tree.information["expected_loss"] == pytest.approx(
        chain_losses(truth[None], chains_of(draws), "variation_of_information", {"base": 2})[0]
    )
    assert sum(tree.information["expected_loss_by_level"]) == pytest.approx(tree.information["expected_loss"])
    n_nodes = np.quantile(chains_of(draws).max(axis=2) + 1, 0.95, axis=0, method="inverted_cdf")
    assert tree.information["max_clusters_by_level"] == n_nodes.tolist()
    assert nrm.nested.nested_point_estimate(draws, max_clusters=2, random_seed=1).labels(2).max() == 1
    again = nrm.nested.nested_point_estimate(draws, random_seed=1)
    np.testing.assert_array_equal(again.parent, tree.parent)
    for argument, wrong in {"n_restarts": 0, "max_sweeps": 0, "max_draws": 0, "loss": "x"}.items():
        with pytest.raises(ValueError, match=f"{argument} must be"):
            nrm.nested.nested_point_estimate(draws, **{argument: wrong})


def test_single_item(rng):
    draws = random_draws(rng, n=1)
    for estimate in (nrm.nested.consensus_tree, nrm.nested.maximum_clade_credibility, nrm.nested.nested_point_estimate):
        tree = estimate(draws)
        assert tree.n_nodes == 1 and tree.to_newick() == "('animal 0':1);"
    assert (stats.partition_quantities(draws).mean_common_depth == 0).all()
    assert stats.partition_convergence(draws).sizes["pair"] == 0
    assert stats.common_depth(draws).values.tolist() == [[3.0]]


def test_against_scikit_learn(rng):
    metrics = pytest.importorskip("sklearn.metrics")
    for n, n_clusters, n_classes in [(30, 4, 3), (50, 1, 5), (20, 6, 1), (8, 8, 8), (1, 1, 1), (5, 1, 1)]:
        labels, truth = rng.integers(n_clusters, size=n), rng.integers(n_classes, size=n)
        for other in (truth, labels):
            expected = metrics.normalized_mutual_info_score(other, labels)
            assert nrm.nested.normalized_mutual_information(labels, other) == pytest.approx(expected, abs=1e-12)
            table = metrics.cluster.contingency_matrix(other, labels)
            assert nrm.nested.purity(labels, other) == pytest.approx(table.max(axis=0).sum() / n)
            f = sum(
                (other == c).mean() * max(metrics.f1_score(other == c, labels == k) for k in set(labels.tolist()))
                for c in set(other.tolist())
            )
            assert nrm.nested.f_measure(labels, other) == pytest.approx(f)
            assert stats.adjusted_rand(labels, other) == pytest.approx(metrics.adjusted_rand_score(other, labels))


def test_levels_of_draws_and_trees(rng):
    draws, truth = random_draws(rng, n=8), chains_of(random_draws(rng, n=8, n_draws=1, n_chains=1))[0]
    result, labels = nrm.nested.level_agreement(draws, truth), canonical_levels(draws)
    assert result.purity.dims == ("chain", "draw", "level") and result.n_classes.dims == ("level",)
    for chain, draw, level in itertools.product(range(2), range(20), range(3)):
        row = labels[chain, draw, level]
        assert result.n_clusters[chain, draw, level] == row.max() + 1
        assert result.purity[chain, draw, level] == nrm.nested.purity(row, truth[level])
        assert result.adjusted_rand[chain, draw, level] == pytest.approx(stats.adjusted_rand(row, truth[level]))
        assert result.f_measure[chain, draw, level] == nrm.nested.f_measure(row, truth[level])
    one = nrm.nested.level_agreement(
        nrm.nested.ItemTree.from_levels(labels[0, 0]), nrm.nested.ItemTree.from_levels(truth)
    )
    n_levels = one.sizes["level"]
    np.testing.assert_allclose(one.f_measure, result.f_measure[0, 0, :n_levels])
    perfect = nrm.nested.level_agreement(truth, truth[:2])
    assert perfect.sizes["level"] == 2
    for name in ("purity", "normalized_mutual_information", "adjusted_rand", "f_measure"):
        np.testing.assert_allclose(perfect[name], 1.0)
    with pytest.raises(ValueError, match=r"truth must have shape \(8,\).*; got shape \(7,\)"):
        nrm.nested.level_agreement(draws, truth[:, 1:])
    with pytest.raises(ValueError, match=r"truth must be .*shape \(L, n\); got shape \(8,\)"):
        nrm.nested.level_agreement(draws, truth[0])


def smallest_common(tree, *items):
    return min(
        (set(tree.positions(k).tolist()) for k in range(tree.n_nodes) if set(items) <= set(tree.positions(k).tolist())),
        key=len,
    )


def test_dendrogram_purity_and_triplets(rng):
    for _ in range(10):
        chains = chains_of(random_draws(rng, n=8, n_draws=2, n_chains=1))
        tree, truth = nrm.nested.ItemTree.from_levels(chains[0]), nrm.nested.ItemTree.from_levels(chains[1])
        classes = rng.integers(3, size=8)
        shares = [
            np.mean(classes[list(smallest_common(tree, i, j))] == classes[i])
            for i, j in itertools.combinations(range(8), 2)
            if classes[i] == classes[j]
        ]
        assert nrm.nested.dendrogram_purity(tree, classes) == pytest.approx(np.mean(shares))

        right = []
        for triplet in itertools.combinations(range(8), 3):
            closest = []
            for one in (tree, truth):
                sizes = [len(smallest_common(one, *pair)) for pair in itertools.combinations(triplet, 2)]
                closest.append(sizes.index(min(sizes)) if sizes.count(min(sizes)) == 1 else -1)
            if closest[1] >= 0:
                right.append(closest[0] == closest[1])
        if right:
            assert nrm.nested.triplet_accuracy(tree, truth) == pytest.approx(np.mean(right))
            assert nrm.nested.triplet_accuracy(truth, truth) == 1.0
    assert np.isnan(nrm.nested.dendrogram_purity(tree, np.arange(8)))
    assert np.isnan(nrm.nested.triplet_accuracy(tree, nrm.nested.ItemTree.from_levels([[0] * 8])))


def test_random_triplets_estimate_the_share(rng):
    chains = chains_of(random_draws(rng, n=60, n_draws=2, n_chains=1))
    tree, truth = (nrm.nested.ItemTree.from_levels(chain) for chain in chains)
    whole = nrm.nested.triplet_accuracy(tree, truth)
    few = [nrm.nested.triplet_accuracy(tree, truth, n_triplets=2000, random_seed=seed) for seed in range(20)]
    assert abs(np.mean(few) - whole) < 4 * np.std(few) / np.sqrt(20)


test_errors_of_agreement = refused(
    lambda call: call(nrm.nested.ItemTree.from_levels([[0, 0, 1]])),
    (lambda tree: nrm.nested.dendrogram_purity([[0, 0, 1]], [0, 0, 1]), "tree must be an ItemTree; got list"),
    (lambda tree: nrm.nested.dendrogram_purity(tree, [0, 1]), r"classes must have shape \(3,\); got shape \(2,\)"),
    (
        lambda tree: nrm.nested.triplet_accuracy(
            tree, nrm.nested.ItemTree.from_levels([[0, 0, 1]], names=["a", "b", "c"])
        ),
        "truth must be a tree of the same items as tree",
    ),
    (
        lambda tree: nrm.nested.triplet_accuracy(tree, tree, n_triplets=0),
        "n_triplets must be a whole number of at least 1",
    ),
    error=(TypeError, ValueError),
)
