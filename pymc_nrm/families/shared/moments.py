"""First and second moments of clusters that are up to 1e10 times as far apart as they are wide.

The scatter of a cluster is a small difference of large sums.  Every value, and every product of two values, is
therefore split into a multiple of a power of two and a remainder.  The power is chosen once for the whole data set:
large enough that sums of the multiples over any items are exact, and small enough that both sums together hold about 30
digits.  Both sums are additive, and removals undo additions::

    value   1101 0110 | 0101 1011
            multiples   remainder
            exact sums  ordinary sums
"""

import math

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.families.base import Centred
from pymc_nrm.kernels.generic import exact_kernel
from pymc_nrm.kernels.pairs import fused_multiply_add

# If values are this many times the width of a cluster, rounding its location alone costs 1e-6 nats.
LARGEST_RATIO = 2e10
# Squares of larger values, or sums of them, overflow.
LARGEST_DISTANCE = 1e140
# Above this, the log density is a difference of terms whose sixth decimal doubles do not hold.
LARGEST_SHAPE = 1e8
# Exponents of two whose squares neither overflow nor underflow.
_LEAST_EXPONENT, _MOST_EXPONENT = -400, 480


def centred(values):
    """Subtract a number near its median from every feature, and choose the grids on which sums are exact.

    The mean may be far from all items and would cost all of them digits.  The centre is a multiple of the spacing of
    doubles at the largest value, so distant values stay exact. Shapes: ``values`` (n, d).
    """
    n, d = values.shape
    present = ~np.isnan(values)
    center = np.zeros(d)
    # Sorting puts missing values at the end.
    order = np.sort(values, axis=0)
    middle = np.maximum(present.sum(axis=0) - 1, 0) // 2
    if n:
        largest = np.max(np.abs(values), axis=0, where=present, initial=0.0)
        center = center_near(np.nan_to_num(order[middle, np.arange(d)]), largest)
    shifted = values - center
    return Centred(shifted, center, summation_grid(shifted))


def center_near(median, largest):
    """The multiple of the spacing of doubles at the largest values that is next to the median of each feature."""
    spacing = np.spacing(largest)
    return np.round(median / spacing) * spacing


def summation_grid(values):
    """Grids (2, d) on which sums of the features of ``values`` (n, d), and of products of two of them, are exact."""
    return grid_of(len(values), np.max(np.abs(values), axis=0, where=~np.isnan(values), initial=0.0))


def grid_of(n, largest):
    """The same grids for sums of n values that are at most ``largest`` (d,)."""
    exponent = np.clip(np.frexp(largest)[1], _LEAST_EXPONENT, _MOST_EXPONENT)
    room = _room(n)
    return np.array([1.5 * 2.0 ** (exponent + room), 2.0 ** (exponent + (room + 1) // 2)])


def range_of_grid(grid, n):
    """The power of two of each feature (d,) below which n values have grids (2, d), or finer ones."""
    return grid[1] / 2.0 ** ((_room(n) + 1) // 2)


def with_room(data, times):
    """Prepared data with coarser grids, on which sums of ``times`` as many rows are exact."""
    if times == 1 or not hasattr(data, "_fields"):
        return data
    further = math.ceil(math.log2(times))
    factors, changed = np.array([[2.0**further], [2.0 ** ((further + 1) // 2)]]), {}
    for name, value in data._asdict().items():
        if name == "grid" and value is not None:
            changed[name] = value * factors
        elif isinstance(value, tuple):
            changed[name] = with_room(value, times)
    return data._replace(**changed)


def _room(n):
    return math.ceil(math.log2(max(n, 1))) + 1


def check_ratio(data, scale, advice, title):
    """Refuse values whose squares overflow, or that are too large for doubles to resolve the width of a cluster."""
    distance = np.nan_to_num(np.abs(data.values), nan=0.0)
    if distance.size and distance.max() > LARGEST_DISTANCE:
        item, feature = np.unravel_index(distance.argmax(), distance.shape)
        raise ValueError(
            f"{title}: item {item}, feature {feature} is {distance.max():.6g} away from the median "
            f"{data.center[feature]:.6g}; squares of more than {LARGEST_DISTANCE:.0e} overflow.  Give the data in "
            "larger units"
        )
    center = np.abs(data.center)
    if center.size and center.max() > LARGEST_DISTANCE:
        feature = int(center.argmax())
        raise ValueError(
            f"{title}: feature {feature} has the median {data.center[feature]:.6g}; squares of more than "
            f"{LARGEST_DISTANCE:.0e} overflow.  Give the data in larger units"
        )
    ratio = np.abs(data.values) / scale
    ratio = np.where(np.isnan(ratio), 0.0, ratio)
    if not ratio.size or ratio.max() <= LARGEST_RATIO:
        return
    item, feature = np.unravel_index(ratio.argmax(), ratio.shape)
    value = data.values[item, feature] + data.center[feature]
    raise ValueError(
        f"{title}: item {item}, feature {feature} has the value {value:.6g}, which is {ratio.max():.2g} times the "
        f"width {scale[feature]:.2g} of a cluster away from the median {data.center[feature]:.6g}; doubles resolve at "
        f"most {LARGEST_RATIO:.0e}.  If it is a code for a missing value, make it NaN or remove the item; subtract the "
        f"origin of timestamps, or measure them in larger units; remove outliers; or choose larger {advice}"
    )


def check_location(title, mu, data, largest=LARGEST_DISTANCE):
    """Refuse prior means that are too far from the data."""
    largest = np.minimum(largest, LARGEST_DISTANCE) * np.ones(len(mu))
    too_far = ~(np.abs(mu) <= largest)
    if too_far.any():
        feature = int(too_far.argmax())
        center = data.center[feature]
        raise ValueError(
            f"{title} must be within {largest[feature]:.2g} of the median {center:.6g} of feature {feature}: doubles "
            f"resolve no more; got {mu[feature] + center:.6g}"
        )


def symbolic_shrinkage(kappa, counts):
    """Weight ``kappa / (kappa + n)`` of the prior mean after n items, which no rewrite of a graph makes overflow."""
    # As a quotient, it would be merged with its factors: kappa times a squared distance need not be finite.
    return pt.sigmoid(pt.log(kappa) - pt.log(counts))


def symbolic_log_growth(beta, added):
    """``log((beta + added) / beta)``, without a difference that cancels or a quotient that overflows."""
    larger = pt.maximum(beta, added)
    return pt.switch(beta < added, pt.log(beta + added) - pt.log(beta), pt.log1p(added / larger))


def check_shape(title, values, known, scale):
    """Refuse a prior that fixes the width of clusters to more digits than doubles resolve."""
    largest = np.max(values, initial=0.0)
    if largest > LARGEST_SHAPE:
        raise ValueError(
            f"{title} must be at most {LARGEST_SHAPE:.0e}, at which the prior fixes the {known} of clusters to four "
            f"digits: doubles do not resolve more; got {largest:.6g}. Divide both {title.split()[0]} and {scale} by "
            f"{largest / LARGEST_SHAPE:.6g}"
        )


@exact_kernel
def sample_location(total, total_low, n, inverse_count):
    """A double close to the mean, and n times the difference of the mean from it."""
    location = (total + total_low) * inverse_count
    return location, fused_multiply_add(-n, location, total) + total_low


@exact_kernel
def centred_product(product, product_low, location, total, total_low, other_location, other_rest):
    """Sum over items of ``(x - mean x) (y - mean y)``, in two parts, from the sums of ``x y`` and of x.

    If s is the sum of x and ``n mean(y) = n c + r``, it is ``sum x y - c s - mean(x) r``; the first difference cancels.
    """
    leading = other_location * total
    difference = product - leading
    part = difference - product
    low = (product - (difference - part)) - (leading + part)
    low -= fused_multiply_add(other_location, total, -leading)
    low += fused_multiply_add(-other_location, total_low, product_low)
    low -= location * other_rest
    high = difference + low
    return high, low - (high - difference)
