"""Losses, credible balls and similarity against their definitions."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from arviz_stats import mcse
from scipy.special import comb
from scipy.stats import entropy

import pymc_nrm as nrm
from pymc_nrm import stats
from pymc_nrm.stats import binder_loss, similarity_rows, variation_of_information
from pymc_nrm.testing import all_partitions
from tests.helpers import in_order, refused

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
        result = stats.expected_loss(array, estimate, loss=loss.__name__, **costs)
        losses = np.array([[loss(estimate, row, **costs) for row in chain] for chain in draws])
        assert result.expected_loss == pytest.approx(losses.mean())
        assert result.mcse == pytest.approx(mcse(losses, chain_axis=0, draw_axis=1))
        assert costs.items() <= result.attrs.items()
    assert np.isnan(stats.expected_loss(array.isel(draw=slice(3)), estimate).mcse)
    constant = stats.expected_loss(array.isel(draw=[0] * 5, chain=[0]), estimate)
    assert constant.mcse == 0
    unnamed = xr.DataArray(estimate, dims="item", coords={"item": range(6)})
    assert stats.expected_loss(array, unnamed) == stats.expected_loss(array, estimate)


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


test_errors_of_expected_loss = refused(
    lambda estimate: stats.expected_loss(
        xr.DataArray(np.zeros((1, 4, 3), dtype=int), {"item": list("abc")}, ("chain", "draw", "item")), estimate
    ),
    ([0, 1], r"estimate must have shape \(3,\); got shape \(2,\)"),
    (xr.DataArray([0, 0, 0], dims="item", coords={"item": list("abd")}), "estimate must be of the same items"),
    (xr.Dataset({"x": 0}), "estimate must have the variable labels; got variables x"),
)


@pytest.mark.parametrize("kind", [xr.DataArray, xr.Dataset, xr.DataTree])
def test_draws_in_place_of_the_estimate(kind):
    array = xr.DataArray([[[0, 0, 1], [0, 1, 1]]], dims=("chain", "draw", "item"), name="z")
    posterior = array.to_dataset()
    draws = {xr.DataArray: array, xr.Dataset: posterior}.get(kind, xr.DataTree.from_dict({"posterior": posterior}))
    labels = xr.DataArray([0, 0, 1], dims="item")
    for estimate in (labels, labels.to_dataset(name="labels"), [0, 0, 1]):
        with pytest.raises(TypeError, match=f"estimate must be labels.*; got .*{kind.__name__}"):
            stats.expected_loss(estimate, draws)


def naive_ball(rows, center, probability, distance):
    distances = np.array([round(distance(center, row), 9) for row in rows])
    radius = next(r for r in sorted(set(distances)) if (distances <= r).mean() >= probability - 1e-12)
    inside = [(d, tuple(row)) for d, row in zip(distances, rows.tolist(), strict=True) if d <= radius]

    def furthest(members):
        most = max(d for d, _ in members)
        return {row for d, row in members if d == most}

    fewest, most = (choose(max(row) for _, row in inside) for choose in (min, max))
    return {
        "radius": radius,
        "share": len(inside) / len(rows),
        "horizontal": furthest(inside),
        "upper_vertical": furthest([(d, row) for d, row in inside if max(row) == fewest]),
        "lower_vertical": furthest([(d, row) for d, row in inside if max(row) == most]),
    }


@pytest.mark.parametrize("loss", [variation_of_information, binder_loss])
def test_ball_equals_the_naive_one(loss, rng):
    rows = all_partitions(5)
    n_ties = 0
    for n_draws, probability in [(1, 0.95), (7, 0.5), (20, 0.95), (20, 0.9), (60, 0.999), (200, 0.6)]:
        draws = rng.choice(rows, n_draws)
        center = rng.choice(rows)
        expected = naive_ball(draws, center, probability, loss)
        array = xr.DataArray(draws[None], dims=("chain", "draw", "obs"), coords={"obs": list("abcde")})
        ball = nrm.credible_ball(array, center, ci_prob=probability, loss=loss.__name__)
        assert ball.radius == pytest.approx(expected["radius"], abs=1e-8)
        assert ball.share == expected["share"] >= probability
        np.testing.assert_array_equal(ball.center, center)
        assert ball.attrs["ci_prob"] == probability
        for name in ("horizontal", "upper_vertical", "lower_vertical"):
            assert ball[name].dims == (f"{name}_tie", "obs")
            assert {tuple(row) for row in ball[name].values.tolist()} == expected[name]
            assert ball.sizes[f"{name}_tie"] == len(expected[name])
            np.testing.assert_allclose(ball[f"{name}_distance"], loss(center, ball[name].values))
            np.testing.assert_array_equal(ball[f"{name}_n_clusters"], ball[name].max("obs") + 1)
            n_ties += len(expected[name]) > 1
    assert n_ties > 3


def test_center_by_default_is_the_point_estimate(rng):
    draws = xr.DataArray(rng.choice(all_partitions(5), (2, 30)), dims=("chain", "draw", "obs"))
    costs = {"cost_false_join": 2.0}
    ball = nrm.credible_ball(draws, loss="binder_loss", random_seed=1, **costs)
    estimate = nrm.point_estimate(draws, loss="binder_loss", random_seed=1, **costs)
    np.testing.assert_array_equal(ball.center, estimate.labels)
    assert ball.center_n_clusters == estimate.n_clusters
    xr.testing.assert_identical(ball, nrm.credible_ball(draws, estimate, loss="binder_loss", **costs))


@pytest.mark.parametrize("n_draws", [55, 56, 95])
def test_rounding_asks_for_no_further_draw(n_draws):
    """0.55 * 100 is more than 55 in floating point; 55 draws must suffice."""
    rows = np.zeros((100, 3), dtype=int)
    rows[n_draws:, 2] = 1
    draws = xr.DataArray(rows[None], dims=("chain", "draw", "i"))
    ball = nrm.credible_ball(draws, [0, 0, 0], ci_prob=n_draws / 100)
    assert ball.radius == 0 and ball.share == n_draws / 100
    assert nrm.credible_ball(draws, [0, 0, 0], ci_prob=n_draws / 100 + 1e-6).share == 1


def random_draws(rng, n=30, n_clusters=5, n_draws=40, n_chains=2):
    values = rng.integers(n_clusters, size=(n_chains, n_draws, n))
    values = in_order(values)
    names = [f"g{k}" for k in range(n)]
    coords = {"gene": names, "length": ("gene", np.arange(n) * 10)}
    return xr.DataArray(values, dims=("chain", "draw", "gene"), coords=coords, name="z")


def naive(draws):
    rows = draws.values.reshape(-1, draws.shape[2])
    return (rows[:, :, None] == rows[:, None, :]).mean(axis=0)


# Numbers of clusters that do not fit into one byte or two bytes.
@pytest.mark.parametrize(("n", "n_clusters", "n_draws"), [(30, 5, 40), (400, 390, 9), (70_000, 70_000, 2)])
def test_similarity_equals_counts(n, n_clusters, n_draws, rng):
    draws = random_draws(rng, n, n_clusters, n_draws, n_chains=1)
    few = [f"g{k}" for k in rng.choice(n, 25, replace=False)]
    chosen = draws.sel(gene=few)
    part = nrm.similarity(draws, items=few)
    np.testing.assert_allclose(part, naive(chosen))
    assert part.gene.values.tolist() == part.gene_other.values.tolist() == few
    if n <= 400:
        np.testing.assert_allclose(nrm.similarity(draws), naive(draws))


def test_coordinates_and_blocks(rng):
    draws = random_draws(rng)
    whole = nrm.similarity(draws)
    assert whole.dims == ("gene", "gene_other") and whole.name == "similarity"
    assert set(whole.coords) == {"gene", "length", "gene_other", "length_other"}
    np.testing.assert_array_equal(whole, whole.T)
    np.testing.assert_array_equal(np.diag(whole), 1)
    for block_size in (1, 7, 30, None):
        blocks = list(similarity_rows(draws, block_size=block_size))
        assert all(len(block) <= (block_size or 30) for block in blocks)
        xr.testing.assert_identical(xr.concat(blocks, "gene", data_vars=None), whole)
    unnamed = draws.drop_vars(["gene", "length"])
    np.testing.assert_allclose(nrm.similarity(unnamed, items=[4, 2]), whole.values[np.ix_([4, 2], [4, 2])])
    assert not nrm.similarity(unnamed).coords
    rows = xr.concat(similarity_rows(draws, items=["g7", "g3"], block_size=1), "gene", data_vars=None)
    xr.testing.assert_identical(rows, whole.sel(gene=["g7", "g3"]))


test_errors_of_similarity = refused(
    lambda rng, function, kwargs: function(random_draws(rng), **kwargs),
    (nrm.similarity, {"items": []}, "items must be a sequence of at least one item"),
    (nrm.similarity, {"items": ["g1", "h2"]}, "items must be values of 'gene'; got 'h2'"),
    (similarity_rows, {"block_size": 0}, "block_size must be a whole number of at least 1; got 0"),
    (similarity_rows, {"block_size": 1.5}, "block_size must be a whole number of at least 1; got 1.5"),
    (nrm.similarity, {"var_name": "y"}, "var_name must be"),
    *(
        (nrm.similarity, {"items": items}, TypeError, "items must be a sequence of values of 'gene'; got")
        for items in (xr.Dataset(), xr.DataTree(), [["g1"], ["g2", "g3"]])
    ),
)


def test_assignment_uncertainty(rng):
    draws = random_draws(rng, n=12)
    rows = draws.values.reshape(-1, 12)
    together = naive(draws)
    for labels in (rng.integers(4, size=12), np.arange(12), np.zeros(12, dtype=int), [0] * 11 + [1]):
        found = nrm.stats.assignment_uncertainty(draws, labels)
        for item in range(12):
            others = [j for j in range(12) if labels[j] == labels[item] and j != item]
            alone = np.mean([np.sum(row == row[item]) == 1 for row in rows])
            expected = 1 - together[item, others].mean() if others else 1 - alone
            assert found[item] == pytest.approx(expected, abs=1e-12)
    assert found.dims == ("gene",) and set(found.coords) == {"gene", "length"}
    estimate = nrm.point_estimate(draws, random_seed=1)
    xr.testing.assert_identical(
        nrm.stats.assignment_uncertainty(draws, random_seed=1), nrm.stats.assignment_uncertainty(draws, estimate)
    )
    certain = draws.isel(chain=[0], draw=[0] * 3)
    assert (nrm.stats.assignment_uncertainty(certain, certain.values[0, 0]) == 0).all()


def test_a_series_is_matched_by_the_names_of_items():
    names = [f"r{k}" for k in range(12)]
    labels = np.repeat([0, 1, 2], 4)
    draws = xr.DataArray(np.tile(labels, (1, 3, 1)), dims=("chain", "draw", "item"), coords={"item": names})
    series = pd.Series(labels, index=names)
    for estimate in (series, series.sample(frac=1.0, random_state=1), series.reset_index(drop=True)):
        assert nrm.stats.expected_loss(draws, estimate)["expected_loss"] == 0.0
    with pytest.raises(ValueError, match="estimate must have the names of the items as its index"):
        nrm.stats.expected_loss(draws, series.set_axis([f"s{k}" for k in range(12)]))


def test_items_whose_names_repeat():
    draws = xr.DataArray([[[0, 0, 1, 2]]], dims=("chain", "draw", "item"), coords={"item": list("aabc")})
    assert nrm.stats.similarity(draws, items=["c", "b"]).values.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(ValueError, match="'a' is the name of several in 'item'"):
        nrm.stats.similarity(draws, items=["a", "b"])
