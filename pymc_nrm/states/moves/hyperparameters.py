"""Draws of concentrations of hidden states given the labels, by slice sampling of their exact log-probability."""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.learned.draws import slice_sample
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.states.partitions.columns import count_transitions
from pymc_nrm.states.partitions.prior import StatePrior
from pymc_nrm.states.partitions.tables import log_states
from pymc_nrm.states.partitions.totals import log_states_of_totals, totals_given_labels

# Fields of the prior that are drawn, in the order of their logarithms.
DRAWN = ("gamma", "alpha", "kappa")
KAPPA = 2
_WIDTH = 1.0


class ConcentrationsTarget(NamedTuple):
    """Density of the logarithm of one concentration given the labels and all others, with a gamma prior."""

    # Transition counts of the labels (n_states + 1, n_states), and the prior of the labels.
    counts: Any
    prior: Any
    # Coefficients of powers of alpha at the kappa and discount of the prior.
    totals: Any
    # Place in ``DRAWN``, and shape and rate of the gamma prior.
    place: Any
    shape: Any
    rate: Any

    def log_height(self, x):
        prior = with_concentration(self.prior, self.place, math.exp(x))
        if self.place == KAPPA or prior.discount != self.prior.discount:
            value = log_states(self.counts, self.counts.shape[1], prior)
        else:
            value = log_states_of_totals(self.totals, self.counts, self.counts.shape[1], prior)
        return value + self.shape * x - self.rate * math.exp(x)


@kernel
def with_concentration(prior, place, value):
    """The prior with another value in a place of ``DRAWN``; a discount below 0 is ``-gamma / K`` for K states."""
    gamma, alpha, kappa, discount = prior.gamma, prior.alpha, prior.kappa, prior.discount
    if place == 0:
        if discount < 0.0:
            discount = -value / math.floor(0.5 - gamma / discount)
        gamma = value
    elif place == 1:
        alpha = value
    else:
        kappa = value
    return StatePrior(gamma, discount, alpha, kappa, prior.starts)


@kernel
def log_density_of_concentrations(labels, prior, gammas, logs):
    """Log density, up to a constant, of what :func:`draw_concentrations_of_states` draws."""
    n_states, log_prior = labels.max() + 1, 0.0
    counts = np.zeros((n_states + 1, n_states), dtype=np.int64)
    count_transitions(labels, prior.starts, n_states, counts)
    for place in range(3):
        if gammas[place, 0] > 0.0:
            prior = with_concentration(prior, place, math.exp(logs[place]))
            log_prior += gammas[place, 0] * logs[place] - gammas[place, 1] * math.exp(logs[place])
    return log_states(counts, n_states, prior) + log_prior


@kernel
def draw_concentrations_of_states(rng, labels, prior, gammas, logs, n_sweeps):
    """Draw logarithms of gamma, alpha and kappa given labels in order of appearance, in place, ``n_sweeps`` times.

    Rows of ``gammas`` (3, 2) are shapes and rates of their gamma priors; those of shape 0 are fixed.  It leaves their
    conditional given the labels invariant, and is irreducible.
    """
    n_states = labels.max() + 1
    counts = np.zeros((n_states + 1, n_states), dtype=np.int64)
    count_transitions(labels, prior.starts, n_states, counts)
    for place in range(3):
        if gammas[place, 0] > 0.0:
            prior = with_concentration(prior, place, math.exp(logs[place]))
    for _ in range(n_sweeps):
        totals = totals_given_labels(counts, n_states, prior)
        for place in range(3):
            if gammas[place, 0] > 0.0:
                target = ConcentrationsTarget(counts, prior, totals, place, gammas[place, 0], gammas[place, 1])
                logs[place] = slice_sample(rng, target, logs[place], _WIDTH)
                before, prior = prior.discount, with_concentration(prior, place, math.exp(logs[place]))
                if prior.discount != before:
                    totals = totals_given_labels(counts, n_states, prior)
