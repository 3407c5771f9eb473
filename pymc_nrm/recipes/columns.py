"""Columns of tables: their names, which are doubtful or follow from others, with messages that say what to do."""

import numpy as np
import pandas as pd

from pymc_nrm.common.wrapping import first_few
from pymc_nrm.families.shared.sample_covariance import dependent_columns
from pymc_nrm.recipes.messages import warn_user
from pymc_nrm_predictor.reading.tables import check_table as check_table


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


def in_order_of_rows(argument, values, table):
    """A Series in the order of the rows of a table that have its names; what has no names is taken in its order."""
    if not isinstance(values, pd.Series) or not isinstance(table, pd.DataFrame) or values.index.equals(table.index):
        return values
    if values.index.is_unique and table.index.isin(values.index).all():
        return values.reindex(table.index)
    if values.index.equals(pd.RangeIndex(len(values))):
        return values
    name = table.index[~table.index.isin(values.index)][:1].tolist() or values.index[values.index.duplicated()].tolist()
    raise ValueError(
        f"{argument} must have the index of the table if it is a Series; it has not one value for {name[0]!r}. "
        f"{argument}.to_numpy() takes values in the order of the rows"
    )


def name_of_column(X, k):
    """The name of a column of a DataFrame, or the place of one of an array."""
    return X.columns.tolist()[k] if hasattr(X, "columns") else int(k)


# Whole numbers with at most so many different values may be anything, and other numbers with at most so many.
FEW_VALUES, _FEWEST_VALUES = 20, 5

# Doubles from here on are all whole.
_ALL_WHOLE = 2.0**52


def warn_of_doubtful_numbers(columns, n_columns):
    """Warn of columns taken as measurements that look like codes, or like names of the rows."""
    codes, names = doubtful_columns(columns, n_columns)
    where = "of mixture_model or MixtureEstimator, for a DataFrame"
    if codes:
        warn_user(
            f"{listed(codes)} taken as measurements, with few different values, as codes of categories have. If they "
            f"are codes, say so by kinds={{{next(iter(codes))!r}: 'categorical'}} {where}; 'numeric' there says that a "
            "column measures something"
        )
    if names:
        warn_user(
            f"{listed(names)} taken as measurements, with a different whole number in every row, as names of rows "
            f"are. If they are names, leave them out; otherwise kinds={{{next(iter(names))!r}: 'numeric'}} {where}, "
            "says that a column measures something"
        )


def doubtful_columns(columns, n_columns):
    """Numbers of different values of columns of measurements that look like codes, and of those like names of rows."""
    codes, names = {}, {}
    for name, values in columns.items():
        present = values[np.isfinite(values)]
        n_different = len(np.unique(present))
        whole = (present == np.floor(present)).all() and (abs(present) < _ALL_WHOLE).all()
        if 1 < n_different < len(present):
            if n_different <= (FEW_VALUES if whole else _FEWEST_VALUES):
                codes[name] = n_different
        elif whole and n_different > FEW_VALUES and n_columns > 1:
            names[name] = n_different
    return codes, names


def listed(columns):
    """Columns with numbers of their different values, as the subject of a sentence with its verb."""
    shown = first_few([f"{name!r} ({n} values)" for name, n in columns.items()])
    return f"column{'s' * (len(columns) > 1)} {shown} {'are' if len(columns) > 1 else 'is'}"


# A column is redundant if others leave less than this share of its variance unexplained.
_LEAST_SHARE = 0.01

_DIRECTIONS = "; or try n_directions, which takes the thinnest directions for noise that all clusters share"


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
    redundant = redundant_columns(values[:, places])
    if not redundant:
        return
    name = {k: repr(name_of_column(X, place)) for k, place in enumerate(places)}
    sets = [f"{name[column]} from {', '.join(name[k] for k in others)}" for column, others in redundant.items()]
    warn_user(
        f"Columns that follow from others, with R^2 above {1 - _LEAST_SHARE:g}: {first_few(sets, 3)}. Rows then lie "
        f"near a thin sheet, which is cut into many clusters. Leave out {first_few([name[k] for k in redundant])}, or "
        f"as many others of these sets{'' if in_chunks else _DIRECTIONS}"
    )


def redundant_columns(values):
    """Columns of complete data that others determine, none of them exactly, each with the few that determine it.

    Without these columns none that is left follows from the others.  Shapes: ``values`` (n, d), n > d.
    """
    n, d = values.shape
    left, determining = list(range(d)), {}
    # A triangle whose columns have the lengths and angles of the centred columns.
    R = np.linalg.qr((values - values.mean(axis=0)) / values.std(axis=0), mode="r")
    while len(left) > 1:
        shares = _unexplained(R[:, left], n)
        if shares.min() >= _LEAST_SHARE:
            break
        column = left.pop(int(shares.argmin()))
        determining[column] = _determining(R, column, left, n)
    return determining


def _unexplained(R, n):
    """One minus the adjusted R^2 of each column on all others; a column leaves 1 / inverse(R'R)_jj unexplained."""
    _, lengths, directions = np.linalg.svd(R, full_matrices=False)
    residual = 1.0 / ((directions / lengths[:, None]) ** 2).sum(axis=0)
    return residual / n * (n - 1) / (n - R.shape[1])


def _determining(R, column, others, n):
    """The first few columns, chosen one by one, whose regression leaves little of a column."""
    chosen, remaining = [], list(others)
    while remaining:
        shares = [_unexplained(R[:, [column, *chosen, other]], n)[0] for other in remaining]
        chosen.append(remaining.pop(int(np.argmin(shares))))
        if min(shares) < _LEAST_SHARE:
            break
    return sorted(chosen)
