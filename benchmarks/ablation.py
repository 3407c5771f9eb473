"""The tree-guided cycle without some of its moves: time to stationarity and effective samples per second.

``python benchmarks/ablation.py [--quick] [--output FOLDER] [--sets toy,10k]``.  Figures are those of ``samplers.py``.
"""

import common.one_core  # noqa: F401

# isort: split

from functools import partial

import numpy as np
from common.part import Part, rows_to_keep
from common.real_data_sets import load_all
from common.sampler_runs import TREE, Sampler, measure_set
from common.sampler_sets import SETS, Set, load
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
REAL = {
    "digits": ("digits, 10 components", nrm.NormalWishart.from_data),
    "newsgroups": ("newsgroups", lambda X: nrm.BernoulliBeta(0.5, 0.5)),
    "pixels": ("digits, pixels", lambda X: nrm.PoissonGamma(0.5, 0.5 / np.maximum(X.mean(axis=0), 0.05))),
}


def variants():
    """The step with each choice of moves."""
    options = {name: {"moves": dict.fromkeys(moves, 0)} for name, moves in LEFT_OUT.items()}
    return {
        name: Sampler(nrm.TreeGuided, partial(lambda n, chosen: chosen, chosen=option))
        for name, option in options.items()
    }


def real_set(name, note):
    """A real set of at most 2000 items, with hyperparameters fixed, or None if it is not there."""
    source, family = REAL[name]
    found = load_all([source], note)
    if not found:
        return None
    X = found[source].values
    if source != "digits, 10 components":
        X = X.astype(np.int64)
    title = f"{source}, {X.shape[0]} x {X.shape[1]}, DP(1)"
    times = {"n_chains": 1, "tune": 60, "reference": 15.0, "bad": 12.0, "good": 8.0}
    return Set(title, X, nrm.DirichletProcess(1.0), family(X), margin=20.0, alone=False, **times)


def measure(quick, note, sets=""):
    names = [name for name in sets.split(",") if name] or (["toy"] if quick else [*SETS, *REAL])
    rows = rows_to_keep("ablation", quick, sets and names, None)
    if rows:
        note("Measured in several runs: the times above are those of the last.")
    for name in names:
        data = real_set(name, note) if name in REAL else load(name, note)
        if data is None:
            continue
        if quick:
            data = data._replace(n_chains=1, tune=50, reference=0.7, bad=0.7, good=0.4, alone=False)
        rows += measure_set(name, data, variants(), note)
    order = [*SETS, *REAL]
    return sorted(rows, key=lambda row: order.index(row["set"]))


def add_arguments(parser):
    parser.add_argument("--sets", default="", help=f"some of {','.join([*SETS, *REAL])}, separated by commas")


PART = Part("ablation", measure, ablation_table, add_arguments=add_arguments)

if __name__ == "__main__":
    PART.main()
