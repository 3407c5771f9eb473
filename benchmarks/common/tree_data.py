"""Simulated data whose items have places in a tree: as the package's diffusions draw them, and otherwise."""

from typing import NamedTuple

import numpy as np


class TreeData(NamedTuple):
    """Items with known classes at each level.

    Parameters
    ----------
    name : str
    X : ndarray, shape (n, d)
    truth : ndarray of int, shape (L, n)
        Classes of the items, the coarsest level first.
    about : str
        Where data and classes come from.
    """

    name: str
    X: np.ndarray
    truth: np.ndarray
    about: str


def nested_restaurants(n, depth, alpha, rng):
    """Labels of nested Chinese restaurants, shape (depth, n)."""
    truth = np.zeros((depth, n), dtype="int64")
    parents = np.zeros(n, dtype="int64")
    for level in range(depth):
        sizes, above = [], []
        for item in range(n):
            siblings = [k for k, parent in enumerate(above) if parent == parents[item]]
            weights = np.array([*(sizes[k] for k in siblings), alpha], dtype="float64")
            chosen = rng.choice(len(weights), p=weights / weights.sum())
            if chosen == len(siblings):
                siblings.append(len(sizes))
                sizes.append(0)
                above.append(parents[item])
            sizes[siblings[chosen]] += 1
            truth[level, item] = siblings[chosen]
        parents = truth[level]
    return truth


def diffused_means(truth, steps, d, rng):
    """Means of the leaves of all items, which take a normal step of some variance at every level: shape (n, d)."""
    means = np.zeros((truth.shape[1], d))
    for row, step in zip(truth, steps, strict=True):
        means += np.sqrt(step) * rng.normal(size=(row.max() + 1, d))[row]
    return means


def diffusion(n, d=6, depth=3, alpha=1.0, steps=(40.0, 15.0, 6.0), seed=1):
    """Data from the law that ``NormalDiffusion`` assumes, with equal variances, which suit methods of distances."""
    rng = np.random.default_rng([n, d, seed])
    truth = nested_restaurants(n, depth, alpha, rng)
    X = diffused_means(truth, steps, d, rng) + rng.normal(size=(n, d))
    return TreeData(
        f"diffusion, {n}", X, truth, f"nested Chinese restaurants, alpha = {alpha:g}; normal steps and noise"
    )


def balanced(n, d=6, branches=(4, 3, 3), steps=(40.0, 15.0, 6.0), seed=1):
    """Normal data from a tree of equal branches with leaves of one size and shape."""
    rng = np.random.default_rng([n, d, seed, 3])
    truth = equal_branches(n, branches, rng)
    X = diffused_means(truth, steps, d, rng) + rng.normal(size=(n, d))
    return TreeData(f"balanced, {n}", X, truth, f"{truth[-1].max() + 1} leaves of one size; normal steps and noise")


def heavy_tails(n, d=6, branches=(4, 3, 3), steps=(40.0, 15.0, 6.0), seed=1):
    """The same with leaves of different shapes, and t tails with 3 degrees of freedom."""
    rng = np.random.default_rng([n, d, seed, 3])
    truth = equal_branches(n, branches, rng)
    n_leaves = int(truth[-1].max()) + 1
    shapes = rng.normal(size=(n_leaves, d, d)) / np.sqrt(d) * rng.lognormal(0.0, 0.5, size=(n_leaves, 1, 1))
    noise = np.einsum("ni,nij->nj", rng.normal(size=(n, d)), shapes[truth[-1]])
    noise /= np.sqrt(rng.chisquare(3, size=(n, 1)))  # the variance of t with 3 degrees of freedom is 3
    X = diffused_means(truth, steps, d, rng) + noise
    about = f"{n_leaves} leaves of one size, each with its covariance; t noise, 3 degrees"
    return TreeData(f"heavy tails, {n}", X, truth, about)


def equal_branches(n, branches, rng):
    """Labels of the items in a tree whose nodes have equally many children and items, shape (depth, n)."""
    leaf = rng.permutation(np.arange(n) % int(np.prod(branches)))
    below = [int(np.prod(branches[level + 1 :])) for level in range(len(branches))]
    return np.stack([leaf // number for number in below])
