"""Models of networks and tables in one call: what is guessed, said and refused, and where there is nothing to find."""

import logging

import numpy as np
import pandas as pd
import pytest
import scipy
from scipy.stats import binom

import pymc_nrm as nrm
from pymc_nrm.networks.recipes.degrees import uneven_degrees

NAMES = ["Ann", "Bob", "Cem", "Dan", "Eve", "Fay"]


def random_network(rng, probabilities, labels, directed=False):
    """Ties that are 0 or 1, with probabilities (K, K) between clusters."""
    n = len(labels)
    A = (rng.random((n, n)) < np.asarray(probabilities)[np.ix_(labels, labels)]).astype(float)
    np.fill_diagonal(A, 0.0)
    return A if directed else np.triu(A, 1) + np.triu(A, 1).T


def small(values=(0, 1)):
    rng = np.random.default_rng(1)
    A = rng.choice(values, (6, 6)).astype(float)
    return np.triu(A, 1) + np.triu(A, 1).T


def changed(A, value):
    A[0, 1] = A[1, 0] = value
    return A


@pytest.mark.parametrize(
    ("A", "family", "text"),
    [
        (small(), "BernoulliBeta", "Ties are 'binary', BernoulliBeta: all values are 0 or 1"),
        (small((0, 1, 5)), "PoissonGamma", "Ties are 'count', PoissonGamma: values are whole numbers from 0 to 5"),
        (small((-1.5, 0.2, 0.7, 2.2)), "NormalGamma", "Ties are 'numeric', NormalGamma: values are real numbers"),
        (small((0, 0, 1.5, 2.5)), "HurdleLogNormal", "Ties are 'zero or positive', HurdleLogNormal: values are 0"),
        (scipy.sparse.csr_array(small()), "BernoulliBeta", "Ties are 'binary'"),
    ],
)
def test_kinds_of_ties(A, family, text, caplog):
    with caplog.at_level(logging.INFO, logger="pymc"):
        model = nrm.networks.network_model(A)
    assert text in caplog.text
    assert type(nrm.networks.block_data(model, "ties").family).__name__ == family
    assert not nrm.networks.block_data(model, "ties").directed
    assert [rv.name for rv in model.observed_RVs] == ["ties"]


def test_names_are_put_in_order():
    A = pd.DataFrame(small(), NAMES, NAMES)
    model = nrm.networks.network_model(A[NAMES[::-1]])
    assert model.coords["node"] == tuple(NAMES)
    np.testing.assert_array_equal(nrm.networks.block_data(model, "ties").dense()[0, 1:], A.to_numpy()[0, 1:])
    table = pd.DataFrame({"age": [20.0, 30, 40, 50, 60, 75], "sex": list("fmmmff")}, NAMES)
    with_data = nrm.networks.network_model(A, table.iloc[::-1], kinds={"sex": "categorical"})
    assert [rv.name for rv in with_data.observed_RVs] == ["ties", "numeric", "categorical"]
    np.testing.assert_array_equal(with_data.rvs_to_values[with_data["numeric"]].eval().ravel(), table["age"])


def numbered(order):
    return pd.DataFrame(small(), order, order)


BY_NUMBER = "put into the order of the nodes by the numbers in their index"


@pytest.mark.parametrize(
    ("A", "index", "order", "text"),
    [
        # Names agree: the order of the nodes.
        (numbered(range(6)), range(6), range(6), None),
        (numbered([5, 0, 1, 2, 3, 4]), [4, 5, 0, 1, 2, 3], [1, 2, 3, 4, 5, 0], None),
        (numbered([5, 0, 1, 2, 3, 4]), range(6), [5, 0, 1, 2, 3, 4], BY_NUMBER),
        (numbered(range(6)), [2, 1, 0, 5, 3, 4], [2, 1, 0, 4, 5, 3], BY_NUMBER),
        (numbered(range(6)), range(5, -1, -1), range(5, -1, -1), BY_NUMBER),
        (small(), range(5, -1, -1), range(5, -1, -1), BY_NUMBER),
        (small(), range(6), range(6), None),
        # Only one of the two has names: the order of the rows.
        (pd.DataFrame(small(), NAMES, NAMES), range(6), range(6), "nodes, since their index has no names"),
        (numbered(range(10, 16)), range(6), range(6), "nodes, since their index has no names"),
        (small(), NAMES, range(6), "nodes, since A has no names"),
        (scipy.sparse.csr_array(small()), range(1, 7), range(6), "nodes, since A has no names"),
    ],
)
def test_rows_of_attributes_belong_to_their_nodes(A, index, order, text, caplog):
    table = pd.DataFrame({"age": [20.0, 30, 40, 50, 60, 75]}, index)
    with caplog.at_level(logging.INFO, logger="pymc"):
        model = nrm.networks.network_model(A, table)
    ages = model.rvs_to_values[model["numeric"]].eval().ravel()
    np.testing.assert_array_equal(ages, table["age"].to_numpy()[list(order)])
    said = caplog.text.replace("\n", " ")
    assert text in said if text else "Rows of attributes" not in said


def test_graphs_of_networkx():
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph([("a", "b"), ("b", "a")])
    model = nrm.networks.network_model(graph)
    assert model.coords["node"] == ("a", "b") and nrm.networks.block_data(model, "ties").directed
    numbers = networkx.Graph([(5, 0), (0, 1), (2, 3), (3, 4), (4, 5)])
    with_data = nrm.networks.network_model(numbers, pd.DataFrame({"age": [20.0, 30, 40, 50, 60, 75]}))
    assert with_data.coords["node"] == (5, 0, 1, 2, 3, 4)
    assert with_data.rvs_to_values[with_data["numeric"]].eval().ravel().tolist() == [75.0, 20, 30, 40, 50, 60]


def test_degree_correction(caplog):
    rng = np.random.default_rng(3)
    n, labels = 60, np.arange(60) // 30
    theta = rng.gamma(0.5, 2.0, n)
    rates = np.outer(theta, theta) * np.array([[0.3, 0.05], [0.05, 0.3]])[np.ix_(labels, labels)]
    A = np.triu(rng.poisson(rates), 1)
    with caplog.at_level(logging.INFO, logger="pymc"):
        nrm.networks.network_model(A + A.T)
    assert "Degrees vary a lot: within groups their variance is" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="pymc"):
        model = nrm.networks.network_model(A + A.T, degree_corrected=True)
    assert "Degrees vary" not in caplog.text
    assert nrm.networks.block_data(model, "ties").degree_corrected is not None
    with pytest.raises(ValueError, match="degree_corrected must be False for ties that are 'numeric'"):
        nrm.networks.network_model(small((0.5, 1.5, -1.0)), degree_corrected=True)


@pytest.mark.parametrize("directed", [False, True])
def test_even_degrees_are_not_called_uneven(directed):
    """Of 20 networks each, without groups and with two of different densities."""
    rng = np.random.default_rng(4)
    for probabilities in ([[0.2]], [[0.4, 0.1], [0.1, 0.2]]):
        for n in (20, 60):
            labels = np.arange(n) % len(probabilities)
            found = [uneven_degrees(random_network(rng, probabilities, labels, directed)) for _ in range(10)]
            assert sum(ratio is not None for ratio in found) <= 1


def test_two_way_model(caplog):
    X = pd.DataFrame([[1, 1, 0], [1, 1, 0], [0, 0, np.nan]], NAMES[:3], ["tea", "walk", "chess"])
    with caplog.at_level(logging.INFO, logger="pymc"):
        model = nrm.networks.two_way_model(X, column_measure=nrm.DirichletProcess(2.0))
    assert "Entries are 'binary', BernoulliBeta: all values are 0 or 1" in caplog.text
    assert [rv.name for rv in model.free_RVs] == ["alpha_rows", "rows", "columns", "x_concentration"]
    assert model.coords["column"] == ("tea", "walk", "chess")


@pytest.mark.parametrize(
    ("A", "options", "message"),
    [
        (np.ones((3, 2)), {}, r"A must have a row and a column for each node; got shape \(3, 2\)"),
        (np.ones(3), {}, r"A must be a matrix, shape \(n, m\); got shape \(3,\)"),
        (pd.DataFrame(small(), NAMES, [*NAMES[:5], "Zoe"]), {}, "A must have the same names .* got 'Fay'"),
        (
            pd.DataFrame(np.eye(3), list("aab"), list("aab")),
            {},
            "A must have different names in its index; got 'a' more than once",
        ),
        (pd.DataFrame(np.eye(3), list("abc"), list("abb")), {}, "A must have different names in its columns; got 'b'"),
        (pd.DataFrame(index=NAMES), {}, r"A must be a matrix, shape \(n, m\); got shape \(6, 0\)"),
        (changed(small(), -2.0), {"kind": "count"}, "A of kind 'count' must be whole .* got -2.0 in row 0, column 1"),
        (-small((1, 2)), {"kind": "count"}, "A of kind 'count' must be whole numbers from 0 to 1e[+]09"),
        (changed(small(), 0.5), {"kind": "binary"}, "A of kind 'binary' must be 0 or 1, .* got 0.5 in row 0, column 1"),
        (
            changed(small(), 2.0),
            {"kind": "binary", "degree_corrected": True},
            "A of kind 'binary' must be 0 or 1, or NaN",
        ),
        (changed(small(), -1.0), {"kind": "zero or positive"}, "must be 0 or positive, .* got -1.0 in row 0, column 1"),
        (
            pd.DataFrame(changed(small(), 0.5), NAMES, NAMES)[NAMES[::-1]],
            {"kind": "count"},
            "got 0.5 in row 'Ann', column 'Bob'",
        ),
        (scipy.sparse.coo_array(changed(small(), 0.5)), {"kind": "count"}, "got 0.5 in row 0, column 1"),
        (np.full((4, 4), 2.5), {}, "A of kind 'numeric' must have different values, .* got 2.5 alone"),
        (small((0, 2.5)), {}, "A of kind 'zero or positive' must have different positive values, .* got 2.5 alone"),
        ([[0, 1], [np.nan, 0]], {}, "A must have at least two observed values; got one"),
        (small((-1e200, 1e200)), {}, "A: X must have variances from"),
        (np.triu(small((1, 2)), 1), {"directed": False}, r"A must be symmetric, .* entry \[0, 1\] is"),
        (changed(small(), np.nan), {"degree_corrected": True}, "A must have no NaN with .* got nan in row 0, column 1"),
        (np.full((3, 3), np.nan), {}, "A must have at least one observed pair"),
        (np.full((3, 3), np.inf), {}, "A must be finite, or NaN .* got inf in row 0, column 1"),
        (small(), {"kind": "ties"}, "kind must be one of 'binary', 'count', 'zero or positive', 'numeric'; got 'ties'"),
        (small(), {"attributes": pd.DataFrame({"x": [1.0, 2.0]})}, "attributes must have a row for each of 6 nodes"),
        (
            pd.DataFrame(small(), NAMES, NAMES),
            {"attributes": pd.DataFrame({"x": np.arange(6.0)}, [*NAMES[:5], "Zoe"])},
            "attributes must have each node once in its index; got none for 'Fay'",
        ),
        (
            pd.DataFrame(small(), range(6), range(6)),
            {"attributes": pd.DataFrame({"x": np.arange(6.0)}, [0, 1, 2, 3, 4, 4])},
            "attributes must have each node once in its index; got none for 5",
        ),
    ],
)
def test_wrong_networks(A, options, message):
    with pytest.raises(ValueError, match=message):
        nrm.networks.network_model(A, **options)


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (
            [[0, 1, 0], [0, -1, 0]],
            {"kind": "binary"},
            "X of kind 'binary' must be 0 or 1, .* got -1.0 in row 1, column 1",
        ),
        (np.full((2, 3), np.nan), {}, "X must have at least one observed pair"),
        (np.ones((1, 3)), {}, r"X must have at least two rows and two columns; got shape \(1, 3\)"),
        (
            pd.DataFrame(np.eye(3), columns=list("aab")),
            {},
            "X must have different names in its columns; got 'a' more than",
        ),
    ],
)
def test_wrong_tables(X, options, message):
    with pytest.raises(ValueError, match=message):
        nrm.networks.two_way_model(X, **options)


def n_blocks(model, seed):
    """Number of blocks that a description names, of at least two nodes and 2 % of the nodes."""
    idata = nrm.sample(model=model, draws=500, tune=300, chains=2, cores=1, random_seed=seed, quiet=True)
    description = nrm.describe(idata, model)
    sizes = description.table["cluster"]["size"].to_numpy()
    return int((sizes >= max(2, 0.02 * sizes.sum())).sum())


@pytest.mark.slow
@pytest.mark.parametrize(("n", "density"), [(20, 0.2), (50, 0.05), (100, 0.5)])
def test_noise_is_one_block(n, density):
    """Of ten networks without blocks, at most as many are cut as a share of 0.1 makes likely."""
    rng = np.random.default_rng(5)
    networks = [random_network(rng, [[density]], np.zeros(n, dtype=int)) for _ in range(10)]
    found = [n_blocks(nrm.networks.network_model(A), seed) for seed, A in enumerate(networks)]
    assert sum(k > 1 for k in found) <= binom.ppf(0.99, 10, 0.1)


@pytest.mark.slow
def test_planted_blocks_are_found():
    rng, labels = np.random.default_rng(6), np.arange(60) % 3
    probabilities = 0.05 + 0.4 * np.eye(3)
    for seed in range(3):
        model = nrm.networks.network_model(random_network(rng, probabilities, labels))
        idata = nrm.sample(model=model, draws=500, tune=300, chains=2, cores=1, random_seed=seed, quiet=True)
        estimate = nrm.point_estimate(idata, random_seed=1, progressbar=False)
        assert nrm.stats.adjusted_rand(estimate["labels"].values, labels) > 0.8
