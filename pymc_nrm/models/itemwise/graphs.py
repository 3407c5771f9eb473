"""Walks through graphs, and the values that their variables have at present."""

import numpy as np
import pytensor
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import toposort
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.shape import Shape, Shape_i


def postorder(variable, inputs_of, done):
    """Yield a variable and what it is computed from, inputs first, without those that are done."""
    stack = [variable]
    while stack:
        last = stack[-1]
        pending = [] if last in done else [one for one in inputs_of(last) if one not in done]
        if pending:
            stack.extend(pending)
            continue
        stack.pop()
        if last not in done:
            yield last


def rebuilt(graphs, replaced):
    """Graphs in which some operations are replaced, given for each the new outputs of its node with new inputs, or None
    to keep it.
    """
    changed = {}
    for node in toposort(graphs):
        inputs = [changed.get(one, one) for one in node.inputs]
        outputs = replaced(node, inputs)
        if outputs is None and any(new is not old for new, old in zip(inputs, node.inputs, strict=True)):
            outputs = node.clone_with_new_inputs(inputs, strict=False).outputs
        if outputs is not None:
            changed.update(zip(node.outputs, outputs, strict=True))
    return [changed.get(graph, graph) for graph in graphs]


class Expanded:
    """Outputs of operations that are graphs themselves, as graphs of the inputs of the operation."""

    def __init__(self):
        self._outputs = {}

    def __call__(self, variable):
        """Return the variable in terms of simpler operations, or None if its operation is not a graph."""
        node = variable.owner
        if node is None or not isinstance(node.op, OpFromGraph):
            return None
        if node not in self._outputs:
            self._outputs[node] = _inner_outputs(node)
        return self._outputs[node][variable.index]


def _inner_outputs(node):
    graph = node.op.fgraph
    replacements = dict(zip(graph.inputs, node.inputs, strict=True))
    if hasattr(graph, "bind"):
        return graph.bind(replacements)
    # Graphs of operations can be changed in older releases of PyTensor.
    return clone_replace(list(graph.outputs), replacements, rebuild_strict=False)


class PresentValues:
    """Values of variables, computed node by node, since a single evaluation is not worth compiling."""

    def __init__(self, given, expanded):
        self._given, self._expanded = given, expanded
        self._values = dict(given)

    def __call__(self, variable):
        """Compute the value of a variable."""
        with np.errstate(all="ignore"):
            for one in postorder(variable, self._needs, self._values):
                self._values[one] = self._compute(one)
        return self._values[variable]

    def shape(self, variable):
        """Return the shape of a variable, a tuple of int."""
        known = variable.type.shape
        return tuple(known) if None not in known else np.shape(self(variable))

    def read_input(self, variable):
        """Return an input whose value, not only its shape, a variable depends on, or None if there is none."""
        seen = {}
        for one in postorder(variable, self._reads, seen):
            seen[one] = True
            if one in self._given:
                return one
        return None

    def _reads(self, variable):
        node = variable.owner
        return () if node is None or isinstance(node.op, Shape | Shape_i) else node.inputs

    def _needs(self, variable):
        node = variable.owner
        if node is None or (isinstance(node.op, Shape | Shape_i) and None not in node.inputs[0].type.shape):
            return ()
        expanded = self._expanded(variable)
        if expanded is not None:
            return (expanded,)
        return node.inputs[:1] if isinstance(node.op, CheckAndRaise) else node.inputs

    def _compute(self, variable):
        node = variable.owner
        if isinstance(variable, Constant):
            return variable.data
        if isinstance(variable, SharedVariable):
            return variable.get_value(borrow=True)
        if node is None:
            raise ValueError(f"{variable} has no value")
        if isinstance(node.op, Shape | Shape_i):
            shape = np.array(self.shape(node.inputs[0]), dtype="int64")
            return shape if isinstance(node.op, Shape) else shape[node.op.i]
        expanded = self._expanded(variable)
        if expanded is not None:
            return self._values[expanded]
        if isinstance(node.op, CheckAndRaise):
            return self._values[node.inputs[0]]
        return _perform(node, [self._values[one] for one in node.inputs])[variable.index]


def _perform(node, values):
    if not hasattr(type(node.op), "perform"):
        function = pytensor.function([one.type() for one in node.inputs], node.outputs)
        return function(*values)
    storage = [[None] for _ in node.outputs]
    node.op.perform(node, values, storage)
    return [cell[0] for cell in storage]
