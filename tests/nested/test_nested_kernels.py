"""Every kernel for nested partitions with weights, alone and with others, against the enumerated posterior."""

import zlib

import numpy as np
import pytest
from enumerated_posterior import FAMILIES, GAMMAS, NO_KERNEL, check_chain, check_invariance, levels, posterior

from pymc_nrm.moves.nested.sweep import Sweep

ONLY_ITEMS = NO_KERNEL._replace(items=True)
KERNELS = {
    "tables": NO_KERNEL._replace(tables=True),
    "seats": NO_KERNEL._replace(seats=True),
    "levels": NO_KERNEL._replace(levels=True),
    "components": NO_KERNEL._replace(components=1),
}
# One split or merge of components in a sweep is as exact as many, and takes less time.
ALL = Sweep(components=1)


def check(family, n, depth, kernels, n_draws, has_discount=False):
    _, index, p = posterior(family, n, depth, has_discount)
    start, gammas = np.zeros((n, 2 * depth + 1), dtype=np.int64), GAMMAS[: depth + 1].copy()
    seed = zlib.crc32(f"{family} {n} {depth} {tuple(kernels)}".encode())
    check_chain(start, index, p, levels(depth, has_discount), gammas, family, kernels, n_draws, seed)


@pytest.mark.parametrize("family", ["BernoulliBeta", pytest.param("NormalWishart", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kernels", [ONLY_ITEMS, ALL], ids=["items", "all"])
def test_chain_has_the_posterior_law(family, kernels):
    check(family, 3, 1, kernels, 20_000)


@pytest.mark.parametrize("kernels", [ONLY_ITEMS, ALL], ids=["items", "all"])
def test_chain_with_discounts(kernels):
    check("BernoulliBeta", 3, 2, kernels, 20_000, has_discount=True)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(
    ("n", "depth", "has_discount"), [(3, 2, True), pytest.param(4, 1, False, marks=pytest.mark.slow), (4, 2, False)]
)
def test_kernel_leaves_the_posterior_invariant(name, n, depth, has_discount):
    family = "BernoulliBeta"
    values, index, p = posterior(family, n, depth, has_discount)
    laws, gammas = levels(depth, has_discount), GAMMAS[: depth + 1].copy()
    # Few states tell customers from items in the weights of a level.
    size = 300_000 if name == "levels" else 60_000
    seed = zlib.crc32(f"{name} {n} {depth}".encode())
    check_invariance(values, index, p, laws, gammas, family, KERNELS[name], size, seed)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", ["items", "all", *KERNELS])
def test_long_chain(family, name):
    """The item update alone, and with each of the others."""
    kernels = ALL if name == "all" else KERNELS.get(name, NO_KERNEL)._replace(items=True)
    check(family, 4, 2, kernels, 250_000)
