"""Partitions and mixtures as variables of a PyMC model like any other."""

import numpy as np
import pymc as pm
import pytest

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from tests.helpers import is_canonical, mixture_of

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


QUIET = {"progressbar": False, "quiet": True, "compute_convergence_checks": False}


@pytest.fixture(scope="module")
def sampled(model):
    with model:
        return pm.sample(50, tune=50, chains=2, cores=1, random_seed=1, **QUIET)


def test_sampling_gives_no_warning_and_labels_in_order_of_appearance(sampled):
    labels = sampled.posterior["z"]
    assert labels.dims == ("chain", "draw", "obs") and labels.dtype == np.int64
    assert labels.coords["obs"].values.tolist() == COORDS["obs"]
    assert all(is_canonical(row) for row in labels.values.reshape(-1, 5))
    np.testing.assert_array_equal(sampled.posterior["z_n_clusters"], labels.max("obs") + 1)
    assert sampled.observed_data["x"].dims == ("obs", "feature")
    np.testing.assert_array_equal(sampled.observed_data["x"], X)


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

    model = mixture_of(nrm.PoissonGamma(1.0, 0.1), [0, 50, 0, 50, 0, 50], nrm.DirichletProcess(1e-8))
    options = {"initvals": {"z": np.array([9, 4, 9, 4, 9, 4])}, "callback": keep, "random_seed": 1}
    with model:
        step = nrm.steps.MarginalGibbs([model["z"]], n_items=1)
        pm.sample(1, tune=0, chains=1, cores=1, step=step, **options, **QUIET)
    assert first["labels"].tolist() == [0, 1, 0, 1, 0, 1]


def test_labels_in_initvals_of_pymc_must_be_in_order():
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(pm.Exponential("alpha", 1.0)), n=4)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.1), observed=[0, 50, 0, 50])
    # As pm.sample makes it, for a chain in which NUTS moves alpha first.
    start = model.initial_point() | {"z": np.array([5, 5, 2, 2])}
    with pytest.raises(
        ValueError, match=r"^initvals\['z'\] must be numbered from 0 .*nrm.sample.*; got \[5, 5, 2, 2\]"
    ):
        nrm.steps.TreeGuided([z], model=model, initial_point=start)


def test_shorthand_for_one_feature_and_for_missing_values():
    model = mixture_of(nrm.NormalGamma(0.0, 1.0, 1.0, 1.0), np.array([0.1, np.nan, 2.0]))
    assert [rv.name for rv in model.free_RVs] == ["z"] and model["x"].ndim == 1
    assert np.isfinite(model.compile_logp()(model.initial_point()))


def test_known_partition():
    with pm.Model() as model:
        alpha = pm.Gamma("alpha", 2, 1)
        nrm.Partition("z", nrm.DirichletProcess(alpha), observed=[5, 5, 2])
    point = {"alpha_log__": np.array(0.3)}
    expected = log_eppf(nrm.DirichletProcess(np.exp(0.3)), np.array([2, 1]))
    assert model.point_logps(point, round_vals=12)["z"] == pytest.approx(expected)


@pytest.mark.parametrize("label", [-1, 3, -(10**9), 10**12])
@pytest.mark.parametrize(
    "family", [nrm.PoissonGamma(1.0, 0.5), nrm.NormalGamma(0.0, 1.0, 1.0, 1.0)], ids=["counts", "normal"]
)
def test_labels_that_are_no_partition_have_probability_zero(family, label):
    """Steps that know nothing of partitions propose them; arrays must not be indexed with them."""
    model = mixture_of(family, [0, 1, 8])
    assert model.compile_logp()({"z": np.array([0, label, 1])}) == -np.inf


LINES = (
    "z ~ Partition[NormalizedGeneralizedGamma](3, alpha, 0.25)",
    "x ~ Mixture[NormalGamma](z, 20.8, 0.1, 2, scale)",
    "y ~ Mixture[NormalWishart](z, <constant>, scale, <constant>, 4)",
)


TERMS = (
    r"\operatorname{Partition}[\operatorname{NormalizedGeneralizedGamma}](3,~\text{alpha},~0.25)",
    r"\operatorname{Mixture}[\operatorname{NormalGamma}](\text{z},~20.8,~0.1,~2,~\text{scale})",
)


def test_text_and_graph_show_measure_and_family():
    with pm.Model() as model:
        alpha = pm.Gamma("alpha", 2.5, 0.1)
        scale = pm.HalfNormal("scale")
        z = nrm.Partition("z", nrm.NormalizedGeneralizedGamma(alpha, 0.25), n=3)
        nrm.Mixture("x", z, nrm.NormalGamma(mu=20.8, kappa=0.1, alpha=2, beta=scale), observed=[1.0, 2.0, 3.0])
        nrm.Mixture("y", z, nrm.NormalWishart([0.0, 0.0], scale, np.eye(2), 4.0), observed=np.zeros((3, 2)))
    printed = [line.strip() for line in model.str_repr().splitlines()]
    assert set(LINES) <= set(printed) and [model[line[0]].str_repr() for line in LINES] == list(LINES)
    assert all(term in model.str_repr(formatting="latex") for term in TERMS)
    pytest.importorskip("graphviz")
    source = model.to_graphviz().source
    assert "Partition[NormalizedGeneralizedGamma]" in source and "Mixture[NormalGamma]" in source
