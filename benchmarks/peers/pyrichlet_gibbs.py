"""Slice sampler of a Dirichlet process mixture of Gaussians by pyrichlet, same prior."""

import time

import numpy as np
from scipy.stats import multivariate_normal


def fit(train, test, family, alpha, *, seconds, seed):
    """Slice sampling for about so many CPU seconds, the predictive density averaged over the second half of the draws.

    The density is evaluated here from the draws that the package stores: its own function does the same for all draws.

    Returns
    -------
    dict
        As from :func:`peers.scikit_learn.variational`.
    """
    from pyrichlet import DirichletProcessMixture

    options = {
        "alpha": alpha,
        "mu_prior": np.broadcast_to(family.mu, train.shape[1]).copy(),
        "lambda_prior": family.kappa,
        "psi_prior": np.asarray(family.Psi),
        "nu_prior": family.nu,
        "burn_in": 1,
    }
    start = time.process_time()
    DirichletProcessMixture(total_iter=12, rng=seed, **options).fit_gibbs(train)
    n_draws = max(int(seconds * 12 / (time.process_time() - start)), 20)
    start = time.process_time()
    model = DirichletProcessMixture(total_iter=n_draws, rng=seed, **options)
    model.fit_gibbs(train)
    elapsed = time.process_time() - start
    draws = model.sim_params[len(model.sim_params) // 2 :]
    # At most 200 draws, evenly spaced, are enough.
    draws = draws[:: max(len(draws) // 200, 1)]
    total = np.zeros(len(test))
    for draw in draws:
        for k, weight in enumerate(draw["w"]):
            mean, covariance = draw["theta"][k]
            total += weight * multivariate_normal(mean, covariance, allow_singular=True).pdf(test)
    clusters = float(np.mean([len(np.unique(draw["d"])) for draw in draws]))
    density = float(np.log(total / len(draws)).mean())
    return {"seconds": elapsed, "ships": density, "student": None, "converged": None, "clusters": clusters}
