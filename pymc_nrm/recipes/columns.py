"""Columns of tables: what kind each is, which are doubtful or follow from others, with errors that say what to do."""

import numbers
import os
import warnings
from collections.abc import Mapping

import numpy as np
import pandas as pd

from pymc_nrm.families.sample_covariance import dependent_columns

NUMERIC, BINARY, CATEGORICAL, COUNT = KINDS = ("numeric", "binary", "categorical", "count")


def check_table(df, argument):
    """Check that an argument is a DataFrame with rows, and columns of different names."""
    if not isinstance(df, pd.DataFrame):
        raise TypeError(
            f"{argument} must be a pandas DataFrame; got {type(df).__name__}. gaussian_mixture takes arrays, and "
            "to_pandas() of other tables makes a DataFrame"
        )
    if df.shape[0] == 0 or df.shape[1] == 0:
        raise ValueError(f"{argument} must have rows and columns; got shape {df.shape}")
    # A model has names as text.
    names = [str(name) for name in df.columns]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{argument} must have columns of different names; got {repeated} more than once")


def check_columns(df, argument):
    """Check a table from which a model is made: as :func:`check_table`, with at least two rows."""
    check_table(df, argument)
    if len(df) < 2:
        raise ValueError(f"{argument} must have at least two rows; got {len(df)}")


def item_names(df, argument):
    """Names of the rows: the index of a DataFrame or Series."""
    if isinstance(df.index, pd.MultiIndex):
        raise ValueError(
            f"{argument} must have an index of one level; got {df.index.nlevels}. Number the rows by "
            f"{argument}.reset_index(drop=True), or join the levels"
        )
    return df.index.tolist()


def name_of_column(X, k):
    """The name of a column of a DataFrame, or the place of one of an array."""
    return X.columns[k] if hasattr(X, "columns") else int(k)


def column_kinds(df, kinds=None):
    """The kind of each column of a table."""
    check_columns(df, "df")
    given = _given_kinds(df, kinds)
    found, unclear, doubtful = {}, {}, {}
    for k, name in enumerate(df.columns):
        column = df.iloc[:, k]
        found[name] = given.get(name) or _default_kind(name, column)
        if found[name] is None:
            unclear[name] = column.dropna()
            continue
        _check_kind(name, column, found[name])
        if found[name] == NUMERIC and name not in given:
            doubtful[name] = numbers_of(column, name, NUMERIC)
    if unclear:
        described = [
            f"{name!r} ({c.nunique()} values from {int(c.min())} to {int(c.max())})" for name, c in unclear.items()
        ]
        example = ", ".join(f"{name!r}: ..." for name in unclear)
        raise ValueError(
            "columns of df hold few different whole numbers, which may be codes of categories, counts or measurements: "
            f"{', '.join(described)}. Say what each is, kinds={{{example}}}: "
            "'categorical' if its numbers are codes, 'count' if they count something, 'numeric' if they measure"
        )
    warn_of_doubtful_numbers(doubtful, len(found))
    return found


def _given_kinds(df, kinds):
    if kinds is None:
        return {}
    if not isinstance(kinds, Mapping):
        raise TypeError(f"kinds must be a mapping from columns to kinds; got {type(kinds).__name__}")
    names = df.columns.tolist()
    unknown = [name for name in kinds if name not in names]
    if unknown:
        raise ValueError(f"kinds must be of columns of df, {names}; got {unknown}")
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise ValueError(f"kinds[{name!r}] must be one of {', '.join(map(repr, KINDS))}; got {kind!r}")
    return dict(kinds)


def _default_kind(name, column):
    """The kind that the values suggest, or None if they may be several."""
    values = _values(name, column)
    if values is None:
        if not isinstance(column.dtype, pd.CategoricalDtype):
            check_text(name, column.dropna())
        return CATEGORICAL
    known = values[~np.isnan(values)]
    if pd.api.types.is_bool_dtype(column.dtype) or np.isin(known, (0.0, 1.0)).all():
        return BINARY
    gaps = len(known) < len(values)
    if (pd.api.types.is_integer_dtype(column.dtype) or gaps) and (known == np.floor(known)).all():
        different = np.unique(known)
        if not gaps and len(different) == len(known) == different[-1] - different[0] + 1:
            raise ValueError(
                f"column {name!r} numbers the rows. Make it the index by df.set_index({name!r}), leave it out, or say "
                f"that it is a measurement, kinds={{{name!r}: 'numeric'}}"
            )
        # More than a few numbers that leave most of their range empty are no codes.
        is_sparse = _FEWEST_VALUES < len(different) <= (different[-1] - different[0]) / 2
        return None if len(different) <= FEW_VALUES and not is_sparse else NUMERIC
    return NUMERIC


def _check_kind(name, column, kind):
    if kind != CATEGORICAL:
        numbers_of(column, name, kind)
        return
    _values(name, column)
    known = column.dropna()
    different = known.nunique()
    _check_varies(name, different)
    if different == len(known):
        raise ValueError(
            f"column {name!r} is different in every row, so it says nothing about clusters. If it names the rows, make "
            f"it the index by df.set_index({name!r}); otherwise leave it out"
        )


def numbers_of(column, name, kind, new=False):
    """Values of a column as floats, with NaN where they are missing."""
    values = _values(name, column)
    if values is None or (kind != BINARY and pd.api.types.is_bool_dtype(column.dtype)):
        advice = numbers_in_text(name, column)
        if advice:
            raise TypeError(f"{advice}. It must hold numbers to be {kind}")
        got, fitting = ("text", CATEGORICAL) if values is None else ("booleans", BINARY)
        raise TypeError(
            f"column {name!r} must hold numbers to be {kind}; got {got}, which mixture_model takes as {fitting}"
        )
    known = values[~np.isnan(values)]
    if kind == BINARY and not np.isin(known, (0.0, 1.0)).all():
        wrong = known[~np.isin(known, (0.0, 1.0))][0]
        raise ValueError(f"column {name!r} must be 0, 1, booleans or missing to be binary; got {wrong:g}")
    if kind == COUNT:
        if len(known) < len(values):
            raise ValueError(
                f"column {name!r} must be complete to be a count; {len(values) - len(known)} of {len(values)} values "
                f"are missing. Leave out these rows by df.dropna(subset={name!r}), fill them in, or make the column "
                "numeric"
            )
        if not ((known >= 0) & (known == np.floor(known))).all():
            wrong = known[(known < 0) | (known != np.floor(known))][0]
            raise ValueError(f"column {name!r} must be whole numbers of at least 0 to be a count; got {wrong:g}")
    if not new:
        _check_varies(name, len(np.unique(known)))
    return values


def _check_varies(name, n_different):
    if n_different < 2:
        what = "has no values" if n_different == 0 else "has only one value"
        raise ValueError(
            f"column {name!r} {what}, so it says nothing about clusters. Leave it out: df.drop(columns={name!r})"
        )


def _values(name, column):
    """Numbers of a column with NaN where they are missing, or None if it holds text or categories."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return None
    known = column.dropna()
    if dtype.kind in "mMc" or isinstance(dtype, pd.PeriodDtype | pd.IntervalDtype | pd.DatetimeTZDtype):
        remedy = "its real and imaginary parts" if dtype.kind == "c" else "a number, such as the days since a date"
        raise TypeError(f"column {name!r} must hold numbers, booleans or text; got {dtype}. Turn it into {remedy}")
    if dtype.kind == "O" and not isinstance(dtype, pd.StringDtype):
        types = {bool if isinstance(v, np.bool_) else type(v) for v in known.tolist()}
        real = all(issubclass(kind, numbers.Real) and kind is not bool for kind in types)
        if types and not (real or types == {bool} or all(issubclass(kind, str) for kind in types)):
            raise TypeError(
                f"column {name!r} must hold numbers, booleans or text; got values of type "
                f"{', '.join(sorted(kind.__name__ for kind in types))}"
            )
        text = bool(types) and not real and types != {bool}
    else:
        text = pd.api.types.is_string_dtype(dtype)
    if text:
        return None
    values = np.full(len(column), np.nan)
    values[column.notna().to_numpy()] = known.to_numpy(dtype="float64")
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise ValueError(
            f"column {name!r} must be finite; got {values[infinite[0]]} in row {infinite[0]}. Make infinite values "
            "missing, or leave out their rows"
        )
    return values


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


def warn_user(text):
    """Warn at the line of the user that calls a recipe."""
    warnings.warn(text, skip_file_prefixes=(os.path.dirname(__file__),))


def first_few(texts, most=6):
    """The first few of some texts, and how many more there are."""
    return ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")


def warn_of_doubtful_numbers(columns, n_columns):
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
        warn_user(text)
    if names:
        text = (
            f"{_listed(names)} taken as measurements, with a different whole number in every row, as names of rows "
            f"are. If they are names, leave them out; otherwise kinds={{{next(iter(names))!r}: 'numeric'}} {where}, "
            "says that a column measures something"
        )
        warn_user(text)


def _listed(columns):
    shown = first_few([f"{name!r} ({n} values)" for name, n in columns.items()])
    return f"column{'s' * (len(columns) > 1)} {shown} {'are' if len(columns) > 1 else 'is'}"


# A column is redundant if others leave less than this share of its variance unexplained.
_LEAST_SHARE = 0.01

_DIRECTIONS = "; or try n_components, which takes the thinnest directions for noise that all clusters share"


def warn_of_redundant_columns(X, values, in_chunks=False):
    """Warn of columns that nearly follow from others; exact linear combinations are left to other messages.

    Shapes: ``values`` (n, d), NaN where missing.
    """
    values = values[np.isfinite(values).all(axis=1)]
    if len(values) <= values.shape[1]:
        return
    places = np.flatnonzero(values.min(axis=0) < values.max(axis=0))
    if len(places) < 2:
        return
    places = np.delete(places, dependent_columns(values[:, places]))
    found = redundant_columns(values[:, places])
    if not found:
        return
    name = {k: repr(name_of_column(X, place)) for k, place in enumerate(places)}
    sets = [f"{name[column]} from {', '.join(name[k] for k in others)}" for column, others in found.items()]
    warn_user(
        f"Columns that follow from others, with R^2 above {1 - _LEAST_SHARE:g}: {'; '.join(sets)}. Rows then lie near "
        f"a thin sheet, which is cut into many clusters. Leave out {', '.join(name[column] for column in found)}, or "
        f"as many others of these sets{'' if in_chunks else _DIRECTIONS}"
    )


def redundant_columns(values):
    """Columns of complete data that others determine, none of them exactly, each with the few that determine it.

    Without these columns none that is left follows from the others.  Shapes: ``values`` (n, d), n > d.
    """
    n, d = values.shape
    left, found = list(range(d)), {}
    # A triangle whose columns have the lengths and angles of the centred columns.
    R = np.linalg.qr((values - values.mean(axis=0)) / values.std(axis=0), mode="r")
    while len(left) > 1:
        shares = _unexplained(R[:, left], n)
        if shares.min() >= _LEAST_SHARE:
            break
        column = left.pop(int(shares.argmin()))
        found[column] = _determining(R, column, left, n)
    return found


def _unexplained(R, n):
    """One minus the adjusted R^2 of each column on all others; a column leaves 1 / inverse(R'R)_jj unexplained."""
    _, lengths, directions = np.linalg.svd(R, full_matrices=False)
    residual = 1.0 / ((directions / lengths[:, None]) ** 2).sum(axis=0)
    return residual / n * (n - 1) / (n - R.shape[1])


def _determining(R, column, others, n):
    """The first few columns, chosen one by one, whose regression leaves little of a column."""
    chosen, rest = [], list(others)
    while rest:
        shares = [_unexplained(R[:, [column, *chosen, other]], n)[0] for other in rest]
        chosen.append(rest.pop(int(np.argmin(shares))))
        if min(shares) < _LEAST_SHARE:
            break
    return sorted(chosen)
