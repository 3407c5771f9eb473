"""Values of small graphs, node by node in NumPy: a new model would wait seconds for their compilation.

A node takes one to five microseconds, so that graphs of few nodes are about as fast as machine code that Python calls.
"""

import numpy as np
from pymc.pytensorf import compile as compile_function
from pytensor.compile.mode import Mode
from pytensor.graph.basic import Constant
from pytensor.graph.op import HasInnerGraph
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.random.op import RandomVariable

from pymc_nrm.models.itemwise.graphs import expanded

_MOST_NODES = 40
# Entries of an array: for larger ones, machine code saves more than it costs.
_MOST_ENTRIES = 1000
_MODE = Mode(linker="py", optimizer=RewriteDatabaseQuery(include=["fast_compile"], exclude=["fusion", "inplace"]))
# Functions of NumPy that do what the operations of their name do, for doubles.
_UFUNCS = {name: getattr(np, name) for name in ("exp", "log", "log1p", "expm1", "sqrt", "square", "negative")}
_UFUNCS |= {name: getattr(np, name) for name in ("add", "subtract", "multiply", "true_divide", "power")}


def function_of(arguments, graphs, compile_kwargs=None):
    """The values of graphs as a function of arguments: interpreted if they are small, compiled otherwise."""
    if not compile_kwargs:
        function = compile_function(arguments, expanded(graphs), mode=_MODE, on_unused_input="ignore")
        nodes = function.maker.fgraph.apply_nodes
        if len(nodes) <= _MOST_NODES and all(_runs_in_numpy(node.op) for node in nodes):
            return Interpreted(function, arguments, graphs)
    return _compiled(arguments, graphs, compile_kwargs)


def _compiled(arguments, graphs, compile_kwargs=None):
    function = compile_function(arguments, graphs, **(compile_kwargs or {}))
    function.trust_input = True
    return function


def _runs_in_numpy(op):
    """Whether an operation is not a loop, a branch, a function of graphs, or a draw, whose generator is updated."""
    # Releases of PyTensor differ in the module of this class.
    return not isinstance(op, HasInnerGraph | RandomVariable) and type(op).__name__ != "IfElse"


class Interpreted:
    """A function that NumPy evaluates; it is compiled in its first call if that makes a large array."""

    def __init__(self, function, arguments, graphs):
        self._made_from, self._compiled, self._is_new = (arguments, graphs), None, True
        fgraph = function.maker.fgraph
        # Shared variables follow the arguments.
        self._stored = [container.storage for container in function.input_storage[len(arguments) :]]
        order = fgraph.toposort()
        names, values = {variable: f"x{k}" for k, variable in enumerate(fgraph.inputs)}, {}
        for variable in (*(operand for node in order for operand in node.inputs), *fgraph.outputs):
            if isinstance(variable, Constant):
                values[names.setdefault(variable, f"x{len(names)}")] = variable.data

        def listed(variables):
            return ", ".join(names[variable] for variable in variables)

        lines = [f"def call({listed(fgraph.inputs)}):"]
        for k, node in enumerate(order):
            values[f"f{k}"] = _evaluation(node)
            names |= {variable: f"x{len(names) + k}" for k, variable in enumerate(node.outputs)}
            lines.append(f"    {listed(node.outputs)} = f{k}({listed(node.inputs)})")
        computed = [variable for node in order for variable in node.outputs]
        lines.append(f"    return [{listed(fgraph.outputs)}], [{listed(computed)}]")
        exec("\n".join(lines), values)
        self._call = values["call"]

    def __reduce__(self):
        return function_of, self._made_from

    def __call__(self, *arguments):
        if self._compiled is not None:
            return self._compiled(*arguments)
        with np.errstate(all="ignore"):
            results, computed = self._call(*map(np.asarray, arguments), *[storage[0] for storage in self._stored])
        if self._is_new:
            self._is_new = False
            if any(np.size(value) > _MOST_ENTRIES for value in computed):
                self._compiled = _compiled(*self._made_from)
                return self._compiled(*arguments)
        # PyTensor has copied those that are arguments, constants or views of them.
        return results


def _evaluation(node):
    """A function of the values of the inputs of a node that returns its output, or a list of several."""
    node.op.prepare_node(node, None, None, "py")

    def perform(*inputs):
        outputs = [[None] for _ in node.outputs]
        node.op.perform(node, list(inputs), outputs)
        return outputs[0][0] if len(outputs) == 1 else [output for [output] in outputs]

    ufunc = _ufunc(node)
    if ufunc is None:
        return perform
    if len(node.inputs) == 1:
        # Values without dimensions would become numbers.
        return lambda x: np.asarray(ufunc(x))
    # Lengths that must agree, since the types do not say that an input may be repeated along the axis.
    lengths = [
        (k, axis)
        for k, variable in enumerate(node.inputs)
        for axis, repeated in enumerate(variable.type.broadcastable)
        if not repeated
    ]

    def combine(*inputs):
        result = ufunc(*inputs[:2])
        for further in inputs[2:]:
            result = ufunc(result, further)
        result = np.asarray(result)
        # The operation itself raises the error.
        agree = all(inputs[k].shape[axis] == result.shape[axis] for k, axis in lengths)
        return result if agree else perform(*inputs)

    return combine


def _ufunc(node):
    """NumPy's function for an operation on doubles; None for others."""
    if not isinstance(node.op, Elemwise):
        return None
    name, *numbers = getattr(node.op.scalar_op, "nfunc_spec", None) or ("", 0, 0)
    are_doubles = all(variable.type.dtype == "float64" for variable in (*node.inputs, *node.outputs))
    # Sums and products may have more terms than NumPy's.
    fits = len(node.inputs) == numbers[0] or (name in ("add", "multiply") and len(node.inputs) > 1)
    return _UFUNCS.get(name) if are_doubles and fits else None
