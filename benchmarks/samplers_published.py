"""The published tree-guided sampler with several numbers of global moves and levels, and the exact one.

Set and figures are those of ``samplers.py``.
"""

import itertools

from common.part import Part, skipping, where
from common.sampler_runs import TREE, Sampler, measure_set
from common.sampler_sets import toy
from common.sampler_tables import published_table, trace_picture

import pymc_nrm as nrm


def measure(quick, note):
    rows, samplers = [], {}
    for n_global, n_levels in (
        itertools.product((5, 20), (0, 2)) if quick else itertools.product((5, 20, 80), (0, 2, 4))
    ):
        options = {"n_global": n_global, "n_levels": n_levels}
        name = f"published (biased), G = {n_global}, D = {n_levels}"
        samplers[name] = Sampler(nrm.published.PublishedTreeGuided, lambda n, options=options: options, exact=False)
    seconds = {"reference": 1.0, "bad": 1.5, "good": 1.0} if quick else {"reference": 2.0, "bad": 3.0, "good": 4.0}
    with skipping("set toy", note):
        data = toy()._replace(n_chains=1, tune=50 if quick else 100, alone=False, **seconds)
        rows += measure_set("toy", data, samplers | {TREE: Sampler(nrm.TreeGuided)}, note)
    return rows


def pictures(rows, folder):
    [reference] = where(rows, kind="reference")
    return trace_picture(rows, reference, folder / "samplers_published_toy.png")


PART = Part("samplers_published", measure, published_table, pictures)
