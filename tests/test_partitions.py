"""Canonical labels, enumeration, orders of scans, and the state that kernels change."""

import itertools

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import pymc_nrm as nrm
from pymc_nrm.families.base import refresh_cache
from pymc_nrm.families.fast import update_cache
from pymc_nrm.moves.gibbs import _MANY, _PIECE, scan_order
from pymc_nrm.partitions import clusters
from pymc_nrm.partitions.flat import Indices, Sizes
from pymc_nrm.testing import all_partitions, kernel_inputs
from tests.helpers import canonical_labels, is_canonical, refused

BELL = [1, 1, 2, 5, 15, 52, 203, 877, 4140, 21147]


@pytest.mark.parametrize("scale", [1, 50, 10**12])
def test_canonical_labels_keep_the_partition(rng, scale):
    for n in (1, 2, 7, 40):
        labels = (rng.integers(0, 6, size=n) - 2) * scale
        canonical = canonical_labels(labels)
        np.testing.assert_array_equal(canonical[:, None] == canonical, labels[:, None] == labels)
        assert canonical.dtype == np.int64
        assert canonical[0] == 0
        _, first = np.unique(canonical, return_index=True)
        assert (np.diff(first) > 0).all()
        np.testing.assert_array_equal(np.unique(canonical), np.arange(canonical.max() + 1))
        np.testing.assert_array_equal(canonical_labels(canonical), canonical)
        assert is_canonical(canonical)


def test_canonical_labels_take_any_numbers_that_are_whole():
    assert canonical_labels([2.0, 2.0, -1.0]).tolist() == [0, 0, 1]
    assert canonical_labels(np.array([True, False, True])).tolist() == [0, 1, 0]
    assert canonical_labels([]).tolist() == []
    assert canonical_labels(np.arange(10)[::-3]).tolist() == [0, 1, 2, 3]


test_what_labels_and_sizes_must_be = refused(
    lambda function, given: function(given),
    *((canonical_labels, labels, "whole numbers") for labels in ([0.5, 1.0], [np.nan, 0.0], [np.inf, 0.0])),
    *((canonical_labels, labels, "shape") for labels in (3, [[0, 1], [1, 0]])),
    *((all_partitions, n, "between 0 and 13") for n in (-1, 14)),
)


def test_not_canonical():
    assert not is_canonical([1, 0])
    assert not is_canonical([0, 2, 1])
    assert not is_canonical([0, 0, 2])


@pytest.mark.parametrize("n", range(10))
def test_all_partitions_are_there_once(n):
    partitions = all_partitions(n)
    assert partitions.shape == (BELL[n], n)
    assert all(is_canonical(labels) for labels in partitions[:: max(len(partitions) // 200, 1)])
    rows = [tuple(labels) for labels in partitions]
    assert rows == sorted(set(rows))


@pytest.fixture(scope="module")
def poisson():
    X = np.random.default_rng(3).poisson([2.0, 9.0, 0.5], size=(25, 3))
    return kernel_inputs(nrm.PoissonGamma([1.0, 2.0, 0.5], 0.7), X)


def check(state, family, data):
    """Everything that a state promises; items with label -1 are in no cluster."""
    size, capacity = state.size[0], len(state.counts)
    assert size < capacity
    np.testing.assert_array_equal(np.sort(state.active), np.arange(capacity))
    np.testing.assert_array_equal(state.position[state.active], np.arange(capacity))
    occupied, empty = state.active[:size], state.active[size:]
    assert (state.counts[empty] == 0).all()
    for slot in occupied:
        items = np.flatnonzero(state.labels == slot)
        assert state.counts[slot] == len(items) > 0
        np.testing.assert_allclose(state.statistics[slot, : data.values.shape[1]], data.values[items].sum(axis=0))
        cache = np.zeros_like(state.cache[slot])
        refresh_cache(family, state.statistics[slot], cache)
        np.testing.assert_allclose(state.cache[slot], cache, rtol=1e-10)
    cache = np.zeros_like(state.cache[0])
    refresh_cache(family, np.zeros_like(state.statistics[0]), cache)
    for slot in empty:
        assert (state.statistics[slot] == 0.0).all()
        np.testing.assert_array_equal(state.cache[slot], state.cache[empty[0]])
        np.testing.assert_allclose(state.cache[slot], cache, rtol=1e-12)


def test_state_keeps_its_promises_under_random_operations(rng, poisson):
    family, data = poisson
    n = len(data.values)
    state = clusters.build_state(np.zeros(n, dtype=np.int64), family, data)
    check(state, family, data)
    largest = 0
    for step in range(400):
        item = rng.integers(n)
        old = state.labels[item]
        update_cache(family, state.statistics[old], state.cache[old], data, item, -1.0)
        state.counts[old] -= 1
        state.labels[item] = -1
        if state.counts[old] == 0:
            clusters.close_slot(state, old)
        before = len(state.counts)
        state = clusters.grow(state, family)
        assert state.size[0] + 2 <= len(state.counts)
        assert len(state.counts) in (before, 2 * before + 2)
        slot = clusters.open_slot(state) if rng.random() < 0.6 else state.active[rng.integers(max(state.size[0], 1))]
        clusters.attach(state, item, slot, family, data)
        largest = max(largest, state.size[0])
        if step % 20 == 0 or before != len(state.counts):
            check(state, family, data)
            labels = clusters.ordered_labels(state)
            assert is_canonical(labels)
            np.testing.assert_array_equal(labels[:, None] == labels, state.labels[:, None] == state.labels)
    assert largest > 12


def test_items_of_a_cluster_share_their_parameters(poisson):
    family, _ = poisson
    labels = np.repeat([0, 1, 2], 2000)
    values = clusters.draw_data(family._replace(beta=np.full(3, 0.01)), labels, np.random.default_rng(4), 3)
    means = values.reshape(3, 2000, 3).mean(axis=1)
    within = values.reshape(3, 2000, 3).var(axis=1)
    np.testing.assert_allclose(within / means, 1.0, atol=0.2)
    assert (means.std(axis=0) > 10).all()


@pytest.mark.parametrize("n", [1, 7, _MANY - 1, _MANY, _MANY + 17])
def test_all_items_once(n):
    items = scan_order(np.random.default_rng(1), n, n)
    np.testing.assert_array_equal(np.sort(items), np.arange(n))


@pytest.mark.parametrize("n", [50, _MANY + 17])
def test_some_items_at_most_once(n):
    items = scan_order(np.random.default_rng(1), n, 33)
    assert len(np.unique(items)) == len(items) == 33
    assert items.min() >= 0 and items.max() < n


def test_neighbours_stay_together_among_many_items_only():
    rng = np.random.default_rng(1)
    n = (_MANY // _PIECE + 1) * _PIECE
    few, many = scan_order(rng, 100, 100), scan_order(rng, n, n)
    assert (np.diff(few) == 1).mean() < 0.1
    pieces = many.reshape(-1, _PIECE)
    assert (np.diff(pieces, axis=1) == 1).all()
    assert (np.diff(pieces[:, 0]) == _PIECE).mean() < 0.1


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "NUMBA"])
@pytest.mark.parametrize("n", [3, 2])
def test_every_vector(mode, n):
    labels = pt.lvector()
    read = pytensor.function([labels], [*Sizes()(labels, n), *Indices()(labels, n)], mode=mode)
    for given in map(np.array, itertools.product(range(-1, 4), repeat=3)):
        sizes, valid, indices, in_range = read(given)
        ordered = min(given) >= 0 and np.array_equal(canonical_labels(given), given)
        assert valid == (ordered and n == 3)
        np.testing.assert_array_equal(sizes, np.bincount(given) if ordered else [3])
        assert in_range == (min(given) >= 0 and max(given) < n)
        np.testing.assert_array_equal(indices, given if in_range else 0)
