"""Partitions that stand for several modes: draws around known partitions, with known shares."""

import numpy as np
import pytest
import xarray as xr
from helpers import in_order

from pymc_nrm.stats.losses import expected_loss, variation_of_information
from pymc_nrm.stats.point_estimate import point_estimate
from pymc_nrm.stats.point_estimates import point_estimates

N = 30
THIRDS, TWO, STRIPES = np.repeat([0, 1, 2], 10), np.repeat([0, 1], [10, 20]), np.arange(N) % 2


def scattered(rng, center, n_draws, noise):
    """Draws around a partition: each item goes to a random cluster with a small probability."""
    moved = rng.random((n_draws, N)) < noise
    return np.where(moved, rng.integers(4, size=(n_draws, N)), center)


def as_draws(rows, n_chains=1):
    rows = in_order(rows).reshape(n_chains, -1, N)
    return xr.DataArray(rows, dims=("chain", "draw", "item"), coords={"item": [f"i{k}" for k in range(N)]}, name="z")


def bimodal(rng, noise=0.05):
    rows = np.concatenate([scattered(rng, THIRDS, 210, noise), scattered(rng, STRIPES, 90, noise)])
    return as_draws(rng.permutation(rows), n_chains=3)


def test_two_modes_and_their_shares(rng):
    found = point_estimates(bimodal(rng), random_seed=1, progressbar=False)
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
    found = point_estimates(draws, random_seed=1, progressbar=False)
    assert found.sizes["clustering"] == 2
    rows = draws.values.reshape(-1, N)
    losses = np.stack([variation_of_information(labels, rows) for labels in found.labels.values])
    for k in range(2):
        own = as_draws(rows[losses.argmin(axis=0) == k])
        alone = point_estimate(own, random_seed=2, progressbar=False)
        np.testing.assert_allclose(found.expected_loss[k], losses[k][losses.argmin(axis=0) == k].mean())
        assert found.expected_loss[k] <= alone.expected_loss + 1e-9
        assert found.share[k] == (losses.argmin(axis=0) == k).mean()


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.3])
def test_one_mode_is_the_point_estimate(rng, noise):
    draws = as_draws(scattered(rng, THIRDS, 300, noise))
    found = point_estimates(draws, random_seed=1, progressbar=False)
    single = point_estimate(draws, random_seed=1, progressbar=False)
    np.testing.assert_array_equal(found.labels, single.labels.values[None])
    assert found.share.values.tolist() == [1.0] and found.share_mcse.values.tolist() == [0.0]
    assert found.expected_loss[0] == pytest.approx(float(single.expected_loss))
    assert point_estimates(bimodal(rng), 1, random_seed=1).labels[0].coords["item"].equals(draws.coords["item"])


@pytest.mark.parametrize("edge", ["normal", "uniform"])
def test_a_boundary_that_moves_is_one_mode(rng, edge):
    places = rng.normal(15, 3, 300) if edge == "normal" else rng.uniform(8, 22, 300)
    draws = as_draws((np.arange(N) > places[:, None]).astype(int))
    assert point_estimates(draws, random_seed=1, progressbar=False).sizes["clustering"] == 1


def test_three_modes_of_which_two_are_wanted(rng):
    parts = [scattered(rng, center, size, 0.03) for center, size in ((THIRDS, 180), (TWO, 90), (STRIPES, 30))]
    draws = as_draws(np.concatenate(parts))
    found = point_estimates(draws, random_seed=1, progressbar=False)
    np.testing.assert_allclose(found.share, [0.6, 0.3, 0.1], atol=0.01)
    np.testing.assert_array_equal(found.labels, [THIRDS, TWO, STRIPES])
    # The two that are closest get one partition.
    np.testing.assert_allclose(point_estimates(draws, 2, random_seed=1, progressbar=False).share, [0.9, 0.1], atol=0.01)
    few = point_estimates(draws, min_share=0.2, random_seed=1, progressbar=False)
    assert few.sizes["clustering"] == 2 and few.share.min() > 0.2


def test_few_draws_and_other_losses(rng):
    same = as_draws([THIRDS] * 4)
    assert point_estimates(same, random_seed=1).share.values.tolist() == [1.0]
    for loss in ("binder_loss", "normalized_variation_of_information", "one_minus_adjusted_rand"):
        found = point_estimates(bimodal(rng), loss=loss, random_seed=1, progressbar=False)
        np.testing.assert_allclose(found.share, [0.7, 0.3], atol=0.01)
        assert found.attrs["loss"] == loss
    total = float((found.share * found.expected_loss).sum())
    assert total < float(expected_loss(found.labels[0].values, bimodal(rng), loss=loss).expected_loss)


def test_same_seed_and_thinned_search(rng):
    draws = bimodal(rng)
    one, other = (point_estimates(draws, max_draws=60, random_seed=3, progressbar=False) for _ in range(2))
    assert one.equals(other) and one.attrs["n_draws_searched"] == 60
    # Shares are those of all draws.
    np.testing.assert_allclose(one.share, [0.7, 0.3])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n must be a whole number of at least 1; got 0"),
        ({"min_share": 1}, "min_share must be at least 0 and below 1; got 1"),
        ({"loss": "rand"}, "loss must be one of"),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        point_estimates(as_draws([THIRDS]), **options)
