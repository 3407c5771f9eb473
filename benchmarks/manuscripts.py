"""Tables of the manuscripts in ``docs/paper`` and of pages beside them, from stored results.

Run with ``python benchmarks/manuscripts.py``; tests compare the tables with the texts.
"""

import json

from common.part import RESULTS, markdown, where
from hidden_state_peers import COST, RATE, found_text

PAPER = RESULTS.parents[1] / "docs" / "paper"
SHOWN = ("Gibbs", "split-merge, sequential", "tree-guided")
SETS = ("toy", "closer", "animals", "10k")


def stored(name):
    return json.loads((RESULTS / f"{name}.json").read_text())


def number(value):
    """A figure between 0 and 1 without its zero."""
    return f"{value:.3f}".removeprefix("0")


def with_noise(row):
    """Total variation, and in brackets what noise alone gives."""
    return f"{number(row['variation'])} ({number(row['noise'])})"


def signed(value):
    """A difference with two decimals, without the sign of zero."""
    return f"{value:+.2f}".replace("-0.00", "0.00").replace("+0.00", "0.00")


def tree_guided_distances():
    rows = where(json.loads((PAPER / "distances.json").read_text()), sampler="tree-guided")
    cases = list(dict.fromkeys(row["case"] for row in rows))
    lines = []
    for form, measure in dict.fromkeys((row["form"], row["measure"]) for row in rows):
        own = {row["case"]: row for row in where(rows, form=form, measure=measure)}
        lines.append([f"{form}, {measure}", *(with_noise(own[case]) for case in cases)])
    return markdown(["", *(f"{case}, counts" for case in cases)], sorted(lines))


def nested_distances():
    rows = [row for row in json.loads((PAPER / "distances.json").read_text()) if "case" in row]
    rows, lines = where(rows, sampler="nested"), []
    for published, exact in zip(where(rows, form="published"), where(rows, form="exact form"), strict=True):
        n, depth = published["case"].replace(" items, depth", "").split()
        cells = [
            ", ".join(f"{x:g}" for x in published[name][: int(depth) + k]) for k, name in enumerate(("alpha", "gammas"))
        ]
        components = (published["exact_components"], published["components"], exact["components"])
        lines.append(
            [f"{n}, {depth}", *cells, with_noise(published), with_noise(exact), *(f"{k:.3f}" for k in components)]
        )
    titles = ["items, depth", "$\\alpha$", "$\\gamma_0, \\gamma_1, ...$", "published: total variation", "corrected"]
    return markdown([*titles, "mean number of components: exact", "published", "corrected"], lines)


def larger_nested_sets():
    rows = [row for row in json.loads((PAPER / "distances.json").read_text()) if "n" in row]
    lines = []
    for n in dict.fromkeys(row["n"] for row in rows):
        cells = {row["form"]: f"{row['components']:.3f} ± {row['mcse']:.3f}" for row in where(rows, n=n)}
        lines.append([n, cells["exact form"], cells["published"]])
    return markdown(["items", "mean number of components: corrected", "published"], lines)


def sub_cluster_distances(kind):
    rows = stored("published_subclusters")[kind]
    lines = []
    for rules in dict.fromkeys(row["rules"] for row in rows):
        cells = [(with_noise(row), signed(row["error_of_K"])) for row in where(rows, rules=rules)]
        lines.append([rules, *(cell for pair in cells for cell in pair)])
    titles = ["A: total variation", "error of E[K]", "B: total variation", "error of E[K]"]
    return markdown(["rules of" if kind == "programs" else "part", *titles], lines)


def components():
    rows = stored("published_subclusters")["components"]
    rules = list(dict.fromkeys(row["rules"] for row in rows))
    lines = [
        [n, *(f"{row['K']:.2f} ± {row['K_mcse']:.2f}" for row in where(rows, n=n))]
        for n in dict.fromkeys(row["n"] for row in rows)
    ]
    return markdown(["n", *rules], lines)


def galaxies():
    lines = []
    for k, row in enumerate(stored("published_galaxies")["rows"]):
        difference = f"{row['largest_difference']:.2f}" if k else ""
        lines.append([row["rules"], f"{row['K']:.2f} ± {row['K_mcse']:.2f}", difference])
    return markdown(
        ["rules of", "mean number of clusters", "largest difference of the probability that two share a cluster"], lines
    )


def effective_samples():
    rows = where(stored("samplers")["rows"], kind="stationary")
    lines = []
    for sampler in SHOWN:
        own = {row["set"]: row for row in where(rows, sampler=sampler)}
        lines.append([sampler, *(f"{own[s]['clusters_median']:.0f}, {own[s]['log_joint_median']:.0f}" for s in SETS)])
    titles = ("toy, 1300 x 2", "toy, clusters closer", "animals, 33 x 102", "10,000 x 6")
    return markdown(["", *titles], lines)


def costs_of_labels():
    rows = where(stored("hidden_state_peers")["rows"], kind=COST)
    lines = [
        [f"{row['n']:,}", row["n_states"], *(1e3 * row[name] for name in ("count", "value", "gradient", "weights"))]
        for row in rows
    ]
    return markdown(["times", "states", "count transitions", "value", "with gradient", "draw of weights"], lines)


def samplers_of_states():
    rows = stored("hidden_state_peers")["rows"]
    found = {row["method"]: found_text(row) for row in where(rows, kind="found")}
    lines = []
    for row in where(rows, kind=RATE):
        cells = []
        for name in ("clusters", "log_joint"):
            cells += [f"{row[name]:.2f} ± {row[f'{name}_mcse']:.2f}", row[f"rate_{name}"]]
        r_hat = max(row["r_hat_clusters"], row["r_hat_log_joint"])
        five = row["set"] == "five states"
        lines.append([row["set"], row["method"], row["milliseconds"], *cells, f"{r_hat:.3f}"])
        lines[-1].append(found[row["method"]] if five else "")
    titles = [
        "set",
        "",
        "ms per draw",
        "number of states",
        "per CPU s",
        "log joint density",
        "per CPU s",
        "R-hat",
        "found",
    ]
    return markdown(titles, lines)


def spread_of(rows):
    """Smallest and largest total variation."""
    values = [row["variation"] for row in rows]
    return f"{min(values):.2f} to {max(values):.2f}"


def sentences():
    """What the text of the first manuscript says besides its tables."""
    found = json.loads((PAPER / "distances.json").read_text())
    distances, exact = where(found, form="published"), where(found, form="exact form")
    programs = [row for row in stored("published_subclusters")["programs"] if row["rules"] != "exact Gibbs sweeps"]
    small = [row for row in where(distances, sampler="nested") if "case" in row]
    groups = (where(distances, sampler="tree-guided"), small, programs)
    noise = max(row["noise"] for group in groups for row in group)
    larger = {(row["n"], row["form"]): row["components"] for row in distances + exact if "n" in row}
    fewer = [f"{100 * (1 - larger[n, 'published'] / larger[n, 'exact form']):.0f}" for n in (10, 30, 100)]
    yield f"has {fewer[0]}, {fewer[1]} and {fewer[2]} % fewer components"
    yield f"by {', '.join(map(spread_of, groups[:2]))} and {spread_of(programs)} in total variation"
    yield f"noise alone gives at most {noise:.2f}"
    rows = where(stored("samplers")["rows"], set="animals")
    [reference] = where(rows, kind="reference")
    [published] = where(rows, kind="stationary", sampler="published tree-guided (biased)")
    yield f"is {published['mean']:.3f} ± {published['error']:.3f}, where exact samplers have"
    yield f"{reference['mean']:.3f} ± {reference['error']:.3f}, {abs(published['z']):.1f} standard errors away"
    variation, noise = published["variation"], published["expected_variation"]
    yield f"distributions of the number of clusters is {number(variation)} ({number(noise)})"


OF_RULES = {
    "TABLE_SUB": lambda: sub_cluster_distances("programs"),
    "TABLE_PARTS": lambda: sub_cluster_distances("parts"),
    "TABLE_COMPONENTS": components,
}
OF_NESTED = {"TABLE_NESTED": nested_distances, "TABLE_LARGER": larger_nested_sets}
TABLES = {
    "paper/published-samplers": {"TABLE_TG": tree_guided_distances, "TABLE_GALAXIES": galaxies}
    | {"TABLE_ESS": effective_samples}
    | OF_RULES
    | OF_NESTED,
    "paper/hidden-state-labels": {"TABLE_COST": costs_of_labels, "TABLE_PEERS": samplers_of_states},
    "explanation/sub-clusters": OF_RULES,
    "explanation/nested-partitions": OF_NESTED,
}


def main():
    for page, tables in TABLES.items():
        for name, table in tables.items():
            print(f"{page}, {name}:\n\n{table()}")


if __name__ == "__main__":
    main()
