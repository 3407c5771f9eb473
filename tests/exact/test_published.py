"""The published tree-guided sampler, which these tests must find wrong, and its canonical form, which is exact."""

import warnings
import zlib

import numpy as np
import pytest
from cases import MEASURES
from laws import CHAINS, DRAWS, assert_law, inputs, law_given_u, posterior, tables
from test_steps import make_model, run

from pymc_nrm.generic import kernel
from pymc_nrm.measures.base import Weights, weights
from pymc_nrm.partitions import all_partitions, build_state, ordered_labels
from pymc_nrm.samplers.canonical_split_merge import canonical_items, canonical_moves
from pymc_nrm.samplers.marginal_gibbs import gibbs_sweep
from pymc_nrm.samplers.published_moves import forest_labels, global_move, plant_forest, published_cycle, refresh_forest
from pymc_nrm.samplers.published_tree_guided import PublishedTreeGuided
from pymc_nrm.testing import largest_z, total_variation, z_scores
from pymc_nrm.testing.scores import partition_frequencies
from pymc_nrm.trees.tree import build_tree

FAMILIES = ["PoissonGamma", "NormalWishart"]
U = 2.5
N_STARTS = 60_000


@kernel
def canonical_chain(rng, labels, tables, family, data, tree, n_global, n_levels, n_draws):
    """Labels after each of ``n_draws`` rounds of global and local moves, shape (n_draws, n)."""
    draws = np.empty((n_draws, labels.shape[0]), dtype=np.int64)
    for t in range(n_draws):
        k = labels.max()
        table = Weights(tables.join[k, t], tables.moment[k, t])
        state = build_state(labels, family, data)
        state, _, _ = canonical_moves(rng, state, table, family, data, tree, n_global)
        state, _ = gibbs_sweep(rng, state, table, family, data, canonical_items(rng, tree, n_levels))
        labels = ordered_labels(state)
        draws[t] = labels
    return draws


@kernel
def canonical_once(rng, starts, table, family, data, tree):
    """Labels after one global move from each of the given starts, and how often each outcome came."""
    ends, outcomes = np.empty_like(starts), np.zeros(4, dtype=np.int64)
    for t in range(starts.shape[0]):
        state, outcome, _ = canonical_moves(rng, build_state(starts[t], family, data), table, family, data, tree, 1)
        ends[t] = ordered_labels(state)
        outcomes += outcome
    return ends, outcomes


@kernel
def published_chain(rng, labels, tables, family, data, n_global, n_levels, n_draws):
    """Labels after each of ``n_draws`` rounds, trees kept from one to the next, shape (n_draws, n)."""
    n = labels.shape[0]
    draws = np.empty((n_draws, n), dtype=np.int64)
    names = np.empty(n, dtype=np.int64)
    forest = plant_forest(labels, Weights(tables.join[0, 0], tables.moment[0, 0]), family, data)
    for t in range(n_draws):
        k = forest.n_roots[0] - 1
        table = Weights(tables.join[k, t], tables.moment[k, t])
        refresh_forest(forest, table, family, data)
        published_cycle(rng, forest, table, family, data, n_global, n_levels)
        names[:] = -1
        count = 0
        labels = forest_labels(forest)
        for i in range(n):
            if names[labels[i]] < 0:
                names[labels[i]] = count
                count += 1
            draws[t, i] = names[labels[i]]
    return draws


def random_tree(rng, n):
    """A tree of random shape, some of its nodes with d > 1."""
    nodes, merges = list(range(n)), []
    for k in range(n - 1):
        merges.append([nodes.pop(int(rng.integers(len(nodes)))) for _ in range(2)])
        nodes.append(n + k)
    return build_tree(merges, rng.normal(size=n - 1))


def starts(n):
    return [np.zeros(n, dtype=np.int64), np.arange(n), np.arange(n) % 2, np.arange(n) // 2]


def seeded(*names):
    return np.random.default_rng(zlib.crc32(" ".join(map(str, names)).encode()))


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


def published_draws(measure, family):
    n = posterior(measure, family)[0].shape[1]
    draws = [
        published_chain(rng, start, table, *inputs(family), 20, 2, DRAWS)
        for rng, start, table in zip(seeded(measure, family).spawn(CHAINS), starts(n), tables(measure, n), strict=True)
    ]
    return np.array(draws)[:, 20:]


def test_published_chain_is_found_wrong(family, measure):
    partitions, probabilities = posterior(measure, family)
    labels = published_draws(measure, family)
    scores = z_scores(labels, partitions, probabilities)
    assert np.abs(scores).max() > 2.0 * largest_z(labels.shape, scores.size)
    assert total_variation(partition_frequencies(labels, partitions), probabilities) > 0.03


@pytest.mark.parametrize("n_global, n_levels", [(20, 2), (2, 1), (0, 0)])
def test_canonical_chain_has_the_posterior_law(family, measure, n_global, n_levels):
    partitions, probabilities = posterior(measure, family)
    n = partitions.shape[1]
    rng = seeded(family, measure, n_global)
    draws = [
        canonical_chain(one, start, table, *inputs(family), random_tree(rng, n), n_global, n_levels, DRAWS)
        for one, start, table in zip(rng.spawn(CHAINS), starts(n), tables(measure, n), strict=True)
    ]
    assert_law(np.array(draws)[:, 20:], partitions, probabilities)


def test_canonical_move_leaves_the_law_given_u_invariant(family, measure):
    partitions, probabilities = law_given_u(measure, family, U)
    n = partitions.shape[1]
    table = weights(MEASURES[measure], n, np.log(U))
    rng = seeded(family, measure)
    ends, outcomes = [], np.zeros(4)
    for _ in range(CHAINS):
        rows = partitions[rng.choice(len(partitions), size=N_STARTS // CHAINS, p=probabilities)]
        labels, counts = canonical_once(rng, rows, table, *inputs(family), random_tree(rng, n))
        ends.append(labels)
        outcomes += counts
    assert (outcomes / N_STARTS > 0.02).all()
    assert_law(np.array(ends), partitions, probabilities)


def test_rejected_moves_change_nothing(family):
    """Trees that were taken apart are put together again: labels, sums and potentials are those of before."""
    n = posterior("NGG", family)[0].shape[1]
    table = weights(MEASURES["NGG"], n, np.log(U))
    rng = np.random.default_rng(3)
    outcomes = np.zeros(4)
    for start in all_partitions(n):
        forest = plant_forest(start, table, *inputs(family))
        np.testing.assert_array_equal(forest_labels(forest), start)
        for _ in range(40):
            before, total = forest_labels(forest), forest.log_potential[forest.roots[: forest.n_roots[0]]].sum()
            outcome, _ = global_move(rng, forest, table, *inputs(family))
            outcomes[outcome] += 1
            after = forest_labels(forest)
            together = before[:, None] == before
            same = np.array_equal(together, after[:, None] == after)
            assert same == (outcome % 2 == 0)
            if same:
                assert forest.log_potential[forest.roots[: forest.n_roots[0]]].sum() == pytest.approx(total, abs=1e-9)
        used = forest.row[forest.row >= 0]
        free = forest.free[: forest.n_free[0]]
        assert sorted([*used[used < n], *free])[-1] < n
    assert (outcomes > 20).all()


def test_step_warns_and_keeps_its_trees():
    model = make_model("DP", "PoissonGamma")
    with model, pytest.warns(UserWarning, match="does not leave the posterior invariant"):
        step = PublishedTreeGuided([model["z"]], rng=1)
    partitions, _ = posterior("DP", "PoissonGamma")
    labels, statistics = run(step, 4, np.random.default_rng(1))
    partition_frequencies(labels, partitions)
    assert all(set(stats) == set(PublishedTreeGuided.stats_dtypes_shapes) for stats in statistics)
    np.testing.assert_array_equal([stats["n_clusters"] for stats in statistics], labels.max(axis=-1).ravel() + 1)
    # Labels that something else has changed are taken as they are.
    for row in partitions:
        _, [stats] = step.step({"z": row})
        assert stats["n_splits_proposed"] + stats["n_merges_proposed"] == 20


def test_canonical_step_has_the_posterior_law(measure):
    model = make_model(measure, "PoissonGamma")
    with model, warnings.catch_warnings():
        warnings.simplefilter("error")
        step = PublishedTreeGuided([model["z"]], rng=1, canonical=True)
    labels, _ = run(step, 4, np.random.default_rng(2))
    assert_law(labels, *posterior(measure, "PoissonGamma"))


@pytest.mark.parametrize("options", [{"n_global": -1}, {"n_levels": 1.5}])
def test_wrong_numbers_of_moves_are_refused(options):
    model = make_model("DP", "PoissonGamma")
    with model, pytest.raises(ValueError, match=next(iter(options))):
        PublishedTreeGuided([model["z"]], canonical=True, **options)
