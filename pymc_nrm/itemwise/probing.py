"""Whose label each row depends on, found by values: for operations that labels cannot be followed through."""

import numpy as np

from pymc_nrm.itemwise.rows import FREE, NotItemwise

__all__ = ["items_by_values"]

# Rows are compared as results of the same operations at the same place, so that they differ by rounding only.
_TOLERANCE = 1e-12


def items_by_values(evaluate, n, slots):
    """Find the item on whose label each row of a log-probability depends.

    Two slots are given to all items, and to the items whose number has a binary digit of one or of zero.

    Parameters
    ----------
    evaluate : callable
        Takes labels, shape (n,), and returns rows, shape (n_rows,).
    n : int
        Number of items.
    slots : pair of int
        Different ones.

    Returns
    -------
    items : ndarray of int64, shape (n_rows,)
        -1 for rows on which labels have no influence here.
    finite : ndarray of bool, shape (n_rows,)
        Whether a row is finite in one of the two slots: otherwise nothing can be said about it.

    Raises
    ------
    NotItemwise
        If a row depends on the labels of several items.

    Notes
    -----
    For rows that are analytic in parameters drawn from a density, what holds at one point holds everywhere with
    probability one, for these labels.  A dependence that only other labels show is not seen.

    Examples
    --------
    >>> mean, item_of_row = np.array([0.3, 1.2]), np.array([2, 0, 0, 1])
    >>> items_by_values(lambda z: mean[z][item_of_row], 3, (0, 1))[0]
    array([2, 0, 0, 1])
    """
    one_slot, other_slot = slots
    all_one, all_other = _rows(evaluate, np.full(n, one_slot)), _rows(evaluate, np.full(n, other_slot))
    numbers, items = np.arange(n), np.zeros(len(all_one), dtype="int64")
    for digit in range(max(1, (n - 1).bit_length())):
        chosen = (numbers >> digit) & 1 == 1
        rows = _rows(evaluate, np.where(chosen, other_slot, one_slot))
        opposite = _rows(evaluate, np.where(chosen, one_slot, other_slot))
        is_other = _same(rows, all_other)
        if (
            not (is_other | _same(rows, all_one)).all()
            or not _same(opposite, np.where(is_other, all_one, all_other)).all()
        ):
            raise NotItemwise("rows depend on the labels of several items")
        items += is_other.astype("int64") << digit
    items[_same(all_one, all_other)] = FREE
    if items.max(initial=FREE) >= n:
        raise NotItemwise("rows depend on the labels of several items")
    return items, np.isfinite(all_one) | np.isfinite(all_other)


def _rows(evaluate, labels):
    # Impossible values of parameters have no density: -inf in one slot and NaN in another are no difference.
    return np.nan_to_num(evaluate(labels), nan=-np.inf, posinf=np.inf, neginf=-np.inf)


def _same(a, b):
    return np.isclose(a, b, rtol=_TOLERANCE, atol=0.0)
