"""The parts of the package in import order, and what each may import."""

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
    "published": (*_LAWS, "partitions", "moves", "models", "steps"),
    "testing": (*_LAWS, "partitions", "trees", "models"),
    "stats": ("common", "kernels"),
    "datasets": (),
    "posterior": (*_LAWS, "partitions", "models", "stats"),
    "run": (*_LAWS, "partitions", "models", "steps", "stats", "posterior"),
    "recipes": (*_LAWS, "partitions", "models", "stats", "posterior", "run"),
    "plots": ("common", "stats", "posterior", "recipes"),
    "warm_up": (),
}

# Kernels call nothing in these parts, so editing a message there recompiles nothing.
WITHOUT_KERNELS = frozenset({"common", "steps"})

# Kernels of these modules are optimised only within their callers: kernels that Python calls, inner loops, and
# implementations of generic functions.
COMPOSED = tuple(f"pymc_nrm.{name}." for name in ("measures", "families", "partitions", "moves", "published"))


def kernel_layers(layer):
    """The part, and all parts with kernels that it imports, directly or indirectly: code that may enter its kernels."""
    found = {layer}
    for name in reversed(IMPORTS):
        if name in found:
            found.update(IMPORTS[name])
    return frozenset(found - WITHOUT_KERNELS | {layer})
