"""Functions of parameters before they are indexed: there are more rows than slots."""

import numpy as np
from pytensor.graph.basic import Constant
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.subtensor import AdvancedSubtensor

from pymc_nrm.models.itemwise.graphs import rebuilt


def computed_by_slot(graphs):
    """Replace functions of indexed parameters, ``log(scale[z])``, by indexed functions, ``log(scale)[z]``. The values
    of the graphs stay the same.
    """

    def lifted(node, inputs):
        found = _lifted(node.op, inputs) if isinstance(node.op, Elemwise) and len(node.outputs) == 1 else None
        return None if found is None else [found]

    return rebuilt(graphs, lifted)


def _lifted(op, inputs):
    """An elementwise function of entries that one index picks, as entries of a function, if it has this form."""
    indexed = [one for one in inputs if one.owner is not None and isinstance(one.owner.op, AdvancedSubtensor)]
    if not indexed or any(one not in indexed and not all(one.type.broadcastable) for one in inputs):
        return None
    first = indexed[0].owner
    shape = first.inputs[0].type.shape
    for one in indexed:
        same = one.owner.op == first.op and all(map(_same, one.owner.inputs[1:], first.inputs[1:]))
        if not same or (len(indexed) > 1 and (one.owner.inputs[0].type.shape != shape or None in shape)):
            return None
    rows = first.outputs[0].type.shape
    if None not in (*shape, *rows) and np.prod(shape) > np.prod(rows):
        return None
    places = ["x"] * len(shape)
    arguments = [one.owner.inputs[0] if one in indexed else one.dimshuffle(places) for one in inputs]
    function = _lifted(op, arguments)
    return first.op(op(*arguments) if function is None else function, *first.inputs[1:])


def _same(one, other):
    return one is other or (isinstance(one, Constant) and one.equals(other))
