"""Gibbs sampling of a partition, one item at a time, with parameters of components integrated out.

Given the auxiliary variable u, a draw redraws the cluster of each item in random order: cluster c with probability
proportional to L(c + item) / L(c), a new one in proportion to L(item), with L the weight of the size times the marginal
density of the data.

Read next ``moves/gibbs.py``, the sweep; ``steps/base.py``, the course of a draw.
"""

from typing import Any

import numpy as np

from pymc_nrm.common.checks import check_count
from pymc_nrm.moves.gibbs import gibbs_sweep, scan_order
from pymc_nrm.steps.base import PartitionStep


class MarginalGibbs(PartitionStep):
    """Gibbs sampling of a partition, one item at a time, with component parameters integrated out.

    It leaves the posterior invariant.  A full sweep is irreducible, and so are sweeps over random subsets.

    Parameters
    ----------
    vars : list of Partition
    n_items : int, optional
        Number of items to move per draw; by default all.  They are chosen at random for each draw, independently of the
        partition.  With at least 20,000 items, blocks of 64 neighbours in the data are chosen.
    %(step_options)s

    Raises
    ------
    ValueError
        If ``n_items`` is not between 1 and the number of items, or the model uses the labels in a way that the step
        does not understand.

    References
    ----------
    Neal (2000), "Markov chain sampling methods for Dirichlet process mixture models", algorithm 3; Favaro & Teh (2013),
    "MCMC for normalized random measure mixture models", section 4.1.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model():
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 8, 9])
    ...     step = nrm.steps.MarginalGibbs([z])
    >>> [variable.name for variable in step.vars]
    ['z']
    """

    name = "marginal_gibbs"
    stats_dtypes_shapes = {**PartitionStep.common_stats, "n_moved": (np.int64, [])}

    def __init__(self, vars: Any = None, *, n_items: int | None = None, **kwargs: Any) -> None:
        super().__init__(vars, options={"n_items": n_items}, **kwargs)

    def check_options(self, n):
        """Check the options against the number of items."""
        check_count("n_items", self.options["n_items"], 1, n, optional=True)

    def calls(self, rng, n, table, family, data):
        """One sweep."""
        # A chain that only leads to a start may have fewer items.
        yield gibbs_sweep, scan_order(rng, n, min(n, self.options["n_items"] or n))

    def update_of_one(self, item):
        return gibbs_sweep, np.array([item])
