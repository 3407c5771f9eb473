"""Columns that are probably not what their type says: numbers as text, codes and names of rows as numbers."""

import warnings

import numpy as np
import pandas as pd

# Whole numbers with at most so many different values may be anything, and other numbers with at most so many.
FEW_VALUES, _FEWEST_VALUES = 20, 5

# Doubles from here on are all whole.
_ALL_WHOLE = 2.0**52

# Many strings are levels of a category only if they have on average at least so many items.
_LEAST_ITEMS = 4


def check_text(name, column):
    """Refuse a column of text that is mostly numbers, or hardly ever repeats a string."""
    keep = f"kinds={{{name!r}: 'categorical'}} takes it as it is"
    advice = numbers_in_text(name, column)
    if advice:
        raise ValueError(f"{advice}; {keep}")
    n, different = column.count(), column.nunique()
    if FEW_VALUES < different < n < _LEAST_ITEMS * different:
        raise ValueError(
            f"column {name!r} holds {different} different strings in {n} rows, so it says little about clusters. Leave "
            f"it out, or make several strings one; {keep}"
        )


def numbers_in_text(name, column):
    """Say what to do about a column of text of which more than half are numbers; None about others."""
    known = column.dropna()
    if len(known) == 0 or not all(isinstance(value, str) for value in known):
        return None
    parsed, how = pd.to_numeric(known, errors="coerce").notna(), ""
    if 2 * parsed.sum() <= len(known):
        parsed, how = pd.to_numeric(known.str.replace(",", "."), errors="coerce").notna(), ".str.replace(',', '.')"
    if 2 * parsed.sum() <= len(known):
        return None
    others = known[~parsed].unique().tolist()
    text = f"column {name!r} holds text, and {parsed.sum()} of {len(known)} values are numbers"
    if others:
        text += f", others are {', '.join(map(repr, others[:3]))}{', ...' if len(others) > 3 else ''}"
    gone = ", which makes the others missing" if others else ""
    return f'{text}. Make it numeric by pandas.to_numeric(df[{name!r}]{how}, errors="coerce"){gone}'


def warn_of_doubtful_numbers(columns, n_columns, stacklevel):
    """Warn of columns taken as measurements that look like codes, or like names of the rows."""
    codes, names = {}, {}
    for name, values in columns.items():
        known = values[np.isfinite(values)]
        n_different = len(np.unique(known))
        whole = (known == np.floor(known)).all() and (abs(known) < _ALL_WHOLE).all()
        if 1 < n_different < len(known):
            if n_different <= (FEW_VALUES if whole else _FEWEST_VALUES):
                codes[name] = n_different
        elif whole and n_different > FEW_VALUES and n_columns > 1:
            names[name] = n_different
    where = "of mixture_model or MixtureEstimator, for a DataFrame"
    if codes:
        text = (
            f"{_listed(codes)} taken as measurements, with few different values, as codes of categories have. If they "
            f"are codes, say so by kinds={{{next(iter(codes))!r}: 'categorical'}} {where}; 'numeric' there says that a "
            "column measures something"
        )
        warnings.warn(text, stacklevel=stacklevel)
    if names:
        text = (
            f"{_listed(names)} taken as measurements, with a different whole number in every row, as names of rows "
            f"are. If they are names, leave them out; otherwise kinds={{{next(iter(names))!r}: 'numeric'}} {where}, "
            "says that a column measures something"
        )
        warnings.warn(text, stacklevel=stacklevel)


def _listed(columns, most=6):
    shown = [f"{name!r} ({n} values)" for name, n in list(columns.items())[:most]]
    more = f" and {len(columns) - most} more" if len(columns) > most else ""
    return f"column{'s' * (len(shown) > 1)} {', '.join(shown)}{more} {'are' if len(shown) > 1 else 'is'}"
