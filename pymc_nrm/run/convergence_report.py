"""One report of what a user must know about the convergence of a run: a table, worst first, and advice."""

import math
import textwrap
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from pymc_nrm.common.marks import ALL_SLOTS_USED, NESTED
from pymc_nrm.run.safe_to_use import safe_to_use
from pymc_nrm.stats.convergence import clusters_overlap, convergence_table, largest_z_quantile, pair_name
from pymc_nrm.stats.draws import missing_values, renamed_variables

# The thresholds of Vehtari et al. (2021), which PyMC uses as well.  Chains that agree and have just the effective
# sample size required have an R-hat of 1.01 on average, so that digits after the second say nothing.
_RHAT_LIMIT = 1.01
_ROUNDING = 0.005
_ESS_PER_CHAIN = 100
# Above this R-hat, more draws alone seldom help.
_DISAGREEMENT = 1.05
# R-hat - 1 of chains that agree falls as the inverse of their length: with fewer draws than these, more is allowed.
_SHORT = 400
# Probability of reporting that chains disagree about a partition when they agree.
_FALSE_ALARMS = 1e-4
_MAX_ROWS = 5
_WIDTH = 100
# More clusters than a reader wants.
_MANY_CLUSTERS = 20
# Share of draws with all slots in use from which on a limited number of clusters is reported.
_OVERFLOW = 0.001
# Deterministics that a partition brings with it, which its own diagnostics cover.
_SUFFIXES = ("", "_n_clusters", "_n_nodes", "_n_components")
_PAGE = '"When chains disagree" in the documentation, docs/how-to/when-chains-disagree.md'


class Finding(NamedTuple):
    """One row of the report."""

    quantity: str
    # Its diagnostics, and what they should be.
    found: str
    # How far it is beyond the limit, as a factor, to put the worst first.
    times: float
    # Whether chains disagree about the quantity; if they do not, more draws are likely to help.
    disagree: bool
    # Factor by which to increase the number of draws, if chains do not disagree.
    needed: float


class Convergence(NamedTuple):
    """What is wrong, empty if nothing is, and how many draws of each chain would do if more alone are needed."""

    report: str
    needed: int | None = None
    # What to do about partitions of many clusters.
    many_clusters: tuple[str, ...] = ()


def convergence_report(idata: xr.DataTree, diagnostics: Any, nuts: Any = ()) -> str:
    """Report what a user must know about the convergence of a run; empty if it is fine.

    If something fails, its first line says whether the run is nearly fine or has too few draws, so that more would do,
    or whether chains disagree.  In that case a line before it says what is nevertheless safe to use.

    Variables that change when clusters are renamed, such as parameters of slots, are not judged: their labels switch.

    Parameters
    ----------
    idata : DataTree
    diagnostics : dict of str to DataTree
        Diagnostics of each partition, as from :func:`~pymc_nrm.add_diagnostics`; without the group ``pairs`` if labels
        were not kept.
    nuts : sequence of str
        Messages about NUTS.

    Returns
    -------
    str
        A line with the number of quantities that failed, a row for each of the worst five, worst first, and advice.

    Examples
    --------
    >>> posterior = xr.Dataset({"x": (("chain", "draw"), [[0.0, 1.0] * 100, [2.0, 3.0] * 100])})
    >>> print(convergence_report(xr.DataTree.from_dict({"posterior": posterior}), {}))
    ... # doctest: +NORMALIZE_WHITESPACE
    Convergence of 2 chains with 200 draws each: the chains disagree; 1 of 1 quantities failed.
      x  R-hat 2.26, above 1.01; effective sample size 3 of at least 200
    These draws are not from the posterior yet.
    Look at nrm.plots.plot_partition_trace(idata), then take more tune or another step.
    See "When chains disagree" in the documentation, docs/how-to/when-chains-disagree.md.
    """
    return convergence(idata, diagnostics, nuts).report


def wrapped(text):
    """Break lines of a text that are not rows of a table, so that they fit a terminal."""
    options = {"width": _WIDTH, "break_long_words": False, "break_on_hyphens": False}
    return "\n".join(line if line.startswith("  ") else textwrap.fill(line, **options) for line in text.splitlines())


def convergence(idata, diagnostics, nuts):
    """Find what :func:`convergence_report` says, and how many draws would do."""
    posterior = idata["posterior"]
    n_chains, n_draws = posterior.sizes["chain"], posterior.sizes["draw"]
    nuts = [*nuts, *_overflows(diagnostics)]
    if n_draws < _ESS_PER_CHAIN:
        lines = [*nuts, f"Only {n_draws} draws per chain: convergence cannot be checked reliably."]
        return Convergence(wrapped("\n".join(lines)))
    known = {f"{name}{suffix}" for name in diagnostics for suffix in _SUFFIXES}
    known |= renamed_variables(posterior) | {name for name in posterior.data_vars if NESTED in posterior[name].attrs}
    # Among hundreds of missing values, extremes of R-hat exceed fixed limits by chance.
    known |= missing_values(posterior)
    others = {name: posterior[name] for name in posterior.data_vars if name not in known}
    tables = {"": convergence_table(others)}
    tables |= {f" of {name}": tree["convergence"].to_dataset() for name, tree in diagnostics.items()}
    findings = [finding for owner, table in tables.items() for finding in _findings(table, owner, n_chains, n_draws)]
    n_quantities = sum(int((table.constant == 0).sum()) for table in tables.values())
    for name, tree in diagnostics.items():
        if "pairs" in tree.children:
            findings += pair_findings(tree["pairs"].to_dataset(), name, n_chains)
            n_quantities += 1
    lines, needed = list(nuts), None
    if findings and not any(finding.disagree for finding in findings):
        needed = math.ceil(n_draws * max(finding.needed for finding in findings))
    if findings:
        failed = len({finding.quantity for finding in findings})
        safe = safe_to_use(idata, diagnostics, others) if needed is None else ""
        lines += _lines(findings, f"{failed} of {max(n_quantities, failed)}", n_chains, n_draws, needed, safe)
    elif lines:
        lines.append(f"Convergence of {n_chains} chains with {n_draws} draws each: fine but for this.")
    lines += _overlaps(diagnostics)
    if n_chains == 1:
        lines.append("Only one chain was sampled: R-hat compares the parts of that chain alone.")
    return Convergence(wrapped("\n".join(lines)), needed, tuple(map(wrapped, _many_clusters(diagnostics))))


def _many_clusters(diagnostics):
    for name, tree in diagnostics.items():
        if "n_clusters" in tree and tree["n_clusters"].mean() >= _MANY_CLUSTERS:
            yield (
                f"{name} has {float(tree['n_clusters'].mean()):.0f} clusters on average. For a few large ones take "
                'nrm.fused_estimate, see "How do I get about six segments?" in the documentation, '
                "docs/how-to/questions.md."
            )


def rounded_up(number):
    """Round up to two digits."""
    digits = 10 ** max(int(math.log10(number)) - 1, 0)
    return math.ceil(number / digits) * digits


def _overflows(diagnostics):
    for name, tree in diagnostics.items():
        if ALL_SLOTS_USED not in tree:
            continue
        used = tree[ALL_SLOTS_USED].values
        if "largest_cluster" in tree:
            # A cluster for each item is no restriction.
            used = used & (tree["largest_cluster"].values > 1)
        if used.mean() >= _OVERFLOW:
            max_clusters = int(tree["n_clusters"].values[used].max())
            yield (
                f"{name} used all {max_clusters} slots in {100 * used.mean():.3g}% of draws: this is the posterior "
                f"given at most {max_clusters} clusters. Raise max_clusters."
            )


def _overlaps(diagnostics):
    for name, tree in diagnostics.items():
        if "pairs" in tree.children and "n_clusters" in tree:
            text = clusters_overlap(name, float(tree["n_clusters"].mean()), tree["pairs"].to_dataset())
            if text:
                yield text


def _lines(findings, how_many, n_chains, n_draws, needed, safe):
    findings = sorted(findings, key=lambda finding: finding.times, reverse=True)
    width = max(len(finding.quantity) for finding in findings[:_MAX_ROWS])
    chains = f"{n_chains} chains" if n_chains > 1 else "1 chain"
    disagree = needed is None
    parts = "chains disagree" if n_chains > 1 else "halves of the chain disagree"
    short = "nearly fine" if n_draws >= _SHORT else "too few draws"
    verdict = f"the {parts}; {how_many} quantities failed" if disagree else f"{short}; {how_many} quantities fall short"
    if safe:
        yield safe
    yield f"Convergence of {chains} with {n_draws} draws each: {verdict}."
    for finding in findings[:_MAX_ROWS]:
        yield f"  {finding.quantity:{width}}  {finding.found}"
    if len(findings) > _MAX_ROWS:
        yield f"  and {len(findings) - _MAX_ROWS} more, see nrm.summary(idata)"
    if disagree:
        if not safe:
            yield "These draws are not from the posterior yet."
        yield "Look at nrm.plots.plot_partition_trace(idata), then take more tune or another step."
        yield f"See {_PAGE}."
    else:
        # The estimate has no more than two digits.
        yield f"About {rounded_up(needed)} draws for each chain would do."


def _findings(table, owner, n_chains, n_draws):
    least = _ESS_PER_CHAIN * n_chains
    limit = 1.0 + (_DISAGREEMENT - 1.0) * max(1.0, _SHORT / n_draws)
    for name in table.quantity.values:
        row = table.sel(quantity=name)
        if row.constant:
            continue
        rhat, ess = float(row.rhat), min(float(row.ess_bulk), float(row.ess_tail))
        found, times = [], 0.0
        is_above = rhat >= _RHAT_LIMIT + _ROUNDING
        if is_above:
            found.append(f"R-hat {rhat:.2f}, above {_RHAT_LIMIT}")
            times = (rhat - 1) / (_RHAT_LIMIT - 1)
        if ess < least:
            found.append(f"effective sample size {ess:.0f} of at least {least}")
            times = max(times, least / ess)
        if found:
            needed = max(least / ess, (rhat - 1) / (_RHAT_LIMIT - 1) if is_above else 1.0)
            yield Finding(f"{name}{owner}", "; ".join(found), times, rhat > limit, needed)


def pair_findings(pairs: Any, name: str, n_chains: int) -> list[Finding]:
    """Check whether chains agree about which items share a cluster, and whether the draws determine how often.

    The largest of many R-hats exceeds a fixed limit by chance, and the smallest of many effective sample sizes belongs
    to a pair that is hardly ever together.  Instead, the largest z-score is compared with a quantile of the largest of
    as many independent ones.  If it passes, the largest standard error of a probability is compared with the standard
    error for a pair with probability 1/2 and the smallest sufficient effective sample size.
    """
    findings, nested = [], "common_depth" in pairs
    n_scores = int(pairs.n_scores)
    if n_scores == 0:
        return findings
    limit = largest_z_quantile(n_scores, 1 - _FALSE_ALARMS)
    if pairs.max_z > limit:
        pair = pairs.isel(pair=int(pairs.max_z_pair))
        means = pair.common_depth_by_part if nested else pair.probability_by_part
        low, high, parts = float(means.min()), float(means.max()), pairs.attrs["parts"]
        where = (
            f"lowest common node at mean level {low:.2f} to {high:.2f} in the {parts}"
            if nested
            else f"together in {low:.2f} to {high:.2f} of draws of {parts}"
        )
        found = f"{where}, z-score {float(pairs.max_z):.1f} (by chance {float(pairs.expected_max_z):.1f})"
        findings.append(Finding(_items(pair, name), found, float(pairs.max_z / limit) ** 2, True, 1.0))
    # No variable with values from 0 to L has a larger standard deviation than L / 2.
    limit = 0.5 * pairs.attrs.get("n_levels", 1) / math.sqrt(_ESS_PER_CHAIN * n_chains)
    if not findings and pairs.max_mcse > limit:
        pair = pairs.isel(pair=int(np.nanargmax(pairs.mcse.values)))
        times = float(pairs.max_mcse / limit) ** 2
        what = "level of the lowest common node" if nested else "probability to be together"
        found = f"{what} has standard error {float(pairs.max_mcse):.3f}, above {limit:.3f}"
        findings.append(Finding(_items(pair, name), found, times, False, times))
    return findings


def _items(pair, name):
    return f"items {pair_name(pair)} of {name}"
