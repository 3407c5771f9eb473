"""Mixtures of scikit-learn: variational Bayes with a Dirichlet process prior, and EM with BIC."""

import time
import warnings

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_t


def variational(train, test, family, alpha, *, n_components, n_init, seed):
    """Variational Bayes with the same prior: mu, kappa, nu, Psi of the family, and stick-breaking with ``alpha``.
    scikit-learn's ``covariance_prior`` is Psi itself, since ``covariances_`` are posterior Psi divided by the
    degrees of freedom.
    """
    prior = {
        "weight_concentration_prior": alpha,
        "mean_prior": np.broadcast_to(family.mu, train.shape[1]),
        "mean_precision_prior": family.kappa,
        "degrees_of_freedom_prior": family.nu,
        "covariance_prior": family.Psi,
    }
    return _fit(train, test, seed, n_components=n_components, n_init=n_init, **prior)


def variational_defaults(train, test, *, n_components, n_init, seed):
    """Variational Bayes with the priors that scikit-learn chooses from the data."""
    return _fit(train, test, seed, n_components=n_components, n_init=n_init)


def _fit(train, test, seed, **options):
    model, seconds = variational_fit(train, seed, **options)
    log_p = student_mixture(model, test)
    found = {"seconds": seconds, "ships": float(model.score_samples(test).mean()), "student": float(log_p.mean())}
    found |= {"log_p": log_p, "converged": bool(model.converged_)}
    return found | {"clusters": len(np.unique(model.predict(train)))}


def variational_fit(X, seed, **options):
    """A mixture with a truncated Dirichlet process, and the CPU seconds that its fit took."""
    from sklearn.mixture import BayesianGaussianMixture

    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BayesianGaussianMixture(max_iter=1000, random_state=seed, **options).fit(X)
    return model, time.process_time() - start


def student_mixture(model, points):
    """Log predictive densities under the variational posterior: a Student t for each component, with mean weights.

    ``score_samples`` takes expectations of logarithms instead, which is not a log density: its exponential integrates
    to less than one.
    """
    freedom = model.degrees_of_freedom_ - points.shape[1] + 1
    scale = model.covariances_ * model.degrees_of_freedom_[:, None, None]
    scale *= ((1 + 1 / model.mean_precision_) / freedom)[:, None, None]
    components = zip(model.means_, scale, freedom, strict=True)
    log_p = np.column_stack([multivariate_t.logpdf(points, *component) for component in components])
    return logsumexp(log_p, axis=1, b=model.weights_)


def best_em(X, most, n_init, seed, patience=np.inf, **options):
    """Gaussian mixture by EM: 1 to ``most`` components by BIC, until so many in a row have not lowered it."""
    from sklearn.mixture import GaussianMixture

    best, least = None, np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(1, most + 1):
            model = GaussianMixture(k, n_init=n_init, random_state=seed, max_iter=1000, **options).fit(X)
            criterion = model.bic(X)
            if criterion < least:
                best, least = model, criterion
            elif k >= best.n_components + patience:
                break
    return best


def em_with_bic(train, test, *, most, n_init, seed):
    """Density of test items under a Gaussian mixture by EM; the time is that of all fits."""
    start = time.process_time()
    best = best_em(train, most, n_init, seed)
    seconds = time.process_time() - start
    log_p = best.score_samples(test)
    found = {"seconds": seconds, "ships": float(log_p.mean()), "student": None, "log_p": log_p}
    return found | {"converged": bool(best.converged_), "clusters": best.n_components}
