"""All values of nested partitions of a few items, their posterior, and the comparison of draws with it."""

import functools

import numpy as np

import pymc_nrm as nrm
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.measures.prediction_rules import Levels
from pymc_nrm.nested.moves.sweep import Sweep, sweep
from pymc_nrm.nested.partitions.nested_levels import KnownPaths, log_nested_prior
from pymc_nrm.testing import all_partitions, kernel_inputs
from tests.cases import SMALL
from tests.helpers import assert_law, log_density, refines, seeded

FAMILIES = {
    "BernoulliBeta": (nrm.BernoulliBeta(0.6, 0.6), np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]])),
    "NormalWishart": SMALL["NormalWishart"],
}
ALPHA, SIGMA, GAMMAS = np.array([0.7, 1.3]), np.array([0.3, 0.6]), np.array([1.5, 0.8, 1.9])
CHAINS = 4
NO_KERNEL = Sweep(False, False, False, False, 0, False)

# Known paths, or numbers of items and levels of a random tree and whether it has discounts.
PATHS = {
    "two groups of three": [[0], [0], [1]],
    "two groups of four": [[0], [0], [1], [1]],
    "groups of groups": [[0, 0], [0, 1], [1, 2], [0, 1]],
}
TREES = {
    f"{n} items, depth {depth}{', discounts' * has_discount}": (n, depth, has_discount)
    for n in (3, 4)
    for depth in (1, 2)
    for has_discount in (False, True)
}


@functools.cache
def all_values(n, depth, has_weights):
    """Every value of a nested partition of n items, shape (n_values, n, width)."""
    partitions = all_partitions(n)
    finer = {tuple(coarse): [one for one in partitions if refines(one, coarse)] for coarse in map(np.array, partitions)}
    chains = [[np.zeros(n, dtype=np.int64)]]
    for _ in range(depth):
        chains = [[*chain, fine] for chain in chains for fine in finer[tuple(chain[-1])]]
    values = []
    for _, *nodes in chains:
        tables = [[]]
        if has_weights:
            tables = [[top] for top in partitions]
            for level in range(depth):
                tables = [
                    [*chain, fine]
                    for chain in tables
                    for fine in finer[tuple(chain[-1])]
                    if refines(fine, nodes[level])
                ]
        values += [np.column_stack([*nodes, *chain[::-1]]) for chain in tables]
    return np.array(values)


def values_along(paths):
    """Every value with weights that has these paths, given in canonical form."""
    values = all_values(*np.shape(paths), True)
    return values[(values[:, :, : np.shape(paths)[1]] == paths).all(axis=(1, 2))]


def law(case):
    """Law of the paths in the form of kernels, concentrations of the weights, and number of items."""
    if case in PATHS:
        paths = np.array(PATHS[case])
        return KnownPaths(paths), GAMMAS[: paths.shape[1] + 1].copy(), len(paths)
    n, depth, has_discount = TREES[case]
    return Levels(ALPHA[:depth].copy(), SIGMA[:depth] * has_discount), GAMMAS[: depth + 1].copy(), n


def inputs(family, n):
    own, X = FAMILIES[family]
    return kernel_inputs(own, X[:n])


@functools.cache
def posterior(family, case):
    """All values, an index of them, and their probabilities.

    Those with known paths are those of a random tree, given these paths.
    """
    if case in PATHS:
        values = values_along(PATHS[case])
        _, index, p = posterior(family, "{} items, depth {}".format(*np.shape(PATHS[case])))
        p = p[[index[value.tobytes()] for value in values]]
    else:
        levels, gammas, n = law(case)
        values = all_values(n, len(gammas) - 1, True)
        log_p = np.array([log_nested_prior(levels, gammas, value) for value in values])
        components, of_value = np.unique(values[:, :, -1], axis=0, return_inverse=True)
        log_p += np.array([log_density(*inputs(family, n), labels) for labels in components])[of_value.ravel()]
        p = np.exp(log_p - log_p.max())
    return values, {value.tobytes(): k for k, value in enumerate(values)}, p / p.sum()


# From here on a chain is drawn in machine code, which compiles for 15 s and halves the time of a sweep.
MANY_DRAWS = 100_000


def draw_few(rng, values, levels, gammas, family, data, kernels, n_draws):
    """Values after each of several sweeps, as the step calls them, whose machine code is therefore the same."""
    draws = np.empty((n_draws, *values.shape), dtype=np.int64)
    for t in range(n_draws):
        values, _ = sweep(rng, values, levels, gammas, family, data, kernels)
        draws[t] = values
    return draws


draw_many = shared_kernel(draw_few)


def check_draws(draws, index, p):
    rows = np.array([index[value.tobytes()] for value in draws.reshape(-1, *draws.shape[-2:])])
    assert_law(rows.reshape(CHAINS, -1, 1), np.arange(len(p))[:, None], p)


def check_chain(case, family, kernels, n_draws):
    values, index, p = posterior(family, case)
    levels, gammas, n = law(case)
    draw = draw_many if n_draws >= MANY_DRAWS else draw_few
    draws = [
        draw(rng, values[0].copy(), levels, gammas, *inputs(family, n), kernels, n_draws)
        for rng in seeded(family, case, *kernels).spawn(CHAINS)
    ]
    check_draws(np.array(draws)[:, 20:], index, p)


def check_invariance(case, family, kernels, size):
    """Assert that values one sweep after draws from the posterior have its law, and that some have changed."""
    values, index, p = posterior(family, case)
    levels, gammas, n = law(case)
    rng = seeded(family, case, *kernels)
    starts = values[rng.choice(len(values), size=size, p=p)]
    arguments = levels, gammas, *inputs(family, n), kernels
    found = np.array([sweep(rng, start.copy(), *arguments)[0] for start in starts])
    assert (found != starts).any(axis=(1, 2)).mean() > 0.05
    check_draws(found.reshape(CHAINS, -1, *found.shape[1:]), index, p)
