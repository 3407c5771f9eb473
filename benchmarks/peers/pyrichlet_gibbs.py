"""Pyrichlet's slice sampler of a Dirichlet process mixture of Gaussians, with the same prior."""

import time

import numpy as np
from scipy.stats import multivariate_normal


def follow(train, test, family, alpha, *, seconds, seed):
    """Run the slice sampler for about ``seconds`` of CPU."""
    draws, elapsed = _draws(train, family, alpha, seconds, seed)
    clusters = np.array([len(np.unique(draw["d"])) for draw in draws], dtype=float)
    times = elapsed * np.arange(1, len(draws) + 1) / len(draws)
    return times, clusters, np.array([_density(draw, test) for draw in draws])


def fit(train, test, family, alpha, *, seconds, seed):
    """Run the slice sampler for about ``seconds`` of CPU, and average the predictive density over the second half.
    The density is computed here from the stored draws, since pyrichlet's own function always uses all draws.
    """
    draws, elapsed = _draws(train, family, alpha, seconds, seed)
    draws = draws[len(draws) // 2 :]
    # Two hundred draws, evenly spaced, are enough.
    draws = draws[:: max(len(draws) // 200, 1)]
    total = sum(_density(draw, test) for draw in draws)
    clusters = float(np.mean([len(np.unique(draw["d"])) for draw in draws]))
    density = float(np.log(total / len(draws)).mean())
    return {"seconds": elapsed, "ships": density, "student": None, "converged": None, "clusters": clusters}


def _draws(train, family, alpha, seconds, seed):
    """Stored draws of about ``seconds`` of CPU, and the seconds that they took."""
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
    return model.sim_params, time.process_time() - start


def _density(draw, points):
    """Density at the points given weights and components of a draw."""
    total = np.zeros(len(points))
    for k, weight in enumerate(draw["w"]):
        total += weight * multivariate_normal(*draw["theta"][k], allow_singular=True).pdf(points)
    return total
