"""Sub-cluster samplers after Chang & Fisher (2013): exact transition matrices for four items, without simulation.

Run with ``python sub_clusters.py``; NumPy is all it needs.  There is no data (the density of every item is 1), so that
each move must leave the prior of the Dirichlet process invariant.  Halves of a cluster are drawn from the distribution
that the draws of their weights and labels leave invariant: a share of Beta(alpha / 2, alpha / 2), then sides given it.
"""

import itertools
import math

import numpy as np

N, ALPHA = 4, 1.0


def canonical(labels):
    names = {}
    return tuple(names.setdefault(label, len(names)) for label in labels)


STATES = sorted({canonical(z) for z in itertools.product(range(N), repeat=N)})
INDEX = {z: k for k, z in enumerate(STATES)}
PRIOR = np.array([ALPHA ** (max(z) + 1) * math.prod(math.gamma(z.count(k)) for k in set(z)) for z in STATES])
PRIOR /= PRIOR.sum()
SIZES = np.array([max(z) + 1 for z in STATES])


def matrix(move):
    rows = np.zeros((len(STATES), len(STATES)))
    for k, z in enumerate(STATES):
        for new, p in move(z):
            rows[k, INDEX[canonical(new)]] += p
    return rows


def labels_move(z, rejects):
    """Draw all labels given weights Dirichlet(sizes) of the clusters in use."""
    sizes = np.array([z.count(k) for k in range(max(z) + 1)])
    for new in itertools.product(range(len(sizes)), repeat=N):
        counts = [new.count(k) for k in range(len(sizes))]
        p = math.prod(math.gamma(a + c) / math.gamma(a) for a, c in zip(sizes, counts, strict=True))
        yield (
            (z if rejects and 0 in counts else new),
            p * math.gamma(N) / math.gamma(2 * N),
        )


def halves(cluster):
    """Divisions of a cluster in two, neither of them empty, and their probabilities as halves."""
    n, half = len(cluster), 0.5 * ALPHA
    for size in range(1, n):
        p = math.gamma(ALPHA) / math.gamma(half) ** 2 / math.gamma(ALPHA + n)
        for left in itertools.combinations(cluster, size):
            if cluster[0] in left:
                yield (
                    left,
                    2 * p * math.gamma(half + size) * math.gamma(half + n - size),
                )


def split_ratio(size, n):
    """H, the ratio of the two posterior probabilities."""
    return ALPHA * math.gamma(size) * math.gamma(n - size) / math.gamma(n)


def split_merge(z, accept_split, accept_merge):
    """Split a cluster drawn uniformly, or merge a pair drawn uniformly; acceptance takes the ratio and p(halves)."""
    n_clusters = max(z) + 1
    clusters = [tuple(i for i in range(N) if z[i] == k) for k in range(n_clusters)]
    for c in clusters:
        for left, p in halves(c):
            # Pairs after the split, over clusters before it.
            chance = n_clusters / math.comb(n_clusters + 1, 2)
            a = p * accept_split(split_ratio(len(left), len(c)) * chance, p)
            yield (
                tuple(N if i in left else z[i] for i in range(N)),
                0.5 * a / n_clusters,
            )
            yield z, -0.5 * a / n_clusters
    yield z, 0.5 if n_clusters > 1 else 1.0
    for a, b in itertools.combinations(clusters, 2):
        union = tuple(sorted(a + b))
        [p] = [p for left, p in halves(union) if left in (a, b)]
        chance = math.comb(n_clusters, 2) / (n_clusters - 1)
        accepted = accept_merge(chance / split_ratio(len(a), len(union)), p)
        yield (
            tuple(z[a[0]] if i in union else z[i] for i in range(N)),
            0.5 * accepted / math.comb(n_clusters, 2),
        )
        yield z, 0.5 * (1 - accepted) / math.comb(n_clusters, 2)


def gibbs_move(z, i):
    """Exact Gibbs update of the cluster of an item."""
    others = [k for j, k in enumerate(z) if j != i]
    for k in set(others):
        yield (*z[:i], k, *z[i + 1 :]), others.count(k) / (N - 1 + ALPHA)
    yield (*z[:i], N, *z[i + 1 :]), ALPHA / (N - 1 + ALPHA)


def variation(p):
    return 0.5 * np.abs(p - PRIOR).sum()


def stationary(transitions):
    system = np.vstack([transitions.T - np.eye(len(PRIOR)), np.ones(len(PRIOR))])
    return np.linalg.lstsq(system, np.eye(len(PRIOR) + 1)[-1], rcond=None)[0]


def stored(ratio, p):
    """A split along halves that are there: their probability is in the state, not in the ratio."""
    return min(1.0, ratio)


MOVES = {
    "labels, clusters without items are dropped": lambda z: labels_move(z, False),
    "labels, rejected if a cluster loses all items": lambda z: labels_move(z, True),
    "splits with H, merges that draw halves": lambda z: split_merge(z, stored, lambda r, p: p * min(1.0, r)),
    "random splits, merges of random splits": lambda z: split_merge(
        z, lambda r, p: min(1.0, r / p), lambda r, p: min(1.0, r * p)
    ),
    "splits with H, merges of random splits": lambda z: split_merge(z, stored, lambda r, p: min(1.0, r * p)),
}

if __name__ == "__main__":
    sweep = np.linalg.multi_dot([matrix(lambda z, i=i: gibbs_move(z, i)) for i in range(N)])
    print(f"exact Gibbs sweep: total variation {variation(stationary(sweep)):.4f}, E[K] {PRIOR @ SIZES:.4f}")
    for name, move in MOVES.items():
        once, found = PRIOR @ matrix(move), stationary(matrix(move) @ sweep)
        print(f"{name}: the prior after one move {variation(once):.4f}, E[K] {once @ SIZES:.4f};", end=" ")
        print(f"stationary between Gibbs sweeps {variation(found):.4f}, E[K] {found @ SIZES:.4f}")
    dropped, rejected, drawn, random, mixed = map(matrix, MOVES.values())
    for name, transitions in {
        "labels dropped, mixed splits and merges": dropped @ mixed,
        "labels dropped, random splits and their merges": dropped @ random,
        "labels rejected, mixed splits and merges": rejected @ mixed,
        "labels rejected, splits with H and merges that draw halves": rejected @ drawn,
    }.items():
        found = stationary(transitions)
        print(f"{name}: stationary {variation(found):.4f}, E[K] {found @ SIZES:.4f}")
