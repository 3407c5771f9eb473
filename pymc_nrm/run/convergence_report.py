"""Convergence of a run: a report of everything a user should know, and a verdict with the worst rows of it."""

import math
import re
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from pymc_nrm.common.marks import ALL_SLOTS_USED, NESTED, NOT_FUSED, RENAMED, STARTS
from pymc_nrm.common.pymc_internals import warn_divergences, warn_treedepth
from pymc_nrm.common.wrapping import wrapped
from pymc_nrm.run.safe_to_use import safe_to_use
from pymc_nrm.stats.convergence import (
    clusters_overlap,
    convergence_table,
    largest_z_quantile,
    n_without_diagnostics,
    pair_name,
)
from pymc_nrm.stats.diagnostics import GROUP, diagnose
from pymc_nrm.stats.draws import missing_values, renamed_variables
from pymc_nrm.stats.result import Result

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
    diagnosis: str
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
    # One sentence, and what to say in a line each, the most important first.
    verdict: str = ""
    rows: tuple[str, ...] = ()
    # Whether the report has more than the verdict and all of its rows.
    has_more: bool = False
    # What concerns readers even if nothing is wrong.
    remarks: tuple[str, ...] = ()

    def brief(self):
        """The verdict and at most five rows, for the log."""
        rows = [*self.rows, *(remark.split(". ")[0] for remark in self.remarks)]
        if self.has_more or len(rows) > _MAX_ROWS:
            rows = [*rows[: _MAX_ROWS - 1], "full report: print(nrm.convergence_report(idata))"]
        return wrapped("\n".join([self.verdict, *(f"  {row}" for row in rows)]))


def convergence_report(idata: xr.DataTree, diagnostics: Any = None, nuts: Any = None) -> str:
    """Report everything that a user should know about the convergence of a run.

    :func:`~pymc_nrm.sample` logs the verdict and the worst rows of this report.  If something fails, its first line
    says whether the run is nearly fine or has too few draws, so that more would do, or whether chains disagree.  In
    that case a line before it says what is nevertheless safe to use.

    Variables that change when clusters are renamed, such as parameters of slots, are not judged: their labels switch.
    Entries of variables that are not finite in some draws are not judged either, and the report says so.

    Parameters
    ----------
    idata : DataTree
        Result of :func:`~pymc_nrm.sample`.
    diagnostics : dict of str to DataTree, optional
        Diagnostics of each partition, as from :func:`~pymc_nrm.stats.add_diagnostics`; by default its group
        ``partition_stats``, or else computed.
    nuts : sequence of str, optional
        Messages about NUTS, by default PyMC's messages about divergences and tree depth.

    Returns
    -------
    str
        A line with the number of quantities that failed, a row for each of the worst five, worst first, and advice; or
        a line which says that the run is fine.

    Raises
    ------
    TypeError
        If ``idata`` is not a DataTree with the group ``posterior``.

    Examples
    --------
    >>> posterior = xr.Dataset({"x": (("chain", "draw"), [[0.0, 1.0] * 100, [2.0, 3.0] * 100])})
    >>> print(convergence_report(xr.DataTree.from_dict({"posterior": posterior})))
    Convergence of 2 chains with 200 draws each: the chains disagree; 1 of 1 quantities failed.
      x  R-hat 2.26, above 1.01; effective sample size 3 of at least 200
    These draws are not from the posterior yet.
    Look at nrm.plots.plot_partition_trace(idata), then take more tune or another step.
    See "When chains disagree" in the documentation, docs/how-to/when-chains-disagree.md.
    """
    if not isinstance(idata, xr.DataTree) or "posterior" not in idata.children:
        raise TypeError(f"idata must be a DataTree with the group posterior; got {type(idata).__name__}")
    if diagnostics is None and GROUP in idata.children:
        diagnostics = idata[GROUP].children
    elif diagnostics is None:
        result = Result(idata)
        diagnostics = {name: diagnose(result, name) for name in (*result.partitions, *result.nested)}
    outcome = convergence(idata, diagnostics, nuts_messages(idata) if nuts is None else nuts)
    return wrapped("\n".join([outcome.report or outcome.verdict, *outcome.remarks]))


def nuts_messages(idata):
    """PyMC's messages about divergences and tree depth."""
    return [warning.message for warning in (*warn_divergences(_all_divergences(idata)), *warn_treedepth(idata))]


def _all_divergences(idata):
    """A result whose divergences are those of all draws, if it keeps some draws only: NUTS counts them."""
    if idata["posterior"].attrs.get("thin", 1) == 1 or "divergences" not in idata.get("sample_stats", ()):
        return idata
    count = idata["sample_stats"]["divergences"].isel(draw=[-1])
    return xr.DataTree.from_dict({"sample_stats": xr.Dataset({"diverging": count})})


def convergence(idata, diagnostics, nuts):
    """Find what :func:`convergence_report` says, and how many draws would do."""
    posterior = idata["posterior"]
    n_chains, n_draws = posterior.sizes["chain"], posterior.sizes["draw"]
    # The first sentence of a message of NUTS says what is wrong, the others what to do.
    nuts, overflows = list(nuts), list(_overflows(posterior, diagnostics))
    rows = [" ".join(f"{text.split('. ')[0].removesuffix('.')}." for text in nuts)] if nuts else []
    rows += [row for row, _ in overflows]
    nuts += [text for _, text in overflows]
    remarks = (*_not_judged(posterior), *_many_clusters(posterior, diagnostics))
    if n_draws < _ESS_PER_CHAIN:
        verdict = f"Only {n_draws} draws per chain: convergence cannot be checked reliably."
        return Convergence(wrapped("\n".join([*nuts, verdict])), None, verdict, tuple(rows), bool(nuts), remarks)
    known = {f"{name}{suffix}" for name in diagnostics for suffix in _SUFFIXES}
    known |= renamed_variables(posterior) | {name for name in posterior.data_vars if NESTED in posterior[name].attrs}
    # Among hundreds of missing values, extremes of R-hat exceed fixed limits by chance.
    known |= missing_values(posterior)
    others = {name: posterior[name] for name in posterior.data_vars if name not in known}
    remarks = (*remarks, *_not_finite(others))
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
    several = n_chains > 1
    chains, draws = f"{n_chains} chain{'s' * several}", f"{n_draws} draws{' each' * several}"
    verdict = start = f"Convergence of {chains} with {draws}: "
    if findings:
        failed = len({finding.quantity for finding in findings})
        how_many = f"{failed} of {max(n_quantities, failed)}"
        safe = safe_to_use(idata, diagnostics, others) if needed is None else ""
        enough = None if needed is None else _enough(needed, posterior.attrs.get("thin", 1))
        lines += _lines(findings, how_many, start, n_chains, n_draws, enough, safe)
        verdict += _verdict(how_many, n_chains, n_draws, enough, safe)
        rows += map(str.strip, _rows(findings, len(findings)))
    elif lines:
        lines.append(f"{start}fine but for this.")
        verdict += "fine but for this."
    else:
        verdict += "fine."
    overlaps = list(_overlaps(diagnostics))
    rows += [text.split(":")[0] for text in overlaps]
    lines += overlaps
    if n_chains == 1:
        lines.append("Only one chain was sampled: R-hat compares the parts of that chain alone.")
        rows.append("Only one chain was sampled: R-hat compares the parts of that chain alone.")
    has_more = bool(nuts or overlaps or (findings and needed is None))
    return Convergence(wrapped("\n".join(lines)), needed, wrapped(verdict), tuple(rows), has_more, remarks)


def _not_judged(posterior):
    names = [name for name in posterior.data_vars if RENAMED in posterior[name].attrs]
    if names:
        what, may = ("is", "it may change") if len(names) == 1 else ("are", "they may change")
        yield f"{', '.join(names)} {what} not judged: {may} when clusters are renamed."


def _not_finite(quantities):
    """Deterministic quantities may have no value in some draws, such as the mean of the third cluster."""
    for name, draws in quantities.items():
        n_elements, n_missing = draws.isel(chain=0, draw=0).size, n_without_diagnostics(draws)
        if n_missing == n_elements:
            yield f"{name} is not judged: it is not finite in some draws."
        elif n_missing:
            yield f"{name} is judged without {n_missing} of {n_elements} entries, which are not finite in some draws."


def _many_clusters(posterior, diagnostics):
    for name, tree in diagnostics.items():
        if "n_clusters" in tree and tree["n_clusters"].mean() >= _MANY_CLUSTERS:
            function = "nrm.fused_estimate joins them into a few large ones"
            if name in posterior and NOT_FUSED in posterior[name].attrs:
                function = "nrm.point_estimate(idata, max_clusters=6) makes six of them"
            yield (
                f"{name} has {float(tree['n_clusters'].mean()):.0f} clusters on average; {function}. See "
                '"How do I get about six segments?" in the documentation, docs/how-to/questions.md.'
            )


def rounded_up(number):
    """Round up to two digits."""
    digits = 10 ** max(int(math.log10(number)) - 1, 0)
    return math.ceil(number / digits) * digits


def _overflows(posterior, diagnostics):
    """A row and a longer text for each partition whose slots were all in use in many draws."""
    for name, tree in diagnostics.items():
        if ALL_SLOTS_USED not in tree:
            continue
        used = tree[ALL_SLOTS_USED].values
        if "largest_cluster" in tree:
            # A cluster for each item restricts nothing.
            used = used & (tree["largest_cluster"].values > 1)
        if used.mean() >= _OVERFLOW:
            max_clusters = int(tree["n_clusters"].values[used].max())
            what = f"{name} used all {max_clusters} slots in {100 * used.mean():.3g}% of draws: "
            if name in posterior and STARTS in posterior[name].attrs:
                advice = f"this is the posterior of a chain of {max_clusters} states. If their number is unknown, raise"
                yield f"{what}raise max_states if their number is unknown.", f"{what}{advice} max_states."
            else:
                advice = f"this is the posterior given at most {max_clusters} clusters. Raise max_clusters."
                yield f"{what}raise max_clusters.", f"{what}{advice}"


def _overlaps(diagnostics):
    for name, tree in diagnostics.items():
        if "pairs" in tree.children and "n_clusters" in tree:
            text = clusters_overlap(name, float(tree["n_clusters"].mean()), tree["pairs"].to_dataset())
            if text:
                yield text


def _enough(needed, thin):
    """How many draws would do, in words, if every ``thin``-th is kept and so many kept ones are needed."""
    # The estimate has no more than two digits.
    draws = f"{rounded_up(needed * thin)} draws for each chain would do"
    return draws if thin == 1 else f"{draws}, of which 1 in {thin} is kept"


def _lines(findings, how_many, start, n_chains, n_draws, enough, safe):
    disagree = enough is None
    if safe:
        yield safe
    what = f"{_grade(n_chains, n_draws, enough)}; {how_many} quantities {'failed' if disagree else 'fall short'}"
    yield f"{start}{what}."
    yield from _rows(findings, _MAX_ROWS)
    if len(findings) > _MAX_ROWS:
        yield f"  and {len(findings) - _MAX_ROWS} more, see nrm.summary(idata)"
    if disagree:
        if not safe:
            yield "These draws are not from the posterior yet."
        yield "Look at nrm.plots.plot_partition_trace(idata), then take more tune or another step."
        yield f"See {_PAGE}."
    else:
        yield f"About {enough}."


def _rows(findings, most):
    """Rows of the worst quantities, worst first."""
    findings = sorted(findings, key=lambda finding: finding.times, reverse=True)[:most]
    width = max(len(finding.quantity) for finding in findings[:_MAX_ROWS])
    return [f"  {finding.quantity:{width}}  {finding.diagnosis}" for finding in findings]


def _grade(n_chains, n_draws, enough):
    """How good a run is of which something failed."""
    if enough is None:
        return "the chains disagree" if n_chains > 1 else "the halves of the chain disagree"
    return "nearly fine" if n_draws >= _SHORT else "too few draws"


def _verdict(how_many, n_chains, n_draws, enough, safe):
    """The end of the sentence that is logged: how good the run is, and what may be used or would do."""
    grade = _grade(n_chains, n_draws, enough)
    if enough is not None:
        return f"{grade}; about {enough}."
    # The first line says what may be used, with indices in parentheses.
    first = re.sub(r" \(adjusted[^)]*\)", "", safe.split("\n")[0])
    what = f"{first[:1].lower()}{first[1:]}" if safe else "these draws are not from the posterior yet."
    return f"{grade} about {how_many} quantities; {what}"


def _findings(table, owner, n_chains, n_draws):
    least = _ESS_PER_CHAIN * n_chains
    limit = 1.0 + (_DISAGREEMENT - 1.0) * max(1.0, _SHORT / n_draws)
    for name in table.quantity.values:
        row = table.sel(quantity=name)
        if row.constant:
            continue
        rhat, ess = float(row.rhat), min(float(row.ess_bulk), float(row.ess_tail))
        exceeded, times = [], 0.0
        is_above = rhat >= _RHAT_LIMIT + _ROUNDING
        if is_above:
            exceeded.append(f"R-hat {rhat:.2f}, above {_RHAT_LIMIT}")
            times = (rhat - 1) / (_RHAT_LIMIT - 1)
        if ess < least:
            exceeded.append(f"effective sample size {ess:.0f} of at least {least}")
            times = max(times, least / ess)
        if exceeded:
            needed = max(least / ess, (rhat - 1) / (_RHAT_LIMIT - 1) if is_above else 1.0)
            yield Finding(f"{name}{owner}", "; ".join(exceeded), times, rhat > limit, needed)


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
        diagnosis = f"{where}, z-score {float(pairs.max_z):.1f} (by chance {float(pairs.expected_max_z):.1f})"
        findings.append(Finding(_items(pair, name), diagnosis, float(pairs.max_z / limit) ** 2, True, 1.0))
    # No variable with values from 0 to L has a larger standard deviation than L / 2.
    limit = 0.5 * pairs.attrs.get("n_levels", 1) / math.sqrt(_ESS_PER_CHAIN * n_chains)
    if not findings and pairs.max_mcse > limit:
        pair = pairs.isel(pair=int(np.nanargmax(pairs.mcse.values)))
        times = float(pairs.max_mcse / limit) ** 2
        what = "level of the lowest common node" if nested else "probability to be together"
        diagnosis = f"{what} has standard error {float(pairs.max_mcse):.3f}, above {limit:.3f}"
        findings.append(Finding(_items(pair, name), diagnosis, times, False, times))
    return findings


def _items(pair, name):
    return f"items {pair_name(pair)} of {name}"
