"""The table of parameters and partitions, and whether the data tell clusters apart."""

import itertools
import warnings

import arviz_stats
import numpy as np
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.run.convergence_report import convergence_report
from pymc_nrm.stats import adjusted_rand, partition_quantities
from tests.helpers import in_order, result_of

SAMPLE = ("chain", "draw")
COLUMNS = ["mean", "sd", "eti89_lb", "eti89_ub", "ess_bulk", "ess_tail", "r_hat", "mcse_mean", "mcse_sd"]


def make_labels(rng, n_chains, n_draws, n):
    labels = np.zeros((n_chains, n_draws, n), dtype=int)
    for i in range(1, n):
        highest = labels[:, :, :i].max(axis=2)
        labels[:, :, i] = rng.integers(np.minimum(highest, 2) + 2)
    return labels


def make_idata(n_chains=3, n_draws=80, n=5):
    rng = np.random.default_rng(4)
    z, w = make_labels(rng, n_chains, n_draws, n), make_labels(rng, n_chains, n_draws, 3)
    posterior = {
        "x": (SAMPLE, rng.normal(size=(n_chains, n_draws))),
        "z": ((*SAMPLE, "city"), z),
        "z_n_clusters": (SAMPLE, z.max(axis=2) + 1),
        "w": ((*SAMPLE, "w_dim_0"), w),
        "beta": ((*SAMPLE, "side"), rng.normal(size=(n_chains, n_draws, 2))),
    }
    coords = {"chain": np.arange(n_chains), "draw": np.arange(n_draws), "city": list("abcde")[:n], "side": ["l", "r"]}
    return xr.DataTree.from_dict({"posterior": xr.Dataset(posterior, coords)})


def test_rows_and_columns():
    idata = make_idata()
    table = nrm.summary(idata)
    assert table.columns.tolist() == COLUMNS
    names = table.index.tolist()
    assert names[:5] == ["z[n_clusters]", "z[entropy]", "z[size 1]", "z[size 2]", "z[size 3]"]
    # One pair is the worst in both ways.
    assert names[5] == "z[worst R-hat and z: b, c]" and names[6] == "w[n_clusters]"
    assert names[11].startswith("w[worst R-hat: ") and names[12].startswith("w[largest z: ") and len(names) == 16
    # Scalars come before arrays, whatever the order of the model.
    assert names[13:] == ["x", "beta[l]", "beta[r]"]
    variables = idata["posterior"].data_vars
    other = xr.Dataset({name: variables[name] for name in ("beta", "x", "w", "z")})
    assert nrm.summary(other).index.tolist() == [*names[6:13], *names[:6], *names[13:]]
    assert not {"z[a]", "z_n_clusters", "w[0]"} & set(names)
    assert table.notna().all(axis=None)


def test_values_are_those_of_arviz_and_of_the_diagnostics():
    idata = make_idata()
    table = nrm.summary(idata, n_sizes=1)
    posterior = idata["posterior"].to_dataset()
    expected = arviz_stats.summary(posterior, var_names=["x", "beta", "z_n_clusters"]).astype(float)
    for row, name in (("x", "x"), ("beta[r]", "beta[r]"), ("z[n_clusters]", "z_n_clusters")):
        np.testing.assert_allclose(table.loc[row].astype(float), expected.loc[name])
    quantities = partition_quantities(idata, "z")
    assert float(table.loc["z[entropy]", "mean"]) == pytest.approx(float(quantities["entropy"].mean()))
    assert float(table.loc["z[size 1]", "mean"]) == pytest.approx(float(quantities["largest_cluster"].mean()))
    pairs = nrm.stats.partition_convergence(idata, "z")
    worst = pairs.isel(pair=int(np.argmax(pairs["rhat"].values)))
    pair = f"{worst['item_name'].item()}, {worst['item_name_other'].item()}"
    row = table.loc[f"z[worst R-hat and z: {pair}]"].astype(float)
    assert row["mean"] == pytest.approx(float(worst.probability))
    assert row["r_hat"] == pytest.approx(float(worst.rhat)) and row["mcse_mean"] == pytest.approx(float(worst.mcse))


@pytest.mark.slow
@pytest.mark.parametrize("select", [{"draw": slice(None, None, 3)}, {"chain": [1]}, {"chain": 1}], ids=str)
def test_old_diagnostics_are_not_shown(select):
    fresh = make_idata()
    with_group = nrm.stats.add_diagnostics(make_idata()).isel(select)
    assert nrm.summary(with_group).equals(nrm.summary(fresh.isel(select)))
    assert not nrm.summary(with_group).equals(nrm.summary(fresh))


def test_names_and_arguments():
    idata = make_idata()
    assert nrm.summary(idata, "x").index.tolist() == ["x"]
    assert nrm.summary(idata, ["w", "x"], n_sizes=0).index[:2].tolist() == ["w[n_clusters]", "w[entropy]"]
    assert nrm.summary(idata, ["beta", "w", "x"], n_sizes=0).index[[0, 2, -1]].tolist() == [
        "beta[l]",
        "w[n_clusters]",
        "x",
    ]
    assert "z_n_clusters" in nrm.summary(idata, ["z_n_clusters"]).index
    assert nrm.summary(idata, "x", kind="stats", ci_prob=0.5).columns.tolist() == ["mean", "sd", "eti50_lb", "eti50_ub"]
    assert nrm.summary(idata["posterior"].to_dataset()).equals(nrm.summary(idata))
    with pytest.raises(ValueError, match=r"var_names must be in the posterior, \['x', 'z'.*; got 'y'"):
        nrm.summary(idata, ["x", "y"])
    with pytest.raises(ValueError, match="n_sizes must be a whole number of at least 0; got -1"):
        nrm.summary(idata, n_sizes=-1)


@pytest.mark.filterwarnings("error::FutureWarning")
def test_constant_partitions_and_few_draws():
    idata = make_idata()
    idata["posterior"]["z"] = idata["posterior"]["z"] * 0
    rows = [name for name in nrm.summary(idata).index if name.startswith("z[")]
    assert rows == ["z[n_clusters]", "z[entropy]", "z[size 1]"]
    few = nrm.summary(make_idata(n_chains=1, n_draws=3))
    assert "z[n_clusters]" in few.index


SENTENCE = "The clusters of z overlap almost completely"


def draws_of_two_gaussians(rng, distance, n=120):
    """Independent draws of labels given Gaussians with known parameters, equal weights and a distance in sd."""
    x = rng.normal(size=n) + distance * (np.arange(n) % 2 - 0.5)
    return rng.random((2, 300, n)) < 1 / (1 + np.exp(-distance * x))


def singletons(rng, n=120):
    """One cluster, from which another item is missing in each draw."""
    return np.arange(n) == rng.integers(n, size=(2, 300, 1))


def prior_draws(rng, n=120, alpha=3.0):
    labels = np.zeros((2, 300, n), dtype=int)
    for i, chain, draw in itertools.product(range(1, n), range(2), range(300)):
        row = labels[chain, draw]
        row[i] = row[:i].max() + 1 if rng.random() < alpha / (alpha + i) else row[rng.integers(i)]
    return labels


def as_tree(labels):
    return result_of(z=in_order(labels))


def test_agreement_is_the_adjusted_rand_index_between_draws(rng):
    idata = as_tree(draws_of_two_gaussians(rng, 2.5, n=60))
    rows = idata["posterior"]["z"].values.reshape(600, 60)
    index = adjusted_rand(rows, rows[rng.permutation(600)])
    error = index.std() / np.sqrt(600)
    found = nrm.stats.partition_convergence(idata, n_pairs=60 * 59 // 2).draw_agreement
    # Agreement is a ratio of means, the index a mean of ratios: they differ by about 1 / n.
    assert float(found) == pytest.approx(index.mean(), abs=4 * error + 1 / 60)


@pytest.mark.quick("overlap")
@pytest.mark.parametrize(
    ("make", "speaks"),
    [
        (prior_draws, True),
        (lambda rng: draws_of_two_gaussians(rng, 1.0), True),
        (lambda rng: draws_of_two_gaussians(rng, 3.0), False),
        (lambda rng: np.broadcast_to(np.arange(120) % 3, (2, 300, 120)), False),
        (lambda rng: np.zeros((2, 300, 120), dtype=int), False),
        (singletons, False),
    ],
    ids=["prior", "overlap", "apart", "certain", "one", "singletons"],
)
def test_who_is_told(rng, make, speaks):
    idata = nrm.stats.add_diagnostics(as_tree(make(rng)), random_seed=1)
    text = convergence_report(idata, idata["partition_stats"].children)
    assert (SENTENCE in text) == speaks
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nrm.summary(idata)
    assert any(SENTENCE in str(warning.message) for warning in caught) == speaks


def test_chains_with_clusters_of_their_own(rng):
    """What each chain is certain of is told apart, however many chains disagree."""
    chains = np.stack([rng.permutation(np.arange(120) % 3) for _ in range(8)])
    idata = nrm.stats.add_diagnostics(as_tree(np.repeat(chains[:, None], 200, axis=1)), random_seed=1)
    text = convergence_report(idata, idata["partition_stats"].children)
    assert "chains disagree" in text and SENTENCE not in text
