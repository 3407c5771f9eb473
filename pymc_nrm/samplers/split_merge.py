"""Split-merge moves with two random anchor items, by restricted Gibbs scans or sequential allocation."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.common.checks import check_count
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.kernels.generic import kernel, precompile
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.samplers.base import PartitionStep
from pymc_nrm.samplers.marginal_gibbs import gibbs_sweep, scan_order
from pymc_nrm.samplers.sides import (
    add_to_side,
    allocate_items,
    apply_merge,
    apply_split,
    draw_pair,
    log_target_ratio,
    start_sides,
)
from pymc_nrm.samplers.tally import SPLIT_MERGE_STATS, accept, empty_tally, split_merge_statistics


@kernel
def allocate_by_scans(rng, sides, weights, family, data, items, placed, goals, n_scans):
    """Allocate items by restricted Gibbs scans from a random launch state; return the log probability of the last scan.

    This is the split proposal of Jain & Neal (2004).  The launch state does not depend on ``goals``, so the probability
    of a last scan that ends in ``goals`` is that of the reverse move.  Each scan visits items in a fresh random order:
    reusing an order would bias the move.
    """
    for k in range(items.shape[0]):
        placed[k] = 0 if rng.random() < 0.5 else 1
        add_to_side(family, sides, data, items[k], placed[k])
    free = np.full(items.shape[0], -1, dtype=np.int64)
    for _ in range(n_scans):
        allocate_items(rng, sides, weights, family, data, items, placed, free, True)
    return allocate_items(rng, sides, weights, family, data, items, placed, goals, True)


@kernel
def split_merge(rng, state, weights, family, data, options, tally):
    """Make one split-merge move with two uniformly drawn anchors, by Metropolis-Hastings; return the state.

    The move leaves the target given u invariant.  By itself it mixes too slowly to be irreducible in practice, since it
    only splits and merges.
    """
    labels = state.labels
    first, second = draw_pair(rng, labels.shape[0])
    slot, other = labels[first], labels[second]
    merging = slot != other
    items = np.empty(state.counts[slot] + (state.counts[other] if merging else 0) - 2, dtype=np.int64)
    placed, goals = np.empty(items.shape[0], dtype=np.int64), np.empty(items.shape[0], dtype=np.int64)
    count = 0
    for item in range(labels.shape[0]):
        if (labels[item] == slot or labels[item] == other) and item != first and item != second:
            items[count] = item
            goals[count] = labels[item] == other if merging else -1
            count += 1
    sides = start_sides(family, data, first, second)
    if options.sequential:
        log_q = allocate_items(rng, sides, weights, family, data, items, placed, goals, False)
    else:
        log_q = allocate_by_scans(rng, sides, weights, family, data, items, placed, goals, options.n_scans)
    log_ratio = log_target_ratio(weights, family, sides) - log_q
    if not accept(rng, tally, merging, -log_ratio if merging else log_ratio):
        return state
    if merging:
        apply_merge(state, family, slot, other)
        return state
    state, new = apply_split(state, family, sides, slot)
    labels[second] = new
    for k in range(items.shape[0]):
        if placed[k] == 1:
            labels[items[k]] = new
    return state


@kernel
def split_merge_moves(rng, state, weights, family, data, options):
    """Make ``options.n_moves`` split-merge moves; return the state and a :class:`~pymc_nrm.samplers.tally.Tally`."""
    tally = empty_tally()
    for _ in range(options.n_moves):
        check_signals()
        state = split_merge(rng, state, weights, family, data, options, tally)
    return state, tally


class SplitMergeOptions(NamedTuple):
    """Options of the kernel: moves per draw, whether items are allocated sequentially, scans before the last one."""

    n_moves: int
    sequential: bool
    n_scans: int


class SplitMerge(PartitionStep):
    """Split-merge moves with random pairs of anchor items, followed by Gibbs updates.

    Both leave the posterior invariant, and the Gibbs updates make the sampler irreducible.

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
        Number of random items that the Gibbs update visits, chosen as in :class:`MarginalGibbs`; all by default.
    **kwargs
        ``model``, ``rng``, ``initial_point``, ``compile_kwargs`` as for any PyMC step.

    Raises
    ------
    ValueError
        If an option is outside its range, or anything except the data of a mixture depends on the labels.

    References
    ----------
    Jain & Neal (2004), "A split-merge Markov chain Monte Carlo procedure for the Dirichlet process mixture model",
    section 4.2; Dahl (2005), "Sequentially-allocated merge-split sampler for conjugate and nonconjugate Dirichlet
    process mixture models", section 3.  Both are extended to other measures by working given u.

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
    needs = (*PartitionStep.needs, log_marginal)
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
        if not isinstance(proposal, str) or proposal not in ("sequential", "restricted_gibbs"):
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
        """Compile the kernels for the types of the arguments."""
        precompile(scan_order, self.rng, 2, 1)
        precompile(split_merge_moves, self.rng, state, table, family, data, self._kernel_options)
        precompile(gibbs_sweep, self.rng, state, table, family, data, state.labels)

    def moves(self, state, table, family, data):
        """Make split-merge moves and a Gibbs sweep; return the new state and the statistics of the moves."""
        n = len(state.labels)
        tally = empty_tally()
        if n > 1:
            state, tally = split_merge_moves(self.rng, state, table, family, data, self._kernel_options)
        items = scan_order(self.rng, n, self.options["n_items"] or n)
        state, n_moved = gibbs_sweep(self.rng, state, table, family, data, items)
        return state, {"n_moved": n_moved, **split_merge_statistics(tally)}
