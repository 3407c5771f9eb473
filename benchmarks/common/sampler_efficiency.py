"""Effective sample sizes, Monte Carlo errors, and distances between distributions of the number of clusters."""

import numpy as np
from arviz_stats.base import array_stats

# An effective sample size cannot be estimated from fewer draws.
FEWEST_DRAWS = 50


def effective(values):
    """Effective sample size of a mean, from split chains."""
    if values.shape[1] < FEWEST_DRAWS:
        return np.nan
    if values.min() == values.max():
        return 0.0
    return float(array_stats.ess(values, method="mean"))


def mean_and_error(chains):
    """Mean of the draws of several chains, its Monte Carlo standard error, and the effective sample size."""
    shortest = min(len(chain) for chain in chains)
    size = effective(np.array([chain[:shortest] for chain in chains], dtype=float))
    everything = np.concatenate(chains)
    error = everything.std() / np.sqrt(size) if size > 0 else np.nan
    return float(everything.mean()), float(error), size


def frequencies(chains):
    """Relative frequencies of the values in several chains, as a dict."""
    values, counts = np.unique(np.concatenate(chains).astype(int), return_counts=True)
    return dict(zip(values.tolist(), (counts / counts.sum()).tolist(), strict=True))


def pooled(laws, sizes):
    """Mixture of distributions, weighted by effective sample sizes."""
    share = np.array(sizes) / sum(sizes)
    values = sorted(set().union(*laws))
    return {value: float(sum(w * law.get(value, 0.0) for w, law in zip(share, laws, strict=True))) for value in values}


def total_variation(law, reference):
    """Total variation distance, where all values that are absent from the reference count as one value."""
    rest = 1.0 - sum(reference.values())
    rest_of_law = sum(p for value, p in law.items() if value not in reference)
    return 0.5 * (abs(rest - rest_of_law) + sum(abs(law.get(value, 0.0) - p) for value, p in reference.items()))


def expected_variation(reference, size):
    """Approximate total variation distance of a correct sampler with this effective sample size."""
    p = np.array([*reference.values(), max(0.0, 1.0 - sum(reference.values()))])
    return float(0.5 * np.sqrt(2.0 * p * (1.0 - p) / (np.pi * size)).sum()) if size > 0 else np.nan


def uncertain_pairs(kept, n_pairs=50, seed=1):
    """Pairs of items that share a cluster with probability between 0.05 and 0.95."""
    rng = np.random.default_rng(seed)
    n = kept.shape[1]
    found = np.empty((0, 2), dtype=np.int64)
    for _ in range(100):
        pairs = np.sort(rng.integers(n, size=(10_000, 2)), axis=1)
        share = np.zeros(len(pairs))
        for labels in kept:
            share += labels[pairs[:, 0]] == labels[pairs[:, 1]]
        share /= len(kept)
        good = pairs[(pairs[:, 0] < pairs[:, 1]) & (share > 0.05) & (share < 0.95)]
        found = np.concatenate([found, good])
        _, first = np.unique(found @ [n, 1], return_index=True)
        found = found[np.sort(first)]
        if len(found) >= n_pairs:
            break
    return found[:n_pairs]
