"""Models written with ``pymc.dims``: the same log-probability, draws and results as their twins without names."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pymc as pm
import pytest

import pymc_nrm as nrm

pmd = pytest.importorskip("pymc.dims")

CHEAP = {"mode": "FAST_COMPILE"}
ERUPTIONS = nrm.datasets.old_faithful()[:40]
Y = np.array([-1.3, 0.3, 1.1, 1.9, 2.5, -0.4])
W = np.random.default_rng(1).normal(size=(6, 2))
QUIET = {"cores": 1, "progressbar": False, "quiet": True, "compute_convergence_checks": False}


class Twins(NamedTuple):
    """The same model in two ways, as functions that add it to the model of the context."""

    coords: dict
    plain: Callable
    named: Callable


def readme_mixture(alpha, data):
    z = nrm.Partition("z", nrm.DirichletProcess(alpha), dims="eruption")
    family = nrm.NormalWishart.learned("x", ERUPTIONS)
    nrm.Mixture("x", z, family, observed=data, dims=("eruption", "feature"))


def plain_readme_mixture():
    readme_mixture(pm.Exponential("alpha", np.log(40)), ERUPTIONS)


def named_readme_mixture():
    data = pmd.Data("data", ERUPTIONS, dims=("eruption", "feature"))
    readme_mixture(pmd.Exponential("alpha", np.log(40)), data)


def plain_readme_slots():
    z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="eruption", max_clusters="cluster")
    center = pm.Normal("center", 3.5, 1, dims="cluster")
    scale = pm.LogNormal("scale", -1, 0.5, dims="cluster")
    pm.StudentT("duration", nu=4, mu=center[z], sigma=scale[z], observed=ERUPTIONS[:, 0], dims="eruption")


def named_readme_slots():
    z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="eruption", max_clusters="cluster")
    center = pmd.Normal("center", 3.5, 1, dims="cluster")
    scale = pmd.LogNormal("scale", -1, 0.5, dims="cluster")
    slot, data = ("eruption", z), pmd.Data("y", ERUPTIONS[:, 0], dims="eruption")
    pmd.StudentT("duration", nu=4, mu=center.isel(cluster=slot), sigma=scale.isel(cluster=slot), observed=data)


def plain_states():
    gamma, alpha, kappa = pm.Exponential("gamma", 1.0), pm.Gamma("alpha", 2, 1), pm.Gamma("kappa", 2, 0.04)
    z = nrm.states.HiddenStates("z", nrm.DirichletProcess(gamma), nrm.states.Transitions(alpha, kappa), dims="day")
    nrm.Mixture("x", z, nrm.PoissonGamma(pm.HalfNormal("a", 2.0), 0.5), observed=[0, 1, 0, 7, 9, 8])


def named_states():
    gamma, alpha, kappa = pmd.Exponential("gamma", 1.0), pmd.Gamma("alpha", 2, 1), pmd.Gamma("kappa", 2, 0.04)
    z = nrm.states.HiddenStates("z", nrm.DirichletProcess(gamma), nrm.states.Transitions(alpha, kappa), dims="day")
    data = pmd.Data("counts", [0, 1, 0, 7, 9, 8], dims="day")
    nrm.Mixture("x", z, nrm.PoissonGamma(pmd.HalfNormal("a", 2.0), 0.5), observed=data)


def plain_state_slots():
    measure, transitions = nrm.DirichletProcess(1.0), nrm.states.Transitions(1.0, kappa=10.0)
    z = nrm.states.HiddenStates("z", measure, transitions, dims="day", max_states="state")
    scale = pm.LogNormal("scale", 0.0, 1.0, dims="state")
    pm.StudentT("x", nu=4, mu=0, sigma=scale[z], observed=Y, dims="day")


def named_state_slots():
    measure, transitions = nrm.DirichletProcess(1.0), nrm.states.Transitions(1.0, kappa=10.0)
    z = nrm.states.HiddenStates("z", measure, transitions, dims="day", max_states="state")
    scale = pmd.LogNormal("scale", 0.0, 1.0, dims="state")
    sigma = scale.isel(state=pmd.as_xtensor(z, dims="day"))
    pmd.StudentT("x", nu=4, mu=0, sigma=sigma, observed=pmd.Data("y", Y, dims="day"))


def plain_weights():
    slope = pm.Normal("slope", 0, 1, dims=("covariate", "cluster"))
    z = nrm.Partition("z", log_weights=pm.Data("w", W, dims=("day", "covariate")) @ slope, dims="day")
    center = pm.Normal("center", 0, 2, dims="cluster")
    pm.Normal("y", center[z], 0.5, observed=Y, dims="day")


def named_weights():
    slope = pmd.Normal("slope", 0, 1, dims=("covariate", "cluster"))
    w = pmd.Data("w", W, dims=("day", "covariate"))
    # Clusters come first here, and items are known by their name.
    log_weights = slope.dot(w, dim="covariate")
    assert log_weights.dims == ("cluster", "day")
    z = nrm.Partition("z", log_weights=log_weights, dims="day", max_clusters="cluster")
    center = pmd.Normal("center", 0, 2, dims="cluster")
    pmd.Normal("y", center.isel(cluster=("day", z)), 0.5, observed=pmd.Data("data", Y, dims="day"))


def plain_regression():
    z = nrm.Partition("z", nrm.PitmanYorProcess(pm.Beta("sigma", 1, 3), 1.0), dims="day")
    mu = pm.Normal("mu", 0, 1, dims="covariate")
    covariates = pm.Data("w", W, dims=("day", "covariate"))
    nrm.Mixture("y", z, nrm.NormalRegression(covariates, mu, np.eye(2), 2.0, 1.0), observed=Y)


def named_regression():
    z = nrm.Partition("z", nrm.PitmanYorProcess(pmd.Beta("sigma", 1, 3), 1.0), dims="day")
    mu = pmd.Normal("mu", 0, 1, dims="covariate")
    covariates = pmd.Data("w", W.T, dims=("covariate", "day"))
    data = pmd.Data("data", Y, dims="day")
    nrm.Mixture("y", z, nrm.NormalRegression(covariates, mu, np.eye(2), 2.0, 1.0), observed=data)


OF_ERUPTIONS = {"eruption": range(40), "feature": ["duration", "wait"], "cluster": range(20)}
OF_DAYS = {"day": range(6), "state": range(4), "cluster": range(3), "covariate": ["a", "b"]}
MODELS = {
    "mixture of the README": Twins(OF_ERUPTIONS, plain_readme_mixture, named_readme_mixture),
    "slots of the README": Twins(OF_ERUPTIONS, plain_readme_slots, named_readme_slots),
    "hidden states": Twins(OF_DAYS, plain_states, named_states),
    "hidden states with slots": Twins(OF_DAYS, plain_state_slots, named_state_slots),
    "weights": Twins(OF_DAYS, plain_weights, named_weights),
    "regression": Twins(OF_DAYS, plain_regression, named_regression),
}


def both(name):
    twins, models = MODELS[name], []
    for build in (twins.plain, twins.named):
        with pm.Model(coords=twins.coords) as model:
            build()
        models.append(model)
    return models


def random_points(model, count):
    """The initial point and others with noise, in which labels are random but of the same partitions."""
    rng, first = np.random.default_rng(3), model.initial_point()
    for _ in range(count):
        yield {
            name: value + 0.3 * rng.normal(size=value.shape) if value.dtype.kind == "f" else value
            for name, value in first.items()
        }


@pytest.mark.parametrize("name", MODELS)
def test_equal_log_probabilities(name):
    plain, named = both(name)
    assert plain.initial_point().keys() == named.initial_point().keys()
    of_plain, of_named = (model.compile_logp(**CHEAP) for model in (plain, named))
    for point in random_points(plain, 3):
        assert of_named(point) == pytest.approx(float(of_plain(point)), rel=1e-12)


@pytest.mark.quick("slots of the README")
@pytest.mark.parametrize("name", MODELS)
def test_equal_draws(name):
    draws = [
        nrm.sample(30, tune=60, chains=1, model=model, random_seed=5, **QUIET)["posterior"].to_dataset()
        for model in both(name)
    ]
    for variable in draws[0].data_vars:
        np.testing.assert_allclose(draws[1][variable], draws[0][variable], rtol=1e-6, err_msg=variable)
