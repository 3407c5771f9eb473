"""Losses between partitions against other formulas for the same numbers."""

import itertools
import math

import numpy as np
import pytest
import xarray as xr
from arviz_stats import mcse
from scipy.special import comb
from scipy.stats import entropy

from pymc_nrm import stats

METRICS = [stats.variation_of_information, stats.normalized_variation_of_information, stats.binder_loss]
ALL = [*METRICS, stats.one_minus_adjusted_rand]


def table(a, b):
    cells = np.zeros((max(a) + 1, max(b) + 1))
    np.add.at(cells, (a, b), 1)
    return cells


def naive_information(a, b, base):
    cells = table(a, b)
    joint = entropy(cells.ravel(), base=base)
    return 2 * joint - entropy(cells.sum(axis=0), base=base) - entropy(cells.sum(axis=1), base=base), joint


def naive_binder(a, b, false_join, false_split):
    total = 0.0
    for i, j in itertools.combinations(range(len(a)), 2):
        total += false_join * (a[i] == a[j] and b[i] != b[j]) + false_split * (a[i] != a[j] and b[i] == b[j])
    return total / comb(len(a), 2)


def naive_adjusted_rand(a, b):
    cells = comb(table(a, b), 2).sum()
    rows, columns = comb(table(a, b).sum(axis=1), 2).sum(), comb(table(a, b).sum(axis=0), 2).sum()
    by_chance = rows * columns / comb(len(a), 2)
    return (cells - by_chance) / ((rows + columns) / 2 - by_chance)


def random_pairs(rng):
    """Few large or many small clusters, for which tables of counts have different layouts."""
    for n, n_a, n_b in [(2, 2, 2), (7, 3, 2), (40, 4, 5), (40, 40, 3), (60, 50, 60), (200, 6, 150)]:
        yield rng.integers(n_a, size=n), rng.integers(n_b, size=n)


def test_losses_equal_naive_ones(rng):
    for a, b in random_pairs(rng):
        information, joint = naive_information(a, b, 2)
        assert stats.variation_of_information(a, b) == pytest.approx(information, abs=1e-9)
        assert stats.variation_of_information(a, b, base=math.e) == pytest.approx(information * math.log(2), abs=1e-9)
        assert stats.normalized_variation_of_information(a, b) == pytest.approx(information / joint if joint else 0)
        assert stats.binder_loss(a, b) == pytest.approx(naive_binder(a, b, 1, 1))
        assert stats.binder_loss(a, b, 0.5, 3) == pytest.approx(naive_binder(a, b, 0.5, 3))
        if len(a) > 2:
            assert stats.adjusted_rand(a, b) == pytest.approx(naive_adjusted_rand(a, b))
            assert stats.one_minus_adjusted_rand(a, b) == pytest.approx(1 - naive_adjusted_rand(a, b))


@pytest.mark.parametrize("loss", ALL)
def test_names_of_clusters_and_shapes(loss, rng):
    a, b = rng.integers(4, size=(2, 6, 15))
    names = rng.permutation(np.array([10**12, -3, 0, 999]))
    expected = [loss(x, y) for x, y in zip(a, b, strict=True)]
    assert all(isinstance(value, float) for value in expected)
    np.testing.assert_allclose(loss(names[a], b), expected)
    np.testing.assert_allclose(loss(a, b.tolist()), expected)
    np.testing.assert_allclose(loss(a[0], b), [loss(a[0], y) for y in b])
    np.testing.assert_allclose(loss(a, b[0]), [loss(x, b[0]) for x in a])
    np.testing.assert_allclose(loss(a[:1], b[:1]), expected[:1])
    assert loss(a[0], np.zeros((0, 15), dtype=int)).shape == (0,)
    assert loss([0], [0]) == loss(np.arange(8), np.arange(8)) == loss([0] * 8, [0] * 8) == 0


def test_expected_loss_and_its_error(rng):
    draws = rng.integers(3, size=(2, 400, 6))
    draws[:, 1:] = np.where(rng.random((2, 399, 1)) < 0.8, draws[:, :1], draws[:, 1:])
    array = xr.DataArray(draws, dims=("chain", "draw", "item"))
    estimate = np.array([0, 0, 1, 1, 2, 2])
    for loss, costs in [(stats.variation_of_information, {"base": 10}), (stats.binder_loss, {"cost_false_join": 2.0})]:
        result = stats.expected_loss(estimate, array, loss=loss.__name__, **costs)
        losses = np.array([[loss(estimate, row, **costs) for row in chain] for chain in draws])
        assert result.expected_loss == pytest.approx(losses.mean())
        assert result.mcse == pytest.approx(mcse(losses, chain_axis=0, draw_axis=1))
        assert costs.items() <= result.attrs.items()
    assert np.isnan(stats.expected_loss(estimate, array.isel(draw=slice(3))).mcse)
    constant = stats.expected_loss(estimate, array.isel(draw=[0] * 5, chain=[0]))
    assert constant.mcse == 0
    unnamed = xr.DataArray(estimate, dims="item", coords={"item": range(6)})
    assert stats.expected_loss(unnamed, array) == stats.expected_loss(estimate, array)


@pytest.mark.parametrize(
    ("a", "b", "error", "message"),
    [
        ([0, 1], [0, 1, 1], ValueError, r"a and b must have shapes .* got \(2,\) and \(3,\)"),
        ([[0, 1]] * 2, [[0, 1]] * 3, ValueError, r"got \(2, 2\) and \(3, 2\)"),
        ([0.5, 1], [0, 1], TypeError, "a must hold integers; got float64"),
        ([0, 1], [True, False], TypeError, "b must hold integers; got bool"),
        ([[[0]]], [0], ValueError, r"a must have shape .* got shape \(1, 1, 1\)"),
        ([0], [], ValueError, r"b must have shape .* got shape \(0,\)"),
    ],
)
def test_errors(a, b, error, message):
    for loss in ALL:
        with pytest.raises(error, match=message):
            loss(a, b)


@pytest.mark.parametrize(
    ("estimate", "message"),
    [
        ([0, 1], r"estimate must have shape \(3,\); got shape \(2,\)"),
        (xr.DataArray([0, 0, 0], dims="item", coords={"item": list("abd")}), "estimate must be of the same items"),
        (xr.Dataset({"x": 0}), "estimate must have a variable labels; got variables x"),
    ],
)
def test_errors_of_expected_loss(estimate, message):
    draws = xr.DataArray(np.zeros((1, 4, 3), dtype=int), dims=("chain", "draw", "item"), coords={"item": list("abc")})
    with pytest.raises(ValueError, match=message):
        stats.expected_loss(estimate, draws)


@pytest.mark.parametrize("kind", [xr.DataArray, xr.Dataset, xr.DataTree])
def test_draws_in_place_of_the_estimate(kind):
    array = xr.DataArray([[[0, 0, 1], [0, 1, 1]]], dims=("chain", "draw", "item"), name="z")
    posterior = array.to_dataset()
    draws = {xr.DataArray: array, xr.Dataset: posterior}.get(kind, xr.DataTree.from_dict({"posterior": posterior}))
    labels = xr.DataArray([0, 0, 1], dims="item")
    for estimate in (labels, labels.to_dataset(name="labels"), [0, 0, 1]):
        with pytest.raises(TypeError, match=f"estimate must be labels.*; got draws in a {kind.__name__}: .*, idata"):
            stats.expected_loss(draws, estimate)
