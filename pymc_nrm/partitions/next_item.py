"""The cluster that one more item joins: the predictive distribution of a flat partition."""

import numpy as np

from pymc_nrm.measures.base import gibbs_type_rule, log_eppf


def log_prediction_rule(measure, counts):
    """Log probabilities that one more item joins each cluster or opens a new one, before its data are seen. The last
    entry is for a new cluster; the probabilities sum to one.
    """
    # These are ratios of partition probabilities, `EPPF(counts with the item) / EPPF(counts)`.  For priors of Gibbs
    # type they are `(n_c - sigma) V(n+1, k) / V(n, k)` and `V(n+1, k+1) / V(n, k)` (Lijoi, Mena & Prünster 2007,
    # "Controlling the reinforcement in Bayesian non-parametric mixture models", section 2).  Weights of clusters given
    # a u drawn given the partition of n items would be wrong, since the next item changes the distribution of u.
    counts = np.asarray(counts, dtype=np.int64)
    weights = np.empty(len(counts) + 1)
    rule = gibbs_type_rule(measure, int(counts.sum()), len(counts))
    if rule is not None:
        weights[:-1], weights[-1] = np.log(counts - rule[0]), rule[1]
    else:
        for size in np.unique(counts):
            same = counts == size
            weights[:-1][same] = log_eppf(measure, counts + (np.arange(len(counts)) == np.argmax(same)))
        weights[-1] = log_eppf(measure, np.append(counts, 1))
    weights -= weights.max()
    return weights - np.log(np.exp(weights).sum())


def log_join_without(measure, counts):
    """Log probabilities that an item left out joins each cluster or a new one, shape (n_clusters, n_clusters + 1). Rows
    are the original cluster of the item; the cluster of an item that was alone has probability zero.
    """
    n_clusters = len(counts)
    rows = np.full((n_clusters, n_clusters + 1), -np.inf)
    for size in np.unique(counts):
        # Clusters of equal size are interchangeable: compute for the first, and swap two entries for each other one.
        members = np.flatnonzero(counts == size)
        first = members[0]
        remaining = counts.copy()
        remaining[first] -= 1
        kept = remaining > 0
        log_p = log_prediction_rule(measure, remaining[kept])
        row = np.full(n_clusters + 1, -np.inf)
        row[np.append(kept, True)] = log_p
        for cluster in members:
            rows[cluster] = row
            rows[cluster, first], rows[cluster, cluster] = row[cluster], row[first]
    return rows


def draw_new_labels(measure, counts, n_new, rng):
    """Draw the labels of new items one after another from their predictive distribution. Labels below ``n_clusters``
    are old clusters; new clusters follow in order of appearance.
    """
    n, n_clusters = int(np.sum(counts)), len(counts)
    counts = np.append(np.asarray(counts, dtype=np.int64), np.zeros(n_new, dtype=np.int64))
    labels = np.empty(n_new, dtype=np.int64)
    for i in range(n_new):
        rule = gibbs_type_rule(measure, n + i, n_clusters)
        if rule is None:
            weights = np.exp(log_prediction_rule(measure, counts[:n_clusters]))
        else:
            # An entry for a new cluster follows the clusters.
            weights = counts[: n_clusters + 1] - rule[0]
            weights[-1] = np.exp(rule[1])
        cumulative = weights.cumsum()
        label = min(int(cumulative.searchsorted(rng.random() * cumulative[-1], side="right")), n_clusters)
        n_clusters += label == n_clusters
        counts[label] += 1
        labels[i] = label
    return labels
