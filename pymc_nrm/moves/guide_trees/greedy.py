"""Greedy Bayesian hierarchical clustering (Heller & Ghahramani 2005) for any measure."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.kernels.special import copy_row
from pymc_nrm.moves.guide_trees.potentials import log_dissimilarity, log_potential


class Units(NamedTuple):
    """Trees to be joined, described by what their potentials depend on."""

    # Numbers of leaves; int64 of shape (k,).
    size: Any
    # Shape (k,).
    log_potential: Any
    # Sums over the leaves; shape (k, s).
    statistics: Any


@kernel
def item_units(weights, family, data, items):
    """Make each of the given items a tree of its own."""
    k = items.shape[0]
    statistics = np.zeros((k, statistics_size(family)))
    log_phi = np.empty(k)
    for a in range(k):
        check_signals()
        add_item(family, statistics[a], data, items[a], 1.0)
        log_phi[a] = weights.moment[1] + log_marginal(family, statistics[a])
    return Units(np.ones(k, dtype=np.int64), log_phi, statistics)


@kernel
def _unit_log_d(units, moment, family, a, b, work):
    """Log d of two trees."""
    for k in range(work.shape[0]):
        work[k] = units.statistics[a, k] + units.statistics[b, k]
    together = moment[units.size[a] + units.size[b]] + log_marginal(family, work)
    return log_dissimilarity(units.log_potential[a] + units.log_potential[b], together)


@kernel
def _nearest(log_d, active, n_active, a):
    """The active unit with the smallest log d to a unit."""
    best = -1
    for k in range(n_active):
        b = active[k]
        if b != a and (best < 0 or log_d[a, b] < log_d[a, best]):
            best = b
    return best


@kernel
def join_units(units, weights, family, log_d):
    """Join the pair with the smallest d until one tree is left; ``units`` is overwritten.

    The dissimilarity of two trees depends on nothing else, so its matrix is filled once, and after each merge only one
    row and column change: k^2 log marginals in all.  Every unit remembers its nearest unit, and looks for a new one
    only when that has been merged.  Time grows as k^2, and memory is 8 k^2 bytes. In ``merges``, units have the numbers
    0 to k - 1, and row j makes node k + j; ``last`` is the entry of ``units`` that holds the whole tree. Shapes:
    ``log_d`` (k, k); returns ``merges`` (k - 1, 2), ``log_d`` (k - 1,).
    """
    k = units.size.shape[0]
    moment = weights.moment
    merges = np.empty((max(k - 1, 0), 2), dtype=np.int64)
    merge_log_d = np.empty(max(k - 1, 0))
    work = np.empty(units.statistics.shape[1])
    for a in range(k):
        check_signals()
        for b in range(a):
            log_d[a, b] = log_d[b, a] = _unit_log_d(units, moment, family, a, b, work)
    active, node, nearest = np.arange(k), np.arange(k), np.empty(k, dtype=np.int64)
    for a in range(k):
        nearest[a] = _nearest(log_d, active, k, a)
    for step in range(k - 1):
        check_signals()
        n_active = k - step
        a = active[0]
        for j in range(n_active):
            if log_d[active[j], nearest[active[j]]] < log_d[a, nearest[a]]:
                a = active[j]
        b = nearest[a]
        if node[b] < node[a]:
            a, b = b, a
        merges[step, 0], merges[step, 1] = node[a], node[b]
        merge_log_d[step] = log_d[a, b]
        units.log_potential[a] = log_potential(units.log_potential[a] + units.log_potential[b], log_d[a, b])
        units.size[a] += units.size[b]
        for j in range(work.shape[0]):
            work[j] = units.statistics[a, j] + units.statistics[b, j]
        copy_row(units.statistics[a], work)
        node[a] = k + step
        n_active = _remove(active, n_active, b)
        for j in range(n_active):
            c = active[j]
            if c != a:
                log_d[a, c] = log_d[c, a] = _unit_log_d(units, moment, family, a, c, work)
        for j in range(n_active):
            c = active[j]
            if c == a or nearest[c] == a or nearest[c] == b:
                nearest[c] = _nearest(log_d, active, n_active, c)
            elif log_d[c, a] < log_d[c, nearest[c]]:
                nearest[c] = a
    return merges, merge_log_d, active[0]


@kernel
def _remove(active, n_active, b):
    """Remove an entry and keep the order of the others, so that the smaller number wins ties."""
    k = 0
    while active[k] != b:
        k += 1
    for j in range(k, n_active - 1):
        active[j] = active[j + 1]
    return n_active - 1
