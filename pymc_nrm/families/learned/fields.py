"""Hyperparameters of learned variables as operations, which say in every copy of a model how they were made."""

import functools
import inspect

import numpy as np
import pytensor.tensor as pt
from pytensor.compile.builders import OpFromGraph
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import ancestors


class LearnedField(OpFromGraph):
    """A hyperparameter as a function of arguments of ``learned_fields`` of a family; compiled as the inner graph."""

    def __init__(self, inputs, output, *, field, arguments):
        # Name of the hyperparameter, and names of the inputs as arguments of ``learned_fields``.
        self.field, self.arguments = field, arguments
        super().__init__(inputs, [output], inline=True, name=f"Learned[{field}]")

    # Both shapes of a beta distribution are products of the same form, from other arguments.
    def __eq__(self, other):
        return super().__eq__(other) and (self.field, self.arguments) == (other.field, other.arguments)

    def __hash__(self):
        return hash((super().__hash__(), self.field, self.arguments))

    def __str__(self):
        return self.name


def as_operations(function):
    """Decorator of ``learned_fields``: a LearnedField makes each hyperparameter of variables.

    Keyword-only arguments are constants of one shape, which is the shape of hyperparameters that are arrays.
    """
    parameters = inspect.signature(function).parameters.values()
    constants = [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]

    @functools.wraps(function)
    def learned_fields(*variables, **values):
        if not any(isinstance(variable, Variable) for variable in variables):
            return function(*variables, **values)
        arguments = inspect.signature(function).bind(*variables, **values).arguments
        arguments = {name: _as_tensor(value) for name, value in arguments.items()}
        inner = {name: argument.type() for name, argument in arguments.items()}
        variables = [variable for name, variable in inner.items() if name not in constants]
        fields = {}
        for field, output in function(*variables, **{name: inner[name] for name in constants}).items():
            # The length of a variable of one feature is not known.
            output = pt.specify_shape(output, inner[constants[0]].type.shape) if output.ndim else output
            output = output.astype("float64")
            behind = set(ancestors([output]))
            used = tuple(name for name, variable in inner.items() if variable in behind)
            op = LearnedField([inner[name] for name in used], output, field=field, arguments=used)
            fields[field] = op(*(arguments[name] for name in used))
        return fields

    return learned_fields


def learned_arguments(family):
    """The fields that ``learned_fields`` of the class of a family makes, and its variables and constants by name.

    All are empty if any of these fields is made in another way.
    """
    learned_fields, arguments, types, nothing = type(family).learned_fields, {}, {}, ([], {}, {})
    for name, field in family._asdict().items():
        if not (_is_learned(field) and field.owner.op.field == name):
            continue
        op = field.owner.op
        types |= zip(op.arguments, op.input_types, strict=True)
        for argument, value in zip(op.arguments, field.owner.inputs, strict=True):
            first = arguments.setdefault(argument, value)
            if value is not first and not (isinstance(value, Constant) and value.equals(first)):
                return nothing
    parameters = inspect.signature(learned_fields).parameters
    if {*parameters} != {*arguments}:
        return nothing
    constants = [name for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY]
    variables = [name for name in parameters if name not in constants]
    # Types as when the fields were made: a copy may know more of their shapes.
    places = {name: types[name]() for name in parameters}
    # A model of another version may have other operations.
    fields = learned_fields(*(places[name] for name in variables), **{name: places[name] for name in constants})
    present = {name: getattr(family, name) for name in fields}
    if not all(_is_learned(field) and field.owner.op == fields[name].owner.op for name, field in present.items()):
        return nothing
    return list(present.values()), *({name: arguments[name] for name in names} for names in (variables, constants))


def _as_tensor(value):
    return pt.as_tensor(value if isinstance(value, Variable) else np.asarray(value, dtype="float64"))


def _is_learned(field):
    return isinstance(field, Variable) and field.owner is not None and type(field.owner.op) is LearnedField
