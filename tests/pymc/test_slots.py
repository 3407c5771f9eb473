"""Partitions whose labels index parameters: values, local variables, draws of empty slots, and errors."""

import itertools
import logging

import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_nrm as nrm
from pymc_nrm.measures import base
from pymc_nrm.models.itemwise.local_variables import EmptySlots
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.recipes.elicitation.laws import suggest_max_clusters

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
        K = suggest_max_clusters(measure, 50, tail=tail)
        assert p[K:].sum() <= tail < p[K - 1 :].sum()
    assert suggest_max_clusters(measure, 3, tail=1e-12) == 3
    with pytest.raises(ValueError, match="tail must be between 0 and 1; got 2"):
        suggest_max_clusters(measure, 3, tail=2)
    with pm.Model():
        alpha = pm.Gamma("alpha", 1, 1)
        with pytest.raises(ValueError, match="alpha of the measure must be a number"):
            suggest_max_clusters(nrm.DirichletProcess(alpha), 3)


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
        for step in (nrm.TreeGuided, nrm.MarginalGibbs, nrm.SplitMerge, nrm.SliceSampler):
            with pytest.raises(ValueError, match="must be a Partition without max_clusters"):
                step([model["z"]])
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
        with pytest.raises(ValueError, match="SlotGibbs must be a Partition with max_clusters; 'z' is one"):
            nrm.SlotGibbs([z])
        pm.Normal("mean")
        with pytest.raises(ValueError, match="has a Partition with max_clusters; it has none"):
            nrm.SlotNUTS()


@pytest.mark.parametrize("options", [{"n_sweeps": 0}, {"mean_empty": 0.0}, {"mean_empty": "2"}])
def test_options_are_checked(options):
    [name] = options
    with normal_model() as model, pytest.raises(ValueError, match=f"{name} must be"):
        nrm.SlotGibbs([model["z"]], **options, compile_kwargs=CHEAP)
    for K in (0, 2.5, "other", True):
        with pytest.raises(ValueError, match="max_clusters of Partition 'z' must"):
            normal_model(K)


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
        step = nrm.SlotGibbs([z], compile_kwargs=CHEAP)
    with pytest.raises(pm.exceptions.SamplingError, match=r"'bound' is -inf for item 2, whose slot has top_log__\[0\]"):
        step.step(model.initial_point())
