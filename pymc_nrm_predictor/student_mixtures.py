"""Mixtures of Student t distributions: their quantiles and means."""

from typing import NamedTuple

import numpy as np
import scipy

# Newton's method converges in a few steps; a step that leaves the bracket is a bisection.
_MOST_STEPS, _TOLERANCE = 100, 1e-10

# Components of smaller weights change no quantile.
_LEAST_WEIGHT = 1e-14


class Components(NamedTuple):
    """Weighted Student t distributions, item by item: ``item`` is sorted, and the weights of an item add up to one."""

    item: np.ndarray
    weight: np.ndarray
    df: np.ndarray
    location: np.ndarray
    scale: np.ndarray


def components_of(log_weights, df, location, scale):
    """Components of each row, without those that change nothing. Shapes: all (m, k)."""
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    item, k = np.nonzero(weights > _LEAST_WEIGHT)
    without = np.setdiff1d(np.arange(len(weights)), item)
    if len(without):
        raise FloatingPointError(f"row {without[0]} has no component of finite density")
    return Components(item, *(x[item, k] for x in (weights, df, location, scale)))


def pooled(draws):
    """Components over all draws, which count by the density of what is given. ``draws`` has its logarithm for each item
    and the components of each draw.
    """
    of_given = np.array([log_density for log_density, _ in draws])
    shares = np.exp(of_given - of_given.max(axis=0))
    shares /= shares.sum(axis=0)
    parts = [part._replace(weight=part.weight * shares[s][part.item]) for s, (_, part) in enumerate(draws)]
    whole = Components(*(np.concatenate(field) for field in zip(*parts, strict=True)))
    order = np.argsort(whole.item, kind="stable")
    order = order[whole.weight[order] > 0.0]
    return Components(*(field[order] for field in whole))


def mixture_means(components):
    """Means of the mixtures, NaN where there is none, shape (m,)."""
    first = np.flatnonzero(np.diff(components.item, prepend=-1))
    means = np.add.reduceat(components.weight * components.location, first)
    return np.where(np.minimum.reduceat(components.df, first) > 1.0, means, np.nan)


def mixture_quantiles(components, probabilities, start=None):
    """Quantiles of the mixtures, whose search begins at ``start``; shape (m, q)."""
    q, item = np.asarray(probabilities), components.item
    first = np.flatnonzero(np.diff(item, prepend=-1))
    w, df, location, scale = (field[:, None] for field in components[1:])
    values, place = np.unique(df[:, 0], return_inverse=True)
    quantiles = location + scale * scipy.special.stdtrit(values[:, None], q)[place]
    low, high = np.minimum.reduceat(quantiles, first), np.maximum.reduceat(quantiles, first)
    x = np.clip(np.add.reduceat(w * quantiles, first) if start is None else start, low, high)
    log_constant = scipy.special.gammaln(0.5 * df + 0.5) - scipy.special.gammaln(0.5 * df)
    constant = w * np.exp(log_constant) / (np.sqrt(np.pi * df) * scale)
    rows = np.arange(len(first))
    for _ in range(_MOST_STEPS):
        # Only items whose quantiles have not been found.
        pairs = np.flatnonzero(np.isin(item, rows))
        first, n, s = np.searchsorted(item[pairs], rows), df[pairs], scale[pairs]
        now = x[rows]
        u = (x[item[pairs]] - location[pairs]) / s
        excess = np.add.reduceat(w[pairs] * scipy.special.stdtr(n, u), first) - q
        low[rows] = np.where(excess < 0.0, now, low[rows])
        high[rows] = np.where(excess > 0.0, now, high[rows])
        density = np.add.reduceat(constant[pairs] * (1.0 + u * u / n) ** (-0.5 * (n + 1.0)), first)
        with np.errstate(divide="ignore", over="ignore"):
            step = now - excess / density
        is_inside = (step > low[rows]) & (step < high[rows])
        is_found = np.abs(excess) < _TOLERANCE
        x[rows] = np.where(is_found, now, np.where(is_inside, step, 0.5 * (low[rows] + high[rows])))
        rows = rows[~is_found.all(axis=1)]
        if not len(rows):
            break
    return x
