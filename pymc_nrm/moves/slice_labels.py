"""Slice sampling: labels of all items at once, given the jumps of the random measure and parameters of components."""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import statistics_size
from pymc_nrm.families.components import add_component_densities, component_panel, write_component
from pymc_nrm.families.conjugate import draw_parameters, parameters_size
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.lanes import whole_lanes
from pymc_nrm.kernels.special import draw_gamma
from pymc_nrm.moves.gibbs import draw_column
from pymc_nrm.partitions.clusters import build_state, cluster_size, opens_clusters, stays

# Smaller jumps are lost to underflow.
_SMALLEST = 1e-300
# Tables of weights of Gibbs type, up to rounding.
_LARGEST_DEVIATION = 1e-6


class JumpLaw(NamedTuple):
    """The intensity nu of the jumps: ``log_scale`` is ``log(a / Gamma(1 - sigma))``."""

    log_scale: Any
    sigma: Any


@kernel
def jump_law(weights):
    """Find the intensity of the jumps from the weights of clusters given u."""
    join = weights.join
    # With at most two items, all tables are of this form.
    sigma = 0.0
    if join.shape[0] > 2:
        sigma = 1.0 - 1.0 / math.expm1(join[2] - join[1])
    unit = join[1] - math.log(1.0 - sigma) if join.shape[0] > 1 else 0.0
    return JumpLaw(join[0] - unit - math.lgamma(1.0 - sigma), sigma)


@kernel
def largest_deviation(weights):
    """Distance of a table of weights from a prior of Gibbs type: the largest difference of logarithms."""
    join = weights.join
    if join.shape[0] < 4:
        return 0.0
    sigma = 1.0 - 1.0 / math.expm1(join[2] - join[1])
    largest = 0.0
    for m in range(2, join.shape[0]):
        difference = join[m] - join[1] - math.log((m - sigma) / (1.0 - sigma))
        if not abs(difference) <= largest:
            largest = abs(difference)
    return largest


def check_gibbs_type(measure, weights, user):
    """Refuse tables that are not of Gibbs type, up to rounding, for a step that requires this."""
    if not largest_deviation(weights) < _LARGEST_DEVIATION:
        raise NotImplementedError(
            f"measure must be of Gibbs type, with weights of clusters equal to their size minus a constant, which "
            f"{user}; got {type(measure).__name__}"
        )


@kernel
def expected_proposals(intensity, level):
    """Mean number of points that :func:`jumps_above` proposes; the mean number of jumps is similar, or smaller."""
    if intensity.sigma < -1.0:
        return math.exp(intensity.log_scale + math.lgamma(-intensity.sigma))
    return _n_small(intensity, level) + _n_large(intensity, level)


@kernel
def _n_small(intensity, level):
    if level >= 1.0:
        return 0.0
    log_level = math.log(level)
    # The integral of x^(-1 - sigma) from the level to 1.
    integral = math.expm1(-intensity.sigma * log_level) / intensity.sigma if intensity.sigma != 0.0 else -log_level
    return math.exp(intensity.log_scale - level) * integral


@kernel
def _n_large(intensity, level):
    start = max(level, 1.0)
    return math.exp(intensity.log_scale - start - (1.0 + intensity.sigma) * math.log(start))


@kernel
def least_level(intensity, lowest, most):
    """The lowest level, at least ``lowest``, above which at most ``most`` proposals are expected. If sigma is below -1,
    jumps are cheap and the level is ``lowest``.
    """
    lowest = max(lowest, _SMALLEST)
    if intensity.sigma < -1.0 or expected_proposals(intensity, lowest) <= most:
        return lowest
    low, high = math.log(lowest), math.log(1e4)
    for _ in range(60):
        middle = 0.5 * (low + high)
        if expected_proposals(intensity, math.exp(middle)) <= most:
            high = middle
        else:
            low = middle
    return math.exp(high)


@kernel
def jumps_above(rng, intensity, level):
    """Draw the points above a level of a Poisson process of intensity nu, by thinning (Lewis & Shedler 1979).

    Between the level and 1, proposals have intensity ``exp(-level) x^(-1 - sigma)`` and are kept with probability
    ``exp(level - x)``.  Above ``m = max(level, 1)`` they have intensity ``m^(-1 - sigma) exp(-x)`` and are kept with
    ``(m / x)^(1 + sigma)``.  If sigma is below -1, all jumps are drawn as gamma variables. Points are in no particular
    order.
    """
    sigma = intensity.sigma
    if sigma < -1.0:
        n_proposals = rng.poisson(expected_proposals(intensity, level))
        jumps = np.empty(n_proposals)
        n_jumps = 0
        for _ in range(n_proposals):
            jumps[n_jumps] = draw_gamma(rng, -sigma)
            n_jumps += jumps[n_jumps] > level
        return jumps[:n_jumps]
    n_small, n_large = rng.poisson(_n_small(intensity, level)), rng.poisson(_n_large(intensity, level))
    jumps = np.empty(n_small + n_large)
    n_jumps = 0
    if n_small > 0:
        log_level = math.log(level)
        growth = math.expm1(-sigma * log_level)
        for _ in range(n_small):
            share = rng.random()
            log_x = -math.log1p(share * growth) / sigma if sigma != 0.0 else share * log_level
            jumps[n_jumps] = math.exp(log_x)
            n_jumps += rng.random() < math.exp(level - jumps[n_jumps])
    start = max(level, 1.0)
    for _ in range(n_large):
        jumps[n_jumps] = start + rng.standard_exponential()
        n_jumps += rng.random() < math.exp((1.0 + sigma) * math.log(start / jumps[n_jumps]))
    return jumps[:n_jumps]


class SliceCounts(NamedTuple):
    """Numbers of items that changed their cluster and that had to stay, and of jumps besides the jumps of clusters."""

    n_moved: Any
    n_kept: Any
    n_jumps: Any


@kernel(inner_loop=True)
def slice_labels(rng, state, weights, family, data, most_jumps):
    """Draw the labels of all items given new jumps, parameters and slices.

    It leaves the target given u invariant and is irreducible.  Given the partition, it draws the jumps J and the
    parameters of the clusters, for each item a slice s, uniform between 0 and the jump of its cluster, and all other
    jumps above the lowest slice, with parameters from the base measure.  Given all of these, labels are independent:
    each is one of the jumps above the slice of the item, with probability proportional to the density of its data
    (Walker 2007 for the Dirichlet process; Griffin & Walker 2011 for normalized random measures).

    Slices so low that more than ``most_jumps`` further jumps are expected above them are not used: their items keep
    their labels.  These items depend only on u and on slices, given which all labels are drawn, so the target is still
    invariant.  Items for which :func:`stays` is true keep their labels as well.  Without further jumps, if no item may
    open a cluster, labels are drawn from their conditional given that none does.  The labels are canonical.
    """
    n = state.labels.shape[0]
    n_clusters = state.size[0]
    intensity = jump_law(weights)
    cluster_jumps = np.empty(state.counts.shape[0])
    for k in range(n_clusters):
        slot = state.active[k]
        size = cluster_size(family, state.statistics[slot], state.counts[slot])
        cluster_jumps[slot] = draw_gamma(rng, size - intensity.sigma)
    slices = np.empty(n)
    lowest = np.inf
    for item in range(n):
        slices[item] = cluster_jumps[state.labels[item]] * rng.random()
        lowest = min(lowest, slices[item])
    least = least_level(intensity, lowest, most_jumps)
    level = np.inf
    for item in range(n):
        if slices[item] >= least:
            level = min(level, slices[item])
    # Jumps without items matter only to items that may open a cluster.
    other_jumps = jumps_above(rng, intensity, level) if level < np.inf and opens_clusters(family) else np.empty(0)
    n_columns = n_clusters + other_jumps.shape[0]
    falling, column_of, panel = _components(rng, state, family, cluster_jumps, other_jumps)
    values = np.empty(whole_lanes(n_columns))
    names = np.full(n_columns, -1, dtype=np.int64)
    labels = np.empty(n, dtype=np.int64)
    n_names, n_moved, n_kept = 0, 0, 0
    for item in range(n):
        if item % 64 == 0:
            check_signals()
        here = column_of[state.labels[item]]
        chosen = here
        if slices[item] < least:
            n_kept += 1
        elif not stays(family, data, item):
            n_above = np.searchsorted(falling, -slices[item])
            if n_above > 1:
                width = whole_lanes(n_above)
                for k in range(n_above):
                    values[k] = 0.0
                add_component_densities(family, panel, data, item, width, values)
                chosen = draw_column(rng, values, n_above, here)
        n_moved += chosen != here
        if names[chosen] < 0:
            names[chosen] = n_names
            n_names += 1
        labels[item] = names[chosen]
    return labels, SliceCounts(n_moved, n_kept, other_jumps.shape[0])


@kernel(inner_loop=True)
def _components(rng, state, family, cluster_jumps, other_jumps):
    """Draw parameters of all components into a panel, in decreasing order of their jumps, and return minus the jumps in
    that order; ``column_of`` has the column of the cluster in each slot.
    """
    n_clusters, n_components = state.size[0], state.size[0] + other_jumps.shape[0]
    jumps = np.empty(n_components)
    for k in range(n_clusters):
        jumps[k] = cluster_jumps[state.active[k]]
    for k in range(other_jumps.shape[0]):
        jumps[n_clusters + k] = other_jumps[k]
    order = np.argsort(-jumps)
    column_of = np.empty(state.counts.shape[0], dtype=np.int64)
    panel = component_panel(family, whole_lanes(n_components))
    no_data = np.zeros(statistics_size(family))
    parameters = np.empty(parameters_size(family))
    for column in range(n_components):
        if column % 64 == 0:
            check_signals()
        if order[column] < n_clusters:
            slot = state.active[order[column]]
            column_of[slot] = column
            draw_parameters(family, state.statistics[slot], rng, parameters)
        else:
            draw_parameters(family, no_data, rng, parameters)
        write_component(family, parameters, panel, column)
    return -jumps[order], column_of, panel


@shared_kernel(components=True)
def slice_move(rng, state, weights, family, data, most_jumps):
    """Draw all labels by :func:`slice_labels`; return a new state and :class:`SliceCounts`."""
    labels, counts = slice_labels(rng, state, weights, family, data, most_jumps)
    return build_state(labels, family, data), counts


@kernel
def expected_large_jumps(weights):
    """Expected number of jumps above 1, in units of ``1 / (1 + u)``, besides the jumps of clusters."""
    return expected_proposals(jump_law(weights), 1.0)
