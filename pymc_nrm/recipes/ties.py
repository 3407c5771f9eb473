"""Jitter of repeated values of numbers: uniform over the width to which a column is rounded."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from pymc_nrm.checks import numeric_array, random_generator

__all__ = ["jitter_ties", "with_jittered_ties"]

# Values are the same but for errors of arithmetic if their distance is a smaller share of the range of their column
# or of its largest value.
_SAME, _ROUNDING = 1e-9, 8 * np.finfo("float64").eps


def jitter_ties(X: Any, *, random_seed: Any = 0) -> Any:
    r"""Spread items with the same value of a column evenly over the width of its rounding.

    A rounded value stands for an interval.  Taken as points, items with the same value of one column make a component
    whose density has no bound, and a mixture finds many of them.  Of m items at a value v of a column whose different
    values are at least w apart, the k-th in random order gets the value

    .. math:: v + w \Bigl(\frac{2 k - 1}{2 m} - \frac 1 2\Bigr), \qquad k = 1, \dots, m

    ::

        value        v - w                 v                 v + w
        recorded       1         |         3         |         2         |   items
        jittered       x         |  x      x      x  |    x         x    |

    Values that occur once stay as they are, all others move by less than half a gap, and no two change order.  With
    uniform jitter, the expected log density is, but for a constant, at most the log-probability of what was recorded,
    so that a mixture that is good for the one is good for the other (Theis, van den Oord & Bethge 2016, "A note on the
    evaluation of generative models", section 3.1).

    Parameters
    ----------
    X : array_like, Series, DataFrame or DataArray, shape (n, d), or (n,) for one column
        Numbers in any units; NaN means missing and stays so.
    random_seed : int, SeedSequence, BitGenerator, Generator or None
        For the order of the items.  Every column has its own stream, and the same number gives the same values.

    Returns
    -------
    ndarray of float, or of the type of X if that has labels
        New values in the units of X.  Multiplying a column by a number multiplies its jitter.

    Raises
    ------
    TypeError
        If X has anything but real numbers.
    ValueError
        If X has neither one nor two dimensions.

    See Also
    --------
    pymc_nrm.recipes.gaussian_mixture : Jitters ties unless asked not to.

    Examples
    --------
    >>> import pymc_nrm as nrm
    >>> nrm.jitter_ties([1.0, 1.0, 1.5, 1.0, 3.0]).round(2).tolist()
    [1.0, 1.17, 1.5, 0.83, 3.0]
    """
    return with_jittered_ties(X, random_seed)[0]


def with_jittered_ties(X, random_seed=0):
    """The same, with the width of the jitter of each column.

    Returns
    -------
    jittered : as :func:`jitter_ties`
    widths : ndarray of float, shape (d,)
        In units of the columns; 0 for columns without ties, or with one value only.

    Raises
    ------
    TypeError, ValueError
        As :func:`jitter_ties`.
    """
    values = numeric_array("X", X)
    if values.ndim not in (1, 2):
        raise ValueError(f"X must be a matrix, shape (n, d), or a vector, shape (n,); got shape {values.shape}")
    jittered = np.array(values, dtype="float64")
    columns = np.atleast_2d(jittered.T)
    seeds = random_generator(random_seed).integers(2**63, size=len(columns))
    widths = [_jitter(column, np.random.default_rng(seed)) for column, seed in zip(columns, seeds, strict=True)]
    if isinstance(X, pd.DataFrame):
        jittered = pd.DataFrame(jittered, index=X.index, columns=X.columns)
    elif isinstance(X, pd.Series):
        jittered = pd.Series(jittered, index=X.index, name=X.name)
    elif isinstance(X, xr.DataArray):
        jittered = X.copy(data=jittered)
    return jittered, np.array(widths)


def _jitter(column, rng):
    """Jitter one column in place, and return the width."""
    order = rng.permutation(len(column))
    order = order[np.isfinite(column[order])]
    order = order[np.argsort(column[order], kind="stable")]
    ordered = column[order]
    if len(ordered) == 0:
        return 0.0
    with np.errstate(over="ignore"):
        gaps = np.diff(ordered)
        least = max(_SAME * (ordered[-1] - ordered[0]), _ROUNDING * abs(ordered).max())
    starts = np.concatenate([[True], gaps > least])
    group = np.cumsum(starts) - 1
    sizes = np.bincount(group)
    if len(sizes) == 1 or len(sizes) == len(ordered):
        return 0.0
    width = gaps[starts[1:]].min()
    rank = np.arange(len(ordered)) - np.flatnonzero(starts)[group]
    column[order] += width * ((rank + 0.5) / sizes[group] - 0.5)
    return width
