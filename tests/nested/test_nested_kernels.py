"""Every kernel for nested partitions with weights, alone and with others, against the enumerated posterior."""

import numpy as np
import pytest
from enumerated_posterior import FAMILIES, NO_KERNEL, PATHS, check_chain, check_invariance, inputs, law, posterior

from pymc_nrm.moves.nested.sweep import Sweep, sequential_start

KERNELS = {
    "items": NO_KERNEL._replace(items=True),
    "tables": NO_KERNEL._replace(tables=True),
    "seats": NO_KERNEL._replace(seats=True),
    "levels": NO_KERNEL._replace(levels=True),
    "components": NO_KERNEL._replace(components=1),
    "arrangement": NO_KERNEL._replace(arrangement=True),
    # One split or merge of components in a sweep is as exact as many, and takes less time.
    "all": Sweep(components=1),
}
OF_TREES = ("items", "tables", "seats", "levels", "components", "all")
OF_PATHS = ("items", "seats", "components", "arrangement", "all")


SHORT = [
    (case, name, 10_000)
    for case in ("3 items, depth 1", "3 items, depth 2, discounts", *PATHS)
    for name in ("items", "all")
]
LONG = [("4 items, depth 2", name, 250_000) for name in OF_TREES]
LONG += [("groups of groups", name, 250_000) for name in OF_PATHS]


@pytest.mark.quick(*(f"{case}-all-10000-BernoulliBeta" for case in ("3 items, depth 2, discounts", "groups of groups")))
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("case", "name", "n_draws"), SHORT + LONG)
def test_chain_has_the_posterior_law(case, name, n_draws, family):
    """The item update alone, and with each of the others."""
    check_chain(case, family, KERNELS[name]._replace(items=True), n_draws)


@pytest.mark.quick("3 items, depth 2, discounts-tables", "3 items, depth 2, discounts-levels")
@pytest.mark.parametrize(
    ("case", "name"),
    [
        *[(case, name) for case in ("3 items, depth 2, discounts", "4 items, depth 2") for name in OF_TREES[1:5]],
        *[("4 items, depth 1", name) for name in OF_TREES[1:5]],
        *[(case, name) for case in ("groups of groups", "two groups of four") for name in OF_PATHS],
    ],
)
def test_kernel_leaves_the_posterior_invariant(case, name):
    # Few states tell customers from items in the weights of a level.
    check_invariance(case, "BernoulliBeta", KERNELS[name], 300_000 if name == "levels" else 30_000)


@pytest.mark.parametrize("case", PATHS)
def test_start_keeps_the_paths(case):
    _, index, _ = posterior("BernoulliBeta", case)
    known, gammas, n = law(case)
    rng = np.random.default_rng(1)
    found = {sequential_start(rng, n, known, gammas, *inputs("BernoulliBeta", n)).tobytes() for _ in range(300)}
    assert found <= set(index)
    assert len(found) > 3
