"""Recognition of hyperparameters that ``learned_fields`` of a family makes, from their graph.

The arguments of this function are free variables, found by name, and constants, found in the graph.  The function,
called again with them, must give the same graph: no part is recognised alone, so a user's check or operation leaves
the variables to NUTS.
"""

import inspect

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Constant, equal_computations
from pytensor.graph.traversal import ancestors, walk
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.basic import Alloc
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.shape import Shape, Shape_i

from pymc_nrm.common.checks import static_shape
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.models.values import computed_by


def _parameters(family_class, keyword_only):
    """Names of the variables from which a family makes its learned hyperparameters, or names of the constants."""
    parameters = inspect.signature(family_class.learned_fields).parameters.values()
    return [one.name for one in parameters if (one.kind is one.KEYWORD_ONLY) is keyword_only]


def named_variables(model, family, shapes):
    """List the free variables behind a family that have the names and shapes of ``learned``.

    An empty array represents a variable without entries.
    """
    labels, behind = _parameters(type(family), keyword_only=False), set(ancestors(family, blockers=model.basic_RVs))
    free, found = {rv.name: rv for rv in model.free_RVs if rv in behind}, []
    for prefix in [name.removesuffix(labels[0]) for name in free if name.endswith(f"_{labels[0]}")]:
        pairs = zip(labels, shapes, strict=True)
        variables = [np.empty(0) if shape == (0,) else free.get(prefix + label) for label, shape in pairs]
        if all(one is not None and _may_have_shape(one, shape) for one, shape in zip(variables, shapes, strict=True)):
            found.append(variables)
    return found


def _may_have_shape(variable, shape):
    # A single value would be broadcast.
    known = static_shape(variable)
    return len(known) == len(shape) and all(length in (None, n) for length, n in zip(known, shape, strict=True))


def made_fields(mixture, family, variables, shape):
    """Fields of a family that ``learned_fields`` makes from variables and constants, and the constants by name.

    Both are empty if it makes other graphs for all constants.
    """
    names = _parameters(type(family), keyword_only=True)
    places = {name: pt.tensor(dtype="float64", shape=shape) for name in names}
    fields, template = _made(mixture, family, variables, places)
    graphs, constants = [_without_length_checks(field, variables) for field in fields], {}
    for pattern, graph in zip(template, graphs, strict=True):
        _read_places(pattern, graph, set(places.values()), constants)
    values = {name: constants.get(place) for name, place in places.items()}
    if not all(isinstance(value, Constant) and value.type.shape == shape for value in values.values()):
        return [], {}
    values = {name: np.asarray(value.data, dtype="float64") for name, value in values.items()}
    _, again = _made(mixture, family, variables, values)
    return (fields, values) if equal_computations(again, graphs) else ([], {})


def _made(mixture, family, variables, constants):
    """Learned fields of a family, and the replacements that ``learned_fields`` makes."""
    made = type(family).learned_fields(*variables, **constants)
    full = full_family(mixture, family, made)
    return [getattr(family, name) for name in made], [
        _without_length_checks(getattr(full, name), variables) for name in made
    ]


def _without_length_checks(graph, variables):
    """A graph of variables without checks of lengths, which hold at all points or at none."""
    node = graph.owner
    if node is None or any(graph is one for one in variables):
        return graph
    inputs = [_without_length_checks(one, variables) for one in node.inputs]
    if type(node.op) is CheckAndRaise and all(map(is_known_from_shapes, node.inputs[1:])):
        return inputs[0]
    # With a known shape, a model and its frozen copy have the same tensor.
    if type(node.op) is Alloc and None not in graph.type.shape and inputs[0].type.shape == graph.type.shape:
        return inputs[0]
    if all(new is old for new, old in zip(inputs, node.inputs, strict=True)):
        return graph
    return node.clone_with_new_inputs(inputs, strict=False).outputs[graph.index]


def is_known_from_shapes(condition, lengths=()):
    """Whether a condition depends on nothing but shapes, constants and variables that are ``lengths`` of dimensions."""

    def inputs(variable):
        is_length = variable.owner is None or type(variable.owner.op) in (Shape, Shape_i)
        return [] if is_length else variable.owner.inputs

    found = walk([condition], inputs)
    return all(one.owner is not None or isinstance(one, Constant) or one in lengths for one in found)


def _read_places(template, graph, places, found):
    """Read the entries of a graph at the positions of a template; only a comparison shows whether the rest is equal."""
    if template in places:
        found[template] = graph
    elif template.owner is not None and graph.owner is not None and not computed_by(template, RandomVariable):
        for one, other in zip(template.owner.inputs, graph.owner.inputs, strict=False):
            _read_places(one, other, places, found)


def full_family(mixture, family, fields):
    """The family of a mixture with other fields, as tensors in their full shape as in :class:`~pymc_nrm.Mixture`."""
    full = broadcast_hyperparameters(family._replace(**fields), mixture.type.shape[0], n_features(family))
    return type(full)(*map(pt.as_tensor, full))


def n_features(family):
    """Return the number of features of a family of full shape."""
    specs = zip(family, family.hyperparameters.values(), strict=True)
    lengths = {field.type.shape[spec.core.index("d")] for field, spec in specs if "d" in spec.core}
    # Products with constants have the length of the constants, unless it is 1.
    return max((length for length in lengths if length is not None), default=1)
