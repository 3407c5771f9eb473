"""All samplers of a partition side by side: effective sample sizes per second, time to stationarity, correctness.

``python benchmarks/samplers.py [--quick] [--output FOLDER] [--sets toy,10k] [--only tree,Gibbs]``; ``--only`` names
samplers or parts of their names.  Steps are called directly, without PyMC around them.
"""

import common.one_core  # noqa: F401

# isort: split

from common.part import Part
from common.sampler_pictures import efficiency_picture, trace_picture
from common.sampler_runs import SEQUENTIAL, TREE, Sampler, measure_set
from common.sampler_sets import SETS, load
from common.sampler_tables import sampler_headline, sampler_tables

import pymc_nrm as nrm

SAMPLERS = {
    "Gibbs": Sampler(nrm.MarginalGibbs),
    "Gibbs on a tenth": Sampler(nrm.MarginalGibbs, lambda n: {"n_items": n // 10}),
    "slice": Sampler(nrm.SliceSampler),
    SEQUENTIAL: Sampler(nrm.SplitMerge),
    "split-merge, restricted Gibbs": Sampler(nrm.SplitMerge, lambda n: {"proposal": "restricted_gibbs"}),
    "split-merge and Gibbs on a tenth": Sampler(
        nrm.SplitMerge, lambda n: {"proposal": "restricted_gibbs", "n_items": n // 10}
    ),
    "published tree-guided (biased)": Sampler(nrm.published.PublishedTreeGuided, exact=False),
    TREE: Sampler(nrm.TreeGuided),
}

QUICK_SETS = ("toy", "x1000")
QUICK_SAMPLERS = (SEQUENTIAL, "split-merge, restricted Gibbs", "published tree-guided (biased)", TREE)


def add_arguments(parser):
    parser.add_argument("--sets", default="", help=f"some of {','.join(SETS)}, separated by commas; all by default")
    parser.add_argument("--only", default="", help="samplers, or parts of their names, separated by commas")


def choose(names, wanted):
    """Names that are wanted, or contain a wanted part that is not itself a name; all if nothing is wanted."""
    parts = [part.strip() for part in wanted.split(",") if part.strip()]
    for part in parts:
        if not any(part in name for name in names):
            raise SystemExit(f"{part!r} is not part of any of: {'; '.join(names)}")
    return [
        name for name in names if not parts or name in parts or any(part in name for part in parts if part not in names)
    ]


def measure(quick, note, sets="", only=""):
    rows = []
    names = choose(SAMPLERS, only) if only or not quick else QUICK_SAMPLERS
    for set_name in choose(SETS, sets) if sets or not quick else QUICK_SETS:
        data = load(set_name, note)
        if data is None:
            continue
        if quick:
            data = data._replace(n_chains=2, tune=100, reference=1.0, bad=1.0, good=0.7, alone=False)
        left_out = [name for name in names if name.startswith(data.without)] if data.without else []
        if left_out:
            note(f"{set_name}: {', '.join(left_out)} left out, since it needs minutes per draw")
        rows += measure_set(set_name, data, {name: SAMPLERS[name] for name in names if name not in left_out}, note)
    return rows


def pictures(rows, folder):
    found = {}
    for row in rows:
        if row["kind"] == "reference":
            traces = [trace for trace in rows if trace["kind"] == "trace" and trace["set"] == row["set"]]
            found |= trace_picture(traces, row, folder / f"samplers_{row['set']}.png")
    return found | efficiency_picture(rows, folder / "samplers_efficiency.png")


PART = Part("samplers", measure, sampler_tables, pictures, add_arguments, sampler_headline)

if __name__ == "__main__":
    PART.main()
