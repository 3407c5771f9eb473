"""Trees of items with known classes at several levels: agreement by level and time, against SciPy and HDBSCAN.

Run with ``python benchmarks/trees_of_items.py [--quick] [--sets SET ...] [--methods METHOD ...]``.
"""

import common  # noqa: F401
import numpy as np
from common import tree_methods
from common.part import Part, rows_to_keep, skipping, where
from common.real_data_sets import load_all
from common.tree_report import OURS, PUBLISHED, headline, table
from common.tree_sets import SETS
from peers import linkages

import pymc_nrm as nrm

METHODS = {
    OURS: tree_methods.diffusion,
    PUBLISHED: tree_methods.published,
    "IBHC": tree_methods.ibhc,
    "BHC": tree_methods.bhc,
    "Ward": linkages.ward,
    "average linkage": linkages.average,
    "HDBSCAN": linkages.hdbscan,
}
QUICK_SETS = ("animals",)
MEASURES = ("purity", "normalized_mutual_information", "adjusted_rand", "f_measure")


def measure(quick, note, sets=None, methods=None):
    chosen = sets or (QUICK_SETS if quick else SETS)
    rows = rows_to_keep("trees_of_items", quick, note, sets, methods)
    absent = set()
    for name, data in load_all(chosen, note, lambda name: SETS[name]()).items():
        for label in methods or METHODS:
            if label in absent:
                continue
            absent.add(label)
            with skipping(label, note):
                found = METHODS[label](data, 1)
                absent.remove(label)
                ours = where(rows, set=name, method=OURS)
                counts = [level["n_clusters"] for level in ours[0]["own"]] if ours else None
                rows.append(evaluated(data, label, found, counts))
                print(rows[-1], flush=True)
    return sorted(rows, key=lambda row: (list(SETS).index(row["set"]), list(METHODS).index(row["method"])))


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


OPTIONS = {"sets": SETS, "methods": METHODS}
PART = Part("trees_of_items", measure, table, None, headline, OPTIONS)

if __name__ == "__main__":
    PART.main()
