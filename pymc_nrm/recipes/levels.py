"""Levels of categorical columns, and their codes."""

import numpy as np
import pandas as pd

__all__ = ["column_levels", "level_codes"]


def column_levels(column):
    """The levels that occur in a column. They are in the order of a pandas category, otherwise sorted."""
    known = column.dropna()
    if isinstance(column.dtype, pd.CategoricalDtype):
        present = set(known)
        return tuple(level for level in column.cat.categories.tolist() if level in present)
    return tuple(sorted(set(known.tolist())))


def level_codes(column, name, levels):
    """Numbers 0, 1, ... of the levels of a column; NaN where it is missing."""
    codes = {level: float(k) for k, level in enumerate(levels)}
    missing = column.isna().to_numpy()
    values = column.tolist()
    unknown = list(dict.fromkeys(v for v, gap in zip(values, missing, strict=True) if not gap and v not in codes))
    if unknown:
        raise ValueError(
            f"column {name!r} must have levels of the model, {list(levels)}; got {unknown[0]!r}. Make it one of these, "
            "or missing, which leaves the column out of the prediction"
        )
    return np.array([np.nan if gap else codes[v] for v, gap in zip(values, missing, strict=True)])
