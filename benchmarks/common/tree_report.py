"""Tables and claims of ``trees_of_items`` from its rows."""

from common.part import markdown

OURS, PUBLISHED = "NormalDiffusion", "published model"
SHOWN = {
    "purity": "purity",
    "normalized_mutual_information": "NMI",
    "adjusted_rand": "ARI",
    "f_measure": "F",
}


def best_levels(row):
    """Levels of a method, or of its binary tree cut into as many clusters as there are classes."""
    return row.get("own") or row["at_truth"]


def table(rows):
    sets = {row["set"]: row for row in rows}
    described = [
        [name, f"{row['n']} x {row['d']}", _joined(row["classes"]), row["about"]] for name, row in sets.items()
    ]
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
    text += markdown(["Set", "n x d", "classes by level", "data; classes"], described)
    for key, title in SHOWN.items():
        text += f"\n**{title}, level by level**; the best of a level is bold.\n\n" + _by_set(rows, key)
    text += "\n**Clusters, level by level.**\n\n" + _by_set(rows, "n_clusters")
    text += (
        "\n**Whole trees**: dendrogram purity for the classes of each level; and the share of triplets of items whose "
        "closest pair is that of the true tree.  Nodes of several children leave triplets open, which count as wrong."
        "\n\n" + _whole_trees(rows)
    )
    at_ours = _by_set(rows, "adjusted_rand", "at_ours")
    text += f"\n**Binary trees cut into as many clusters as {OURS} has: ARI, level by level.**\n\n{at_ours}"
    text += (
        "\n**Posterior of the sampled models**: expectation over draws of the ARI of each level; R-hat of the log joint"
        " density; mean number of nodes by level; sets of items that more than half of the draws have as a node; and, "
        "of the published model, the components, against the classes of the last level.\n\n" + _posterior(rows)
    )
    text += "\n**CPU seconds** of one core, with the compilation of models, without that of kernels.\n\n" + _seconds(
        rows
    )
    return text


def _methods(rows):
    return list(dict.fromkeys(row["method"] for row in rows))


def _by_set(rows, key, cut=None):
    methods = [
        method
        for method in _methods(rows)
        if any(row["method"] == method and (cut is None or row.get(cut)) for row in rows)
    ]
    lines = []
    for name in dict.fromkeys(row["set"] for row in rows):
        here = {row["method"]: row for row in rows if row["set"] == name}
        levels = {
            method: [level[key] for level in (best_levels(row) if cut is None else row[cut])]
            for method, row in here.items()
            if cut is None or row.get(cut)
        }
        if not levels:
            continue
        depth = len(next(iter(levels.values())))
        top = [max(f"{found[level]:.2f}" for found in levels.values()) for level in range(depth)]
        cells = [name]
        for method in methods:
            found = levels.get(method)
            if found is None:
                cells.append(None)
            elif key == "n_clusters":
                cells.append(_joined(found))
            else:
                texts = [f"{value:.2f}" for value in found]
                cells.append(", ".join(f"**{t}**" if t == best else t for t, best in zip(texts, top, strict=True)))
        lines.append(cells)
    return markdown(["Set", *methods], lines)


def _whole_trees(rows):
    methods, lines = _methods(rows), []
    for name in dict.fromkeys(row["set"] for row in rows):
        here = {row["method"]: row for row in rows if row["set"] == name}
        cells = [name]
        for method in methods:
            row = here.get(method)
            purity = row and ", ".join(f"{value:.2f}" for value in row["dendrogram_purity"])
            cells.append(row and f"{purity}; {row['triplet_accuracy']:.2f}")
        lines.append(cells)
    return markdown(["Set", *methods], lines)


def _posterior(rows):
    lines = []
    for row in rows:
        if "expected" not in row:
            continue
        expected = ", ".join(f"{level['adjusted_rand']:.2f}" for level in row["expected"])
        nodes = ", ".join(f"{value:.1f}" for value in row["nodes"])
        found = row.get("components")
        components = found and f"{found['n_clusters']} (ARI {found['adjusted_rand']:.2f})"
        lines.append(
            [row["set"], row["method"], expected, f"{row['rhat']:.2f}", nodes, row["sets_above_half"], components]
        )
    return markdown(["Set", "Model", "E ARI", "R-hat", "nodes", "sets above 1/2", "components"], lines)


def _seconds(rows):
    methods, lines = _methods(rows), []
    for name in dict.fromkeys(row["set"] for row in rows):
        here = {row["method"]: row["seconds"] for row in rows if row["set"] == name}
        lines.append([name, *(here.get(method) for method in methods)])
    return markdown(["Set", *methods], lines)


def _joined(values):
    return ", ".join(str(value) for value in values)


def headline(rows):
    """How often the tree of diffusions agrees with the classes as well as the best of all others."""
    names = list(dict.fromkeys(row["set"] for row in rows))
    wins, total = 0, 0
    for name in names:
        here = {
            row["method"]: [level["adjusted_rand"] for level in best_levels(row)] for row in rows if row["set"] == name
        }
        if OURS not in here or len(here) < 2:
            continue
        for level, value in enumerate(here[OURS]):
            total += 1
            wins += value >= max(found[level] for method, found in here.items() if method != OURS) - 0.02
    if not total:
        return []
    claim = f"Trees of items: ARI of {OURS} within 0.02 of the best other method, told the numbers of classes"
    return [(claim, f"{wins} of {total} levels of {len(names)} sets", None, None)]
