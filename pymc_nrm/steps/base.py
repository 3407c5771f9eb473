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
from pymc_nrm.common.progress import elapsed, end_elapsed
from pymc_nrm.common.pymc_internals import Competence, StepMethodState, dataclass_state
from pymc_nrm.families.base import take_items
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.needs import PREDICTIVE, check_needs
from pymc_nrm.kernels.compilation import announced_compilation
from pymc_nrm.kernels.generic import lacking, precompile
from pymc_nrm.kernels.interrupts import Interrupted
from pymc_nrm.measures.base import Weights
from pymc_nrm.models.default_start import is_default_start
from pymc_nrm.models.missing_entries import continuous_values
from pymc_nrm.models.rvs import checked_model, family_of, kind_of, mixtures_of
from pymc_nrm.moves.gibbs import draw_weights, join_in_turn, weights_of_two
from pymc_nrm.moves.sampled_start import climb, is_many
from pymc_nrm.partitions.clusters import build_state, log_target, log_target_by_items
from pymc_nrm.partitions.flat import Flat, Ordered
from pymc_nrm.steps.target import Target, check_against_graph, log_densities_by_graph, not_finite


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


def first_values(model, point):
    """Values of hyperparameters where chains begin."""
    # Later ones are drawn given the default labels, a single cluster, and make chains on few items lose clusters.
    return {value.name: point[value.name] for value in continuous_values(model)}


_STARTS_FROM_UNITS = 5


@dataclass_state
class PartitionStepState(StepMethodState):
    """What a chain needs, besides its point, to continue where it stopped."""

    options: dict = field(metadata={"frozen": True})


class LabelStep(BlockedStep):
    """Base of the steps that sample the labels of one variable: its arguments and its state."""

    default_blocked = False
    _state_class = PartitionStepState
    # What the step samples, and the kind of all of these.
    samples, samples_words = "Partition", "partitions"
    general_kind = Flat
    # Kinds of partitions that the step samples, and those built on them, and how well it suits these.
    kinds = (Ordered,)
    _competence_for_partitions = Competence.COMPATIBLE
    # Generic functions that a family of components must implement.
    needs = PREDICTIVE
    # What the step reads of the model.
    target_class = Target

    def __new__(cls, *args, **kwargs):
        # Check before PyMC does, whose errors do not name the arguments.
        kwargs["model"] = model = checked_model(kwargs.get("model"))
        vars = args[0] if args else kwargs.get("vars")
        several = vars if isinstance(vars, list | tuple) else [vars]
        known = {*model.value_vars, *model.free_RVs}
        if not several or not all(isinstance(variable, Variable) and variable in known for variable in several):
            raise TypeError(f"vars must be a free {cls.samples} of the model, or a list of them; got {vars!r}")
        random_generator(kwargs.get("rng"), "rng")
        return super().__new__(cls, *args, **kwargs)

    def __init__(
        self, vars, *, options, needs=(), model=None, rng=None, initial_point=None, compile_kwargs=None, blocked=False
    ):
        model = checked_model(model)
        partition = self.variable_of(vars, model)
        self.partition = kind_of(partition)
        if not isinstance(self.partition, self.general_kind):
            raise TypeError(
                f"vars must be {self.samples_words}; {partition.name!r} is not a {self.samples}, which "
                f"{type(self).__name__} samples"
            )
        self.options = options
        self.check_variable(model, partition)
        mixtures = mixtures_of(model, partition)
        for mixture in mixtures:
            if not mixture.owner.op.kind.takes_trees:
                family_class = type(family_of(mixture))
                others = self._steps_without(family_class)
                check_needs(family_class, (*self.needs, *needs), type(self).__name__, others)
        self._number = partition_number(partition.name)
        self._n_draws = 0
        self.rng = get_random_generator(random_generator(rng, "rng"))
        end_elapsed()
        with announced_compilation(type(self).__name__, [type(family_of(mixture)) for mixture in mixtures], elapsed):
            point = model.initial_point() if initial_point is None else initial_point
            self.target = self.target_class(model, partition, point, compile_kwargs)
            self._compile(model, partition, point, compile_kwargs)

    def check_variable(self, model, partition):
        """Accept every partition of the general kind."""

    @classmethod
    def _steps_without(cls, family_class):
        """Names of other steps for such partitions whose needs a family meets."""
        return []

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

    @classmethod
    def competence(cls, var, has_grad):
        return cls._competence_for_partitions if isinstance(kind_of(var), cls.kinds) else Competence.INCOMPATIBLE

    @classmethod
    def _progressbar_config(cls, n_chains=1):
        name, title = cls.kinds[0].progress
        return [TextColumn(f"{{task.fields[{name}]}}", table_column=Column(title, ratio=1))], {name: [0] * n_chains}

    @classmethod
    def _make_progressbar_update_functions(cls):
        name, _ = cls.kinds[0].progress
        return (lambda step_stats: {name: step_stats[name]},)


class PartitionStep(LabelStep):
    """Base of the steps that sample one partition.

    A step first draws u exactly given the partition, then moves the partition given u; this leaves their joint
    distribution invariant.  Draws pass on only the labels in the point.  Every step sums the statistics from the data
    again, so that rounding errors do not accumulate and a chain can continue from any draw.

    Subclasses define ``name``, ``stats_dtypes_shapes`` and ``calls(rng, n, table, family, data)``, which yields the
    kernel and the options of each call of a draw.  A kernel takes ``rng, state, weights, family, data, options`` and
    returns the new state and its statistics: a named tuple, whose fields are summed over the calls of a draw, or the
    number of items that it moved.  What is compiled in advance follows from these calls.  If kernels call functions
    that not every family implements, the subclass adds them to ``needs``.  It may also replace ``check_options(n)``,
    ``check_weights(measure, table, at_start)``, ``labels_of_tree(rng, table, family, data)``, ``for_start()`` and
    ``statistics(totals)``.
    """

    # Statistics that every step reports, besides those of its moves.
    common_stats = {
        "n_clusters": (np.int64, []),
        "log_joint": (np.float64, []),
        "u": (np.float64, []),
        "entropy": (np.float64, []),
        NUMBER: (np.int64, []),
    }

    def check_variable(self, model, partition):
        """Check that the partition is of a kind that the step samples."""
        if not isinstance(self.partition, self.kinds):
            raise ValueError(
                f"vars of {type(self).__name__} must be a Partition {self.kinds[0].description}; {partition.name!r} is "
                f"one {self.partition.sampled_by}"
            )
        families = [type(family_of(mixture)) for mixture in mixtures_of(model, partition)]
        self._has_marginals = not any(lacking(family_class, [log_marginal]) for family_class in families)

    def _compile(self, model, partition, point, compile_kwargs):
        # Chains run in forked processes, which inherit what is compiled here.
        labels = self.partition.read(point)
        measure, family, data = self.target.at(point)
        self.check_options(len(labels))
        self._first_values = first_values(model, point)
        table, _, _ = self._draw_weights(np.random.default_rng(0), measure, labels)
        family, table = self.partition.with_weights(family, table)
        self.check_weights(measure, table, at_start=True)
        state = build_state(labels, family, data)
        self.partition.write(point, state)
        log_density = self._log_target(state, table, family, data)
        # Chains compare the two where they start.
        _, mixtures = self.target.parts(point)
        log_densities_by_graph(mixtures, self.partition.of_items(labels))
        # A density that is not finite is an error where a chain starts.
        if self._starts_from_data(point) and np.isfinite(log_density):
            self.start(np.random.default_rng(0), weights_of_two(table), family, data)
        self.precompile_moves(state, table, family, data)

    def precompile_moves(self, state, table, family, data):
        """Compile the kernels of a draw; what leads to their options, such as guide trees, runs on two items."""
        rng = np.random.default_rng(0)
        for kernel, options in self.calls(rng, len(state.labels), weights_of_two(table), family, data):
            precompile(kernel, rng, state, table, family, data, options)

    def check_options(self, n):
        """Check the options against the number of items."""

    def check_weights(self, measure, table, at_start):
        """Check the weights of clusters that were drawn, at construction and in each draw."""

    def _starts_from_data(self, point):
        """Whether a chain leaves the start at a point, that of nobody, for one that is found in the data."""
        return is_default_start(point[self.partition.name])

    def start(self, rng, table, family, data):
        """Labels to start from: those of a start of few items, or of chains on some of many."""
        if not self.partition.opens_clusters:
            return self._start_from_units(rng, table, family, data)
        if is_many(len(table.moment) - 1):
            return start_from_samples(self, rng, table, family, data)
        return self.start_of_few(rng, table, family, data)

    def _own_start(self, point, labels, table, family, data):
        if is_many(len(labels)):
            measure, family, data = self.target.at(point | self._first_values)
            table, _, _ = self._draw_weights(self.rng, measure, labels)
            family, table = self.partition.with_weights(family, table)
        return self.start(self.rng, table, family, data)

    def start_of_few(self, rng, table, family, data):
        """Labels of items that join clusters one after the other."""
        return join_in_turn(rng, table, family, data)

    def _start_from_units(self, rng, table, family, data):
        """Labels of items that join, one after the other, the clusters of the units of every start: the best of some.

        The order of items may decide which cluster is the wide one, and updates of single items hardly undo that.
        """
        first = self.partition.units_of_every_start()
        first = first[first < len(table.moment) - 1]
        if len(first) == 0:
            # Two items, on which the step compiles.
            family = self.partition.with_new_clusters(family)
        starts = [join_in_turn(rng, table, family, data, first=first) for _ in range(_STARTS_FROM_UNITS)]
        return max(starts, key=lambda labels: self._log_target(build_state(labels, family, data), table, family, data))

    def for_start(self):
        """The step that makes the moves of a chain on some of the items, before this step begins."""
        return self

    def moves(self, state, table, family, data):
        """Make the calls of a draw; return the new state and their statistics."""
        totals = {}
        for kernel, options in self.calls(self.rng, len(state.labels), table, family, data):
            state, counts = kernel(self.rng, state, table, family, data, options)
            named = zip(counts._fields, counts, strict=True) if isinstance(counts, tuple) else [("n_moved", counts)]
            for name, count in named:
                totals[name] = totals.get(name, 0) + count
        return state, self.statistics(totals)

    # From sums over the calls of a draw to the statistics that the step reports.
    statistics = staticmethod(dict)

    def _log_target(self, state, table, family, data):
        if self._has_marginals:
            return log_target(state, table, family)
        # Item by item, free items may come before those that open their cluster.
        return log_target_by_items(state, table, self.partition.with_new_clusters(family), data)

    def _sizes(self, labels):
        """Sizes of clusters as the measure counts them, from labels as kernels read them."""
        return self.partition.counts(self.partition.of_items(labels))

    def _draw_weights(self, rng, measure, labels):
        return draw_weights(rng, measure, int(self._sizes(labels).sum()), int(self.partition.n_clusters(labels)))

    def step(self, point):
        labels = self.partition.read(point)
        measure, family, data = self.target.at(point)
        table, log_u, u_term = self._draw_weights(self.rng, measure, labels)
        log_prior = table.moment[self._sizes(labels)].sum()
        family, table = self.partition.with_weights(family, table)
        at_start = self._n_draws == 0
        self.check_weights(measure, table, at_start)
        state = build_state(labels, family, data)
        if at_start:
            # pm.set_data may have changed the data since the step was made.
            self.check_options(len(labels))
            self._check_start(point, log_prior, u_term, self._log_target(state, table, family, data))
        try:
            if at_start and self._starts_from_data(point):
                state = build_state(self._own_start(point, labels, table, family, data), family, data)
            state, stats = self.moves(state, table, family, data)
        except ValueError as error:
            # Kernels raise this if the weights of clusters define no probabilities.
            raise self._not_finite(point, str(error)) from error
        point = self.partition.write(point, state)
        log_joint = u_term + self._log_target(state, table, family, data)
        if not np.isfinite(log_joint):
            raise self._not_finite(point, log_joint)
        self._n_draws += 1
        counts = np.bincount(point[self.partition.name])
        return point, [stats | common_statistics(counts, log_u, log_joint, self._number)]

    def _check_start(self, point, log_prior, u_term, value):
        if not np.isfinite(u_term + value):
            raise self._not_finite(point, u_term + value)
        labels = self.partition.read(point)
        _, mixtures = self.target.parts(point)
        check_against_graph(self.partition.name, mixtures, self.partition.of_items(labels), value - log_prior)

    def _not_finite(self, point, value):
        when = f"in draw {self._n_draws + 1}" if self._n_draws else "where a chain starts"
        labels = self.partition.read(point)
        return not_finite(self.partition, *self.target.parts(point), labels, value, when)

    @classmethod
    def _steps_without(cls, family_class):
        """Names of the registered steps for such partitions whose needs a family meets."""
        steps = [step for step in STEP_METHODS if issubclass(step, PartitionStep)]
        steps = [step for step in steps if step.kinds == cls.kinds]
        return [step.__name__ for step in steps if step is not cls and not lacking(family_class, step.needs)]


class _Chain:
    """Moves of a step on m items, given u of all items."""

    def __init__(self, step, rng, table, family, data, m, previous):
        self._step, self._family, self._data = step, family, data
        self._table = Weights(table.join[: m + 1], table.moment[: m + 1])
        if previous is None:
            labels = step.start_of_few(rng, self._table, family, data)
        else:
            labels = previous.labels_of_all(rng, self._table, data, np.arange(len(previous.state.labels)))
        self.state = build_state(labels, family, data)

    def advance(self):
        """Make the moves of a draw."""
        self.state, _ = self._step.moves(self.state, self._table, self._family, self._data)

    def labels_of_all(self, rng, table, data, own):
        """Labels of all items of the data: the chain's own are at some places (m,), the others join in turn."""
        labels = np.full(len(table.moment) - 1, -1)
        labels[own] = self.state.labels
        return join_in_turn(rng, table, self._family, data, self.state, labels)


def start_from_samples(step, rng, table, family, data):
    """Labels of all items from chains on some of them, whose clusters the others join."""

    def begin(items, previous):
        return _Chain(step.for_start(), rng, table, family, take_items(data, items), len(items), previous)

    n = len(table.moment) - 1
    last, items = climb(rng, n, begin, _Chain.advance, step.partition.units_of_every_start())
    return last.labels_of_all(rng, table, data, items)
