"""Columns of numbers that nearly follow from others, and what to do about them."""

import os
import warnings

import numpy as np

from pymc_nrm.families.sample_covariance import dependent_columns
from pymc_nrm.recipes.columns import name_of_column

# A column is redundant if others leave less than this share of its variance unexplained.
_LEAST_SHARE = 0.01

_DIRECTIONS = "; or try n_components, which takes the thinnest directions for noise that all clusters share"

# Warnings point to the line of the user that calls a recipe.
_HERE = (os.path.dirname(__file__),)


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
    warnings.warn(
        f"Columns that follow from others, with R^2 above {1 - _LEAST_SHARE:g}: {'; '.join(sets)}. Rows then lie near "
        f"a thin sheet, which is cut into many clusters. Leave out {', '.join(name[column] for column in found)}, or "
        f"as many others of these sets{'' if in_chunks else _DIRECTIONS}",
        skip_file_prefixes=_HERE,
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
