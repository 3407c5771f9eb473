"""What a clustering method returns on a real data set, and how well it did.

A method is a function ``fit(data, seed)`` of a ``DataSet`` that returns a ``Fit``.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from common.real_data_sets import without_ties
from pymc_nrm.stats import adjusted_rand as adjusted_rand_index

N_BINS = 10


class Fit(NamedTuple):
    """What a method found."""

    labels: np.ndarray
    seconds: float  # CPU seconds, without compilation
    log_density: Callable | None = None  # log predictive densities of new items, in the units of the data
    similarity: np.ndarray | None = None  # probabilities that pairs of items share a cluster
    about: dict = {}  # further numbers for the row of results
    fused_labels: np.ndarray | None = None  # the estimate after components that overlap were joined


def split(n, seed=1):
    """Positions of two thirds of n items to train and of one third to test, the same for all methods."""
    test, *train = np.array_split(np.random.default_rng(seed).permutation(n), 3)
    return np.sort(np.concatenate(train)), np.sort(test)


def held_out(data, method, seed=1):
    """Mean log predictive density of a third of the items, of which a method has seen the others. Features of
    continuous data get back the noise that rounding has removed: without it, a component whose items agree in a
    rounded feature has an unbounded density.
    """
    X = data.X
    if data.kind == "continuous":
        X = X.astype(float)
        X.iloc[:, :] = without_ties(X)
    train, test = split(len(X))
    found = method(data._replace(X=X.iloc[train].reset_index(drop=True), classes=None), seed)
    return float(found.log_density(X.iloc[test].reset_index(drop=True)).mean())


def precision_and_recall(labels, classes):
    """Share of the pairs in one cluster that are of one class, and of the pairs of one class that are in one cluster.

    Clusters that mix classes have a low precision, and classes that are split over clusters a low recall.
    """
    table = pd.crosstab(labels, classes).to_numpy()
    both, first, second = ((counts * (counts - 1)).sum() for counts in (table, table.sum(axis=1), table.sum(axis=0)))
    return float(both / first) if first else 1.0, float(both / second) if second else 1.0


def agreement(labels, classes):
    """Agreement of labels with known classes, as entries of a row."""
    precision, recall = precision_and_recall(labels, classes)
    return {"ari": adjusted_rand_index(labels, classes), "precision": precision, "recall": recall}


def brier_score(similarity, classes):
    """Mean squared difference, over all pairs, of the probability that they belong together and whether they do."""
    pairs = np.triu_indices(len(classes), 1)
    return float(((similarity[pairs] - (classes[:, None] == classes)[pairs]) ** 2).mean())


def reliability(similarity, classes):
    """How often pairs of items are of one class, by the probability with which they share a cluster."""
    pairs = np.triu_indices(len(classes), 1)
    probability, same = similarity[pairs], (classes[:, None] == classes)[pairs]
    bins = np.minimum((probability * N_BINS).astype(int), N_BINS - 1)
    counts, sums, hits = (np.bincount(bins, weights, N_BINS) for weights in (None, probability, same))
    return [
        {"pairs": int(count), "probability": float(total / count), "share": float(hit / count)}
        for count, total, hit in zip(counts, sums, hits, strict=True)
        if count
    ]


def together(labels):
    """Whether pairs of items share a cluster, as probabilities 0 and 1."""
    return (labels[:, None] == labels).astype(float)


def shared_responsibility(responsibilities):
    """Probability that two items share a component, given the parameters of a mixture: shape (n, n)."""
    similarity = responsibilities @ responsibilities.T
    np.fill_diagonal(similarity, 1.0)
    return np.clip(similarity, 0.0, 1.0)
