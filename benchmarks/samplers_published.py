"""The published tree-guided sampler with several numbers of global moves and levels, and the exact one.

``python benchmarks/samplers_published.py [--quick] [--output FOLDER]``.  Set and figures are those of ``samplers.py``.
"""

import common.one_core  # noqa: F401

# isort: split

from common.part import Part
from common.sampler_pictures import trace_picture
from common.sampler_runs import TREE, Sampler, measure_set
from common.sampler_sets import load
from common.sampler_tables import published_table

import pymc_nrm as nrm


def samplers(global_moves, levels):
    """The published sampler with G global moves and D levels of local moves per draw, and the exact sampler."""
    found = {
        f"published (biased), G = {n_global}, D = {n_levels}": Sampler(
            nrm.published.PublishedTreeGuided,
            lambda n, g=n_global, d=n_levels: {"n_global": g, "n_levels": d},
            exact=False,
        )
        for n_global in global_moves
        for n_levels in levels
    }
    return found | {TREE: Sampler(nrm.TreeGuided)}


def measure(quick, note):
    data = load("toy", note)
    if data is None:
        return []
    chosen = samplers((5, 20), (0, 2)) if quick else samplers((5, 20, 80), (0, 2, 4))
    seconds = {"reference": 1.0, "bad": 1.5, "good": 1.0} if quick else {"reference": 2.0, "bad": 3.0, "good": 4.0}
    data = data._replace(n_chains=1, tune=50 if quick else 100, alone=False, **seconds)
    return measure_set("toy", data, chosen, note)


def pictures(rows, folder):
    references = [row for row in rows if row["kind"] == "reference"]
    traces = [row for row in rows if row["kind"] == "trace"]
    return trace_picture(traces, references[0], folder / "samplers_published_toy.png") if references else {}


PART = Part("samplers_published", measure, published_table, pictures)

if __name__ == "__main__":
    PART.main()
