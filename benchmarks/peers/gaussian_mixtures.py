"""Gaussian mixtures of scikit-learn on real data, features standardised: EM with BIC, and variational Bayes."""

import time
import warnings

import numpy as np
from common.real_data_fits import Fit, shared_responsibility

from peers.features import Standardised
from peers.scikit_learn import student_mixture

MOST_COMPONENTS, PATIENCE = 15, 5


def em(data, seed, n_init=2):
    """Mixture with full covariances by EM; BIC chooses among 1 to 15 components.

    The search ends when five numbers in a row have not lowered BIC.
    """
    from sklearn.mixture import GaussianMixture

    start = time.process_time()
    features = Standardised(data.X)
    X = features(data.X)
    best, least = None, np.inf
    for k in range(1, min(MOST_COMPONENTS, len(X) - 1) + 1):
        model = _quietly(GaussianMixture(k, n_init=n_init, random_state=seed, max_iter=500), X)
        criterion = model.bic(X)
        if criterion < least:
            best, least = model, criterion
        elif k >= best.n_components + PATIENCE:
            break
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
    from sklearn.mixture import BayesianGaussianMixture

    start = time.process_time()
    features = Standardised(data.X)
    X = features(data.X)
    model = BayesianGaussianMixture(
        n_components=min(n_components, len(X)), n_init=n_init, max_iter=1000, random_state=seed
    )
    _quietly(model, X)
    seconds = time.process_time() - start
    return Fit(
        model.predict(X),
        seconds,
        lambda new: student_mixture(model, features(new)) + features.log_volume,
        shared_responsibility(model.predict_proba(X)),
    )


def _quietly(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)
