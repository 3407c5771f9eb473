"""Point estimates against brute force over all partitions and all draws, and one for each mode."""

import logging
import sys

import numpy as np
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm import stats
from pymc_nrm.stats import variation_of_information
from pymc_nrm.stats.losses import VALUES
from pymc_nrm.stats.point_estimate import minimise
from pymc_nrm.testing import all_partitions
from tests.helpers import in_order, refused

# The function hides the module of the same name.
module = sys.modules[minimise.__module__]
LOSSES = [(name, {}) for name in VALUES] + [
    ("binder_loss", {"cost_false_join": 1.5, "cost_false_split": 0.5}),
    ("variation_of_information", {"base": 3}),
]
IDS = [name + "".join(costs) for name, costs in LOSSES]


def as_draws(partitions, **kwargs):
    return xr.DataArray(in_order(partitions)[None], dims=("chain", "draw", "obs"), name="z", **kwargs)


def noisy_draws(rng, n, n_draws, n_clusters, noise=0.3):
    center = rng.integers(n_clusters, size=n)
    moved = rng.random((n_draws, n)) < noise
    return as_draws(np.where(moved, rng.integers(n_clusters, size=(n_draws, n)), center))


def mean_losses(candidates, draws, loss, costs):
    function, rows = getattr(stats, loss), draws.values[0]
    return np.array([function(candidate, rows, **costs).mean() for candidate in candidates])


@pytest.mark.parametrize(("loss", "costs"), LOSSES, ids=IDS)
def test_estimate_is_the_best_of_all_partitions(loss, costs, rng):
    for n, n_draws in [(1, 3), (2, 1), (2, 4), (5, 2), (6, 7), (7, 30), (7, 250)]:
        rows = all_partitions(n)
        for draws in (as_draws(rng.choice(rows, n_draws)), noisy_draws(rng, n, n_draws, 3)):
            best = mean_losses(rows, draws, loss, costs).min()
            found = nrm.point_estimate(draws, loss=loss, max_clusters=None, random_seed=rng, **costs)
            assert found.expected_loss == pytest.approx(best, abs=1e-7)
            assert nrm.stats.expected_loss(draws, found, loss=loss, **costs).expected_loss == found.expected_loss


@pytest.mark.parametrize(("loss", "costs"), LOSSES, ids=IDS)
def test_limit_of_clusters(loss, costs, rng):
    rows = all_partitions(6)
    for draws in (as_draws(rng.choice(rows, 9)), noisy_draws(rng, 6, 20, 4, noise=0.1)):
        for limit in (1, 2, 3):
            allowed = rows[rows.max(axis=1) < limit]
            best = mean_losses(allowed, draws, loss, costs).min()
            found = nrm.point_estimate(draws, loss=loss, max_clusters=limit, random_seed=rng, **costs)
            assert found.expected_loss == pytest.approx(best, abs=1e-7)
            assert found.n_clusters == found.labels.max() + 1 <= limit


def test_by_default_there_are_as_many_clusters_as_in_the_draws(rng):
    """Items that go from cluster to cluster are alone without a limit, though no draw has an item alone."""
    rows = rng.integers(3, size=(200, 30))
    rows[:8, :3] = [3, 4, 5]
    draws = as_draws(rows)
    free = nrm.point_estimate(draws, loss="binder_loss", max_clusters=None, random_seed=1)
    assert (free.n_clusters, free.attrs["max_clusters"]) == (30, 30)
    found = nrm.point_estimate(draws, loss="binder_loss", random_seed=1)
    # More than 95 % of the draws have three clusters.
    assert found.n_clusters == found.attrs["max_clusters"] == 3
    xr.testing.assert_identical(found, nrm.point_estimate(draws, loss="binder_loss", max_clusters=3, random_seed=1))
    assert nrm.point_estimates(draws, loss="binder_loss", random_seed=1).n_clusters.max() == 3
    assert nrm.point_estimates(draws, loss="binder_loss", max_clusters=None, random_seed=1).n_clusters.max() == 30
    rows[:12, :3] = [3, 4, 5]
    assert nrm.point_estimate(as_draws(rows), loss="binder_loss").attrs["max_clusters"] == 6


@pytest.mark.parametrize(("loss", "costs"), LOSSES, ids=IDS)
def test_estimate_is_as_good_as_every_draw(loss, costs, rng):
    draws = noisy_draws(rng, 40, 300, 6, noise=0.4)
    best = mean_losses(draws.values[0], draws, loss, costs).min()
    # A single search from nothing may end anywhere; afterwards it is compared with the draws.
    poor = nrm.point_estimate(draws, loss=loss, n_restarts=1, max_sweeps=1, max_zealous=0, random_seed=1, **costs)
    assert poor.expected_loss <= best + 1e-12
    found = nrm.point_estimate(draws, loss=loss, random_seed=1, **costs)
    assert found.expected_loss <= poor.expected_loss + 1e-12
    assert found.restart_expected_loss.min() == pytest.approx(found.expected_loss)


@pytest.mark.quick("binder_loss-N_FIRST")
@pytest.mark.parametrize("limit", ["N_FIRST", "N_FIRST_LABELS"])
@pytest.mark.parametrize("loss", VALUES)
def test_search_with_some_of_the_draws_first(loss, limit, rng, monkeypatch):
    monkeypatch.setattr(module, limit, 20)
    rows = all_partitions(7)
    for _ in range(4):
        draws = noisy_draws(rng, 7, 90, 3)
        found = nrm.point_estimate(draws, loss=loss, max_clusters=None, random_seed=rng)
        assert found.expected_loss == pytest.approx(mean_losses(rows, draws, loss, {}).min(), abs=1e-7)
        assert found.restart_expected_loss.min() == pytest.approx(found.expected_loss)


@pytest.mark.parametrize(("loss", "costs"), LOSSES, ids=IDS)
def test_tables_of_the_search_are_exact_in_single_precision(loss, costs):
    """Otherwise items could go round in circles, each move better than the last by a rounding error."""
    table = module.make_tables(np.zeros((1, 40000), dtype="int64"), loss, costs).table
    gains = np.diff(table)
    np.testing.assert_array_equal(gains, gains.astype(np.float32))
    np.testing.assert_allclose(table, module.loss_table(40001, loss, costs), rtol=3e-8)


def test_search_reads_evenly_spaced_draws_of_every_chain(rng):
    rows = noisy_draws(rng, 7, 240, 3).values.reshape(3, 80, 7)
    draws = xr.DataArray(rows, dims=("chain", "draw", "obs"), name="z")
    found = nrm.point_estimate(draws, max_draws=31, random_seed=1)
    few = draws.isel(draw=[0, 9, 18, 26, 35, 44, 53, 61, 70, 79])
    assert found.attrs["n_draws_searched"] == 30
    expected = mean_losses(all_partitions(7), as_draws(few.values.reshape(30, 7)), "variation_of_information", {})
    assert found.restart_expected_loss.min() == pytest.approx(expected.min())
    # The loss that is reported is that at all draws.
    assert found.expected_loss == nrm.stats.expected_loss(draws, found).expected_loss
    assert nrm.point_estimate(draws, max_draws=None, random_seed=1).attrs["n_draws_searched"] == 240
    assert nrm.point_estimate(draws, max_draws=1, random_seed=1).attrs["n_draws_searched"] == 3


def test_room_for_many_clusters(rng):
    """Tables grow while items are allocated."""
    draws = as_draws(np.tile(np.arange(60) // 2, (5, 1)))
    for loss in VALUES:
        found = nrm.point_estimate(draws, loss=loss, n_restarts=2, random_seed=1)
        assert found.expected_loss == found.mcse == 0
        np.testing.assert_array_equal(found.labels, np.arange(60) // 2)


def test_seed_and_result(rng):
    names = [f"g{k}" for k in range(20)]
    draws = noisy_draws(rng, 20, 50, 4).assign_coords(obs=names, group=("obs", np.arange(20) % 2))
    found = nrm.point_estimate(draws, random_seed=3)
    xr.testing.assert_identical(found, nrm.point_estimate(draws, random_seed=3))
    assert found.labels.dims == ("obs",) and found.labels.sel(obs="g0") == 0
    assert set(found.labels.coords) == {"obs", "group"}
    assert found.attrs == {"loss": "variation_of_information", "base": 2, "n_draws_searched": 50, "max_clusters": 4}
    assert found.restart_expected_loss.shape == (16,)


def overlapping_classes(rng, n_draws=200):
    """Draws of three classes; 40 of the 90 items are between two of them."""
    sure, between = (
        np.repeat(np.eye(3), [20, 15, 15], axis=0),
        np.repeat([[0.55, 0.45, 0.0], [0.0, 0.45, 0.55]], 20, axis=0),
    )
    edges = np.concatenate([sure, between]).cumsum(axis=1)
    return as_draws((rng.random((n_draws, 90, 1)) > edges).sum(axis=2))


def test_default_loss_where_the_number_of_components_is_fixed(rng):
    """Three components that every draw uses are three clusters; with an unknown number, the default is unchanged."""
    draws = overlapping_classes(rng)
    fixed = draws.assign_attrs(partition="z", n_components=3)
    by_vi = nrm.point_estimate(draws, loss="VI", random_seed=1)
    assert by_vi.n_clusters == 2
    xr.testing.assert_identical(nrm.point_estimate(draws, random_seed=1), by_vi)
    found = nrm.point_estimate(fixed, random_seed=1)
    assert found.n_clusters == 3 and found.attrs["loss"] == "normalized_variation_of_information"
    xr.testing.assert_identical(nrm.point_estimate(fixed, loss="VI", random_seed=1), by_vi)
    # Draws that leave a component empty do not tell that there are so many clusters.
    surplus = fixed.assign_attrs(n_components=4)
    xr.testing.assert_identical(nrm.point_estimate(surplus, random_seed=1), by_vi)
    # Functions that compare estimates with draws have the same default.
    assert nrm.stats.expected_loss(fixed, found).expected_loss == found.expected_loss
    assert nrm.credible_ball(fixed, random_seed=1).attrs["loss"] == found.attrs["loss"]
    assert nrm.point_estimates(fixed, 1, random_seed=1).n_clusters.item() == 3
    assert nrm.stats.assignment_uncertainty(fixed, random_seed=1).equals(nrm.stats.assignment_uncertainty(fixed, found))


def with_empty_items(rng, places, **kwargs):
    """Draws of two clusters of 10 items each that are certain, and of items in between whose label is random."""
    n = 20 + len(places)
    known = ~np.isin(np.arange(n), places)
    rows = rng.integers(2, size=(50, n))
    rows[:, known] = np.repeat([0, 1], 10)
    values = ("obs", known, {"values_of": "z"})
    return as_draws(rows, **kwargs).assign_coords(z_has_values=values), known


def test_items_without_values_are_left_out(rng, caplog):
    """Draws of the other items alone have the same estimate, and the log says how many are left out."""
    draws, known = with_empty_items(rng, [0, 5, 6, 7, 22, 23])
    alone = as_draws(draws.values[0][:, known])
    with caplog.at_level(logging.INFO, logger="pymc.nrm_results"):
        found = nrm.point_estimate(draws, random_seed=1)
    assert caplog.messages == [
        "6 items have no values and are left out of the estimate; keep_empty_items=True keeps them"
    ]
    expected = nrm.point_estimate(alone, random_seed=1)
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert found.expected_loss == expected.expected_loss == 0.0
    # Positions, since items have no names; and no mark, since all of these have values.
    assert found.obs.values.tolist() == np.flatnonzero(known).tolist() and list(found.coords) == ["obs"]
    named = draws.assign_coords(obs=[f"g{k}" for k in range(26)])
    assert nrm.point_estimate(named, random_seed=1).obs.values.tolist() == named.obs.values[known].tolist()
    many = nrm.point_estimates(draws, random_seed=1)
    np.testing.assert_array_equal(many.labels[0], found.labels)

    # What compares it with draws reads the same items, whether they have coordinates or not.
    for estimate in (found, found.labels, found.labels.values, None):
        ball = nrm.credible_ball(draws, estimate, random_seed=1)
        assert ball.radius == 0.0 and ball.center.sizes == {"obs": 20}
        uncertainty = nrm.stats.assignment_uncertainty(draws, estimate, random_seed=1)
        assert uncertainty.shape == (20,) and not uncertainty.any()
        # A default says it once more.
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="pymc.nrm_results"):
            nrm.credible_ball(draws, estimate, random_seed=1)
        assert len(caplog.messages) == (estimate is None)
    assert nrm.stats.expected_loss(draws, found).expected_loss == 0.0
    assert nrm.stats.expected_loss(draws, found.labels.values).expected_loss == 0.0

    # All items are there if asked for, by an argument or by an estimate that has them.
    plain = draws.drop_vars("z_has_values")
    for function in (nrm.point_estimate, nrm.point_estimates):
        every = function(draws, keep_empty_items=True, random_seed=1)
        xr.testing.assert_identical(every, function(plain, random_seed=1))
    every = nrm.point_estimate(plain, random_seed=1)
    for function in (nrm.stats.expected_loss, nrm.credible_ball):
        xr.testing.assert_identical(function(draws, every), function(plain, every))
    with pytest.raises(ValueError, match=r"estimate must have shape \(20,\)"):
        nrm.stats.expected_loss(draws.isel(obs=known), [0] * 19)


@pytest.mark.parametrize("places", [[], range(20)])
def test_all_or_no_items_with_values(places):
    """Marks of all items, or of none, change nothing."""
    rows = np.tile(np.repeat([0, 1], 10), (3, 1))
    known = ("obs", ~np.isin(np.arange(20), places), {"values_of": "z"})
    found = nrm.point_estimate(as_draws(rows).assign_coords(mark=known), random_seed=1)
    xr.testing.assert_identical(found, nrm.point_estimate(as_draws(rows), random_seed=1))


test_errors = refused(
    lambda kwargs: nrm.point_estimate(as_draws([[0, 0, 1]]), **kwargs),
    ({"cost_false_join": 2}, TypeError, "variation_of_information has no argument cost_false_join"),
    ({"loss": "binder_loss", "cost_false_join": -1}, ValueError, "cost_false_join must be finite and greater"),
    ({"loss": "binder_loss", "cost_false_join": "1"}, TypeError, "cost_false_join must be a number; got '1'"),
    ({"base": 1}, ValueError, "base must be finite and greater than 1; got 1"),
    ({"n_restarts": 0}, ValueError, "n_restarts must be a whole number of at least 1; got 0"),
    ({"max_clusters": "draw"}, ValueError, "max_clusters must be a whole number of at least 1, .*; got 'draw'"),
    ({"keep_empty_items": 1}, TypeError, "keep_empty_items must be True or False; got 1"),
    ({"max_draws": 0}, ValueError, "max_draws must be a whole number of at least 1; got 0"),
    ({"max_zealous": -1}, ValueError, "max_zealous must be a whole number of at least 0; got -1"),
)


N = 30
THIRDS, TWO, STRIPES = np.repeat([0, 1, 2], 10), np.repeat([0, 1], [10, 20]), np.arange(N) % 2


def scattered(rng, center, n_draws, noise):
    """Draws around a partition: each item goes to a random cluster with a small probability."""
    moved = rng.random((n_draws, N)) < noise
    return np.where(moved, rng.integers(4, size=(n_draws, N)), center)


def in_chains(rows, n_chains=1):
    rows = in_order(rows).reshape(n_chains, -1, N)
    return xr.DataArray(rows, dims=("chain", "draw", "item"), coords={"item": [f"i{k}" for k in range(N)]}, name="z")


def bimodal(rng, noise=0.05):
    rows = np.concatenate([scattered(rng, THIRDS, 210, noise), scattered(rng, STRIPES, 90, noise)])
    return in_chains(rng.permutation(rows), n_chains=3)


def test_two_modes_and_their_shares(rng):
    found = nrm.point_estimates(bimodal(rng), random_seed=1, progressbar=False)
    np.testing.assert_array_equal(found.labels, [THIRDS, STRIPES])
    # Modes are so far apart that every draw is nearest to its own.
    np.testing.assert_allclose(found.share, [0.7, 0.3])
    np.testing.assert_allclose(found.chain_share.mean("chain"), [0.7, 0.3])
    expected = np.sqrt(0.7 * 0.3 / 300)
    np.testing.assert_allclose(found.share_mcse, expected, rtol=0.3)
    np.testing.assert_allclose(found.distance, found.distance.T)
    assert found.distance[0, 1] == pytest.approx(variation_of_information(THIRDS, STRIPES))
    assert found.n_clusters.values.tolist() == [3, 2] and found.labels.coords["item"][3] == "i3"


def test_each_is_the_best_partition_of_its_draws(rng):
    draws = bimodal(rng, noise=0.2)
    found = nrm.point_estimates(draws, random_seed=1, progressbar=False)
    assert found.sizes["clustering"] == 2
    rows = draws.values.reshape(-1, N)
    losses = np.stack([variation_of_information(labels, rows) for labels in found.labels.values])
    for k in range(2):
        own = in_chains(rows[losses.argmin(axis=0) == k])
        alone = nrm.point_estimate(own, random_seed=2, progressbar=False)
        np.testing.assert_allclose(found.expected_loss[k], losses[k][losses.argmin(axis=0) == k].mean())
        assert found.expected_loss[k] <= alone.expected_loss + 1e-9
        assert found.share[k] == (losses.argmin(axis=0) == k).mean()


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.3])
def test_one_mode_is_the_point_estimate(rng, noise):
    draws = in_chains(scattered(rng, THIRDS, 300, noise))
    found = nrm.point_estimates(draws, random_seed=1, progressbar=False)
    single = nrm.point_estimate(draws, random_seed=1, progressbar=False)
    np.testing.assert_array_equal(found.labels, single.labels.values[None])
    assert found.share.values.tolist() == [1.0] and found.share_mcse.values.tolist() == [0.0]
    assert found.expected_loss[0] == pytest.approx(float(single.expected_loss))
    assert nrm.point_estimates(bimodal(rng), 1, random_seed=1).labels[0].coords["item"].equals(draws.coords["item"])


@pytest.mark.parametrize("edge", ["normal", "uniform"])
def test_a_boundary_that_moves_is_one_mode(rng, edge):
    places = rng.normal(15, 3, 300) if edge == "normal" else rng.uniform(8, 22, 300)
    draws = in_chains((np.arange(N) > places[:, None]).astype(int))
    assert nrm.point_estimates(draws, random_seed=1, progressbar=False).sizes["clustering"] == 1


def test_three_modes_of_which_two_are_wanted(rng):
    parts = [scattered(rng, center, size, 0.03) for center, size in ((THIRDS, 180), (TWO, 90), (STRIPES, 30))]
    draws = in_chains(np.concatenate(parts))
    found = nrm.point_estimates(draws, random_seed=1, progressbar=False)
    np.testing.assert_allclose(found.share, [0.6, 0.3, 0.1], atol=0.01)
    np.testing.assert_array_equal(found.labels, [THIRDS, TWO, STRIPES])
    # The two that are closest get one partition.
    np.testing.assert_allclose(
        nrm.point_estimates(draws, 2, random_seed=1, progressbar=False).share, [0.9, 0.1], atol=0.01
    )
    few = nrm.point_estimates(draws, min_share=0.2, random_seed=1, progressbar=False)
    assert few.sizes["clustering"] == 2 and few.share.min() > 0.2


def test_few_draws_and_other_losses(rng):
    same = in_chains([THIRDS] * 4)
    assert nrm.point_estimates(same, random_seed=1).share.values.tolist() == [1.0]
    for loss in ("binder_loss", "normalized_variation_of_information", "one_minus_adjusted_rand"):
        found = nrm.point_estimates(bimodal(rng), loss=loss, random_seed=1, progressbar=False)
        np.testing.assert_allclose(found.share, [0.7, 0.3], atol=0.01)
        assert found.attrs["loss"] == loss
    total = float((found.share * found.expected_loss).sum())
    assert total < float(nrm.stats.expected_loss(bimodal(rng), found.labels[0].values, loss=loss).expected_loss)


@pytest.mark.parametrize(("short", "loss"), [("vi", "variation_of_information"), ("binder", "binder_loss")])
def test_losses_have_short_names(rng, short, loss):
    draws = bimodal(rng).isel(draw=slice(20))
    for name in (short, short.upper()):
        for function in (nrm.point_estimate, nrm.point_estimates):
            found = function(draws, loss=name, random_seed=1)
            assert found.identical(function(draws, loss=loss, random_seed=1)) and found.attrs["loss"] == loss
    assert nrm.stats.expected_loss(draws, THIRDS, loss=short).identical(
        nrm.stats.expected_loss(draws, THIRDS, loss=loss)
    )
    with pytest.raises(ValueError, match="'one_minus_adjusted_rand', .*'omari'; got"):
        nrm.stats.expected_loss(draws, THIRDS, loss="rand")


def test_same_seed_and_thinned_search(rng):
    draws = bimodal(rng)
    one, other = (nrm.point_estimates(draws, max_draws=60, random_seed=3, progressbar=False) for _ in range(2))
    assert one.equals(other) and one.attrs["n_draws_searched"] == 60
    # Shares are those of all draws.
    np.testing.assert_allclose(one.share, [0.7, 0.3])


test_errors_of_modes = refused(
    lambda options: nrm.point_estimates(in_chains([THIRDS]), **options),
    ({"n": 0}, "n must be a whole number of at least 1; got 0"),
    ({"min_share": 1}, "min_share must be at least 0 and below 1; got 1"),
    ({"loss": "rand"}, "loss must be one of"),
)
