"""The parts of the package in import order, and what each may import."""

__all__ = ["COMPOSED", "IMPORTS", "kernel_layers"]

_KINDS = ("measures", "families")
_PYMC = ("distributions", "model")

# The parts that each part may import besides itself, all of them earlier in this table.
IMPORTS = {
    "common": (),
    "kernels": (),
    "measures": ("common", "kernels"),
    "families": ("common", "kernels"),
    "partitions": ("common", "kernels", *_KINDS),
    "guide_trees": ("common", "kernels", *_KINDS, "partitions"),
    "trees": ("common", "kernels", *_KINDS, "partitions", "guide_trees"),
    "nested": ("common", "kernels", *_KINDS, "partitions"),
    "tree_families": ("common", "kernels", "families"),
    "distributions": ("common", "kernels", *_KINDS, "partitions", "nested", "tree_families"),
    "elicitation": ("common", "kernels", "measures"),
    "priors": ("common", "kernels", "families", "tree_families", "distributions"),
    "model": ("common", *_KINDS, "partitions", "nested", "tree_families", "distributions"),
    "itemwise": ("common", "kernels", *_KINDS, "partitions", *_PYMC),
    "samplers": (
        "common",
        "kernels",
        *_KINDS,
        "partitions",
        "guide_trees",
        "nested",
        "tree_families",
        *_PYMC,
        "itemwise",
    ),
    "published": (
        "common",
        "kernels",
        *_KINDS,
        "partitions",
        "guide_trees",
        "nested",
        *_PYMC,
        "samplers",
    ),
    "testing": ("common", "kernels", *_KINDS, "partitions", "trees", "tree_families", *_PYMC),
    "stats": ("common", "kernels"),
    "plots": ("common", "elicitation", "stats"),
    "datasets": (),
    "predictions": (
        "common",
        "kernels",
        *_KINDS,
        "partitions",
        "nested",
        "tree_families",
        *_PYMC,
        "itemwise",
        "samplers",
        "stats",
    ),
    "run": ("common", "kernels", "partitions", *_PYMC, "itemwise", "samplers", "stats", "predictions"),
    "recipes": ("common", *_KINDS, "distributions", "model"),
    "estimators": ("common", "stats", "predictions", "run", "recipes"),
}

# Kernels call nothing in these parts, so editing a message there recompiles nothing.
WITHOUT_KERNELS = frozenset({"common", "model"})

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
