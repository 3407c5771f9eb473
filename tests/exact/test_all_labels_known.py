"""Partitions of which all labels are known: observed, not sampled, and with the posterior of ``observed``."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from scipy import stats

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from tests.helpers import refused

SPECIES = ["oak", "elm", "oak", "ash", "oak", "elm"]
CODES = np.array([0, 1, 0, 2, 0, 1])
WAYS = {
    "codes": {"observed": [7, 3, 7, 1, 7, 3]},
    "text": {"observed": SPECIES},
    "categories": {"observed": pd.Categorical(SPECIES)},
    "known": {"known": SPECIES},
    "known codes": {"known": CODES},
    "only known": {"known": pd.Series(SPECIES, index=list("uvwxyz")), "only_known": True},
    "known and observed": {"known": SPECIES, "observed": CODES},
    "known and start": {"known": SPECIES, "initval": CODES},
}


def pitman_yor(**options):
    with pm.Model(coords={"tree": range(6)}) as model:
        measure = nrm.PitmanYorProcess(discount=pm.Beta("sigma", 1, 2), concentration=pm.Gamma("theta", 2, 1))
        nrm.Partition("z", measure, dims="tree", **options)
    return model


@pytest.mark.parametrize("way", WAYS)
def test_the_partition_is_observed(way, caplog):
    caplog.set_level("INFO")
    model = pitman_yor(**WAYS[way])
    lines = [record.message for record in caplog.records if "z" in record.message]
    told = "All 6 labels of Partition 'z' are known, 3 clusters: it is observed, and not sampled."
    assert lines == [told] * ("known" in WAYS[way])
    assert [rv.name for rv in model.observed_RVs] == ["z"]
    assert [rv.name for rv in model.free_RVs] == ["sigma", "theta"]
    # The density at a point is the prior times the probability of the partition.
    for theta, sigma in [(0.3, 0.1), (5.0, 0.7)]:
        point = {"theta_log__": np.array(np.log(theta)), "sigma_logodds__": np.log(sigma / (1 - sigma))}
        expected = log_eppf(nrm.PitmanYorProcess(discount=sigma, concentration=theta), np.array([3, 2, 1]))
        assert model.point_logps(point, round_vals=12)["z"] == pytest.approx(expected)


@pytest.mark.parametrize("unknown", [None, -1, np.nan])
def test_one_unknown_label_is_sampled(unknown):
    model = pitman_yor(known=[*SPECIES[:-1], unknown])
    assert [rv.name for rv in model.free_RVs] == ["sigma", "theta", "z"]


@pytest.mark.slow
def test_hyperparameters_have_the_posterior_by_quadrature():
    n, labels = 400, np.repeat(np.arange(40), 10)
    with pm.Model():
        alpha = pm.Gamma("alpha", 2, 0.5)
        nrm.Partition("z", nrm.DirichletProcess(alpha), known=[f"species {k}" for k in labels], only_known=True)
        idata = nrm.sample(2000, tune=500, chains=2, cores=1, random_seed=1, quiet=True, progressbar=False)
    grid = np.linspace(1e-3, 60, 6000)
    log_p = stats.gamma.logpdf(grid, 2, scale=2)
    log_p += [log_eppf(nrm.DirichletProcess(float(value)), np.full(40, 10)) for value in grid]
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean, draws = p @ grid, idata.posterior["alpha"].values
    error = np.sqrt(p @ (grid - mean) ** 2 / (draws.size / 8))
    assert abs(draws.mean() - mean) < 4.5 * error
    assert "z" not in idata.posterior and idata.observed_data["z"].shape == (n,)
    assert "point_estimate" not in str(nrm.convergence_report(idata))
    np.testing.assert_array_equal(nrm.point_estimate(idata, progressbar=False)["labels"], labels)


def classes():
    labels = np.repeat(["c", "a", "b"], 5)
    x = np.random.default_rng(1).normal(size=15) + 9.0 * (labels == "a") - 9.0 * (labels == "b")
    return pd.DataFrame({"x": x, "species": labels})


def test_results_have_the_known_clusters():
    """Descriptions and pictures of a model whose draws hold no labels."""
    with pm.Model(coords={"row": range(15)}) as model:
        alpha = pm.Gamma("alpha", 1, 1)
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), known=classes()["species"], dims="row")
        nrm.Mixture("x", z, nrm.NormalGamma(0.0, 0.1, 2.0, 1.0), observed=classes()["x"])
    draws = xr.Dataset({"alpha": (("chain", "draw"), [[0.5, 1.0, 2.0]])})
    description = nrm.describe(draws, model)
    assert description.title == "15 rows in 3 clusters"
    assert description.table["cluster", "size"].tolist() == [5, 5, 5]
    expected = classes().groupby("species")["x"].mean()[["c", "a", "b"]]
    np.testing.assert_allclose(description.table["x", "mean"], expected)
    predicted = nrm.cluster_probabilities(draws, model, [0.0, 9.0, -9.0], progressbar=False)
    assert predicted["labels"].values.tolist() == [0, 1, 2]


@pytest.mark.slow
def test_a_run_keeps_labels_as_data():
    model = nrm.mixture_model(classes(), known="species", covariance="diagonal")
    idata = nrm.sample(40, tune=40, chains=2, cores=1, random_seed=2, quiet=True, progressbar=False, model=model)
    assert "z" not in idata.posterior
    for draws in (idata, nrm.stats.partition_draws(idata), nrm.stats.partition_draws(idata, "z")):
        estimate = nrm.point_estimate(draws, progressbar=False)["labels"]
        assert estimate.dims == ("item",) and estimate.values.tolist() == np.repeat([0, 1, 2], 5).tolist()
    assert not nrm.summary(idata).index.str.startswith("z[").any()
    nrm.plots.plot_clusters(idata, classes()[["x"]], model=model, backend="none")
    for only_known in (False, True):
        fitted = nrm.MixtureEstimator(draws=40, tune=40, chains=2, cores=1, random_state=1, only_known=only_known)
        fitted.fit(classes()[["x"]], classes()["species"])
        assert fitted.labels_.tolist() == classes()["species"].tolist()
        assert fitted.predict(classes()[["x"]]).tolist() == classes()["species"].tolist()


test_wrong_labels = refused(
    lambda options: nrm.Partition("z", nrm.DirichletProcess(1.0), **options),
    ({"known": ["a", "b"], "observed": [0, 0]}, "observed of .* known labels 'b' and 'a', and the labels 0 and 0"),
    ({"known": ["a", "b"], "initval": [0, 0]}, "initval of .* known labels 'b' and 'a', and the labels 0 and 0"),
    ({"known": ["a", "b"], "n": 3}, "known of .* must have one row for each of the 3 items"),
    ({"observed": ["a", None, "b"]}, "observed of .* a label for every item; got 1 missing of 3. The argument known"),
    ({"observed": ["a", "b"], "n": 3}, "observed of .* must hold one label for each of 3 items; got 2"),
    ({"observed": ["a", 1.5]}, TypeError, "observed of .* must be whole numbers or strings; got 1.5"),
    ({"observed": ["a", "b"], "max_clusters": 3}, TypeError, "observed of .* must be real numbers; got text"),
    within=pm.Model,
)
