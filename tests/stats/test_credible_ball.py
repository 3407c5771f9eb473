"""Credible balls against the definition, partition by partition."""

import numpy as np
import pytest
import xarray as xr

from pymc_nrm.partitions.labels import all_partitions
from pymc_nrm.stats import binder_loss, credible_ball, point_estimate, variation_of_information


def naive_ball(rows, center, probability, distance):
    """Sets of the draws at each bound."""
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
    for n_draws, probability in [(1, 0.95), (7, 0.5), (20, 0.95), (20, 0.9), (60, 1.0), (200, 0.6)]:
        draws = rng.choice(rows, n_draws)
        center = rng.choice(rows)
        expected = naive_ball(draws, center, probability, loss)
        array = xr.DataArray(draws[None], dims=("chain", "draw", "obs"), coords={"obs": list("abcde")})
        ball = credible_ball(array, center, probability=probability, loss=loss.__name__)
        assert ball.radius == pytest.approx(expected["radius"], abs=1e-8)
        assert ball.share == expected["share"] >= probability
        np.testing.assert_array_equal(ball.center, center)
        assert ball.attrs["probability"] == probability
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
    ball = credible_ball(draws, loss="binder_loss", random_seed=1, **costs)
    estimate = point_estimate(draws, loss="binder_loss", random_seed=1, **costs)
    np.testing.assert_array_equal(ball.center, estimate.labels)
    assert ball.center_n_clusters == estimate.n_clusters
    xr.testing.assert_identical(ball, credible_ball(draws, estimate, loss="binder_loss", **costs))


@pytest.mark.parametrize("n_draws", [55, 56, 95])
def test_rounding_asks_for_no_further_draw(n_draws):
    """0.55 * 100 is more than 55 in floating point; 55 draws must suffice."""
    rows = np.zeros((100, 3), dtype=int)
    rows[n_draws:, 2] = 1
    draws = xr.DataArray(rows[None], dims=("chain", "draw", "i"))
    ball = credible_ball(draws, [0, 0, 0], probability=n_draws / 100)
    assert ball.radius == 0 and ball.share == n_draws / 100
    assert credible_ball(draws, [0, 0, 0], probability=n_draws / 100 + 1e-6).share == 1


@pytest.mark.parametrize("probability", [0, -0.1, 1.1, "0.9", np.nan])
def test_errors(probability):
    draws = xr.DataArray(np.zeros((1, 2, 3), dtype=int), dims=("chain", "draw", "i"))
    with pytest.raises(ValueError, match="probability must be above 0 and at most 1; got"):
        credible_ball(draws, probability=probability)
    with pytest.raises(ValueError, match=r"estimate must have shape \(3,\)"):
        credible_ball(draws, [0, 1])
