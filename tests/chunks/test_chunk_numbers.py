"""Numbers of rows are those of Philox, and uniform; sums of rounded statistics are exact in any order."""

from fractions import Fraction

import numpy as np
import pytest
from chunk_cases import FAMILIES, make_chain

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
from pymc_nrm.moves.chunks.chain import rounded_rows
from pymc_nrm.moves.chunks.exact_sums import quanta_of
from pymc_nrm.moves.chunks.rows_in_lanes import (
    draw_columns,
    draw_parts,
    draw_uniforms,
    mix_columns,
    philox,
)
from pymc_nrm.moves.gibbs import column_at

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
@pytest.mark.parametrize("family", FAMILIES)
def test_densities_of_rows_in_lanes_are_those_of_each(family):
    chain, rng = make_chain(*FAMILIES[family]), np.random.default_rng(1)
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
        with pytest.raises(ValueError, match="cannot be drawn into a cluster"):
            draw_columns(uniforms, values.copy(), 5, likely, chosen)
