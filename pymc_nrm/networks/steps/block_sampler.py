"""Sampling of partitions with block models: networks, attributes of their nodes, and two-way tables.

Given the auxiliary variable u, a draw of the partition of the nodes of networks

1. makes split-merge moves, which allocate units of nodes one by one to two clusters, given what is placed: single nodes
   about random anchors, and parts of blocks of a guide tree about anchors below a node of it;
2. redraws the clusters of units of nodes, each the part of a cluster below a node of the guide tree;
3. redraws the cluster of each node in random order, from sums of statistics of blocks.

Given the partition of the columns of a table, its rows are items of an ordinary mixture with a block for each cluster
of columns, and the step makes the moves of :class:`~pymc_nrm.steps.SplitMerge`.

Read next ``networks/moves/block_state.py``, the tables; ``networks/moves/block_gibbs.py``,
``networks/moves/block_split_merge.py`` and ``networks/moves/block_subtrees.py``, the moves;
``networks/moves/node_tree.py``, the guide tree; ``steps/base.py``, the course of a draw.
"""

from dataclasses import field
from typing import Any

import numpy as np

import pymc_nrm.networks.partitions.units  # noqa: F401
from pymc_nrm.common.checks import check_count
from pymc_nrm.common.pymc_internals import Competence, dataclass_state
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.kernels.generic import precompile
from pymc_nrm.moves.gibbs import gibbs_sweep, scan_order
from pymc_nrm.moves.guide_trees.guide_tree import guide_without_statistics
from pymc_nrm.moves.split_merge import (
    SPLIT_MERGE_STATS,
    SplitMergeOptions,
    split_merge_moves,
    split_merge_statistics,
)
from pymc_nrm.networks.families.networked import Networked, network_of, pairs_of
from pymc_nrm.networks.models.block_model import STEP
from pymc_nrm.networks.moves.block_gibbs import block_gibbs
from pymc_nrm.networks.moves.block_split_merge import SplitMergesOfBlocks, block_split_merge
from pymc_nrm.networks.moves.block_start import block_start
from pymc_nrm.networks.moves.block_state import build_blocks, log_block_target
from pymc_nrm.networks.moves.block_subtrees import SubtreeUpdates, block_subtree_gibbs
from pymc_nrm.networks.moves.node_tree import greedy_merges, node_tree
from pymc_nrm.networks.steps.block_target import BlockTarget
from pymc_nrm.partitions.clusters import build_state
from pymc_nrm.steps.base import PartitionStep
from pymc_nrm.steps.marginal_gibbs import MarginalGibbs
from pymc_nrm.steps.step import StepState


@dataclass_state
class BlockSamplerState(StepState):
    """Sampler state needed to resume a chain: also the guide trees of the nodes."""

    guides: list = field(default_factory=list)


class BlockSampler(PartitionStep):
    """Gibbs updates and split-merge moves for partitions with block models: the default step for them.

    All leave the posterior invariant, for all measures, with attributes of nodes, several networks, degree corrections
    and tables together.  A full sweep of Gibbs updates is irreducible.  For K clusters a Gibbs update of a node costs
    K^2 log marginals and the number of its neighbours; of a row of a table, K log marginals for each cluster of
    columns.

    Guide trees of the nodes of networks are grown where a chain starts, from the data, the hyperparameters at this
    point and random numbers: cells of near nodes by singular vectors of the matrix merge greedily by the log joint
    density.  They are fixed afterwards, so that every move leaves the posterior invariant; a bad tree makes the sampler
    slower, not wrong.

    Parameters
    ----------
    vars : list of Partition
    n_moves : int
        Split-merge moves per draw about two random nodes; they allocate single nodes.
    n_tree_moves : int
        Split-merge moves per draw along a guide tree, and as many Gibbs updates of units of nodes below nodes of it.
        Partitions of the rows or columns of tables alone have no guide tree.
    n_trees : int
        Number of guide trees; each draw uses one of them at random.
    n_items : int, optional
        Number of random nodes that the Gibbs update visits; all by default.
    %(step_options)s

    Raises
    ------
    ValueError
        If an option is outside its range, or anything but mixtures and block models depends on the labels.

    References
    ----------
    Kemp et al. (2006), "Learning systems of concepts with an infinite relational model"; Dahl (2005),
    "Sequentially-allocated merge-split sampler for conjugate and nonconjugate Dirichlet process mixture models",
    section 3, of which the moves are the form for networks.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> A = np.kron(np.eye(2, dtype=int), np.ones((3, 3), dtype=int))
    >>> with pm.Model():
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=6)
    ...     ties = nrm.networks.BlockModel("ties", z, nrm.BernoulliBeta(1.0, 1.0), observed=A, directed=False)
    ...     step = nrm.networks.BlockSampler([z], n_moves=10)
    >>> [variable.name for variable in step.vars]
    ['z']
    """

    name = STEP
    needs = (*PartitionStep.needs, log_marginal)
    target_class = BlockTarget
    stats_dtypes_shapes = {
        **PartitionStep.common_stats,
        "n_moved": (np.int64, []),
        "n_blocks_moved": (np.int64, []),
        **SPLIT_MERGE_STATS,
    }
    _state_class = BlockSamplerState
    _competence_for_partitions = Competence.IDEAL

    def __init__(
        self,
        vars: Any = None,
        *,
        n_moves: int = 5,
        n_tree_moves: int = 10,
        n_trees: int = 2,
        n_items: int | None = None,
        **kwargs: Any,
    ) -> None:
        check_count("n_moves", n_moves, 0)
        check_count("n_tree_moves", n_tree_moves, 0)
        check_count("n_trees", n_trees, 1)
        options = {"n_moves": n_moves, "n_tree_moves": n_tree_moves, "n_trees": n_trees, "n_items": n_items}
        self.guides = []
        super().__init__(vars, options=options, **kwargs)
        self.guides = []

    def setup_chain(self, rng, tune, draws):
        super().setup_chain(rng, tune, draws)
        self.guides = []

    @staticmethod
    def statistics(totals):
        return {"n_blocks_moved": 0} | split_merge_statistics(totals)

    @classmethod
    def competence(cls, var, has_grad):
        is_for_this = super().competence(var, has_grad) != Competence.INCOMPATIBLE and var.owner.op.own_step == cls.name
        return Competence.IDEAL if is_for_this else Competence.INCOMPATIBLE

    check_options = MarginalGibbs.check_options

    def build(self, labels, family, data):
        return (build_blocks if _has_networks(family) else build_state)(labels, family, data)

    def calls(self, rng, n, table, family, data):
        """Split-merge moves, Gibbs updates of units of nodes, then of nodes."""
        n_moves, n_along_tree = (self.options[name] if n > 1 else 0 for name in ("n_moves", "n_tree_moves"))
        items = scan_order(rng, n, min(n, self.options["n_items"] or n))
        if not _has_networks(family):
            yield split_merge_moves, SplitMergeOptions(n_moves, True, 0)
            yield gibbs_sweep, items
            return
        if not self.guides:
            self._grow_guides(rng, table, family, data)
        guide = self.guides[int(rng.integers(len(self.guides)))]
        # Without new clusters a split would open one, and a merge join two of the units of every start.
        n_split_merges = (n_moves, n_along_tree) if self.partition.opens_clusters else (0, 0)
        yield block_split_merge, SplitMergesOfBlocks(guide, *n_split_merges)
        yield block_subtree_gibbs, SubtreeUpdates(guide, n_along_tree)
        yield block_gibbs, items

    def _grow_guides(self, rng, table, family, data):
        """Grow guide trees; return the labels of the best cut of the first."""
        family = self.partition.with_new_clusters(family)
        grown = [node_tree(rng, table, family, data) for _ in range(self.options["n_trees"])]
        self.guides = [guide_without_statistics(tree) for tree, _ in grown]
        return grown[0][1]

    def precompile_moves(self, state, table, family, data):
        """Compile also what grows guide trees of all nodes."""
        super().precompile_moves(state, table, family, data)
        if _has_networks(family):
            precompile(greedy_merges, state, table, family, data)

    def update_of_one(self, item):
        return (block_gibbs if self.target.networks else gibbs_sweep), np.array([item])

    def check_start(self, point, inputs):
        self.check_options(len(inputs.labels))
        labels, weights, family, data = inputs[:4]
        value = self._log_target(self.build(labels, family, data), weights, family, data)
        if not np.isfinite(inputs.u_term + value):
            raise self.not_finite_error(point, inputs.u_term + value)

    def start(self, rng, table, family, data):
        if not _has_networks(family):
            return super().start(rng, table, family, data)
        cut = self._grow_guides(rng, table, family, data)
        # The step compiles on two nodes.
        if len(cut) < len(pairs_of(data).sizes):
            return cut
        return block_start(rng, table, family, data, self.guides[0], cut, self.partition.units_of_every_start())

    def _log_target(self, state, table, family, data):
        if not _has_networks(family):
            return super()._log_target(state, table, family, data)
        return log_block_target(state, table, family, data)


def _has_networks(family):
    return isinstance(network_of(family), Networked)
