"""Moves of single labels, with the log ratios of densities that the kernels of a step give them.

The data of mixtures change by a ratio that has up to three forms: marginal likelihoods of clusters, predictive
densities of the item, and the probabilities with which a Gibbs update chooses.  The partition changes by a ratio from
the tables of weights that the step reads, of integrals over u where the number of clusters changes.
"""

import math

import numpy as np

from pymc_nrm.families import fast
from pymc_nrm.families.base import log_predictive
from pymc_nrm.kernels.chosen_uniform import probability
from pymc_nrm.kernels.generic import kernels_in_python
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.measures.base import Weights
from pymc_nrm.moves.gibbs import weights_given
from pymc_nrm.partitions.clusters import build_state
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.steps.comparison import OwnMove

# Partitions of more items are not compared: each move sums over all of them.
MOST_ITEMS = 200_000
# Choices that are less probable have too few digits.
_LEAST_PROBABLE = 1e-8
# Accuracy of integrals over u, the depth of their window, and the largest number of items, which a table has.
_ACCURACY, _DEPTH, _MOST_FOR_INTEGRALS = 1e-9, 40.0, 20_000


def item_moves(rng, labels, n_labels, items=None):
    """Labels before and after two moves of one item each, with the item: to a label without items, then between labels.

    Labels are from 0 to ``n_labels - 1``; by default all ``items`` may move.
    """
    items = np.arange(len(labels)) if items is None else items
    opened = _one_move(rng, labels, n_labels, items, opens=True)
    if opened is not None:
        yield opened
        # A single label in use leaves no move between labels.
        labels = opened[1] if (labels == labels[0]).all() else labels
    between = _one_move(rng, labels, n_labels, items, opens=False)
    if between is not None:
        yield between


def _one_move(rng, labels, n_labels, items, opens):
    counts = np.bincount(labels, minlength=n_labels)
    items = items[counts[labels[items]] > 1]
    if not len(items):
        return None
    item = int(rng.choice(items))
    candidates = np.flatnonzero((counts == 0) if opens else (counts > 0) & (np.arange(n_labels) != labels[item]))
    if not len(candidates):
        return None
    after = labels.copy()
    # Labels in order of appearance have the first label without items.
    after[item] = candidates[0] if opens else rng.choice(candidates)
    return labels, after, item


def equal_weights(n):
    """Weights of clusters of up to n items that are the same for all sizes."""
    return Weights(np.zeros(n + 1), np.zeros(n + 1))


class PartitionRatios:
    """Log ratios of the probabilities of partitions of n items, from what kernels read."""

    def __init__(self, measure, n):
        self._measure, self._n, self._integrals, self._rng = measure, n, {}, np.random.default_rng(0)

    def __call__(self, before, after):
        """Log ratio for sizes of clusters before and after a move; None if it would take long.

        Given u, partitions into the same number of clusters have the same ratio for every u.
        """
        if len(before) == len(after):
            moment = self._weights(len(before), math.nan)[0].moment
            return moment[after].sum() - moment[before].sum()
        if self._n > _MOST_FOR_INTEGRALS:
            return None
        return self.log_integral(after) - self.log_integral(before)

    def log_integral(self, sizes):
        """Log of the integral over log u of the joint density of a partition with clusters of these sizes and log u."""
        key = tuple(sorted(sizes.tolist()))
        if key not in self._integrals:
            self._integrals[key] = self._integrate(np.array(key))
        return self._integrals[key]

    def _integrate(self, sizes):
        # Importing these takes longer than importing this package.
        from scipy.integrate import quad
        from scipy.optimize import minimize_scalar

        def log_density(log_u):
            table, _, term = self._weights(len(sizes), log_u)
            # The density of log u has the Jacobian u.
            value = term + table.moment[sizes].sum() + log_u
            return value if value == value else -math.inf

        start = self._weights(len(sizes), math.nan)[1]
        # The density is log-concave in log u.
        mode = minimize_scalar(lambda x: -log_density(x), bracket=(start - 1.0, start + 1.0), tol=1e-4).x
        top, total = log_density(mode), 0.0
        for sign in (-1.0, 1.0):
            width = 1e-3
            while width < 1e12 and log_density(mode + sign * width) > top - _DEPTH:
                width *= 1.5
            integrand = lambda x, sign=sign: math.exp(log_density(mode + sign * x) - top)  # noqa: E731
            total += quad(integrand, 0.0, width, epsabs=0.0, epsrel=_ACCURACY, limit=200)[0]
        return top + math.log(total)

    def _weights(self, n_clusters, log_u):
        return weights_given(self._rng, self._measure, self._n, n_clusters, float(log_u))


def data_ratios(family, data, labels, states, item, log_target, choice=None):
    """Pairs of words and the log ratio of the densities of the data, given labels and states before and after a move.

    ``log_target(state)`` is the density by the kernel of the step, and ``choice(rng, state)`` the cluster in which a
    Gibbs update of the item puts it, given equal weights of clusters.
    """
    yield "by marginal likelihoods", log_target(states[1]) - log_target(states[0])
    members, state = np.flatnonzero(labels[0] == labels[1][item]), states[0]
    # The first empty slot has the number of clusters.
    new = int(state.labels[members[0]]) if len(members) else int(state.size[0])
    if choice is None:
        yield "by predictive densities", _predictive_ratio(state, family, data, item, new)
        return
    ratio = log_ratio_of_choices(
        lambda rng: choice(rng, _copied(state)), int(state.labels[item]), new, int(state.size[0]) + 1
    )
    if ratio is not None:
        yield "by its Gibbs update", ratio


def _copied(state):
    """A copy of a state with copies of its arrays."""
    return type(state)(*[_copied(part) if isinstance(part, tuple) else np.copy(part) for part in state])


def gibbs_choice(kernel, options, table, family, data, item):
    """The choice of a kernel of Gibbs updates with options by which it redraws one item; None without a kernel."""
    if kernel is None:
        return None
    return lambda rng, state: int(kernel(rng, state, table, family, data, options)[0].labels[item])


def log_ratio_of_choices(chosen, own_column, new, n_columns):
    """Log ratio of the probabilities of a new column and the item's own in a draw; None if one has too few digits."""
    # A draw chooses the item's own column for the smallest uniform variables, then the others in their order.
    stays = probability(lambda rng: chosen(rng) == own_column)
    first, last = int(own_column == 0), n_columns - 1 - (own_column == n_columns - 1)
    below = stays if new == first else probability(lambda rng: _is_before(chosen(rng), own_column, new), stays)
    moves = 1.0 if new == last else probability(lambda rng: _is_before(chosen(rng), own_column, new + 1), below)
    return math.log(moves - below) - math.log(stays) if min(stays, moves - below) > _LEAST_PROBABLE else None


def _is_before(cluster, own_column, end):
    return cluster == own_column or cluster < end


def _predictive_ratio(state, family, data, item, new):
    """Log ratio of the predictive densities of an item in another cluster and in its own, without it."""
    own_slot = int(state.labels[item])
    with kernels_in_python():
        statistics, cache = state.statistics[own_slot].copy(), state.cache[own_slot].copy()
        log_own = fast.log_predictive_without(family, statistics, cache, data, item)
        if math.isnan(log_own):
            fast.update_cache(family, statistics, cache, data, item, -1.0)
            log_own = log_predictive(family, cache, data, item)
        return _log_predictive(family, state.cache[new], data, item) - log_own


def _log_predictive(family, cache, data, item):
    """Log predictive density of an item given the cache of a cluster, by the panel of all clusters if there is one."""
    n_rows, n_sets, n_lane_rows = fast.panel_shape(family)
    if n_rows == 0:
        return log_predictive(family, cache, data, item)
    rows, lanes = np.empty((n_rows, LANES)), np.empty((n_sets, 1, n_lane_rows, LANES))
    for column in range(LANES):
        fast.write_panel(family, cache, rows, lanes, column)
    values = np.zeros(LANES)
    fast.add_log_predictives(family, rows, lanes, data, item, LANES, values)
    return float(values[0])


def empty_slot_move(point, partition, empty_slots, terms):
    """The draw of parameters of empty slots from their prior, whose log density is the sum of ``terms(point, names)``.

    If no slot is empty, all items first move to one.
    """
    if not empty_slots.names:
        return
    labels = partition.read(point)
    counts = np.bincount(labels, minlength=partition.max_clusters)
    if counts.all():
        point = partition.write(point, np.full(len(labels), labels[0]))
        counts = np.bincount(partition.read(point), minlength=partition.max_clusters)
    state = empty_slots.state
    try:
        after = empty_slots.redraw(point, counts == 0)
    finally:
        empty_slots.state = state
    ratio = terms(after, empty_slots.variables) - terms(point, empty_slots.variables)
    names = ", ".join(map(repr, empty_slots.variables))
    yield OwnMove(f"entries of {names} for empty slots of {partition.name!r} are drawn anew", point, after, ratio)


def indexed_moves(rng, point, partition, table, family, data, log_ratio, log_target):
    """Moves of items between labels that index parameters, of all rows that depend on their label.

    ``log_ratio(before, after)`` is the ratio of the priors of labels by the step, None for a move to leave out, and
    ``log_target`` as in :func:`data_ratios`, None without mixtures.
    """
    labels = partition.read(point)
    if len(labels) > MOST_ITEMS:
        return
    for before, after, item in item_moves(rng, labels, partition.max_clusters):
        prior = log_ratio(before, after)
        if prior is None:
            continue
        rows, slots = np.zeros((len(labels), 2)), np.array([before[item], after[item]])
        table.fill(point, slots, np.arange(2), rows)
        ratio = rows[item, 1] - rows[item, 0] + prior
        what = f"item {item} of {partition.name!r} moves from {partition.one_label} {slots[0]} to {slots[1]}"
        points = [partition.write(point, chosen) for chosen in (before, after)]
        of_data = [("by the table of its data", 0.0)]
        if log_target is not None:
            states = [build_state(canonical_labels(chosen), family, data) for chosen in (before, after)]
            of_data = data_ratios(family, data, (before, after), states, item, log_target)
        for how, of_mixtures in of_data:
            yield OwnMove(f"{what}, {how}", *points, ratio + of_mixtures)
