"""Orders in which Gibbs sweeps visit items."""

import numpy as np
import pytest

from pymc_nrm.moves.gibbs import _MANY, _PIECE, scan_order


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
