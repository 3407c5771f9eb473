"""Rows of hidden states in tables of other tests: kinds, calibration, runs that are killed."""

import functools
import itertools

import numpy as np
import pandas as pd
import pymc as pm
import pytensor

import pymc_nrm as nrm
from pymc_nrm.models.origin import origin_of
from tests.tools.transformed_cases import N, Transformed, X, indexed, mixture

MEASURE = nrm.PitmanYorProcess(0.3, 1.2)
DIRICHLET = nrm.DirichletProcess(1.2)
TRANSITIONS = nrm.states.Transitions(1.5, 2.0)
ANY_LABELS = np.array(list(itertools.product(range(-1, 5), repeat=4)))
KINDS = {
    "states": (lambda: nrm.states.HiddenStates.dist(MEASURE, TRANSITIONS, n=4), ANY_LABELS),
    "sequences": (
        lambda: nrm.states.HiddenStates.dist(MEASURE, TRANSITIONS, sequences=["b", "b", "a", "a"]),
        ANY_LABELS,
    ),
    "state slots": (lambda: nrm.states.HiddenStates.dist(DIRICHLET, TRANSITIONS, n=4, max_states=3), ANY_LABELS),
    "slots of sequences": (
        lambda: nrm.states.HiddenStates.dist(DIRICHLET, TRANSITIONS, sequences=["b", "b", "a", "a"], max_states=3),
        ANY_LABELS,
    ),
}


# States of a Markov chain, whose rows have the concentration alpha, with a Pitman-Yor process of discount sigma on top.
HIDDEN_STATES = "NormalGamma, hidden states"
# The model of `regime_model`, whose hyperparameters `LearnedGibbs` draws.
REGIMES = "NormalGamma, learned, of regimes"
N_ITEMS = 12


def _hidden_states():
    with pm.Model() as model:
        X = pytensor.shared(np.zeros((N_ITEMS, 2)), name="X")
        gamma, sigma = pm.Gamma("gamma", 2, 1), pm.Beta("sigma", 1, 3)
        alpha, kappa = pm.Gamma("alpha", 2, 1), pm.Gamma("kappa", 2, 1)
        measure = nrm.PitmanYorProcess(discount=sigma, concentration=gamma)
        z = nrm.states.HiddenStates("z", measure, nrm.states.Transitions(alpha, kappa), sequences=[0] * 8 + [1] * 4)
        scale = pm.Gamma("scale", 4, 2)
        nrm.Mixture("x", z, nrm.NormalGamma(mu=[0.0, 1.0], kappa=0.3, alpha=2.5, beta=scale), observed=X)
    return model


def _regimes():
    start = np.random.default_rng(1).normal(size=N_ITEMS)
    recipe = nrm.states.regime_model(start, jitter_ties=False)
    with pm.Model(coords={"time": range(N_ITEMS)}) as model:
        X = pytensor.shared(start, name="X")
        gamma, alpha = pm.Gamma("gamma", 2.0, 1.0), pm.Gamma("alpha", 2.0, 1.0)
        kappa = pm.Gamma("kappa", 2.0, 1.0 / np.sqrt(N_ITEMS))
        z = nrm.states.HiddenStates("z", nrm.DirichletProcess(gamma), nrm.states.Transitions(alpha, kappa), dims="time")
        # The hyperpriors are centred at data that replications replace.
        nrm.Mixture("x", z, nrm.NormalGamma.learned("x", start), observed=X, dims="time")
    names = {rv.name for rv in recipe.free_RVs}
    assert names == {rv.name for rv in model.free_RVs}, names
    return model


# Models by their names: what makes them, the step of the labels and steps of other variables.
CALIBRATED = {
    HIDDEN_STATES: (_hidden_states, nrm.states.StateSampler, []),
    REGIMES: (_regimes, nrm.states.StateSampler, [nrm.steps.LearnedGibbs]),
}
# Partitions of six items by the step that samples them.
RESUMED = {
    nrm.states.StateSampler: functools.partial(nrm.states.HiddenStates, transitions=nrm.states.Transitions(1.0, 2.0)),
}


def _on_shared_kernels():
    with pm.Model() as model:
        z = nrm.states.HiddenStates("z", nrm.DirichletProcess(1.0), nrm.states.Transitions(3.0, kappa=2.0), n=30)
        X = np.random.default_rng(3).normal(size=(30, 2)) + np.repeat([[0.0], [3.0]], 15, axis=0)
        nrm.Mixture("x", z, nrm.NormalWishart([1.0, 1.0], 0.1, np.eye(2), 4.0), observed=X)
    return model


# Models and their steps.
SHARED = {"states": (_on_shared_kernels, (nrm.states.StateSampler,))}
# Source of a partition of 2000 items by the name of its step.
INTERRUPTED = {
    "states.StateSampler": (
        'nrm.states.HiddenStates("z", nrm.DirichletProcess(alpha), nrm.states.Transitions(alpha, 20.0), n=2000)'
    )
}


def _states_with_slots(n, n_slots):
    transitions = nrm.states.Transitions(1.0, kappa=2.0)
    return nrm.states.HiddenStates("z", nrm.DirichletProcess(1.0), transitions, n=n, max_states=n_slots)


# Labels of n items that index parameters of a number of slots.
SLOT_LABELS = {"states": _states_with_slots}


def _regime_model(rng, distance):
    level = np.where(np.arange(120) // 40 == 1, distance, 0.0)
    return nrm.states.regime_model(pd.Series(level + rng.normal(size=120), name="y"))


# Recipes of data with one group or, at a distance, two.
RECIPES = {"regimes": _regime_model}


def _regimes_with_lags():
    index = pd.date_range("2020-01-01", periods=30)
    return nrm.states.regime_model(
        pd.Series(np.random.default_rng(0).normal(size=30), index=index, name="rate"), lags=1
    )


def _check_copy_of_regimes(model):
    origin = origin_of(model["x"])
    assert (origin.series, origin.lags) == ("rate", "x_lags")


# Recipes, and checks of copies of their models.
COPIED = {"regimes": (_regimes_with_lags, _check_copy_of_regimes)}


def _transformed(**options):
    transitions = nrm.states.Transitions(pm.Gamma("alpha", 2, 1), 1.0)
    return nrm.states.HiddenStates("z", nrm.DirichletProcess(1.0), transitions, dims="item", **options)


def _series():
    return nrm.states.regime_model(pd.Series(X, index=pd.date_range("2026", periods=N)), jitter_ties=False)


STATES = "HiddenStates[DirichletProcess]"
TRANSFORMED = {
    "states": Transformed(lambda: mixture(_transformed), STATES),
    "state slots": Transformed(lambda: indexed(lambda _: _transformed(max_states=3)), STATES, "Normal", quick=True),
    "a series": Transformed(_series, STATES),
}


# Models of six days with and without names of dimensions, ``pymc.dims``.
DAYS = [-1.3, 0.3, 1.1, 1.9, 2.5, -0.4]


def _plain_states():
    gamma, alpha, kappa = pm.Exponential("gamma", 1.0), pm.Gamma("alpha", 2, 1), pm.Gamma("kappa", 2, 0.04)
    z = nrm.states.HiddenStates("z", nrm.DirichletProcess(gamma), nrm.states.Transitions(alpha, kappa), dims="day")
    nrm.Mixture("x", z, nrm.PoissonGamma(pm.HalfNormal("a", 2.0), 0.5), observed=[0, 1, 0, 7, 9, 8], dims="day")


def _named_states():
    import pymc.dims as pmd

    gamma, alpha, kappa = pmd.Exponential("gamma", 1.0), pmd.Gamma("alpha", 2, 1), pmd.Gamma("kappa", 2, 0.04)
    z = nrm.states.HiddenStates("z", nrm.DirichletProcess(gamma), nrm.states.Transitions(alpha, kappa), dims="day")
    data = pmd.Data("counts", [0, 1, 0, 7, 9, 8], dims="day")
    nrm.Mixture("x", z, nrm.PoissonGamma(pmd.HalfNormal("a", 2.0), 0.5), observed=data)


def _plain_state_slots():
    measure, transitions = nrm.DirichletProcess(1.0), nrm.states.Transitions(1.0, kappa=10.0)
    z = nrm.states.HiddenStates("z", measure, transitions, dims="day", max_states="state")
    scale = pm.LogNormal("scale", 0.0, 1.0, dims="state")
    pm.StudentT("x", nu=4, mu=0, sigma=scale[z], observed=DAYS, dims="day")


def _named_state_slots():
    import pymc.dims as pmd

    measure, transitions = nrm.DirichletProcess(1.0), nrm.states.Transitions(1.0, kappa=10.0)
    z = nrm.states.HiddenStates("z", measure, transitions, dims="day", max_states="state")
    scale = pmd.LogNormal("scale", 0.0, 1.0, dims="state")
    sigma = scale.isel(state=pmd.as_xtensor(z, dims="day"))
    pmd.StudentT("x", nu=4, mu=0, sigma=sigma, observed=pmd.Data("y", DAYS, dims="day"))


RESULTS = {"states": nrm.states.state_probabilities, "transitions": nrm.states.transition_matrix}
WITH_DIMS = {
    "hidden states": {"plain": _plain_states, "named": _named_states, "is_mixture": True, "results": RESULTS},
    "hidden states with slots": {
        "plain": _plain_state_slots,
        "named": _named_state_slots,
        "quick": True,
        "results": RESULTS,
    },
}
