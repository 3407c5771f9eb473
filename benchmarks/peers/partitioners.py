"""Methods of scikit-learn that give a partition and no density: k-means by silhouette, and HDBSCAN."""

import time

import numpy as np
from common.real_data_fits import Fit

from peers.features import euclidean

MOST_CLUSTERS = 15


def k_means(data, seed, n_init=5):
    """k-means with 2 to 15 clusters; the mean silhouette width chooses their number."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    start = time.process_time()
    X = euclidean(data)
    best, widest = None, -np.inf
    for k in range(2, min(MOST_CLUSTERS, len(X) - 1) + 1):
        labels = KMeans(k, n_init=n_init, random_state=seed).fit_predict(X)
        width = silhouette_score(X, labels)
        if width > widest:
            best, widest = labels, width
    return Fit(best, time.process_time() - start)


def hdbscan(data, seed, min_cluster_size=5):
    """HDBSCAN; its noise, label -1, counts as one more cluster."""
    from sklearn.cluster import HDBSCAN

    start = time.process_time()
    X = euclidean(data)
    labels = HDBSCAN(min_cluster_size=min_cluster_size, copy=True).fit_predict(X)
    return Fit(labels, time.process_time() - start, about={"noise": float((labels < 0).mean())})


def hdbscan_larger(data, seed):
    """HDBSCAN with clusters of at least 15 items."""
    return hdbscan(data, seed, min_cluster_size=15)
