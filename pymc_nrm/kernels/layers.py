"""The parts of the package in import order, and what each may import."""

__all__ = ["COMPOSED", "IMPORTS", "kernel_layers"]

_CHECKS = ("checks", "supports", "hyperparameters")
_KINDS = ("measures", "families")
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
    "partitions": (*_CHECKS, "kernels", *_KINDS),
    "guide_trees": (*_CHECKS, "kernels", *_KINDS, "partitions"),
    "trees": (*_CHECKS, "kernels", *_KINDS, "partitions", "guide_trees"),
    "tree_families": (*_CHECKS, "kernels", "families"),
    "pymc_internals": (),
    "distributions": ("pymc_internals", *_CHECKS, "kernels", *_KINDS, "partitions", "tree_families"),
    "elicitation": (*_CHECKS, "progress", "kernels", "measures"),
    "priors": ("checks", "kernels", "families", "tree_families", "distributions"),
    "model": ("pymc_internals", *_CHECKS, *_KINDS, "partitions", "tree_families", "distributions"),
    "itemwise": (*_CHECKS, "kernels", *_KINDS, "partitions", *_PYMC),
    "samplers": (
        *_CHECKS,
        "kernels",
        "marks",
        *_KINDS,
        "partitions",
        "guide_trees",
        "tree_families",
        *_PYMC,
        "itemwise",
    ),
    "published": (
        *_CHECKS,
        "kernels",
        *_KINDS,
        "partitions",
        "guide_trees",
        *_PYMC,
        "samplers",
    ),
    "testing": (*_CHECKS, "kernels", *_KINDS, "partitions", "trees", "tree_families", *_PYMC),
    "stats": ("checks", "marks", "progress", "kernels"),
    "plots": ("checks", "elicitation", "stats"),
    "datasets": (),
    "predictions": (
        *_CHECKS,
        "progress",
        "kernels",
        *_KINDS,
        "partitions",
        "tree_families",
        *_PYMC,
        "itemwise",
        "samplers",
        "stats",
    ),
    "run": (*_CHECKS, "marks", "kernels", "partitions", *_PYMC, "itemwise", "samplers", "stats", "predictions"),
    "recipes": ("checks", *_KINDS, "distributions", "model"),
    "estimators": ("checks", "stats", "predictions", "run", "recipes"),
}

# Kernels call nothing in these parts, so editing a message there recompiles nothing.
WITHOUT_KERNELS = frozenset({"marks", "progress", *_CHECKS, "pymc_internals", "model"})

# Kernels of these parts mostly call others, so that they are optimised only as parts of those that Python calls.
COMPOSED = frozenset({"guide_trees", "tree_families", "samplers", "published"})


def kernel_layers(layer):
    """The parts whose code may get into the machine code of a kernel. These are the part itself and all parts with
    kernels that it imports, directly or indirectly.
    """
    found = {layer}
    for name in reversed(IMPORTS):
        if name in found:
            found.update(IMPORTS[name])
    return frozenset(found - WITHOUT_KERNELS | {layer})
