"""The terms of a model's log-probability that depend on the labels of a partition as an index."""

from typing import NamedTuple

from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors
from pytensor.raise_op import CheckAndRaise
from pytensor.scalar.basic import Add, Mul, Neg, Sub, TrueDiv
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.math import Sum

from pymc_nrm.common.pymc_internals import MinibatchOp, MinibatchRandomVariable
from pymc_nrm.models.rvs import depends_on, is_mixture, other_uses


class Term(NamedTuple):
    """A part of the log-probability of a variable or potential, the sum of the entries of a graph."""

    # Name of the variable or potential; several terms may share it.
    name: str
    # In terms of value variables.
    graph: Variable


def not_itemwise(name, partition, reason):
    """The error for a variable that uses labels in a way that has no table."""
    return ValueError(
        f"{name!r} is no sum of terms with the label of one item of partition {partition!r} each: {reason}. Each row "
        "of its log-probability may depend on the label of one item only, as with "
        f"parameter[{partition}] or parameter[{partition}][item_of_row]"
    )


def terms_of(model, partition):
    """List the terms that depend on labels, except the data of mixtures, whose parameters are integrated out.

    Jacobians of transforms are left out: they do not depend on labels.
    """
    uses = other_uses(model, partition)
    for variable in uses:
        _check_all_rows(model, variable, partition)
        if is_mixture(variable):
            raise not_itemwise(
                variable.name, partition.name, "the hyperparameters of a Mixture are the same for all of its clusters"
            )
        if variable in model.free_RVs and _transform_depends(model, variable, partition):
            raise ValueError(
                f"the bounds of {variable.name!r} depend on the labels of partition {partition.name!r}, so that its "
                "value is not the same in another cluster: use a variable with fixed bounds, such as Uniform(0, 1), "
                f"and let a deterministic scale it by the parameters of the cluster; or give {variable.name!r} "
                "default_transform=None"
            )
    if not uses:
        return []
    labels = model.rvs_to_values[partition]
    graphs = model.logp(vars=uses, sum=False, jacobian=False)
    return [
        Term(variable.name, part)
        for variable, graph in zip(uses, graphs, strict=True)
        for part in _summands(graph, labels)
    ]


def _check_all_rows(model, variable, partition):
    """Refuse what multiplies the log-probability of some rows: the partition would not have its posterior law."""
    if any(isinstance(one.owner.op, MinibatchOp) for one in _computed(model, variable)):
        raise ValueError(
            f"{variable.name!r} uses pm.Minibatch and the labels of partition {partition.name!r}, whose step needs all "
            "rows. Give it the data themselves; see the page about large data"
        )
    if isinstance(variable.owner.op, MinibatchRandomVariable):
        raise ValueError(
            f"total_size of {variable.name!r} must be None, since it depends on the labels of partition "
            f"{partition.name!r}: it would multiply the log-probability of the rows, and labels would not have their "
            "posterior law"
        )


def _computed(model, variable):
    graphs = [variable, *([model.rvs_to_values[variable]] if variable in model.rvs_to_values else [])]
    return [one for one in ancestors(graphs) if one.owner is not None]


def _transform_depends(model, variable, partition):
    transform = model.rvs_to_transforms.get(variable)
    if transform is None:
        return False
    value = variable.type()
    return depends_on([transform.backward(value, *variable.owner.inputs)], partition, model)


def _summands(graph, labels):
    """Graphs that depend on labels and whose entries add up to those of a graph, but for a constant."""
    node = graph.owner
    if labels not in set(ancestors([graph])):
        return []
    if node is None:
        return [graph]
    first = node.inputs[0]
    if isinstance(node.op, Sum | DimShuffle):
        return _summands(first, labels)
    if isinstance(node.op, CheckAndRaise):
        return [node.op(part, *node.inputs[1:]) for part in _summands(first, labels)]
    # An array may be broadcast by what it is added to or multiplied by, so that its entries count several times.
    if not isinstance(node.op, Elemwise) or graph.type.ndim > 0:
        return [graph]
    operation = node.op.scalar_op
    if isinstance(operation, Add):
        return [part for one in node.inputs for part in _summands(one, labels)]
    if isinstance(operation, Sub):
        return _summands(first, labels) + [-part for part in _summands(node.inputs[1], labels)]
    if isinstance(operation, Neg):
        return [-part for part in _summands(first, labels)]
    if isinstance(operation, Mul | TrueDiv):
        return _multiples(node, labels) or [graph]
    return [graph]


def _multiples(node, labels):
    """Multiples of the summands of the only factor that depends on labels, or nothing if there are several."""
    dependent = [place for place, one in enumerate(node.inputs) if labels in set(ancestors([one]))]
    if len(dependent) > 1 or (dependent == [1] and isinstance(node.op.scalar_op, TrueDiv)):
        return []
    [place] = dependent
    parts = _summands(node.inputs[place], labels)
    return [node.op(*node.inputs[:place], part, *node.inputs[place + 1 :]) for part in parts]
