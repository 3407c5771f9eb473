"""What results say about partitions whose labels index parameters."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.run.convergence_report import convergence_report
from pymc_nrm.stats.quantities import partition_quantities

SAMPLE = ("chain", "draw")


@pytest.fixture(scope="module")
def result():
    """Draws of two partitions with 2 and 3 slots, between which another one without slots has its step."""
    with pm.Model(coords={"site": list("abcde"), "cluster": range(2)}) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(2.0), dims="site", max_clusters="cluster")
        v = nrm.Partition("v", nrm.DirichletProcess(2.0), n=4)
        w = nrm.Partition("w", nrm.DirichletProcess(2.0), n=3, max_clusters=3)
        spread = pm.HalfNormal("spread")
        mean = pm.Normal("mean", 0, 1 + spread, dims="cluster")
        scale = pm.LogNormal("scale", 0, 1, dims="cluster")
        pm.Deterministic("double", 2 * mean)
        pm.Deterministic("named", mean**2, dims="cluster")
        pm.Deterministic("of_items", mean[z], dims="site")
        nrm.Mixture("counts", v, nrm.PoissonGamma(1.0, 0.1), observed=[0, 9, 0, 9])
        level = pm.Normal("level", 0, 1, shape=3)
        other = pm.Normal("other", 0, 1, shape=4)
        pm.Normal("x", mean[z] + other.sum(), scale[z], observed=np.arange(5.0), dims="site")
        pm.Normal("y", level[w], 1, observed=np.arange(3.0))
        steps = [nrm.SlotGibbs([w]), nrm.MarginalGibbs([v]), nrm.SlotGibbs([z])]
        options = {"tune": 10, "chains": 2, "cores": 1, "random_seed": 1, "progressbar": False}
        options["nuts"] = {"max_treedepth": 3}
        idata = nrm.sample(20, step=steps, compute_convergence_checks=False, **options)
    return model, idata


@pytest.mark.slow
def test_parameters_of_slots_are_marked(result):
    _, idata = result
    arrays = idata["posterior"].data_vars
    marks = {name: array.attrs["slots_of"] for name, array in arrays.items() if "slots_of" in array.attrs}
    assert marks == {"mean": "z", "scale": "z", "double": "z", "named": "z", "level": "w"}


@pytest.mark.slow
def test_shares_of_draws_with_all_slots(result):
    _, idata = result
    posterior = idata["posterior"]
    for name, n_slots in (("z", 2), ("w", 3)):
        share = float((posterior[f"{name}_n_clusters"] == n_slots).mean())
        assert 0 < share < 1
        used = partition_quantities(idata, name)["all_slots_used"]
        assert float(used.mean()) == share
        np.testing.assert_array_equal(idata["sample_stats"]["all_slots_used"].sel(partition=name), used)
        assert float(nrm.summary(idata, name, round_to="none").loc[f"{name}[all slots used]", "mean"]) == share
    assert not partition_quantities(idata, "v")["all_slots_used"].any()


def test_summary_leaves_out_what_switches_labels(result):
    _, idata = result
    rows = {row.split("[")[0] for row in nrm.summary(idata).index}
    assert rows == {"z", "v", "w", "spread", "other", "of_items"}
    assert "mean[0]" in nrm.summary(idata, ["mean"]).index
    assert "v[all slots used]" not in nrm.summary(idata).index
    assert {"mean", "double"}.isdisjoint(nrm.without_labels(idata)["posterior"].data_vars)


def test_report_judges_no_slots_and_warns_of_overflow(result):
    _, idata = result
    trees = {name: idata[f"partition_stats/{name}"] for name in ("z", "v", "w")}
    report = convergence_report(idata, trees)
    assert "  mean" not in report and "  level" not in report and "  scale" not in report
    share = 100 * float((idata["posterior"]["z_n_clusters"] == 2).mean())
    assert report.splitlines()[0] == (
        f"z used all 2 slots in {share:.3g}% of draws: this is the posterior given at most 2 clusters. "
        "Raise max_clusters."
    )
    # Three clusters of three items are no restriction.
    assert "w used all" not in report


def test_pymc_replicates_data_from_the_clusters_found(result):
    model, idata = result
    posterior = idata["posterior"].to_dataset().copy()
    posterior["scale"] = xr.full_like(posterior["scale"], 1e-9)
    drawn = pm.sample_posterior_predictive(
        xr.DataTree.from_dict({"posterior": posterior}), model=model, var_names=["x"], progressbar=False, random_seed=1
    )["posterior_predictive"]["x"]
    means = np.take_along_axis(posterior["mean"].values, posterior["z"].values, axis=2)
    np.testing.assert_allclose(drawn, means + posterior["other"].values.sum(axis=2, keepdims=True), atol=1e-7)


def test_loo_of_a_run(result):
    model, idata = result
    values = nrm.compute_log_likelihood(idata.copy(), model, var_name="z")["log_likelihood"]["x"]
    assert values.dims == (*SAMPLE, "site") and values["site"].values.tolist() == list("abcde")
    assert np.isfinite(values).all()
    assert values.var(SAMPLE).max() > 0


@pytest.mark.parametrize(("n_full", "warns"), [(0, False), (1, False), (2, True)])
def test_warning_from_one_draw_in_a_thousand_on(n_full, warns):
    full = np.zeros((2, 1000), dtype=bool)
    full[0, :n_full] = True
    quantities = {
        "n_clusters": (SAMPLE, np.where(full, 4, 3)),
        "largest_cluster": (SAMPLE, np.full(full.shape, 5)),
        "all_slots_used": (SAMPLE, full),
    }
    tree = xr.DataTree(xr.Dataset(quantities))
    tree["convergence"] = xr.DataTree(xr.Dataset(coords={"quantity": []}).assign(constant=("quantity", [])))
    x = np.random.default_rng(1).normal(size=full.shape)
    idata = xr.DataTree.from_dict({"posterior": xr.Dataset({"x": (SAMPLE, x)})})
    report = convergence_report(idata, {"z": tree})
    assert report.startswith("z used all 4 slots in 0.1% of draws") if warns else report == ""


def test_labels_that_are_not_kept_still_tell_of_overflow(caplog):
    with pm.Model():
        z = nrm.Partition("z", nrm.DirichletProcess(2.0), n=5, max_clusters=2)
        mean = pm.Normal("mean", 0, 1, shape=2)
        pm.Normal("x", mean[z], 1, observed=np.arange(5.0))
        nrm.sample(110, tune=5, chains=1, cores=1, random_seed=1, progressbar=False, label_storage="none")
    assert "z used all 2 slots in" in caplog.text
