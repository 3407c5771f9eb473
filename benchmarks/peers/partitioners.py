"""Methods of scikit-learn on real data: k-means by silhouette, HDBSCAN, and Gaussian mixtures by EM and variational."""

import time

import numpy as np
import pandas as pd
from common.real_data_fits import Fit, shared_responsibility

from peers import scikit_learn

MOST_CLUSTERS, PATIENCE = 15, 5


class Standardised:
    """Numeric features less their mean and divided by their standard deviation."""

    def __init__(self, X):
        values = np.asarray(X, dtype=float)
        self.mean, scale = values.mean(axis=0), values.std(axis=0)
        self.scale = np.where(scale > 0, scale, 1.0)

    def __call__(self, X):
        return (np.asarray(X, dtype=float) - self.mean) / self.scale

    @property
    def log_volume(self):
        """What to add to a log density of standardised features to have that of the features: the log Jacobian."""
        return -np.log(self.scale).sum()


def euclidean(data):
    """Items as points in a Euclidean space, shape (n, m).

    Numeric features are standardised, with means in place of missing values; categories become one column of zeros and
    ones for each level, as do missing ones; binary features stay as they are.
    """
    if data.kind == "binary":
        return data.values
    numeric = data.X.select_dtypes("number")
    parts = []
    if numeric.shape[1]:
        parts.append(Standardised(numeric.fillna(numeric.mean()))(numeric.fillna(numeric.mean())))
    if numeric.shape[1] < data.X.shape[1]:
        others = data.X.drop(columns=numeric.columns)
        parts.append(pd.get_dummies(others, dummy_na=bool(others.isna().any(axis=None))).to_numpy(dtype=float))
    return np.hstack(parts)


def em(data, seed, n_init=2):
    """Mixture with full covariances by EM; BIC chooses among 1 to 15 components."""
    start = time.process_time()
    features = Standardised(data.X)
    X = features(data.X)
    best = scikit_learn.best_em(X, min(MOST_CLUSTERS, len(X) - 1), n_init, seed, PATIENCE)
    responsibilities = best.predict_proba(X)
    return Fit(
        responsibilities.argmax(axis=1),
        time.process_time() - start,
        lambda new: best.score_samples(features(new)) + features.log_volume,
        shared_responsibility(responsibilities),
    )


def variational(data, seed, n_components=20, n_init=2):
    """Variational Bayes with a truncated Dirichlet process and scikit-learn's default priors.

    The density is the predictive of the variational posterior, a mixture of Student t; see ``student_mixture``.
    """
    features = Standardised(data.X)
    X = features(data.X)
    model, seconds = scikit_learn.variational_fit(X, seed, n_components=min(n_components, len(X)), n_init=n_init)
    return Fit(
        model.predict(X),
        seconds,
        lambda new: scikit_learn.student_mixture(model, features(new)) + features.log_volume,
        shared_responsibility(model.predict_proba(X)),
    )


def k_means(data, seed, n_init=5):
    """k-means with 2 to 15 clusters; the mean silhouette width chooses their number."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    start = time.process_time()
    X = euclidean(data)
    numbers = range(2, min(MOST_CLUSTERS, len(X) - 1) + 1)
    found = [KMeans(k, n_init=n_init, random_state=seed).fit_predict(X) for k in numbers]
    best = max(found, key=lambda labels: silhouette_score(X, labels))
    return Fit(best, time.process_time() - start)


def hdbscan(data, seed, min_cluster_size=5):
    """HDBSCAN; its noise, label -1, counts as one more cluster."""
    from sklearn.cluster import HDBSCAN

    start = time.process_time()
    labels = HDBSCAN(min_cluster_size=min_cluster_size, copy=True).fit_predict(euclidean(data))
    return Fit(labels, time.process_time() - start, about={"noise": float((labels < 0).mean())})
