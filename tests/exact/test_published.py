"""The published tree-guided sampler, which these tests must find wrong, and its canonical form, which is exact."""

import functools
import warnings

import numpy as np
import pytest
from cases import FAMILIES, MEASURES, Data
from helpers import assert_law, random_merges, seeded
from laws import CHAINS, draw_tables
from models import make_model, run

from pymc_nrm.families import PoissonGamma
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.measures.base import Weights, weights
from pymc_nrm.moves.gibbs import gibbs_sweep
from pymc_nrm.moves.guide_trees.tree import build_tree
from pymc_nrm.partitions.clusters import build_state, ordered_labels
from pymc_nrm.partitions.labels import rename_in_order
from pymc_nrm.published import lee_choi_moves
from pymc_nrm.published.lee_choi import PublishedTreeGuided
from pymc_nrm.published.lee_choi_canonical import canonical_items, canonical_moves
from pymc_nrm.testing import exact_posterior, kernel_inputs, largest_z, total_variation, z_scores
from pymc_nrm.testing.scores import partition_frequencies

# Kernels compile for half a minute per family, so by default test two sizes of one family.
CASES = {
    "4 items": FAMILIES["PoissonGamma"],
    "5 items": Data(PoissonGamma([1.2, 0.8], 0.4), np.array([[1, 4], [3, 2], [5, 4], [2, 0], [0, 1]])),
    "NormalWishart": FAMILIES["NormalWishart"],
}
DRAWS, PUBLISHED_DRAWS = 5_000, 3_000
N_TREES = 12


@functools.cache
def posterior(measure, case):
    return exact_posterior(MEASURES[measure], *CASES[case])


@functools.cache
def tables(measure, n):
    return [draw_tables(rng, MEASURES[measure], n, DRAWS) for rng in seeded(measure, n).spawn(CHAINS)]


@functools.cache
def inputs(case):
    return kernel_inputs(*CASES[case])


@kernel
def canonical_chain(rng, starts, tables, family, data, tree, n_global, n_levels):
    """Labels after each round of global and local moves, shape (n_draws, n).

    The rounds follow each other from the first row of ``starts``, or, if ``n_levels < 0``, each begins at its own row
    and has no local moves.
    """
    draws, outcomes = np.empty_like(starts), np.zeros((2, 2))
    labels = starts[0]
    for t in range(starts.shape[0]):
        if n_levels < 0:
            labels = starts[t]
        k = labels.max()
        table = Weights(tables.join[k, t], tables.moment[k, t])
        found, tally = canonical_moves(rng, labels, table, family, data, tree, n_global)
        rename_in_order(found, labels.shape[0])
        outcomes[0] += tally.accepted
        outcomes[1] += tally.proposed - tally.accepted
        if n_levels >= 0:
            state = build_state(found, family, data)
            state, _ = gibbs_sweep(rng, state, table, family, data, canonical_items(rng, tree, n_levels))
            found = ordered_labels(state)
        draws[t] = labels = found
    return draws, outcomes


@kernel
def published_chain(rng, forest, tables, family, data, n_global, n_levels, n_draws):
    """Labels after each of ``n_draws`` rounds that keep their trees, shape (n_draws, n)."""
    n = forest.roots.shape[0]
    draws = np.empty((n_draws, n), dtype=np.int64)
    for t in range(n_draws):
        k = forest.n_roots[0] - 1
        table = Weights(tables.join[k, t], tables.moment[k, t])
        lee_choi_moves.refresh_forest(forest, table, family, data)
        lee_choi_moves.published_cycle(rng, forest, table, family, data, n_global, n_levels)
        draws[t] = lee_choi_moves.forest_labels(forest)
        rename_in_order(draws[t], n)
    return draws


def random_tree(rng, n):
    """A tree of random shape, some of its nodes with d > 1."""
    return build_tree(random_merges(rng, n), rng.normal(size=n - 1))


def starts(n):
    return [np.zeros(n, dtype=np.int64), np.arange(n), np.arange(n) % 2, np.arange(n) // 2]


@pytest.fixture(
    params=["4 items", *(pytest.param(one, marks=pytest.mark.slow) for one in ("5 items", "NormalWishart"))]
)
def case(request):
    return request.param


@pytest.mark.slow
def test_published_chain_is_found_wrong(case, measure):
    """The check that correct samplers pass has power: the published sampler fails it."""
    partitions, probabilities = posterior(measure, case)
    n = partitions.shape[1]
    table = weights(MEASURES[measure], n, 0.0)
    draws = [
        published_chain(
            rng,
            lee_choi_moves.plant_forest(rng, start, table, *inputs(case)),
            u,
            *inputs(case),
            20,
            2,
            PUBLISHED_DRAWS,
        )
        for rng, start, u in zip(seeded(measure, case).spawn(CHAINS), starts(n), tables(measure, n), strict=True)
    ]
    labels = np.array(draws)[:, 20:]
    scores = z_scores(labels, partitions, probabilities)
    assert np.abs(scores).max() > 1.5 * largest_z(labels.shape, scores.size)
    assert total_variation(partition_frequencies(labels, partitions), probabilities) > 0.03


@pytest.mark.slow
@pytest.mark.parametrize("n_global, n_levels", [(5, 2), (1, 1)])
def test_canonical_chain_has_the_posterior_law(case, measure, n_global, n_levels):
    partitions, probabilities = posterior(measure, case)
    n = partitions.shape[1]
    rng = seeded(case, measure, n_global)
    draws = [
        canonical_chain(one, np.tile(start, (DRAWS, 1)), u, *inputs(case), random_tree(rng, n), n_global, n_levels)[0]
        for one, start, u in zip(rng.spawn(CHAINS), starts(n), tables(measure, n), strict=True)
    ]
    assert_law(np.array(draws)[:, 20:], partitions, probabilities)


@pytest.mark.slow
def test_canonical_move_leaves_the_posterior_invariant(case, measure):
    partitions, probabilities = posterior(measure, case)
    n = partitions.shape[1]
    rng = seeded(case, measure)
    ends, outcomes = [], np.zeros((2, 2))
    for k in range(N_TREES):
        rows = partitions[rng.choice(len(partitions), size=DRAWS, p=probabilities)]
        table = tables(measure, n)[k % CHAINS]
        labels, counts = canonical_chain(rng, rows, table, *inputs(case), random_tree(rng, n), 1, -1)
        ends.append(labels)
        outcomes += counts
    assert (outcomes > 0.02 * outcomes.sum()).all()
    assert_law(np.array(ends), partitions, probabilities)


@pytest.mark.slow
def test_step_warns_and_keeps_its_trees():
    model = make_model("NGG", "PoissonGamma")
    with model, pytest.warns(UserWarning, match="does not leave the posterior invariant"):
        step = PublishedTreeGuided([model["z"]], rng=1)
    partitions, _ = posterior("NGG", "4 items")
    labels, statistics = run(step, 4, np.random.default_rng(1))
    partition_frequencies(labels, partitions)
    assert all(set(stats) == set(PublishedTreeGuided.stats_dtypes_shapes) for stats in statistics)
    np.testing.assert_array_equal([stats["n_clusters"] for stats in statistics], labels.max(axis=-1).ravel() + 1)
    # Accept labels that something else has changed.
    for row in partitions:
        _, [stats] = step.step({"z": row})
        assert stats["n_splits_proposed"] + stats["n_merges_proposed"] == 20


@pytest.mark.slow
def test_canonical_step_has_the_posterior_law():
    model = make_model("NGG", "PoissonGamma")
    with model, warnings.catch_warnings():
        warnings.simplefilter("error")
        step = PublishedTreeGuided([model["z"]], rng=1, canonical=True)
    labels, _ = run(step, 4, np.random.default_rng(2))
    assert_law(labels, *posterior("NGG", "4 items"))


@pytest.mark.parametrize("options", [{"n_global": -1}, {"n_levels": 1.5}])
def test_wrong_numbers_of_moves_are_refused(options):
    model = make_model("NGG", "PoissonGamma")
    with model, pytest.raises(ValueError, match=next(iter(options))):
        PublishedTreeGuided([model["z"]], canonical=True, **options)
