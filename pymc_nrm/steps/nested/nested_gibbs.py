"""The step that samples a nested partition."""

from typing import Any

import numpy as np

from pymc_nrm.common.checks import check_count
from pymc_nrm.common.pymc_internals import Competence
from pymc_nrm.kernels.generic import precompile
from pymc_nrm.moves.nested.diffusion_sweep import diffusion_start, diffusion_sweep
from pymc_nrm.moves.nested.sweep import Sweep, sweep
from pymc_nrm.partitions.labels import canonical_columns
from pymc_nrm.partitions.nested_laws.forward import draw_nested, draw_paths, draw_value
from pymc_nrm.steps.nested.base import NestedStep


class NestedGibbs(NestedStep):
    """Gibbs sampling of a nested partition, with weights and component parameters, or means of nodes, integrated out.

    With weights a sweep redraws every item (path, tables and component together), every leaf table as a whole (path and
    component), the seats of every table in the parents of their nodes, and every level of the tree given the others;
    then it splits and merges components.  Where paths are known, it redraws tables and component of every item in its
    leaf and the seats of every table, splits and merges components, and redraws all tables given components.
    Without weights it redraws the path of every item, moves nodes with all that is below them, and splits and merges
    nodes, given a covariance of the family that it draws and forgets.  Without data draws are from the prior.  All of
    it leaves the posterior invariant, and a sweep is irreducible.

    Unless ``initval`` is given, chains start from items that come one by one, each drawn given those before it, and
    without weights from a clustering of the data.

    Parameters
    ----------
    vars : list of NestedPartition
    n_sweeps : int
        Sweeps per draw.
    n_moves : int, optional
        Without weights, how often a sweep moves a node with all that is below it, and how often it splits or merges
        nodes; by default a quarter of the number of items, and at least 4.  With weights, how often it splits or merges
        components; by default one for every 32 items, at least 4 and at most 16.
    **kwargs
        ``model``, ``rng``, ``initial_point``, ``compile_kwargs`` as for any PyMC step.

    Raises
    ------
    ValueError
        If an option is not allowed, or the model uses the labels in a way that the step does not understand.
    NotImplementedError
        If a family has no log marginal.

    References
    ----------
    Teh, Jordan, Beal & Blei (2006), "Hierarchical Dirichlet processes", for the Chinese restaurant franchise; Blei,
    Griffiths & Jordan (2010) for the nested Chinese restaurant process; Dahl (2005) for sequential allocation.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> X = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]])
    >>> with pm.Model():
    ...     weights = nrm.HierarchicalDirichletProcess(gamma=1.0, gamma_0=1.0)
    ...     h = nrm.NestedPartition("h", nrm.DirichletProcess(1.0), depth=2, weights=weights, n=4)
    ...     x = nrm.Mixture("x", h, nrm.BernoulliBeta(0.6, 0.6), observed=X)
    ...     step = nrm.NestedGibbs([h])
    """

    name = "nested_gibbs"
    _competence_for_partitions = Competence.IDEAL

    def __init__(self, vars: Any = None, *, n_sweeps: int = 1, n_moves: int | None = None, **kwargs: Any) -> None:
        check_count("n_sweeps", n_sweeps, 1)
        if n_moves is not None:
            check_count("n_moves", n_moves, 0)
        super().__init__(vars, options={"n_sweeps": n_sweeps, "n_moves": n_moves}, **kwargs)

    def precompile_moves(self, values, prior, family, data):
        """Compile the kernels for the types of the arguments."""
        levels, gammas = prior
        if self.target.has_tree_family:
            precompile(diffusion_sweep, self.rng, values, levels, family, data, 1)
            # Its kernels are compiled by a call, in place of every chain by its own.
            diffusion_start(data._replace(values=data.values[:20]), self.partition.depth, np.random.default_rng(0))
        elif self.target.has_mixtures:
            precompile(sweep, self.rng, values, levels, gammas, family, data, Sweep())
        elif gammas is None:
            precompile(draw_paths, self.rng, levels, 1)
        else:
            precompile(draw_nested, self.rng, levels, gammas, 1)

    def start(self, values, prior, family, data):
        """Replace the default start by one that fits the data."""
        if self.target.has_tree_family:
            return diffusion_start(data, self.partition.depth, self.rng)
        return super().start(values, prior, family, data)

    def moves(self, values, prior, family, data):
        """Do the sweeps of a draw; return the new value, the log density of the data, and no further statistics."""
        (levels, gammas), n = prior, len(values)
        if not self.target.has_mixtures:
            return draw_value(self.rng, levels, gammas, n), 0.0, {}
        n_moves = self.options["n_moves"]
        if n_moves is None:
            n_moves = max(4, n // 4) if self.target.has_tree_family else min(max(4, n // 32), 16)
        n_moves = int(n_moves)
        for _ in range(self.options["n_sweeps"]):
            if self.target.has_tree_family:
                log_likelihood = diffusion_sweep(self.rng, values, levels, family, data, n_moves)
                canonical_columns(values, n)
            else:
                kernels = Sweep(components=n_moves)
                values, log_likelihood = sweep(self.rng, values, levels, gammas, family, data, kernels)
        return values, log_likelihood, {}
