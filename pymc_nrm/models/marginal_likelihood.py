"""The log-likelihood of observed data and its gradient in one operation, which caches the sums of the clusters."""

from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Apply, Constant
from pytensor.graph.op import Op
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import ancestors, graph_inputs

from pymc_nrm.common.pymc_internals import ValuedRV
from pymc_nrm.families.base import add_item, localise, prepare_data, statistics_size
from pymc_nrm.families.counted import Counted, CountedRows, counted_rows
from pymc_nrm.families.fast import log_marginals_with_gradient
from pymc_nrm.families.shared.scale import log_likelihood_on_scale, to_scale
from pymc_nrm.kernels.argument_types import known_to_numba
from pymc_nrm.kernels.generic import kernel, lacking
from pymc_nrm.kernels.kernel_cache import code_fingerprint
from pymc_nrm.kernels.kernel_op import as_input, contiguous, example_of, register_numba, symbolic_pullback
from pymc_nrm.kernels.special import copy_row
from pymc_nrm.models.prepared import fixed_fields, prepared_data
from pymc_nrm.models.row_arguments import of_observations, rows_of_observations
from pymc_nrm.models.values import computed_by, constant_value

# Sums of clusters take at most 16 MB.
_MOST_FLOATS = 2**21


_is_wanted: ContextVar[bool] = ContextVar("is_wanted", default=True)


@contextmanager
def without_marginal_likelihood():
    """Derive log-probabilities of mixtures from the symbolic log-likelihood of their family alone."""
    token = _is_wanted.set(False)
    try:
        yield
    finally:
        _is_wanted.reset(token)


def has_marginal_likelihood(family):
    """Whether :func:`marginal_likelihood` takes this family: the size of the cache and the data must be known."""
    if not _is_wanted.get():
        return False
    # Families that take hyperparameters of items from the data do not have a matrix as data.
    from_data = any(spec.for_draws_alone for spec in family.hyperparameters.values())
    if from_data or lacking(type(family), [log_marginals_with_gradient]):
        return False
    return all(None not in shape for shape in shapes_of_fields(family, 1)) and all(
        isinstance(field, Constant) for field, axes in zip(family, _axes(family), strict=True) if "n" in axes
    )


def with_constants_per_item(family):
    """The family with constants for hyperparameters of one value per item that depend on constants alone."""
    changed = {}
    for name, axes in zip(family._fields, _axes(family), strict=True):
        if "n" not in axes:
            continue
        field = getattr(family, name)
        # While PyMC derives a log-probability, its graphs hold pairs of a variable and its value.
        pairs = [ancestor for ancestor in ancestors([field]) if computed_by(ancestor, ValuedRV)]
        field = clone_replace(
            [field], {ancestor: ancestor.owner.inputs[1] for ancestor in pairs}, rebuild_strict=False
        )[0]
        if all(isinstance(origin, Constant) for origin in graph_inputs([field])):
            changed[name] = pt.constant(constant_value(field))
    return family._replace(**changed)


def _axes(family):
    return [family.hyperparameters[name].core for name in family._fields]


def shapes_of_fields(family, d):
    """Shapes of the hyperparameters given d features, with None for any other length that is not fixed."""
    return [
        [d if axis == "d" else length for axis, length in zip(names, field.type.shape, strict=True)]
        for names, field in zip(_axes(family), family, strict=True)
    ]


def marginal_likelihood(family, value, labels, counts=None):
    """Symbolic log-likelihood of constant data (n, d) or (n,), whose rows may stand for several observations, counts
    (n,); its gradient costs no more than the value.
    """
    # NUTS evaluates it many times for one partition: sums over the items of clusters are kept until labels change, and
    # the result until hyperparameters change, which another step may sample.
    value = pt.as_tensor(value)
    X = value.data.reshape(len(value.data), -1)
    data = prepared_data(family, X, fixed_fields(family, {}), value)
    memory, labels = _memory(family, *X.shape), labels.astype("int64")
    if counts is None:
        return _likelihood(MarginalLikelihood, localise(family, data), data, labels, *memory)
    data = counted_rows(data, constant_value(counts))
    counts = pt.constant(data.counts)
    return _likelihood(LikelihoodOfCounts, localise(family, data.rows), data.rows, labels, counts, *memory)


def likelihood_with_gaps(family, gaps, labels):
    """Likelihood of data with missing entries, which are filled in before sums are compared with the cached sums."""
    data = prepare_data(family, gaps.values.reshape(len(gaps.values), -1))
    rows, columns = gaps.places if gaps.values.ndim == 2 else (gaps.places[0], np.zeros_like(gaps.places[0]))
    # Centred, like the values of the data.
    entries = to_scale(family, columns, gaps.entries, pt) - data.center[columns]
    places = pt.constant(rows), pt.constant(columns)
    memory, family = _memory(family, *data.values.shape), localise(family, data)
    data = data._replace(values=pytensor.shared(data.values))
    return _likelihood(LikelihoodWithGaps, family, data, labels.astype("int64"), entries, *places, *memory)


def _memory(family, n, d):
    """Cache: labels, sums, and hyperparameters with value and gradient of the last call."""
    # Shared variables, since compiled functions may not write to constants.
    fields = [np.zeros(shape) for shape in shapes_of_fields(family, d)]
    size = statistics_size(type(family)(*fields))
    most_clusters = max(1, min(n, _MOST_FLOATS // size))
    last = np.zeros((2, 1 + sum(field.size for field in fields)))
    return [pytensor.shared(array) for array in (np.full(n, -1), np.zeros((most_clusters, size)), last)]


def likelihood_of_sums(family, data, counts, quantum, sums):
    """Symbolic log-likelihood of clusters with these sums of statistics, and its gradient in the family.

    The family is localised, and ``data`` may be any rows of the same form.  Shapes: ``counts`` (m,), with zeros after
    the clusters; ``quantum`` (size,), the unit of each of the ``sums`` (m, size), which are whole numbers.
    """
    return _likelihood(LikelihoodOfSums, family, data, counts, pt.constant(quantum), sums)


def _likelihood(op_class, family, data, *further):
    values = [*family, *(value for value in data if value is not None), *further]
    return op_class(type(family), type(data))(*map(_input, values))[0]


def _input(value):
    """An input of an operation that is no constant, nor a graph of constants, which PyTensor would fold."""
    value = pt.as_tensor(value)
    if value.type.dtype == "float32":
        # PyTensor's type of a number that single precision holds.
        value = value.astype("float64")
    if value.owner is not None and all(isinstance(origin, Constant) for origin in graph_inputs([value])):
        value = pt.constant(constant_value(value), dtype=value.type.dtype)
    return as_input(value)


@kernel
def likelihood_and_gradient(family, data, labels, remembered, rows, last, hyperparameters, gradient):
    """Log-likelihood; writes its gradient in the hyperparameters, and the cache for the next call.

    ``hyperparameters`` holds all their entries in one row; rows of ``last`` are a value with its gradient, and 1 with
    the hyperparameters of that value, or 0 if there are none.
    """
    n_clusters, same_labels = 0, True
    for i in range(labels.shape[0]):
        n_clusters = max(n_clusters, labels[i] + 1)
        same_labels &= labels[i] == remembered[i]
    if n_clusters > rows.shape[0]:
        rows = np.empty((n_clusters, rows.shape[1]))
        same_labels = False
        remembered[0] = -1
    elif not same_labels:
        copy_row(remembered, labels)
    if not same_labels:
        last[1, 0] = 0.0
        for k in range(n_clusters):
            rows[k].fill(0.0)
        for i in range(labels.shape[0]):
            add_item(family, rows[labels[i]], data, i, 1.0)
    if last.shape[1] != 1 + hyperparameters.shape[0]:
        raise ValueError("shapes of hyperparameters must match their family and the data")
    same = last[1, 0] == 1.0
    for j in range(hyperparameters.shape[0]):
        same &= last[1, 1 + j] == hyperparameters[j]
    if not same:
        gradient.fill(0.0)
        last[0, 0], last[1, 0] = log_marginals_with_gradient(family, rows[:n_clusters], gradient), 1.0
        copy_row(last[0, 1:], gradient)
        copy_row(last[1, 1:], hyperparameters)
    copy_row(gradient, last[0, 1:])
    return last[0, 0]


@kernel
def write_entries(row, place, field):
    """Write the entries of a hyperparameter into a row; return the position after them."""
    for value in field.flat:
        row[place] = value
        place += 1
    return place


class MarginalLikelihood(Op):
    """Value and gradient of the log-likelihood.

    Inputs are the hyperparameters in the coordinates of the kernel, the arrays of the data, labels, and the cache: the
    labels, cluster sums and result of the last call.  Outputs are the value and a derivative for each hyperparameter.
    """

    __props__ = ("family_class", "data_class")
    kernel = likelihood_and_gradient
    # Number of inputs after the arrays of the data.
    n_rest = 4

    def __init__(self, family_class, data_class):
        self.family_class, self.data_class = family_class, data_class
        register_numba(MarginalLikelihood)

    def __reduce__(self):
        return type(self), (self.family_class, self.data_class)

    @property
    def n_fields(self):
        """Number of hyperparameters."""
        return len(self.family_class._fields)

    def make_node(self, *inputs):
        fields = inputs[: self.n_fields]
        return Apply(self, list(inputs), [pt.dscalar(), *[field.type() for field in fields]])

    def infer_shape(self, node, shapes):
        return [(), *shapes[: self.n_fields]]

    def connection_pattern(self, node):
        return [[i < self.n_fields] * len(node.outputs) for i in range(len(node.inputs))]

    def perform(self, node, inputs, storage):
        source, environment = self.numba_source(node)
        # Python calls kernels themselves, which an interrupt may end.
        environment |= {"kernel": type(self).kernel, "write_entries": write_entries}
        exec(source, environment)
        values = environment["call"](*[np.asarray(value) for value in inputs])
        for output, value in zip(storage, values, strict=True):
            output[0] = value

    def numba_source(self, node):
        """Source and globals of the function ``call``, which Python calls as well."""
        names, fields = self.family_class._fields, node.inputs[: self.n_fields]
        n_arrays, further = len(node.inputs) - self.n_fields - self.n_rest, [f"rest_{i}" for i in range(self.n_rest)]
        arrays = [f"data_{i}" for i in range(n_arrays)]
        inputs = [*map(contiguous, [*arrays, *further], node.inputs[self.n_fields :])]
        data = ", ".join([*inputs[:n_arrays], *["None"] * (len(self.data_class._fields) - n_arrays)])
        values = [
            f"np.ascontiguousarray({name})" if field.ndim else f"{name}.item()"
            for name, field in zip(names, fields, strict=True)
        ]
        lines = [f"    given = np.empty({' + '.join(f'{name}.size' for name in names)})"]
        lines.append("    gradient, place = np.empty(given.size), 0")
        lines += [f"    place = write_entries(given, place, {name})" for name in names]
        lines.append(f"    family = Family({', '.join(values)})")
        lines.append(f"    value = kernel(family, Data({data}), {', '.join(inputs[n_arrays:])}, given, gradient)")
        lines.append("    place = 0")
        for name in names:
            lines.append(f"    {name}_derivative = gradient[place : place + {name}.size].copy().reshape({name}.shape)")
            lines.append(f"    place += {name}.size")
        outputs = ", ".join(f"{name}_derivative" for name in names)
        source = f"def call({', '.join([*names, *arrays, *further])}):\n" + "\n".join(lines)
        source += f"\n    return np.asarray(value), {outputs}\n"
        environment = {"np": np, "Family": known_to_numba(self.family_class), "Data": known_to_numba(self.data_class)}
        return source, environment | {"write_entries": write_entries.dispatcher}

    def example(self, node):
        """Arguments of the kernel, of the types that it gets."""
        values = [*map(example_of, node.inputs)]
        fields, arrays, further = values[: self.n_fields], values[self.n_fields : -self.n_rest], values[-self.n_rest :]
        family = self.family_class(*(field if field.ndim else field.item() for field in fields))
        data = self.data_class(*arrays, *[None] * (len(self.data_class._fields) - len(arrays)))
        return family, data, *further, np.ones(1), np.ones(1)

    def fingerprint(self):
        return f"{self.family_class} {code_fingerprint([__name__], self.family_class)}"

    def pullback(self, inputs, outputs, cotangents):
        of_value, *of_gradient = cotangents
        fields, data_inputs = list(inputs[: self.n_fields]), inputs[self.n_fields :]
        field_cotangents = [pt.zeros_like(field) for field in fields]
        if not isinstance(of_value.type, DisconnectedType):
            field_cotangents = [of_value * derivative for derivative in outputs[1:]]
        if any(not isinstance(cotangent.type, DisconnectedType) for cotangent in of_gradient):
            # Second derivatives are taken from the symbolic log-likelihood.
            def gradient(*fields):
                value = self.symbolic(self.family_class(*fields), data_inputs)
                return pt.grad(value, list(fields), disconnected_inputs="ignore")

            second = symbolic_pullback(gradient, fields, of_gradient)
            field_cotangents = [a + b for a, b in zip(field_cotangents, second, strict=True)]
        return [*field_cotangents, *[disconnected_type() for _ in data_inputs]]

    def symbolic(self, family, data_inputs):
        """The symbolic log-likelihood, from the inputs after the hyperparameters."""
        return log_likelihood_on_scale(family, self.filled(data_inputs), data_inputs[-self.n_rest])

    def filled(self, data_inputs):
        """The data matrix, from the inputs after the hyperparameters."""
        # Levels are whole numbers in kernels, with -1 for missing ones.
        is_level = data_inputs[0].type.dtype.startswith("int")
        return pt.switch(pt.lt(data_inputs[0], 0), np.nan, data_inputs[0]) if is_level else data_inputs[0]


@kernel
def likelihood_of_filled(
    family, data, labels, entries, rows, columns, remembered, sums, last, hyperparameters, gradient
):
    """:func:`likelihood_and_gradient` of the data, after writing missing entries into them."""
    for j in range(entries.shape[0]):
        if data.values[rows[j], columns[j]] != entries[j]:
            data.values[rows[j], columns[j]] = entries[j]
            remembered[0] = -1
    return likelihood_and_gradient(family, data, labels, remembered, sums, last, hyperparameters, gradient)


class LikelihoodWithGaps(MarginalLikelihood):
    """Value and gradient for data with missing entries, which are an input after the labels."""

    kernel = likelihood_of_filled
    n_rest = 7

    def connection_pattern(self, node):
        n = len(node.inputs)
        return [[i < self.n_fields or i == n - self.n_rest + 1] * len(node.outputs) for i in range(n)]

    def filled(self, data_inputs):
        _, entries, rows, columns, *_ = data_inputs[-self.n_rest :]
        return pt.set_subtensor(data_inputs[0][rows, columns], entries)

    def pullback(self, inputs, outputs, cotangents):
        input_cotangents, data_inputs = super().pullback(inputs, outputs, cotangents), inputs[self.n_fields :]
        family = self.family_class(*inputs[: self.n_fields])
        value = self.symbolic(family, data_inputs)
        terms = [value, *pt.grad(value, list(family), disconnected_inputs="ignore")]
        parts = [
            (term * cotangent).sum()
            for term, cotangent in zip(terms, cotangents, strict=True)
            if not isinstance(cotangent.type, DisconnectedType)
        ]
        input_cotangents[len(inputs) - self.n_rest + 1] = pt.grad(sum(parts), data_inputs[-self.n_rest + 1])
        return input_cotangents


@kernel
def likelihood_of_counted(family, data, labels, counts, remembered, sums, last, hyperparameters, gradient):
    """:func:`likelihood_and_gradient` of rows that stand for several observations."""
    counted = CountedRows(data, counts)
    return likelihood_and_gradient(Counted(family), counted, labels, remembered, sums, last, hyperparameters, gradient)


class LikelihoodOfCounts(MarginalLikelihood):
    """Value and gradient for rows that stand for several observations, whose numbers are an input after the labels."""

    kernel = likelihood_of_counted
    n_rest = 5

    def symbolic(self, family, data_inputs):
        labels, counts = data_inputs[-self.n_rest :][:2]
        rows = rows_of_observations(counts)
        return log_likelihood_on_scale(*of_observations(family, self.filled(data_inputs), rows), labels[rows])


@kernel
def likelihood_of_clusters(family, data, counts, quantum, sums, hyperparameters, gradient):
    """Log-likelihood of clusters with these sums; writes its gradient in the hyperparameters."""
    gradient.fill(0.0)
    n_clusters = 0
    while n_clusters < counts.shape[0] and counts[n_clusters] > 0:
        n_clusters += 1
    rows = np.empty((n_clusters, quantum.shape[0]))
    for k in range(n_clusters):
        for j in range(quantum.shape[0]):
            rows[k, j] = sums[k, j] * quantum[j]
    return log_marginals_with_gradient(family, rows, gradient)


class LikelihoodOfSums(MarginalLikelihood):
    """Value and gradient for sums that are an input, as in :func:`likelihood_of_sums`."""

    kernel = likelihood_of_clusters
    n_rest = 3

    def pullback(self, inputs, outputs, cotangents):
        if any(not isinstance(cotangent.type, DisconnectedType) for cotangent in cotangents[1:]):
            raise NotImplementedError("the log-likelihood of rows in chunks has no second derivatives")
        return super().pullback(inputs, outputs, cotangents)
