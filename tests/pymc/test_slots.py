"""Partitions whose labels index parameters: values, errors, runs, and what results say of them."""

import itertools
import logging
import pickle
import subprocess
import sys

import cloudpickle
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import stats

import pymc_nrm as nrm
from pymc_nrm.measures import base
from pymc_nrm.models.itemwise.local_variables import EmptySlots
from pymc_nrm.models.marginal_likelihood import MarginalLikelihood
from pymc_nrm.models.own_step import OfOwnStep
from pymc_nrm.run.convergence_report import convergence_report
from pymc_nrm.stats import partition_quantities
from pymc_nrm.steps.nuts_step import MODELS_WITH_OWN_NUTS
from tests.helpers import canonical_labels
from tests.tools.same_results import assert_same, stop_at

CHEAP = {"mode": "FAST_COMPILE"}


def normal_model(K=4, n=5, measure=None):
    with pm.Model() as model:
        z = nrm.Partition("z", measure or nrm.DirichletProcess(1.0), n=n, max_clusters=K)
        mean = pm.Normal("mean", 0, 2, shape=K)
        pm.Normal("y", mean[z], 1, observed=np.linspace(-2, 2, n))
    return model


@pytest.mark.parametrize("K", [2, 3, 5])
def test_probabilities_of_slots_share_those_of_partitions(K):
    measure = nrm.NormalizedGeneralizedGamma(0.8, 0.4)
    with pm.Model() as model:
        nrm.Partition("z", measure, n=3, max_clusters=K)
    log_p = model.compile_logp(**CHEAP)
    total = {}
    for slots in itertools.product(range(K), repeat=3):
        labels = tuple(canonical_labels(np.array(slots)).tolist())
        total[labels] = total.get(labels, 0.0) + np.exp(log_p({"z": np.array(slots)}))
    for labels, p in total.items():
        assert p == pytest.approx(np.exp(base.log_eppf(measure, np.bincount(labels))), rel=1e-6)
    assert len(total) == {2: 4, 3: 5, 5: 5}[K]
    for wrong in ([0, 0, K], [-1, 0, 0]):
        assert log_p({"z": np.array(wrong)}) == -np.inf


@pytest.mark.slow
def test_a_prior_with_too_many_clusters_gives_an_error():
    labels = nrm.Partition.dist(nrm.DirichletProcess(1e6), 30, max_clusters=2)
    for mode in ("NUMBA", CHEAP["mode"]):
        with pytest.raises(ValueError, match="has at most max_clusters=2 clusters: raise max_clusters"):
            pm.draw(labels, mode=mode)


def test_suggested_number_of_slots():
    measure = nrm.PitmanYorProcess(0.3, 1.0)
    p = np.exp(base.n_clusters_log_pmf(measure, 50))
    for tail in (0.3, 1e-3, 1e-9):
        K = nrm.recipes.suggest_max_clusters(measure, 50, tail=tail)
        assert p[K:].sum() <= tail < p[K - 1 :].sum()
    assert nrm.recipes.suggest_max_clusters(measure, 3, tail=1e-12) == 3
    with pytest.raises(ValueError, match="tail must be between 0 and 1; got 2"):
        nrm.recipes.suggest_max_clusters(measure, 3, tail=2)
    with pm.Model():
        alpha = pm.Gamma("alpha", 1, 1)
        with pytest.raises(ValueError, match="alpha of the measure must be a number"):
            nrm.recipes.suggest_max_clusters(nrm.DirichletProcess(alpha), 3)


def test_parameters_of_empty_slots_have_their_prior():
    K = 200
    with pm.Model() as model:
        nrm.Partition("z", nrm.DirichletProcess(1.0), n=3, max_clusters=K)
        tau = pm.HalfNormal("tau", 1)
        scale = pm.Gamma("scale", 2, 3, shape=K)
        pm.Normal("mean", 1, tau * scale, shape=K)
        pm.Uniform("share", -1, 3, shape=K)
    slots = EmptySlots(model, [model[name] for name in ("scale", "mean", "share")], CHEAP)
    slots.reseed(np.random.default_rng(1))
    point = model.initial_point() | {"tau_log__": np.array(np.log(1.7))}
    empty = np.arange(K) >= 2
    drawn = [slots.redraw(point, empty) for _ in range(20)]
    for before, after in itertools.pairwise(drawn):
        assert (before["mean"][2:] != after["mean"][2:]).all()
    for name in ("scale_log__", "mean", "share_interval__"):
        assert all((one[name][:2] == point[name][:2]).all() for one in drawn)
    scale = np.exp(np.array([one["scale_log__"][2:] for one in drawn])).ravel()
    mean = np.array([one["mean"][2:] for one in drawn]).ravel()
    share = -1 + 4 / (1 + np.exp(-np.array([one["share_interval__"][2:] for one in drawn]).ravel()))
    assert stats.kstest(scale, stats.gamma(2, scale=1 / 3).cdf).pvalue > 1e-4
    assert stats.kstest((mean - 1) / (1.7 * scale), stats.norm.cdf).pvalue > 1e-4
    assert stats.kstest(share, stats.uniform(-1, 4).cdf).pvalue > 1e-4
    state = slots.state
    first = slots.redraw(point, empty)
    slots.state = state
    assert (slots.redraw(point, empty)["mean"] == first["mean"]).all()


def test_steps_refuse_partitions_of_the_other_kind():
    with normal_model() as model:
        for step in (nrm.steps.TreeGuided, nrm.steps.MarginalGibbs, nrm.steps.SplitMerge, nrm.steps.SliceSampler):
            with pytest.raises(ValueError, match="must be a Partition without max_clusters"):
                step([model["z"]])
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
        with pytest.raises(ValueError, match="SlotGibbs must be a Partition with max_clusters; 'z' is one"):
            nrm.steps.SlotGibbs([z])
        pm.Normal("mean")
        with pytest.raises(ValueError, match="has a Partition with max_clusters or .* max_states; it has none"):
            nrm.steps.SlotNUTS()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_sweeps", 0),
        ("mean_empty", 0.0),
        ("mean_empty", "2"),
        *(("max_clusters", K) for K in (0, 2.5, "other", True)),
    ],
)
def test_options_are_checked(name, value):
    with pytest.raises(ValueError, match=f"{name}( of Partition 'z')? must"):
        model = normal_model(value if name == "max_clusters" else 4)
        nrm.steps.SlotGibbs([model["z"]], **{name: value}, compile_kwargs=CHEAP, model=model)


@pytest.mark.parametrize("labels", [[0, 1, 3], [0, -1, 2], [0, 0.5, 1], [0, 1]])
def test_labels_of_users_are_slots(labels):
    with pm.Model(coords={"cluster": range(3)}) as model:
        for argument in ("initval", "observed"):
            with pytest.raises(ValueError, match=f"{argument} of Partition 'z' must"):
                nrm.Partition("z", nrm.DirichletProcess(1.0), n=3, max_clusters="cluster", **{argument: labels})
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3, max_clusters="cluster", initval=[2, 0, 2])
        mean = pm.Normal("mean", dims="cluster")
        pm.Normal("y", mean[z], observed=[1.0, 2.0, 3.0])
    assert model.initial_point()["z"].tolist() == [2, 0, 2]
    with pytest.raises(ValueError, match=r"initvals\['z'\] must"):
        nrm.sample(1, model=model, initvals={"z": labels})


def test_stock_nuts_gets_a_hint(caplog):
    with normal_model(), caplog.at_level(logging.WARNING, logger="pymc_nrm"):
        pm.sample(2, tune=2, chains=1, cores=1, progressbar=False, quiet=True, compute_convergence_checks=False)
    assert sum("nrm.sample chooses SlotNUTS" in message for message in caplog.messages) == 1
    caplog.clear()
    with normal_model(), caplog.at_level(logging.WARNING, logger="pymc_nrm"):
        idata = nrm.sample(20, tune=20, chains=2, cores=1, random_seed=1, progressbar=False)
    assert not any("SlotNUTS" in message for message in caplog.messages)
    assert idata.posterior["z"].dtype == np.int64
    assert (idata.posterior["z_n_clusters"] == idata.sample_stats["n_clusters"]).all()


def test_impossible_starts_name_item_and_parameters():
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3, max_clusters=2)
        top = pm.HalfNormal("top", 1, shape=2)
        pm.Potential("bound", pm.math.switch(top[z] > np.array([0.0, 0.0, 9.0]), 0.0, -np.inf))
        step = nrm.steps.SlotGibbs([z], compile_kwargs=CHEAP)
    with pytest.raises(
        pm.exceptions.SamplingError, match=r"'bound' has log density -inf for item 2, whose slot has top_log__\[0\]"
    ):
        step.step(model.initial_point())


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
        steps = [nrm.steps.SlotGibbs([w]), nrm.steps.MarginalGibbs([v]), nrm.steps.SlotGibbs([z])]
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


@pytest.mark.slow
def test_summary_leaves_out_what_switches_labels(result):
    _, idata = result
    rows = {row.split("[")[0] for row in nrm.summary(idata).index}
    assert rows == {"z", "v", "w", "spread", "other", "of_items"}
    assert "mean[0]" in nrm.summary(idata, ["mean"]).index
    assert "v[all slots used]" not in nrm.summary(idata).index
    assert {"mean", "double"}.isdisjoint(nrm.stats.without_labels(idata)["posterior"].data_vars)


def test_report_judges_no_slots_and_warns_of_overflow(result):
    _, idata = result
    trees = {name: idata[f"partition_stats/{name}"] for name in ("z", "v", "w")}
    report = convergence_report(idata, trees, nuts=())
    assert "  mean" not in report and "  level" not in report and "  scale" not in report
    share = 100 * float((idata["posterior"]["z_n_clusters"] == 2).mean())
    assert report.startswith(f"z used all 2 slots in {share:.3g}% of draws: ") and "max_clusters" in report
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
    assert report.startswith("z used all 4 slots in 0.1% of draws") == warns and report.endswith("fine.") != warns


def test_labels_that_are_not_kept_still_tell_of_overflow(caplog):
    options = {"tune": 5, "chains": 1, "cores": 1, "random_seed": 1, "progressbar": False, "label_storage": "none"}
    nrm.sample(110, model=normal_model(2, measure=nrm.DirichletProcess(2.0)), **options)
    assert "z used all 2 slots in" in caplog.text


CHEAP_RUN = {"compile_kwargs": {"mode": "FAST_COMPILE"}}
OPTIONS = {"tune": 8, "chains": 2, "random_seed": 5, "quiet": True, "progressbar": False, **CHEAP_RUN}
SUBJECT = np.array([0, 0, 1, 1, 2, 2, 3, 3, 3])
X_OF_ROWS, SLOPES = np.linspace(-1, 1, 9), np.array([2, 1, -1, 0, 1, 1, 0, -2, 1])


def make_subjects(n=4, K=5):
    with pm.Model(coords={"cluster": range(K)}) as model:
        subject, x = pm.Data("subject", SUBJECT), pm.Data("x", X_OF_ROWS)
        alpha = pm.Gamma("alpha", 2, 2)
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), n=n, max_clusters="cluster")
        tau = pm.HalfNormal("tau", 1)
        slope = pm.Normal("slope", 0, tau, dims="cluster")
        pm.Normal("y", slope[z][subject] * x, 0.5, observed=SLOPES * X_OF_ROWS, shape=x.shape)
    return model


@pytest.fixture(scope="module")
def reference():
    return nrm.sample(20, model=make_subjects(), cores=1, **OPTIONS)


@pytest.mark.slow
def test_unpickled_steps_are_known():
    """So that workers of a client warn of nothing."""
    step = cloudpickle.loads(cloudpickle.dumps(nrm.steps.SlotNUTS(model=make_subjects())))
    assert step._model in MODELS_WITH_OWN_NUTS


@pytest.mark.slow
@pytest.mark.parametrize(
    "op", [OfOwnStep("z"), MarginalLikelihood(nrm.PoissonGamma, np.ndarray)], ids=lambda op: type(op).__name__
)
def test_unpickled_operations_are_compiled(op):
    """In a process that is not forked; PyTensor would call them as Python functions, which is slow, and warn."""
    load = "import sys, pickle; pickle.load(sys.stdin.buffer)"
    code = f"{load}; print(sys.modules['pymc_nrm.kernels.kernel_op'].register_numba.cache_info())"
    found = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(op), capture_output=True)
    assert b"currsize=1" in found.stdout, found.stderr.decode()


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on(reference, tmp_path):
    settings = {"checkpoint": tmp_path / "run", "seconds_between_checkpoints": 0, "callback": stop_at(1, 22)}
    part = nrm.sample(20, model=make_subjects(), cores=1, **settings, **OPTIONS)
    assert part.posterior.sizes["chain"] * part.posterior.sizes["draw"] < 40
    assert_same(reference, nrm.resume(tmp_path / "run", model=make_subjects(), cores=1, quiet=True))


def test_options_of_nuts_reach_its_step():
    idata = nrm.sample(3, model=make_subjects(), cores=1, target_accept=0.95, nuts={"max_treedepth": 2}, **OPTIONS)
    assert int(idata.sample_stats["tree_depth"].max()) <= 2
    with pytest.raises(ValueError, match="target_accept must be given once"):
        nrm.sample(3, model=make_subjects(), target_accept=0.95, nuts={"target_accept": 0.9}, **OPTIONS)


def test_other_rows_of_the_same_items():
    model = make_subjects()
    rng = np.random.default_rng(1)
    with model:
        step = pm.step_methods.CompoundStep([nrm.steps.SlotNUTS(), nrm.steps.SlotGibbs([model["z"]])])
    other = np.array([0, 1, 2, 3, 3, 2, 1, 0, 0])
    model.set_data("subject", other)
    step.setup_chain(rng, 5, 5)
    point, stats = step.step(model.initial_point())
    observed = SLOPES * X_OF_ROWS
    mean = point["slope"][point["z"]][other] * X_OF_ROWS
    expected = (-0.5 * ((observed - mean) / 0.5) ** 2 - np.log(0.5 * np.sqrt(2 * np.pi))).sum()
    table = step.methods[1].table
    assert table.values(point, point["z"]).sum() == pytest.approx(expected)
    assert np.isfinite(stats[1]["log_joint"])
