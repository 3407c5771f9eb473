"""Models, steps and summaries of hidden states whose draws of fixed seeds are compared."""

from functools import partial

import numpy as np
import pymc as pm

import pymc_nrm as nrm
from tests.tools.same_draws.models import ANIMALS, COUNTS, FAMILIES, FULL, LABELS, REAL


def states(measure=None, family="PoissonGamma", learned=False, **options):
    """States of six times, with fixed or learned concentrations."""
    with pm.Model(coords=ANIMALS) as model:
        alpha, kappa = (pm.Gamma("alpha", 2, 1), pm.Gamma("kappa", 2, 1)) if learned else (1.2, 2.0)
        measure = measure or nrm.DirichletProcess(pm.Gamma("gamma", 2, 1) if learned else 1.3)
        z = nrm.states.HiddenStates("z", measure, nrm.states.Transitions(alpha, kappa), dims="item", **options)
        if family == "learned":
            nrm.Mixture("x", z, nrm.NormalGamma.learned("x", REAL), observed=REAL)
        elif family is not None:
            nrm.Mixture("x", z, FAMILIES[family][0], observed=FAMILIES[family][1])
    return model


def indexed_states(mixture=False):
    """States that index parameters."""
    with pm.Model(coords=ANIMALS | {"state": range(4)}) as model:
        measure, transitions = nrm.DirichletProcess(1.3), nrm.states.Transitions(pm.Gamma("alpha", 2, 1), 2.0)
        z = nrm.states.HiddenStates("z", measure, transitions, dims="item", max_states="state")
        mu = pm.Normal("mu", 3.0, 3.0, dims="state")
        pm.Normal("y", mu[z], 1.0, observed=FULL[:, 0], dims="item")
        if mixture:
            nrm.Mixture("x", z, FAMILIES["PoissonGamma"][0], observed=COUNTS)
    return model


SEQUENCES = ["a", "a", "a", "b", "b", "b"]
KINDS = {
    "states": partial(states, learned=True),
    "states PY": partial(states, nrm.PitmanYorProcess(0.3, 1.2), "learned", learned=True),
    "states of sequences": partial(states, sequences=SEQUENCES),
    "indexed states": indexed_states,
    "indexed states and mixture": partial(indexed_states, mixture=True),
}
STEPS = {
    **{f"StateSampler/{f}": (partial(states, family=f), nrm.states.StateSampler, {}) for f in [None, *FAMILIES]},
    "StateSampler/PY": (partial(states, nrm.PitmanYorProcess(0.3, 1.2)), nrm.states.StateSampler, {}),
    "StateSampler/sequences": (partial(states, sequences=SEQUENCES), nrm.states.StateSampler, {}),
    "StateGibbs": (indexed_states, nrm.states.StateGibbs, {}),
    "StateGibbs/mixture": (partial(indexed_states, mixture=True), nrm.states.StateGibbs, {}),
}


def arrays(result):
    """Arrays of a dataset or an array."""
    result = result.to_dataset(name="values") if hasattr(result, "to_dataset") else result
    return {name: values.values for name, values in result.data_vars.items()}


SEEDED = {"random_seed": 1, "progressbar": False}
OF_STATES = nrm.states
AFTER = {
    "state_probabilities": (
        tuple(KINDS),
        lambda idata, model: arrays(OF_STATES.state_probabilities(idata, model, LABELS, **SEEDED)),
    ),
    "transition_matrix": (
        tuple(KINDS),
        lambda idata, model: arrays(OF_STATES.transition_matrix(idata, model, LABELS, **SEEDED)),
    ),
    "state_durations": (tuple(KINDS), lambda idata, model: arrays(OF_STATES.state_durations(idata, LABELS))),
    "describe": (
        tuple(KINDS),
        lambda idata, model: {"text": np.array(str(nrm.describe(idata, model, LABELS)))},
    ),
}
