"""The step to which the repeated values of a column were rounded, perhaps before a logarithm or another function."""

import numpy as np

# What columns are made of rounded numbers by, what gives the numbers back, and its derivative.
_FUNCTIONS = {
    "np.log": (np.exp, np.exp),
    "np.log1p": (np.expm1, np.exp),
    "np.log10": (lambda x: 10.0**x, lambda x: np.log(10.0) * 10.0**x),
    "np.log2": (lambda x: 2.0**x, lambda x: np.log(2.0) * 2.0**x),
    "np.sqrt": (np.square, lambda x: 2.0 * np.abs(x)),
}

# Multiples of a step up to this are found in doubles; with an error of at most this share of the step they are ones.
_MOST_STEPS, _OFF_GRID, _ROUNDING = 1e7, 1e-6, 8 * np.finfo("float64").eps

# Items that repeat a value lie within this share of a step of its multiples, and so large a share of them does.
_NEAR, _MOST_ITEMS = 0.05, 0.6

# The values with most items that have this share of all repeated ones show the step.
_HEAVY = 0.75


def function_of_rounded(values):
    """The name of a function such as ``np.log`` that maps multiples of a step to the values, or None.

    Shapes: ``values`` (n,), sorted, different and finite.
    """
    if len(values) < 3 or _on_grid(values, np.abs(values)):
        return None
    for name, (inverse, slope) in _FUNCTIONS.items():
        with np.errstate(over="ignore"):
            before, error = inverse(values), slope(values) * np.abs(values)
        if np.isfinite(before).all() and np.isfinite(error).all() and _on_grid(before, np.abs(before) + error):
            return name
    return None


def _on_grid(values, size):
    """Whether values are multiples of the smallest gap between them, but for errors of arithmetic with their size."""
    step = np.diff(values).min()
    if not step > 0 or np.abs(values).max() > _MOST_STEPS * step:
        return False
    off = np.abs(values - step * np.round(values / step))
    return bool((off <= np.maximum(_ROUNDING * size, _OFF_GRID * step)).all())


def step_of_repeated_values(values, sizes, enough, is_explained):
    """The largest step near to which most repeated items lie, and that explains their ties; None if there is none.

    Shapes: ``values`` (n,), sorted and different; ``sizes`` (n,), their numbers of items.  ``enough`` is the width
    that explains the ties, and ``is_explained`` says whether a step explains all ties, once values are rounded to it.
    """
    # The most frequent value may stand for something else, as zero does for "none".
    tied = (sizes > 1) & (np.arange(len(sizes)) != sizes.argmax())
    if not tied.any():
        return None
    repeated, items = values[tied], sizes[tied]
    order = np.argsort(-items, kind="stable")
    heavy = np.sort(repeated[order[: 1 + np.searchsorted(np.cumsum(items[order]), _HEAVY * items.sum())]])
    power = 10.0 ** np.floor(np.log10(enough))
    steps = [power * factor for factor in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)]
    gaps = np.sort(np.diff(heavy))
    for k in {0, len(gaps) // 2} if len(gaps) else ():
        step = _common_step(gaps, k)
        multiples = np.round(heavy / step)
        # Least squares: the step to which most values are nearest.
        steps += [step, (heavy @ multiples) / (multiples @ multiples) if multiples.any() else step]
    for step in sorted(steps, reverse=True):
        near = np.abs(repeated - step * np.round(repeated / step)) <= _NEAR * step
        if items[near].sum() >= _MOST_ITEMS * items.sum() and is_explained(step):
            return float(step)
    return None


def _common_step(gaps, k):
    """A step of which sorted gaps are multiples, more exact with each of them, beginning with the k-th gap."""
    total, number = gaps[k], 1.0
    for gap in gaps:
        number += max(1.0, np.round(gap * number / total))
        total += gap
    return total / number
