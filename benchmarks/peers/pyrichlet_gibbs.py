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
    """Run the slice sampler for about ``seconds`` of CPU, and average the predictive density over the second half."""
    times, clusters, density = follow(train, test, family, alpha, seconds=seconds, seed=seed)
    half = len(times) // 2
    found = {"seconds": times[-1], "ships": float(np.log(density[half:].mean(axis=0)).mean()), "student": None}
    return found | {"converged": None, "clusters": float(clusters[half:].mean())}


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
