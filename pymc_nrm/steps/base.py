"""The base classes of the steps that sample partitions: everything except the moves."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from pymc.step_methods import STEP_METHODS
from pymc.util import get_value_vars_from_user_vars
from pytensor.graph.basic import Variable
from rich.progress import TextColumn
from rich.table import Column

from pymc_nrm.common.marks import NUMBER, partition_number
from pymc_nrm.common.pymc_internals import Competence
from pymc_nrm.families.base import take_items
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.needs import PREDICTIVE, check_needs, not_inherited
from pymc_nrm.kernels.generic import lacking, precompile
from pymc_nrm.measures.base import Weights, draw_log_auxiliary, log_joint_term, weights
from pymc_nrm.models.default_start import is_default_start
from pymc_nrm.models.missing_entries import continuous_values
from pymc_nrm.models.rvs import family_of, kind_of, mixtures_of
from pymc_nrm.moves.gibbs import draw_weights, join_in_turn, weights_of_two
from pymc_nrm.moves.sampled_start import climb, is_many
from pymc_nrm.partitions.clusters import build_state, log_target, log_target_by_items
from pymc_nrm.partitions.flat import Flat, Ordered
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.steps.comparison import OwnMove
from pymc_nrm.steps.label_moves import (
    MOST_ITEMS,
    PartitionRatios,
    data_ratios,
    equal_weights,
    gibbs_choice,
    item_moves,
)
from pymc_nrm.steps.step import Draw, Step
from pymc_nrm.steps.target import Target, check_against_graph, log_densities_by_graph, not_finite


def common_statistics(counts, log_joint, number, log_u=None):
    """Statistics that every step reports; u where the prior has it."""
    counts = counts[counts > 0]
    proportions = counts / counts.sum()
    # For small alpha, u itself may overflow; kernels only use its logarithm.
    with np.errstate(over="ignore"):
        u = {} if log_u is None else {"u": float(np.exp(log_u))}
    return {
        "n_clusters": len(counts),
        "log_joint": log_joint,
        **u,
        # Round, so that partitions of equal cluster sizes tie in ranks whatever the order of their clusters.
        "entropy": round(float(abs((proportions * np.log(proportions)).sum())), 12),
        NUMBER: number,
    }


def first_values(model, point):
    """Initial values of the hyperparameters."""
    # Later ones are drawn given the default labels, a single cluster, and make chains on few items lose clusters.
    return {value.name: point[value.name] for value in continuous_values(model)}


_STARTS_FROM_UNITS = 5
# What steps of partitions call of a measure.
_TABLES = (log_joint_term, draw_log_auxiliary, weights)


class LabelStep(Step):
    """Base of the steps that sample the labels of one variable."""

    # What the step samples, in messages, and the kind of partition that all of them have.
    samples, samples_words = "Partition", "partitions"
    general_kind = Flat
    # Kinds of partitions that the step samples, with kinds that are built on them, and its competence for them.
    kinds = (Ordered,)
    _competence_for_partitions = Competence.COMPATIBLE
    # Generic functions that a family of components must implement.
    needs = PREDICTIVE
    # What the step reads of the model.
    target_class = Target

    def __init__(self, vars, *, options, needs=(), **kwargs):
        self._needs = needs
        super().__init__(vars, options=options, **kwargs)

    @classmethod
    def value_variables(cls, vars, model):
        several = vars if isinstance(vars, list | tuple) else [vars]
        variables = {*model.value_vars, *model.free_RVs}
        if not several or not all(isinstance(variable, Variable) and variable in variables for variable in several):
            raise TypeError(f"vars must be a free {cls.samples} of the model, or a list of them; got {vars!r}")
        return get_value_vars_from_user_vars(vars, model)

    def variable_in(self, model):
        """The random partition of the model that the step samples."""
        return model.values_to_rvs[self.vars[0]]

    def read_model(self, model):
        partition = self.variable_in(model)
        self.partition = kind_of(partition)
        if not isinstance(self.partition, self.general_kind):
            raise TypeError(
                f"vars must be {self.samples_words}; {partition.name!r} is not a {self.samples}, which "
                f"{type(self).__name__} samples"
            )
        self.check_variable(model, partition)
        mixtures = mixtures_of(model, partition)
        for mixture in mixtures:
            if not mixture.owner.op.kind.takes_trees:
                family_class = type(family_of(mixture))
                others = self._steps_without(family_class)
                check_needs(family_class, (*self.needs, *self._needs), type(self).__name__, others)
        self._number = partition_number(partition.name)
        return [type(family_of(mixture)) for mixture in mixtures]

    def check_variable(self, model, partition):
        """Accept every partition of the general kind."""

    @classmethod
    def _steps_without(cls, family_class):
        """Names of other steps for such partitions that the family has all functions for."""
        return []

    def compile(self, model, point, compile_kwargs):
        partition = self.variable_in(model)
        self._check_first_labels(model, partition, point)
        self.target = self.target_class(model, partition, point, compile_kwargs)
        self.compile_kernels(model, partition, point, compile_kwargs)

    def _check_first_labels(self, model, partition, point):
        """Refuse labels of ``initvals`` of ``pm.sample`` that are not canonical, if NUTS evaluates them first.

        Their log-probability is minus infinity; :func:`pymc_nrm.sample` renames labels before a chain starts.
        """
        labels = point[partition.name]
        before = model.value_vars[: model.value_vars.index(self.vars[0])]
        if is_default_start(labels) or not any(variable in before for variable in continuous_values(model)):
            return
        title = f"initvals[{partition.name!r}]"
        if not np.array_equal(self.partition.renamed(labels, len(labels), title), labels):
            raise ValueError(
                f"{title} must be {self.partition.words_of_labels}, or be passed to nrm.sample, which renames labels; "
                f"got {np.asarray(labels)[:8].tolist()}"
            )

    def setup_chain(self, rng, tune, draws):
        super().setup_chain(rng, tune, draws)
        self.target.refresh()

    @classmethod
    def competence(cls, var, has_grad):
        is_for_this = isinstance(kind_of(var), cls.kinds) and var.owner.op.own_step in (None, cls.name)
        return cls._competence_for_partitions if is_for_this else Competence.INCOMPATIBLE

    @classmethod
    def _progressbar_config(cls, n_chains=1):
        name, title = cls.kinds[0].progress
        return [TextColumn(f"{{task.fields[{name}]}}", table_column=Column(title, ratio=1))], {name: [0] * n_chains}

    @classmethod
    def _make_progressbar_update_functions(cls):
        name, _ = cls.kinds[0].progress
        return (lambda step_stats: {name: step_stats[name]},)


class Inputs(NamedTuple):
    """What the moves of a draw read: labels, and the target of the partition given u."""

    labels: Any
    weights: Any
    family: Any
    data: Any
    log_u: float
    # Terms of the log joint density: of u, and of the partition given u.
    u_term: float
    log_prior: float


class PartitionStep(LabelStep):
    """Base of the steps that sample one partition.

    A step first draws u exactly given the partition, then moves the partition given u; this leaves their joint
    distribution invariant.  Only the labels in the point pass from draw to draw.  Each draw sums the statistics from
    the data again, so that rounding errors do not accumulate and a chain can resume from any draw.

    Subclasses define ``name``, ``stats_dtypes_shapes`` and ``calls(rng, n, table, family, data)``, which yields the
    kernel and the options of each call of a draw.  A kernel takes ``rng, state, weights, family, data, options`` and
    returns the new state and its statistics: a named tuple, whose fields are summed over the calls of a draw, or the
    number of items that it moved.  What is compiled in advance follows from these calls.  If kernels call functions
    that not every family implements, the subclass adds them to ``needs``.  It may also replace ``check_options(n)``,
    ``check_weights(measure, table, at_start)``, ``start(rng, table, family, data)``, ``for_start()`` and
    ``statistics(totals)``.
    """

    # Statistics that every step reports, in addition to the statistics of its moves.
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
        measure = type(partition.owner.op.priors(partition.owner.op.prior_inputs(partition.owner))[0])
        if names := lacking(measure, _TABLES):
            raise NotImplementedError(
                f"{measure.__name__} has no {' and no '.join(names)}, which {type(self).__name__} needs"
                + not_inherited(measure, names)
            )
        families = [type(family_of(mixture)) for mixture in mixtures_of(model, partition)]
        self._has_marginals = not any(lacking(family_class, [log_marginal]) for family_class in families)

    def compile_kernels(self, model, partition, point, compile_kwargs):
        """Compile the kernels of a draw and of a start, for the types of their arguments."""
        labels = self.partition.read(point)
        measure, family, data = self.target.at(point)
        self.check_options(len(labels))
        self._first_values = first_values(model, point)
        table, _, _ = self._draw_weights(np.random.default_rng(0), measure, labels)
        family, table = self.partition.with_weights(family, table)
        self.check_weights(measure, table, at_start=True)
        state = self.build(labels, family, data)
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
        """Whether a chain replaces the point by a start from the data: only a default start, which no user passed."""
        return is_default_start(point[self.partition.name])

    def start(self, rng, table, family, data):
        """Initial labels: for many items from chains on a sample of them."""
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
        """Initial labels for few items, assigned to clusters one item at a time."""
        return join_in_turn(rng, table, family, data)

    def _start_from_units(self, rng, table, family, data):
        """Initial labels from the clusters of units of every start: the best of five random orders of the other items.

        The order may decide which cluster becomes the wide one, and updates of single items seldom reverse it.
        """
        first = self.partition.units_of_every_start()
        first = first[first < len(table.moment) - 1]
        if len(first) == 0:
            # Two items, on which the step compiles.
            family = self.partition.with_new_clusters(family)
        starts = [join_in_turn(rng, table, family, data, first=first) for _ in range(_STARTS_FROM_UNITS)]
        return max(starts, key=lambda labels: self._log_target(self.build(labels, family, data), table, family, data))

    def for_start(self):
        """The step that makes the moves of a chain on a sample of the items, before this step starts."""
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

    # What kernels of the moves hold, from labels, family and data.
    build = staticmethod(build_state)

    def _log_target(self, state, table, family, data):
        if self._has_marginals:
            return log_target(state, table, family, data)
        # Item by item, free items may come before those that open their cluster.
        return log_target_by_items(state, table, self.partition.with_new_clusters(family), data)

    def _sizes(self, labels):
        """Sizes of clusters as the measure counts them, from labels as kernels read them."""
        return self.partition.counts(self.partition.of_items(labels))

    def _draw_weights(self, rng, measure, labels):
        return draw_weights(rng, measure, int(self._sizes(labels).sum()), int(self.partition.n_clusters(labels)))

    def read_point(self, point):
        labels = self.partition.read(point)
        measure, family, data = self.target.at(point)
        weights, log_u, u_term = self._draw_weights(self.rng, measure, labels)
        log_prior = weights.moment[self._sizes(labels)].sum()
        family, weights = self.partition.with_weights(family, weights)
        self.check_weights(measure, weights, at_start=self._n_draws == 0)
        return Inputs(labels, weights, family, data, log_u, u_term, log_prior)

    def check_start(self, point, inputs):
        labels, weights, family, data = inputs[:4]
        self.check_options(len(labels))
        value = self._log_target(self.build(labels, family, data), weights, family, data)
        if not np.isfinite(inputs.u_term + value):
            raise self.not_finite_error(point, inputs.u_term + value)
        _, mixtures = self.target.parts(point)
        check_against_graph(self.partition.name, mixtures, self.partition.of_items(labels), value - inputs.log_prior)

    def draw(self, point, inputs):
        labels, weights, family, data = inputs[:4]
        if self._n_draws == 0 and self._starts_from_data(point):
            labels = self._own_start(point, labels, weights, family, data)
        state, stats = self.moves(self.build(labels, family, data), weights, family, data)
        log_target = self._log_target(state, weights, family, data)
        return self.make_draw(self.partition.write(point, state), inputs, log_target, stats)

    def update_of_one(self, item):
        """A kernel of the step and options with which it redraws the cluster of one item and nothing else, or None."""
        return None, None

    def moves_to_compare(self, rng, point):
        """Moves of single items."""
        labels = self.partition.read(point)
        n = int(self._sizes(labels).sum())
        if n > MOST_ITEMS:
            return
        measure, family, data = self.target.at(point)
        family, table = self.partition.with_weights(family, equal_weights(n))
        log_target = partial(self._log_target, table=table, family=family, data=data)
        ratios = PartitionRatios(measure, n)
        free = np.setdiff1d(np.arange(len(labels)), self.partition.units_of_every_start())
        for before, after, item in item_moves(rng, labels, min(labels.max() + 2, len(labels)), free):
            what = f"item {item} of {self.partition.name!r} leaves cluster {before[item]} for cluster {after[item]}"
            states = [self.build(canonical_labels(chosen), family, data) for chosen in (before, after)]
            points = [self.partition.write(point, state) for state in states]
            prior = ratios(*(self._sizes(state.labels) for state in states))
            if prior is None:
                continue
            choice = gibbs_choice(*self.update_of_one(item), table, family, data, item)
            for how, ratio in data_ratios(family, data, (before, after), states, item, log_target, choice):
                yield OwnMove(f"{what}, {how}", *points, ratio + prior)

    def make_draw(self, point, inputs, log_target, stats):
        """A draw with the statistics that every step reports, in addition to the statistics of its moves."""
        log_joint = inputs.u_term + log_target
        counts = np.bincount(point[self.partition.name])
        return Draw(point, log_joint, stats | common_statistics(counts, log_joint, self._number, inputs.log_u))

    def not_finite_error(self, point, value):
        labels = self.partition.read(point)
        return not_finite(self.partition, *self.target.parts(point), labels, value, self.when)

    @classmethod
    def _steps_without(cls, family_class):
        """Names of the registered steps for such partitions that the family has all functions for."""
        steps = [step for step in STEP_METHODS if issubclass(step, PartitionStep)]
        steps = [step for step in steps if step.kinds == cls.kinds]
        return [step.__name__ for step in steps if step is not cls and not lacking(family_class, step.needs)]


class _Chain:
    """A chain of the moves of a step on m items, given u of all items."""

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

    def labels_of_all(self, rng, table, data, chain_items):
        """Labels of all items: the m items of the chain keep their labels, the others are assigned one by one."""
        labels = np.full(len(table.moment) - 1, -1)
        labels[chain_items] = self.state.labels
        return join_in_turn(rng, table, self._family, data, self.state, labels)


def start_from_samples(step, rng, table, family, data):
    """Labels of all items: chains on a sample of them find clusters, to which the other items are assigned."""

    def begin(items, previous):
        return _Chain(step.for_start(), rng, table, family, take_items(data, items), len(items), previous)

    n = len(table.moment) - 1
    last, items = climb(rng, n, begin, _Chain.advance, step.partition.units_of_every_start())
    return last.labels_of_all(rng, table, data, items)
