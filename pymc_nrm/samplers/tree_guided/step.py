"""Tree-guided sampling of a partition: exact moves of whole blocks of a guide tree."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from pymc_nrm.common.checks import check_count
from pymc_nrm.common.pymc_internals import Competence, dataclass_state
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.guide_trees.guide_tree import guide_tree
from pymc_nrm.guide_trees.tree import cut_tree
from pymc_nrm.kernels.generic import kernel, precompile
from pymc_nrm.samplers.base import PartitionStep, PartitionStepState, weights_of_two
from pymc_nrm.samplers.marginal_gibbs import gibbs_sweep, scan_order
from pymc_nrm.samplers.tally import SPLIT_MERGE_STATS, empty_tally, split_merge_statistics
from pymc_nrm.samplers.tree_guided.block_gibbs import subtree_gibbs
from pymc_nrm.samplers.tree_guided.guide_tables import block_statistics, make_guide
from pymc_nrm.samplers.tree_guided.move_schedule import MovesPerCycle, number_of_cycles, numbers_of_moves
from pymc_nrm.samplers.tree_guided.tree_split_merge import tree_split_merge_moves

# Fractions of tuning after which guide trees are regrown, at the hyperparameters of that time.
_REBUILDS = (0.1, 0.25, 0.5)


@kernel
def tree_guided_cycle(rng, state, weights, family, data, guide, n_moves, items, tally):
    """Make one cycle: ``n_moves`` moves of each kind along the guide tree, then Gibbs updates of ``items``.

    The cycle is one kernel, since each call from Python costs some ten microseconds.  It leaves the target given u
    invariant, and is irreducible if it includes Gibbs moves of any kind.  Splits and merges are added to ``tally``.
    Returns the numbers of blocks and of items that changed their cluster in Gibbs moves.
    """
    n, m = n_moves.informed_split_merge, n_moves.tree_split_merge
    state = tree_split_merge_moves(rng, state, weights, family, data, guide, n, True, tally)
    state = tree_split_merge_moves(rng, state, weights, family, data, guide, m, False, tally)
    state, n_blocks = subtree_gibbs(rng, state, weights, family, data, guide, n_moves.subtree_gibbs)
    state, n_items = gibbs_sweep(rng, state, weights, family, data, items)
    return state, n_blocks, n_items


@dataclass_state
class TreeGuidedState(PartitionStepState):
    """What a chain needs to continue: options, guide trees, the items to visit next, and the progress of tuning."""

    guides: list = field(default_factory=list)
    n_steps: int = 0
    n_tune: int = 0
    tuning: bool = True
    waiting: Any = None


class TreeGuided(PartitionStep):
    """Tree-guided sampling of a partition: the default step.

    Each draw makes cycles of moves given u: merges of clusters that fit together, and splits along blocks of a guide
    tree; split-merge moves between the children of a node of the tree; Gibbs updates of blocks of the tree; Gibbs
    updates of random items.  Incremental Bayesian hierarchical clustering grows guide trees from the data in random
    order, at the current hyperparameters.  It regrows them a few times during tuning; afterwards they are fixed.  Guide
    trees never depend on the partition, so every move leaves the posterior invariant, and so does a cycle.  The Gibbs
    updates make it irreducible.  A bad tree makes the sampler slower, not wrong.

    Merges of clusters that fit together, and the splits that undo them, are made during tuning only: they bring a chain
    to the bulk of the posterior, and earn nothing there.

    Parameters
    ----------
    vars : list of Partition
    moves : dict of str to int or float, optional
        Number of moves of each kind per cycle.  The kinds are ``"informed_split_merge"``, ``"tree_split_merge"``,
        ``"subtree_gibbs"`` and ``"marginal_gibbs"``.  A float is a share of the number of items.  For
        ``"marginal_gibbs"`` it is the number of items to update, at most all of them; each item is updated once, in
        random order, before any is updated again.  Kinds that are left out keep their default number: 6, 4 and 5, and
        20,000 items or a quarter of them; ``"informed_split_merge"`` is 0 after tuning.
    n_trees : int
        Number of guide trees; each cycle uses one of them at random.
    n_cycles : int, optional
        Number of cycles per draw; by default 1000 divided by the number of items, at least 1 and at most 3.  A draw of
        few items costs little beside one of the hyperparameters by NUTS, and mixes more slowly.
    **kwargs
        ``model``, ``rng``, ``initial_point``, ``compile_kwargs`` as for any PyMC step.

    Raises
    ------
    ValueError
        If a name or number in ``moves`` is not allowed, ``moves`` leaves no Gibbs updates to make the sampler
        irreducible, or anything except the data of a mixture depends on the labels.

    Notes
    -----
    Unless ``initval`` or ``initvals`` are given, a chain starts from the clusters that incremental hierarchical
    clustering finds, in a random order of its own.  A given start is kept, even if it is a single cluster.

    The published tree-guided sampler (Lee & Choi 2015, "Tree-guided MCMC inference for normalized random measure
    mixture models") builds its trees from the current partition and does not leave the posterior invariant.  The moves
    here keep its idea and satisfy detailed balance.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model():
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 8, 9])
    ...     step = nrm.TreeGuided([z], moves={"tree_split_merge": 5})
    """

    name = "tree_guided"
    _state_class = TreeGuidedState
    # It claims partitions: it is their default step.
    _competence_for_partitions = Competence.IDEAL
    needs = (*PartitionStep.needs, log_marginal)
    stats_dtypes_shapes = {
        **PartitionStep.common_stats,
        "n_moved": (np.int64, []),
        "n_blocks_moved": (np.int64, []),
        **SPLIT_MERGE_STATS,
    }

    def __init__(
        self,
        vars: Any = None,
        *,
        moves: Mapping[str, float] | None = None,
        n_trees: int = 2,
        n_cycles: int | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(moves, Mapping | None):
            raise TypeError(f"moves must be a mapping of names of moves to numbers; got {moves!r}")
        moves = {} if moves is None else dict(moves)
        _check_moves(moves)
        check_count("n_trees", n_trees, 1)
        if n_cycles is not None:
            check_count("n_cycles", n_cycles, 1)
        self._reset(0)
        super().__init__(vars, options={"moves": moves, "n_trees": n_trees, "n_cycles": n_cycles}, **kwargs)

    def setup_chain(self, rng, tune, draws):
        super().setup_chain(rng, tune, draws)
        self._reset(tune)

    def _reset(self, tune):
        self.guides, self.waiting = [], np.empty(0, dtype=np.int64)
        self.n_steps, self.n_tune, self.tuning = 0, tune, tune > 0

    def stop_tuning(self):
        self.tuning = False

    def check_options(self, n):
        """Check the options against the number of items."""
        count = self.options["moves"].get("marginal_gibbs", 0)
        if not isinstance(count, float):
            check_count("marginal_gibbs in moves", count, 0, n)
        self._n = n

    def precompile_moves(self, state, table, family, data):
        """Compile the kernels for the types of the arguments, on a tree of two items."""
        rng = np.random.default_rng(0)
        guide = make_guide(guide_tree(rng, weights_of_two(table), family, data), family, data)
        n_moves, tally = MovesPerCycle(0, 0, 0, 0), empty_tally()
        precompile(tree_guided_cycle, self.rng, state, table, family, data, guide, n_moves, state.labels, tally)
        precompile(block_statistics, guide, family, data)
        precompile(scan_order, self.rng, 2, 1)

    def moves(self, state, table, family, data):
        """Make the cycles of a draw; return the new state and the statistics of the moves."""
        if self._trees_are_due():
            self._grow_guides(table, family, data)
        self.n_steps += 1
        n_moves = numbers_of_moves(self._n, self.options["moves"], tuning=self.tuning)
        tally, n_blocks_moved, n_moved = empty_tally(), 0, 0
        for _ in range(self.options["n_cycles"] or number_of_cycles(self._n)):
            guide = self.guides[int(self.rng.integers(len(self.guides)))]
            if not self.target.data_are_fixed:
                guide = guide._replace(statistics=block_statistics(guide, family, data))
            items = self._next_items(n_moves.marginal_gibbs)
            state, n_blocks, n_items = tree_guided_cycle(
                self.rng, state, table, family, data, guide, n_moves, items, tally
            )
            n_blocks_moved += n_blocks
            n_moved += n_items
        return state, {"n_moved": n_moved, "n_blocks_moved": n_blocks_moved, **split_merge_statistics(tally)}

    def _next_items(self, count):
        """Return the next items of a random order of all, so that every item gets its turn."""
        while len(self.waiting) < count:
            self.waiting = np.concatenate([self.waiting, scan_order(self.rng, self._n, self._n)])
        items, self.waiting = self.waiting[:count], self.waiting[count:]
        return items

    def _trees_are_due(self):
        if not self.guides:
            return True
        return self.tuning and self.n_steps in {int(fraction * self.n_tune) for fraction in _REBUILDS} - {0}

    def start(self, table, family, data):
        """Labels to start from: those of the first guide tree."""
        self._grow_guides(table, family, data)
        return cut_tree(self.guides[0].tree)

    def _grow_guides(self, table, family, data):
        n_trees = self.options["n_trees"]
        self.guides = [make_guide(guide_tree(self.rng, table, family, data), family, data) for _ in range(n_trees)]


def _check_moves(moves):
    for name, count in moves.items():
        if name not in MovesPerCycle._fields:
            raise ValueError(f"moves has the unknown name {name!r}; allowed are {', '.join(MovesPerCycle._fields)}")
        if not isinstance(count, float):
            check_count(f"{name} in moves", count, 0)
        elif not 0.0 <= count < np.inf or (name == "marginal_gibbs" and count > 1.0):
            raise ValueError(f"{name} in moves must be a share of the items, at least 0; got {count}")
    irreducible = ("subtree_gibbs", "marginal_gibbs")
    if all(moves.get(name, 1) == 0 for name in irreducible):
        raise ValueError(
            f"moves must leave one of {', '.join(irreducible)} above 0, or some partitions cannot be reached"
        )
