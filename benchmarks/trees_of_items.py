"""Trees of items with known classes at several levels: agreement by level and time, against SciPy and HDBSCAN.

Run with ``python benchmarks/trees_of_items.py [--quick] [--sets SET ...] [--methods METHOD ...]``.
"""

import common.one_core  # noqa: F401

# isort: split


import numpy as np
from common import tree_methods as ours
from common.part import Part, rows_to_keep
from common.tree_report import OURS, PUBLISHED, headline, table
from common.tree_sets import SETS, load_all
from peers import linkages

import pymc_nrm as nrm

METHODS = {
    OURS: ours.diffusion,
    PUBLISHED: ours.published,
    "IBHC": ours.ibhc,
    "BHC": ours.bhc,
    "Ward": linkages.ward,
    "average linkage": linkages.average,
    "HDBSCAN": linkages.hdbscan,
}
QUICK_SETS = ("animals",)
MEASURES = ("purity", "normalized_mutual_information", "adjusted_rand", "f_measure")


def measure(quick, note, sets=None, methods=None):
    chosen = sets or (QUICK_SETS if quick else SETS)
    stored = rows_to_keep("trees_of_items", quick, sets, methods)
    rows = [row for row in stored if row["set"] in SETS and row["method"] in METHODS]
    if rows:
        note("Measured in several runs: the times above are those of the last.")
    absent, counts = set(), {}
    for row in rows:
        if row["method"] == OURS:
            counts[row["set"]] = [level["n_clusters"] for level in row["own"]]
    for name, data in load_all(chosen, note).items():
        for label in methods or METHODS:
            if label in absent:
                continue
            try:
                found = METHODS[label](data, 1)
            except ImportError as error:
                note(f"{label} skipped: {error.name} is not installed")
                absent.add(label)
                continue
            row = evaluated(data, label, found, counts.get(name))
            if label == OURS:
                counts[name] = [level["n_clusters"] for level in row["own"]]
            rows.append(row)
            agreement = {
                key: [round(level["adjusted_rand"], 2) for level in row.get(key, [])] for key in ("own", "at_truth")
            }
            print(f"{name}: {label}: {agreement}, {row['seconds']:.1f} s", flush=True)
    order = list(SETS)
    return sorted(rows, key=lambda row: (order.index(row["set"]), list(METHODS).index(row["method"])))


def evaluated(data, label, found, counts):
    """One row: agreement by level, with the levels of the method itself or with cuts of its binary tree."""
    classes = [len(np.unique(level)) for level in data.truth]
    row = {"set": data.name, "about": data.about, "n": len(data.X), "d": data.X.shape[1], "classes": classes}
    row |= {"method": label, "seconds": found.seconds} | found.about
    if found.levels is not None:
        row["own"] = by_level(found.levels, data.truth)
    if found.linkage is not None:
        row["at_truth"] = by_level(found.cut(classes), data.truth)
        if counts:
            row["at_ours"] = by_level(found.cut(counts), data.truth)
    if found.draws is not None:
        draws = nrm.levels(found.draws)[:, :: max(1, found.draws.posterior.sizes["draw"] // 50)]
        expected = nrm.stats.level_agreement(draws, data.truth).mean(("chain", "draw"))
        row["expected"] = [
            {name: float(expected[name][level]) for name in ("n_clusters", *MEASURES)} for level in range(len(classes))
        ]
        if label == PUBLISHED:
            components = nrm.stats.component_draws(found.draws)
            labels = nrm.point_estimate(components, random_seed=1, progressbar=False).labels.values
            row["components"] = by_level(labels[None], data.truth[-1:])[0]
    row["dendrogram_purity"] = [nrm.stats.dendrogram_purity(found.tree, level) for level in data.truth]
    row["triplet_accuracy"] = nrm.stats.triplet_accuracy(found.tree, nrm.stats.ItemTree.from_levels(data.truth))
    return row


def by_level(labels, truth):
    """Measures of each level, as a list of dicts."""
    found = nrm.stats.level_agreement(labels, truth)
    return [
        {"n_clusters": int(found.n_clusters[level])} | {name: float(found[name][level]) for name in MEASURES}
        for level in range(len(truth))
    ]


def add_arguments(parser):
    parser.add_argument("--sets", nargs="+", metavar="SET", choices=SETS, help="these only; other rows are kept")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", choices=METHODS, help="these only, likewise")


PART = Part("trees_of_items", measure, table, None, add_arguments, headline)

if __name__ == "__main__":
    PART.main()
