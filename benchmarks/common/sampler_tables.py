"""Tables of the comparison of samplers."""

from common.part import markdown, spread

TEXT = """\
Every step is called directly, without PyMC around it, on one core; times are CPU seconds, compilation excluded.

*To stationarity* is the CPU time until the log joint density is first within {margins} of its mean in a long run.
Chains start from one cluster, and from every item alone; the growth of guide trees counts, and steps are in tuning as a
user's are.  Median and range over chains.

*ESS per second* is that of the mean (split chains, `arviz_stats`), median and range over chains.  All samplers start
from the last state of one long tree-guided run and make tuning draws first, which are not counted: the tree-guided
sampler grows its trees and sets its numbers of moves then.  *Pairs* are indicators that two items share a cluster, for
up to 50 random pairs whose probability is between 0.05 and 0.95: the median over pairs, and the least.  0 is a quantity
that never changed; a dash stands for fewer than 50 draws, a question mark for an error that nothing is known about.

*Clusters* is the posterior mean with its Monte Carlo standard error, *z* its distance from the reference in standard
errors of both, *TV* the total variation distance between the laws of the number of clusters, in brackets what chance
alone gives to a correct sampler of that effective sample size, roughly.  An error from fewer than 30 effective draws is
itself a guess, and so is z: that of the slice sampler on 10k is from 13, see `NOTES.md`.

The published sampler is **biased**: its effective sample size, in parentheses, says nothing about the posterior.
"""

PUBLISHED = """\
The sampler of Lee & Choi (2015) with G global moves and D levels of local moves per draw; D = 0 stands for Gibbs
updates of all items.  It is **biased** whatever they are: z and TV say how far from the posterior; effective sample
sizes, in parentheses, say nothing about it.  Columns are those of the part `samplers`, where they are explained; one
chain each.
"""

ABLATION = """\
The tree-guided step without some of its moves, whose numbers are then 0; Gibbs updates of items always remain.
Informed splits and merges end with tuning.  Columns are those of the part `samplers`, where they are explained.
"""

RIVALS = ("published tree-guided (biased)", "split-merge, restricted Gibbs", "split-merge, sequential")
QUANTITIES = {"clusters": "number of clusters", "log_joint": "log joint", "pairs": "pairs, median"}


def sampler_tables(rows):
    """Markdown tables of all sets, and of the factors between the tree-guided sampler and its rivals."""
    references = [row for row in rows if row["kind"] == "reference"]
    margins = " or ".join(f"{margin:g} nats" for margin in sorted({row["margin"] for row in references}))
    return "\n".join([TEXT.format(margins=margins), *_set_tables(rows), *_factors(rows)])


def published_table(rows):
    """Markdown tables of variants of the published sampler; columns as in :func:`sampler_tables`."""
    return "\n".join([PUBLISHED, *_set_tables(rows)])


def ablation_table(rows):
    """Markdown tables of the tree-guided step without some moves; columns as in :func:`sampler_tables`."""
    return "\n".join([ABLATION, *_set_tables(rows)])


def _set_tables(rows):
    for reference in rows:
        if reference["kind"] == "reference":
            yield _heading(reference)
            yield _set_table([row for row in rows if row["set"] == reference["set"]])


def _heading(row):
    source = f"{row['mean']:.2f} +- {_error(row)} clusters"
    if row["source"] == "known":
        source = f"Reference, known from long runs: {source}."
    else:
        source = f"Reference, a long run of {row['source']}: {source}."
        if row["disagreement"] is not None:
            source += f" The two differ by {abs(row['disagreement']):.1f} standard errors."
    chains = "1 chain" if row["n_chains"] == 1 else f"{row['n_chains']} chains"
    times = (
        f"{row['seconds_bad']:g} s at most from bad starts, {row['tune']} tuning draws and {row['seconds_good']:g} s"
    )
    return f"**{row['set']}**: {row['title']}. {chains} of each kind: {times}. {source}\n"


def _set_table(rows):
    starts = list(dict.fromkeys(row["start"] for row in rows if row["kind"] == "arrival"))
    titles = ["Sampler", "ms per draw", *[f"to stationarity, {_place(start)} (s)" for start in starts]]
    titles += ["ESS/s of clusters", "of log joint", "of pairs", "of the worst pair", "clusters", "z", "TV"]
    lines = []
    for row in rows:
        if row["kind"] == "stationary":
            arrivals = {r["start"]: r for r in rows if r["kind"] == "arrival" and r["sampler"] == row["sampler"]}
            rates = [_rate(row, name) for name in ("clusters", "log_joint", "pairs", "worst_pair")]
            lines.append(
                [
                    row["sampler"],
                    row["milliseconds"],
                    *[_times(arrivals[start]) for start in starts],
                    *rates,
                    f"{row['mean']:.2f} +- {_error(row)}",
                    None if row["z"] is None else f"{row['z']:.1f}",
                    _variation(row),
                ]
            )
    return markdown(titles, lines)


def _error(row):
    return "?" if row["error"] is None else f"{row['error']:.2g}"


def _place(start):
    return {"one": "one cluster", "alone": "all alone"}[start]


def _times(row):
    """Median and range; a chain that never arrives counts as an infinite time."""
    times = sorted(float("inf") if time is None else time for time in row["times"])
    late = sum(time == float("inf") for time in times)
    if late == len(times):
        return f"never in {row['allowed']:g}"
    if late:
        return f"{times[0]:.2g} at best, never in {late} of {len(times)}"
    if len(times) == 1:
        return f"{times[0]:.2g}"
    found = spread(times)
    return f"{found['median']:.2g} ({found['least']:.2g} to {found['most']:.2g})"


def _rate(row, name):
    if row.get(f"{name}_median") is None:
        return None
    median, least, most = (_short(row[f"{name}_{key}"]) for key in ("median", "least", "most"))
    text = median if median == least == most else f"{median}, {least} to {most}"
    return text if row["exact"] else f"({text})"


def _short(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def _variation(row):
    chance = "?" if row["expected_variation"] is None else f"{row['expected_variation']:.3f}"
    return f"{row['variation']:.3f} [{chance}]"


def _factors(rows):
    """Ratios of median effective sample sizes per second."""
    found = {(row["set"], row["sampler"]): row for row in rows if row["kind"] == "stationary"}
    lines = []
    for (name, sampler), row in found.items():
        if sampler != "tree-guided":
            continue
        for quantity, words in QUANTITIES.items():
            ratios = [_ratio(row, found.get((name, rival)), f"{quantity}_median") for rival in RIVALS]
            lines.append([name, words, *ratios])
    if not lines:
        return []
    titles = [
        "Set",
        "ESS/s of",
        "tree-guided / published (biased)",
        "tree-guided / split-merge, restricted Gibbs (Jain & Neal 2004)",
        "tree-guided / split-merge, sequential (after Dahl 2005)",
    ]
    return ["**Factors** between medians of ESS per second.\n", markdown(titles, lines)]


# Targets: factors over each rival's effective samples per second.
TARGETS = (("published tree-guided (biased)", 20.0), *((rival, 5.0) for rival in RIVALS[1:]))


def sampler_headline(rows):
    """Claims: factors on toy and 10k, times from one cluster, and distributions of the number of clusters."""
    stationary = {(row["set"], row["sampler"]): row for row in rows if row["kind"] == "stationary"}
    arrivals = {(row["set"], row["sampler"]): row for row in rows if row["kind"] == "arrival" and row["start"] == "one"}
    lines = []
    for name in ("toy", "10k"):
        for rival, target in TARGETS:
            if not {(name, "tree-guided"), (name, rival)} <= set(stationary):
                continue
            pair = stationary[name, "tree-guided"], stationary[name, rival]
            ratios = [_ratio(*pair, f"{quantity}_median") for quantity in ("clusters", "log_joint")]
            if all(isinstance(ratio, float) for ratio in ratios):
                claim = f"ESS per second in stationarity, {name}: tree-guided / {rival}"
                measured = f"{ratios[0]:.2g} (clusters), {ratios[1]:.2g} (log joint)"
                lines.append((claim, measured, f"{target:.0f}", min(ratios) >= target))
    for name, sampler in arrivals:
        if sampler == "tree-guided" and name in ("toy", "10k", "documents"):
            rivals = [rival for rival, _ in TARGETS if (name, rival) in arrivals]
            others = ", ".join(f"{_times(arrivals[name, rival])} ({rival})" for rival in rivals)
            claim = f"CPU seconds from one cluster to stationarity, {name}"
            lines.append((claim, f"{_times(arrivals[name, sampler])}; {others}", None, None))
    scores = {row["set"]: row["z"] for row in stationary.values() if row["sampler"] == "tree-guided" and row["z"]}
    if scores:
        worst = max(scores, key=lambda name: abs(scores[name]))
        claim = f"Number of clusters of the tree-guided sampler against the reference, worst of {len(scores)} sets"
        lines.append((claim, f"z = {scores[worst]:.1f} ({worst})", "below 4", abs(scores[worst]) < 4))
    return lines


def _ratio(row, rival, key):
    if rival is None or row.get(key) is None or rival.get(key) is None:
        return None
    if rival[key] == 0:
        return "other never moved" if row[key] else None
    return row[key] / rival[key]
