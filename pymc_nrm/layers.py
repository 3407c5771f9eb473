"""The parts of the package in import order, and what each may import."""

__all__ = ["COMPOSED", "IMPORTS", "kernel_layers"]

_CHECKS = ("checks", "supports", "hyperparameters")
_MATHEMATICS = ("generic", "interrupts", "lanes", "pairs", "special", "kernel_op")
_KINDS = ("measures", "families")
_PYMC = ("pymc_internals", "distributions", "model")

# The parts that each part may import besides itself, all of them earlier in this table.
IMPORTS = {
    "layers": (),
    "checks": (),
    "marks": (),
    "progress": (),
    "supports": (),
    "hyperparameters": ("checks",),
    "fingerprints": ("layers",),
    "part_compiler": (),
    "kernel_cache": ("fingerprints", "part_compiler"),
    "interrupts": (),
    "generic": ("layers", "fingerprints", "part_compiler", "kernel_cache", "interrupts"),
    "compilation": ("generic",),
    "lanes": ("generic",),
    "pairs": ("generic",),
    "special": ("generic",),
    "kernel_op": ("fingerprints", "generic"),
    "measures": (*_CHECKS, "generic", "special", "kernel_op"),
    "families": (*_CHECKS, "generic", "lanes", "pairs", "special", "kernel_op"),
    "partitions": (*_CHECKS, "generic", "interrupts", "special", *_KINDS),
    "guide_trees": (*_CHECKS, "generic", "interrupts", "special", *_KINDS, "partitions"),
    "trees": (*_CHECKS, "generic", "interrupts", "special", *_KINDS, "partitions", "guide_trees"),
    "nested": (*_CHECKS, "generic", "interrupts", "special", *_KINDS, "partitions"),
    "tree_families": (*_CHECKS, "generic", "interrupts", "special", "kernel_op", "families"),
    "pymc_internals": (),
    "distributions": (
        "pymc_internals",
        *_CHECKS,
        "fingerprints",
        "generic",
        "special",
        "kernel_op",
        *_KINDS,
        "partitions",
        "nested",
        "tree_families",
    ),
    "elicitation": (*_CHECKS, "progress", "generic", "measures"),
    "priors": ("checks", "generic", "kernel_op", "families", "tree_families", "distributions"),
    "model": ("pymc_internals", *_CHECKS, *_KINDS, "partitions", "nested", "tree_families", "distributions"),
    "itemwise": (*_CHECKS, "generic", "special", *_KINDS, "partitions", *_PYMC),
    "samplers": (
        *_CHECKS,
        "compilation",
        "marks",
        *_MATHEMATICS,
        *_KINDS,
        "partitions",
        "guide_trees",
        "nested",
        "tree_families",
        *_PYMC,
        "itemwise",
    ),
    "testing": (*_CHECKS, *_MATHEMATICS, *_KINDS, "partitions", "trees", "tree_families", *_PYMC),
    "stats": ("checks", "marks", "progress", "generic", "interrupts", "special"),
    "plots": ("checks", "elicitation", "stats"),
    "datasets": (),
    "predictions": (
        *_CHECKS,
        "progress",
        *_MATHEMATICS,
        *_KINDS,
        "partitions",
        "nested",
        "tree_families",
        *_PYMC,
        "itemwise",
        "samplers",
        "stats",
    ),
    "run": (
        *_CHECKS,
        "marks",
        "fingerprints",
        "interrupts",
        "compilation",
        "partitions",
        *_PYMC,
        "itemwise",
        "samplers",
        "stats",
        "predictions",
    ),
    "recipes": ("checks", *_KINDS, "distributions", "model"),
    "estimators": ("checks", "stats", "predictions", "run", "recipes"),
}

# Kernels call nothing in these parts, so editing a message there recompiles nothing.
WITHOUT_KERNELS = frozenset(
    {"layers", "marks", "progress", *_CHECKS, "fingerprints", "kernel_cache", "compilation", "pymc_internals", "model"}
)

# Kernels of these parts mostly call others, so that they are optimised only as parts of those that Python calls.
COMPOSED = frozenset({"guide_trees", "tree_families", "samplers"})


def kernel_layers(layer):
    """The parts whose code may get into the machine code of a kernel. These are the part itself and all parts with
    kernels that it imports, directly or indirectly.
    """
    found = {layer}
    for name in reversed(IMPORTS):
        if name in found:
            found.update(IMPORTS[name])
    return frozenset(found - WITHOUT_KERNELS | {layer})
