"""What values of a kind are like in each cluster, and how a cluster differs in them: a function for each kind.

``KINDS`` has a function ``(values, labels, n_clusters, levels, unit)`` for each kind of column, of the values that are
present, the clusters of their items, and the text of a unit that follows numbers, which returns :class:`Described`.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.common.wrapping import percent
from pymc_nrm_predictor.reading.times import date_writer

# A cell names at most so many levels, the most frequent ones, of at least this share, and one more if it is the last.
# Levels whose shares differ by less set no cluster apart.
_MOST_LEVELS, _LEAST_SHARE = 3, 0.1
# A level that is rare in a cluster says less than one that is frequent: its difference counts so much.
_RARE = 0.8
# A mean is average if it differs from the mean of the other items by fewer than so many standard deviations.
_AVERAGE = 0.25
# A share below this is said to be rare.
_FEW = 0.2


class Described(NamedTuple):
    """What a column is like in each of K clusters."""

    # Arrays (K,) by their names.
    statistics: dict
    # Texts for cells, a list of K.
    cells: list
    # How far each cluster is from all other items, in standard deviations; float of shape (K,), NaN if unknown.
    differences: Any
    # Texts of these differences, a list of K.
    apart: list


def describe_numbers(values, labels, n_clusters, levels, unit=""):
    """Means and standard deviations."""
    # Sums of centred numbers lose no digits.
    centre = values.mean() if len(values) else 0.0
    parts = values - centre
    [means], [others], [differences] = _compared(parts[None], labels, n_clusters)
    write = number_writer(parts.std() if len(parts) else math.nan, (values == np.floor(values)).all())
    counts = np.bincount(labels, minlength=n_clusters)
    squares = (parts - means[labels]) ** 2
    sd = np.sqrt(np.bincount(labels, squares, n_clusters) / np.where(counts > 1, counts - 1, np.nan))
    # What is left of zeros that were centred, or of equal values, is not a number.
    error = 16.0 * np.finfo("float64").eps * np.abs(values).max(initial=0.0)
    means, others, sd = (np.where(np.abs(x) < error, 0.0, x) for x in (means + centre, others + centre, sd))
    cells = [_mean_and_sd(*pair, write) + unit for pair in zip(means, sd, strict=True)]
    lines = zip(_words(differences), means, others, strict=True)
    apart = [f"{word} {write(mean)}{unit} ({write(other)})" for word, mean, other in lines]
    return Described({"mean": means, "sd": sd}, cells, np.abs(differences), apart)


def describe_levels(values, labels, n_clusters, levels, unit=""):
    """Shares of levels, which the values number; a column without values has none."""
    if not levels:
        nothing = [""] * n_clusters
        return Described({}, nothing, np.full(n_clusters, np.nan), nothing)
    shares, others, differences = _compared(values == np.arange(len(levels))[:, None], labels, n_clusters)
    # Rare levels may be far apart in standard deviations and yet say nothing of most items.
    differences = np.where(np.abs(shares - others) < _LEAST_SHARE, 0.0, differences)
    weights = np.where(differences > 0, differences, -_RARE * differences)
    level = np.argmax(np.where(np.isfinite(weights), weights, -1.0), axis=0)
    chosen = level, np.arange(n_clusters)
    apart = []
    for j, share, other in zip(level, shares[chosen], others[chosen], strict=True):
        how = "" if not share < other else "rarely " if share < _FEW else "less often "
        apart.append(f"{how}{levels[j]}: {percent(share)} ({percent(other)})")
    statistics = dict(zip(levels, shares, strict=True))
    return Described(statistics, [_main_levels(levels, x) for x in shares.T], np.abs(differences[chosen]), apart)


def describe_truth(values, labels, n_clusters, levels, unit=""):
    """Shares of ones, which are "yes"."""
    [shares], [others], [differences] = _compared((values == 1.0)[None], labels, n_clusters)
    apart = []
    for share, other, difference in zip(shares, others, differences, strict=True):
        word, share, other = ("no", 1.0 - share, 1.0 - other) if difference < 0 else ("yes", share, other)
        apart.append(f"{word}: {percent(share)} ({percent(other)})")
    return Described({"yes": shares}, [f"yes {percent(x)}" for x in shares], np.abs(differences), apart)


def describe_positive(values, labels, n_clusters, levels, unit=""):
    """Medians and the middle 80 %, compared on the scale of logarithms."""
    logs = np.log(values)
    # Centred logarithms of equal values are zero, and not rounding errors that differ.
    logs = logs - logs.mean() if np.unique(values).size > 1 else np.zeros(len(values))
    _, _, [differences] = _compared(logs[None], labels, n_clusters)
    by_cluster = [values[labels == k] for k in range(n_clusters)]
    low, median, high = np.stack([_quantiles(x) for x in by_cluster], axis=1)
    others = [_quantiles(values[labels != k])[1] for k in range(n_clusters)]
    write = _positive_writer(values)
    cells = [f"{write(m)}, {write(a)} to {write(b)}{unit}" for a, m, b in zip(low, median, high, strict=True)]
    # Where the medians that are shown do not differ like the means of logarithms, no word fits.
    agrees = np.sign(median - others) == np.sign(differences)
    words = [word if fits else "average" for word, fits in zip(_words(differences), agrees, strict=True)]
    lines = zip(words, median, others, strict=True)
    apart = [f"{word} {write(x)}{unit} ({write(other)})" for word, x, other in lines]
    return Described({"median": median, "low": low, "high": high}, cells, np.abs(differences), apart)


def describe_zero_or_positive(values, labels, n_clusters, levels, unit=""):
    """Shares of zeros, and what the positive values are like; a cluster differs in the one or in the other."""
    [zeros], [others], [differences] = _compared((values == 0.0)[None], labels, n_clusters)
    is_positive = values > 0.0
    positive = describe_positive(values[is_positive], labels[is_positive], n_clusters, levels, unit)
    cells, apart = [], []
    for share, median, text in zip(zeros, positive.statistics["median"], positive.cells, strict=True):
        cells.append(f"0 {percent(share)}" + ("" if np.isnan(median) else f", else {text}"))
    from_amounts = np.nan_to_num(positive.differences) > np.abs(np.nan_to_num(differences))
    for k in range(n_clusters):
        if from_amounts[k]:
            apart.append(f"{positive.apart[k]} where not 0")
        elif differences[k] < 0:
            apart.append(f"above 0: {percent(1 - zeros[k])} ({percent(1 - others[k])})")
        else:
            apart.append(f"0: {percent(zeros[k])} ({percent(others[k])})")
    statistics = {"zero": zeros, **positive.statistics}
    return Described(statistics, cells, np.where(from_amounts, positive.differences, np.abs(differences)), apart)


KINDS: dict[str, Callable] = {
    "number": describe_numbers,
    "levels": describe_levels,
    "truth": describe_truth,
    "positive": describe_positive,
    "zero or positive": describe_zero_or_positive,
}


def describe_column(column, labels):
    """:class:`Described` of a column of any kind, with numbers of missing values, given the clusters of all items."""
    n_clusters = int(labels.max()) + 1
    of_values, values = labels if column.items is None else labels[column.items], column.values
    if column.counts is not None:
        values, of_values = np.repeat(values, column.counts), np.repeat(of_values, column.counts)
    present, unit = np.isfinite(values), f" {column.unit}" if column.unit else ""
    counts = np.bincount(of_values[present], minlength=n_clusters)
    missing = np.bincount(of_values[~present], minlength=n_clusters)
    with np.errstate(divide="ignore", invalid="ignore"):
        described = KINDS[column.kind](values[present], of_values[present], n_clusters, column.levels, unit)
        if column.kind == "number" and column.dates is not None:
            described = _as_dates(described, values[present], of_values[present], n_clusters, column.dates)
    cells = ["" if count == 0 else text for text, count in zip(described.cells, counts, strict=True)]
    cells = [f"{text} ({gaps} missing)".strip() if gaps else text for text, gaps in zip(cells, missing, strict=True)]
    # A level may have the name.
    name = "n_missing" if "missing" in described.statistics else "missing"
    statistics = described.statistics | ({name: missing} if missing.any() else {})
    return described._replace(statistics=statistics, cells=cells)


def _as_dates(described, values, labels, n_clusters, rule):
    """Texts with means as dates; statistics stay numbers of days or seconds."""
    write, unit = date_writer(rule), rule.shown_unit.split()[0]
    means, sd = described.statistics["mean"], described.statistics["sd"]
    counts = np.bincount(labels, minlength=n_clusters)
    others = (values.sum() - counts * means) / (len(values) - counts)
    means, others = ([write(x) if np.isfinite(x) else "nan" for x in each] for each in (means, others))
    spread = number_writer(values.std() if len(values) else math.nan, whole=True)
    cells = [date if math.isnan(x) else f"{date} ± {spread(x)} {unit}" for date, x in zip(means, sd, strict=True)]
    words = {"low": "early", "high": "late"}
    first = [text.split()[0] for text in described.apart]
    lines = zip(first, means, others, strict=True)
    apart = [f"{words.get(word, word)} {mean} ({other})" for word, mean, other in lines]
    return described._replace(cells=cells, apart=apart)


def number_writer(spread, whole):
    """A function that writes numbers to a tenth of a standard deviation, but means of whole numbers to 0.1 at most."""
    if not 1e-5 < spread < 1e7:
        return "{:.4g}".format
    # Without a sign of zero.
    n_digits = max(0, 1 - math.floor(math.log10(spread)))
    n_digits = min(n_digits, 1) if whole else n_digits
    return lambda x: f"{x:z,.{n_digits}f}" if abs(x) >= 10_000 else f"{x:z.{n_digits}f}"


def _compared(parts, labels, n_clusters):
    """Means in each cluster, means of all other items, and differences in standard deviations. Shapes: ``parts``
    (m, n); returns three of (m, n_clusters).
    """
    counts = np.bincount(labels, minlength=n_clusters)
    sums = np.stack([np.bincount(labels, part, n_clusters) for part in parts])
    means = sums / counts
    others = (sums.sum(axis=1, keepdims=True) - sums) / (counts.sum() - counts)
    spread = parts.std(axis=1, keepdims=True) if parts.shape[1] else np.full((len(parts), 1), np.nan)
    return means, others, (means - others) / spread


def _words(differences):
    return ["average" if abs(size) < _AVERAGE else "high" if size > 0 else "low" for size in differences]


def _quantiles(values):
    return np.quantile(values, [0.1, 0.5, 0.9]) if len(values) else np.full(3, np.nan)


def _positive_writer(values):
    """A function that writes numbers of three digits, and whole numbers, or halves of these, if all are whole."""
    whole = (values == np.floor(values)).all()

    def write(x):
        if whole and abs(x) < 100:
            return f"{x:.1f}" if x % 1.0 == 0.5 else f"{x:.0f}"
        return f"{x:,.0f}" if abs(x) >= 10_000 else f"{x:.0f}" if abs(x) >= 100 else f"{x:.3g}"

    return write


def _mean_and_sd(mean, sd, write):
    """The text of a cluster, with more digits if the digits of a column over orders of magnitude show zero."""
    alone = math.isnan(sd)
    magnitude = abs(mean) if alone else sd
    if magnitude > 0.0 and float(write(magnitude).replace(",", "")) == 0.0:
        write = number_writer(magnitude, whole=False)
    return write(mean) if alone else f"{write(mean)} ± {write(sd)}"


def _main_levels(levels, shares):
    """The most frequent levels with their shares in per cent; the others together, but a single one by its name."""
    order = [k for k in np.argsort(-shares, kind="stable") if shares[k] >= 0.005 or len(levels) == 1]
    n_main = max(1, sum(shares[k] >= _LEAST_SHARE for k in order[:_MOST_LEVELS]))
    n_main += len(order) == n_main + 1
    others = [f"others {percent(1.0 - shares[order[:n_main]].sum())}"] if len(order) > n_main else []
    return ", ".join([*(f"{levels[k]} {percent(shares[k])}" for k in order[:n_main]), *others])
