"""Tracing the labels of a partition through a graph: walks, current values, and the item of each entry."""

from typing import NamedTuple

import numpy as np
import pytensor
from pytensor.compile.builders import infer_shape
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import ancestors, walk
from pytensor.raise_op import CheckAndRaise
from pytensor.scalar.basic import Add, Mul, Neg, Second, Sub, TrueDiv
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.math import Sum
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.shape import Shape, Shape_i

from pymc_nrm.common.pymc_internals import MinibatchOp, MinibatchRandomVariable
from pymc_nrm.models.itemwise.graphs import expanded, postorder
from pymc_nrm.models.itemwise.rules import NotItemwise, items_of_outputs
from pymc_nrm.models.model_graphs import log_probabilities
from pymc_nrm.models.rvs import depends_on, is_mixture, other_uses
from pymc_nrm.models.values import computed_by


class PresentValues:
    """Values of variables, computed node by node, since a single evaluation is not worth compiling."""

    def __init__(self, given):
        self._given, self._values = given, dict(given)

    def __call__(self, variable):
        """Compute the value of a variable."""
        with np.errstate(all="ignore"):
            for current in postorder(variable, self._needs, self._values):
                self._values[current] = self._compute(current)
        return self._values[variable]

    def shape(self, variable):
        """Return the shape of a variable, a tuple of int."""
        known = variable.type.shape
        return tuple(known) if None not in known else np.shape(self(variable))

    def read_input(self, variable):
        """Return an input whose value, not only its shape, a variable depends on, or None if there is none."""
        seen = {}
        for current in postorder(variable, self._reads, seen):
            seen[current] = True
            if current in self._given:
                return current
        return None

    def _reads(self, variable):
        node = variable.owner
        return () if node is None or isinstance(node.op, Shape | Shape_i) else node.inputs

    def _needs(self, variable):
        node = variable.owner
        if node is None or (isinstance(node.op, Shape | Shape_i) and None not in node.inputs[0].type.shape):
            return ()
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
        if isinstance(node.op, CheckAndRaise):
            return self._values[node.inputs[0]]
        return _perform(node, [self._values[operand] for operand in node.inputs])[variable.index]


def _perform(node, values):
    if not hasattr(type(node.op), "perform"):
        function = pytensor.function([operand.type() for operand in node.inputs], node.outputs)
        return function(*values)
    storage = [[None] for _ in node.outputs]
    node.op.perform(node, values, storage)
    return [cell[0] for cell in storage]


class LabelFlow:
    """Finds for each entry of a variable the single item on whose label it depends.

    ``sources`` maps initial variables to arrays of item numbers: usually the labels to the numbers of all items.  By
    induction over the graph: if entry e of a variable is a function of input entries that depend on the label of item
    i or on no label, then so does e.  Conditions of checks are not traced, nor inputs of which only the shape matters,
    unless the shape itself may depend on labels.
    """

    def __init__(self, sources, present):
        self.shape, self.present, self._sources = present.shape, present, frozenset(sources)
        self._items, self._varying_shapes = dict(sources), {}
        # Data that say which label an entry depends on: what was found holds for their present values.
        self.index_data = set()

    def within(self, sources, given):
        """The flow through an inner graph, given the values of its inputs."""
        return LabelFlow(sources, PresentValues(given))

    def __call__(self, variable):
        """Numbers of the items on whose labels entries depend, or None; ``NotItemwise`` if labels may mix."""
        for current in postorder(variable, self._followed, self._items):
            self._items[current] = self._find(current)
        return self._items[variable]

    def static(self, variable):
        """Return the value of an index that selects among entries that depend on different labels.

        Raises ``NotItemwise`` if the index varies between points.
        """
        read = self.present.read_input(variable)
        if read in self._sources:
            raise NotItemwise("an index that depends on labels selects among values that depend on labels")
        if read is not None:
            raise NotItemwise(
                f"an index that depends on {read.name!r}, which is sampled, selects among values that depend on labels"
            )
        self.index_data |= {
            x for x in ancestors([variable]) if isinstance(x, SharedVariable) and not isinstance(x.type, RandomType)
        }
        return self.present(variable)

    def _followed(self, variable):
        node = variable.owner
        if node is None or isinstance(node.op, Shape | Shape_i):
            return ()
        if isinstance(node.op, CheckAndRaise):
            return node.inputs[:1]
        if isinstance(node.op, Elemwise) and isinstance(node.op.scalar_op, Second):
            return node.inputs if self._shape_varies(node) else node.inputs[1:]
        return node.inputs

    def _find(self, variable):
        followed = self._followed(variable)
        if not followed:
            if computed_by(variable, Shape | Shape_i) and self._shape_varies(variable.owner):
                raise NotItemwise("a shape depends on the values of labels")
            return None
        items = [self._items[operand] for operand in followed]
        if all(array is None for array in items):
            return None
        if isinstance(variable.owner.op, CheckAndRaise):
            return items[0]
        return items_of_outputs(variable.owner.op, variable.owner, items, self)[variable.index]

    def _shape_varies(self, node):
        """Whether the shape of the first input may depend on values of labels, as for their unique values."""
        first = node.inputs[0]
        if None not in first.type.shape:
            return False
        if first not in self._varying_shapes:
            [lengths] = infer_shape([first], [], [])
            self._varying_shapes[first] = not self._sources.isdisjoint(walk(lengths, _inputs_of_lengths))
        return self._varying_shapes[first]


def _inputs_of_lengths(variable):
    """Inputs from which lengths are computed; the length of a variable without inputs depends on no value."""
    node = variable.owner
    if node is None or (isinstance(node.op, Shape | Shape_i) and node.inputs[0].owner is None):
        return ()
    return node.inputs


class Term(NamedTuple):
    """A part of the log-probability of a variable or potential, the sum of the entries of a graph."""

    # Name of the variable or potential; several terms may share it.
    name: str
    # In terms of value variables.
    graph: Variable


def not_itemwise(name, partition, reason):
    """Return the error for a variable whose use of labels has no table."""
    return ValueError(
        f"{name!r} must be a sum of terms that each depend on the label of one item of partition {partition!r}: "
        f"{reason}. Index parameters by labels, as in parameter[{partition}] or parameter[{partition}][item_of_row]"
    )


def terms_of(model, partition):
    """List the terms that depend on labels, except the data of mixtures, whose parameters are integrated out.

    Jacobians of transforms are omitted, since they do not depend on labels.
    """
    return split_terms(model, partition)[0]


def split_terms(model, partition):
    """The terms of :func:`terms_of`, and the other terms of the same variables, which do not depend on labels."""
    uses = other_uses(model, partition)
    for variable in uses:
        _check_all_rows(model, variable, partition)
        if is_mixture(variable):
            raise not_itemwise(
                variable.name, partition.name, "the hyperparameters of a Mixture are the same for all of its clusters"
            )
        if variable in model.free_RVs and _transform_depends(model, variable, partition):
            raise ValueError(
                f"the bounds of {variable.name!r} must not depend on the labels of partition {partition.name!r}, since "
                "its value would change with the cluster: use a variable with fixed bounds, such as Uniform(0, 1), and "
                f"scale it by the parameters of the cluster in a deterministic; or give {variable.name!r} "
                "default_transform=None"
            )
    labels = model.rvs_to_values[partition]
    graphs = expanded(log_probabilities(model, uses, jacobian=False))
    with_labels, without = [], []
    for variable, graph in zip(uses, graphs, strict=True):
        for part in _summands(graph, labels):
            terms = with_labels if labels in set(ancestors([part])) else without
            terms.append(Term(variable.name, part))
    return with_labels, without


def check_one_partition(names_of_parts):
    """Refuse variables, by the names that depend on the labels of each partition, that depend on those of several."""
    used = set()
    for names in names_of_parts:
        if shared := used & names:
            raise ValueError(
                f"{min(shared)!r} must depend on the labels of one partition with log_weights; it depends on several, "
                "whose labels are dependent given the data"
            )
        used |= names


def _check_all_rows(model, variable, partition):
    """Refuse factors on the log-probability of some rows, which would change the posterior of the partition."""
    if any(isinstance(ancestor.owner.op, MinibatchOp) for ancestor in _computed(model, variable)):
        raise ValueError(
            f"{variable.name!r} must not use pm.Minibatch, since it depends on the labels of partition "
            f"{partition.name!r}, whose step needs all rows. Pass all data; see the page about large data"
        )
    if isinstance(variable.owner.op, MinibatchRandomVariable):
        raise ValueError(
            f"total_size of {variable.name!r} must be None, since it depends on the labels of partition "
            f"{partition.name!r}: it would multiply the log-probability of the rows and change the posterior of the "
            "labels"
        )


def _computed(model, variable):
    graphs = [variable, *([model.rvs_to_values[variable]] if variable in model.rvs_to_values else [])]
    return [ancestor for ancestor in ancestors(graphs) if ancestor.owner is not None]


def _transform_depends(model, variable, partition):
    transform = model.rvs_to_transforms.get(variable)
    if transform is None:
        return False
    value = variable.type()
    return depends_on([transform.backward(value, *variable.owner.inputs)], partition, model)


def _summands(graph, labels):
    """Graphs whose entries sum to the entries of a graph, with labels only in those that need them."""
    node = graph.owner
    if node is None or labels not in set(ancestors([graph])):
        return [graph]
    first = node.inputs[0]
    if isinstance(node.op, Sum | DimShuffle):
        # Sums of short integers and of truth values are longer integers.
        return [part.astype(graph.type.dtype) for part in _summands(first, labels)]
    if isinstance(node.op, CheckAndRaise):
        parts = _summands(first, labels)
        dependent = [labels in set(ancestors([part])) for part in parts]
        # Conditions on labels stand at the parts that depend on labels.
        checked = dependent if any(dependent) else [True] * len(parts)
        return [
            node.op(part, *node.inputs[1:]) if is_checked else part
            for part, is_checked in zip(parts, checked, strict=True)
        ]
    # Adding or multiplying may broadcast an array, so that its entries count several times.
    if not isinstance(node.op, Elemwise) or graph.type.ndim > 0:
        return [graph]
    operation = node.op.scalar_op
    if isinstance(operation, Add):
        return [part for operand in node.inputs for part in _summands(operand, labels)]
    if isinstance(operation, Sub):
        negative = _summands(node.inputs[1], labels)
        return _summands(first, labels) + [-part.astype(graph.type.dtype) for part in negative]
    if isinstance(operation, Neg):
        return [-part.astype(graph.type.dtype) for part in _summands(first, labels)]
    if isinstance(operation, Mul | TrueDiv):
        return _multiples(node, labels) or [graph]
    return [graph]


def _multiples(node, labels):
    """Multiples of all summands of the only factor that depends on labels; empty if there are several such factors."""
    dependent = [place for place, operand in enumerate(node.inputs) if labels in set(ancestors([operand]))]
    if len(dependent) > 1 or (dependent == [1] and isinstance(node.op.scalar_op, TrueDiv)):
        return []
    [place] = dependent
    parts = _summands(node.inputs[place], labels)
    parts = [part.astype(node.outputs[0].type.dtype) for part in parts]
    return [node.op(*node.inputs[:place], part, *node.inputs[place + 1 :]) for part in parts]
