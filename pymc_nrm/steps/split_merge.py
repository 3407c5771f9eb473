"""Split-merge moves with random anchor items, then Gibbs updates.

Given the auxiliary variable u, a draw makes ``n_moves`` split-merge moves and then Gibbs updates of single items:

1. draw two items, the anchors; if they share a cluster A, propose to split it into a and b, else to merge their
   clusters a and b into A;
2. allocate all other items of A to the two anchors, item by item in random order or by restricted Gibbs scans: at
   random for a split; for a merge to the present sides, to find the probability q that a split makes them;
3. accept a split with probability min(1, L(a) L(b) / (L(A) q)), a merge with the inverse ratio.

Read next ``moves/split_merge.py``, the moves; ``moves/gibbs.py``, the updates; ``steps/base.py``, the course of a draw.
"""

from typing import Any

import numpy as np

from pymc_nrm.common.checks import check_count
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.moves.split_merge import SPLIT_MERGE_STATS, SplitMergeOptions, split_merge_moves, split_merge_statistics
from pymc_nrm.steps.base import PartitionStep
from pymc_nrm.steps.marginal_gibbs import MarginalGibbs


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
    %(step_options)s

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
    ...     step = nrm.steps.SplitMerge([z], n_moves=10)
    >>> [variable.name for variable in step.vars]
    ['z']
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
        super().__init__(vars, options=options, **kwargs)

    check_options, update_of_one = MarginalGibbs.check_options, MarginalGibbs.update_of_one
    statistics = staticmethod(split_merge_statistics)

    def calls(self, rng, n, table, family, data):
        """Split-merge moves, then a Gibbs sweep."""
        n_moves = self.options["n_moves"] if n > 1 else 0
        is_sequential = self.options["proposal"] == "sequential"
        yield split_merge_moves, SplitMergeOptions(n_moves, is_sequential, self.options["n_scans"])
        yield from MarginalGibbs.calls(self, rng, n, table, family, data)
