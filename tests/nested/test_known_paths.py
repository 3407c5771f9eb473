"""Nested partitions with known paths: law of the tables, and kernels against the enumerated posterior."""

import zlib

import numpy as np
import pandas as pd
import pytensor
import pytensor.tensor as pt
import pytest
from enumerated_posterior import (
    FAMILIES,
    GAMMAS,
    NO_KERNEL,
    check_chain,
    check_invariance,
    inputs,
    levels,
    posterior,
)
from enumeration import all_values
from pytensor.compile.mode import Mode

from pymc_nrm.partitions.nested import WeightedNested
from pymc_nrm.partitions.nested_laws.forward import draw_further_nested, draw_nested
from pymc_nrm.partitions.nested_laws.known_paths import KnownPaths, canonical_paths
from pymc_nrm.partitions.nested_laws.prior import log_nested_prior, log_path_prior, symbolic_log_nested_prior
from pymc_nrm.samplers.nested.sweep import Sweep, sequential_start

PATHS = {
    "two groups of three": [[0], [0], [1]],
    "two groups of four": [[0], [0], [1], [1]],
    "groups of groups": [[0, 0], [0, 1], [1, 2], [0, 1]],
}
KERNELS = {
    "items": NO_KERNEL._replace(items=True),
    "seats": NO_KERNEL._replace(seats=True),
    "components": NO_KERNEL._replace(components=1),
    "arrangement": NO_KERNEL._replace(arrangement=True),
    "all": Sweep(components=1),
}


def paths_of(case):
    return np.array(PATHS[case])


def values_of(case):
    """All values with the paths of a case."""
    paths = paths_of(case)
    values = all_values(*paths.shape, True)
    return values[(values[:, :, : paths.shape[1]] == paths).all(axis=(1, 2))]


def posterior_of(case, family="BernoulliBeta"):
    """Values, an index of them, and their probabilities: those of random paths, given these ones."""
    n, depth = paths_of(case).shape
    _, index, p = posterior(family, n, depth, False)
    values = values_of(case)
    p = p[[index[value.tobytes()] for value in values]]
    return values, {value.tobytes(): k for k, value in enumerate(values)}, p / p.sum()


def gammas_of(case):
    return GAMMAS[: paths_of(case).shape[1] + 1].copy()


@pytest.mark.parametrize("case", PATHS)
def test_law_of_tables_given_paths(case):
    known, gammas, values = KnownPaths(paths_of(case)), gammas_of(case), values_of(case)
    log_p = np.array([log_nested_prior(known, gammas, value) for value in values])
    assert np.exp(log_p).sum() == pytest.approx(1.0, abs=1e-12)
    own = levels(len(gammas) - 1, False)
    conditional = [log_nested_prior(own, gammas, value) - log_path_prior(own, value) for value in values]
    np.testing.assert_allclose(log_p, conditional, atol=1e-12)
    gamma, labels = pt.dvector("gamma"), pt.lmatrix("labels")
    value, n = WeightedNested(len(gammas) - 1), pt.constant(len(known.paths))
    graph = symbolic_log_nested_prior(value, KnownPaths(pt.constant(known.paths)), gamma, labels, n)
    mode = Mode(linker="py", optimizer="fast_compile")
    function = pytensor.function([gamma, labels], [graph, pytensor.grad(graph, gamma)], mode=mode)
    for labels, expected in zip(values, log_p, strict=True):
        found, gradient = function(gammas, labels)
        assert found == pytest.approx(expected, abs=1e-12)
        slope = (function(gammas + 1e-5, labels)[0] - function(gammas - 1e-5, labels)[0]) / 2e-5
        assert slope == pytest.approx(gradient.sum(), abs=1e-6)
    everything = all_values(*known.paths.shape, True)
    others = everything[(everything[:, :, : known.paths.shape[1]] != known.paths).any(axis=(1, 2))]
    for other in others[:: len(others) // 20]:
        assert log_nested_prior(known, gammas, other) == -np.inf
        assert function(gammas, other)[0] == -np.inf
    short = np.vstack([values[0], values[0][:1]])
    for other in (values[0][:-1], short):
        assert function(gammas, other)[0] == -np.inf
        assert log_nested_prior(known, gammas, other) == -np.inf


def test_forward_draws_have_the_law():
    case, n_draws = "groups of groups", 20_000
    known, gammas, values = KnownPaths(paths_of(case)), gammas_of(case), values_of(case)
    rng = np.random.default_rng(1)
    p = np.exp([log_nested_prior(known, gammas, value) for value in values])
    old = draw_nested(rng, KnownPaths(known.paths[:2].copy()), gammas, 2)
    given = (values[:, :2] == old).all(axis=(1, 2))
    for start, weights in ((old[:0], p), (old, p * given / p[given].sum())):
        index = {value.tobytes(): k for k, value in enumerate(values)}
        counts = np.zeros(len(values))
        for _ in range(n_draws):
            counts[index[draw_further_nested(rng, known, gammas, start, 4 - len(start)).tobytes()]] += 1
        assert (counts[weights == 0] == 0).all()
        used = weights > 0
        scores = (counts / n_draws - weights)[used] / np.sqrt(weights * (1 - weights) / n_draws)[used]
        assert np.abs(scores).max() < 4.5
    with pytest.raises(ValueError, match="known for fewer items"):
        draw_nested(rng, known, gammas, 5)


def check(case, family, kernels, n_draws):
    values, index, p = posterior_of(case, family)
    seed = zlib.crc32(f"{case} {family} {tuple(kernels)}".encode())
    check_chain(values[0], index, p, KnownPaths(paths_of(case)), gammas_of(case), family, kernels, n_draws, seed)


@pytest.mark.parametrize("family", ["BernoulliBeta", pytest.param("NormalWishart", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["items", "all"])
@pytest.mark.parametrize("case", PATHS)
def test_chain_has_the_posterior_law(case, name, family):
    check(case, family, KERNELS[name], 20_000)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", KERNELS)
def test_long_chain(family, name):
    """The item update alone, and with each of the others."""
    check("groups of groups", family, KERNELS[name]._replace(items=True), 250_000)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("case", [pytest.param("two groups of four", marks=pytest.mark.slow), "groups of groups"])
def test_kernel_leaves_the_posterior_invariant(case, name):
    values, index, p = posterior_of(case)
    known, gammas, seed = KnownPaths(paths_of(case)), gammas_of(case), zlib.crc32(f"{case} {name}".encode())
    check_invariance(values, index, p, known, gammas, "BernoulliBeta", KERNELS[name], 60_000, seed)


@pytest.mark.parametrize("case", PATHS)
def test_start_keeps_the_paths(case):
    values, index, _ = posterior_of(case)
    own, data = inputs("BernoulliBeta", values.shape[1])
    known, n = KnownPaths(paths_of(case)), values.shape[1]
    rng = np.random.default_rng(1)
    found = {sequential_start(rng, n, known, gammas_of(case), own, data).tobytes() for _ in range(300)}
    assert found <= set(index)
    assert len(found) > 3


def test_labels_of_groups():
    names = [["b", 7], ["a", 7], ["b", 3], ["a", 7]]
    expected = [[0, 0], [1, 1], [0, 2], [1, 1]]
    table = pd.DataFrame(names, columns=["site", "plot"]).astype({"site": "category"})
    for labels in (names, np.array(names), table):
        paths, nodes = canonical_paths("paths", labels)
        assert paths.tolist() == expected
        assert [[parent for parent, _ in level] for level in nodes] == [[0, 0], [0, 1, 0]]
    one, nodes = canonical_paths("paths", table["site"])
    assert one.tolist() == [[0], [1], [0], [1]]
    assert nodes == (((0, "b"), (0, "a")),)
    assert canonical_paths("paths", [True, False, True])[0].tolist() == [[0], [1], [0]]
    assert canonical_paths("paths", np.array([2.0, 5.0]))[0].tolist() == [[0], [1]]
    assert canonical_paths("new_paths", ["c", "a", "c"], nodes)[0].tolist() == [[2], [1], [2]]


@pytest.mark.parametrize(
    ("labels", "kind", "message"),
    [
        (["a", None], ValueError, "paths must have no missing labels; 1 of 2 are missing"),
        ([0.0, np.nan], ValueError, "1 of 2 are missing"),
        (pd.array([1, None], dtype="Int64"), ValueError, "1 of 2 are missing"),
        (np.ma.masked_array([1, 2], [False, True]), ValueError, "1 of 2 are missing"),
        ([0.5, 1.0], TypeError, "paths must be whole numbers or strings; got 0.5 of type float"),
        ([[0, 1], [0]], TypeError, r"got \[0, 1\] of type list"),
        ("abc", ValueError, r"paths must have shape \(n,\) or \(n, depth\), with at least one item; got shape \(\)"),
        ([], ValueError, "at least one item"),
        (np.zeros((2, 2, 2), dtype=int), ValueError, r"got shape \(2, 2, 2\)"),
        (pt.lvector("groups"), TypeError, "paths must be an array of labels, which are known; got groups"),
    ],
)
def test_wrong_labels_of_groups(labels, kind, message):
    with pytest.raises(kind, match=message):
        canonical_paths("paths", labels)


@pytest.mark.parametrize("labels", [["a", "b"], [["a", "b", "c"]]])
def test_further_labels_have_as_many_levels(labels):
    _, nodes = canonical_paths("paths", [["a", "b"]])
    with pytest.raises(ValueError, match=r"new_paths must have shape \(n, 2\)"):
        canonical_paths("new_paths", labels, nodes)
