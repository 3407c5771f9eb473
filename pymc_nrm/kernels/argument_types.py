"""Arguments whose types numba can tell apart: it knows a named tuple by the names of its class and fields alone.

Without this, a class that is defined again, as when a cell of a notebook is edited and run, would run the machine code
of the first one.
"""

# The class that numba knows by a name and fields, and for each class the one whose instances it is given.
_known = {}
_stand_ins = {}


def told_apart(value):
    """The same tuple; where a class of its name was there before, an instance of a subclass with another name."""
    cls = type(value)
    stand_in = cls if cls is tuple else _stand_ins.get(cls) or _stand_in(cls)
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


def _stand_in(cls):
    fields, name, number = getattr(cls, "_fields", ()), cls.__name__, 1
    while _known.setdefault((name, fields), cls) is not cls:
        number += 1
        name = f"{cls.__name__}_{number}"
    own = {"__module__": cls.__module__, "__slots__": ()}
    _stand_ins[cls] = cls if number == 1 else type(name, (cls,), own)
    return _stand_ins[cls]
