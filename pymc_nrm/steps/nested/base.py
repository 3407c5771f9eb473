"""The base class of the steps that sample nested partitions: everything except the moves."""

import numpy as np

from pymc_nrm.common.marks import NUMBER
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.needs import PREDICTIVE
from pymc_nrm.kernels.generic import precompile
from pymc_nrm.models.marked_labels import is_default_start
from pymc_nrm.moves.nested.sweep import log_density, sequential_start
from pymc_nrm.partitions.nested import Nested
from pymc_nrm.partitions.nested_laws.levels import KnownPaths, log_nested_prior, log_path_prior
from pymc_nrm.steps.base import LabelStep
from pymc_nrm.steps.target import Target, check_against_graph, error_of_parts, graph_log_likelihoods


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

    def _compile(self, model, partition, point, compile_kwargs):
        # Chains run in forked processes, which inherit what is compiled here.
        values = self.partition.read(point)
        prior, family, data = self.target.at(point)
        levels, gammas = prior
        if gammas is None:
            precompile(log_path_prior, levels, values)
        else:
            precompile(log_nested_prior, levels, gammas, values)
        if self.target.has_mixtures and not self.target.has_tree_family:
            precompile(log_density, values[:, -1].copy(), family, data)
            precompile(sequential_start, self.rng, len(values), levels, gammas, family, data)
        self.precompile_moves(values, prior, family, data)

    def step(self, point):
        """Make the moves of a draw; return the new point and its statistics."""
        values = self.partition.read(point)
        prior, family, data = self.target.at(point)
        if self._n_draws == 0:
            self._check_start(point, values)
        try:
            if self._n_draws == 0 and is_default_start(point[self.partition.name]):
                values = self.start(values, prior, family, data)
            values, log_likelihood, own_stats = self.moves(values, prior, family, data)
        except (ValueError, np.linalg.LinAlgError) as error:
            # Kernels raise this if weights define no probabilities.
            raise self._not_finite(point, str(error)) from error
        point = self.partition.write(point, values)
        log_joint = self._log_prior(prior, values) + log_likelihood
        if not np.isfinite(log_joint):
            raise self._not_finite(point, log_joint)
        self._n_draws += 1
        stats = {
            "n_nodes": int(self.partition.n_nodes(values).sum()),
            "log_joint": float(log_joint),
            NUMBER: self._number,
            **own_stats,
        }
        if self.partition.further_priors:
            stats["n_components"] = int(self.partition.n_components(values))
        return point, [stats]

    def start(self, values, prior, family, data):
        """Replace the default start by items that come one by one, if there are data of components."""
        if self.target.has_mixtures and not self.target.has_tree_family:
            return sequential_start(self.rng, len(values), *prior, family, data)
        return values

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
            check_against_graph(self.partition.name, mixtures, components, log_density(components, family, data))

    def _not_finite(self, point, value):
        when = f"in draw {self._n_draws + 1}" if self._n_draws else "where a chain starts"
        prior, mixtures = self.target.parts(point)
        values = self.partition.read(point)
        parts = [float("nan")] * len(mixtures)
        if not self.target.has_tree_family:
            parts = graph_log_likelihoods(mixtures, values[:, -1])
        is_known = isinstance(prior[0], KnownPaths)
        words = f"with {'known paths' if is_known else prior[0]}" + (
            "" if prior[1] is None else f" and concentrations {prior[1]} of weights"
        )
        title = f"nested partition {self.partition.name!r}"
        return error_of_parts(title, words, self._log_prior(prior, values), mixtures, parts, value, when)
