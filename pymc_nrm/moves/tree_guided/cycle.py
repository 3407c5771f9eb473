"""A cycle of the moves along a guide tree, as one kernel."""

from typing import Any, NamedTuple

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.moves.gibbs import gibbs_sweep
from pymc_nrm.moves.tally import empty_tally
from pymc_nrm.moves.tree_guided.block_gibbs import subtree_gibbs
from pymc_nrm.moves.tree_guided.tree_split_merge import tree_split_merge_moves


class MovesPerCycle(NamedTuple):
    """Number of moves of each kind in a cycle, in the order of the cycle; for ``marginal_gibbs``, number of items."""

    informed_split_merge: int
    tree_split_merge: int
    subtree_gibbs: int
    marginal_gibbs: int


class Cycle(NamedTuple):
    """Options of a cycle: its guide tree, the numbers of its moves, and the items of its Gibbs updates."""

    guide: Any
    n_moves: Any
    items: Any


class CycleCounts(NamedTuple):
    """Numbers of blocks and of items that changed their cluster in Gibbs moves, and the fields of a tally."""

    n_blocks_moved: Any
    n_moved: Any
    proposed: Any
    accepted: Any
    log_ratio: Any
    n_ratios: Any


@kernel
def tree_guided_cycle(rng, state, weights, family, data, cycle):
    """Make the moves of each kind along the guide tree, then Gibbs updates of items; return state and counts.

    The cycle is one kernel, since each call from Python costs some ten microseconds.  It leaves the target given u
    invariant, and is irreducible if it includes Gibbs moves of any kind.
    """
    guide, n_moves, tally = cycle.guide, cycle.n_moves, empty_tally()
    n, m = n_moves.informed_split_merge, n_moves.tree_split_merge
    state = tree_split_merge_moves(rng, state, weights, family, data, guide, n, True, tally)
    state = tree_split_merge_moves(rng, state, weights, family, data, guide, m, False, tally)
    state, n_blocks = subtree_gibbs(rng, state, weights, family, data, guide, n_moves.subtree_gibbs)
    state, n_items = gibbs_sweep(rng, state, weights, family, data, cycle.items)
    return state, CycleCounts(n_blocks, n_items, tally.proposed, tally.accepted, tally.log_ratio, tally.n_ratios)
