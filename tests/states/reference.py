"""Probabilities of hidden states by other routes: customers one by one, and sums over all tables in logarithms."""

import math

import numpy as np
from scipy.special import gammaln

from pymc_nrm.states.partitions.columns import count_transitions
from pymc_nrm.states.partitions.prior import StatePrior


def prior_of(gamma, discount, alpha, kappa, starts):
    """The prior in the form of kernels, with sequences that start where ``starts`` is true or at these places."""
    return StatePrior(float(gamma), float(discount), float(alpha), float(kappa), np.asarray(starts, dtype=bool))


def one_start(n, *others):
    """Starts of n items, with further sequences that start at these items."""
    return np.isin(np.arange(n), [0, *others])


def transitions_of(labels, starts):
    """Transition counts and number of states."""
    n_states = int(max(labels)) + 1
    counts = np.empty((n_states + 1, n_states), dtype=np.int64)
    count_transitions(np.asarray(labels, dtype=np.int64), np.asarray(starts), n_states, counts)
    return counts, n_states


def tables_of_labels(labels, prior):
    """Probability of labels and of each vector of numbers of tables, by seating customers in the franchise one by one.

    A customer joins a table of its restaurant, or opens one, whose dish is the state of the restaurant itself (sticky
    mass, not counted), or comes from the top level.
    """
    total = {}
    rooms, served = [{} for _ in range(max(labels) + 2)], [0] * (max(labels) + 1)

    def seat(t, probability):
        if t == len(labels):
            total[tuple(served)] = total.get(tuple(served), 0.0) + probability
            return
        state = labels[t]
        row = 0 if prior.starts[t] else labels[t - 1] + 1
        room, sticky = rooms[row], prior.kappa if row > 0 else 0.0
        probability /= sum(size for size, _ in room.values()) + prior.alpha + sticky
        for table, (size, dish) in list(room.items()):
            if dish == state:
                room[table] = size + 1, dish
                seat(t + 1, probability * size)
                room[table] = size, dish
        table = len(room)
        room[table] = 1, state
        if sticky > 0 and row == state + 1:
            seat(t + 1, probability * sticky)
        n_tables, n_dishes = sum(served), sum(m > 0 for m in served)
        weight = served[state] - prior.discount if served[state] else prior.gamma + n_dishes * prior.discount
        weight = weight / (prior.gamma + n_tables) if n_tables else 1.0
        served[state] += 1
        seat(t + 1, probability * prior.alpha * weight)
        served[state] -= 1
        del room[table]

    seat(0, 1.0)
    return total


def log_states_without_cutoff(counts, n_states, prior):
    """Log probability of labels by sums over all numbers of tables, in logarithms of all terms."""
    log_sum = np.zeros(1)
    for k in range(n_states):
        log_p = np.zeros(1)
        for j in range(n_states + 1):
            first = prior.kappa if j == k + 1 else 0.0
            for i in range(counts[j, k]):
                with np.errstate(divide="ignore"):
                    log_base = np.log(first + i)
                log_p = np.logaddexp(
                    np.append(log_p + log_base, -np.inf), np.append(-np.inf, log_p + np.log(prior.alpha))
                )
        m = np.arange(1, len(log_p))
        log_p[1:] += gammaln(m - prior.discount) - gammaln(1.0 - prior.discount)
        log_sum = _log_convolved(log_sum, log_p)
    totals = np.arange(1, len(log_sum))
    log_v = _log_rising(prior.gamma + 1.0, totals - 1.0)
    value = np.logaddexp.reduce(log_sum[1:] - log_v)
    value += sum(math.log(prior.gamma + i * prior.discount) for i in range(1, n_states))
    lengths = counts.sum(axis=1)
    concentrations = prior.alpha + np.where(np.arange(n_states + 1) > 0, prior.kappa, 0.0)
    return value - _log_rising(concentrations, lengths).sum()


def _log_rising(a, n):
    """Logarithms of rising factorials, as sums of logarithms."""
    a, n = np.broadcast_arrays(np.asarray(a, dtype=float), n)
    return np.array([np.log(b + np.arange(int(m))).sum() for b, m in zip(a, n, strict=True)])


def _log_convolved(first, second):
    total = np.full(len(first) + len(second) - 1, -np.inf)
    for b in np.flatnonzero(second > -np.inf):
        total[b : b + len(first)] = np.logaddexp(total[b : b + len(first)], first + second[b])
    return total


def random_setting(rng, largest=1000):
    """Labels of persistent states with one to three sequences, and a prior with hyperparameters of many sizes."""
    n, n_states = int(rng.integers(2, largest)), int(rng.integers(1, 26))
    stay, labels = rng.uniform(0.0, 1.0), np.empty(n, dtype=np.int64)
    for t in range(n):
        labels[t] = labels[t - 1] if t > 0 and rng.random() < stay else rng.integers(n_states)
    labels = np.unique(labels, return_inverse=True)[1]
    first = np.unique(labels, return_index=True)[1]
    labels = np.argsort(np.argsort(first))[labels]
    starts = one_start(n, *rng.integers(0, n, size=rng.integers(0, 3)))
    alpha, gamma = np.exp(rng.uniform(math.log(0.01), math.log(2000.0), size=2))
    kappa = 0.0 if rng.random() < 0.3 else np.exp(rng.uniform(-3.0, 8.0))
    discount = 0.0 if rng.random() < 0.5 else rng.uniform(0.0, 0.98)
    return labels, prior_of(gamma, discount, alpha, kappa, starts)
