"""Items with missing entries in the normal-Wishart family: the density of the observed entries, draws of the others.

With the cache of a cluster, ``W' W = inverse(Psi_n)``.  Let delta be the difference of the missing entries from their
means, ``W_m`` the columns of W that belong to them, and y the product of all other columns with the observed
entries.  If ``W_m = Q R`` with orthonormal columns of Q,

    ``|W (x - m_n)|^2 = |y|^2 - |Q'y|^2 + |R delta + Q'y|^2``.

The first two terms are the distance of the observed entries, and ``|Psi_oo| = |R|^2 / |W|^2``.
"""

import math

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import draw_gamma, log_rising_factorial


@kernel
def factor_gaps(cache, x, work, last):
    """Write R, Q'y and Q' into the workspace; return the distance of the observed entries and the number of the others.

    Rows 0 .. d - 1 of the workspace get R, row d gets Q'y, and the rows behind it Q' and memory.  The missing entry
    ``last`` comes behind the others, if it is at least 0.
    """
    d = x.shape[0]
    y = work[2 * d + 1]
    start = 3 + d
    for i in range(d):
        y[i] = 0.0
        for j in range(i + 1):
            if not math.isnan(x[j]):
                y[i] += cache[start + j] * (x[j] - cache[3 + j])
        start += i + 1
    n_missing = 0
    for place in range(d + 1):
        j = last if place == d else place
        if j < 0 or (place < d and j == last) or not math.isnan(x[j]):
            continue
        # Modified Gram-Schmidt, with y as the last column.
        column = work[d + 1 + n_missing]
        start = 3 + d
        for i in range(d):
            column[i] = cache[start + j] if i >= j else 0.0
            start += i + 1
        for k in range(n_missing):
            work[k, n_missing] = remove_component(work[d + 1 + k], column)
        norm = math.sqrt(squared_length(column))
        work[n_missing, n_missing] = norm
        for i in range(d):
            column[i] /= norm
        work[d, n_missing] = remove_component(column, y)
        n_missing += 1
    return squared_length(y), n_missing


@kernel
def squared_length(vector):
    """Sum of the squares of a vector."""
    total = 0.0
    for i in range(vector.shape[0]):
        total += vector[i] * vector[i]
    return total


@kernel
def remove_component(direction, vector):
    """Make a vector orthogonal to a unit vector, in place; return the component that it had along it."""
    component = 0.0
    for i in range(vector.shape[0]):
        component += direction[i] * vector[i]
    for i in range(vector.shape[0]):
        vector[i] -= component * direction[i]
    return component


@kernel
def count_gaps(x):
    """Number of the entries that are NaN, and the place of the last one."""
    count, place = 0, -1
    for j in range(x.shape[0]):
        if math.isnan(x[j]):
            count += 1
            place = j
    return count, place


@kernel
def factor_one_gap(cache, x, gap):
    """Distance of the observed entries, and the numbers R and Q'y, if one entry is missing; its value is not read.

    The workspace of the cache holds y.
    """
    d = x.shape[0]
    y = cache[cache.shape[0] - d :]
    squared_norm = product = 0.0
    start = 3 + d
    for i in range(d):
        total = 0.0
        for j in range(i + 1):
            if j != gap:
                total += cache[start + j] * (x[j] - cache[3 + j])
        y[i] = total
        if i >= gap:
            squared_norm += cache[start + gap] * cache[start + gap]
            product += cache[start + gap] * total
        start += i + 1
    slope, distance = product / squared_norm, 0.0
    start = 3 + d
    for i in range(d):
        residual = y[i]
        if i >= gap:
            residual -= slope * cache[start + gap]
        distance += residual * residual
        start += i + 1
    norm = math.sqrt(squared_norm)
    return distance, norm, product / norm


@kernel
def log_predictive_of_observed(cache, x):
    """Log density of the entries of an item that are not NaN, a Student t; 0 if there are none.

    The constant of the cache is for all entries; log Gamma((nu_n + 1)/2) and log |W| are among its terms.
    """
    d = x.shape[0]
    n_missing, gap = count_gaps(x)
    if n_missing == d:
        return 0.0
    determinant = 1.0
    if n_missing == 1:
        distance, determinant, _ = factor_one_gap(cache, x, gap)
    else:
        work = np.empty((2 * d + 2, d))
        distance, _ = factor_gaps(cache, x, work, -1)
        for k in range(n_missing):
            determinant *= work[k, k]
    half, ratio = cache[1] - 0.5 * n_missing, cache[2]
    total = cache[0] - log_rising_factorial(half, 0.5 * n_missing) - math.log(determinant)
    return total - 0.5 * n_missing * math.log(ratio / math.pi) - half * math.log(1.0 + ratio * distance)


@kernel
def student_of_one(cache, values, feature, center, law):
    """Write degrees of freedom, location and scale of an entry given those of the others that are not NaN.

    The last row of R is that of the entry, ``norm``, so that ``norm t + component`` is distributed like the last of the
    normals in :func:`draw_missing_entries`, for ``x = m_n + t`` in the entry.
    """
    n_missing, _ = count_gaps(values)
    if n_missing == 0 or (n_missing == 1 and math.isnan(values[feature])):
        n_missing = 1
        distance, norm, component = factor_one_gap(cache, values, feature)
    else:
        d = values.shape[0]
        x, work = values.copy(), np.empty((2 * d + 2, d))
        x[feature] = math.nan
        distance, n_missing = factor_gaps(cache, x, work, feature)
        norm, component = work[n_missing - 1, n_missing - 1], work[d, n_missing - 1]
    law[0] = 2.0 * cache[1] - n_missing
    law[1] = cache[3 + feature] - component / norm + center
    law[2] = math.sqrt((1.0 + cache[2] * distance) / (law[0] * cache[2])) / norm


@kernel
def draw_missing_entries(cache, x, rng):
    """Draw the entries of an item that are NaN given the others, in place.

    Given the distance D of the n_o observed entries, ``R delta + Q'y`` is ``sqrt((1 / ratio + D) / chi2)`` times
    standard normals, where chi2 has ``nu_n - d + 1 + n_o`` degrees of freedom.
    """
    d = x.shape[0]
    n_missing, gap = count_gaps(x)
    half, ratio = cache[1] - 0.5 * n_missing, cache[2]
    if n_missing == 1:
        distance, norm, component = factor_one_gap(cache, x, gap)
        width = math.sqrt((1.0 / ratio + distance) / (2.0 * draw_gamma(rng, half)))
        x[gap] = cache[3 + gap] + (width * rng.standard_normal() - component) / norm
    elif n_missing > 1:
        work = np.empty((2 * d + 2, d))
        distance, _ = factor_gaps(cache, x, work, -1)
        width = math.sqrt((1.0 / ratio + distance) / (2.0 * draw_gamma(rng, half)))
        delta = work[d]
        for k in range(n_missing):
            delta[k] = width * rng.standard_normal() - delta[k]
        k = n_missing
        for j in range(d - 1, -1, -1):
            if math.isnan(x[j]):
                k -= 1
                for other in range(k + 1, n_missing):
                    delta[k] -= work[k, other] * delta[other]
                delta[k] /= work[k, k]
                x[j] = cache[3 + j] + delta[k]
