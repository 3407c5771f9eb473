"""Results of hidden states by the dimension of the times."""

import functools

import pymc as pm

import pymc_nrm as nrm
from pymc_nrm.states import plots
from tests.tools.four_items import COUNTS, ESTIMATE, QUIET, THINGS, draws_of


@functools.cache
def hidden(items):
    with pm.Model(coords={items: THINGS}) as model:
        z = nrm.states.HiddenStates("z", nrm.DirichletProcess(1.0), nrm.states.Transitions(1.0, 2.0), dims=items)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=COUNTS[:, 0], dims=items)
    return model


OF_ITEMS = {
    "state_probabilities, draws": lambda *at: nrm.states.state_probabilities(draws_of(*at), None, ESTIMATE),
    "state_probabilities": lambda *at: nrm.states.state_probabilities(draws_of(*at), hidden(at[0]), ESTIMATE, **QUIET),
    "transition_matrix": lambda *at: nrm.states.transition_matrix(draws_of(*at), hidden(at[0]), ESTIMATE, **QUIET),
    "forecast_density": lambda *at: nrm.states.forecast_density(draws_of(*at), hidden(at[0]), [0, 1], [1, 2], **QUIET),
    "state_durations": lambda *at: nrm.states.state_durations(draws_of(*at), ESTIMATE),
}
QUICK = {"state_probabilities": None, "transition_matrix": None}


def _with_probabilities(draws, options):
    plots.plot_state_sequence(draws, nrm.states.state_probabilities(draws, None, ESTIMATE), **options)


PLOTS = {
    "state_sequence": lambda draws, options: plots.plot_state_sequence(draws, ESTIMATE, **options),
    "state_sequence, probabilities": _with_probabilities,
}
