"""Moves over chunks: the enumerated law, equal draws for any chunks and threads, numbers of rows, and exact sums."""

from fractions import Fraction

import numpy as np
import pytest

import pymc_nrm as nrm
from pymc_nrm.families.components import (
    add_component_densities,
    add_densities_of_items,
    component_panel,
    write_component,
)
from pymc_nrm.families.conjugate import draw_parameters, parameters_size
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.measures.base import weights
from pymc_nrm.moves.chunks import splits
from pymc_nrm.moves.chunks.chain import rounded_rows
from pymc_nrm.moves.chunks.exact_sums import quanta_of
from pymc_nrm.moves.chunks.relabel import redraw_rows, relabel_all
from pymc_nrm.moves.chunks.rows_in_lanes import (
    draw_columns,
    draw_parts,
    draw_uniforms,
    mix_columns,
    philox,
)
from pymc_nrm.moves.chunks.splits import split_and_merge, split_and_merge_by_moments
from pymc_nrm.moves.gibbs import column_at
from pymc_nrm.testing import partition_index
from tests.chunks.chunk_cases import FAMILIES, MEASURES, MORE, make_chain, posterior, run, set_labels
from tests.helpers import assert_law, rows_with_all_pairs


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("move", "measure", "family"), rows_with_all_pairs(MOVES, MEASURES, [*FAMILIES, "amounts", "visits"])
)
def test_law_of_partitions(move, measure, family):
    chain = make_chain(*(FAMILIES | MORE)[family], n_chunks=2)
    labels = run(chain, MEASURES[measure], MOVES[move], N_SWEEPS[move], seed=1)
    assert_law(labels, *posterior(measure, family))


def flows_from_exact_draws(move, measure, family, n_steps):
    """How many steps of a move lead from each partition to each other one, (n_partitions, n_partitions)."""
    partitions, probabilities = posterior(measure, family)
    chain, rng = make_chain(*(FAMILIES | MORE)[family], n_chunks=2), np.random.default_rng(4)
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
        (some_moments, "ngg", "principal", 100_000),
        *[(move, "dirichlet", name, 100_000) for move in (some_splits, some_moments) for name in ("amounts", "visits")],
        *[(relabel_all, "ngg", name, 10_000) for name in ("amounts", "visits")],
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
    with pytest.raises(ValueError, match="rows 4 to 7 must not change .*statistics are larger"):
        set_labels(chain, np.repeat([0, 1], 4))


# Known answers of the authors' Random123 library, `kat_vectors`: counter, key, result.
PI = "243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"
KNOWN = [
    ("0 0 0 0", "0 0", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    (" ".join(["ffffffff"] * 4), "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    PI,
]


def words(text):
    return [np.uint64(int(word, 16)) for word in text.split()]


@pytest.mark.parametrize("first", range(len(KNOWN)))
def test_published_vectors(first):
    """All lanes of a call have the counter and the key of one vector, or of others."""
    key = words(KNOWN[first][1])
    counters = np.array(
        [words(KNOWN[(first + lane) % len(KNOWN)][0]) for lane in range(LANES)], dtype=np.uint64
    ).T.copy()
    philox(counters, *key)
    assert counters[:, :: len(KNOWN)].T.tolist() == [words(KNOWN[first][2])] * len(counters[0, :: len(KNOWN)])


@kernel
def uniforms(seed, call, first, n):
    values, items = np.empty(n), np.empty(LANES, dtype=np.int64)
    memory, numbers = np.empty((4, LANES), np.uint64), np.empty(LANES)
    for begin in range(0, n, LANES):
        for lane in range(LANES):
            items[lane] = begin + lane
        draw_uniforms(seed, call, first, items, memory, numbers)
        for lane in range(min(LANES, n - begin)):
            values[begin + lane] = numbers[lane]
    return values


def test_numbers_of_rows_are_uniform_and_differ_in_all_that_they_depend_on():
    n = 100_000
    base = uniforms(np.uint64(2**63 + 5), 3, 2**40, n)
    others = [
        uniforms(np.uint64(2**63 + 6), 3, 2**40, n),
        uniforms(np.uint64(5), 3, 2**40, n),
        uniforms(np.uint64(2**63 + 5), 4, 2**40, n),
        uniforms(np.uint64(2**63 + 5), 3, 2**40 + n, n),
        uniforms(np.uint64(2**63 + 5), 3, 0, n),
    ]
    for values in (base, *others):
        assert values.min() >= 0.0 and values.max() < 1.0
        counts = np.bincount((values * 100).astype(int), minlength=100)
        assert ((counts - n / 100) ** 2 / (n / 100)).sum() < 99 + 5 * np.sqrt(2 * 99)
    for values in others:
        assert abs(np.corrcoef(base, values)[0, 1]) < 5 / np.sqrt(n)
    assert np.array_equal(uniforms(np.uint64(2**63 + 5), 3, 2**40 + 7, 10), base[7:17])


def test_quanta_are_powers_of_two_and_sums_fit_into_a_word():
    largest = np.array([0.0, 1.0, 3.7, 1e300, 1e-250, 2.0**40])
    for n in (1, 2, 3, 1000, 10**9):
        quanta = quanta_of(largest, n)
        assert (np.frexp(quanta.quantum)[0] == 0.5).all()
        assert all(int(one) * n < 2**62 for one in quanta.largest)
        assert (quanta.quantum[1:] <= largest[1:] * (n * 2.0**-59)).all()
    # Counts and whole numbers are not rounded at all.
    assert quanta.quantum[1] < 1.0


def test_sums_have_all_digits_of_the_data():
    """Sums and sums of squares of values far from zero, compared with rational arithmetic."""
    rng = np.random.default_rng(5)
    X = np.concatenate([rng.normal(size=(300, 1)), 1e6 + rng.normal(size=(300, 1))])
    chain = make_chain(nrm.NormalGamma(mu=0.0, kappa=0.1, alpha=2.0, beta=1.0), X, n_chunks=4)
    values = [Fraction(float(x)) for x in chain.sample_data.values[:, 0]]
    [[n, total, squares, total_low, squares_low]] = chain.statistics()
    assert n == 600
    for exact, parts in ((sum(values), (total, total_low)), (sum(x * x for x in values), (squares, squares_low))):
        error = abs(sum(map(Fraction, map(float, parts))) - exact)
        assert error < abs(exact) * Fraction(1, 2**80)
    order = rng.permutation(600)
    rounded = rounded_rows(chain.preparation, chain.sample_data, 600, chain.quanta)
    assert np.array_equal(chain.clusters.sums[0], rounded[order].sum(axis=0))


@kernel
def densities(family, statistics, data, items, rng, one_by_one, together):
    """Densities of items under components, (n_components, LANES), in both ways, and added to the same numbers."""
    n, parameters = together.shape[0], np.empty(parameters_size(family))
    panel, values = component_panel(family, LANES), np.empty(LANES)
    for k in range(n):
        draw_parameters(family, statistics, rng, parameters)
        write_component(family, parameters, panel, k)
    for lane in range(LANES):
        for k in range(n):
            together[k, lane] = values[k] = 0.5 * k
        add_component_densities(family, panel, data, items[lane], LANES, values)
        for k in range(n):
            one_by_one[k, lane] = values[k]
    add_densities_of_items(family, panel, data, items, n, together)


@pytest.mark.quick("wishart")
@pytest.mark.parametrize("family", [*FAMILIES, "principal", "amounts", "visits"])
def test_densities_of_rows_in_lanes_are_those_of_each(family):
    chain, rng = make_chain(*(FAMILIES | MORE)[family]), np.random.default_rng(1)
    items, one, other = rng.integers(0, 5, LANES), np.empty((3, LANES)), np.empty((3, LANES))
    family = chain.preparation.family
    densities(family, chain.statistics()[0], chain.sample_data, items, rng, one, other)
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_draws_in_lanes_are_those_of_each_row():
    rng = np.random.default_rng(2)
    values = rng.normal(scale=3.0, size=(5, LANES))
    values[1, 3], values[2, 4], likely = 800.0, -np.inf, rng.integers(0, 5, LANES)
    total, mix, weights = np.empty(LANES), np.empty(LANES), np.empty((5, LANES))
    mix_columns(values, 5, weights, total, mix)
    np.testing.assert_allclose(mix, np.logaddexp.reduce(values), rtol=1e-13)
    np.testing.assert_allclose(weights / total, np.exp(values - mix), rtol=1e-12)
    for uniforms in rng.random(size=(50, LANES)):
        chosen = np.empty(LANES, dtype=np.int64)
        draw_columns(uniforms, values.copy(), 5, likely, chosen)
        columns = [
            column_at(uniforms[lane], np.append(values[:, lane], np.zeros(LANES)), 5, likely[lane])
            for lane in range(LANES)
        ]
        assert chosen.tolist() == columns
        draw_parts(uniforms.copy(), weights, total, 5, chosen)
        with np.errstate(over="ignore"):
            assert (np.cumsum(weights, axis=0) <= uniforms * total).sum(axis=0).tolist() == chosen.tolist()
    for wrong in (np.nan, np.inf):
        values[0, 7] = wrong
        mix_columns(values, 5, weights, total, mix)
        assert np.flatnonzero(np.isnan(mix)).tolist() == [7]
        with pytest.raises(ValueError, match="cannot be assigned to any cluster"):
            draw_columns(uniforms, values.copy(), 5, likely, chosen)
