"""Argument checks that every part of the package shares, and checks of hyperparameters."""

import contextlib
import numbers
import os

import numpy as np
from pytensor.graph.basic import Constant, Variable
from pytensor.tensor.type import TensorType

from pymc_nrm.common.named_dims import described, without_dims
from pymc_nrm_predictor.checks import numeric_array as numeric_array

# Kernels hold counts in 64 bits.
_LARGEST_COUNT = 2**62


def check_count(name, value, least, most=None, *, optional=False):
    """Check an argument that is a count; it may be None if it is optional."""
    if optional and value is None:
        return
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if whole and most is None and value > _LARGEST_COUNT:
        most = _LARGEST_COUNT
    if not whole or value < least or (most is not None and value > most):
        allowed = f"of at least {least}" if most is None else f"between {least} and {most}"
        raise ValueError(f"{name} must be a whole number {allowed}; got {value!r}")


def check_flag(name, value):
    """Check an argument that is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False; got {value!r}")


def check_number(name, value, allowed, description):
    """Check an argument that is a single number."""
    real = isinstance(value, numbers.Real) or (isinstance(value, np.ndarray) and value.shape == ())
    try:
        number = float(value) if real and not isinstance(value, bool | np.bool_) else None
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or not allowed(number):
        raise ValueError(f"{name} must be {description}; got {value!r}")
    return number


def check_name(argument, value, what):
    """Check that an argument is a single name."""
    if not isinstance(value, str):
        raise TypeError(f"{argument} must be a string, the name of {what}; got {value!r}")


def check_path(name, value):
    """Check an argument that is the path of a folder."""
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise TypeError(f"{name} must be the path of a folder; got {value!r}")


def new_folder(name, value):
    """Check an argument that is the path of a folder to create; return it as text."""
    check_path(name, value)
    path = os.fspath(value)
    if os.path.exists(path):
        raise ValueError(f"{name} must be a new folder; got {path!r}, which already exists")
    return path


def check_probability(value, least=0.0, name="probability"):
    """Check that an argument lies between a number and 1."""
    check_number(name, value, lambda p: least < p < 1, f"between {least:g} and 1")


def interval_probability(ci_prob, least=0.0):
    """Check the argument ``ci_prob``, the probability of an interval; None means ArviZ's setting."""
    if ci_prob is None:
        from arviz_base import rcParams

        return max(rcParams["stats.ci_prob"], least)
    check_probability(ci_prob, least, name="ci_prob")
    return ci_prob


def random_generator(random_seed, argument="random_seed"):
    """Make a random generator from an argument ``random_seed``; a Generator is returned unchanged."""
    try:
        if isinstance(random_seed, bool):
            raise TypeError
        return np.random.default_rng(random_seed)
    except (TypeError, ValueError) as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(
            f"{argument} must be None, a whole number of at least 0, a sequence of such numbers or a Generator; "
            f"got {random_seed!r}"
        ) from None


@contextlib.contextmanager
def naming(argument):
    """Prefix errors about the content of an argument with its name."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"{argument}: {error}") from error


_COUNTED = {"n": "items", "d": "features"}


def plain_values(parameters):
    """Convert hyperparameters from users to floats and arrays, and variables with named dimensions to tensors; tensors
    and None are returned unchanged.
    """
    return type(parameters)(*[_plain_value(parameters, name) for name in parameters._fields])


def _plain_value(parameters, name):
    value = without_dims(getattr(parameters, name))
    if value is None:
        return None
    title = f"{name} of {type(parameters).__name__}"
    description = parameters.hyperparameters[name].support.description
    if isinstance(value, Variable):
        if not isinstance(value.type, TensorType) or value.type.numpy_dtype.kind not in "iuf":
            raise ValueError(f"{title} must be {description}; got {value} of type {value.type}")
        return value
    if np.ma.is_masked(value):
        raise ValueError(f"{title} must have no masked entries; got {np.ma.count_masked(value)}")
    try:
        array = numeric_array(title, value)
    except TypeError as error:
        got = str(error).split("; ", 1)[1]
        raise ValueError(f"{title} must be {description}; {got}") from None
    if array.dtype.kind == "b":
        raise ValueError(f"{title} must be {description}; got {value!r}")
    return float(array) if array.ndim == 0 else array.astype("float64")


def check_values(parameters, n=None, d=None, where=""):
    """Check the shapes of hyperparameters, and the values of those that are numbers or arrays."""
    sizes = {"n": (known_size(n), ""), "d": (known_size(d), "")}
    defaults = type(parameters)._field_defaults
    values = type(parameters)(*[known_value(value) for value in parameters])
    for name, value in parameters._asdict().items():
        title = f"{name} of {type(parameters).__name__}"
        specification = parameters.hyperparameters[name]
        if value is None:
            # A hyperparameter that defaults to None is taken from the data.
            if name in defaults and defaults[name] is None:
                continue
            raise ValueError(f"{title} must be {specification.support.description}; got None")
        _check_shape(title, name, value, specification.core, sizes)
        if getattr(values, name) is None:
            continue
        support = specification.support.given(values)
        complaint = support.complaint(np.asarray(getattr(values, name), dtype="float64"), known_size(d))
        if complaint:
            raise ValueError(f"{title} must be {support.description}{where}; {complaint}")


def known_value(value):
    """Return a number or an array, including constants of a graph; None if the value is symbolic."""
    if not isinstance(value, Variable):
        return value
    if not isinstance(value, Constant):
        return None
    return float(value.data) if np.ndim(value.data) == 0 else np.asarray(value.data)


def known_size(size):
    """Return a number of items or features as an integer, or None if it is symbolic."""
    if isinstance(size, Constant):
        return int(size.data)
    return None if size is None or isinstance(size, Variable) else int(size)


def static_shape(value):
    """Shape of a number, an array or a tensor, with None for unknown sizes of a tensor."""
    return value.type.shape if isinstance(value, Variable) else np.shape(value)


def _check_shape(title, name, value, core, sizes):
    shape = static_shape(value)
    got = described(value) if isinstance(value, Variable) else f"shape {shape}"
    square = len(set(core)) < len(core)
    axes = core[len(core) - len(shape) :]
    fits = len(shape) == len(core) if square else len(shape) <= len(core)
    if fits:
        own_sizes = {}
        for axis, size in zip(axes, shape, strict=True):
            needed = sizes.get(axis, (None, ""))[0]
            needed = own_sizes.get(axis) if needed is None else needed
            # No axis may be empty, except the axis of items if there are none.
            fits &= size is None or (size != 0 if needed is None else size == needed)
            if size is not None and needed is None:
                own_sizes[axis] = size
        if fits:
            sizes.update({axis: (size, f" as in {name}") for axis, size in own_sizes.items()})
            return
    if isinstance(value, float) or np.ndim(value) == 0:
        got = f"{value!r}" if not isinstance(value, Variable) else got
    remedy = ""
    if square and (len(shape) != len(core) or set(shape) == {1}):
        remedy = f". Write {name} * np.eye(d) for equal variances, np.diag({name}) for one variance per feature"
    raise ValueError(f"{title} must be {_shape_words(core, sizes, square)}; got {got}{remedy}")


def _shape_words(core, sizes, square):
    if not core:
        return "a scalar"
    shapes = [core] if square else [core[k:] for k in range(len(core))]
    written = " or ".join(f"({', '.join(axes)}{',' if len(axes) == 1 else ''})" for axes in shapes)
    known_sizes = [
        f"{axis} = {sizes[axis][0]}{sizes[axis][1] or f' {_COUNTED[axis]}'}"
        for axis in dict.fromkeys(core)
        if sizes.get(axis, (None, ""))[0] is not None
    ]
    sizes_in_words = f" with {', '.join(known_sizes)}" if known_sizes else ""
    return f"{'a matrix' if square else 'a scalar or an array'} of shape {written}{sizes_in_words}"
