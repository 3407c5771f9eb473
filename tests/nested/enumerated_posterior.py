"""The enumerated posterior of nested partitions with weights, and the comparison of draws with it."""

import functools

import numpy as np
from enumeration import all_values

from pymc_nrm.families import BernoulliBeta, NormalWishart
from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.partitions.nested_laws.levels import Levels
from pymc_nrm.partitions.nested_laws.prior import log_nested_prior
from pymc_nrm.samplers.nested.sweep import Sweep, sweep
from pymc_nrm.testing import kernel_inputs, largest_z, z_scores

FAMILIES = {
    "BernoulliBeta": (BernoulliBeta(0.6, 0.6), np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]])),
    "NormalWishart": (
        NormalWishart(mu=[0.0, 1.0], kappa=0.3, Psi=[[1.5, 0.4], [0.4, 1.0]], nu=4.0),
        np.array([[0.0, 0.4], [1.1, 1.9], [0.7, 0.6], [-1.6, 1.2]]),
    ),
}
ALPHA, SIGMA, GAMMAS = np.array([0.7, 1.3]), np.array([0.3, 0.6]), np.array([1.5, 0.8, 1.9])
CHAINS = 4
NO_KERNEL = Sweep(False, False, False, False, 0, False)


def inputs(family, n):
    own, X = FAMILIES[family]
    return kernel_inputs(own, X[:n])


@functools.cache
def posterior(family, n, depth, has_discount):
    """All values, an index of them, and their probabilities."""
    values = all_values(n, depth, True)
    own, data = inputs(family, n)
    laws = levels(depth, has_discount)
    log_p = [log_nested_prior(laws, GAMMAS[: depth + 1].copy(), value) for value in values]
    components, of_value = np.unique(values[:, :, -1], axis=0, return_inverse=True)
    marginals = []
    for labels in components:
        total = 0.0
        for label in set(labels):
            row = np.zeros(statistics_size(own))
            for item in np.flatnonzero(labels == label):
                add_item(own, row, data, item, 1.0)
            total += log_marginal(own, row)
        marginals.append(total)
    log_p = np.array(log_p) + np.array(marginals)[of_value.ravel()]
    p = np.exp(log_p - log_p.max())
    return values, {value.tobytes(): k for k, value in enumerate(values)}, p / p.sum()


def levels(depth, has_discount):
    return Levels(ALPHA[:depth].copy(), SIGMA[:depth] * has_discount)


def assert_law(draws, index, p):
    rows = np.array([index[value.tobytes()] for value in draws.reshape(-1, *draws.shape[-2:])])
    scores = z_scores(rows.reshape(CHAINS, -1, 1), np.arange(len(p))[:, None], p)
    assert np.abs(scores).max() < largest_z((CHAINS, len(rows) // CHAINS), scores.size)


@kernel
def draw_chain(rng, values, levels, gammas, family, data, kernels, n_draws):
    """Values after each sweep."""
    draws = np.empty((n_draws, *values.shape), dtype=np.int64)
    for t in range(n_draws):
        values, _ = sweep(rng, values, levels, gammas, family, data, kernels)
        draws[t] = values
    return draws


@kernel
def ends_of_sweeps(rng, starts, levels, gammas, family, data, kernels):
    """Values one sweep after each start."""
    found = np.empty_like(starts)
    for t in range(starts.shape[0]):
        found[t], _ = sweep(rng, starts[t].copy(), levels, gammas, family, data, kernels)
    return found


def check_chain(start, index, p, laws, gammas, family, kernels, n_draws, seed):
    """Assert that chains of sweeps from a value have the posterior law."""
    own, data = inputs(family, len(start))
    draws = [
        draw_chain(rng, start, laws, gammas, own, data, kernels, n_draws)
        for rng in np.random.default_rng(seed).spawn(CHAINS)
    ]
    assert_law(np.array(draws)[:, 20:], index, p)


def check_invariance(values, index, p, laws, gammas, family, kernels, size, seed):
    """Assert that values one sweep after draws from the posterior have its law, and that some have changed."""
    own, data = inputs(family, values.shape[1])
    rng = np.random.default_rng(seed)
    starts = values[rng.choice(len(values), size=size, p=p)]
    found = ends_of_sweeps(rng, starts, laws, gammas, own, data, kernels)
    assert (found != starts).any(axis=(1, 2)).mean() > 0.05
    assert_law(found.reshape(CHAINS, -1, *found.shape[1:]), index, p)
