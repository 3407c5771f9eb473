"""Moves over chunks: the law of partitions by enumeration, and equal draws for any chunks and threads."""

import numpy as np
import pytest
from chunk_cases import FAMILIES, MEASURES, NEAR_ROWS, make_chain, posterior, run, set_labels
from helpers import assert_law

import pymc_nrm as nrm
from pymc_nrm.measures.base import weights
from pymc_nrm.moves.chunks import splits
from pymc_nrm.moves.chunks.relabel import redraw_rows, relabel_all
from pymc_nrm.moves.chunks.splits import split_and_merge, split_and_merge_by_moments
from pymc_nrm.testing import partition_index


def some_births(chain, rng, law):
    redraw_rows(chain, rng, law, 2)


def some_splits(chain, rng, law):
    split_and_merge(chain, rng, law, 3)


def some_moments(chain, rng, law):
    split_and_merge_by_moments(chain, rng, law, 3)


def all_moves(chain, rng, law):
    relabel_all(chain, rng, law)
    split_and_merge(chain, rng, law, 3)
    split_and_merge_by_moments(chain, rng, law, 3)
    redraw_rows(chain, rng, law, 2)


MOVES = {"births": some_births, "splits": some_splits, "all": all_moves}
N_SWEEPS = {"births": 4000, "splits": 6000, "all": 4000}


@pytest.mark.quick("all-ngg-gamma")
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("move", MOVES)
def test_law_of_partitions(move, measure, family):
    chain = make_chain(*FAMILIES[family], n_chunks=2)
    labels = run(chain, MEASURES[measure], MOVES[move], N_SWEEPS[move], seed=1)
    assert_law(labels, *posterior(measure, family))


def flows_from_exact_draws(move, measure, family, n_steps):
    """How many steps of a move lead from each partition to each other one, (n_partitions, n_partitions)."""
    partitions, probabilities = posterior(measure, family)
    chain, rng = make_chain(*(FAMILIES | NEAR_ROWS)[family], n_chunks=2), np.random.default_rng(4)
    starts, ends = rng.choice(len(partitions), n_steps, p=probabilities), []
    for start in starts:
        set_labels(chain, partitions[start])
        ends.append(run(chain, MEASURES[measure], move, 1, seed=rng)[0, 0])
    flows = np.zeros((len(partitions),) * 2)
    np.add.at(flows, (starts, partition_index(np.array(ends), partitions)), 1)
    return flows, partitions, probabilities


def assert_balance(flows, expected):
    """The law of ends is that of starts, with these expected numbers, and flows between partitions are equal."""
    common = expected > 20
    law_z = (flows.sum(axis=0) - expected)[common] / np.sqrt((expected * (1.0 - expected / expected.sum()))[common])
    total = flows + flows.T
    pairs = np.triu(total, 1) > 20
    balance_z = (flows - flows.T)[pairs] / np.sqrt(total[pairs])
    assert len(balance_z) > 3
    assert max(np.abs(law_z).max(), np.abs(balance_z).max()) < 4.5


@pytest.mark.quick("some_moments-ngg-gamma-6000")
@pytest.mark.parametrize(
    ("move", "measure", "family", "n_steps"),
    [
        (some_splits, "ngg", "gamma", 4000),
        (some_moments, "ngg", "gamma", 6000),
        (some_splits, "ngg", "near rows", 100_000),
        # Labels alone stay for long in clusters whose jumps are below the level, so that chains of them mix slowly.
        *[(relabel_all, measure, family, 10_000) for measure in MEASURES for family in FAMILIES],
        # Moves that sum out labels change few partitions of a few items, so that their law takes many steps to see.
        *[
            (some_moments, measure, family, 100_000)
            for measure, family in zip([*MEASURES, "ngg", "pitman_yor"], FAMILIES, strict=True)
        ],
    ],
)
def test_moves_from_exact_draws_keep_the_law_and_balance(move, measure, family, n_steps):
    flows, partitions, probabilities = flows_from_exact_draws(move, measure, family, n_steps)
    assert_balance(flows, n_steps * probabilities)
    n_clusters = partitions.max(axis=1)
    up = flows[n_clusters[:, None] < n_clusters].sum()
    down = flows[n_clusters[:, None] > n_clusters].sum()
    assert abs(up - down) < 4.5 * np.sqrt(up + down) < 0.25 * (up + down)


@pytest.mark.slow
@pytest.mark.parametrize("move", [split_and_merge, split_and_merge_by_moments])
def test_sets_of_too_many_rows_are_left_alone_in_both_directions(move, monkeypatch):
    monkeypatch.setattr(splits, "_FEW_ROWS", 3)

    def many_sets(chain, rng, law):
        move(chain, rng, law, 10)

    flows, _, probabilities = flows_from_exact_draws(many_sets, "ngg", "near rows", 60_000)
    assert_balance(flows, 60_000 * probabilities)


@pytest.mark.parametrize(("n_chunks", "n_threads", "kept"), [(3, 1, True), (7, 1, False), (7, 2, True)])
def test_draws_do_not_depend_on_chunks_or_threads(n_chunks, n_threads, kept):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(700, 1)) + 1e6 + 5.0 * rng.integers(0, 4, size=(700, 1))
    family = nrm.NormalGamma(mu=1e6, kappa=0.1, alpha=2.0, beta=1.0)
    sample = np.arange(0, 700, 5)
    one = make_chain(family, X, sample=sample)
    other = make_chain(family, X, n_chunks, n_threads, sample=sample, kept=kept)
    for seed in range(2):
        labels = [run(chain, nrm.NormalizedGeneralizedGamma(1.0, 0.3), all_moves, 15, seed) for chain in (one, other)]
        assert np.array_equal(*labels)
        assert labels[0].max() > 3
        assert np.array_equal(one.clusters.sums, other.clusters.sums)
        assert np.array_equal(one.sample_labels(), other.sample_labels())


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_weights_given_u_do_not_depend_on_the_number_of_items(measure):
    few, many = weights(measure, 3, 0.3), weights(measure, 50, 0.3)
    assert np.allclose(few.join, many.join[:4], rtol=1e-13, atol=1e-13)


def test_statistics_above_those_first_read_are_an_error():
    X = np.arange(8.0)[:, None]
    chain = make_chain(FAMILIES["gamma"][0], X, n_chunks=2, kept=False)
    X[6] = 1e6
    # Rows that keep their label are not summed again.
    with pytest.raises(ValueError, match="rows 4 to 7 have larger statistics.*the data have changed"):
        set_labels(chain, np.repeat([0, 1], 4))
