"""Initial clusters from Ward linkage: the best cut of a Ward tree of many features by a Gaussian score."""

import numpy as np

# With many features, a cluster's own covariance costs more than it improves the fit, until hyperparameters say that all
# covariances are nearly equal.  With initial hyperparameters, guide trees may therefore join separate clusters, and
# chains of many items never divide them, but a cut of a Ward tree does.  With fewer features, guide trees find the
# clusters.
_LEAST_FEATURES = 8
# The Ward tree has at most `_MOST_ITEMS` items, at least `_ITEMS_PER_FEATURE` for each feature, and is cut into at most
# `_MOST_CLUSTERS` clusters.
_MOST_ITEMS, _ITEMS_PER_FEATURE, _MOST_CLUSTERS = 1000, 5, 20


def should_try_ward_start(n, d):
    """Whether initial clusters from Ward linkage may be better than clusters from a guide tree."""
    return d >= _LEAST_FEATURES and n >= _ITEMS_PER_FEATURE * d


def better_start(rng, points, labels):
    """Labels, or the best cut of a Ward tree of the items' points if its Gaussian score is higher."""
    return max((labels, *_cuts(rng, points)), key=lambda candidate: gaussian_score(points, candidate))


def _cuts(rng, points):
    """Labels of all items by cuts of the tree of a random sample: linear discriminants of the clusters of a cut."""
    from scipy.cluster.hierarchy import cut_tree, linkage  # slow to import

    n, d = points.shape
    # A random half, so that chains start from different points.
    sample = points[rng.permutation(n)[: min(_MOST_ITEMS, max(n // 2, _ITEMS_PER_FEATURE * d))]]
    for cut in cut_tree(linkage(sample, "ward"), np.arange(1, _MOST_CLUSTERS + 1)).T:
        counts = np.bincount(cut)
        means = np.stack([sample[cut == k].mean(axis=0) for k in range(len(counts))])
        residuals = sample - means[cut]
        directions = np.linalg.pinv(residuals.T @ residuals / len(sample), hermitian=True) @ means.T
        log_weights = np.log(counts) - 0.5 * (means.T * directions).sum(axis=0)
        yield np.unique((points @ directions + log_weights).argmax(axis=1), return_inverse=True)[1]


def gaussian_score(points, labels):
    """Log-likelihood of Gaussian clusters with labels and one covariance, or one each if that is higher, minus half a
    log n for each parameter. It is minus infinity if a covariance is singular. Shapes: ``points`` (n, d).
    """
    n, d = points.shape
    counts = np.bincount(labels)
    means = np.stack([points[labels == k].mean(axis=0) for k in range(len(counts))])
    residuals, cost = points - means[labels], 0.5 * np.log(n)
    score = (counts * np.log(counts / n)).sum() - cost * len(counts) * (d + 1)
    alike = _log_density(residuals) - cost * d * (d + 1) / 2
    if counts.min() <= d + 1:
        return score + alike
    apart = sum(_log_density(residuals[labels == k]) for k in range(len(counts)))
    return score + max(alike, apart - cost * len(counts) * d * (d + 1) / 2)


def _log_density(residuals):
    """The largest log density of deviations from means, up to a constant."""
    sign, log_determinant = np.linalg.slogdet(residuals.T @ residuals / len(residuals))
    return -0.5 * len(residuals) * log_determinant if sign > 0 else -np.inf
