"""Variables whose dimensions have names, as ``pymc.dims`` makes them: tensors in their place, and graphs without them.

PyTensor's operations on such variables are imported only for graphs that have one.
"""

import pytensor.tensor as pt
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.replace import graph_replace
from pytensor.graph.rewriting.utils import rewrite_graph
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.op import RandomVariable


def named_dims(value):
    """Names of the dimensions of a variable, in their order; None for tensors and all other values."""
    return getattr(value.type, "dims", None) if isinstance(value, Variable) else None


def without_dims(value):
    """Return a variable with named dimensions as a tensor, with axes in their order; other values unchanged."""
    if named_dims(value) is None:
        return value
    if isinstance(value, Constant):
        return pt.constant(value.data, name=value.name)
    tensor = tensor_behind(value)
    return value.values if tensor is value else tensor


def tensor_behind(value):
    """Return the tensor to which ``pmd.as_xtensor`` gave names of dimensions; other values unchanged."""
    if named_dims(value) is None or value.owner is None:
        return value
    from pytensor.xtensor.basic import XTensorFromTensor

    return value.owner.inputs[0] if isinstance(value.owner.op, XTensorFromTensor) else value


def variable_behind(value):
    """Return the variable with named dimensions whose values a tensor has; other values unchanged."""
    if getattr(value, "owner", None) is None or not any(
        named_dims(operand) is not None for operand in value.owner.inputs
    ):
        return value
    from pytensor.xtensor.basic import TensorFromXTensor

    return value.owner.inputs[0] if isinstance(value.owner.op, TensorFromXTensor) else value


def distribution_of(rv):
    """Return the operation of a random variable without names of dimensions, and its parameters.

    A variable whose dimensions were put in another order has the operation of the variable before.
    """
    node = rv.owner
    if named_dims(rv) is not None:
        from pytensor.xtensor.shape import Transpose
        from pytensor.xtensor.vectorization import XRV

        while isinstance(node.op, Transpose):
            node = node.inputs[0].owner
        if isinstance(node.op, XRV):
            return node.op.core_op, node.op.dist_params(node)
    # Symbolic random variables need not say which of their inputs are parameters.
    parameters = node.op.dist_params(node) if isinstance(node.op, RandomVariable) else node.inputs
    return node.op, parameters


def described(value):
    """A variable in messages, by its names of dimensions if it has them, otherwise by its type."""
    source = variable_behind(value)
    return f"{source} of type {source.type}" if named_dims(source) is None else f"{source} with dims {source.dims}"


def in_order(title, value, dims, elsewhere=()):
    """Return a variable with named dimensions as a tensor with a given order of axes; other values unchanged.

    ``dims`` has the name of each axis, or None for any name but those of other axes, ``elsewhere``; these keep their
    order.  The first axes may be missing, as in broadcasting.
    """
    names = named_dims(value)
    if not names or len(names) > len(dims):
        return without_dims(value)
    wanted = dims[len(dims) - len(names) :]
    known = [dim for dim in wanted if dim is not None]
    if not set(known) <= set(names):
        words = ", ".join("any other" if dim is None else repr(dim) for dim in wanted)
        raise ValueError(f"{title} must have the dims ({words}{',' if len(wanted) == 1 else ''}); got {names}")
    wrong = [dim for dim in names if dim not in known and dim in (*dims, *elsewhere)]
    if wrong:
        raise ValueError(f"{title} must not have the dim {wrong[0]!r}, which belongs to another axis; got {names}")
    others = (name for name in names if name not in known)
    order = tuple(next(others) if dim is None else dim for dim in wanted)
    return without_dims(value if order == names else value.transpose(*order))


def axis_of(data, dims):
    """Return the axis of data named by the first of ``dims`` that they have; the first axis if they have none."""
    names = named_dims(data) or ()
    return next((names.index(dim) for dim in dims if dim in names), 0)


def as_rows_of(data, tensor, dims):
    """Return a tensor, whose first axis is the one of :func:`axis_of`, with the names and the order of axes of data."""
    names = named_dims(data)
    if names is None:
        return tensor
    from pytensor.xtensor import as_xtensor

    first = names[axis_of(data, dims)]
    return as_xtensor(tensor, dims=(first, *[name for name in names if name != first])).transpose(*names)


def lowered(graphs, keep=()):
    """Return graphs in which operations on tensors replace those on named dimensions; others unchanged.

    Variables of ``keep`` and inputs stay as they are: operations read their values as tensors.
    """
    graphs = [without_dims(graph) for graph in graphs]
    if all(named_dims(variable) is None for variable in ancestors(graphs, blockers=keep)):
        return graphs
    stand_ins = {variable: variable.type() for variable in keep}
    graphs = graph_replace(graphs, stand_ins, strict=False)
    graphs = rewrite_graph(graphs, include=("lower_xtensor",), clone=True)
    return graph_replace(graphs, {new: variable for variable, new in stand_ins.items()}, strict=False)
