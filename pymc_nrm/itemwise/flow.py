"""Following the labels of a partition through a graph."""

import numpy as np
from pytensor.raise_op import CheckAndRaise
from pytensor.scalar.basic import Second
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.shape import Shape, Shape_i

from pymc_nrm.itemwise.graphs import postorder
from pymc_nrm.itemwise.rows import UNKNOWN, NotItemwise
from pymc_nrm.itemwise.rules import has_shape_arguments, items_of_outputs, keeps_shapes

__all__ = ["LabelFlow"]


class LabelFlow:
    """Finds for each entry of a variable the one item on whose label it depends.

    Parameters
    ----------
    labels : TensorVariable
        The value variable of the partition.
    n : int
        Number of items.
    present : PresentValues
        Shapes, and values of indices that do not vary.
    expanded : Expanded

    Notes
    -----
    By induction over the graph: if entry e of a variable is a function of entries of inputs that depend on the label of
    item i or on none, then so does e.  Conditions of checks, and inputs whose shape alone matters, are not followed,
    unless the shape itself may depend on labels.
    """

    def __init__(self, labels, n, present, expanded):
        self.shape, self._labels = present.shape, labels
        self._present, self._expanded = present, expanded
        self._items, self._varying_shapes = {labels: np.arange(n)}, {}

    def __call__(self, variable):
        """Return whose label each entry depends on.

        Parameters
        ----------
        variable : Variable

        Returns
        -------
        None, ndarray of int64 or UNKNOWN
            None if the variable is independent of labels, ``UNKNOWN`` if an operation has no rule; otherwise numbers of
            items, which broadcast to the shape of the variable.

        Raises
        ------
        NotItemwise
            If an operation combines labels of different items.
        """
        for one in postorder(variable, self._followed, self._items):
            self._items[one] = self._find(one)
        return self._items[variable]

    def static(self, variable):
        """Return the value of an index that picks among entries that depend on different labels.

        Raises
        ------
        NotItemwise
            If the index is not the same at all points.
        """
        read = self._present.read_input(variable)
        if read is self._labels:
            raise NotItemwise("values that depend on labels are picked by an index that depends on labels as well")
        if read is not None:
            raise NotItemwise(
                f"values that depend on labels are picked by an index that depends on {read.name!r}, which is sampled"
            )
        return self._present(variable)

    def _followed(self, variable):
        node = variable.owner
        if node is None or isinstance(node.op, Shape | Shape_i):
            return ()
        expanded = self._expanded(variable)
        if expanded is not None:
            return (expanded,)
        if isinstance(node.op, CheckAndRaise):
            return node.inputs[:1]
        if isinstance(node.op, Elemwise) and isinstance(node.op.scalar_op, Second):
            return node.inputs if self._shape_varies(node) else node.inputs[1:]
        return node.inputs

    def _find(self, variable):
        followed = self._followed(variable)
        if not followed:
            is_shape = variable.owner is not None and isinstance(variable.owner.op, Shape | Shape_i)
            return UNKNOWN if is_shape and self._shape_varies(variable.owner) else None
        items = [self._items[one] for one in followed]
        if all(one is None for one in items):
            return None
        if any(one is UNKNOWN for one in items):
            return UNKNOWN
        if self._expanded(variable) is not None or isinstance(variable.owner.op, CheckAndRaise):
            return items[0]
        found = items_of_outputs(variable.owner.op, variable.owner, items, self)
        return UNKNOWN if found is UNKNOWN else found[variable.index]

    def _shape_varies(self, node):
        """Whether the shape of the first input may depend on values of labels, as that of their unique values."""
        first = node.inputs[0]
        if None not in first.type.shape:
            return False
        if first not in self._varying_shapes:
            self._varying_shapes[first] = any(
                self._labels_may_shape(one.owner) for one in self._ancestors(first) if one.owner is not None
            )
        return self._varying_shapes[first]

    def _labels_may_shape(self, node):
        if keeps_shapes(node) or self._expanded(node.outputs[0]) is not None:
            return False
        changing = [one for one in node.inputs if self._labels in self._ancestors(one)]
        return bool(changing) and not (has_shape_arguments(node) and changing == node.inputs[:1])

    def _ancestors(self, variable):
        found = {}
        for one in postorder(variable, self._shapes_and_values, found):
            found[one] = True
        return found

    def _shapes_and_values(self, variable):
        expanded = self._expanded(variable)
        if expanded is not None:
            return (expanded,)
        return () if variable.owner is None else variable.owner.inputs
