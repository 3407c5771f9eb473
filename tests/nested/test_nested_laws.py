"""The law of nested partitions in graphs, kernels and forward draws, and kernels against the enumerated posterior."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode

import pymc_nrm as nrm
from pymc_nrm.measures.prediction_rules import Levels, symbolic_levels_of
from pymc_nrm.nested.moves.sweep import Sweep, sequential_start
from pymc_nrm.nested.partitions.nested import Nested, WeightedNested
from pymc_nrm.nested.partitions.nested_draws import draw_nested, draw_paths
from pymc_nrm.nested.partitions.nested_levels import (
    KnownPaths,
    log_nested_prior,
    log_path_prior,
    symbolic_log_nested_prior,
)
from tests.nested.enumerated_posterior import (
    FAMILIES,
    NO_KERNEL,
    PATHS,
    all_values,
    check_chain,
    check_invariance,
    inputs,
    law,
    posterior,
    values_along,
)

ALPHA, SIGMA, GAMMA = np.array([0.7, 1.3, 0.4]), np.array([0.5, 0.2, 0.0]), np.array([1.5, 0.8, 1.9, 0.6])


def levels(depth, has_discount=False):
    return Levels(ALPHA[:depth].copy(), SIGMA[:depth] * has_discount)


def log_prior(law, values):
    depth = len(law.alpha) if isinstance(law, Levels) else law.paths.shape[1]
    if values.shape[1] == depth:
        return log_path_prior(law, values)
    return log_nested_prior(law, GAMMA[: depth + 1].copy(), values)


def symbolic(law, depth, has_weights):
    """Function of a value and a shift of all concentrations that returns its log probability and the gradients."""
    alpha, sigma, gamma, labels = pt.dvector("alpha"), pt.dvector("sigma"), pt.dvector("gamma"), pt.lmatrix("labels")
    if isinstance(law, KnownPaths):
        own, n, (a, s) = KnownPaths(pt.constant(law.paths)), len(law.paths), levels(depth)
    else:
        a, s = law
        n, own = 4, symbolic_levels_of(nrm.PitmanYorProcess(sigma, alpha) if s.any() else nrm.DirichletProcess(alpha))
    value = (WeightedNested if has_weights else Nested)(depth)
    log_p = symbolic_log_nested_prior(value, own, gamma if has_weights else None, labels, pt.constant(n))
    gradient = pytensor.grad(log_p, [alpha, gamma], disconnected_inputs="ignore")
    mode = Mode(linker="py", optimizer="fast_compile")
    compiled = pytensor.function([alpha, sigma, gamma, labels], [log_p, *gradient], on_unused_input="ignore", mode=mode)
    return lambda labels, shift=0.0: compiled(a + shift, s, GAMMA[: depth + 1] + shift, labels)


@pytest.mark.parametrize("case", PATHS)
def test_law_given_paths_is_that_of_random_paths(case):
    known, values = KnownPaths(np.array(PATHS[case])), values_along(PATHS[case])
    log_p = np.array([log_prior(known, value) for value in values])
    assert np.exp(log_p).sum() == pytest.approx(1.0, abs=1e-12)
    own = levels(known.paths.shape[1])
    np.testing.assert_allclose(log_p, [log_prior(own, v) - log_path_prior(own, v) for v in values], atol=1e-12)


@pytest.mark.quick("law2-3-False")
@pytest.mark.parametrize(
    ("law", "depth", "has_weights"),
    [
        (levels(1, True), 1, True),
        (levels(2), 2, True),
        (levels(3, True), 3, False),
        *[(KnownPaths(np.array(paths)), len(paths[0]), True) for paths in PATHS.values()],
    ],
)
def test_graph_and_kernel_agree(law, depth, has_weights):
    function = symbolic(law, depth, has_weights)
    is_known = isinstance(law, KnownPaths)
    values = values_along(law.paths) if is_known else all_values(4, depth, has_weights)
    for value in values[:: max(1, len(values) // 50)]:
        log_p, alpha, gamma = function(value)
        assert log_p == pytest.approx(log_prior(law, value), abs=1e-12)
        slope = (function(value, 1e-5)[0] - function(value, -1e-5)[0]) / 2e-5
        assert slope == pytest.approx(alpha.sum() + has_weights * gamma.sum(), abs=1e-6)
    if is_known:
        everything = all_values(*law.paths.shape, True)
        others = everything[(everything[:, :, :depth] != law.paths).any(axis=(1, 2))]
        for other in [*others[:: len(others) // 20], values[0][:-1], np.vstack([values[0], values[0][:1]])]:
            assert log_prior(law, other) == function(other)[0] == -np.inf


def test_other_values_are_impossible():
    function = symbolic(levels(2), 2, True)
    value = np.array([[0, 0, 0, 0, 0], [0, 0, 1, 1, 1], [0, 1, 2, 2, 0], [1, 2, 3, 3, 0]])
    assert np.isfinite(function(value)[0])
    renamed, crossing, across = value.copy(), value.copy(), value.copy()
    renamed[:, 0] = 1 - renamed[:, 0]
    crossing[3, 1] = 1  # a leaf with two parents
    across[3, 2] = 2  # a table in two leaves
    gap, negative, large = value.copy(), value.copy(), value.copy()
    gap[3, 1], negative[3, 1], large[3, 1] = 3, -1, 9
    for wrong in (renamed, crossing, across, gap, negative, large, value[:3]):
        assert function(wrong)[0] == -np.inf


@pytest.mark.slow
def test_forward_draws_of_few_and_of_too_many_items():
    assert (draw_paths(np.random.default_rng(1), levels(2), 1) == 0).all()
    with pytest.raises(ValueError, match="known for fewer"):
        draw_nested(np.random.default_rng(1), KnownPaths(np.zeros((4, 1), dtype=np.int64)), GAMMA[:2].copy(), 5)


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


@pytest.mark.quick("3 items, depth 2, discounts-all-10000-BernoulliBeta")
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("case", "name", "n_draws"), SHORT + LONG)
def test_chain_has_the_posterior_law(case, name, n_draws, family):
    """The item update alone, and with each of the others."""
    check_chain(case, family, KERNELS[name]._replace(items=True), n_draws)


@pytest.mark.quick("3 items, depth 2, discounts-tables")
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


@pytest.mark.parametrize("sigma", [0.0, 0.5, 1.0 - 2.0**-53])
def test_paths_of_the_smallest_concentrations_end(sigma):
    """Customers whose groups are known may be single, so that the next ones meet no other."""
    levels = Levels(np.array([1e-300, 1e-300]), np.array([sigma, sigma]))
    assert draw_paths(np.random.default_rng(1), levels, 200).shape == (200, 2)
