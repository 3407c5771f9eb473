"""The base class of the steps that sample partitions: everything that PyMC needs, except the moves."""

from dataclasses import field

import numpy as np
from pymc.step_methods import STEP_METHODS, BlockedStep
from pymc.util import get_random_generator, get_value_vars_from_user_vars
from pytensor.graph.basic import Variable
from rich.progress import TextColumn
from rich.table import Column

from pymc_nrm.common.checks import random_generator
from pymc_nrm.common.marks import NUMBER, partition_number
from pymc_nrm.common.pymc_internals import Competence, StepMethodState, dataclass_state
from pymc_nrm.distributions.start import is_default_start
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.needs import PREDICTIVE, check_needs
from pymc_nrm.guide_trees.guide_tree import guide_tree
from pymc_nrm.guide_trees.tree import cut_tree
from pymc_nrm.kernels.compilation import announced_compilation
from pymc_nrm.kernels.generic import kernel, lacking, precompile
from pymc_nrm.kernels.interrupts import Interrupted
from pymc_nrm.measures.base import Weights, draw_log_auxiliary, log_joint_term, weights
from pymc_nrm.model.dependents import mixtures_of
from pymc_nrm.model.rvs import checked_model, family_of, is_partition, n_slots, value_of
from pymc_nrm.partitions.clusters import build_state, log_target, log_target_by_items
from pymc_nrm.partitions.labels import label_counts
from pymc_nrm.samplers.finite import check_against_graph, not_finite
from pymc_nrm.samplers.target import Target


@kernel
def draw_weights(rng, measure, n, n_clusters):
    """Draw u; return the weights given u, log u, and the term of the log joint density that depends on n and u."""
    log_u = draw_log_auxiliary(measure, n, n_clusters, rng)
    return weights(measure, n, log_u), log_u, log_joint_term(measure, n, log_u)


def weights_of_two(table):
    """Weights for two items, on which kernels are compiled without much work."""
    return Weights(table.join[:3], table.moment[:3])


def common_statistics(counts, log_u, log_joint, number):
    """Statistics that every step reports."""
    proportions = counts / counts.sum()
    # For small alpha, u itself may overflow; kernels only use its logarithm.
    with np.errstate(over="ignore"):
        u = float(np.exp(log_u))
    return {
        "n_clusters": len(counts),
        "log_joint": log_joint,
        "u": u,
        # Round, so that partitions of equal cluster sizes tie in ranks whatever the order of their clusters.
        "entropy": round(float(abs((proportions * np.log(proportions)).sum())), 12),
        NUMBER: number,
    }


@dataclass_state
class PartitionStepState(StepMethodState):
    """What a chain needs, besides its point, to continue where it stopped."""

    options: dict = field(metadata={"frozen": True})


class LabelStep(BlockedStep):
    """Base of the steps that sample the labels of one variable: its arguments and its state."""

    default_blocked = False
    _state_class = PartitionStepState
    # What the step samples.
    samples = "Partition"

    def __new__(cls, *args, **kwargs):
        # Check before PyMC does, whose errors do not name the arguments.
        kwargs["model"] = model = checked_model(kwargs.get("model"))
        vars = args[0] if args else kwargs.get("vars", model.value_vars)
        several = vars if isinstance(vars, list | tuple) else [vars]
        known = {*model.value_vars, *model.free_RVs}
        if not several or not all(isinstance(variable, Variable) and variable in known for variable in several):
            raise TypeError(f"vars must be a free {cls.samples} of the model, or a list of them; got {vars!r}")
        random_generator(kwargs.get("rng"), "rng")
        return super().__new__(cls, *args, **kwargs)

    def setup_chain(self, rng, tune, draws):
        if Interrupted.came:
            raise KeyboardInterrupt
        super().setup_chain(rng, tune, draws)
        self.target.refresh()
        self._n_draws = 0

    def variable_of(self, vars, model):
        """Set ``vars`` to the one value variable of the step, and return its random variable."""
        self.vars = get_value_vars_from_user_vars(vars, model)
        if len(self.vars) != 1:
            raise ValueError(
                f"vars must be one {self.samples} for a step that is blocked; got {len(self.vars)} variables"
            )
        return model.values_to_rvs[self.vars[0]]


class PartitionStep(LabelStep):
    """Base of the steps that sample one partition.

    A step first draws u exactly given the partition, then moves the partition given u; this leaves their joint
    distribution invariant.  Draws pass on only the labels in the point.  Every step sums the statistics from the data
    again, so that rounding errors do not accumulate and a chain can continue from any draw.

    Subclasses define ``name``, ``stats_dtypes_shapes`` and the methods ``check_options(n)``,
    ``precompile_moves(state, table, family, data)`` and ``moves(state, table, family, data)``, which returns the new
    state and a dict of statistics.  If the moves call functions that not every family implements, the subclass adds
    them to ``needs``.
    """

    # Whether the step is for partitions whose labels index parameters.
    samples_slots = False
    # How well the step suits those partitions that it can sample.
    _competence_for_partitions = Competence.COMPATIBLE
    # Generic functions that a family must implement.
    needs = PREDICTIVE

    # Statistics that every step reports, besides those of its moves.
    common_stats = {
        "n_clusters": (np.int64, []),
        "log_joint": (np.float64, []),
        "u": (np.float64, []),
        "entropy": (np.float64, []),
        NUMBER: (np.int64, []),
    }

    def __init__(self, vars, *, options, model=None, rng=None, initial_point=None, compile_kwargs=None, blocked=False):
        model = checked_model(model)
        partition = self.variable_of(vars, model)
        if not is_partition(partition):
            raise TypeError(
                f"vars must be partitions; {partition.name!r} is not a Partition, which {type(self).__name__} samples"
            )
        if (n_slots(partition) is not None) != self.samples_slots:
            allowed = "with" if self.samples_slots else "without"
            other = "such as TreeGuided samples" if self.samples_slots else "for SlotGibbs, which nrm.sample chooses"
            raise ValueError(
                f"vars of {type(self).__name__} must be a Partition {allowed} max_clusters; {partition.name!r} is one "
                f"{other}"
            )
        families = [type(family_of(mixture)) for mixture in mixtures_of(model, partition)]
        for family_class in families:
            check_needs(family_class, self.needs, type(self).__name__, self._steps_without(family_class))
        self._has_marginals = not any(lacking(family_class, [log_marginal]) for family_class in families)
        self.partition = value_of(partition)
        self.options = options
        self._number = partition_number(partition.name)
        self._n_draws = 0
        self.rng = get_random_generator(random_generator(rng, "rng"))
        point = model.initial_point() if initial_point is None else initial_point
        self.target = Target(model, partition, point, compile_kwargs)
        with announced_compilation(type(self).__name__, families):
            self._compile(model, partition, point, compile_kwargs)

    def _compile(self, model, partition, point, compile_kwargs):
        # Chains run in forked processes, which inherit what is compiled here.
        labels = self.partition.read(point)
        measure, family, data = self.target.at(point)
        self.check_options(len(labels))
        precompile(draw_weights, self.rng, measure, len(labels), 1)
        table, _, _ = self._draw_weights(np.random.default_rng(0), measure, labels)
        state = build_state(labels, family, data)
        self.partition.write(point, state)
        self._precompile_log_target(state, table, family, data)
        if self._has_marginals and is_default_start(point[partition.name]):
            self.precompile_start(table, family, data)
        self.precompile_moves(state, table, family, data)

    def _precompile_log_target(self, state, table, family, data):
        if self._has_marginals:
            precompile(log_target, state, table, family)
        else:
            precompile(log_target_by_items, state, table, family, data)

    def _draw_weights(self, rng, measure, labels):
        return draw_weights(rng, measure, len(labels), int(self.partition.n_clusters(labels)))

    def step(self, point):
        labels = self.partition.read(point)
        measure, family, data = self.target.at(point)
        table, log_u, u_term = self._draw_weights(self.rng, measure, labels)
        state = build_state(labels, family, data)
        if self._n_draws == 0:
            # pm.set_data may have changed the data since the step was made.
            self.check_options(len(labels))
            self._check_start(point, table, u_term, self._log_target(state, table, family, data))
            if is_default_start(point[self.partition.name]):
                state = build_state(self.start(table, family, data), family, data)
        try:
            state, stats = self.moves(state, table, family, data)
        except ValueError as error:
            # Kernels raise this if the weights of clusters define no probabilities.
            raise self._not_finite(point, str(error)) from error
        point = self.partition.write(point, state)
        log_joint = u_term + self._log_target(state, table, family, data)
        if not np.isfinite(log_joint):
            raise self._not_finite(point, log_joint)
        self._n_draws += 1
        counts = state.counts[state.active[: state.size[0]]]
        return point, [stats | common_statistics(counts, log_u, log_joint, self._number)]

    def precompile_start(self, table, family, data):
        """Compile what :meth:`start` calls."""
        cut_tree(guide_tree(np.random.default_rng(0), weights_of_two(table), family, data))

    def start(self, table, family, data):
        """Labels to start from: the clusters that incremental clustering finds, or one if marginals are unknown."""
        if self._has_marginals:
            return cut_tree(guide_tree(self.rng, table, family, data))
        return np.zeros(len(table.moment) - 1, dtype=np.int64)

    def _log_target(self, state, table, family, data):
        if self._has_marginals:
            return log_target(state, table, family)
        return log_target_by_items(state, table, family, data)

    def _check_start(self, point, table, u_term, value):
        if not np.isfinite(u_term + value):
            raise self._not_finite(point, u_term + value)
        labels = self.partition.read(point)
        _, mixtures = self.target.parts(point)
        log_prior = table.moment[label_counts(labels)].sum()
        check_against_graph(self.partition.name, mixtures, labels, value - log_prior)

    def _not_finite(self, point, value):
        when = f"in draw {self._n_draws + 1}" if self._n_draws else "where a chain starts"
        labels = self.partition.read(point)
        return not_finite(self.partition.name, *self.target.parts(point), labels, value, when)

    @classmethod
    def _steps_without(cls, family_class):
        """Names of the registered steps for such partitions whose needs a family meets."""
        steps = [step for step in STEP_METHODS if issubclass(step, PartitionStep)]
        steps = [step for step in steps if step.samples_slots == cls.samples_slots]
        return [step.__name__ for step in steps if not lacking(family_class, step.needs)]

    @classmethod
    def competence(cls, var, has_grad):
        suits = is_partition(var) and (n_slots(var) is not None) == cls.samples_slots
        return cls._competence_for_partitions if suits else Competence.INCOMPATIBLE

    @staticmethod
    def _progressbar_config(n_chains=1):
        columns = [TextColumn("{task.fields[n_clusters]}", table_column=Column("Clusters", ratio=1))]
        return columns, {"n_clusters": [0] * n_chains}

    @staticmethod
    def _make_progressbar_update_functions():
        def update_stats(step_stats):
            return {"n_clusters": step_stats["n_clusters"]}

        return (update_stats,)
