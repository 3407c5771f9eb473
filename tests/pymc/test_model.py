"""Partitions and mixtures as variables of a PyMC model like any other."""

import numpy as np
import pymc as pm
import pytest
from helpers import mixture_of

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf, n_clusters_mean
from pymc_nrm.partitions.labels import is_canonical, label_counts

X = np.array([[0.0, 0.4], [1.1, 1.9], [0.7, 0.6], [-1.6, 1.2], [2.2, 2.4]])
COORDS = {"obs": list("abcde"), "feature": ["length", "width"]}

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(scope="module")
def model():
    with pm.Model(coords=COORDS) as model:
        alpha = pm.Gamma("alpha", 2, 1)
        z = nrm.Partition("z", nrm.NormalizedGeneralizedGamma(alpha, 0.3), dims="obs")
        scale = pm.LogNormal("scale", 0, 1)
        family = nrm.NormalGamma(mu=[0, 0], kappa=0.1, alpha=4, beta=scale)
        nrm.Mixture("x", z, family, observed=X, dims=("obs", "feature"))
    return model


@pytest.fixture(scope="module")
def sampled(model):
    with model:
        return pm.sample(
            50, tune=50, chains=2, cores=1, random_seed=1, progressbar=False, quiet=True,
            compute_convergence_checks=False,
        )  # fmt: skip


def test_sampling_gives_no_warning_and_labels_in_order_of_appearance(sampled):
    labels = sampled.posterior["z"]
    assert labels.dims == ("chain", "draw", "obs")
    assert labels.coords["obs"].values.tolist() == COORDS["obs"]
    assert labels.dtype == np.int64
    assert all(is_canonical(row) for row in labels.values.reshape(-1, 5))
    np.testing.assert_array_equal(sampled.posterior["z_n_clusters"], labels.max("obs") + 1)


def test_data_keep_their_dimensions(sampled):
    assert sampled.observed_data["x"].dims == ("obs", "feature")
    np.testing.assert_array_equal(sampled.observed_data["x"], X)


@pytest.mark.slow
def test_prior_predictive(model):
    with model:
        prior = pm.sample_prior_predictive(4000, random_seed=1)
    labels = prior.prior["z"].values.reshape(-1, 5)
    assert all(is_canonical(row) for row in labels)
    assert prior.prior_predictive["x"].dims == ("chain", "draw", "obs", "feature")
    assert prior.prior_predictive["x"].shape == (1, 4000, 5, 2)
    alpha = prior.prior["alpha"].values.ravel()
    means = [n_clusters_mean(nrm.NormalizedGeneralizedGamma(a, 0.3), 5) for a in alpha]
    difference = labels.max(axis=1) + 1 - means
    assert abs(difference.mean()) < 5 * difference.std() / np.sqrt(len(difference))


def test_posterior_predictive_keeps_the_partition(model, sampled):
    with model:
        drawn = pm.sample_posterior_predictive(sampled, random_seed=1, progressbar=False)
    assert drawn.posterior_predictive["x"].shape == (2, 50, 5, 2)


def test_draw():
    z = nrm.Partition.dist(nrm.DirichletProcess(1.0), 6)
    x = nrm.Mixture.dist(z, nrm.PoissonGamma(1.0, [1.0, 2.0]))
    labels, counts = pm.draw([z, x], 200, random_seed=3)
    assert labels.shape == (200, 6)
    assert counts.shape == (200, 6, 2)
    assert all(is_canonical(row) for row in labels)
    again = pm.draw(z, 200, random_seed=3)
    assert (pm.draw(z, 200, random_seed=3) == again).all()


def test_point_logps(model):
    point = model.initial_point()
    logps = model.point_logps(point, round_vals=10)
    assert set(logps) == {"alpha", "z", "scale", "x"}
    alpha = np.exp(point["alpha_log__"])
    expected = log_eppf(nrm.NormalizedGeneralizedGamma(alpha, 0.3), label_counts(point["z"]))
    assert logps["z"] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("initval", [[7, 7, 3, 3, 7], np.array([4.0, 4.0, 0.0, 0.0, 4.0]), [0, 0, 1, 1, 0]])
def test_initval_of_any_labels(initval):
    with pm.Model() as model:
        nrm.Partition("z", nrm.DirichletProcess(1.0), n=5, initval=initval)
    assert model.initial_point()["z"].tolist() == [0, 0, 1, 1, 0]


def test_start_is_one_cluster_by_default(model, monkeypatch):
    # It needs no draw, for which the sampler of the prior would be compiled.
    monkeypatch.setattr(model["z"].owner.op.__class__, "rng_fn", None)
    assert model.initial_point()["z"].tolist() == [0] * 5


def test_labels_in_initvals_of_sample_are_renamed():
    first = {}

    def keep(trace, draw):
        first.setdefault("labels", draw.point["z"])

    with pm.Model():
        z = nrm.Partition("z", nrm.DirichletProcess(1e-8), n=6)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.1), observed=[0, 50, 0, 50, 0, 50])
        step = nrm.MarginalGibbs([z], n_items=1)
        pm.sample(
            1, tune=0, chains=1, cores=1, step=step, initvals={"z": np.array([9, 4, 9, 4, 9, 4])}, random_seed=1,
            callback=keep, progressbar=False, quiet=True, compute_convergence_checks=False,
        )  # fmt: skip
    assert first["labels"].tolist() == [0, 1, 0, 1, 0, 1]


def test_shorthand_for_one_feature_and_for_missing_values():
    x = np.array([0.1, np.nan, 2.0])
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
        observed = nrm.Mixture("x", z, nrm.NormalGamma(0.0, 1.0, 1.0, 1.0), observed=x)
    assert model.free_RVs == [z]
    assert observed.ndim == 1
    assert np.isfinite(model.compile_logp()(model.initial_point()))


def test_known_partition():
    with pm.Model() as model:
        alpha = pm.Gamma("alpha", 2, 1)
        nrm.Partition("z", nrm.DirichletProcess(alpha), observed=[5, 5, 2])
    point = {"alpha_log__": np.array(0.3)}
    expected = log_eppf(nrm.DirichletProcess(np.exp(0.3)), np.array([2, 1]))
    assert model.point_logps(point, round_vals=12)["z"] == pytest.approx(expected)


def test_deterministics_may_use_the_labels():
    with pm.Model():
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.1), observed=[0, 9, 0, 9])
        pm.Deterministic("together", pm.math.eq(z[0], z[1]))
        draws = pm.sample(
            20, tune=0, step=nrm.MarginalGibbs([z]), chains=1, cores=1, random_seed=1, progressbar=False, quiet=True,
            compute_convergence_checks=False,
        )  # fmt: skip
    np.testing.assert_array_equal(
        draws.posterior["together"], draws.posterior["z"][..., 0] == draws.posterior["z"][..., 1]
    )


@pytest.mark.parametrize("label", [-1, 3, -(10**9), 10**12])
@pytest.mark.parametrize(
    "family", [nrm.PoissonGamma(1.0, 0.5), nrm.NormalGamma(0.0, 1.0, 1.0, 1.0)], ids=["counts", "normal"]
)
def test_labels_that_are_no_partition_have_probability_zero(family, label):
    """Steps that know nothing of partitions propose them; arrays must not be indexed with them."""
    model = mixture_of(family, [0, 1, 8])
    assert model.compile_logp()({"z": np.array([0, label, 1])}) == -np.inf
