"""Diagnostics of pairs of items: errors, calibration, detection."""

import math

import arviz_stats
import numpy as np
import pytest
import xarray as xr
from scipy import stats

import pymc_nrm as nrm
from pymc_nrm.stats.convergence import expected_largest_z, largest_z_quantile, pair_convergence, pair_name, random_pairs
from tests.helpers import in_order


def as_draws(labels):
    return xr.DataArray(in_order(labels), dims=("chain", "draw", "item"), name="z")


def noisy(rng, center, n_draws, probability=0.2):
    """Independent draws: each item leaves its cluster of a partition with some probability, for a random one."""
    n, k = len(center), max(center) + 1
    moved = rng.random((n_draws, n)) < probability
    return np.where(moved, rng.integers(k, size=(n_draws, n)), center)


def indicators(rng, n_parts, n_draws, n_pairs, probability, stay):
    """Stationary two-state Markov chains with lag-one autocorrelation `stay`, independent of each other."""
    x = np.empty((n_parts, n_draws, n_pairs), dtype=bool)
    x[:, 0] = rng.random((n_parts, n_pairs)) < probability
    for t in range(1, n_draws):
        new = rng.random((n_parts, n_pairs)) < probability
        x[:, t] = np.where(rng.random((n_parts, n_pairs)) < stay, x[:, t - 1], new)
    return x


@pytest.mark.parametrize("n, n_pairs", [(2, 1), (7, 20), (40, 779), (41, 10), (10_000, 500), (3_000_000, 50)])
def test_random_pairs_are_distinct_pairs(n, n_pairs):
    pairs = random_pairs(n, n_pairs, 3)
    assert pairs.shape == (n_pairs, 2) and pairs.dtype == np.int64
    assert (pairs[:, 0] >= 0).all() and (pairs[:, 0] < pairs[:, 1]).all() and (pairs[:, 1] < n).all()
    assert len(np.unique(pairs, axis=0)) == n_pairs
    np.testing.assert_array_equal(pairs, random_pairs(n, n_pairs, 3))


def test_pairs_of_few_items():
    assert random_pairs(1).shape == (0, 2)
    assert random_pairs(4).tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    with pytest.raises(ValueError, match="n_pairs must be a whole number of at least 1; got 0"):
        random_pairs(10, 0)


def test_random_pairs_are_all_equally_likely():
    counts = np.zeros((6, 6))
    for seed in range(1500):
        for i, j in random_pairs(6, 5, seed):
            counts[i, j] += 1
    upper = counts[np.triu_indices(6, 1)]
    # Drawing without replacement makes counts vary less than a multinomial: the factor is (15 - 5) / 14.
    statistic = ((upper - 500) ** 2 / 500).sum() / (10 / 14)
    assert stats.chi2(14).sf(statistic) > 1e-4


def test_law_of_the_largest_score(rng):
    # E|Z| and E max(|Z1|, |Z2|) in closed form.
    assert expected_largest_z(1) == pytest.approx(math.sqrt(2 / math.pi), rel=1e-6)
    assert expected_largest_z(2) == pytest.approx(2 / math.sqrt(math.pi), rel=1e-6)
    assert math.isnan(expected_largest_z(0))
    largest = np.abs(rng.normal(size=(4000, 300))).max(axis=1)
    assert abs(largest.mean() - expected_largest_z(300)) < 4 * largest.std() / math.sqrt(4000)
    below = (largest < largest_z_quantile(300, 0.9)).mean()
    assert abs(below - 0.9) < 4 * math.sqrt(0.09 / 4000)


def test_values_by_hand():
    together = np.array([[1, 1, 1, 0], [0, 1, 0, 0]], dtype=bool)[:, :, None]
    result = pair_convergence(together)
    assert result["by_part"][:, 0].tolist() == [0.75, 0.25]
    assert result["discrepancy"].tolist() == [0.5]
    assert result["z"] == pytest.approx(0.5 / result["discrepancy_se"])


def test_ranks_of_indicators_change_nothing(rng):
    """R-hat and effective sample sizes are those of ArviZ, with and without rank normalisation."""
    x = indicators(rng, 4, 400, 12, 0.3, 0.6)
    result = pair_convergence(x)
    for k in range(12):
        draws = x[:, :, k].astype(float)
        assert result["rhat"][k] == pytest.approx(arviz_stats.rhat(draws, chain_axis=0, draw_axis=1), rel=1e-9)
        assert result["ess"][k] == pytest.approx(arviz_stats.ess(draws, chain_axis=0, draw_axis=1), rel=1e-9)
        mcse = arviz_stats.mcse(draws, chain_axis=0, draw_axis=1)
        assert result["mcse"][k] == pytest.approx(mcse, rel=1e-9)


@pytest.mark.parametrize("probability", [0.5, 0.1])
@pytest.mark.parametrize("stay", [0.0, 0.6, 0.9])
def test_standard_errors_are_those_of_markov_chains(rng, probability, stay):
    n_draws = 2000
    x = indicators(rng, 3, n_draws, 400, probability, stay)
    result = pair_convergence(x)
    # Asymptotic variance of the mean of a two-state chain with autocorrelations stay^k.
    variance = probability * (1 - probability) * (1 + stay) / (1 - stay) / n_draws
    assert np.mean(result["discrepancy_se"] ** 2) == pytest.approx(2 * variance, rel=0.07)
    assert np.mean(result["mcse"] ** 2) == pytest.approx(variance / 3, rel=0.07)
    z = (x[0].mean(axis=0) - x[1].mean(axis=0)) / result["discrepancy_se"]
    assert abs((z**2).mean() - 1) < 4 * math.sqrt(2 / 400) + 0.03


@pytest.mark.slow
@pytest.mark.parametrize("n_parts, stay", [(2, 0.5), (4, 0.0)])
def test_largest_score_is_calibrated_under_agreement(rng, n_parts, stay):
    n_pairs = 150
    largest = [pair_convergence(indicators(rng, n_parts, 500, n_pairs, 0.3, stay))["z"].max() for _ in range(16)]
    expected = expected_largest_z(n_pairs * n_parts * (n_parts - 1) // 2)
    error = np.std(largest) / 4
    # Differences between more than two chains are dependent, which makes the largest somewhat smaller.
    assert expected - 4 * error - (0.2 if n_parts > 2 else 0.0) < np.mean(largest) < expected + 4 * error + 0.05


def test_chains_of_one_law_agree_and_of_two_partitions_do_not(rng):
    one = np.repeat([0, 1, 2], 20)
    other = np.tile([0, 1, 2], 20)
    labels = np.stack([noisy(rng, one, 400) for _ in range(4)])
    result = nrm.stats.partition_convergence(as_draws(labels), random_seed=1)
    assert result.sizes["pair"] == 500 and result.attrs["parts"] == "chains"
    assert result.n_scores == 500 * 6
    assert result.max_z < largest_z_quantile(3000, 1 - 1e-4)
    assert result.max_rhat < 1.02 and result.min_ess > 800
    # Numbers and sizes of clusters agree but items differ, which only pairs reveal.
    labels[3] = noisy(rng, other, 400)
    result = nrm.stats.partition_convergence(as_draws(labels), random_seed=1)
    assert result.max_z > 10 and result.max_rhat > 1.1
    pair = result.isel(pair=int(result.max_discrepancy_pair))
    i, j = int(pair["item"]), int(pair["item_other"])
    assert (one[i] == one[j]) != (other[i] == other[j])
    assert float(result.max_discrepancy) == float(pair.discrepancy) == float(result.discrepancy.max())
    assert float(result.max_discrepancy_se) == float(pair.discrepancy_se)
    together = labels[:, :, i] == labels[:, :, j]
    np.testing.assert_allclose(pair.probability_by_part, together.mean(axis=1))
    assert float(pair.probability) == pytest.approx(together.mean())


def test_one_chain_is_compared_with_itself(rng):
    one, other = np.repeat([0, 1], 6), np.tile([0, 1], 6)
    labels = noisy(rng, one, 401)[None]
    result = nrm.stats.partition_convergence(as_draws(labels), random_seed=1)
    assert result.attrs["parts"] == "halves" and result.sizes["part"] == 2
    assert result.max_z < largest_z_quantile(int(result.n_scores), 1 - 1e-4)
    first = (labels[0, :200, 0] == labels[0, :200, 1]).mean()
    assert float(result.probability_by_part[0, 0]) == pytest.approx(first)
    labels[0, 201:] = noisy(rng, other, 200)
    result = nrm.stats.partition_convergence(as_draws(labels), random_seed=1)
    assert result.max_z > 6 and result.max_rhat > 1.2


def test_stuck_chains():
    labels = np.zeros((2, 50, 3), dtype=int)
    labels[1, :, 2] = 1
    result = nrm.stats.partition_convergence(as_draws(labels), random_seed=1)
    assert result.z[1:].values.tolist() == [np.inf, np.inf] and math.isnan(result.z[0])
    assert result.max_rhat == np.inf and result.max_discrepancy == 1.0 and result.max_discrepancy_se == 0.0
    assert result.n_constant == 1 and result.n_scores == 2


@pytest.mark.parametrize("shape", [(2, 30, 1), (2, 30, 5), (1, 30, 5), (2, 1, 5), (1, 1, 5), (1, 6, 5)])
def test_nothing_to_compare(shape):
    result = nrm.stats.partition_convergence(as_draws(np.zeros(shape, dtype=int)))
    assert result.sizes["pair"] == shape[2] * (shape[2] - 1) // 2
    assert result.n_scores == 0 and result.max_z_pair == -1
    assert np.isnan([result.max_z, result.max_rhat, result.min_ess, result.expected_max_z]).all()
    few = nrm.stats.partition_convergence(as_draws(np.random.default_rng(1).integers(2, size=(2, 3, 4))))
    assert np.isnan(few.z).all() and few.discrepancy.notnull().all()


def test_names_of_items(rng):
    draws = as_draws(rng.integers(2, size=(2, 20, 3)))
    assert "item_name" not in nrm.stats.partition_convergence(draws).coords
    assert pair_name(nrm.stats.partition_convergence(draws).isel(pair=1)) == "0, 2"
    named = nrm.stats.partition_convergence(draws.assign_coords(item=["a", "b", "c"]))
    assert named["item_name_other"].values.tolist() == ["b", "c", "c"]
    assert pair_name(named.isel(pair=1)) == "a, c"
    for unit in ("s", "us", "ns"):
        days = np.array(["2020-01-01", "2020-01-02T03:00", "2020-01-03"], f"datetime64[{unit}]")
        dated = nrm.stats.partition_convergence(draws.assign_coords({draws.dims[-1]: days}))
        assert [pair_name(dated.isel(pair=k)) for k in (0, 1)] == [
            "2020-01-01, 2020-01-02T03:00:00",
            "2020-01-01, 2020-01-03",
        ]
