"""Columns of a table that determine each other."""

import numpy as np
import pandas as pd

from pymc_nrm.recipes.columns import first_few
from pymc_nrm.recipes.messages import warn_user
from pymc_nrm.recipes.reading.kinds import NUMERIC, SKIP

# A correlation from here on is left to the warnings of linear combinations and of columns that follow from others.
_LINEAR = 0.995


def warn_of_equivalent_columns(df, readings):
    """Warn of columns of which each value belongs to one value of another: what they say would count twice."""
    columns = [(r, r.values(df.iloc[:, k])) for k, r in enumerate(readings) if r.kind != SKIP]
    groups = {}
    for reading, values in columns:
        groups.setdefault(_key(values), []).append((reading, values))
    pairs = {}
    for (first, x), *others in groups.values():
        for second, y in others:
            if not (first.kind == second.kind == NUMERIC and _correlation(x, y) > _LINEAR):
                pairs[second.name] = f"{first.name!r} and {second.name!r}"
    if pairs:
        example, shown = next(iter(pairs)), first_few(list(pairs.values()))
        warn_user(
            f"Columns that determine each other, so that what they say counts twice: {shown}. "
            f"Leave one of each out, such as kinds={{{example!r}: 'skip'}}"
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


def _correlation(x, y):
    known = ~np.isnan(x)
    return abs(np.corrcoef(x[known], y[known])[0, 1])
