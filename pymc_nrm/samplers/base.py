"""PyMC plumbing of the samplers of partitions: everything but the moves."""

from dataclasses import field

import numpy as np
from pymc.step_methods.compound import BlockedStep, Competence, StepMethodState
from pymc.step_methods.state import dataclass_state
from pymc.util import get_random_generator, get_value_vars_from_user_vars
from pytensor.graph.basic import Variable
from rich.progress import TextColumn
from rich.table import Column

from pymc_nrm.checks import random_generator
from pymc_nrm.distributions.model import checked_model
from pymc_nrm.distributions.partition import PartitionRV
from pymc_nrm.distributions.start import is_default_start
from pymc_nrm.generic import kernel, precompile
from pymc_nrm.measures.base import draw_log_u, log_u_prior_term, weights
from pymc_nrm.partitions.clusters import build_state, log_target, ordered_labels
from pymc_nrm.partitions.labels import canonical_labels, label_counts
from pymc_nrm.samplers.finite import check_against_graph, not_finite
from pymc_nrm.samplers.target import Target


def is_partition(variable):
    """Whether a random variable is a partition."""
    return variable.owner is not None and isinstance(variable.owner.op, PartitionRV)


@kernel
def draw_weights(rng, measure, n, n_clusters):
    """Draw log u given the partition; the weights given u, log u, and the log joint's term in n and u."""
    log_u = draw_log_u(measure, n, n_clusters, rng)
    return weights(measure, n, log_u), log_u, log_u_prior_term(measure, n, log_u)


def _exp(log_u):
    # For small alpha, u itself may be above the largest float, while its logarithm is what the kernels use.
    with np.errstate(over="ignore"):
        return float(np.exp(log_u))


@dataclass_state
class PartitionStepState(StepMethodState):
    """What a chain needs to go on where it stopped; the rest follows from the point."""

    options: dict = field(metadata={"frozen": True})


class PartitionStep(BlockedStep):
    """Base of the steps that sample one partition.

    A step first draws u given the partition exactly, then moves the partition given u, which leaves the joint law of
    both invariant.  Nothing but the labels in the point is carried from one draw to the next: sums are formed anew, so
    that rounding cannot build up and a chain can start again from any draw.

    Subclasses define ``name``, ``stats_dtypes_shapes`` and the methods ``check_options(n)``,
    ``precompile_moves(state, table, family, data)`` and ``moves(state, table, family, data)``, which gives the new
    state and a dict of statistics.

    Parameters
    ----------
    vars : list of Partition
    model : pymc.Model, optional
    rng : numpy.random.Generator or seed, optional
    initial_point : dict, optional
    compile_kwargs : dict, optional
    blocked : bool
        Always False: every partition has its own step.
    """

    default_blocked = False
    _state_class = PartitionStepState

    # Quantities that every step reports, beside those of its moves.
    common_stats = {
        "n_clusters": (np.int64, []),
        "log_joint": (np.float64, []),
        "u": (np.float64, []),
        "entropy": (np.float64, []),
    }

    def __new__(cls, *args, **kwargs):
        # PyMC looks at the arguments first, and its errors name none of them.
        kwargs["model"] = model = checked_model(kwargs.get("model"))
        vars = args[0] if args else kwargs.get("vars", model.value_vars)
        several = vars if isinstance(vars, list | tuple) else [vars]
        known = {*model.value_vars, *model.free_RVs}
        if not several or not all(isinstance(variable, Variable) and variable in known for variable in several):
            raise TypeError(f"vars must be a free Partition of the model, or a list of them; got {vars!r}")
        random_generator(kwargs.get("rng"), "rng")
        return super().__new__(cls, *args, **kwargs)

    def __init__(self, vars, *, options, model=None, rng=None, initial_point=None, compile_kwargs=None, blocked=False):
        model = checked_model(model)
        self.vars = get_value_vars_from_user_vars(vars, model)
        if len(self.vars) != 1:
            raise ValueError(f"vars must be one Partition for a step that is blocked; got {len(self.vars)} variables")
        [self._value] = self.vars
        partition = model.values_to_rvs[self._value]
        if not is_partition(partition):
            raise TypeError(
                f"vars must be partitions; {partition.name!r} is not a Partition, which {type(self).__name__} samples"
            )
        self.options = options
        self._n_draws = 0
        self.rng = get_random_generator(random_generator(rng, "rng"))
        point = model.initial_point() if initial_point is None else initial_point
        self.target = Target(model, partition, point, compile_kwargs)
        self._compile(point)

    def _compile(self, point):
        # Chains are forked: what is compiled here, no child compiles again.
        measure, family, data = self.target.at(point)
        labels = canonical_labels(point[self._value.name])
        self.check_options(len(labels))
        precompile(draw_weights, self.rng, measure, len(labels), 1)
        table, _, _ = draw_weights(np.random.default_rng(0), measure, len(labels), int(labels.max()) + 1)
        state = build_state(labels, family, data)
        precompile(ordered_labels, state)
        precompile(log_target, state, table, family)
        self.precompile_moves(state, table, family, data)

    def setup_chain(self, rng, tune, draws):
        super().setup_chain(rng, tune, draws)
        self.target.refresh()
        self._n_draws = 0

    def step(self, point):
        self.start_is_default = is_default_start(point[self._value.name])
        labels = canonical_labels(point[self._value.name])
        measure, family, data = self.target.at(point)
        n_clusters = int(labels.max()) + 1
        table, log_u, u_term = draw_weights(self.rng, measure, len(labels), n_clusters)
        state = build_state(labels, family, data)
        if self._n_draws == 0:
            self._check_start(point, labels, table, u_term, log_target(state, table, family))
        try:
            state, stats = self.moves(state, table, family, data)
        except ValueError as error:
            # What kernels raise where the weights of clusters have no law.
            raise self._not_finite(point, labels, str(error)) from error
        labels = ordered_labels(state)
        log_joint = u_term + log_target(state, table, family)
        if not np.isfinite(log_joint):
            raise self._not_finite(point, labels, log_joint)
        self._n_draws += 1
        counts = state.counts[state.active[: state.size[0]]]
        proportions = counts / len(labels)
        stats |= {
            "n_clusters": int(state.size[0]),
            "log_joint": log_joint,
            "u": _exp(log_u),
            "entropy": float(abs((proportions * np.log(proportions)).sum())),
        }
        return {**point, self._value.name: labels}, [stats]

    def _check_start(self, point, labels, table, u_term, value):
        if not np.isfinite(u_term + value):
            raise self._not_finite(point, labels, u_term + value)
        _, mixtures = self.target.parts(point)
        log_prior = table.moment[label_counts(labels)].sum()
        check_against_graph(self._value.name, mixtures, labels, value - log_prior)

    def _not_finite(self, point, labels, value):
        when = f"in draw {self._n_draws + 1}" if self._n_draws else "where a chain starts"
        return not_finite(self._value.name, *self.target.parts(point), labels, value, when)

    @staticmethod
    def competence(var, has_grad):
        return Competence.COMPATIBLE if is_partition(var) else Competence.INCOMPATIBLE

    @staticmethod
    def _progressbar_config(n_chains=1):
        columns = [TextColumn("{task.fields[n_clusters]}", table_column=Column("Clusters", ratio=1))]
        return columns, {"n_clusters": [0] * n_chains}

    @staticmethod
    def _make_progressbar_update_functions():
        def update_stats(step_stats):
            return {"n_clusters": step_stats["n_clusters"]}

        return (update_stats,)
