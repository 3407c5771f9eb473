"""Trees of items with known classes at several levels: agreement by level and time, against SciPy and HDBSCAN."""

from functools import partial

import numpy as np
from common import tree_methods
from common.part import Part, columns, groups, markdown, rows_to_keep, skipping, where
from common.real_data_sets import load_all
from common.tree_sets import SETS

import pymc_nrm as nrm

OURS, PUBLISHED = "NormalDiffusion", "published model"
SHOWN = {"purity": "purity", "normalized_mutual_information": "NMI", "adjusted_rand": "ARI", "f_measure": "F"}


def best_levels(row):
    """Levels of a method, or of its binary tree cut into as many clusters as there are classes."""
    return row.get("own") or row["at_truth"]


def table(rows):
    shown = {"Set": "set", "n x d": lambda row: f"{row['n']} x {row['d']}"}
    shown |= {"classes by level": lambda row: _joined(row["classes"]), "data; classes": "about"}
    text = (
        "Agreement of trees with classes that are known at two or three levels, level 1 first.  NormalDiffusion learns "
        "alpha ~ Gamma(2, 2) and one tau ~ LogNormal(1, 1) for all levels; the published model has the "
        "concentrations of its paper.  Their levels are the nested partitions of least expected variation of "
        "information, from two chains of 300 draws after 300 of tuning (150 from 1000 items on).  "
        "HDBSCAN has the levels of its condensed tree, with noise as single items.  Binary trees are cut into as many "
        "clusters as there are classes, which their users would not know.  BHC and IBHC use `NormalWishart.from_data`. "
        " Real features are standardised; principal components are not.  NMI is divided by the arithmetic mean of the "
        "entropies.  Clusters of single items are pure: read purity with the number of clusters.\n\n"
    )
    text += columns([here[-1] for here in groups(rows, "set").values()], shown)
    for key, title in SHOWN.items():
        text += f"\n**{title}, level by level**; the best of a level is bold.\n\n" + _agreement(rows, key, best_levels)
    text += "\n**Clusters, level by level.**\n\n"
    text += _by_set(rows, lambda row, _: _joined(level["n_clusters"] for level in best_levels(row)))
    text += (
        "\n**Whole trees**: dendrogram purity for the classes of each level; and the share of triplets of items whose "
        "closest pair is that of the true tree.  Nodes of several children leave triplets open, which count as wrong."
        "\n\n" + _by_set(rows, _whole_tree)
    )
    cut = [row for row in rows if row.get("at_ours")]
    at_ours = _agreement(cut, "adjusted_rand", lambda row: row["at_ours"])
    text += f"\n**Binary trees cut into as many clusters as {OURS} has: ARI, level by level.**\n\n{at_ours}"
    text += (
        "\n**Posterior of the sampled models**: expectation over draws of the ARI of each level; R-hat of the log joint"
        " density; mean number of nodes by level; sets of items that more than half of the draws have as a node; and, "
        "of the published model, the components, against the classes of the last level.\n\n" + _posterior(rows)
    )
    text += "\n**CPU seconds** of one core, with the compilation of models, without that of kernels.\n\n"
    text += _by_set(rows, lambda row, _: row["seconds"])
    return text


def _by_set(rows, cell):
    """One line for each set and one column for each method, of cells from a row and all rows of its set."""
    sets, methods = groups(rows, "set"), groups(rows, "method")
    lines = []
    for name, here in sets.items():
        found = {row["method"]: cell(row, here) for row in here}
        lines.append([name, *(found.get(method) for method in methods)])
    return markdown(["Set", *methods], lines)


def _agreement(rows, key, levels):
    """Agreement level by level, the best of each level bold."""

    def cell(row, here):
        texts = [f"{level[key]:.2f}" for level in levels(row)]
        best = [max(f"{level[key]:.2f}" for level in found) for found in zip(*map(levels, here), strict=True)]
        return ", ".join(f"**{text}**" if text == top else text for text, top in zip(texts, best, strict=True))

    return _by_set(rows, cell)


def _whole_tree(row, _):
    purity = ", ".join(f"{value:.2f}" for value in row["dendrogram_purity"])
    return f"{purity}; {row['triplet_accuracy']:.2f}"


def _posterior(rows):
    def components(row):
        found = row.get("components")
        return found and f"{found['n_clusters']} (ARI {found['adjusted_rand']:.2f})"

    shown = {
        "Set": "set",
        "Model": "method",
        "E ARI": lambda row: ", ".join(f"{level['adjusted_rand']:.2f}" for level in row["expected"]),
        "R-hat": lambda row: f"{row['rhat']:.2f}",
        "nodes": lambda row: ", ".join(f"{value:.1f}" for value in row["nodes"]),
        "sets above 1/2": "sets_above_half",
        "components": components,
    }
    return columns([row for row in rows if "expected" in row], shown)


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
