"""Every kernel for nested partitions with weights, alone and with others, against the enumerated posterior."""

import zlib

import numpy as np
import pytest
from enumerated_posterior import (
    CHAINS,
    FAMILIES,
    GAMMAS,
    NO_KERNEL,
    assert_law,
    draw_chain,
    ends_of_sweeps,
    inputs,
    levels,
    posterior,
)

from pymc_nrm.samplers.nested.sweep import Sweep

ONLY_ITEMS = NO_KERNEL._replace(items=True)
KERNELS = {
    "tables": NO_KERNEL._replace(tables=True),
    "seats": NO_KERNEL._replace(seats=True),
    "levels": NO_KERNEL._replace(levels=True),
    "components": NO_KERNEL._replace(components=1),
}
# One split or merge of components in a sweep is as exact as many, and takes less time.
ALL = Sweep(components=1)


def check_chain(family, n, depth, kernels, n_draws, has_discount=False):
    _, index, p = posterior(family, n, depth, has_discount)
    own, data = inputs(family, n)
    seed = zlib.crc32(f"{family} {n} {depth} {tuple(kernels)}".encode())
    start = np.zeros((n, 2 * depth + 1), dtype=np.int64)
    laws, gammas = levels(depth, has_discount), GAMMAS[: depth + 1].copy()
    draws = [
        draw_chain(rng, start, laws, gammas, own, data, kernels, n_draws)
        for rng in np.random.default_rng(seed).spawn(4)
    ]
    assert_law(np.array(draws)[:, 20:], index, p)


@pytest.mark.parametrize("family", ["BernoulliBeta", pytest.param("NormalWishart", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kernels", [ONLY_ITEMS, ALL], ids=["items", "all"])
def test_chain_has_the_posterior_law(family, kernels):
    check_chain(family, 3, 1, kernels, 20_000)


@pytest.mark.parametrize("kernels", [ONLY_ITEMS, ALL], ids=["items", "all"])
def test_chain_with_discounts(kernels):
    check_chain("BernoulliBeta", 3, 2, kernels, 20_000, has_discount=True)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(
    ("n", "depth", "has_discount"), [(3, 2, True), pytest.param(4, 1, False, marks=pytest.mark.slow), (4, 2, False)]
)
def test_kernel_leaves_the_posterior_invariant(name, n, depth, has_discount):
    family = "BernoulliBeta"
    values, index, p = posterior(family, n, depth, has_discount)
    own, data = inputs(family, n)
    rng = np.random.default_rng(zlib.crc32(f"{name} {n} {depth}".encode()))
    # Few states tell customers from items in the weights of a level.
    size = 300_000 if name == "levels" else 60_000
    starts = values[rng.choice(len(values), size=size, p=p)]
    found = ends_of_sweeps(
        rng, starts, levels(depth, has_discount), GAMMAS[: depth + 1].copy(), own, data, KERNELS[name]
    )
    assert (found != starts).any(axis=(1, 2)).mean() > 0.05
    assert_law(found.reshape(CHAINS, -1, *found.shape[1:]), index, p)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", ["items", "all", *KERNELS])
def test_long_chain(family, name):
    """The item update alone, and with each of the others."""
    kernels = ALL if name == "all" else KERNELS.get(name, NO_KERNEL)._replace(items=True)
    check_chain(family, 4, 2, kernels, 250_000)
