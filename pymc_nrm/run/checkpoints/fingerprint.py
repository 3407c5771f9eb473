"""What must not change when a run is resumed: versions, model, data and steps, each as a short text."""

import dataclasses
import hashlib
import inspect
import platform
import types
from importlib import metadata

import numpy as np
import pytensor
from pytensor.graph.basic import Constant
from pytensor.graph.op import Op
from pytensor.graph.traversal import toposort
from pytensor.graph.type import Type
from pytensor.tensor.random.type import RandomType

from pymc_nrm.common.pymc_internals import NOT_SETTINGS, SETTINGS, flatten_steps
from pymc_nrm.kernels.kernel_cache import class_fingerprint, package_fingerprint
from pymc_nrm.models.chunked_mixture import ChunkedData
from pymc_nrm.partitions.kind import Kind

_PACKAGES = ("pymc", "pytensor", "numba", "numpy", "scipy")
# Rooms whose code computes draws.
_ROOMS = ("kernels", "measures", "families", "partitions", "moves", "models", "steps")
_FLAGS = ("floatX", "linker", "optimizer")


def versions():
    """Versions of everything that computes draws."""
    packages = {name: metadata.version(name) for name in _PACKAGES}
    flags = {f"pytensor.config.{name}": str(getattr(pytensor.config, name)) for name in _FLAGS}
    sources = package_fingerprint(_ROOMS)[:16]
    return {"Python": platform.python_version(), **packages, "source of pymc_nrm": sources, **flags}


def describe_model(model):
    """Describe the log-probability of each variable of a model, and its data. Every process that makes the same model
    gets the same digests.
    """
    terms = [*model.basic_RVs, *model.potentials]
    names = {value: f"value of {rv.name}" for rv, value in model.rvs_to_values.items()}
    description = {}
    for variable, term in zip(terms, model.logp(terms, sum=False), strict=True):
        # Before the term, which may hold them.
        if variable in model.observed_RVs:
            description[f"data of {variable.name!r}"] = _short(_graph_digest(model.rvs_to_values[variable], {}))
        description[f"variable {variable.name!r}"] = _short(_graph_digest(term, names))
        for cls in _foreign_classes(variable):
            description[f"kernels of {cls.__qualname__} for {variable.name!r}"] = class_fingerprint(cls)[:16]
    for name, coordinates in model.coords.items():
        description[f"coords of {name!r}"] = _short(_describe(coordinates))
    return description


def describe_steps(step):
    """Describe the steps of a run: their options, and the start of their adaptation. Keys are step and name."""
    description = {}
    for method in flatten_steps(step):
        owner = f"{type(method).__name__} of {', '.join(variable.name for variable in method.vars)}"
        description[owner] = f"{type(method).__module__}.{type(method).__qualname__}"
        description |= {f"{name} of {owner}": repr(getattr(method, name)) for name in SETTINGS if hasattr(method, name)}
        description |= {f"{name} of {owner}": text for name, text in _state_values(method.sampling_state, "")}
    return description


def first_difference(expected, actual):
    """Find the first name for which two descriptions differ, with both values; None if they are equal."""
    for name in [*expected, *(name for name in actual if name not in expected)]:
        if expected.get(name) != actual.get(name):
            return name, expected.get(name, "nothing"), actual.get(name, "nothing")
    return None


def point_digest(point):
    """Digest of a point of a model."""
    return _short(_describe({name: np.asarray(value) for name, value in point.items()}))


def _state_values(state, prefix):
    for field in dataclasses.fields(state):
        value = getattr(state, field.name)
        if field.name in NOT_SETTINGS:
            continue
        name = prefix + field.name.lstrip("_")
        if dataclasses.is_dataclass(value):
            yield from _state_values(value, f"{name}.")
        else:
            text = _describe(value)
            yield name, text if len(text) <= 80 else _short(text)


def _foreign_classes(variable):
    """The classes of the measure and family behind a variable that are defined outside this package."""
    op = variable.owner.op if variable.owner is not None else None
    classes = [getattr(op, name) for name in ("measure_class", "family_class") if hasattr(op, name)]
    return [cls for cls in classes if not cls.__module__.startswith(f"{__package__.partition('.')[0]}.")]


def _graph_digest(output, names):
    """Digest of how a variable is computed from named variables, constants and shared values."""
    digests = {variable: f"variable {name}" for variable, name in names.items()}
    for node in toposort([output], blockers=list(names)):
        inputs = [_leaf_digest(variable, digests) for variable in node.inputs]
        text = f"{_describe(node.op)}({', '.join(inputs)})"
        for place, variable in enumerate(node.outputs):
            digests.setdefault(variable, _short(f"{text}[{place}]: {variable.type}"))
    return _leaf_digest(output, digests)


def _leaf_digest(variable, digests):
    if variable not in digests:
        if isinstance(variable, Constant):
            text = _describe(variable.data)
        elif isinstance(variable.type, RandomType):
            text = "random numbers"
        elif hasattr(variable, "get_value"):
            text = _describe(variable.get_value(borrow=True))
        else:
            text = f"input {variable.name}"
        digests[variable] = _short(f"{text}: {variable.type}")
    return digests[variable]


def _describe(value):
    """Describe a value in operations, arguments or states by a text that is the same in every process."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | slice | np.generic | np.dtype):
        return repr(value)
    if isinstance(value, np.ndarray):
        content = repr(value.tolist()).encode() if value.dtype == object else np.ascontiguousarray(value).tobytes()
        return f"array {value.dtype.str} {value.shape} {hashlib.sha256(content).hexdigest()[:16]}"
    if hasattr(value, "tocsr"):
        matrix = value.tocsr()
        return f"sparse {matrix.shape} {_describe([matrix.data, matrix.indices, matrix.indptr])}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_describe(key)}: {_describe(entry)}' for key, entry in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}({', '.join(map(_describe, value))})"
    if isinstance(value, set | frozenset):
        return f"set({', '.join(sorted(map(_describe, value)))})"
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, types.FunctionType):
        return f"{value.__module__}.{value.__qualname__} {_code_digest(value.__code__)}"
    if isinstance(value, Type):
        return str(value)
    if isinstance(value, Op):
        return _describe_op(value)
    if isinstance(value, Kind | ChunkedData):
        return f"{_describe(type(value))}{_describe(value.key)}"
    return _describe(type(value))


def _describe_op(op):
    names = getattr(op, "__props__", None)
    properties = {name: getattr(op, name) for name in names} if names is not None else {}
    inner = getattr(op, "fgraph", None)
    if inner is not None:
        places = {variable: f"input {place}" for place, variable in enumerate(inner.inputs)}
        properties["graph"] = [_graph_digest(output, places) for output in inner.outputs]
    return f"{_describe(type(op))}{_describe(properties)}"


def _code_digest(code):
    constants = [_code_digest(value) if inspect.iscode(value) else _describe(value) for value in code.co_consts]
    return _short(f"{code.co_code.hex()} {code.co_names} {constants}")


def _short(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]
