"""All parts of the benchmarks, in the order in which they run and are reported."""

import importlib

from common.part import Part

NAMES = (
    "accuracy",
    "gibbs_sweep",
    "samplers",
    "samplers_published",
    "ablation",
    "stock_pymc",
    "labels_as_index",
    "held_out",
    "real_data",
    "agreement_of_chains",
    "documents",
    "trees_of_items",
    "nested_sweeps",
    "latency",
    "memory",
    "scaling",
    "large",
)


def load(name):
    """The part that a script defines."""
    part = getattr(importlib.import_module(name), "PART", None)
    if not isinstance(part, Part) or part.name != name:
        raise ValueError(f"benchmarks/{name}.py must define PART = Part({name!r}, ...) on its top level")
    return part
