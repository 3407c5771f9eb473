"""How uneven the degrees of nodes are within groups, which is what the degree correction is for."""

import warnings

import numpy as np
import scipy

# Groups are looked for among at most so many; networks of more nodes are not looked at.
_MOST_GROUPS, _MOST_NODES = 8, 3000
# Degrees vary a lot if their variance within groups is so many times the expected one, and more by so many errors.
_RATIO, _N_ERRORS = 2.0, 4.0
_N_STARTS = 5


def uneven_degrees(A):
    """Variance of degrees within groups over the variance for independent ties, if it is large; None otherwise.

    Groups come from regularised spectral clustering, which does not see degrees (Qin & Rohe 2013, "Regularized spectral
    clustering under the degree-corrected stochastic blockmodel"), their number from the likelihood of degree-corrected
    blocks with the penalty of BIC.  Shapes: ``A`` (n, n), counts, dense or sparse; NaN is no answer.
    """
    n = A.shape[0]
    if n > _MOST_NODES:
        return None
    W = A.toarray() if scipy.sparse.issparse(A) else np.array(A, dtype="float64")
    np.fill_diagonal(W, 0.0)
    if np.isnan(W).any() or not W.any():
        return None
    is_binary, n_ways = (W <= 1.0).all(), 1
    if (W != W.T).any():
        W, n_ways = W + W.T, 2
    degrees, labels = W.sum(axis=1), _groups(W)
    sizes, indicators = np.bincount(labels), np.eye(labels.max() + 1)[labels]
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    means = indicators.T @ W @ indicators / np.maximum(pairs, 1)
    variances = means * (1.0 - means / n_ways) if is_binary else means
    expected = (variances * (sizes - np.eye(len(sizes)))).sum(axis=1)
    deviations = degrees - (np.bincount(labels, degrees) / sizes)[labels]
    # Groups have means of their own.
    ratio = float((deviations**2).sum() / max((expected * (sizes - 1)).sum(), 1e-9))
    return ratio if ratio > max(_RATIO, 1.0 + _N_ERRORS * np.sqrt(2.0 / n)) else None


def _groups(W):
    """Labels (n,) of groups of nodes, whatever their degrees are."""
    n, degrees, rng = len(W), W.sum(axis=1), np.random.default_rng(0)
    roots = 1.0 / np.sqrt(degrees + max(degrees.mean(), 1e-9))
    n_most = min(_MOST_GROUPS, n // 4)
    best, least = np.zeros(n, dtype=int), _penalised(W, np.zeros(n, dtype=int))
    if n_most < 2:
        return best
    L = roots[:, None] * W * roots
    _, vectors = scipy.linalg.eigh(L, subset_by_index=[n - n_most, n - 1])
    vectors = vectors[:, ::-1]
    for k in range(2, n_most + 1):
        rows = vectors[:, :k]
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        for _ in range(_N_STARTS):
            with warnings.catch_warnings(action="ignore", category=UserWarning):
                # A cluster that is left without nodes is none.
                _, labels = scipy.cluster.vq.kmeans2(rows, k, minit="++", rng=rng)
            labels = np.unique(labels, return_inverse=True)[1]
            value = _penalised(W, labels)
            if value < least:
                best, least = labels, value
    return best


def _penalised(W, labels):
    """BIC of blocks with degrees (Karrer & Newman 2011, eq. 22) but for a constant."""
    n, k = len(W), int(labels.max()) + 1
    indicators = np.eye(k)[labels]
    ties = indicators.T @ W @ indicators
    degrees = ties.sum(axis=1)
    expected = np.outer(degrees, degrees)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_likelihood = 0.5 * np.where(ties > 0, ties * np.log(ties / expected), 0.0).sum()
    sizes = np.bincount(labels)
    return -2.0 * (log_likelihood + (sizes * np.log(sizes / n)).sum()) + 0.5 * k * (k + 1) * np.log(n * (n - 1) / 2)
