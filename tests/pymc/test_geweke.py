"""Joint distribution tests: redrawing data between steps leaves the prior of everything invariant."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.testing import ForwardDraw, geweke, largest_z
from pymc_nrm.testing.forward import _default_functionals, _score
from tests.helpers import IgnoresData, mixture_of


def assert_scores(scores, chains, draws):
    limit = largest_z((chains, draws), len(scores))
    assert max(map(abs, scores.values())) < limit, scores


@pytest.mark.slow
def test_a_wrong_step_is_found():
    class Wrong(nrm.steps.MarginalGibbs):
        def moves(self, state, table, family, data):
            table.join[0] += 0.4
            return super().moves(state, table, family, data)

    with pm.Model() as model:
        z = nrm.Partition("z", nrm.NormalizedInverseGaussian(0.8), n=6)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.5, 0.5), shape=(6, 2))
        scores = geweke(model, draws=2000, tune=0, chains=4, step=Wrong([z]), random_seed=1)
    assert abs(scores["z: n_clusters"]) > largest_z((4, 2000), 3)


def joint_model(kind):
    """Labels with data of some kind, without variables besides."""
    with pm.Model() as model:
        options = {"max_clusters": 6} if kind == "StudentT" else {}
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=6, **options)
        if kind == "StudentT":
            mean = pm.Normal("mean", 0.0, 5.0, shape=6)
            pm.StudentT("x", nu=5, mu=mean[z], sigma=1.0, shape=6)
        elif kind == "rows":
            nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.2), rows=[0, 5, 1, 2, 1, 4, 0, 3], shape=(8, 2))
        elif kind == "levels":
            nrm.Mixture("x", z, nrm.CategoricalDirichlet(0.3, [3, 4]), shape=(6, 2))
        else:
            nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.2), shape=(6,))
    return model


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["counts", "levels", "rows", "StudentT"])
def test_a_step_that_ignores_the_data_is_found(kind):
    model = joint_model(kind)
    with model:
        step = IgnoresData([model["z"]], pm.draw(model["z"], 4000, random_seed=2))
        scores = geweke(model, draws=1000, tune=0, chains=4, step=step, random_seed=1)
    limit = largest_z((4, 1000), len(scores))
    assert abs(scores.pop("x within z")) > limit
    assert max(map(abs, scores.values())) < limit


def test_missing_values_are_left_out_of_functionals():
    functionals = _default_functionals(joint_model("counts"))
    labels, values = np.array([[[0, 0, 1, 0, 1, 1]]]), np.array([[[0.0, 3.0, 5.0, np.nan, 50.0, 5.0]]])
    draws = {"z": xr.DataArray(labels), "x": xr.DataArray(values)}
    # Ten pairs are known; 3 is the difference of the first one, 10 is the largest that counts.
    assert functionals["x within z"](draws) == pytest.approx((3.0 + 10.0 + 10.0 + 0.0) / 10)
    assert functionals["x: size"](draws) == pytest.approx((0.0 + 3.0 + 5.0 + 10.0 + 5.0) / 5)


def test_arrays_have_functionals_and_constants_have_scores():
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=1)
        rate, share = pm.Gamma("rate", 2, 1, shape=2), pm.Dirichlet("share", np.ones(3))
        effect = pm.ZeroSumNormal("effect", shape=3)
        nrm.Mixture("x", z, nrm.PoissonGamma(rate * share[:2] * pt.exp(effect[:2]), 0.2), shape=(1, 2))
    functionals = _default_functionals(model)
    assert set(functionals) >= {f"{name}: mean{square}" for name in ("rate", "share") for square in ("", " square")}
    rng = np.random.default_rng(1)
    sampled, forward = (
        {
            "z": xr.DataArray(np.zeros((2, 50, 1), dtype=int)),
            "x": xr.DataArray(rng.poisson(3.0, size=(2, 50, 1, 2))),
            "rate": xr.DataArray(rng.gamma(2.0, size=(2, 50, 2))),
            "share": xr.DataArray(rng.dirichlet(np.ones(3), size=(2, 50))),
            "effect": xr.DataArray(rng.normal(size=(2, 50, 3)) @ (np.eye(3) - 1.0 / 3.0)),
        }
        for _ in range(2)
    )
    scores = {name: _score(name, of(sampled), of(forward)) for name, of in functionals.items()}
    assert np.isfinite(list(scores.values())).all()
    assert {name for name, score in scores.items() if score == 0.0} == {
        *("z: n_clusters", "z: entropy", "x within z", "share: mean", "effect: mean")
    }
    constant = np.full((2, 50), 0.1)
    assert _score("one draw", constant, constant[:1] + 0.1) == -np.inf
    with pytest.raises(ValueError, match="functionals must be finite in every draw; 'gap' is not"):
        _score("gap", constant, np.where(np.arange(50) == 3, np.nan, constant))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["NormalGamma", "NormalWishart", "PoissonGamma", "CategoricalDirichlet"])
def test_full_model(kind):
    n = 8
    with pm.Model() as model:
        alpha, sigma = pm.Gamma("alpha", 2, 1), pm.Beta("sigma", 1, 3)
        z = nrm.Partition("z", nrm.NormalizedGeneralizedGamma(alpha, sigma), n=n)
        scale = pm.Gamma("scale", 4, 2)
        family = {
            "NormalGamma": nrm.NormalGamma(mu=[0.0, 1.0], kappa=0.5, alpha=3.0, beta=scale),
            "NormalWishart": nrm.NormalWishart(mu=[0.0, 1.0], kappa=0.5, Psi=scale * np.eye(2), nu=5.0),
            "PoissonGamma": nrm.PoissonGamma([1.0, 2.0], scale),
            "CategoricalDirichlet": nrm.CategoricalDirichlet(scale, [2, 3]),
        }[kind]
        nrm.Mixture("x", z, family, shape=(n, 2))
    scores = geweke(model, draws=4000, tune=1000, chains=4, random_seed=2)
    assert len(scores) == 10
    assert_scores(scores, 4, 4000)


def test_the_data_must_be_latent():
    model = mixture_of(nrm.PoissonGamma(1.0, 1.0), [1, 2, 3])
    with pytest.raises(ValueError, match="latent"):
        geweke(model)


def test_nothing_may_depend_on_what_is_drawn_forward():
    with pm.Model():
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
        effect = nrm.Mixture("effect", z, nrm.NormalGamma(0.0, 1.0, 2.0, 1.0), shape=(3,))
        pm.Normal("y", effect, 1.0, observed=[1.0, 2.0, 3.0])
        with pytest.raises(ValueError, match="'effect'"):
            ForwardDraw([effect])


@pytest.mark.slow
@pytest.mark.parametrize(("n_slots", "n_sweeps"), [(6, 1), (15, 3)])
def test_regression_with_labels_as_an_index(n_slots, n_sweeps):
    n, x = 6, np.array([-1.0, 1.0, 0.5, -0.5, 2.0, 0.1])
    with pm.Model() as model:
        alpha = pm.Gamma("alpha", 3, 2)
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), n=n, max_clusters=n_slots)
        tau = pm.LogNormal("tau", 0, 0.4)
        slope = pm.Normal("slope", 1, tau, shape=n_slots)
        scale = pm.LogNormal("scale", 0, 0.4, shape=n_slots)
        pm.StudentT("y", nu=5, mu=slope[z] * x, sigma=scale[z], shape=n)
        step = [nrm.steps.SlotNUTS([alpha, tau, slope, scale]), nrm.steps.SlotGibbs([z], n_sweeps=n_sweeps)]
        scores = geweke(model, draws=5000, tune=500, chains=2, step=step, random_seed=3)
    assert set(scores) >= {"alpha", "tau", "tau squared", "z: n_clusters", "z: entropy", "y: size"}
    assert_scores(scores, 2, 5000)
