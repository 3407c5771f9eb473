"""Hashes of what machine code depends on: the sources of this package, and what implementations elsewhere reach."""

import enum
import functools
import hashlib
import inspect
import os
import pathlib
import sys
import sysconfig
import types

import numpy as np

from pymc_nrm.kernels.layers import IMPORTS, kernel_layers

# All generic functions, in order of definition.
dispatchers = []

_CONSTANTS = (types.NoneType, int, float, complex, str, bytes, enum.Enum, np.generic, np.dtype)

_INSTALLED = [pathlib.Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")]


def layer_of(path):
    """Name of the folder or module directly below the package that a file belongs to; None for files elsewhere."""
    root = pathlib.Path(__file__).parents[1]
    path = pathlib.Path(path)
    return path.relative_to(root).with_suffix("").parts[0] if path.is_relative_to(root) else None


@functools.cache
def _sources():
    """Layer and hash of each source file of this package, in order of their names, which hashes cover."""
    root = pathlib.Path(__file__).parents[1]
    found = []
    for folder, _, names in os.walk(root):
        for path in (os.path.join(folder, name) for name in names if name.endswith(".py")):
            name = os.path.relpath(path, root)
            with open(path, "rb") as file:
                found.append((name, layer_of(path), hashlib.sha256(name.encode() + file.read()).digest()))
    return [source[1:] for source in sorted(found)]


@functools.cache
def source_fingerprint(layer=None):
    """Hash of the source files that kernels of one layer may call."""
    below = kernel_layers(layer) if layer in IMPORTS else None
    return hashlib.sha256(b"".join(one for own, one in _sources() if below is None or own in below)).hexdigest()


def class_fingerprint(cls):
    """Hash of the implementations registered for a type, and of what they reach.

    See :func:`function_fingerprint` for what they reach.
    """
    name = f"{cls.__module__}.{cls.__qualname__}"
    return _fingerprint([name, *(dispatcher.dispatch(cls) for dispatcher in dispatchers)], cls.__module__)


def function_fingerprint(function):
    """Hash of the code of a function and of all that it reaches by name, through any number of other functions.

    The hash covers functions, kernels, methods of classes, modules and their attributes, closures, default values and
    constants (numbers, strings, tuples, arrays, members of enumerations), and the files of functions and modules.  For
    the standard library and for installed packages, except the function's own, it covers only the version.  It leaves
    out the content of lists, dictionaries and other objects, which kernels cannot read.
    """
    return _fingerprint([function], inspect.unwrap(function).__module__)


def _fingerprint(values, module):
    """Hash of values and what they reach; of installed packages, only the one that ``module`` belongs to is read."""
    digest, own, seen, waiting = hashlib.sha256(), module.partition(".")[0], {}, list(values)
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        if not isinstance(value, _CONSTANTS):
            # Functions may reach themselves.  Values kept here stay alive, so that no other value gets their id.
            seen[id(value)] = value
        token, further = _describe(value, own)
        digest.update(len(token).to_bytes(8, "big") + token)
        waiting.extend(further)
    return digest.hexdigest()


def _describe(value, own):
    """Bytes that stand for a value itself, and the values that it reaches."""
    inner = (getattr(value, "__wrapped__", None) or getattr(value, "py_func", None)) if callable(value) else None
    if isinstance(value, types.ModuleType | types.FunctionType | type) or inner is not None:
        module = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
        name = f"{module}.{getattr(value, '__qualname__', '')}".encode()
        file = _file_of(value if inner is None else inspect.unwrap(inner))
        if not _is_followed(module or "", file, own):
            return name + _version(module or ""), []
        token = name + (file.read_bytes() if file is not None and file.is_file() else b"")
        further = [] if inner is None else [inner]
        # What is registered for a generic function, or one made by `singledispatch`, counts as well.
        further += getattr(value, "registry", {}).values()
        if isinstance(value, types.FunctionType):
            token += _code_bytes(value.__code__)
            further += _reached(value)
        elif isinstance(value, type):
            further += [getattr(method, "__func__", method) for method in vars(value).values() if callable(method)]
        return token, further
    if isinstance(value, functools.partial):
        return b"partial", [value.func, value.args, *value.keywords.values()]
    if isinstance(value, tuple):
        return f"{type(value).__qualname__}, {len(value)} elements".encode(), list(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return f"{value.dtype.str}{value.shape}".encode() + value.tobytes(), []
    if isinstance(value, _CONSTANTS):
        return f"{type(value).__name__} {value!r}".encode(), []
    return type(value).__qualname__.encode(), []


def _reached(function):
    """Values that a function refers to: globals, attributes of modules, closure and defaults."""
    names = list(dict.fromkeys(_names(function.__code__)))
    values = [function.__globals__[name] for name in names if name in function.__globals__]
    for value in values:
        # The list grows during the loop: a module may be an attribute of another.
        if isinstance(value, types.ModuleType):
            found = [vars(value)[name] for name in names if name in vars(value)]
            values += [new for new in found if not any(new is old for old in values)]
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # not filled yet
            continue
    return [*values, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]


def _names(code):
    yield from code.co_names
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield from _names(constant)


def _file_of(value):
    code = getattr(value, "__code__", None)
    if code is not None:
        return pathlib.Path(code.co_filename)
    module = value if isinstance(value, types.ModuleType) else sys.modules.get(getattr(value, "__module__", None))
    file = getattr(module, "__file__", None)
    return None if file is None else pathlib.Path(file)


def _is_followed(module, file, own):
    top = module.partition(".")[0]
    if top in ("pymc_nrm", "builtins") or (file is None and top in sys.builtin_module_names):
        return False
    return top == own or file is None or not any(file.is_relative_to(folder) for folder in _INSTALLED)


def _version(module):
    return str(getattr(sys.modules.get(module.partition(".")[0]), "__version__", "")).encode()


def _code_bytes(code):
    """Bytes that stand for a code object."""
    constants = [_code_bytes(c) if inspect.iscode(c) else _constant_bytes(c) for c in code.co_consts]
    return b"".join([code.co_code, repr(code.co_names).encode(), *constants])


def _constant_bytes(constant):
    # The order in a set of strings differs from process to process.
    return repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant).encode()
