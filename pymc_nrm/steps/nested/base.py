"""The base class of the steps that sample nested partitions: everything except the moves."""

from typing import Any

import numpy as np
from pymc.util import get_random_generator
from rich.progress import TextColumn
from rich.table import Column

from pymc_nrm.common.checks import random_generator
from pymc_nrm.common.marks import NUMBER, partition_number
from pymc_nrm.common.pymc_internals import Competence
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.needs import PREDICTIVE, check_needs
from pymc_nrm.kernels.compilation import announced_compilation
from pymc_nrm.kernels.generic import precompile
from pymc_nrm.models.rvs import checked_model, family_of, kind_of
from pymc_nrm.models.start import is_default_start
from pymc_nrm.moves.nested.sweep import log_density, sequential_start
from pymc_nrm.partitions.nested import Nested
from pymc_nrm.partitions.nested_laws.known_paths import KnownPaths
from pymc_nrm.partitions.nested_laws.prior import log_nested_prior, log_path_prior
from pymc_nrm.steps.base import LabelStep
from pymc_nrm.steps.finite import check_against_graph, error_of_parts, graph_log_likelihood
from pymc_nrm.steps.nested.target import NestedTarget


class NestedStep(LabelStep):
    """Base of the steps that sample one nested partition.

    Subclasses define ``name`` and the methods ``precompile_moves(values, prior, family, data)`` and
    ``moves(values, prior, family, data)``, which returns the new value, the log density of the data, and a dict of
    further statistics.  They may add to ``needs`` what their moves call of families of components, and replace
    ``check_variable(model, partition)`` and ``start(values, prior, family, data)``.
    """

    samples = "NestedPartition"
    # Kinds of partitions that the step samples, and those built on them.
    kinds = (Nested,)
    # Generic functions that a family of components must implement.
    needs = (*PREDICTIVE, log_marginal)
    # How well the step suits those nested partitions that it can sample.
    _competence_for_partitions = Competence.COMPATIBLE
    stats_dtypes_shapes = {
        "n_nodes": (np.int64, []),
        "n_components": (np.int64, []),
        "log_joint": (np.float64, []),
        NUMBER: (np.int64, []),
    }

    def __init__(
        self,
        vars: Any,
        *,
        options: dict,
        model: Any = None,
        rng: Any = None,
        initial_point: Any = None,
        compile_kwargs: Any = None,
        blocked: bool = False,
    ) -> None:
        model = checked_model(model)
        partition = self.variable_of(vars, model)
        if not isinstance(kind_of(partition), Nested):
            raise TypeError(
                f"vars must be nested partitions; {partition.name!r} is not a NestedPartition, which "
                f"{type(self).__name__} samples"
            )
        self.options = options
        self.value = kind_of(partition)
        self.check_variable(model, partition)
        if not self.value.further_priors:
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
        families = [type(family_of(mixture)) for mixture in self.target.mixtures]
        if not self.target.has_tree_family:
            for family_class in families:
                check_needs(family_class, self.needs, type(self).__name__)
        with announced_compilation(type(self).__name__, families):
            self._compile(point)

    def check_variable(self, model, partition):
        """Accept every nested partition."""

    def _compile(self, point):
        # Chains run in forked processes, which inherit what is compiled here.
        values = self.value.read(point)
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
        values = self.value.read(point)
        prior, family, data = self.target.at(point)
        if self._n_draws == 0:
            self._check_start(point, values)
        try:
            if self._n_draws == 0 and is_default_start(point[self.value.name]):
                values = self.start(values, prior, family, data)
            values, log_likelihood, own_stats = self.moves(values, prior, family, data)
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
            **own_stats,
        }
        if self.value.further_priors:
            stats["n_components"] = int(self.value.n_components(values))
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
            check_against_graph(self.value.name, mixtures, components, log_density(components, family, data))

    def _not_finite(self, point, value):
        when = f"in draw {self._n_draws + 1}" if self._n_draws else "where a chain starts"
        prior, mixtures = self.target.parts(point)
        values = self.value.read(point)
        parts = [float("nan")] * len(mixtures)
        if not self.target.has_tree_family:
            parts = [graph_log_likelihood(family, X, values[:, -1]) for _, family, X in mixtures]
        is_known = isinstance(prior[0], KnownPaths)
        words = f"with {'known paths' if is_known else prior[0]}" + (
            "" if prior[1] is None else f" and concentrations {prior[1]} of weights"
        )
        title = f"nested partition {self.value.name!r}"
        return error_of_parts(title, words, self._log_prior(prior, values), mixtures, parts, value, when)

    @classmethod
    def competence(cls, var, has_grad):
        return cls._competence_for_partitions if isinstance(kind_of(var), cls.kinds) else Competence.INCOMPATIBLE

    @staticmethod
    def _progressbar_config(n_chains=1):
        columns = [TextColumn("{task.fields[n_nodes]}", table_column=Column("Nodes", ratio=1))]
        return columns, {"n_nodes": [0] * n_chains}

    @staticmethod
    def _make_progressbar_update_functions():
        def update_stats(step_stats):
            return {"n_nodes": step_stats["n_nodes"]}

        return (update_stats,)
