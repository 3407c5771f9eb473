"""Log-probabilities of the rows of each item in each slot, for likelihoods that index parameters by labels."""

from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from pymc.pytensorf import compile as compile_function
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import ancestors, toposort
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.subtensor import AdvancedSubtensor, Subtensor, unflatten_index_variables

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.models.itemwise.flow import LabelFlow, PresentValues, not_itemwise, terms_of
from pymc_nrm.models.itemwise.graphs import rebuilt
from pymc_nrm.models.itemwise.local_variables import check_conditions, with_conditions_by_row
from pymc_nrm.models.itemwise.rules import NotItemwise, grouped
from pymc_nrm.models.model_graphs import at_values
from pymc_nrm.models.values import computed_by

_SEED_OF_POINTS = 20261123
_RELATIVE, _ABSOLUTE = 1e-8, 1e-8


def check_lengths(model, partition, parts, at_point, max_clusters):
    """Check that arrays indexed by labels are long enough for the largest label, since machine code may not check.

    Variables that the model samples must not be longer either: no label would reach their last entries.  Data and
    constants may be longer, and so may arrays indexed by more than labels.  If there are as many items as slots,
    lengths cannot distinguish them: names of dimensions must differ, and variables without a dimension are returned.
    """
    labels, unnamed, of_slots = model.rvs_to_values[partition], set(), partition.owner.op.kind.argument_of_slots
    dim_of_items = (model.named_vars_to_dims.get(partition.name) or (None,))[0]
    largest = at_point | {labels: np.full(len(at_point[labels]), max_clusters - 1, dtype=labels.dtype)}
    present = PresentValues(largest)
    for part in parts:
        for node in toposort([part.graph]):
            if not isinstance(node.op, Subtensor | AdvancedSubtensor):
                continue
            base, *inputs = node.inputs
            for axis, entry in enumerate(unflatten_index_variables(inputs, node.op.idx_list)):
                if isinstance(entry, slice) or entry.type.dtype == "bool" or labels not in set(ancestors([entry])):
                    continue
                values, length = np.asarray(present(entry)), present.shape(base)[axis]
                if length == max_clusters == len(at_point[labels]):
                    sampled, data = _sources(base, axis, length, model, present)
                    name = next(iter([*sampled, *data]), None)
                    dims = model.named_vars_to_dims.get(name) or ()
                    dim = dims[axis] if axis < len(dims) else None
                    if dim is not None and dim == dim_of_items:
                        raise ValueError(
                            f"axis {axis} of {name!r} must not be the dimension {dim!r} of the items, since "
                            f"{part.name!r} indexes it with the labels of partition {partition.name!r}: use {name!r} "
                            "without labels, or give it a dimension for clusters"
                        )
                    unnamed |= {name} if name is not None and None in (dim, dim_of_items) else set()
                if values.size and not -length <= values.min() <= values.max() < length:
                    wrong = _described(base, model, present)
                elif length > max_clusters and (values == max_clusters - 1).all():
                    sampled, _ = _sources(base, axis, length, model, present)
                    wrong = repr(sampled[0]) if sampled else None
                else:
                    continue
                if wrong is not None:
                    raise ValueError(
                        f"axis {axis} of {wrong} must have the length of {of_slots}, {max_clusters}, since "
                        f"{part.name!r} indexes it with the labels of partition {partition.name!r}; got {length}"
                    )
    return sorted(unnamed)


def _sources(base, axis, length, model, present):
    """Names of the sampled variables and of the data that an array depends on and that have this length on an axis."""
    used = set(ancestors([base]))
    graphs = zip(model.free_RVs, at_values(model, model.free_RVs), strict=True)
    sampled = [(rv.name, graph) for rv, graph in graphs if model.rvs_to_values[rv] in used]
    data_vars = [(data.name, data) for data in model.data_vars if data in used]
    return (
        [name for name, graph in read if present.shape(graph)[axis : axis + 1] == (length,)]
        for read in (sampled, data_vars)
    )


def _described(base, model, present):
    read = present.read_input(base)
    if base.name is not None and read is None:
        return repr(base.name)
    return "an array" if read is None else repr(model.values_to_rvs[read].name)


def random_points(point, count):
    """Add standard normal noise to a point, on the scale of value variables; discrete variables keep their values."""
    rng = np.random.default_rng(_SEED_OF_POINTS)
    return [{name: with_noise(value, rng) for name, value in point.items()} for _ in range(count)]


def with_noise(value, rng, scale=1.0):
    """Add normal noise of this standard deviation to an array of floats; return other arrays as they are."""
    value = np.asarray(value)
    if value.dtype.kind != "f":
        return value
    return np.asarray(value + scale * rng.standard_normal(value.shape), dtype=value.dtype)


def wrong_row(rows, items, n, slots, rng):
    """Find a row whose value at random labels differs from its value if all items have the label of its own item."""
    labels = rng.choice(slots, n)
    values = rows(labels)
    with np.errstate(invalid="ignore"):
        expected = values.copy()
        for slot in slots:
            chosen = (items >= 0) & (labels[items] == slot)
            expected[chosen] = rows(np.full(n, slot))[chosen]
        right = np.isclose(values, expected, rtol=_RELATIVE, atol=_ABSOLUTE, equal_nan=True)
    return None if right.all() else int(np.argmin(right))


# Numbers of random points, and of labels at each point, at which rows are checked.
_RANDOM_POINTS = 3
_LABELS_AT_A_CHECK = 8
_SEED = 20261122


class Part(NamedTuple):
    """The items on whose labels the rows of a term depend."""

    # Name of the variable or potential.
    name: str
    graph: Variable
    # Along axes of length one, entries depend on the same label and are summed.
    items: object


def kept_axes(part):
    """Axes of a part that remain in its rows."""
    return tuple(length > 1 for length in part.items.shape)


def summed(graph, part):
    """The rows of a part as a vector, summed over axes along which entries depend on the same label."""
    graph = graph.astype("float64")
    alike = [axis for axis, kept in enumerate(kept_axes(part)) if not kept]
    graph = graph.sum(axis=alike) if alike else graph
    return graph if graph.type.ndim == 1 else graph.reshape((-1,))


@kernel
def add_rows(values, items, columns, table):
    """Write sums of the rows of items, given values (m, n_rows), into m columns of a table; NaN becomes -inf."""
    m, n_rows = values.shape
    for i in range(table.shape[0]):
        for j in range(m):
            table[i, columns[j]] = 0.0
    for r in range(n_rows):
        i = items[r]
        if i >= 0:
            for j in range(m):
                total = table[i, columns[j]] + values[j, r]
                table[i, columns[j]] = total if total == total else -np.inf


def computed_by_slot(graphs):
    """Replace functions of indexed parameters, ``log(scale[z])``, by indexed functions, ``log(scale)[z]``."""

    def lifted(node, inputs):
        output = _lifted(node.op, inputs) if isinstance(node.op, Elemwise) and len(node.outputs) == 1 else None
        return None if output is None else [output]

    return rebuilt(graphs, lifted)


def _lifted(op, inputs):
    """Rewrite an elementwise function of entries with a common index as entries of a function, if it has this form."""
    indexed = [operand for operand in inputs if computed_by(operand, AdvancedSubtensor)]
    if not indexed or any(operand not in indexed and not all(operand.type.broadcastable) for operand in inputs):
        return None
    first = indexed[0].owner
    shape = first.inputs[0].type.shape
    for operand in indexed:
        same = operand.owner.op == first.op and all(map(_same, operand.owner.inputs[1:], first.inputs[1:]))
        if not same or (len(indexed) > 1 and (operand.owner.inputs[0].type.shape != shape or None in shape)):
            return None
    rows = first.outputs[0].type.shape
    if None not in (*shape, *rows) and np.prod(shape) > np.prod(rows):
        return None
    places = ["x"] * len(shape)
    arguments = [operand.owner.inputs[0] if operand in indexed else operand.dimshuffle(places) for operand in inputs]
    function = _lifted(op, arguments)
    return first.op(op(*arguments) if function is None else function, *first.inputs[1:])


def _same(first, second):
    return first is second or (isinstance(first, Constant) and first.equals(second))


def read_parts(model, partition, terms, point, max_clusters):
    """The parts of terms that depend on labels at a point, the flow of labels, and the names of `check_lengths`."""
    at_point = {value: np.asarray(point[value.name]) for value in model.value_vars}
    labels = model.rvs_to_values[partition]
    flow = LabelFlow({labels: np.arange(len(at_point[labels]))}, PresentValues(at_point))
    parts = [part for part in (_follow(partition, term, flow) for term in terms) if part.items is not None]
    return parts, flow, check_lengths(model, partition, parts, at_point, max_clusters)


def _follow(partition, term, flow):
    try:
        items = flow(term.graph)
        check_conditions(term.graph, flow)
        return Part(*term, None if items is None else grouped(items))
    except NotItemwise as error:
        raise not_itemwise(term.name, partition.name, str(error)) from None
    except IndexError as error:
        raise ValueError(f"an index on which {term.name!r} depends is out of bounds: {error}") from error


def graphs_of_rows(parts, flow):
    """The rows of parts as vectors, with conditions row by row and functions of parameters slot by slot."""
    graphs = with_conditions_by_row([part.graph for part in parts], flow)
    return [summed(graph, part) for graph, part in zip(computed_by_slot(graphs), parts, strict=True)]


class ItemTable:
    """Log-probabilities of the rows of items given labels, for one partition of a model.

    Terms of the log-probability that use labels as an index must be sums of rows that each depend on the label of one
    item; the constructor proves this from the graph.
    """

    # The elementwise log-probability is compiled once, unchanged, and called with the same label for all items.
    # NaN counts as impossible.

    def __init__(self, model, partition, max_clusters, point, compile_kwargs=None):
        if partition not in model.free_RVs:
            raise ValueError(
                f"labels of {partition.name!r} must not be observed where each item may have any label; "
                "pm.compute_log_likelihood takes observed labels as they are"
            )
        self._model, self._partition, self._max_clusters = model, partition, max_clusters
        self._compile_kwargs = compile_kwargs or {}
        self._value = model.rvs_to_values[partition]
        self._terms, self._parts, self._function, self._fresh = terms_of(model, partition), [], None, False
        self.refresh(point)

    def refresh(self, point=None):
        """Read data and indices again, since ``pm.set_data`` may have changed them, and repeat all checks."""
        self._fresh = False
        if point is not None:
            self._read(point)

    def items(self, name):
        """Return the item on whose label each row of a term depends, -1 for none."""
        return np.concatenate([self._items[rows] for part, rows in self._places() if part.name == name])

    def fill(self, point, slots, columns, table):
        """Fill columns (m,) of a table (n, width) with the log-probabilities of all items in slots (m,)."""
        if not self._fresh:
            self._read(point)
        add_rows(self._in_slots(point, slots), self._items, columns, table)

    def values(self, point, labels, by_term=False):
        """Return the log-probability of the rows of each item at the labels, omitting rows that depend on no label."""
        if not self._fresh:
            self._read(point)
        rows = self._rows(self._arguments(point), labels)
        totals = {name: np.zeros(self._n) for name in self.names}
        for part, place in self._places():
            items = self._items[place]
            np.add.at(totals[part.name], items[items >= 0], rows[place][items >= 0])
        return totals if by_term else sum(totals.values(), np.zeros(self._n))

    def _read(self, point):
        self._n = len(point[self._value.name])
        parts, flow, self.unnamed = read_parts(self._model, self._partition, self._terms, point, self._max_clusters)
        if self._function is None or [kept_axes(part) for part in parts] != [kept_axes(part) for part in self._parts]:
            self._compile(parts, flow)
        self._parts, self.names = parts, list(dict.fromkeys(part.name for part in parts))
        self._labels, self._buffer = np.empty(self._n, dtype=self._value.dtype), np.empty((0, 0))
        self._find_rows(point)
        self._check(point)
        self._fresh = True

    def _compile(self, parts, flow):
        graphs = graphs_of_rows(parts, flow)
        used = set(ancestors(graphs))
        inputs = [variable for variable in self._model.value_vars if variable in used and variable is not self._value]
        self._inputs = [variable.name for variable in inputs]
        self._function = compile_function([self._value, *inputs], graphs, **self._compile_kwargs) if graphs else None
        if self._function is not None:
            self._function.trust_input = True

    def _find_rows(self, point):
        """Find the positions of the rows of all parts, and their items."""
        self._labels.fill(self._max_clusters - 1)
        try:
            rows = self._evaluate(self._arguments(point))
        except IndexError as error:
            raise ValueError(
                f"label {self._max_clusters - 1} of partition {self._partition.name!r} cannot be used as an index in "
                f"{' or '.join(map(repr, self.names))}: {error}"
            ) from error
        ends = np.cumsum([0, *map(len, rows)]).tolist()
        self._slices, self._n_rows = [slice(*pair) for pair in pairwise(ends)], ends[-1]
        self._items = np.concatenate([np.zeros(0, dtype="int64"), *[part.items.ravel() for part in self._parts]])

    def _check(self, point):
        slots, never = np.arange(self._max_clusters), np.ones(self._n_rows, dtype=bool)
        for slot in slots:
            never &= np.isnan(self._in_slots(point, slots[slot : slot + 1])[0])
        if never.any():
            row = int(np.argmax(never))
            raise ValueError(
                f"the log-probability of {self._name(row)!r} is NaN in every cluster for item {self._items[row]} of "
                f"partition {self._partition.name!r} at the initial point: check its data and covariates for NaN, or "
                "change the initial point"
            )
        rng = np.random.default_rng(_SEED)
        for nearby in random_points(point, _RANDOM_POINTS):
            labels = rng.choice(slots, min(len(slots), _LABELS_AT_A_CHECK), replace=False)
            wrong = wrong_row(partial(self._rows, self._arguments(nearby)), self._items, self._n, labels, rng)
            if wrong is not None:
                raise not_itemwise(
                    self._name(wrong),
                    self._partition.name,
                    f"row {wrong} at random labels differs from its value if all items have the label of item "
                    f"{self._items[wrong]}",
                )

    def _name(self, row):
        return next(part.name for part, place in self._places() if row < place.stop)

    def _places(self):
        return list(zip(self._parts, self._slices, strict=True))

    def _arguments(self, point):
        # Machine code takes arrays without dimensions, but no numbers of numpy.
        return [np.asarray(point[name]) for name in self._inputs]

    def _evaluate(self, arguments):
        return self._function(self._labels, *arguments) if self._function is not None else []

    def _rows(self, arguments, labels):
        self._labels[:] = labels
        return np.concatenate([np.zeros(0), *self._evaluate(arguments)])

    def _in_slots(self, point, slots):
        """Values of all rows in the slots. Shapes: ``slots`` (m,); returns (m, n_rows)."""
        if self._buffer.shape[0] < len(slots):
            self._buffer = np.empty((len(slots), self._n_rows))
        values, arguments = self._buffer[: len(slots)], self._arguments(point)
        for row, slot in zip(values, slots, strict=True):
            self._labels.fill(slot)
            for place, part in zip(self._slices, self._evaluate(arguments), strict=True):
                row[place] = part
        return values
