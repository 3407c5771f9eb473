"""Lee & Choi (2015), the local moves: exact transition matrix for three items, without simulation.

Run with ``python lee_choi.py``; NumPy is all it needs.  Normal items of variance 1 about means of variance 4 in a
Dirichlet process mixture.  For each cluster a subtree of its tree is drawn by SampleSub, then a subtree of that one;
the items below are then updated by Gibbs draws.  The tree of a cluster joins its two smallest items first, so that all
that differs from a Gibbs sampler is that the items are drawn with probabilities that depend on the partition.
``lee_choi_ablation.py`` has all moves.
"""

import math

import numpy as np

X, ALPHA, VARIANCE = (-1.5, 0.2, 1.3), 1.0, 4.0
STATES = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2)]


def weight(cluster):
    """Alpha Gamma(m) p(X_c), the factor of a cluster in the posterior probability."""
    x = np.array([X[i] for i in cluster])
    covariance = np.eye(len(x)) + VARIANCE
    log_p = -0.5 * (x @ np.linalg.solve(covariance, x) + np.linalg.slogdet(2 * np.pi * covariance)[1])
    return ALPHA * math.gamma(len(x)) * math.exp(log_p)


def clusters(z):
    return [tuple(i for i in range(3) if z[i] == k) for k in sorted(set(z))]


def target(z):
    return math.prod(weight(c) for c in clusters(z))


def subtrees(c):
    """Items below the nodes of the tree of a cluster, and the probabilities of SampleSub."""
    if len(c) == 1:
        return [(c, 1.0)]
    pair = weight(c[:1]) * weight(c[1:2]) / weight(c[:2])  # d of the first two items
    found = [(c[:2], pair), *((c[k : k + 1], 0.0) for k in range(len(c)))]
    if len(c) == 3:
        found.append((c, weight(c[:2]) * (1 + pair) * weight(c[2:]) / weight(c)))
    values = np.array([d for _, d in found]) + max(d for _, d in found)
    return [(items, p) for (items, _), p in zip(found, values / values.sum(), strict=True)]


def gibbs(i):
    """Transition matrix of the exact Gibbs update of item i."""
    others_together = [np.delete(z, i)[0] == np.delete(z, i)[1] for z in STATES]
    rows = np.array(
        [[target(y) * (a == b) for y, b in zip(STATES, others_together, strict=True)] for a in others_together]
    )
    return rows / rows.sum(axis=1, keepdims=True)


def local_moves(from_clusters):
    """Transition matrix of the local moves, with items drawn from the trees of the clusters, or from one fixed tree."""
    updates, rows = [gibbs(i) for i in range(3)], np.zeros((5, 5))
    for k, z in enumerate(STATES):
        drawn = [((), 1.0)]
        for c in clusters(z) if from_clusters else [(0, 1, 2)]:
            twice = [(below, p * q) for items, p in subtrees(c) for below, q in subtrees(items)]
            drawn = [(items + below, p * q) for items, p in drawn for below, q in twice]
        for items, p in drawn:
            row = np.eye(5)[k]
            for i in sorted(items):
                row = row @ updates[i]
            rows[k] += p * row
    return rows


def total_variation(transitions):
    """Total variation between the stationary distribution of a matrix and the posterior."""
    system = np.vstack([transitions.T - np.eye(5), np.ones(5)])
    stationary = np.linalg.lstsq(system, np.eye(6)[-1], rcond=None)[0]
    posterior = np.array([target(z) for z in STATES])
    return 0.5 * np.abs(stationary - posterior / posterior.sum()).sum()


if __name__ == "__main__":
    print(f"items from the trees of the clusters: total variation {total_variation(local_moves(True)):.4f}")
    print(f"items from one fixed tree: total variation {total_variation(local_moves(False)):.4f}")
