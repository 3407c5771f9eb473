"""Faults of hidden states that a comparison with the model finds."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt

import pymc_nrm as nrm
from pymc_nrm.models.itemwise import item_table
from pymc_nrm.states.partitions.chain import States

X, K = np.array([0.0, 1.0, 7.0, 9.0]), 6


def hidden_states():
    z = nrm.states.HiddenStates("z", nrm.DirichletProcess(1.0), nrm.states.Transitions(1.0, kappa=5.0), n=4)
    nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.2), observed=X)
    return [nrm.states.StateSampler([z])]


def states_with_slots():
    transitions = nrm.states.Transitions(1.0, kappa=5.0)
    z = nrm.states.HiddenStates("z", nrm.DirichletProcess(1.0), transitions, n=4, max_states=K)
    rate = pm.Gamma("rate", 1, 1, shape=K)
    pm.Poisson("x", rate[z], observed=X.astype(int))
    pm.Potential("odd", (pt.eq(z, 0) * np.array([0.1, 0.9, -0.4, 0.3])).sum())
    return [nrm.states.StateGibbs([z])]


def exchanged_transitions(patch):
    kernel_prior = States.kernel_prior

    def exchanged(self, priors):
        prior = kernel_prior(self, priors)
        return prior._replace(alpha=prior.kappa, kappa=prior.alpha)

    patch.setattr(States, "kernel_prior", exchanged)


def without_potential(patch):
    terms_of = item_table.terms_of
    patch.setattr(item_table, "terms_of", lambda *rest: [term for term in terms_of(*rest) if term.name != "odd"])


# What puts the fault back, a model, and the step that would sample another distribution.
COMPARED = {
    "states-slots": (without_potential, states_with_slots, "StateGibbs"),
    "transitions": (exchanged_transitions, hidden_states, "StateSampler"),
}
# Steps do not refuse these models without the fault.
SOUND = {"transitions": None}
