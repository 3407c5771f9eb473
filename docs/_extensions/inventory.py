"""What the package exports, and where each thing is described."""

import importlib
import inspect
import re
from typing import NamedTuple

import pymc_nrm
from pymc_nrm.steps import Move
from pymc_nrm.steps.base import LabelStep, PartitionStep


class Entry(NamedTuple):
    """A public object: the name it is described under, the object, and its group of pages."""

    name: str
    thing: object
    group: str

    @property
    def title(self):
        """Heading of the page; parts of the machinery are told apart by their modules."""
        return self.name.removeprefix("pymc_nrm.") if self.group == "extending" else self.name.rsplit(".", 1)[-1]

    @property
    def page(self):
        """Name of the file of the page, different from all others where case does not count too."""
        return f"{self.title}-class" if self.group == "extending" and isinstance(self.thing, type) else self.title

    @property
    def summary(self):
        """First sentence of the docstring, without roles."""
        text = " ".join(inspect.getdoc(self.thing).split("\n\n")[0].split())
        text = re.sub(r":[a-z:]+:`~?(?:[\w.]+\.)?(\w+)`", r"``\1``", text)
        return re.split(r"(?<=[^.])\.\s", text)[0].rstrip(".") + "."


class Group(NamedTuple):
    """Pages of one kind; ``modules`` are the places whose exports belong to it."""

    title: str
    modules: tuple[str, ...]
    text: str = ""


# The order is that of the index.  An export belongs to the first group that claims it.
GROUPS = {
    "measures": Group("Measures", ("pymc_nrm.measures",), "The prior over partitions."),
    "families": Group("Families", ("pymc_nrm.families",), "The data of a cluster, with its parameters integrated out."),
    "tree_families": Group(
        "Tree families",
        ("pymc_nrm.nested.families",),
        "Data whose means diffuse down the tree of a nested partition, with the means integrated out.",
    ),
    "samplers": Group("Samplers", ("pymc_nrm.steps",), "Steps of PyMC that move a partition."),
    "published": Group(
        "Published samplers", ("pymc_nrm.published",), "Samplers as they were published, to reproduce results."
    ),
    "distributions": Group("Distributions", (), "The random variables of a model."),
    "elicitation": Group(
        "Elicitation", ("pymc_nrm.recipes.elicitation",), "A prior from what is known about the number of clusters."
    ),
    "recipes": Group("Models in one call", ("pymc_nrm.recipes",), "A model of a matrix or a table."),
    "estimators": Group("Estimators", ("pymc_nrm.recipes.estimator",), "The interface of scikit-learn."),
    "sampling": Group("Sampling", (), "Draws from the posterior."),
    "stats": Group("Statistics", ("pymc_nrm.stats",), "Summaries and diagnostics of draws of a partition."),
    "posterior": Group(
        "Predictions", ("pymc_nrm.posterior",), "What follows from draws of a partition together with the model."
    ),
    "random_measure": Group(
        "Random measure", ("pymc_nrm.random_measure",), "The random measure itself, given the draws of a partition."
    ),
    "serving": Group(
        "Serving",
        ("pymc_nrm.serving",),
        "Predictions in a process without PyMC: [](../../how-to/serve-predictions.md).",
    ),
    "plots": Group(
        "Plots",
        ("pymc_nrm.plots",),
        "Pictures with arviz-plots, which comes with the extra `plots`. Every function returns a `PlotCollection`.",
    ),
    "states": Group(
        "Hidden states",
        ("pymc_nrm.states", "pymc_nrm.states.plots"),
        "Time series whose regimes are unknown, and how many there are.",
    ),
    "nested": Group(
        "Nested partitions",
        ("pymc_nrm.nested", "pymc_nrm.nested.plots", "pymc_nrm.nested.testing"),
        "Trees of fixed depth over the items.",
    ),
    "growth": Group(
        "Growth mixtures",
        ("pymc_nrm.growth", "pymc_nrm.growth.plots"),
        "Trajectories of subjects, whose groups are unknown, and how many there are.",
    ),
    "networks": Group(
        "Networks",
        ("pymc_nrm.networks", "pymc_nrm.networks.plots"),
        "Networks and two-way tables, whose nodes, rows and columns are clustered by their pairs.",
    ),
    "trees": Group(
        "Trees", ("pymc_nrm.trees", "pymc_nrm.trees.bound_gradient"), "Bayesian hierarchical clustering, alone."
    ),
    "testing": Group(
        "Testing", ("pymc_nrm.testing",), "Checks of exactness, for families, measures and samplers of your own too."
    ),
    "datasets": Group("Data sets", ("pymc_nrm.datasets",), "Data that come with the package."),
    "versions": Group("Versions", ("pymc_nrm.versions",), "What to say about an installation: `nrm.show_versions()`."),
    "extending": Group(
        "Extending",
        (
            "pymc_nrm.kernels.generic",
            "pymc_nrm.families.base",
            "pymc_nrm.families.conjugate",
            "pymc_nrm.families.components",
            "pymc_nrm.families.fast",
            "pymc_nrm.families.arguments",
            "pymc_nrm.families.needs",
            "pymc_nrm.measures.base",
            "pymc_nrm.partitions.labels",
            "pymc_nrm.families.features",
        ),
        "What a new family, measure, move or step is made of: [](../../how-to/add-a-family.md), "
        "[](../../how-to/add-a-measure.md), [](../../how-to/add-a-step.md).",
    ),
}
_SHORT = ("measures", "families", "tree_families", "samplers", "posterior")
# Modules inside the rooms: the names that are described, None for all.
_CHOSEN = {
    "pymc_nrm.trees.bound_gradient": ("TreeBound",),
    "pymc_nrm.kernels.generic": ("generic", "kernel", "Kernel", "lacking", "precompile"),
    "pymc_nrm.families.base": None,
    "pymc_nrm.families.conjugate": None,
    "pymc_nrm.families.components": None,
    "pymc_nrm.families.fast": None,
    "pymc_nrm.families.arguments": None,
    "pymc_nrm.families.needs": ("check_needs", "is_family"),
    "pymc_nrm.measures.base": None,
    "pymc_nrm.families.features": ("features",),
    "pymc_nrm.partitions.labels": ("all_partitions", "canonical_labels", "is_canonical", "label_counts"),
}


def exports(module_name):
    """Names and objects that a module exports, in alphabetical order, without modules."""
    module = importlib.import_module(module_name)
    names = getattr(module, "__all__", ())
    if module_name in _CHOSEN:
        names = _CHOSEN[module_name] or _defined_in(module)
    pairs = [(name, getattr(module, name)) for name in names]
    return sorted(
        [(name, thing) for name, thing in pairs if not inspect.ismodule(thing)], key=lambda pair: pair[0].lower()
    )


def _defined_in(module):
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__ and thing.__doc__
    ]


def entries():
    """Everything public, each object once."""
    top = {id(thing): f"pymc_nrm.{name}" for name, thing in exports("pymc_nrm")}
    found = {}
    for group, spec in GROUPS.items():
        for module_name in spec.modules:
            for name, thing in exports(module_name):
                # What has one address at the top is known by it, tools by the module that says what they do.
                short = top.get(id(thing)) if group in _SHORT else None
                found.setdefault(id(thing), Entry(short or f"{module_name}.{name}", thing, group))
    for name, thing in exports("pymc_nrm"):
        found.setdefault(id(thing), Entry(f"pymc_nrm.{name}", thing, _group_of_class(thing)))
    found[id(Move)] = Entry("pymc_nrm.steps.Move", Move, "extending")
    found[id(PartitionStep)] = Entry("pymc_nrm.steps.base.PartitionStep", PartitionStep, "extending")
    return list(found.values())


def _group_of_class(thing):
    if isinstance(thing, type) and issubclass(thing, LabelStep):
        return "samplers"
    return "distributions" if isinstance(thing, type) else "sampling"


def short_names(entry):
    """Other names under which the package exports an object."""
    modules = [module for spec in GROUPS.values() for module in spec.modules]
    places = ["pymc_nrm", *[module for module in modules if module.split(".")[1] in pymc_nrm.__all__]]
    return [
        f"{place}.{name}"
        for place in places
        for name, thing in exports(place)
        if thing is entry.thing and f"{place}.{name}" != entry.name
    ]
