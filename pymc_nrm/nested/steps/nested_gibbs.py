"""The base class and the step of nested partitions, whose items have a path in a tree and perhaps a component.

A draw makes sweeps given the hyperparameters; no auxiliary variable is needed.  With weights, a sweep redraws

1. the path, tables and component of each item, then of each leaf table as a whole;
2. the seats of tables in the parents of their nodes, and each level of the tree given the others;
3. splits and merges of components, with the tree fixed.

Without weights, a sweep draws a covariance, redraws the path of each item, moves nodes with everything below them, and
splits and merges nodes.  Without data, a draw comes from the prior.

Read next, in ``nested``: ``partitions/nested.py``, the value; ``moves/sweep.py``, ``moves/franchise.py``, sweeps with
weights and their state; ``moves/diffusion_sweep.py``, sweeps without.  ``steps/step.py`` is the course of a draw.
"""

from typing import Any

import numpy as np

from pymc_nrm.common.checks import check_count
from pymc_nrm.common.marks import NUMBER
from pymc_nrm.common.pymc_internals import Competence
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.needs import PREDICTIVE
from pymc_nrm.kernels.generic import kernels_in_python, precompile
from pymc_nrm.models.default_start import is_default_start
from pymc_nrm.nested.families.base import log_likelihood, symbolic_log_likelihood
from pymc_nrm.nested.moves.diffusion_sweep import diffusion_start, diffusion_sweep
from pymc_nrm.nested.moves.sweep import Sweep, log_density, sequential_start, sweep
from pymc_nrm.nested.partitions.nested import Nested
from pymc_nrm.nested.partitions.nested_draws import draw_nested, draw_paths, draw_value
from pymc_nrm.nested.partitions.nested_levels import KnownPaths, log_nested_prior, log_path_prior
from pymc_nrm.partitions.labels import canonical_columns, canonical_labels
from pymc_nrm.steps.base import LabelStep
from pymc_nrm.steps.comparison import OwnMove
from pymc_nrm.steps.label_moves import MOST_ITEMS
from pymc_nrm.steps.step import Draw
from pymc_nrm.steps.target import (
    Target,
    check_against_graph,
    error_of_parts,
    graph_log_likelihood,
    graph_log_likelihoods,
)


class NestedTarget(Target):
    """The part of a model's log-probability that depends on one nested partition."""

    def __init__(self, model, partition, point, compile_kwargs=None):
        super().__init__(model, partition, point, compile_kwargs)
        trees = [rv.name for rv in self.mixtures if rv.owner.op.kind.takes_trees]
        if len(trees) > 1:
            raise ValueError(
                f"NestedPartition {partition.name!r} must have at most one Mixture with a tree family; got {trees}. "
                "Join the features of the data in one matrix"
            )
        self.has_tree_family = bool(trees)

    @staticmethod
    def _check_prior(prior):
        levels, gammas = prior
        values, words = ([], "") if gammas is None else ([gammas], f"gamma {gammas}")
        if not isinstance(levels, KnownPaths):
            values += [levels.alpha + levels.sigma, 1.0 - levels.sigma]
            words = f"alpha {levels.alpha}, discount {levels.sigma}, gamma {gammas}"
        if not all(np.isfinite(value).all() and (value > 0.0).all() for value in values):
            raise ValueError(
                "concentrations of a NestedPartition must be finite and above 0, with discounts above minus the "
                f"discount, where sampling starts; got {words}"
            )


def tree_log_likelihoods(mixtures, paths):
    """Log densities of the data of tree families given paths (n, depth), from the graph that NUTS sees."""
    # Machine code for a few values would take seconds.
    with kernels_in_python():
        return [graph_log_likelihood(family, X, paths, symbolic_log_likelihood) for _, family, X, _ in mixtures]


def _canonical_columns(values):
    """A copy of the value with the labels of each column in order of appearance."""
    return np.column_stack([canonical_labels(column) for column in values.T])


class NestedStep(LabelStep):
    """Base of the steps that sample one nested partition.

    Subclasses define ``name`` and the methods ``precompile_moves(values, prior, family, data)`` and
    ``moves(values, prior, family, data)``, which returns the new value, the log density of the data, and a dict of
    further statistics.  They may add to ``needs`` what their moves call of families of components, and replace
    ``check_variable(model, partition)`` and ``start(values, prior, family, data)``.
    """

    samples, samples_words = "NestedPartition", "nested partitions"
    general_kind = Nested
    kinds = (Nested,)
    needs = (*PREDICTIVE, log_marginal)
    target_class = NestedTarget
    stats_dtypes_shapes = {
        "n_nodes": (np.int64, []),
        "n_components": (np.int64, []),
        "log_joint": (np.float64, []),
        NUMBER: (np.int64, []),
    }

    def __init__(self, vars, **kwargs):
        super().__init__(vars, **kwargs)
        # Without weights there are no components to count.
        if not self.partition.further_priors:
            self.stats_dtypes_shapes = {
                name: kind for name, kind in self.stats_dtypes_shapes.items() if name != "n_components"
            }
            # PyMC has made this of the statistics of the class.
            self.stats_dtypes = [{name: dtype for name, (dtype, _) in self.stats_dtypes_shapes.items()}]

    def compile_kernels(self, model, partition, point, compile_kwargs):
        """Compile the kernels of a draw and of a start, for the types of their arguments."""
        values = self.partition.read(point)
        prior, family, data = self.target.at(point)
        levels, gammas = prior
        if gammas is None:
            precompile(log_path_prior, levels, values)
        else:
            precompile(log_nested_prior, levels, gammas, values)
        if self.target.has_tree_family:
            precompile(log_likelihood, values, family, data)
        elif self.target.has_mixtures:
            precompile(log_density, values[:, -1].copy(), family, data)
            precompile(sequential_start, self.rng, len(values), levels, gammas, family, data)
        self.precompile_moves(values, prior, family, data)

    def read_point(self, point):
        return self.partition.read(point), *self.target.at(point)

    def draw(self, point, inputs):
        values, prior, family, data = inputs
        if self._n_draws == 0 and is_default_start(point[self.partition.name]):
            values = self.start(values, prior, family, data)
        values, log_likelihood, stats = self.moves(values, prior, family, data)
        log_joint = float(self._log_prior(prior, values) + log_likelihood)
        stats |= {"n_nodes": int(self.partition.n_nodes(values).sum()), "log_joint": log_joint, NUMBER: self._number}
        if self.partition.further_priors:
            stats["n_components"] = int(self.partition.n_components(values))
        return Draw(self.partition.write(point, values), log_joint, stats)

    def start(self, values, prior, family, data):
        """Replace the default start by sequential allocation of the items, if components have data."""
        if self.target.has_mixtures and not self.target.has_tree_family:
            return sequential_start(self.rng, len(values), *prior, family, data)
        return values

    @staticmethod
    def _log_prior(prior, values):
        levels, gammas = prior
        return log_path_prior(levels, values) if gammas is None else log_nested_prior(levels, gammas, values)

    def check_start(self, point, inputs):
        values, prior, family, data = inputs
        log_prior = self._log_prior(prior, values)
        if not np.isfinite(log_prior):
            raise self.not_finite_error(point, log_prior)
        _, mixtures = self.target.parts(point)
        if mixtures:
            clusters, by_graph = self._clusters(values)
            log_density_of_data = self._log_likelihood(family, data, values)
            check_against_graph(self.partition.name, mixtures, clusters, log_density_of_data, by_graph)

    def _clusters(self, values):
        """Paths or components, whatever the data depend on, and the function of them that the graph has."""
        if self.target.has_tree_family:
            return np.ascontiguousarray(values), tree_log_likelihoods
        return np.ascontiguousarray(values[:, -1]), graph_log_likelihoods

    def _log_likelihood(self, family, data, values):
        """Log density of the data by the kernels that moves call."""
        density = log_likelihood if self.target.has_tree_family else log_density
        return float(density(self._clusters(values)[0], family, data))

    def moves_to_compare(self, rng, point):
        """Moves of an item to the path, tables and component of another item."""
        values, (prior, family, data) = self.partition.read(point), self.target.at(point)
        n = len(values)
        if n < 2 or n > MOST_ITEMS:
            return
        # Known paths stay; tables and components of an item may be new.
        fixed = self.partition.depth if isinstance(prior[0], KnownPaths) else 0
        first = int(rng.integers(n))
        others = np.flatnonzero((values[:, :fixed] == values[first, :fixed]).all(axis=1))
        second = int(rng.choice(others[others != first])) if len(others) > 1 else first
        apart = values.copy()
        apart[first, fixed:] = values[:, fixed:].max(axis=0) + 1
        joined = apart.copy()
        joined[second] = apart[first]
        chosen = [*map(_canonical_columns, (values, apart, joined))]
        points = [self.partition.write(point, columns) for columns in chosen]
        log_densities = [self._log_density(prior, family, data, columns) for columns in chosen]
        for k, what in enumerate((f"item {first} leaves all others", f"item {second} joins item {first}")):
            ratio = log_densities[k + 1] - log_densities[k]
            yield OwnMove(f"{what} in {self.partition.name!r}", *points[k : k + 2], ratio)

    def _log_density(self, prior, family, data, values):
        log_prior = self._log_prior(prior, values)
        if not self.target.has_mixtures or not np.isfinite(log_prior):
            return log_prior
        return log_prior + self._log_likelihood(family, data, values)

    def not_finite_error(self, point, value):
        prior, mixtures = self.target.parts(point)
        values = self.partition.read(point)
        clusters, by_graph = self._clusters(values)
        parts = by_graph(mixtures, clusters)
        is_known = isinstance(prior[0], KnownPaths)
        words = f"with {'known paths' if is_known else prior[0]}" + (
            "" if prior[1] is None else f" and concentrations {prior[1]} of weights"
        )
        title = f"nested partition {self.partition.name!r}"
        return error_of_parts(title, words, self._log_prior(prior, values), mixtures, parts, value, self.when)


class NestedGibbs(NestedStep):
    """Gibbs sampling of a nested partition, with weights and component parameters, or means of nodes, integrated out.

    With weights a sweep redraws every item (path, tables and component together), every leaf table as a whole (path and
    component), the seats of every table in the parents of their nodes, and every level of the tree given the others;
    then it splits and merges components.  Where paths are known, it redraws tables and component of every item in its
    leaf and the seats of every table, splits and merges components, and redraws all tables given components.
    Without weights it redraws the path of every item, moves nodes with all that is below them, and splits and merges
    nodes, given a covariance of the family that it draws and forgets.  Without data draws are from the prior.  All of
    it leaves the posterior invariant, and a sweep is irreducible.

    Unless ``initval`` is given, chains start from sequential allocation: items are assigned one at a time, each given
    the items before it. Without weights they start from a clustering of the data.

    Parameters
    ----------
    vars : list of NestedPartition
    n_sweeps : int
        Sweeps per draw.
    n_moves : int, optional
        Without weights, how often a sweep moves a node with all that is below it, and how often it splits or merges
        nodes; by default a quarter of the number of items, and at least 4.  With weights, how often it splits or merges
        components; by default one for every 32 items, at least 4 and at most 16.
    %(step_options)s

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
    ...     weights = nrm.nested.HierarchicalDirichletProcess(gamma=1.0, gamma_0=1.0)
    ...     h = nrm.nested.NestedPartition("h", nrm.DirichletProcess(1.0), depth=2, weights=weights, n=4)
    ...     x = nrm.Mixture("x", h, nrm.BernoulliBeta(0.6, 0.6), observed=X)
    ...     step = nrm.nested.NestedGibbs([h])
    >>> [variable.name for variable in step.vars]
    ['h']
    """

    name = "nested_gibbs"
    _competence_for_partitions = Competence.IDEAL

    def __init__(self, vars: Any = None, *, n_sweeps: int = 1, n_moves: int | None = None, **kwargs: Any) -> None:
        check_count("n_sweeps", n_sweeps, 1)
        check_count("n_moves", n_moves, 0, optional=True)
        super().__init__(vars, options={"n_sweeps": n_sweeps, "n_moves": n_moves}, **kwargs)

    def precompile_moves(self, values, prior, family, data):
        """Compile the kernels for the types of the arguments."""
        levels, gammas = prior
        if self.target.has_tree_family:
            precompile(diffusion_sweep, self.rng, values, levels, family, data, 1)
            # A call compiles its kernels here instead of in each chain.
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
