"""The step that samples a nested partition."""

from typing import Any

import numpy as np
from pymc.util import get_random_generator
from rich.progress import TextColumn
from rich.table import Column

from pymc_nrm.checks import check_count, random_generator
from pymc_nrm.compilation import announced_compilation
from pymc_nrm.distributions.nested_partition import draw_value
from pymc_nrm.distributions.start import is_default_start
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.needs import PREDICTIVE, check_needs
from pymc_nrm.generic import precompile
from pymc_nrm.marks import NUMBER, partition_number
from pymc_nrm.model.rvs import checked_model, family_of, is_nested_partition, value_of
from pymc_nrm.nested.forward import draw_nested, draw_paths
from pymc_nrm.nested.labels import canonical_columns
from pymc_nrm.nested.prior import log_nested_prior, log_path_prior
from pymc_nrm.pymc_internals import Competence
from pymc_nrm.samplers.base import LabelStep
from pymc_nrm.samplers.finite import check_against_graph, error_of_parts, graph_log_likelihood
from pymc_nrm.samplers.nested.diffusion_start import diffusion_start
from pymc_nrm.samplers.nested.diffusion_sweep import diffusion_sweep
from pymc_nrm.samplers.nested.sweep import Sweep, log_density, sequential_start, sweep
from pymc_nrm.samplers.nested.target import NestedTarget


class NestedGibbs(LabelStep):
    """Gibbs sampling of a nested partition, with weights and component parameters, or means of nodes, integrated out.

    With weights a sweep redraws every item (path, tables and component together), every leaf table as a whole (path and
    component), the seats of every table in the parents of their nodes, and every level of the tree given the others.
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
        How often a sweep moves a node with all that is below it, and how often it splits or merges nodes, without
        weights; by default a quarter of the number of items, and at least 4.
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
    Griffiths & Jordan (2010) for the nested Chinese restaurant process.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model():
    ...     weights = nrm.HierarchicalDirichletProcess(gamma=1.0, gamma_0=1.0)
    ...     h = nrm.NestedPartition("h", nrm.DirichletProcess(1.0), depth=2, weights=weights, n=4)
    ...     x = nrm.Mixture("x", h, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 8, 9])
    ...     step = nrm.NestedGibbs([h])
    """

    name = "nested_gibbs"
    samples = "NestedPartition"
    stats_dtypes_shapes = {
        "n_nodes": (np.int64, []),
        "n_components": (np.int64, []),
        "log_joint": (np.float64, []),
        NUMBER: (np.int64, []),
    }

    def __init__(
        self,
        vars: Any = None,
        *,
        n_sweeps: int = 1,
        n_moves: int | None = None,
        model: Any = None,
        rng: Any = None,
        initial_point: Any = None,
        compile_kwargs: Any = None,
        blocked: bool = False,
    ) -> None:
        model = checked_model(model)
        partition = self.variable_of(vars, model)
        if not is_nested_partition(partition):
            raise TypeError(
                f"vars must be nested partitions; {partition.name!r} is not a NestedPartition, which NestedGibbs "
                "samples"
            )
        check_count("n_sweeps", n_sweeps, 1)
        if n_moves is not None:
            check_count("n_moves", n_moves, 0)
        self.options = {"n_sweeps": n_sweeps, "n_moves": n_moves}
        self.value = value_of(partition)
        if not self.value.has_weights:
            self.stats_dtypes_shapes = {
                name: kind for name, kind in self.stats_dtypes_shapes.items() if name != "n_components"
            }
            # PyMC has made this of the statistics of the class.
            self.stats_dtypes = [{name: dtype for name, (dtype, _) in self.stats_dtypes_shapes.items()}]
        self._number = partition_number(partition.name)
        self._n_draws = 0
        self.rng = get_random_generator(random_generator(rng, "rng"))
        point = model.initial_point() if initial_point is None else initial_point
        self.target = NestedTarget(model, partition, point, compile_kwargs)
        if not self.target.has_tree_family:
            for mixture in self.target.mixtures:
                check_needs(type(family_of(mixture)), (*PREDICTIVE, log_marginal), "NestedGibbs")
        families = [type(family_of(mixture)) for mixture in self.target.mixtures]
        with announced_compilation(type(self).__name__, families):
            self._compile(point)

    def _compile(self, point):
        # Chains run in forked processes, which inherit what is compiled here.
        values = self.value.read(point)
        (levels, gammas), family, data = self.target.at(point)
        if gammas is None:
            precompile(log_path_prior, levels, values)
        else:
            precompile(log_nested_prior, levels, gammas, values)
        if self.target.has_tree_family:
            precompile(diffusion_sweep, self.rng, values, levels, family, data, 1)
        elif self.target.has_mixtures:
            precompile(log_density, values[:, -1].copy(), family, data)
            precompile(sequential_start, self.rng, len(values), levels, gammas, family, data)
            precompile(sweep, self.rng, values, levels, gammas, family, data, Sweep())
        elif gammas is None:
            precompile(draw_paths, self.rng, levels, 1)
        else:
            precompile(draw_nested, self.rng, levels, gammas, 1)

    def step(self, point):
        """Do the sweeps of a draw; return the new point and its statistics."""
        values = self.value.read(point)
        prior, family, data = self.target.at(point)
        if self._n_draws == 0:
            self._check_start(point, values)
        try:
            if self._n_draws == 0 and is_default_start(point[self.value.name]):
                values = self._start(values, prior, family, data)
            values, log_likelihood = self._sweeps(values, prior, family, data)
        except (ValueError, np.linalg.LinAlgError) as error:
            # Kernels raise this if weights define no probabilities.
            raise self._not_finite(point, str(error)) from error
        point = self.value.write(point, values)
        log_joint = self._log_prior(prior, values) + log_likelihood
        if not np.isfinite(log_joint):
            raise self._not_finite(point, log_joint)
        self._n_draws += 1
        stats = {
            "n_nodes": int(self.value.n_nodes(values).sum()),
            "log_joint": float(log_joint),
            NUMBER: self._number,
        }
        if self.value.has_weights:
            stats["n_components"] = int(self.value.n_components(values))
        return point, [stats]

    def _start(self, values, prior, family, data):
        """Replace the default start by one that fits the data."""
        if self.target.has_tree_family:
            return diffusion_start(data, self.value.depth, self.rng)
        if self.target.has_mixtures:
            return sequential_start(self.rng, len(values), *prior, family, data)
        return values

    def _sweeps(self, values, prior, family, data):
        (levels, gammas), n = prior, len(values)
        if not self.target.has_mixtures:
            return draw_value(self.rng, levels, gammas, n), 0.0
        n_moves = self.options["n_moves"]
        n_moves = max(4, n // 4) if n_moves is None else n_moves
        for _ in range(self.options["n_sweeps"]):
            if self.target.has_tree_family:
                log_likelihood = diffusion_sweep(self.rng, values, levels, family, data, n_moves)
                canonical_columns(values, n)
            else:
                values, log_likelihood = sweep(self.rng, values, levels, gammas, family, data, Sweep())
        return values, log_likelihood

    @staticmethod
    def _log_prior(prior, values):
        levels, gammas = prior
        return log_path_prior(levels, values) if gammas is None else log_nested_prior(levels, gammas, values)

    def _check_start(self, point, values):
        prior, mixtures = self.target.parts(point)
        log_prior = self._log_prior(prior, values)
        if not np.isfinite(log_prior):
            raise self._not_finite(point, log_prior)
        if mixtures and not self.target.has_tree_family:
            _, family, data = self.target.at(point)
            components = np.ascontiguousarray(values[:, -1])
            check_against_graph(self.value.name, mixtures, components, log_density(components, family, data))

    def _not_finite(self, point, value):
        when = f"in draw {self._n_draws + 1}" if self._n_draws else "where a chain starts"
        prior, mixtures = self.target.parts(point)
        values = self.value.read(point)
        parts = [float("nan")] * len(mixtures)
        if not self.target.has_tree_family:
            parts = [graph_log_likelihood(family, X, values[:, -1]) for _, family, X in mixtures]
        words = f"with {prior[0]}" + ("" if prior[1] is None else f" and concentrations {prior[1]} of weights")
        title = f"nested partition {self.value.name!r}"
        return error_of_parts(title, words, self._log_prior(prior, values), mixtures, parts, value, when)

    @classmethod
    def competence(cls, var, has_grad):
        return Competence.IDEAL if is_nested_partition(var) else Competence.INCOMPATIBLE

    @staticmethod
    def _progressbar_config(n_chains=1):
        columns = [TextColumn("{task.fields[n_nodes]}", table_column=Column("Nodes", ratio=1))]
        return columns, {"n_nodes": [0] * n_chains}

    @staticmethod
    def _make_progressbar_update_functions():
        def update_stats(step_stats):
            return {"n_nodes": step_stats["n_nodes"]}

        return (update_stats,)
