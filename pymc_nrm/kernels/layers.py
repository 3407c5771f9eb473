"""The parts of the package in import order, and what each may import."""

__all__ = ["COMPOSED", "IMPORTS", "kernel_layers"]

_CHECKS = ("checks", "supports", "hyperparameters")
_LAWS = ("kernels", "measures", "families")
_PYMC = ("pymc_internals", "distributions", "model")

# The parts that each part may import besides itself, all of them earlier in this table.
IMPORTS = {
    "checks": (),
    "marks": (),
    "progress": (),
    "supports": (),
    "hyperparameters": ("checks",),
    "kernels": (),
    "measures": (*_CHECKS, "kernels"),
    "families": (*_CHECKS, "kernels"),
    "partitions": (*_CHECKS, "marks", *_LAWS),
    "moves": (*_CHECKS, *_LAWS, "partitions"),
    "trees": (*_CHECKS, *_LAWS, "partitions", "moves"),
    "pymc_internals": (),
    "distributions": (*_CHECKS, *_LAWS, "partitions", "pymc_internals"),
    "model": (*_CHECKS, *_LAWS, "partitions", "pymc_internals", "distributions"),
    "itemwise": (*_CHECKS, *_LAWS, "partitions", *_PYMC),
    "steps": (*_CHECKS, "marks", *_LAWS, "partitions", "moves", *_PYMC, "itemwise"),
    "published": (*_CHECKS, *_LAWS, "partitions", "moves", *_PYMC, "steps"),
    "testing": (*_CHECKS, *_LAWS, "partitions", "trees", *_PYMC),
    "stats": ("checks", "marks", "progress", "kernels"),
    "datasets": (),
    "predictions": (*_CHECKS, "marks", "progress", *_LAWS, "partitions", *_PYMC, "itemwise", "stats"),
    "run": (*_CHECKS, "marks", "kernels", "partitions", *_PYMC, "itemwise", "steps", "stats", "predictions"),
    "recipes": (*_CHECKS, "progress", *_LAWS, "distributions", "model", "stats", "predictions", "run"),
    "plots": ("checks", "stats", "recipes"),
}

# Kernels call nothing in these parts, so editing a message there recompiles nothing.
WITHOUT_KERNELS = frozenset({*_CHECKS, "marks", "progress", "pymc_internals", "model", "steps"})

# Kernels of these modules mostly call others, so that they are optimised only as parts of those that Python calls.
COMPOSED = tuple(f"pymc_nrm.{name}." for name in ("moves", "families.diffusion", "published"))


def kernel_layers(layer):
    """The parts whose code may get into the machine code of a kernel. These are the part itself and all parts with
    kernels that it imports, directly or indirectly.
    """
    found = {layer}
    for name in reversed(IMPORTS):
        if name in found:
            found.update(IMPORTS[name])
    return frozenset(found - WITHOUT_KERNELS | {layer})
