"""What titles of descriptions say of how many clusters there are."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.posterior.number_of_clusters import clusters_overlap_in, number_of_clusters, shortest_interval

ONE, TWO, THREE = [0] * 6, [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2]


def draws_of(*labels):
    return xr.DataArray(np.array([labels]), dims=("chain", "draw", "item"), name="z")


def title(estimate, *labels, **words):
    return number_of_clusters(np.array(estimate), draws_of(*labels), 0.8).title("6 rows", **words)


@pytest.mark.parametrize(
    ("estimate", "labels", "expected"),
    [
        (TWO, [TWO] * 4, "6 rows in 2 clusters (in all draws)"),
        (TWO, [TWO] * 9 + [THREE], "6 rows in 2 clusters (in 90 % of draws)"),
        (TWO, [TWO] * 6 + [THREE] * 4, "6 rows in 2 clusters (2 to 3 in all draws)"),
        (THREE, [TWO] * 9 + [THREE], "6 rows in 3 clusters (2 in 90 % of draws)"),
        (TWO, [TWO], "6 rows in 2 clusters"),
        (ONE, [ONE] * 9 + [THREE], "One group describes these 6 rows (probability 0.90; in 90 % of draws)"),
        (ONE, [ONE, TWO, TWO, THREE], "One group describes these 6 rows (probability 0.25; 1 to 3 in all draws)"),
        (ONE, [ONE], "One group describes these 6 rows"),
        (TWO, [ONE, ONE, TWO], "One group is likely (probability 0.67); 6 rows in 2 clusters (1 to 2 in all draws)"),
    ],
)
def test_titles(estimate, labels, expected):
    assert title(estimate, *labels) == expected


def test_words_of_other_descriptions():
    assert title(TWO, TWO, TWO, noun="regime", group="regime", further="more") == (
        "6 rows in 2 regimes (in all draws; more)"
    )
    assert title(ONE, ONE, ONE, noun="regime", group="regime").startswith("One regime describes these 6 rows (prob")


def test_the_interval_is_the_shortest_with_the_probability():
    rng = np.random.default_rng(1)
    for _ in range(200):
        counts, probability = rng.integers(1, 9, rng.integers(1, 30)), rng.uniform(0.1, 1.0)
        low, high = shortest_interval(counts, probability)
        shares = {(a, b): ((a <= counts) & (counts <= b)).mean() for a in set(counts) for b in set(counts) if a <= b}
        wide_enough = {ends: share for ends, share in shares.items() if share >= probability - 1e-9}
        width = min(b - a for a, b in wide_enough)
        best = max(share for (a, b), share in wide_enough.items() if b - a == width)
        assert high - low == width and shares[low, high] == best


def test_descriptions_say_that_clusters_overlap():
    rng = np.random.default_rng(1)
    df = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"])
    model = nrm.mixture_model(df)
    random = rng.integers(2, size=(2, 200, 30))
    noise = xr.Dataset({"z": (("chain", "draw", "item"), np.where(random == random[..., :1], 0, 1))})
    clear = xr.Dataset({"z": (("chain", "draw", "item"), np.tile(np.repeat([0, 1], 15), (2, 200, 1)))})
    estimate = np.repeat([0, 1], 15)
    assert "clusters overlap almost completely" in " ".join(str(nrm.describe(noise, model, estimate)).split())
    assert "overlap" not in str(nrm.describe(clear, model, estimate))
    assert clusters_overlap_in(noise["z"]) and not clusters_overlap_in(clear["z"])
