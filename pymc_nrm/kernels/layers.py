"""The rooms of the package in import order, what each may import, and the wings, which have the same rooms."""

_LAWS = ("common", "kernels", "measures", "families")

# The parts that each part may import besides itself, all of them earlier in this table.
IMPORTS = {
    "common": (),
    "kernels": (),
    "measures": ("common", "kernels"),
    "families": ("common", "kernels"),
    "partitions": _LAWS,
    "moves": (*_LAWS, "partitions"),
    "trees": (*_LAWS, "partitions", "moves"),
    "models": (*_LAWS, "partitions"),
    "steps": (*_LAWS, "partitions", "moves", "models"),
    "testing": (*_LAWS, "partitions", "trees", "models"),
    "stats": ("common", "kernels"),
    "datasets": (),
    "posterior": (*_LAWS, "partitions", "models", "stats"),
    "run": (*_LAWS, "partitions", "models", "steps", "stats", "posterior"),
    "recipes": (*_LAWS, "partitions", "moves", "models", "stats", "posterior", "run"),
    "plots": ("common", "stats", "posterior", "recipes"),
    "serving": (*_LAWS, "partitions", "models", "posterior", "recipes"),
    "random_measure": ("common", "posterior"),
    "warm_up": ("kernels",),
    "versions": ("kernels",),
}

# Capabilities that can be taken away.  A wing has rooms of its own, files or folders with names of the table, and may
# import what these rooms may, in the core, in itself and in the wings that it names here, all of them earlier in this
# table.  The core imports no wing: the one line for a wing elsewhere is its import in ``pymc_nrm/__init__.py``.
WINGS = {
    "nested": (),
    "published": ("nested",),
    "states": (),
    "growth": (),
    "networks": (),
}

# Kernels call nothing in these parts, so editing a message there recompiles nothing.
WITHOUT_KERNELS = frozenset({"common", "steps"})

# Kernels of these rooms are optimised only within their callers: kernels that Python calls, inner loops, and
# implementations of generic functions.
_COMPOSED = frozenset({"measures", "families", "partitions", "moves"})


def place(parts):
    """The wing, ``""`` for the core, and the room of a file or module, from the parts of its name in the package."""
    first, second = [part.removesuffix(".py") for part in (*parts, "__init__")[:2]]
    return (first, second) if first in WINGS else ("", first)


def is_composed(module):
    """Whether kernels of a module are optimised only within their callers."""
    package, *parts = module.split(".")
    return package == "pymc_nrm" and bool(parts) and place(parts)[1] in _COMPOSED


def may_import(importer, imported):
    """Whether a place may import another, where ``pymc_nrm/__init__.py`` and those of wings may import everything."""
    (wing, room), (imported_wing, imported_room) = importer, imported
    reaches = imported_wing in ("", wing, *WINGS.get(wing, ()))
    return reaches and (room == "__init__" or imported_room in (room, *IMPORTS[room]))
