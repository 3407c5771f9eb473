"""The tree-guided cycle without some of its moves: time to stationarity and effective samples per second.

Figures are those of ``samplers.py``.
"""

from common.part import Part, rows_to_keep
from common.real_data_sets import load_all
from common.sampler_runs import TREE, Sampler, measure_set
from common.sampler_sets import REAL, SETS
from common.sampler_tables import ablation_table

import pymc_nrm as nrm

INFORMED, NODES, BLOCKS = "informed_split_merge", "tree_split_merge", "subtree_gibbs"
# Moves that a variant leaves out; Gibbs updates of items remain.
LEFT_OUT = {
    TREE: (),
    "without informed splits and merges": (INFORMED,),
    "without splits and merges of nodes": (NODES,),
    "without Gibbs updates of blocks": (BLOCKS,),
    "informed splits and merges only": (NODES, BLOCKS),
    "splits and merges of nodes only": (INFORMED, BLOCKS),
    "blocks only": (INFORMED, NODES),
    "items only": (INFORMED, NODES, BLOCKS),
}
EVERY = SETS | REAL


def measure(quick, note, sets=None):
    rows = rows_to_keep("ablation", quick, note, sets)
    variants = {
        name: Sampler(nrm.steps.TreeGuided, lambda n, moves=moves: {"moves": dict.fromkeys(moves, 0)})
        for name, moves in LEFT_OUT.items()
    }
    for name, data in load_all(sets or (["toy"] if quick else EVERY), note, lambda name: EVERY[name]()).items():
        if quick:
            data = data._replace(n_chains=1, tune=50, reference=0.7, bad=0.7, good=0.4, alone=False)
        # No picture shows traces.
        rows += [row for row in measure_set(name, data, variants, note) if row["kind"] != "trace"]
    return sorted(rows, key=lambda row: list(EVERY).index(row["set"]))


MEANING = (
    "Each kind of move is needed somewhere on the way: items alone never arrive on animals and 10k, and animals need "
    "blocks.  In stationarity moves along the tree gain nothing where clusters are far apart."
)
PART = Part("ablation", measure, ablation_table, options={"sets": EVERY}, meaning=MEANING)
