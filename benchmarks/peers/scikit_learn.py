"""Mixtures of scikit-learn: variational Bayes with a Dirichlet process prior, and EM with BIC."""

import time
import warnings

import numpy as np
from scipy.special import gammaln, logsumexp


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
    from sklearn.mixture import BayesianGaussianMixture

    model = BayesianGaussianMixture(
        weight_concentration_prior_type="dirichlet_process", max_iter=1000, random_state=seed, **options
    )
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(train)
    seconds = time.process_time() - start
    log_p = student_mixture(model, test)
    return {
        "seconds": seconds,
        "ships": float(model.score_samples(test).mean()),
        "student": float(log_p.mean()),
        "log_p": log_p,
        "converged": bool(model.converged_),
        "clusters": len(np.unique(model.predict(train))),
    }


def student_mixture(model, points):
    """Log predictive densities under the variational posterior: a Student t for each component, with mean weights.

    ``score_samples`` takes expectations of logarithms instead, which is not a log density: its exponential integrates
    to less than one.
    """
    d = points.shape[1]
    freedom = model.degrees_of_freedom_ - d + 1
    scale = model.covariances_ * model.degrees_of_freedom_[:, None, None]
    scale *= ((1 + 1 / model.mean_precision_) / freedom)[:, None, None]
    factors = np.linalg.cholesky(scale)
    log_p = np.empty((len(points), len(freedom)))
    for k, (m, factor, f) in enumerate(zip(model.means_, factors, freedom, strict=True)):
        distance = (np.linalg.solve(factor, (points - m).T) ** 2).sum(axis=0)
        log_p[:, k] = gammaln((f + d) / 2) - gammaln(f / 2) - d / 2 * np.log(f * np.pi)
        log_p[:, k] -= np.log(np.diag(factor)).sum() + (f + d) / 2 * np.log1p(distance / f)
    return logsumexp(log_p, axis=1, b=model.weights_)


def em_with_bic(train, test, *, most, n_init, seed):
    """Gaussian mixture by EM, with 1 to ``most`` components chosen by BIC; the time is that of all fits."""
    from sklearn.mixture import GaussianMixture

    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"n_init": n_init, "random_state": seed, "max_iter": 1000}
        models = [GaussianMixture(k, **options).fit(train) for k in range(1, most + 1)]
    best = min(models, key=lambda model: model.bic(train))
    seconds = time.process_time() - start
    log_p = best.score_samples(test)
    found = {"seconds": seconds, "ships": float(log_p.mean()), "student": None, "log_p": log_p}
    return found | {"converged": bool(best.converged_), "clusters": best.n_components}
