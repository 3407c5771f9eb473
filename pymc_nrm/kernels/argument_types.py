"""Arguments whose types numba can tell apart: it knows a named tuple by the names of its class and fields alone.

Without this, a class that is defined again, as when a cell of a notebook is edited and run, or whose methods are edited
in place, as when a notebook reloads a module, would run the machine code of its first version.
"""

import types

from pymc_nrm.kernels.kernel_cache import dispatchers

# Names and fields that numba knows; and for each class the one whose instances it is given, with the code of its
# methods at that time, and the objects whose identity is part of it.
_known = set()
_stand_ins = {}


def told_apart(value):
    """The same tuple; where numba knows its class by other code, an instance of a subclass with another name."""
    cls = type(value)
    stand_in = cls if cls is tuple else known_to_numba(cls)
    elements = None
    for place, element in enumerate(value):
        if isinstance(element, tuple):
            new = told_apart(element)
            if new is not element:
                elements = elements or list(value)
                elements[place] = new
    if elements is None and stand_in is cls:
        return value
    return tuple.__new__(stand_in, value if elements is None else elements)


def known_to_numba(cls):
    """The class whose instances numba is given in place of instances of a class of named tuples."""
    entry = _stand_ins.get(cls)
    # Classes of this package do not change while it runs.
    if entry is not None and (entry[1] is None or entry[1] == _code_of(cls)[0]):
        return entry[0]
    _stand_ins[cls] = entry = _stand_in(cls), *((None, None) if is_own(cls) else _code_of(cls))
    return entry[0]


def is_own(cls):
    """Whether a class is of this package, and does not change while it runs."""
    return cls.__module__.partition(".")[0] == "pymc_nrm"


def _code_of(cls):
    """The code of the methods of a class and of what they call by name, equal until it is edited, and these objects."""
    bases = [base for base in cls.__mro__ if base.__module__ != "builtins"]
    methods = [method for base in bases for name, method in vars(base).items() if not name.startswith("_")]
    methods += [dispatcher.registry.get(base) for dispatcher in dispatchers for base in bases]
    functions = [method for method in methods if isinstance(method, types.FunctionType)]
    reached = [function.__globals__.get(name) for function in functions for name in function.__code__.co_names]
    functions += [value for value in reached if isinstance(value, types.FunctionType)]
    # A reload makes kernels anew, and edits functions and classes in place; code is compared by content.
    return [*(function.__code__ for function in functions), *map(id, reached)], reached


def _stand_in(cls):
    fields, name, number = getattr(cls, "_fields", ()), cls.__name__, 1
    while (name, fields) in _known:
        number += 1
        name = f"{cls.__name__}_{number}"
    _known.add((name, fields))
    namespace = {"__module__": cls.__module__, "__slots__": ()}
    return cls if number == 1 else type(name, (cls,), namespace)
