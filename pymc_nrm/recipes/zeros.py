"""Columns that are zero in many rows: whether zeros are in excess, and whether other values are counts or amounts."""

import numpy as np
import scipy

# Number of items from which zeros are judged; zeros are in excess if their share is above this one, and more than so
# many times the share under a Poisson distribution.
_ENOUGH_ITEMS, _LARGEST_SHARE, _EXCESS = 20, 0.25, 3.0

# Poisson distributions are about as wide as one in the square root of the count.  Counts that spread more would be cut
# into more clusters than so many side by side.
_MOST_WIDTHS = 4.0


def share_of_zeros(values):
    """Share of zeros among the known values of a column, shape (n,)."""
    known = values[~np.isnan(values)]
    return float((known == 0.0).mean()) if len(known) else 0.0


def poisson_share_of_zeros(values):
    """Share of zeros of the Poisson distribution whose other values have the mean of the positive values of a column.

    Its rate solves ``rate / (1 - exp(-rate)) = mean``, which is ``mean + W(-mean exp(-mean))`` with Lambert's W.
    """
    positive = values[values > 0.0]
    if len(positive) == 0:
        return 1.0
    mean = positive.mean()
    return float(np.exp(-(mean + scipy.special.lambertw(-mean * np.exp(-mean)).real)))


def are_counts(values):
    """Whether the positive values of a column are whole numbers that few Poisson distributions describe."""
    positive = values[values > 0.0]
    if len(positive) == 0 or (positive != np.floor(positive)).any():
        return False
    low, high = np.sqrt(np.quantile(positive, [0.05, 0.95]))
    return bool(high - low <= _MOST_WIDTHS)


def has_excess_zeros(values):
    """Whether a column of amounts has many zeros, or one of counts far more than Poisson distributions give it."""
    share = share_of_zeros(values)
    enough = np.count_nonzero(~np.isnan(values)) >= _ENOUGH_ITEMS and share > _LARGEST_SHARE
    return enough and (not are_counts(values) or share > _EXCESS * poisson_share_of_zeros(values))
