"""Tables and claims of ``trees_of_items`` from its rows."""

from common.part import columns, groups, markdown

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
