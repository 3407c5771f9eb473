"""Particle Gibbs with ancestor sampling for sticky hidden states, after Tripuraneni, Gu, Ge & Ghahramani (2015).

Given labels, the random measure is drawn: weights, transition rows and parameters, of unused states only as far as they
are needed.  A conditional particle filter then draws the labels given the measure, with ancestors of the present path
drawn anew (Lindsten, Jordan & Schoen 2014).  Particles propose states whose weight is above a level from their
transitions times densities, and all other states together in proportion to the marginal density.  The states above the
level are a function of the weights: proposals that depended on which states are in use would not leave the posterior
invariant.  Weights are drawn given tables.  The sampler is irreducible alone.
"""

import math

import numpy as np

from pymc_nrm.families.base import log_predictive
from pymc_nrm.families.components import add_component_densities, component_panel, write_component
from pymc_nrm.families.conjugate import draw_parameters, parameters_size
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.lanes import whole_lanes
from pymc_nrm.kernels.special import draw_index
from pymc_nrm.partitions.clusters import build_state

from .beam import CAPACITY, break_stick, draw_first_rows, forget_empty, write_states


@kernel
def _ancestors(rng, weights, n_drawn, ancestors):
    """Draw ancestors in proportion to weights, by one pass over sorted uniform variables."""
    total, spacing = weights.sum(), 0.0
    times = np.empty(n_drawn + 1)
    for i in range(n_drawn + 1):
        spacing -= math.log1p(-rng.random())
        times[i] = spacing
    k, below = 0, weights[0] / total
    for i in range(n_drawn):
        while times[i] / spacing > below and k < weights.shape[0] - 1:
            k += 1
            below += weights[k] / total
        ancestors[i] = k


@kernel
def particle_gibbs_draw(rng, labels, weights, prior, family, data, n_particles, level):
    """Draw the measure, labels in place, and weights, which are returned; shape (n_states + 1,)."""
    n, n_labels = labels.shape[0], labels.max() + 1
    common, rows = draw_first_rows(rng, labels, n_labels, weights, prior)
    n_states = n_labels
    while common[n_states] > level:
        break_stick(rng, prior, common, rows, n_states)
        n_states += 1
    width = whole_lanes(CAPACITY)
    panel, parameters = component_panel(family, width), np.empty(parameters_size(family))
    write_states(rng, labels, n_labels, n_states, family, data, panel)
    state = build_state(labels, family, data)
    empty = state.cache[state.active[state.size[0]]]
    nothing = np.zeros_like(state.statistics[0])
    is_free = common[:n_states] > level
    n_free = n_states
    states, parents = np.empty((n, n_particles), dtype=np.int64), np.zeros((n, n_particles), dtype=np.int64)
    particle_weights, joint = np.ones(n_particles), np.empty(n_particles)
    values, options, last = np.empty(width), np.empty(n_free + 1), n_particles - 1
    for t in range(n):
        check_signals()
        if t > 0:
            _ancestors(rng, particle_weights, last, parents[t])
            for i in range(n_particles):
                joint[i] = particle_weights[i]
                if not prior.starts[t]:
                    joint[i] *= rows[states[t - 1, i] + 1, labels[t]]
            parents[t, last] = draw_index(rng, joint)
        values.fill(0.0)
        add_component_densities(family, panel, data, t, whole_lanes(n_states), values)
        log_marginal = log_predictive(family, empty, data, t)
        largest = log_marginal
        for k in range(n_free):
            if is_free[k]:
                largest = max(largest, values[k])
        densities = np.zeros(n_free + 1)
        for k in range(n_free):
            densities[k] = math.exp(values[k] - largest) if is_free[k] else 0.0
        densities[n_free] = math.exp(log_marginal - largest)
        for i in range(n_particles):
            row = 0 if prior.starts[t] else states[t - 1, parents[t, i]] + 1
            others = 1.0
            for k in range(n_free):
                options[k] = rows[row, k] * densities[k]
                others -= rows[row, k] if is_free[k] else 0.0
            options[n_free] = max(others, 0.0) * densities[n_free]
            total = options.sum()
            chosen = labels[t] if i == last else draw_index(rng, options)
            if chosen == n_free and i != last:
                # A state that is not free, drawn from the row: one that is there, or one of those that remain.
                left = np.zeros(n_states + 1)
                for k in range(n_states):
                    left[k] = 0.0 if k < n_free and is_free[k] else rows[row, k]
                left[n_states] = rows[row, n_states]
                chosen = draw_index(rng, left)
                while chosen == n_states:
                    break_stick(rng, prior, common, rows, n_states)
                    draw_parameters(family, nothing, rng, parameters)
                    write_component(family, parameters, panel, n_states)
                    n_states += 1
                    values.fill(0.0)
                    add_component_densities(family, panel, data, t, whole_lanes(n_states), values)
                    stays = np.array([rows[row, n_states - 1], rows[row, n_states]])
                    chosen = n_states - 1 + draw_index(rng, stays)
            states[t, i] = chosen
            particle_weights[i] = total
            if chosen >= n_free or not is_free[chosen]:
                particle_weights[i] *= math.exp(min(values[chosen] - log_marginal, 600.0))
        particle_weights /= particle_weights.max()
    chosen = draw_index(rng, particle_weights)
    for t in range(n - 1, -1, -1):
        labels[t] = states[t, chosen]
        chosen = parents[t, chosen]
    return forget_empty(rng, labels, common, n_states, prior)
