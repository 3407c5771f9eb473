"""Tables of the page on stability: every public name once, as stable or as provisional."""

import inspect
from fnmatch import fnmatchcase

import pymc_nrm

from inventory import GROUPS, entries

# Patterns of names, and what may change about them before 2.0.  All other names are stable.
PROVISIONAL = (
    (
        ("pymc_nrm.growth.*", "pymc_nrm.networks.*"),
        "Arguments, and names of variables in results: these are the newest parts.",
    ),
    (
        ("pymc_nrm.states.regime_model",),
        "The default model: on series with trends and seasons it is behind change point detection, and a better "
        "one may need other arguments.",
    ),
    (
        ("pymc_nrm.recipes.update",),
        "Which models are taken, and the default number of draws of tuning.",
    ),
    (
        ("pymc_nrm.serving.*",),
        "Arguments, and fields of results: this part is new. Files that were written stay readable.",
    ),
    (
        ("pymc_nrm.fused_estimate", "pymc_nrm.plots.plot_dendrogram"),
        "The rule that joins components, and the attributes of the tree of fusions.",
    ),
    (
        ("pymc_nrm.Chunks", "pymc_nrm.steps.ChunkedSampler", "pymc_nrm.label_rows"),
        "Which sources of rows and which clients are taken, and options: they follow Dask.",
    ),
    (
        (
            "pymc_nrm.trees.bound_gradient.TreeBound",
            "pymc_nrm.trees.*lternative*rees",
            "pymc_nrm.trees.bayes_kmeans_bhc",
            "pymc_nrm.trees.?ptimize*yperparameters",
        ),
        "Everything: these methods, of the page on [the evidence](../bounds.md), are under study.",
    ),
    (
        ("pymc_nrm.nested.families.*", "pymc_nrm.nested.testing.*"),
        "The methods that a tree family of your own defines.",
    ),
    (
        ("pymc_nrm.steps.Move", "pymc_nrm.steps.base.PartitionStep"),
        "Methods and arguments of kernels: they follow the interface of steps in PyMC, which is not declared stable.",
    ),
    (
        ("pymc_nrm.families.fast.*", "pymc_nrm.families.components.*", "pymc_nrm.families.*affinities"),
        "Which functions may be overridden to make a family fast. A family without them stays right.",
    ),
    (
        (
            "pymc_nrm.kernels.generic.Kernel",
            "pymc_nrm.kernels.generic.lacking",
            "pymc_nrm.kernels.generic.precompile",
            "pymc_nrm.families.needs.*",
            "pymc_nrm.families.features.features",
            "pymc_nrm.testing.kernel_inputs",
        ),
        "Everything: they follow the private interface of numba, or serve steps of the package.",
    ),
)


def is_provisional(entry):
    """Whether a pattern names an entry."""
    return any(fnmatchcase(entry.name, pattern) for patterns, _ in PROVISIONAL for pattern in patterns)


def stable_table():
    """Names that keep their meaning, by group of the reference, and the modules at the top."""
    lines = ["| Group | Names |", "| --- | --- |"]
    stable = [entry for entry in entries() if not is_provisional(entry)]
    for group, spec in GROUPS.items():
        links = ", ".join(_link(entry) for entry in stable if entry.group == group)
        if links:
            lines.append(f"| {spec.title} | {links} |")
    modules = [name for name in pymc_nrm.__all__ if inspect.ismodule(getattr(pymc_nrm, name))]
    lines.append(f"| Modules at the top | {', '.join(f'`nrm.{name}`' for name in modules)} |")
    return "\n".join(lines) + "\n"


def provisional_table():
    """Names that may change in a minor release, and what may change about them."""
    lines, waiting = ["| Names | What may change |", "| --- | --- |"], entries()
    for patterns, reason in PROVISIONAL:
        found = [entry for entry in waiting if any(fnmatchcase(entry.name, pattern) for pattern in patterns)]
        waiting = [entry for entry in waiting if entry not in found]
        lines.append(f"| {', '.join(map(_link, found))} | {reason} |")
    return "\n".join(lines) + "\n"


def _link(entry):
    return f"[{entry.name.removeprefix('pymc_nrm.')}](/reference/generated/{entry.group}/{entry.page}.md)"
