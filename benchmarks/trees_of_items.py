"""Trees of items with known classes at several levels: agreement by level and time, against SciPy and HDBSCAN."""

from functools import partial

import numpy as np
from common import tree_methods
from common.part import Part, groups, markdown, rows_to_keep, skipping, where
from common.real_data_sets import load_all
from common.tree_sets import SETS

import pymc_nrm as nrm

OURS, PUBLISHED = "NormalDiffusion", "published model"


def best_levels(row):
    """Levels of a method, or of its binary tree cut into as many clusters as there are classes."""
    return row.get("own") or row["at_truth"]


def table(rows):
    methods, lines = list(groups(rows, "method")), []
    for name, here in groups(rows, "set").items():
        found = {row["method"]: row for row in here}
        best = [max(level, key=float) for level in zip(*map(_indices, here), strict=True)]
        size = f"{name}, {here[0]['n']} x {here[0]['d']}: {_joined(here[-1]['classes'])}"
        lines.append([size, *(_agreement(found.get(method), best) for method in methods)])
        if OURS in found:
            lines[-1].append(_joined(level["n_clusters"] for level in found[OURS]["own"]))
    text = (
        "Adjusted Rand index with classes that are known at two or three levels, level 1 first; the best of a level is "
        f"bold.  {OURS} learns alpha and one tau; the published model is that of Huang et al. (2020); of both the "
        "point estimate of two chains of 300 draws (150 from 1000 items on).  Binary trees are cut into as many "
        "clusters as there are classes, which users would not know.  *diffusion*: simulated with normal steps; *heavy "
        "tails*: t noise, and a covariance for each leaf.\n\n"
    )
    text += markdown(["Set: classes by level", *methods, f"nodes of {OURS}"], lines)
    for method in (OURS, PUBLISHED):
        if here := where(rows, method=method):
            rhat, seconds = max(row["rhat"] for row in here), [row["seconds"] for row in here]
            text += (
                f"\n{method}: R-hat of the log joint up to {rhat:.2f}, {min(seconds):.0f} to {max(seconds):.0f} CPU s."
            )
    return f"{text}\n"


def _agreement(row, best):
    """Agreement level by level, the best of each level bold."""
    if row is None:
        return None
    return _joined(f"**{text}**" if text == top else text for text, top in zip(_indices(row), best, strict=True))


def _indices(row):
    return [f"{level['adjusted_rand']:.2f}" for level in best_levels(row)]


def _joined(values):
    return ", ".join(str(value) for value in values)


def headline(rows):
    """How often the tree of diffusions agrees with the classes as well as the best of all others."""
    sets = groups(rows, "set")
    wins, total = 0, 0
    for found in sets.values():
        here = {row["method"]: [level["adjusted_rand"] for level in best_levels(row)] for row in found}
        if OURS not in here or len(here) < 2:
            continue
        for level, value in enumerate(here[OURS]):
            total += 1
            wins += value >= max(found[level] for method, found in here.items() if method != OURS) - 0.02
    if not total:
        return []
    claim = f"Trees of items: ARI of {OURS} within 0.02 of the best other method, told the numbers of classes"
    return [(claim, f"{wins} of {total} levels of {len(sets)} sets", None, None)]


METHODS = {
    OURS: tree_methods.diffusion,
    PUBLISHED: tree_methods.published,
    "IBHC": partial(tree_methods.binary, grow=nrm.trees.ibhc),
    "BHC": partial(tree_methods.binary, grow=nrm.trees.bhc),
    "Ward": partial(tree_methods.linkage, method="ward"),
    "average linkage": partial(tree_methods.linkage, method="average"),
    "HDBSCAN": tree_methods.hdbscan,
}
QUICK_SETS = ("animals",)
MEASURES = ("purity", "normalized_mutual_information", "adjusted_rand", "f_measure")


def measure(quick, note, sets=None, methods=None):
    chosen = sets or (QUICK_SETS if quick else SETS)
    rows = rows_to_keep("trees_of_items", quick, note, sets, methods)
    for name, data in load_all(chosen, note, lambda name: SETS[name]()).items():
        for label in methods or METHODS:
            with skipping(label, note):
                found = METHODS[label](data, 1)
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
        draws = nrm.stats.levels(found.draws)[:, :: max(1, found.draws.posterior.sizes["draw"] // 50)]
        expected = nrm.nested.level_agreement(draws, data.truth).mean(("chain", "draw"))
        row["expected"] = [
            {name: float(expected[name][level]) for name in ("n_clusters", *MEASURES)} for level in range(len(classes))
        ]
        if label == PUBLISHED:
            components = nrm.stats.component_draws(found.draws)
            labels = nrm.point_estimate(components, random_seed=1, progressbar=False).labels.values
            row["components"] = by_level(labels[None], data.truth[-1:])[0]
    row["dendrogram_purity"] = [nrm.nested.dendrogram_purity(found.tree, level) for level in data.truth]
    row["triplet_accuracy"] = nrm.nested.triplet_accuracy(found.tree, nrm.nested.ItemTree.from_levels(data.truth))
    return row


def by_level(labels, truth):
    """Measures of each level, as a list of dicts."""
    found = nrm.nested.level_agreement(labels, truth)
    return [
        {"n_clusters": int(found.n_clusters[level])} | {name: float(found[name][level]) for name in MEASURES}
        for level in range(len(truth))
    ]


OPTIONS = {"sets": SETS, "methods": METHODS}
MEANING = (
    "Trees of diffusions are best where steps are normal or clusters differ in shape (crabs); heavy tails become many "
    "leaves.  The tree of the published model does not know of the data."
)
PART = Part("trees_of_items", measure, table, None, headline, OPTIONS, MEANING, peers=("scipy", "hdbscan"))
