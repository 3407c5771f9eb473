"""Split-merge moves between two anchor items, with restricted Gibbs scans or sequential allocation."""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.checks import check_count
from pymc_nrm.families.base import (
    cache_size,
    log_marginal,
    log_predictive,
    refresh_cache,
    statistics_size,
    update_cache,
)
from pymc_nrm.generic import kernel, precompile
from pymc_nrm.interrupts import check_signals
from pymc_nrm.partitions.clusters import close_slot, grow, open_slot
from pymc_nrm.samplers.base import PartitionStep
from pymc_nrm.samplers.marginal_gibbs import gibbs_sweep, random_items, scan_order
from pymc_nrm.samplers.split_merge_tally import SPLIT_MERGE_STATS, count_outcome, split_merge_statistics
from pymc_nrm.special import copy_row


class Halves(NamedTuple):
    """Two clusters under construction, one about each anchor: rows 0 and 1 of each array."""

    counts: np.ndarray
    statistics: np.ndarray
    cache: np.ndarray


@kernel
def start_halves(family, data, first, second):
    """Two clusters of one anchor each."""
    counts = np.zeros(2, dtype=np.int64)
    statistics = np.zeros((2, statistics_size(family)))
    cache = np.zeros((2, cache_size(family)))
    halves = Halves(counts, statistics, cache)
    refresh_cache(family, statistics[0], cache[0])
    copy_row(cache[1], cache[0])
    shift_item(family, halves, data, first, 0, 1)
    shift_item(family, halves, data, second, 1, 1)
    return halves


@kernel
def shift_item(family, halves, data, item, side, sign):
    """Add (1) or remove (-1) an item to or from one half."""
    update_cache(family, halves.statistics[side], halves.cache[side], data, item, float(sign))
    halves.counts[side] += sign


@kernel
def choose_side(rng, halves, weights, family, data, item, forced):
    """Choose a half for an item, or take the forced one (0 or 1), and give its log probability."""
    first = weights.join[halves.counts[0]] + log_predictive(family, halves.cache[0], data, item)
    second = weights.join[halves.counts[1]] + log_predictive(family, halves.cache[1], data, item)
    log_first = -math.log1p(math.exp(second - first)) if second - first < 700.0 else first - second
    log_second = -math.log1p(math.exp(first - second)) if first - second < 700.0 else second - first
    side = forced
    if forced < 0:
        side = 0 if math.log(rng.random()) < log_first else 1
    return side, log_first if side == 0 else log_second


@kernel
def allocate_sequentially(rng, halves, weights, family, data, items, sides, forced):
    """Allocate items one after the other in fresh random order; the log probability of the outcome (Dahl 2005).

    ``sides`` receives the halves, or holds them when ``forced``.
    """
    log_q = 0.0
    for k in random_items(rng, items.shape[0], items.shape[0]):
        if k % 64 == 0:
            check_signals()
        side, log_probability = choose_side(rng, halves, weights, family, data, items[k], sides[k] if forced else -1)
        log_q += log_probability
        sides[k] = side
        shift_item(family, halves, data, items[k], side, 1)
    return log_q


@kernel
def allocate_by_scans(rng, halves, weights, family, data, items, sides, forced, n_scans):
    """Random launch state, restricted Gibbs scans, and the log probability of the last scan (Jain & Neal 2004).

    The launch state does not depend on ``sides``, so a forced last scan gives the probability of the reverse move.
    Each scan has a fresh random order: an order with memory would bias the move.
    """
    n = items.shape[0]
    wanted = sides.copy()
    for k in range(n):
        sides[k] = 0 if rng.random() < 0.5 else 1
        shift_item(family, halves, data, items[k], sides[k], 1)
    log_q = 0.0
    for scan in range(n_scans + 1):
        last = scan == n_scans
        for k in random_items(rng, n, n):
            if k % 64 == 0:
                check_signals()
            shift_item(family, halves, data, items[k], sides[k], -1)
            goal = wanted[k] if last and forced else -1
            sides[k], log_probability = choose_side(rng, halves, weights, family, data, items[k], goal)
            shift_item(family, halves, data, items[k], sides[k], 1)
            if last:
                log_q += log_probability
    return log_q


@kernel
def split_merge(rng, state, weights, family, data, options):
    """One split-merge move between two anchors drawn uniformly, accepted by Metropolis-Hastings.

    Leaves the target given u invariant; not irreducible in practice alone, since it only splits and merges.

    Returns
    -------
    state : State
    outcome : int
        0 split rejected, 1 split accepted, 2 merge rejected, 3 merge accepted.
    log_ratio : float
        The log of the acceptance ratio.
    """
    labels = state.labels
    n = labels.shape[0]
    first = int(rng.random() * n)
    second = int(rng.random() * (n - 1))
    second += second >= first
    slot, other = labels[first], labels[second]
    merging = slot != other
    items = np.empty(state.counts[slot] + (state.counts[other] if merging else 0) - 2, dtype=np.int64)
    sides = np.zeros(items.shape[0], dtype=np.int64)
    n_items = 0
    for item in range(n):
        if (labels[item] == slot or labels[item] == other) and item != first and item != second:
            items[n_items] = item
            sides[n_items] = merging and labels[item] == other
            n_items += 1
    halves = start_halves(family, data, first, second)
    if options.sequential:
        log_q = allocate_sequentially(rng, halves, weights, family, data, items, sides, merging)
    else:
        log_q = allocate_by_scans(rng, halves, weights, family, data, items, sides, merging, options.n_scans)
    union = np.empty(state.statistics.shape[1])
    for k in range(union.shape[0]):
        union[k] = state.statistics[slot, k] + (state.statistics[other, k] if merging else 0.0)
    # log of  L(a) L(b) / (L(a union b) q),  L(c) = kappa(|c|, u) p(X_c).
    log_ratio = -log_q - weights.moment[n_items + 2] - log_marginal(family, union)
    for side in range(2):
        log_ratio += weights.moment[halves.counts[side]] + log_marginal(family, halves.statistics[side])
    if merging:
        log_ratio = -log_ratio
    accepted = math.log(rng.random()) < log_ratio
    if not accepted:
        return state, 2 * merging, log_ratio
    if merging:
        labels[second] = slot
        for k in range(n_items):
            labels[items[k]] = slot
        state.counts[slot] = n_items + 2
        copy_row(state.statistics[slot], union)
        refresh_cache(family, state.statistics[slot], state.cache[slot])
        close_slot(state, other)
    else:
        state = grow(state, family)
        new = open_slot(state)
        labels[second] = new
        for k in range(n_items):
            if sides[k] == 1:
                labels[items[k]] = new
        for side, target in ((0, slot), (1, new)):
            state.counts[target] = halves.counts[side]
            copy_row(state.statistics[target], halves.statistics[side])
            copy_row(state.cache[target], halves.cache[side])
    return state, 1 + 2 * merging, log_ratio


@kernel
def split_merge_moves(rng, state, weights, family, data, options):
    """``options.n_moves`` split-merge moves; the state and the tally of :func:`count_outcome`."""
    tally = np.zeros(6)
    for _ in range(options.n_moves):
        check_signals()
        state, outcome, log_ratio = split_merge(rng, state, weights, family, data, options)
        count_outcome(tally, outcome, log_ratio)
    return state, tally


class SplitMergeOptions(NamedTuple):
    """Options of the kernel: moves per draw, kind of allocation, restricted scans before the last one."""

    n_moves: int
    sequential: bool
    n_scans: int


class SplitMerge(PartitionStep):
    """Split-merge moves between random pairs of items, followed by Gibbs updates.

    Leaves the posterior invariant; irreducible through the Gibbs updates.

    Parameters
    ----------
    vars : list of Partition
    n_moves : int
        Split-merge moves per draw.
    proposal : {"sequential", "restricted_gibbs"}
        How a split allocates items: sequentially in random order (Dahl 2005), or by restricted Gibbs scans from a
        random launch state (Jain & Neal 2004).
    n_scans : int
        Restricted Gibbs scans of the launch state, for ``proposal="restricted_gibbs"``.
    n_items : int, optional
        Number of random items in the Gibbs update that follows, chosen as by :class:`MarginalGibbs`; all by default.
    **kwargs
        ``model``, ``rng``, ``initial_point``, ``compile_kwargs`` as for any PyMC step.

    Raises
    ------
    ValueError
        If an option is outside its range, or something in the model uses the labels in a way that the step does not
        understand.

    References
    ----------
    Jain & Neal (2004), "A split-merge Markov chain Monte Carlo procedure for the Dirichlet process mixture model",
    section 4.2; Dahl (2005), "Sequentially-allocated merge-split sampler for conjugate and nonconjugate Dirichlet
    process mixture models", section 3.  Both are extended to normalized random measures by working given u.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model():
    ...     z = nrm.Partition("z", nrm.NormalizedInverseGaussian(1.0), n=4)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 8, 9])
    ...     step = nrm.SplitMerge([z], n_moves=10)
    """

    name = "split_merge"
    stats_dtypes_shapes = {
        **PartitionStep.common_stats,
        "n_moved": (np.int64, []),
        **SPLIT_MERGE_STATS,
    }

    def __init__(
        self,
        vars: Any = None,
        *,
        n_moves: int = 5,
        proposal: str = "sequential",
        n_scans: int = 5,
        n_items: int | None = None,
        **kwargs: Any,
    ) -> None:
        if proposal not in ("sequential", "restricted_gibbs"):
            raise ValueError(f"proposal must be 'sequential' or 'restricted_gibbs'; got {proposal!r}")
        check_count("n_moves", n_moves, 0)
        check_count("n_scans", n_scans, 0)
        options = {"n_moves": n_moves, "proposal": proposal, "n_scans": n_scans, "n_items": n_items}
        self._kernel_options = SplitMergeOptions(n_moves, proposal == "sequential", n_scans)
        super().__init__(vars, options=options, **kwargs)

    def check_options(self, n):
        """Check the options against the number of items."""
        if self.options["n_items"] is not None:
            check_count("n_items", self.options["n_items"], 1, n)

    def precompile_moves(self, state, table, family, data):
        """Compile the kernels for the types at hand."""
        precompile(scan_order, self.rng, 2, 1)
        precompile(split_merge_moves, self.rng, state, table, family, data, self._kernel_options)
        precompile(gibbs_sweep, self.rng, state, table, family, data, state.labels)

    def moves(self, state, table, family, data):
        """Split-merge moves and a sweep; the new state and the statistics of the moves."""
        n = len(state.labels)
        n_moves = self.options["n_moves"] if n > 1 else 0
        tally = np.zeros(6)
        if n_moves:
            state, tally = split_merge_moves(self.rng, state, table, family, data, self._kernel_options)
        items = scan_order(self.rng, n, self.options["n_items"] or n)
        state, n_moved = gibbs_sweep(self.rng, state, table, family, data, items)
        return state, {"n_moved": n_moved, **split_merge_statistics(tally)}
