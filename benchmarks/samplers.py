"""All samplers of a partition side by side: effective sample sizes per second, time to stationarity, correctness.

Steps are called directly, without PyMC around them.
"""

from common.part import Part, where
from common.real_data_sets import load_all
from common.sampler_runs import SEQUENTIAL, TREE, Sampler, measure_set
from common.sampler_sets import SETS
from common.sampler_tables import sampler_headline, sampler_tables, trace_picture

import pymc_nrm as nrm

RESTRICTED = {"proposal": "restricted_gibbs"}
SAMPLERS = {
    "Gibbs": Sampler(nrm.steps.MarginalGibbs),
    "Gibbs on a tenth": Sampler(nrm.steps.MarginalGibbs, lambda n: {"n_items": n // 10}),
    "slice": Sampler(nrm.steps.SliceSampler),
    SEQUENTIAL: Sampler(nrm.steps.SplitMerge),
    "split-merge, restricted Gibbs": Sampler(nrm.steps.SplitMerge, lambda n: RESTRICTED),
    "split-merge and Gibbs on a tenth": Sampler(nrm.steps.SplitMerge, lambda n: RESTRICTED | {"n_items": n // 10}),
    "published tree-guided (biased)": Sampler(nrm.published.PublishedTreeGuided, exact=False),
    TREE: Sampler(nrm.steps.TreeGuided),
}
QUICK_SETS = ("toy", "x1000")
QUICK_SAMPLERS = (SEQUENTIAL, "split-merge, restricted Gibbs", "published tree-guided (biased)", TREE)


def measure(quick, note, sets=None, methods=None):
    rows = []
    names = methods or (QUICK_SAMPLERS if quick else SAMPLERS)
    for set_name, data in load_all(sets or (QUICK_SETS if quick else SETS), note, lambda name: SETS[name]()).items():
        if quick:
            data = data._replace(n_chains=2, tune=100, reference=1.0, bad=1.0, good=0.7, alone=False)
        left_out = [name for name in names if name.startswith(data.without)] if data.without else []
        if left_out:
            note(f"{set_name}: {', '.join(left_out)} left out, since it needs minutes per draw")
        rows += measure_set(set_name, data, {name: SAMPLERS[name] for name in names if name not in left_out}, note)
    return rows


def pictures(rows, folder):
    found = {}
    for row in where(rows, kind="reference"):
        found |= trace_picture(rows, row, folder / f"samplers_{row['set']}.png")
    return found


OPTIONS = {"sets": SETS, "methods": SAMPLERS}
MEANING = (
    "The tree-guided step pays off on the way to the posterior (animals, 10k, documents).  In stationarity plain Gibbs "
    "sweeps give more effective samples where clusters are far apart, but do not mix on animals.  Longer chains of the "
    "slice sampler on 10k agree.  The published sampler is biased: its effective sample size, in brackets, means "
    "nothing."
)
PART = Part("samplers", measure, sampler_tables, pictures, sampler_headline, OPTIONS, MEANING)
