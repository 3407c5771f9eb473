"""Columns of a table that others determine: what they say would count twice."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy

from pymc_nrm.common.wrapping import first_few
from pymc_nrm.recipes.messages import warn_user
from pymc_nrm.recipes.reading.kinds import CATEGORICAL, NUMERIC, SKIP

# A correlation from here on is left to the warnings of linear combinations and of columns that follow from others.
_LINEAR = 0.995

# A column is a function of another if that happens by chance with at most this probability; in tables of at most so
# many columns.
_LEAST_CHANCE, _MOST_COLUMNS = np.log(1e-6), 200
# A gap between values is wide if it is larger than this share of them.
_WIDE_GAP = 0.9


class _Column(NamedTuple):
    name: Any
    kind: str
    # Float (n,), NaN where missing.
    values: Any


def warn_of_determined_columns(df, readings):
    """Warn of columns of which each value belongs to one value of another, in both directions or in one.

    Return the names of the columns that determine others.
    """
    columns = [_Column(r.name, r.kind, r.values(df.iloc[:, k])) for k, r in enumerate(readings) if r.kind != SKIP]
    groups = {}
    for column in columns:
        groups.setdefault(_key(column.values), []).append(column)
    pairs = {
        other.name: f"{first.name!r} and {other.name!r}"
        for first, *others in groups.values()
        for other in others
        if not _are_linear(first, other)
    }
    _warn("determine each other", pairs)
    functions = _functions([first for first, *_ in groups.values()])
    _warn("are functions of others", {name: f"{name!r} of {other!r}" for name, other in functions.items()})
    return set(functions.values())


def _warn(what, pairs):
    if pairs:
        warn_user(
            f"Columns that {what}, so the same information counts twice: {first_few(list(pairs.values()))}. Leave one "
            f"of each out, such as kinds={{{next(iter(pairs))!r}: 'skip'}}"
        )


def _key(values):
    """What is the same for columns that determine each other: which rows have equal values, or the order of the rows.

    Columns whose values hardly repeat would all have the same equal rows, none, so that their order counts.
    """
    gaps = np.isnan(values)
    different, ranks = np.unique(values[~gaps], return_inverse=True)
    codes, repeats = np.full(len(values), -1), len(different) <= len(ranks) / 2
    if repeats:
        codes[~gaps] = pd.factorize(ranks)[0]
    elif len(ranks):
        # Falling values have the order of rising ones.
        codes[~gaps] = ranks if ranks[0] <= ranks[-1] else len(different) - 1 - ranks
    return repeats, codes.tobytes()


def _functions(columns):
    """Names of columns that are functions of another, such as groups of an age, with the name of the first one."""
    if len(columns) > _MOST_COLUMNS:
        return {}
    source_of = {}
    for x in columns:
        order = np.argsort(x.values, kind="stable")
        for y in columns:
            if y is x or y.name in source_of or source_of.get(x.name) == y.name:
                continue
            if _is_function(x, y, order) and not _are_linear(x, y):
                source_of[y.name] = x.name
    return source_of


def _is_function(x, y, order):
    """Whether rows of equal x have equal y, and not by chance. Shapes: ``order`` (n,), which sorts x."""
    sorted_x, sorted_y = x.values[order], y.values[order]
    both_known = ~(np.isnan(sorted_x) | np.isnan(sorted_y))
    sorted_x, sorted_y = sorted_x[both_known], sorted_y[both_known]
    changes, same = sorted_y[1:] != sorted_y[:-1], sorted_x[1:] == sorted_x[:-1]
    if (changes & same).any():
        return False
    n, counts = len(sorted_y), np.unique(sorted_y, return_counts=True)[1]
    if len(counts) < 2 or len(counts) > n / 2:
        return False
    if x.kind != CATEGORICAL:
        # Groups that are far apart in x are not cuts of it: cuts lie where items are.
        gaps = np.diff(sorted_x)
        if np.median(gaps[changes]) > np.quantile(gaps[~same], _WIDE_GAP):
            return False
    # Rows of one x agree, where values repeat; or values of y are intervals of x, as few orders of the rows make them.
    chance = same.sum() * np.log(((counts / n) ** 2).sum()) if same.sum() >= n / 2 else 0.0
    if x.kind != CATEGORICAL and changes.sum() == len(counts) - 1:
        log_orders = scipy.special.gammaln(n + 1) - scipy.special.gammaln(counts + 1).sum()
        chance = min(chance, scipy.special.gammaln(len(counts) + 1) - log_orders)
    return chance < _LEAST_CHANCE


def _are_linear(x, y):
    if not x.kind == y.kind == NUMERIC:
        return False
    both_known = ~(np.isnan(x.values) | np.isnan(y.values))
    return abs(np.corrcoef(x.values[both_known], y.values[both_known])[0, 1]) > _LINEAR
