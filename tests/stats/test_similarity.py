"""Posterior similarity and what each item loses in an estimate, against counts pair by pair."""

import numpy as np
import pytest
import xarray as xr
from helpers import in_order

from pymc_nrm.stats import assignment_uncertainty, point_estimate, similarity, similarity_rows


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
    part = similarity(draws, items=few)
    np.testing.assert_allclose(part, naive(chosen))
    assert part.gene.values.tolist() == part.gene_other.values.tolist() == few
    if n <= 400:
        np.testing.assert_allclose(similarity(draws), naive(draws))


def test_coordinates_and_blocks(rng):
    draws = random_draws(rng)
    whole = similarity(draws)
    assert whole.dims == ("gene", "gene_other") and whole.name == "similarity"
    assert set(whole.coords) == {"gene", "length", "gene_other", "length_other"}
    np.testing.assert_array_equal(whole, whole.T)
    np.testing.assert_array_equal(np.diag(whole), 1)
    for block_size in (1, 7, 30, None):
        blocks = list(similarity_rows(draws, block_size=block_size))
        assert all(len(block) <= (block_size or 30) for block in blocks)
        xr.testing.assert_identical(xr.concat(blocks, "gene", data_vars=None), whole)
    rows = xr.concat(similarity_rows(draws, items=["g7", "g3"], block_size=1), "gene", data_vars=None)
    xr.testing.assert_identical(rows, whole.sel(gene=["g7", "g3"]))


def test_items_without_coordinates_are_positions(rng):
    draws = random_draws(rng).drop_vars(["gene", "length"])
    np.testing.assert_allclose(similarity(draws, items=[4, 2]), naive(draws)[np.ix_([4, 2], [4, 2])])
    assert not similarity(draws).coords


@pytest.mark.parametrize(
    ("function", "kwargs", "message"),
    [
        (similarity, {"items": []}, "items must be a sequence of at least one item"),
        (similarity, {"items": ["g1", "h2"]}, "items must be values of 'gene'; got 'h2'"),
        (similarity_rows, {"block_size": 0}, "block_size must be a whole number of at least 1; got 0"),
        (similarity_rows, {"block_size": 1.5}, "block_size must be a whole number of at least 1; got 1.5"),
        (similarity, {"var_name": "y"}, "var_name must be"),
    ],
)
def test_errors(function, kwargs, message, rng):
    with pytest.raises(ValueError, match=message):
        function(random_draws(rng), **kwargs)


@pytest.mark.parametrize("items", [xr.Dataset(), xr.DataTree(), [["g1"], ["g2", "g3"]]])
def test_items_that_are_no_array(items, rng):
    with pytest.raises(TypeError, match="items must be a sequence of values of 'gene'; got"):
        similarity(random_draws(rng), items=items)


def test_assignment_uncertainty(rng):
    draws = random_draws(rng, n=12)
    rows = draws.values.reshape(-1, 12)
    together = naive(draws)
    for labels in (rng.integers(4, size=12), np.arange(12), np.zeros(12, dtype=int), [0] * 11 + [1]):
        found = assignment_uncertainty(draws, labels)
        for item in range(12):
            others = [j for j in range(12) if labels[j] == labels[item] and j != item]
            alone = np.mean([np.sum(row == row[item]) == 1 for row in rows])
            expected = 1 - together[item, others].mean() if others else 1 - alone
            assert found[item] == pytest.approx(expected, abs=1e-12)
    assert found.dims == ("gene",) and set(found.coords) == {"gene", "length"}
    estimate = point_estimate(draws, random_seed=1)
    xr.testing.assert_identical(assignment_uncertainty(draws, random_seed=1), assignment_uncertainty(draws, estimate))
    certain = draws.isel(chain=[0], draw=[0] * 3)
    assert (assignment_uncertainty(certain, certain.values[0, 0]) == 0).all()
