"""Rules of operations: which items' labels the outputs depend on, given the items of the inputs.

Arrays hold the item on whose label each entry of a tensor depends.  Such an array has the number of dimensions of the
tensor, and broadcasts to its shape: along an axis of length one all entries depend on the same label.  An entry is the
number of an item, or ``FREE`` if it depends on no label.
"""

from functools import singledispatch

import numpy as np
from pytensor.compile.ops import TypeCastingOp
from pytensor.scalar.basic import Second
from pytensor.scan.op import Scan
from pytensor.tensor.basic import Alloc, ExtractDiag, Join, MakeVector, ScalarFromTensor, Split, TensorFromScalar
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.extra_ops import CumOp, Repeat
from pytensor.tensor.math import Argmax, Dot
from pytensor.tensor.reshape import JoinDims, SplitDims
from pytensor.tensor.shape import Reshape, SpecifyShape
from pytensor.tensor.sort import ArgSortOp, SortOp
from pytensor.tensor.subtensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    IncSubtensor,
    Subtensor,
    unflatten_index_variables,
)

from pymc_nrm.models.itemwise.graphs import expanded

_MASKED = "a mask selects entries along axes on which all entries depend on the same label"

FREE = -1


class NotItemwise(Exception):
    """A value may depend on the labels of several items; the message is the reason."""


def combine(arrays, operation):
    """Items for entries that are each computed from one entry of each tensor."""
    first, *others = arrays
    for other in others:
        if other is first:
            continue
        if ((first != other) & (first >= 0) & (other >= 0)).any():
            raise NotItemwise(f"{operation} combines labels of different items")
        first = np.maximum(first, other)
    return first


def uniform_along(items, axes, reason):
    """Reduce axes to length one; all entries along each must depend on the same item, or on none."""
    axes = tuple(axis for axis in axes if items.shape[axis] > 1)
    if not axes:
        return items
    largest = items.max(axis=axes, keepdims=True)
    if ((items >= 0) & (items != largest)).any():
        raise NotItemwise(reason)
    return largest


def only_item(arrays):
    """The single item that all entries of all arrays depend on, or None if there are several."""
    items = {int(item) for array in arrays for item in np.unique(array[array >= 0])}
    return items.pop() if len(items) == 1 else None


def grouped(items):
    """Let entries that depend on no label join others along an axis, if all others depend on the same label."""
    for axis in range(items.ndim):
        try:
            shorter = uniform_along(items, [axis], "")
        except NotItemwise:
            continue
        if shorter.size > 1 or (items >= 0).all():
            items = shorter
    return items


def picked(base, items, index, known, flow):
    """Items on whose labels the entries of ``base[index]`` depend."""
    # Along an axis where all entries of the base depend on the same label, any index gives the same item.
    if any(known.get(part) is not None for entry in index if isinstance(entry, slice) for part in _parts(entry)):
        raise NotItemwise("the bounds of a slice depend on labels")
    arrays = [entry for entry in index if not isinstance(entry, slice)]
    if any(entry.type.dtype == "bool" for entry in arrays):
        return _picked_by_mask(items, index, known, flow)
    group = max((entry.type.ndim for entry in arrays), default=0)
    sources = []
    if items is not None:
        places = tuple(_place(entry, items.shape[axis], group, flow) for axis, entry in enumerate(index))
        sources.append(items[places])
    labelled = [known[entry] for entry in arrays if known.get(entry) is not None]
    if labelled:
        sources.append(_at_group(combine(labelled, "indexing"), index, group, base.type.ndim))
    return [combine(sources, "indexing")]


def _parts(entry):
    return [part for part in (entry.start, entry.stop, entry.step) if part is not None]


def _place(entry, length, group, flow):
    """The numpy index of one axis; for an axis of length one, all entries have the same item."""
    if isinstance(entry, slice):
        if length == 1:
            return slice(None)
        return slice(
            *[None if part is None else int(flow.static(part)) for part in (entry.start, entry.stop, entry.step)]
        )
    if length == 1:
        return np.zeros((1,) * group, dtype="int64") if group else 0
    value = np.asarray(flow.static(entry))
    return value if value.ndim else int(value)


def _at_group(items, index, group, ndim):
    """Place axes of the index as numpy does: at the first array if all arrays are adjacent, else in front."""
    places = [axis for axis, entry in enumerate(index) if not isinstance(entry, slice)]
    adjacent = places == list(range(places[0], places[0] + len(places)))
    before = places[0] if adjacent else 0
    after = ndim - len(places) - before
    items = items.reshape((1,) * (group - items.ndim) + items.shape)
    return items.reshape((1,) * before + items.shape + (1,) * after)


def _picked_by_mask(items, index, known, flow):
    if items is None or any(array is not None for array in known.values()):
        raise NotItemwise("a mask depends on labels")
    places, axis = [], 0
    for entry in index:
        width = entry.type.ndim if not isinstance(entry, slice) and entry.type.dtype == "bool" else 1
        if width > 1 and set(items.shape[axis : axis + width]) == {1}:
            raise NotItemwise(_MASKED)
        places.append((entry, axis))
        axis += width
    shape = list(items.shape)
    values = []
    for entry, start in places:
        if isinstance(entry, slice):
            values.append(_place(entry, shape[start], 0, flow))
            continue
        value = np.asarray(flow.static(entry))
        whole = value.shape if value.dtype == bool else (None,)
        for offset, length in enumerate(whole):
            if shape[start + offset] == 1 and length is not None:
                shape[start + offset] = length
            elif shape[start + offset] == 1:
                raise NotItemwise(_MASKED)
        values.append(value)
    return [np.broadcast_to(items, shape)[tuple(values)]]


def written(inputs, items, index, known, replaces, flow):
    """Items on whose labels the entries of a tensor depend after some entries were set or increased."""
    if any(array is not None for array in known.values()):
        if all(isinstance(entry, slice) or known.get(entry) is not None for entry in index):
            raise NotItemwise("labels determine which entries of a tensor are set, so these depend on all labels")
        raise NotItemwise("labels are part of an index that determines which entries of a tensor are set")
    places = []
    for entry in index:
        parts = _parts(entry) if isinstance(entry, slice) else [entry]
        values = iter([np.asarray(flow.static(part)) for part in parts])
        if isinstance(entry, slice):
            bounds = [None if part is None else int(next(values)) for part in (entry.start, entry.stop, entry.step)]
            places.append(slice(*bounds))
        else:
            places.append(next(values))
    places = tuple(places)
    shape = flow.shape(inputs[0])
    entries = np.full(shape, FREE) if items[0] is None else np.broadcast_to(items[0], shape).copy()
    if not replaces and np.unique(np.arange(entries.size).reshape(shape)[places]).size < entries[places].size:
        raise NotItemwise("several values are added to one entry of a tensor")
    new = np.array(FREE) if items[1] is None else items[1]
    entries[places] = new if replaces else combine([entries[places], new], "IncSubtensor")
    return [entries]


@singledispatch
def items_of_outputs(op, node, items, flow):
    """Items on whose labels the entries of outputs depend; ``items`` has None for inputs that depend on no label."""
    # An operation without a rule may mix all entries of all inputs, which is harmless if all depend on the same item.
    item = only_item([array for array in items if array is not None])
    if item is None:
        raise _without_rule(op)
    return [np.full((1,) * getattr(output.type, "ndim", 0), item) for output in node.outputs]


# Operations whose outputs only have entries of the first input.
_PICKING = (Alloc, Reshape, JoinDims, SplitDims, SpecifyShape, Repeat, Split, Subtensor, AdvancedSubtensor)
_PICKING += (DimShuffle, ScalarFromTensor, TensorFromScalar, TypeCastingOp)


def entry_sources(variable):
    """Variables that have all entries of a variable, unchanged; None if an operation computes the entries."""
    node = variable.owner
    op = None if node is None else node.op
    if isinstance(op, _PICKING):
        return node.inputs[:1]
    if isinstance(op, Join | MakeVector):
        return node.inputs[isinstance(op, Join) :]
    return node.inputs[1:] if isinstance(op, Elemwise) and isinstance(op.scalar_op, Second) else None


def _name(op):
    return str(op).split("{")[0]


def _without_rule(op):
    return NotItemwise(f"{_name(op)} may combine labels of different items")


def _first_only(op, items):
    """Items on whose labels the entries of the first input depend, if no other input depends on labels."""
    if items[0] is None or any(array is not None for array in items[1:]):
        raise _without_rule(op)
    return items[0]


def _runs_over_items(op):
    return f"{_name(op)} combines items before the log-probability"


def _padded(items, ndim):
    return items.reshape((1,) * (ndim - items.ndim) + items.shape)


@items_of_outputs.register(Elemwise)
def _elemwise(op, node, items, flow):
    combined = combine([array for array in items if array is not None], _name(op))
    return [combined for _ in node.outputs]


@items_of_outputs.register(DimShuffle)
def _dim_shuffle(op, node, items, flow):
    kept = [axis for axis in op.new_order if axis != "x"]
    dropped = [axis for axis in range(items[0].ndim) if axis not in kept]
    moved = items[0].transpose([*kept, *dropped])
    moved = moved.reshape(moved.shape[: len(kept)])
    new = [place for place, axis in enumerate(op.new_order) if axis == "x"]
    return [np.expand_dims(moved, new)]


@items_of_outputs.register(CAReduce | Argmax)
def _reduction(op, node, items, flow):
    axes = range(items[0].ndim) if op.axis is None else op.axis
    return [uniform_along(items[0], axes, _runs_over_items(op)).squeeze(tuple(axes))]


@items_of_outputs.register(CumOp | SortOp | ArgSortOp)
def _along_axis(op, node, items, flow):
    return [uniform_along(items[0], [op.axis], _runs_over_items(op))]


@items_of_outputs.register(SpecifyShape | ScalarFromTensor | TensorFromScalar | TypeCastingOp)
def _unchanged(op, node, items, flow):
    return [_first_only(op, items)]


@items_of_outputs.register(Alloc)
def _alloc(op, node, items, flow):
    return [_padded(_first_only(op, items), node.outputs[0].type.ndim)]


@items_of_outputs.register(MakeVector)
def _make_vector(op, node, items, flow):
    return [np.array([FREE if array is None else int(array) for array in items])]


@items_of_outputs.register(Join)
def _join(op, node, items, flow):
    parts = []
    for variable, array in zip(node.inputs, items, strict=True):
        part = np.full((1,) * variable.type.ndim, FREE) if array is None else array
        shape = list(part.shape)
        shape[op.axis] = flow.shape(variable)[op.axis]
        parts.append(np.broadcast_to(part, shape))
    moved = [np.moveaxis(part, op.axis, -1) for part in parts]
    sides = np.broadcast_shapes(*[part.shape[:-1] for part in moved])
    joined = [np.broadcast_to(part, (*sides, part.shape[-1])) for part in moved]
    whole = np.moveaxis(np.concatenate(joined, axis=-1), -1, op.axis)
    first = whole.take([0], axis=op.axis) if whole.shape[op.axis] else whole
    return [first if (whole == first).all() else whole]


@items_of_outputs.register(Split)
def _split(op, node, items, flow):
    entries = _first_only(op, items)
    if entries.shape[op.axis] == 1:
        return [entries] * len(node.outputs)
    return np.split(entries, np.cumsum(flow.static(node.inputs[1]))[:-1], axis=op.axis)


@items_of_outputs.register(Reshape | JoinDims | SplitDims)
def _reshape(op, node, items, flow):
    entries, ndim = _first_only(op, items), node.outputs[0].type.ndim
    if entries.size == 1:
        return [entries.reshape((1,) * ndim)]
    whole = np.broadcast_to(entries, flow.shape(node.inputs[0]))
    return [whole.reshape(flow.shape(node.outputs[0]))]


@items_of_outputs.register(Repeat)
def _repeat(op, node, items, flow):
    entries = _first_only(op, items)
    if entries.shape[op.axis] == 1:
        return [entries]
    return [np.repeat(entries, flow.static(node.inputs[1]), axis=op.axis)]


@items_of_outputs.register(ExtractDiag)
def _extract_diag(op, node, items, flow):
    [entries] = items
    axes = op.axis1, op.axis2
    if all(entries.shape[axis] == 1 for axis in axes):
        return [np.expand_dims(entries.squeeze(axes), -1)]
    whole = flow.shape(node.inputs[0])
    shape = [whole[axis] if axis in axes else length for axis, length in enumerate(entries.shape)]
    return [np.broadcast_to(entries, shape).diagonal(op.offset, *axes)]


@items_of_outputs.register(Dot)
def _dot(op, node, items, flow):
    return [_product(op, items)]


def _product(op, items):
    """Items on whose labels the entries of a product of matrices, the last two axes, depend."""
    summed = zip(items, (-1, -2), strict=True)
    sides = [
        uniform_along(array, [array.ndim + axis], _runs_over_items(op)) for array, axis in summed if array is not None
    ]
    return combine(sides, _name(op))


@items_of_outputs.register(Blockwise)
def _blockwise(op, node, items, flow):
    if isinstance(op.core_op, Dot):
        return [_padded(_product(op.core_op, items), node.outputs[0].type.ndim)]
    batches = []
    for array, signature in zip(items, op.inputs_sig, strict=True):
        if array is not None:
            core = range(array.ndim - len(signature), array.ndim)
            reason = f"{_name(op.core_op)} combines labels of different items"
            batches.append(uniform_along(array, core, reason).squeeze(tuple(core)))
    combined = combine(batches, _name(op.core_op))
    return [
        np.expand_dims(_padded(combined, output.type.ndim - len(signature)), tuple(range(-len(signature), 0)))
        for output, signature in zip(node.outputs, op.outputs_sig, strict=True)
    ]


def _split_index(op, node, items, start):
    """Entries of an index, as variables or slices of variables, and the items on whose labels they depend."""
    known = dict(zip(node.inputs[start:], items[start:], strict=True))
    return unflatten_index_variables(node.inputs[start:], op.idx_list), known


@items_of_outputs.register(Subtensor | AdvancedSubtensor)
def _subtensor(op, node, items, flow):
    index, known = _split_index(op, node, items, 1)
    return picked(node.inputs[0], items[0], index, known, flow)


@items_of_outputs.register(IncSubtensor | AdvancedIncSubtensor)
def _inc_subtensor(op, node, items, flow):
    index, known = _split_index(op, node, items, 2)
    return written(node.inputs, items[:2], index, known, op.set_instead_of_inc, flow)


@items_of_outputs.register(Scan)
def _scan(op, node, items, flow):
    """Trace labels through a scan: follow the inner graph until nothing changes."""
    info, inputs, outputs = op.info, op.inner_inputs, expanded(op.inner_outputs)
    states = [
        *zip(op.inner_mitsot_grouped(inputs), op.outer_mitsot(node.inputs), op.inner_mitsot_outs(outputs), strict=True),
        *zip(
            [[state] for state in op.inner_sitsot(inputs)],
            op.outer_sitsot(node.inputs),
            op.inner_sitsot_outs(outputs),
            strict=True,
        ),
    ]
    new = op.inner_nitsot_outs(outputs)
    of = dict(zip(node.inputs, items, strict=True))
    if info.n_mit_mot or info.as_while or of[node.inputs[0]] is not None or len(states) + len(new) < len(node.outputs):
        raise NotItemwise("labels cannot be traced through the states or the number of steps of a scan")
    of_inner, given = {}, {}
    stepwise = [*zip(op.inner_seqs(inputs), op.outer_seqs(node.inputs), strict=True)]
    stepwise += [(state, outer) for inner, outer, _ in states for state in inner]
    for inner, outer in stepwise:
        given[inner] = flow.present(outer)[0]
        of_inner[inner] = None if of[outer] is None else uniform_along(of[outer], [0], "Scan combines items")[0]
    for inner, outer in zip(op.inner_non_seqs(inputs), op.outer_non_seqs(node.inputs), strict=True):
        given[inner], of_inner[inner] = flow.present(outer), of[outer]
    before = None
    while before != _as_lists(of_inner):
        before = _as_lists(of_inner)
        inside = flow.within({variable: array for variable, array in of_inner.items() if array is not None}, given)
        for inner, _, out in states:
            known = [array for array in (inside(out), *[of_inner[state] for state in inner]) if array is not None]
            if known:
                of_inner.update(dict.fromkeys(inner, combine(known, "Scan")))
    last = [of_inner[inner[0]] for inner, _, _ in states] + [inside(out) for out in new]
    return [
        np.full((1,) * output.type.ndim, FREE) if array is None else np.expand_dims(array, 0)
        for array, output in zip(last, node.outputs, strict=True)
    ]


def _as_lists(items_of):
    return {variable: None if items is None else items.tolist() for variable, items in items_of.items()}
