"""Rows of subjects over time: times as numbers, one row of a matrix for each subject, and columns of subjects."""

import logging
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy

from pymc_nrm.common.wrapping import first_few, wrapped
from pymc_nrm.growth.models.growth import NaturalSpline, Polynomial, Term
from pymc_nrm.partitions.user_labels import check_different, stripped
from pymc_nrm_predictor.reading.column_contents import read_content
from pymc_nrm_predictor.reading.content import BOOLEANS, LEVELS, OTHER, check_alike, described_losses
from pymc_nrm_predictor.reading.kinds import NUMERIC, values_of
from pymc_nrm_predictor.reading.recorded import Recorded

_log = logging.getLogger("pymc.nrm_recipes")

# Dates that cover so many years are in years.
_YEARS, _DAYS_OF_YEAR = 3, 365.25
# The largest degree that is guessed, from so many subjects, and the level of the test between two degrees.
_MOST_DEGREE, _MOST_SUBJECTS, _LEVEL = 3, 2000, 0.01
# Quantiles of the times at which a spline has its knots (Harrell 2015, "Regression modeling strategies", table 2.3).
_KNOTS = (0.05, 0.275, 0.5, 0.725, 0.95)


class Trajectories(NamedTuple):
    """Rows of subjects in order of time: ids, times and values (n, d), padded by the last time and NaN."""

    ids: list
    time: Any
    values: Any
    # Places of the subjects among all in the table.
    places: Any


def check_names(df, **names):
    """Check that arguments name different columns of a table."""
    for argument, name in names.items():
        if name not in df.columns:
            raise ValueError(
                f"{argument} must be a column of df, {first_few(list(map(repr, df.columns)))}; got {name!r}"
            )
    if len(set(names.values())) < len(names):
        raise ValueError(f"{' and '.join(names)} must be different columns; got {list(names.values())}")


def read_times(column, growth=None):
    """Times as floats, NaN where missing; how they were read; their unit, its length, and the first date."""
    content = read_content(column, *([] if growth is None else [growth.rule]))
    if content.form in (LEVELS, OTHER):
        example = next(iter(content.values[~content.missing]), None)
        raise TypeError(f"time must be a column of numbers or dates; {column.name!r} has values such as {example!r}")
    if growth is not None:
        check_alike(content, growth.rule, f"time {column.name!r}")
        values = values_of(Recorded(column.name, NUMERIC, growth.rule, (), ()), column)
        return values / growth.divisor, growth.rule, growth.unit, growth.divisor, growth.start
    _tell_of_lost(column, content)
    unit, divisor = content.rule.unit or "", 1.0
    span = np.ptp(content.values[~content.missing]) if not content.missing.all() else 0.0
    if unit == "days" and span >= _YEARS * _DAYS_OF_YEAR:
        unit, divisor = "years", _DAYS_OF_YEAR
    if content.note:
        since = "" if content.rule.start is None else f" since {content.rule.start:%Y-%m-%d}"
        tell(f"Column {str(column.name)!r} is in {unit}{since}." if unit else f"{column.name!r}: {content.note}.")
    return content.values / divisor, content.rule, unit, divisor, content.rule.start


def read_target(column):
    """Values of the target as floats, NaN where missing, and how they were read; other kinds of columns are refused."""
    content = read_content(column)
    different = np.unique(content.values[~content.missing]) if content.form not in (LEVELS, OTHER) else []
    if content.form in (LEVELS, OTHER, BOOLEANS) or len(different) in (1, 2):
        problem = f"text such as {next(iter(content.values[~content.missing]), None)!r}"
        problem = "two different values" if content.form == BOOLEANS or len(different) == 2 else problem
        problem = "only one value" if len(different) == 1 else problem
        raise ValueError(
            f"target must be a column of measurements, with normal errors; {column.name!r} has {problem}. For binary "
            "targets and categories, write the likelihood with labels as an index, as the page on growth mixtures shows"
        )
    _tell_of_lost(column, content)
    return content.values, Recorded(column.name, NUMERIC, content.rule, (), content.lost)


def _tell_of_lost(column, content):
    """Say which entries of a column are not numbers, and what is doubtful about those that are."""
    if content.decimals and content.remark:
        tell(f"Column {str(column.name)!r}: {content.remark}.")
    if content.lost:
        tell(f"Column {str(column.name)!r}: entries became missing: {described_losses(content.lost)}.")


def _numbered_subjects(df, subject):
    """Numbers of subjects in order of appearance, -1 where missing, and their names."""
    column = df[subject]
    if column.dtype.kind not in "biufmM" and not isinstance(column.dtype, pd.CategoricalDtype):
        labels = stripped(column.where(column.notna(), None))
        column = pd.Series(np.where(labels == "", None, labels), column.index, dtype=object)
    codes, names = pd.factorize(column)
    check_different(f"subject {subject!r}", names)
    return codes, names


def read_trajectories(df, subject, time, values, n_visits=None):
    """Sort complete rows by subject and time; say which rows are left out. Returns :class:`Trajectories`.

    Shapes: ``time`` and ``values`` (n_rows,), NaN where missing.
    """
    try:
        codes, ids = _numbered_subjects(df, subject)
    except TypeError as error:
        example = df[subject].dropna().iloc[0]
        raise TypeError(
            f"subject must be a column of numbers or text; {subject!r} has values such as {example!r}"
        ) from error
    gaps = {
        f"a missing {subject!r}": codes < 0,
        "a missing time": np.isnan(time),
        "a missing target": np.isnan(values),
    }
    kept, reasons = np.ones(len(df), dtype=bool), []
    for reason, gap in gaps.items():
        if (gap & kept).any():
            reasons.append(f"{(gap & kept).sum():,} with {reason}")
        kept &= ~gap
    if not kept.any():
        raise ValueError(f"df must have rows with a subject, a time and a target; got none of {len(df)}")
    present = np.unique(codes[kept])
    if reasons:
        lost = len(ids) - len(present)
        text = f"Rows left out: {', '.join(reasons)}, of {len(df):,}"
        if lost:
            text += f"; {lost:,} subject{'s have' if lost > 1 else ' has'} no other row"
        tell(f"{text}.")
    rows = np.flatnonzero(kept)
    rows = rows[np.lexsort((time[rows], codes[rows]))]
    _, item, counts = np.unique(codes[rows], return_inverse=True, return_counts=True)
    visit = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    n_visits = counts.max() if n_visits is None else n_visits
    if counts.max() > n_visits:
        name = ids[codes[rows[np.flatnonzero(visit >= n_visits)[0]]]]
        raise ValueError(f"df must have at most {n_visits} rows of each subject, as the model has; {name!r} has more")
    times, matrix = np.full((len(present), n_visits), np.nan), np.full((len(present), n_visits), np.nan)
    times[item, visit], matrix[item, visit] = time[rows], values[rows]
    times = np.where(np.isnan(times), times[np.arange(len(present)), counts - 1][:, None], times)
    return Trajectories(ids[present].tolist(), times, matrix, present)


def choose_curve(degree, trajectories):
    """The curve of a degree, of a spline, or of the least degree that describes each subject's own rows."""
    present = ~np.isnan(trajectories.values)
    time = trajectories.time[present]
    low, high, n_times = time.min(), time.max(), len(np.unique(time))
    if n_times < 2:
        raise ValueError(f"time must have at least two different values; got only {low:g}")
    center, width = (low + high) / 2, (high - low) / 2
    if degree == "spline":
        if n_times < len(_KNOTS):
            raise ValueError(f"degree must be a number for fewer than {len(_KNOTS)} different times; got 'spline'")
        knots = np.unique(np.quantile((np.unique(time) - center) / width, _KNOTS))
        return NaturalSpline(center, width, tuple(knots.tolist()))
    if degree is None:
        degree, why = _guess_degree(trajectories, (trajectories.time - center) / width, n_times)
        tell(f"Curves have degree {degree}: {why}; degree= changes it.")
    elif isinstance(degree, bool) or not isinstance(degree, int | np.integer) or not 1 <= degree < n_times:
        raise ValueError(
            f"degree must be a whole number from 1 to {n_times - 1}, as there are {n_times} different times, or "
            f"'spline'; got {degree!r}"
        )
    return Polynomial(center, width, int(degree))


def _guess_degree(trajectories, x, n_times):
    """The largest degree that lowers the residuals about the own curves of subjects, and why, in words."""
    y, n_subjects = trajectories.values, len(x)
    chosen = np.arange(n_subjects)
    if n_subjects > _MOST_SUBJECTS:
        chosen = np.random.default_rng(0).choice(n_subjects, _MOST_SUBJECTS, replace=False)
    present = ~np.isnan(y)
    subjects = [(x[i][present[i]], y[i][present[i]]) for i in chosen]
    why = "subjects have too few rows to tell a higher one"
    for degree in range(min(_MOST_DEGREE, n_times - 1), 1, -1):
        # One residual at least is left.
        long_enough = [(t, v) for t, v in subjects if len(np.unique(t)) >= degree + 2]
        if not long_enough:
            continue
        lower, higher = (sum(_residual_squares(t, v, power) for t, v in long_enough) for power in (degree - 1, degree))
        left = sum(len(t) - degree - 1 for t, _ in long_enough)
        noise = higher / left
        ratio = (lower - higher) / len(long_enough) / max(noise, 1e-300)
        if lower > higher and scipy.stats.f.sf(ratio, len(long_enough), left) < _LEVEL:
            gain = 1.0 - noise / (lower / (left + len(long_enough)))
            return degree, f"it lowers the variance about each subject's own curve by {100 * gain:.0f} %"
        why = "lines describe the rows of each subject as well as curves"
    return 1, why


def _residual_squares(t, v, degree):
    W = t[:, None] ** np.arange(degree + 1)
    return float(((v - W @ np.linalg.lstsq(W, v, rcond=None)[0]) ** 2).sum())


def read_membership(df, columns, trajectories, subject):
    """Terms of the columns, and their design, centred and scaled. Returns a list and an array (n, n_terms)."""
    codes, _ = _numbered_subjects(df, subject)
    terms, design = [], []
    for name in columns:
        content = read_content(df[name])
        values = _of_subjects(name, content, codes, trajectories)
        if content.is_number:
            different = np.unique(values)
            if len(different) < 2:
                raise ValueError(f"membership must be of columns that vary between subjects; {name!r} is constant")
            scale = float(np.ptp(different)) if len(different) == 2 else float(values.std())
            terms.append(Term(name, None, float(values.mean()), scale, content.rule))
            design.append((values - values.mean()) / scale)
            continue
        levels, counts = np.unique(values.astype(str), return_counts=True)
        if len(levels) < 2 or len(levels) > len(values) / 2:
            raise ValueError(
                f"membership must be of columns with a few levels or with numbers; {name!r} has {len(levels)} levels "
                f"for {len(values)} subjects"
            )
        for level in np.delete(levels, counts.argmax()):
            has = (values.astype(str) == level).astype("float64")
            terms.append(Term(name, str(level), float(has.mean()), 1.0, content.rule, tuple(levels.tolist())))
            design.append(has - has.mean())
    return tuple(terms), np.column_stack(design)


def design_of(df, growth, trajectories):
    """The design of membership of further subjects, (m, n_terms)."""
    [codes, _], columns = _numbered_subjects(df, growth.subject), []
    for term in growth.membership:
        content = read_content(df[term.column], term.rule)
        check_alike(content, term.rule, f"membership {term.column!r}")
        if term.level is None:
            read = values_of(Recorded(term.column, NUMERIC, term.rule, (), ()), df[term.column])
            content = content._replace(values=read)
        values = _of_subjects(term.column, content, codes, trajectories)
        if term.level is not None:
            new = sorted(set(values.astype(str).tolist()) - set(term.levels))
            if new:
                raise ValueError(f"{term.column!r} must have the levels of the model, {list(term.levels)}; got {new}")
            values = (values.astype(str) == term.level).astype("float64")
        columns.append((values - term.center) / term.scale)
    return np.column_stack(columns)


def _of_subjects(name, content, codes, trajectories):
    """The value of a column of each subject; it may be missing in some rows, and must not differ between rows."""
    kept = codes >= 0
    column = pd.Series(content.values[kept], dtype=object).where(~content.missing[kept])
    groups = column.groupby(codes[kept])
    several = groups.nunique()
    places = trajectories.places
    bad = places[several.reindex(places).to_numpy() > 1]
    if len(bad):
        who = trajectories.ids[int(np.flatnonzero(places == bad[0])[0])]
        values = groups.get_group(bad[0]).dropna().unique()[:2].tolist()
        raise ValueError(
            f"membership must be of columns with one value for each subject; {name!r} has {values[0]!r} and "
            f"{values[1]!r} for subject {who!r}"
        )
    values = groups.first().reindex(places)
    if values.isna().any():
        lacking = [repr(trajectories.ids[k]) for k in np.flatnonzero(values.isna().to_numpy())]
        raise ValueError(
            f"membership must be known of all subjects; {name!r} is missing for {first_few(lacking)}. Leave out these "
            "subjects or the column"
        )
    return values.to_numpy(dtype="float64") if content.is_number else values.to_numpy()


def tell(text):
    """Write a line to the log."""
    _log.info(wrapped(text))
