"""The weak-limit sampler of Fox, Sudderth, Jordan & Willsky (2011), section 4.2: at most L sticky hidden states.

Weights of states are ``Dirichlet(gamma / L)``, whose limit is the Dirichlet process. Rows and parameters of all states
are drawn, labels of all times given them, and weights given tables.
"""

import numpy as np

from pymc_nrm.families.conjugate import draw_dirichlet
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.states.moves.blocked import Candidates, _draw_components, _filter_forward
from pymc_nrm.states.partitions.columns import count_transitions
from pymc_nrm.states.partitions.filtering import draw_rows, sample_backward

_NONE_KNOWN = np.zeros(0, dtype=np.bool_)


@kernel
def tables_of(rng, counts, beta, prior):
    """Numbers of tables of each state that are no overrides by self-transitions."""
    n_states = beta.shape[0]
    tables = np.zeros(n_states)
    for j in range(n_states + 1):
        for k in range(n_states):
            kappa = prior.kappa if j == k + 1 else 0.0
            pull = prior.alpha * beta[k]
            for i in range(counts[j, k]):
                if rng.random() * (pull + kappa + i) < pull + kappa:
                    tables[k] += rng.random() * (pull + kappa) < pull
    return tables


@kernel
def weak_limit_draw(rng, labels, beta, prior, family, data, memory):
    """Draw rows, parameters, labels and weights in place. Shapes: ``beta`` (L,), ``memory`` (n, L)."""
    n_states = beta.shape[0]
    candidates = Candidates(np.arange(n_states), beta, 0.0, n_states)
    counts = np.zeros((n_states + 1, n_states), dtype=np.int64)
    count_transitions(labels, prior.starts, n_states, counts)
    rows = draw_rows(rng, counts, prior, candidates.places, candidates.weights, candidates.tail)
    panel = _draw_components(rng, labels, family, data, candidates)
    if _filter_forward(labels, prior.starts, rows, panel, family, data, _NONE_KNOWN, memory):
        sample_backward(rng, labels, prior.starts, rows, memory)
    count_transitions(labels, prior.starts, n_states, counts)
    concentration = tables_of(rng, counts, beta, prior)
    for k in range(n_states):
        concentration[k] += prior.gamma / n_states
    draw_dirichlet(rng, concentration, beta)
