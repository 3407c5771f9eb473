"""Conditions on parameters, such as a positive scale, row by row.

A distribution is impossible as a whole if a parameter of any row is outside its bounds.  In a table, the rows of other
items must not matter: an item that is impossible in a slot says nothing about the others.
"""

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor.basic import MakeVector, ScalarFromTensor, TensorFromScalar
from pytensor.tensor.math import All

from pymc_nrm.common.pymc_internals import CheckParameterValue
from pymc_nrm.models.itemwise.graphs import rebuilt
from pymc_nrm.models.itemwise.rows import NotItemwise, grouped

_MIXED = "labels of several items"


def with_conditions_by_row(graphs, flow):
    """Let conditions on parameters make only their own row impossible. Conditions whose rows cannot be told apart make
    all rows impossible, as in PyMC.
    """

    def by_row(node, inputs):
        if isinstance(node.op, CheckParameterValue) and node.op.can_be_replaced_by_ninf:
            return _by_row(node, inputs[0], flow)
        return None

    return rebuilt(graphs, by_row)


def _by_row(node, value, flow):
    rows = _known(node.inputs[0], flow)
    if rows is None:
        return None
    result = value
    for leaf in (leaf for condition in node.inputs[1:] for leaf in leaves(condition)):
        result = pt.switch(_aligned(pt.as_tensor(leaf), _known(leaf, flow), rows), result, -np.inf)
    return [result.astype(node.outputs[0].type.dtype)]


def _known(variable, flow):
    """Whose labels entries depend on, None if on none, ``_MIXED`` where those of several items may meet."""
    try:
        items = flow(variable)
    except NotItemwise:
        return _MIXED
    return None if items is None else grouped(items)


def leaves(condition):
    """The conditions that must all hold, before any reduction over all of their entries."""
    node = condition.owner
    op = None if node is None else node.op
    reduced = isinstance(op, All) and condition.type.ndim == 0
    if not reduced and not isinstance(op, ScalarFromTensor | TensorFromScalar | MakeVector):
        return [condition]
    return [leaf for one in node.inputs for leaf in leaves(one)]


def _aligned(leaf, items, rows):
    """Whether a condition holds in each row, along the axes of the value; in all rows, if they cannot be told apart."""
    known = isinstance(items, np.ndarray) and isinstance(rows, np.ndarray)
    if not known or not np.array_equal(items.squeeze(), rows.squeeze()):
        return pt.all(leaf)
    alike = [axis for axis, length in enumerate(items.shape) if length == 1]
    holds = pt.all(leaf, axis=alike) if alike else leaf
    places = iter(range(holds.type.ndim))
    return holds.dimshuffle([next(places) if length > 1 else "x" for length in rows.shape])
