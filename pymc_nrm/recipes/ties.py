"""Jitter of repeated values of numbers: uniform over the width to which a column is rounded."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from pymc_nrm.common.checks import numeric_array, random_generator
from pymc_nrm.common.wrapping import first_few
from pymc_nrm.recipes.columns import name_of_column
from pymc_nrm.recipes.messages import warn_user
from pymc_nrm.recipes.rounding import function_of_rounded, step_of_repeated_values

# Values are the same but for errors of arithmetic if their distance is a smaller share of the range of their column
# or of its largest value.
_SAME, _ROUNDING = 1e-9, 8 * np.finfo("float64").eps

# A column of at least so many items warns if more than this share of them are tied, and it has so many times the ties
# that rounding to its smallest gap explains.
_ENOUGH_ITEMS, _TIED_SHARE, _EXCESS = 20, 0.25, 5.0

# Values on either side of one that show how dense the items are there.
_REACH = 5


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

    Warns
    -----
    UserWarning
        If a column has far more ties than rounding to its smallest gap explains, such as heights of which some are in
        whole centimetres and others in inches, 0.02 cm beside them, or logarithms of rounded numbers.  Jitter is then
        too narrow; the message says to what the column should be rounded first, if there is a step near which most
        repeated values lie, or that numbers should be jittered before their logarithm.

    See Also
    --------
    pymc_nrm.recipes.gaussian_mixture : Jitters ties unless asked not to.

    Examples
    --------
    >>> import pymc_nrm as nrm
    >>> nrm.recipes.jitter_ties([1.0, 1.0, 1.5, 1.0, 3.0]).round(2).tolist()
    [1.0, 1.17, 1.5, 0.83, 3.0]
    """
    return with_jittered_ties(X, random_seed)[0]


def with_jittered_ties(X, random_seed=0):
    """The same, and the width of the jitter of each column: 0 for columns without ties or with one value only."""
    values = numeric_array("X", X)
    if values.ndim not in (1, 2):
        raise ValueError(f"X must be a matrix, shape (n, d), or a vector, shape (n,); got shape {values.shape}")
    jittered = np.array(values, dtype="float64")
    columns = np.atleast_2d(jittered.T)
    seeds = random_generator(random_seed).integers(2**63, size=len(columns))
    widths, narrow = [], {}
    for k, (column, seed) in enumerate(zip(columns, seeds, strict=True)):
        width, enough = _jitter(column, np.random.default_rng(seed))
        widths.append(width)
        if enough > _EXCESS * width:
            narrow[repr(name_of_column(X, k))] = _NarrowJitter.of(np.atleast_2d(values.T)[k], width, enough)
    if narrow:
        warn_user(_advice(narrow))
    if isinstance(X, pd.DataFrame):
        jittered = pd.DataFrame(jittered, index=X.index, columns=X.columns)
    elif isinstance(X, pd.Series):
        jittered = pd.Series(jittered, index=X.index, name=X.name)
    elif isinstance(X, xr.DataArray):
        jittered = X.copy(data=jittered)
    return jittered, np.array(widths)


def _jitter(column, rng):
    """Jitter one column in place; return the width, and the width that would explain the ties, if many are tied."""
    order = rng.permutation(len(column))
    order = order[np.isfinite(column[order])]
    order = order[np.argsort(column[order], kind="stable")]
    ordered = column[order]
    starts, sizes, width = _repeated(ordered)
    if len(sizes) in (0, 1, len(ordered)):
        return 0.0, 0.0
    group = np.cumsum(starts) - 1
    rank = np.arange(len(ordered)) - np.flatnonzero(starts)[group]
    enough = _enough(ordered[starts], sizes, width)
    column[order] += width * ((rank + 0.5) / sizes[group] - 0.5)
    return width, enough


def _repeated(ordered):
    """Where the different ones of sorted values begin, how many there are of each, and the smallest gap."""
    if len(ordered) == 0:
        return np.zeros(0, dtype=bool), np.zeros(0, dtype=np.int64), 0.0
    with np.errstate(over="ignore"):
        gaps = np.diff(ordered)
        least = max(_SAME * (ordered[-1] - ordered[0]), _ROUNDING * abs(ordered).max())
    starts = np.concatenate([[True], gaps > least])
    return starts, np.bincount(np.cumsum(starts) - 1), gaps[starts[1:]].min(initial=np.inf)


def _enough(values, sizes, width):
    """The width that would explain the ties of different values, if many are tied; otherwise 0."""
    n, tied = sizes.sum(), sizes[sizes > 1].sum()
    with np.errstate(over="ignore"):
        if n < _ENOUGH_ITEMS or tied <= _TIED_SHARE * n or not np.isfinite(values[-1] - values[0]):
            return 0.0
    return width * _excess_of_ties(values, sizes, width)


class _NarrowJitter(NamedTuple):
    """A column whose jitter is too narrow: its width, the width that explains the ties, and what to do before."""

    width: float
    enough: float
    # The name of the function of which it has values, or the step to which it was rounded; None if it is not known.
    function: str | None
    step: float | None

    @classmethod
    def of(cls, values, width, enough):
        ordered = np.sort(values[np.isfinite(values)]).astype("float64")
        starts, sizes, _ = _repeated(ordered)
        different = ordered[starts]

        def is_explained(step):
            starts, sizes, width = _repeated(step * np.round(ordered / step))
            return len(sizes) < 2 or _enough(ordered[starts], sizes, width) <= _EXCESS * width

        # Logarithms of rounded values have no one step.
        function = function_of_rounded(different)
        step = None if function else step_of_repeated_values(different, sizes, enough, is_explained)
        return cls(width, enough, function, step)

    @property
    def remedy(self):
        """What to do with the column x, or with the numbers x of which it is a function."""
        if self.function:
            return f"{self.function}(nrm.recipes.jitter_ties(x))"
        return "x.round()" if self.step == 1 else f"{self.step:g} * (x / {self.step:g}).round()"


def _advice(columns):
    """The text of a warning of columns by their names, whose jitter is too narrow."""
    shrink = "and Gaussian components shrink to repeated values"
    (name, first), *others = columns.items()
    if others:
        shown = [f"{name} ({column.enough:.2g}, {column.width:.2g})" for name, column in columns.items()]
        remedies = [f"{name} {column.remedy}" for name, column in columns.items() if column.function or column.step]
        remedy = f": {first_few(remedies)}" if remedies else ", to the step to which most of it was recorded"
        return (
            "columns repeat values as if they were rounded to wide steps, but other values lie closer (step, "
            f"distance): {first_few(shown)}. Jitter over this distance is too narrow, {shrink}. Round such a column x "
            f"first{remedy}"
        )
    if first.function:
        return (
            f"column {name} repeats values as {first.function} of rounded numbers does: jitter over its smallest gap, "
            f"{first.width:.2g}, is too narrow for most of them, {shrink}. Jitter first, {first.remedy} for the "
            "rounded numbers x"
        )
    remedy = f": {first.remedy}" if first.step else ", to the step to which most of it was recorded"
    return (
        f"column {name} repeats values as if it were rounded to steps of about {first.enough:.2g}, but other values "
        f"lie only {first.width:.2g} apart: jitter over this gap is too narrow, {shrink}. Round the column "
        f"first{remedy}"
    )


def _excess_of_ties(values, sizes, width):
    """Pairs of tied items over the number expected where items as dense as near each value are rounded to a width.

    The most frequent value is left out: it may stand for something else, as zero does for "none".
    """
    place = np.arange(len(values))
    low, high = np.maximum(place - _REACH, 0), np.minimum(place + _REACH, len(values) - 1)
    up_to = np.concatenate([[0], np.cumsum(sizes)])
    density = (up_to[high + 1] - up_to[low] - 1) / (values[high] - values[low] + width)
    others = place != sizes.argmax()
    return (sizes * (sizes - 1))[others].sum() / (sizes * density * width)[others].sum()
