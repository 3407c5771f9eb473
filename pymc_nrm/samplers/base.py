"""PyMC plumbing of the samplers of partitions: everything but the moves."""

from dataclasses import field

import numpy as np
from pymc.model import modelcontext
from pymc.step_methods.compound import BlockedStep, Competence, StepMethodState
from pymc.step_methods.state import dataclass_state
from pymc.util import get_random_generator, get_value_vars_from_user_vars
from rich.progress import TextColumn
from rich.table import Column

from pymc_nrm.distributions.partition import PartitionRV
from pymc_nrm.generic import kernel, precompile
from pymc_nrm.measures.base import draw_log_u, log_u_prior_term, weights
from pymc_nrm.partitions import build_state, canonical_labels, log_target, ordered_labels
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

    def __init__(self, vars, *, options, model=None, rng=None, initial_point=None, compile_kwargs=None, blocked=False):
        model = modelcontext(model)
        [self._value] = self.vars = get_value_vars_from_user_vars(vars, model)
        partition = model.values_to_rvs[self._value]
        if not is_partition(partition):
            raise TypeError(f"{type(self).__name__} samples partitions; {partition.name!r} is not a Partition")
        self.options = options
        self.rng = get_random_generator(rng)
        # One cluster is where a chain starts when nobody said anything else.
        self.may_choose_start = model.rvs_to_initial_values.get(partition) is None
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

    def step(self, point):
        labels = canonical_labels(point[self._value.name])
        measure, family, data = self.target.at(point)
        n_clusters = int(labels.max()) + 1
        table, log_u, u_term = draw_weights(self.rng, measure, len(labels), n_clusters)
        state = build_state(labels, family, data)
        state, stats = self.moves(state, table, family, data)
        labels = ordered_labels(state)
        counts = state.counts[state.active[: state.size[0]]]
        proportions = counts / len(labels)
        stats |= {
            "n_clusters": int(state.size[0]),
            "log_joint": u_term + log_target(state, table, family),
            "u": _exp(log_u),
            "entropy": float(abs((proportions * np.log(proportions)).sum())),
        }
        return {**point, self._value.name: labels}, [stats]

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
