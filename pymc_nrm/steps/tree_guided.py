"""Tree-guided sampling of a partition: exact moves of whole blocks of a guide tree.

The target of a partition given the auxiliary variable u is the product over its clusters c of L(c), the weight of their
size times the marginal density of their data.  A chain grows guide trees from the data by incremental Bayesian
hierarchical clustering, in a random order of the items; no tree depends on the partition.  A draw

1. draws u from its exact conditional distribution given the partition, and chooses one of the guide trees at random;
2. repeats a cycle of four moves, each of which leaves the target given u invariant:
   a. informed split-merge moves, only during tuning: the clusters to merge are drawn by how well they fit together;
   b. tree split-merge moves, whose two anchor items lie below the two children of a node of the tree; both allocate
      units (the items that a cluster has in a block of the tree) and accept by Metropolis-Hastings;
   c. Gibbs updates of blocks: the items that a cluster has below a node move to another cluster together;
   d. Gibbs updates of single items, which make the chain irreducible, in random orders of all items.

Read next ``steps/base.py``, the course of a draw around these moves; ``moves/tree_guided.py``, the cycle and move c;
``moves/tree_split_merge.py``, moves a and b; ``moves/guide_trees/guide_tree.py``, how the trees are grown.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pytensor.graph.traversal import ancestors

from pymc_nrm.common.checks import check_count
from pymc_nrm.common.pymc_internals import Competence, dataclass_state
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.definitions.normal_wishart import NormalWishart
from pymc_nrm.families.features import features
from pymc_nrm.kernels.generic import Kernel
from pymc_nrm.kernels.kernel_cache import function_fingerprint
from pymc_nrm.models.rvs import family_of
from pymc_nrm.moves.gibbs import scan_order
from pymc_nrm.moves.guide_trees.guide_tree import block_statistics, guide_tree, make_guide
from pymc_nrm.moves.guide_trees.tree import cut_tree
from pymc_nrm.moves.split_merge import SPLIT_MERGE_STATS, split_merge_statistics
from pymc_nrm.moves.tree_guided import Cycles, MovesPerCycle, tree_guided_cycles
from pymc_nrm.moves.ward_start import better_start, should_try_ward_start
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.steps.base import PartitionStep
from pymc_nrm.steps.step import StepState

# Fractions of tuning after which guide trees are regrown at the current hyperparameters; a tree of many items takes as
# long as fifty draws.
_REBUILDS, _REBUILDS_OF_MANY = (0.1, 0.25, 0.5), (0.25,)

# A cycle updates this share of the items, but at least `_MANY_ITEMS` of them, or all if there are fewer.
_MANY_ITEMS, _SHARE = 20_000, 0.25

# With at most this many items, a draw makes several cycles, with half of the moves along the tree in each.
_FEW_ITEMS = 1000

# A draw makes enough cycles to visit `_VISITS` items, and `_VISITS_EACH` more for each learned number; but at most
# `_MOST_CYCLES`, and one more for every `_CYCLE_EACH` learned numbers.
_VISITS, _VISITS_EACH, _MOST_CYCLES, _CYCLE_EACH = 2000, 4, 6, 150

_NO_MOVES = MovesPerCycle(0, 0, 0, 0)


@dataclass(frozen=True)
class Move:
    """A move of your own, for ``moves`` of :class:`~pymc_nrm.steps.TreeGuided`.

    Parameters
    ----------
    kernel : Kernel
        A function made with :func:`~pymc_nrm.kernels.generic.kernel` that takes ``rng, state, weights, family, data,
        number``, makes that many moves, and returns the state and the number of items that changed their cluster.  It
        must leave the target given u invariant.
    number : int or float
        Number of moves per cycle; a float is a share of the number of items.
    needs : sequence of generic functions
        What the kernel calls of a family, beyond what every family defines.

    Raises
    ------
    TypeError
        If ``kernel`` is not made with ``kernel``.

    Examples
    --------
    >>> from pymc_nrm.kernels.generic import kernel
    >>> @kernel
    ... def stay(rng, state, weights, family, data, number):
    ...     return state, 0
    >>> Move(stay, number=2).number
    2
    """

    kernel: Kernel
    number: float = 1
    needs: Sequence[Any] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"kernel of a Move must be a function made with kernel; got {self.kernel!r}")


@dataclass_state
class TreeGuidedState(StepState):
    """Sampler state needed to resume a chain: also guide trees, the items to visit next, and the progress of tuning."""

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
    order, at the current hyperparameters; with more than 20,000 items, from a random sample of 5000, to which the other
    items are attached.  It regrows them three times during tuning, or once; afterwards they are fixed.  Guide trees
    never depend on the partition, so every move leaves the posterior invariant, and so does a cycle.  The Gibbs updates
    make it irreducible.  A bad tree makes the sampler slower, not wrong.

    Merges of clusters that fit together, and the splits that undo them, are made during tuning only: they bring a chain
    to the bulk of the posterior, where they cost more than they gain.

    Parameters
    ----------
    vars : list of Partition
    moves : dict of str to int, float or Move, optional
        Number of moves of each kind per cycle, and under other names moves of your own, which a cycle makes after all
        others (:class:`~pymc_nrm.steps.Move`).  The kinds are ``"informed_split_merge"``, ``"tree_split_merge"``,
        ``"subtree_gibbs"`` and ``"marginal_gibbs"``.  A float is a share of the number of items.  For
        ``"marginal_gibbs"`` it is the number of items to update, at most all of them; each item is updated once, in
        random order, before any is updated again.  Kinds that are left out keep their default number: 6, 4 and 5, with
        at most 1000 items 3, 2 and 3, and 20,000 items or a quarter of them; ``"informed_split_merge"`` is 0 after
        tuning, and ``"tree_split_merge"`` 1 with more than 20,000 items.
    n_trees : int
        Number of guide trees; each draw uses one of them at random.
    n_cycles : int, optional
        Number of cycles per draw; by default 2000 + 4 D divided by the number of items, with D the number of learned
        values on which families depend; at least 1 and at most 6 + D / 150.  A draw of few items costs little beside
        one of many hyperparameters by NUTS, and mixes more slowly.
    %(step_options)s

    Raises
    ------
    ValueError
        If a name or number in ``moves`` is not allowed, ``moves`` leaves no Gibbs updates to make the sampler
        irreducible, or anything except the data of a mixture depends on the labels.

    Notes
    -----
    Unless ``initval`` or ``initvals`` are given, a chain starts from the clusters that incremental hierarchical
    clustering finds, with another random order for each chain. For ``NormalWishart`` of at least eight features these
    compete with cuts of a Ward tree of a random half of the items, at most 1000, by the likelihood of Gaussian clusters
    less half a log n for each parameter. With more than 20,000 items it does so for 1000 random ones. The step then
    makes 60 draws of their labels and 60 draws of the labels of 20,000, and assigns the other items to these clusters.
    An initial value that you pass is kept, even if it is a single cluster.

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
    ...     step = nrm.steps.TreeGuided([z], moves={"tree_split_merge": 5})
    >>> [variable.name for variable in step.vars]
    ['z']
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
        moves: Mapping[str, float | Move] | None = None,
        n_trees: int = 2,
        n_cycles: int | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(moves, Mapping | None):
            raise TypeError(f"moves must be a mapping of names of moves to numbers; got {moves!r}")
        own_moves = {name: move for name, move in (moves or {}).items() if isinstance(move, Move)}
        numbers = {
            name: own_moves[name].number if name in own_moves else number for name, number in (moves or {}).items()
        }
        _check_moves(numbers, own_moves)
        check_count("n_trees", n_trees, 1)
        check_count("n_cycles", n_cycles, 1, optional=True)
        self.own_moves = own_moves
        self._reset(0)
        # Resumed chains must make the same moves.
        sources = {name: function_fingerprint(move.kernel)[:16] for name, move in own_moves.items()}
        options = {"moves": numbers, "own_moves": sources, "n_trees": n_trees, "n_cycles": n_cycles}
        needs = [function for move in own_moves.values() for function in move.needs]
        super().__init__(vars, options=options, needs=needs, **kwargs)
        self._reset(0)

    def setup_chain(self, rng, tune, draws):
        super().setup_chain(rng, tune, draws)
        self._reset(tune)

    def _reset(self, tune):
        self.guides, self.waiting = [], np.empty(0, dtype=np.int64)
        self.n_steps, self.n_tune, self.tuning, self.start_waits = 0, tune, tune > 0, False

    def stop_tuning(self):
        self.tuning = False

    def compile_kernels(self, model, partition, point, compile_kwargs):
        """Count the values that families learn, on which the number of cycles depends, then compile."""
        self.n_learned = count_learned(model, self.target.mixtures, point)
        super().compile_kernels(model, partition, point, compile_kwargs)

    def precompile_moves(self, state, table, family, data):
        super().precompile_moves(state, table, family, data)
        self._first_guide = self.guides[0]

    def check_options(self, n):
        """Check the options against the number of items."""
        count = self.options["moves"].get("marginal_gibbs", 0)
        if not isinstance(count, float):
            check_count("marginal_gibbs in moves", count, 0, n)

    def calls(self, rng, n, table, family, data):
        """The cycles of a draw; custom moves of the user follow each of them."""
        if self._trees_are_due(n):
            self._grow_guides(rng, table, family, data)
        self.n_steps += 1
        numbers = numbers_of_moves(n, self.options["moves"], tuning=self.tuning)
        if self.start_waits:
            # These clusters would not last at the initial hyperparameters: draw hyperparameters given them first.
            numbers, self.start_waits = dict.fromkeys(numbers, 0), False
        if not self.partition.opens_clusters:
            # A split would open a cluster, and a merge join two of the units of every start.
            numbers |= dict.fromkeys(("informed_split_merge", "tree_split_merge"), 0)
        n_moves = MovesPerCycle(**{name: numbers.pop(name) for name in MovesPerCycle._fields})
        guide = self.guides[int(rng.integers(len(self.guides)))]
        if not self.target.data_are_fixed:
            guide = guide._replace(statistics=block_statistics(guide, family, data))
        n_cycles = self.options["n_cycles"] or number_of_cycles(n, self.n_learned)
        items = self._next_items(rng, n, n_cycles * n_moves.marginal_gibbs).reshape(n_cycles, -1)
        for rows in items[:, None] if numbers else items[None]:
            yield tree_guided_cycles, Cycles(guide, n_moves, rows)
            yield from ((self.own_moves[name].kernel, number) for name, number in numbers.items() if number)

    def update_of_one(self, item):
        return tree_guided_cycles, Cycles(self._first_guide, _NO_MOVES, np.array([[item]]))

    def _next_items(self, rng, n, count):
        """Return the next items of random orders of all, so that every item gets its turn."""
        lacking = count - len(self.waiting)
        if lacking > 0:
            self.waiting = np.concatenate([self.waiting, scan_order(rng, n, -(-lacking // n) * n)])
        items, self.waiting = self.waiting[:count], self.waiting[count:]
        return items

    def _trees_are_due(self, n):
        if not self.guides:
            return True
        fractions = _REBUILDS if n <= _MANY_ITEMS else _REBUILDS_OF_MANY
        return self.tuning and self.n_steps in {int(fraction * self.n_tune) for fraction in fractions} - {0}

    def start_of_few(self, rng, table, family, data):
        """The clusters of the first guide tree, or with full covariances of a Ward tree if they fit better."""
        self._grow_guides(rng, table, family, data)
        labels = cut_tree(self.guides[0].tree)
        if isinstance(family, NormalWishart) and should_try_ward_start(len(labels), len(family.mu)):
            better = better_start(rng, features(data, rng), labels)
            self.start_waits = better is not labels
            labels = canonical_labels(better)
        return labels

    def for_start(self):
        """A step that tunes, with guide trees of its own."""
        step = copy.copy(self)
        step._reset(0)
        step.tuning = True
        return step

    def _grow_guides(self, rng, table, family, data):
        n_trees, family = self.options["n_trees"], self.partition.with_new_clusters(family)
        self.guides = [make_guide(guide_tree(rng, table, family, data), family, data) for _ in range(n_trees)]

    statistics = staticmethod(split_merge_statistics)


def number_of_cycles(n, n_learned):
    """Choose the number of cycles per draw, for n items and a number of learned values."""
    # With few items, a cycle takes a small part of the time of a draw, and the partition is what mixes slowly.
    visits = _VISITS + _VISITS_EACH * n_learned
    return max(1, min(_MOST_CYCLES + n_learned // _CYCLE_EACH, visits // n))


def count_learned(model, mixtures, point):
    """Number of values of free variables on which the families of mixtures depend."""
    used = set(ancestors([field for mixture in mixtures for field in family_of(mixture)]))
    return sum(np.size(point[model.rvs_to_values[rv].name]) for rv in model.free_RVs if rv in used)


def numbers_of_moves(n, chosen, *, tuning):
    """Choose the number of moves of each kind per cycle.

    Informed splits and merges bring a chain to the bulk of the posterior, and cost more than they gain after tuning.
    """
    informed, along_tree, blocks = (3, 2, 3) if n <= _FEW_ITEMS else (6, 4, 5)
    defaults = {
        "informed_split_merge": informed if tuning else 0,
        # Each proposal allocates the items of two clusters one at a time.
        "tree_split_merge": along_tree if n <= _MANY_ITEMS else 1,
        "subtree_gibbs": blocks,
        "marginal_gibbs": min(n, max(_MANY_ITEMS, round(_SHARE * n))),
    }
    counts = {
        # A positive share of few items is one move, or none would be left of a sampler that is irreducible.
        name: max(round(count * n), int(count > 0.0)) if isinstance(count, float) else count
        for name, count in (defaults | chosen).items()
    }
    if n == 1:
        counts |= dict.fromkeys([name for name in counts if name != "marginal_gibbs"], 0)
    return counts


def _check_moves(numbers, own_moves):
    for name, count in numbers.items():
        if (name in MovesPerCycle._fields) == (name in own_moves):
            raise ValueError(
                f"moves has the unknown name {name!r}; allowed are numbers of {', '.join(MovesPerCycle._fields)}, and "
                "a Move under any other name"
            )
        if not isinstance(count, float):
            check_count(f"{name} in moves", count, 0)
        elif not 0.0 <= count < np.inf or (name == "marginal_gibbs" and count > 1.0):
            raise ValueError(f"{name} in moves must be a share of the items, at least 0; got {count}")
    irreducible = ("subtree_gibbs", "marginal_gibbs")
    if all(numbers.get(name, 1) == 0 for name in irreducible):
        raise ValueError(
            f"moves must leave one of {', '.join(irreducible)} above 0, or some partitions cannot be reached"
        )
