"""Rules of operations: from the items whose labels the inputs depend on to those of the outputs."""

from functools import singledispatch

import numpy as np
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
from pymc_nrm.models.itemwise.indexing import FREE, NotItemwise, combine, only_item, picked, uniform_along, written


@singledispatch
def items_of_outputs(op, node, items, flow):
    """Whose labels the entries of the outputs depend on; ``items`` has None for inputs that depend on no label."""
    # An operation without a rule may mix all entries of all inputs: this is no harm if all depend on the same item.
    item = only_item([one for one in items if one is not None])
    if item is None:
        raise _without_rule(op)
    return [np.full((1,) * getattr(output.type, "ndim", 0), item) for output in node.outputs]


# Operations whose result has entries of the first input only.
_PICKING = (Alloc, Reshape, JoinDims, SplitDims, SpecifyShape, Repeat, Split, Subtensor, AdvancedSubtensor)
_PICKING += (DimShuffle, ScalarFromTensor, TensorFromScalar)


def entry_sources(variable):
    """Variables that have all entries of a variable, unchanged; None if an operation computes them."""
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
    return NotItemwise(f"{_name(op)} is an operation of which nothing shows that it keeps the labels of items apart")


def _first_only(op, items):
    """Whose labels the entries of the first input depend on, if no other input depends on labels."""
    if items[0] is None or any(one is not None for one in items[1:]):
        raise _without_rule(op)
    return items[0]


def _runs_over_items(op):
    return f"{_name(op)} runs over items before the log-probability"


def _dependent(items):
    return [one for one in items if one is not None]


def _padded(items, ndim):
    return items.reshape((1,) * (ndim - items.ndim) + items.shape)


@items_of_outputs.register(Elemwise)
def _elemwise(op, node, items, flow):
    found = combine(_dependent(items), _name(op))
    return [found for _ in node.outputs]


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


@items_of_outputs.register(SpecifyShape | ScalarFromTensor | TensorFromScalar)
def _unchanged(op, node, items, flow):
    return [_first_only(op, items)]


@items_of_outputs.register(Alloc)
def _alloc(op, node, items, flow):
    return [_padded(_first_only(op, items), node.outputs[0].type.ndim)]


@items_of_outputs.register(MakeVector)
def _make_vector(op, node, items, flow):
    return [np.array([FREE if one is None else int(one) for one in items])]


@items_of_outputs.register(Join)
def _join(op, node, items, flow):
    parts = []
    for variable, one in zip(node.inputs, items, strict=True):
        part = np.full((1,) * variable.type.ndim, FREE) if one is None else one
        shape = list(part.shape)
        shape[op.axis] = flow.shape(variable)[op.axis]
        parts.append(np.broadcast_to(part, shape))
    moved = [np.moveaxis(part, op.axis, -1) for part in parts]
    sides = np.broadcast_shapes(*[part.shape[:-1] for part in moved])
    joined = [np.broadcast_to(part, (*sides, part.shape[-1])) for part in moved]
    found = np.moveaxis(np.concatenate(joined, axis=-1), -1, op.axis)
    first = found.take([0], axis=op.axis) if found.shape[op.axis] else found
    return [first if (found == first).all() else found]


@items_of_outputs.register(Split)
def _split(op, node, items, flow):
    found = _first_only(op, items)
    if found.shape[op.axis] == 1:
        return [found] * len(node.outputs)
    return np.split(found, np.cumsum(flow.static(node.inputs[1]))[:-1], axis=op.axis)


@items_of_outputs.register(Reshape | JoinDims | SplitDims)
def _reshape(op, node, items, flow):
    found, ndim = _first_only(op, items), node.outputs[0].type.ndim
    if found.size == 1:
        return [found.reshape((1,) * ndim)]
    entries = np.broadcast_to(found, flow.shape(node.inputs[0]))
    return [entries.reshape(flow.shape(node.outputs[0]))]


@items_of_outputs.register(Repeat)
def _repeat(op, node, items, flow):
    found = _first_only(op, items)
    if found.shape[op.axis] == 1:
        return [found]
    return [np.repeat(found, flow.static(node.inputs[1]), axis=op.axis)]


@items_of_outputs.register(ExtractDiag)
def _extract_diag(op, node, items, flow):
    [found] = items
    axes = op.axis1, op.axis2
    if all(found.shape[axis] == 1 for axis in axes):
        return [np.expand_dims(found.squeeze(axes), -1)]
    whole = flow.shape(node.inputs[0])
    shape = [whole[axis] if axis in axes else length for axis, length in enumerate(found.shape)]
    return [np.broadcast_to(found, shape).diagonal(op.offset, *axes)]


@items_of_outputs.register(Dot)
def _dot(op, node, items, flow):
    return [_product(op, items)]


def _product(op, items):
    """Whose labels the entries of a product of matrices, the last two axes, depend on."""
    summed = zip(items, (-1, -2), strict=True)
    sides = [uniform_along(one, [one.ndim + axis], _runs_over_items(op)) for one, axis in summed if one is not None]
    return combine(sides, _name(op))


@items_of_outputs.register(Blockwise)
def _blockwise(op, node, items, flow):
    if isinstance(op.core_op, Dot):
        return [_padded(_product(op.core_op, items), node.outputs[0].type.ndim)]
    batches = []
    for one, signature in zip(items, op.inputs_sig, strict=True):
        if one is not None:
            core = range(one.ndim - len(signature), one.ndim)
            reason = f"{_name(op.core_op)} combines labels of different items"
            batches.append(uniform_along(one, core, reason).squeeze(tuple(core)))
    found = combine(batches, _name(op.core_op))
    return [
        np.expand_dims(_padded(found, output.type.ndim - len(signature)), tuple(range(-len(signature), 0)))
        for output, signature in zip(node.outputs, op.outputs_sig, strict=True)
    ]


def _split_index(op, node, items, start):
    """The entries of an index, as variables or slices of them, and whose labels they depend on."""
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
    """Find whose labels the outputs of a scan depend on, by following the inner graph until nothing changes."""
    info, inputs, outputs = op.info, op.inner_inputs, expanded(op.inner_outputs)
    states = [
        *zip(op.inner_mitsot_grouped(inputs), op.outer_mitsot(node.inputs), op.inner_mitsot_outs(outputs), strict=True),
        *zip(
            [[one] for one in op.inner_sitsot(inputs)],
            op.outer_sitsot(node.inputs),
            op.inner_sitsot_outs(outputs),
            strict=True,
        ),
    ]
    new = op.inner_nitsot_outs(outputs)
    of = dict(zip(node.inputs, items, strict=True))
    if info.n_mit_mot or info.as_while or of[node.inputs[0]] is not None or len(states) + len(new) < len(node.outputs):
        raise NotItemwise("a scan has states or a number of steps that labels cannot be followed through")
    found, given = {}, {}
    stepwise = [*zip(op.inner_seqs(inputs), op.outer_seqs(node.inputs), strict=True)]
    stepwise += [(one, outer) for inner, outer, _ in states for one in inner]
    for inner, outer in stepwise:
        given[inner] = flow.present(outer)[0]
        found[inner] = None if of[outer] is None else uniform_along(of[outer], [0], "Scan runs over items")[0]
    for inner, outer in zip(op.inner_non_seqs(inputs), op.outer_non_seqs(node.inputs), strict=True):
        given[inner], found[inner] = flow.present(outer), of[outer]
    before = None
    while before != _as_lists(found):
        before = _as_lists(found)
        inside = flow.within({one: of_one for one, of_one in found.items() if of_one is not None}, given)
        for inner, _, out in states:
            known = [of_one for of_one in (inside(out), *[found[one] for one in inner]) if of_one is not None]
            if known:
                found.update(dict.fromkeys(inner, combine(known, "Scan")))
    last = [found[inner[0]] for inner, _, _ in states] + [inside(out) for out in new]
    return [
        np.full((1,) * output.type.ndim, FREE) if one is None else np.expand_dims(one, 0)
        for one, output in zip(last, node.outputs, strict=True)
    ]


def _as_lists(found):
    return {variable: None if items is None else items.tolist() for variable, items in found.items()}
