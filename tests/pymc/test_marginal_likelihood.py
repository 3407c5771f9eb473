"""The kernel of the log-likelihood of observed data and its gradient, against the symbolic log-likelihood."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import pymc_nrm as nrm
from pymc_nrm.families.base import localise, log_likelihood, prepare_data, statistics_size
from pymc_nrm.models.marginal_likelihood import has_marginal_likelihood, likelihood_and_gradient, marginal_likelihood

LABELS = np.array([0, 0, 1, 1, 0, 2, 2, 1, 0, 1, 2, 0])
OTHER_LABELS = np.array([0, 1, 0, 1, 2, 3, 2, 1, 0, 3, 2, 0])
_rng = np.random.default_rng(1)
_missing = _rng.normal(size=(12, 3))
_missing[:4, 1] = np.nan
_answers = _rng.integers(0, 2, size=(12, 3)).astype("float64")
_answers[5:, 2] = np.nan
_root = _rng.normal(size=(3, 3))
CASES = {
    "NormalWishart": (nrm.NormalWishart([0.3, -1.0, 100.0], 0.3, _root @ _root.T, 3.7), _rng.normal(size=(12, 3))),
    "far away": (nrm.NormalWishart([0.0, 0.0], 0.3, np.eye(2), 3.7), _rng.normal(size=(12, 2)) + 1e6),
    "one feature": (nrm.NormalWishart([0.0], 0.3, np.eye(1), 0.7), _rng.normal(size=(12, 1))),
    "NormalGamma": (nrm.NormalGamma([0.3, -1.0, 100.0], [0.1, 1.0, 9.0], [1.0, 2.0, 30.0], [0.2, 1.0, 5.0]), _missing),
    "BernoulliBeta": (nrm.BernoulliBeta([0.2, 1.0, 200.0], [3.0, 0.1, 1.0]), _answers),
    "PoissonGamma": (nrm.PoissonGamma([0.2, 1.0, 200.0], [3.0, 0.1, 1.0]), _rng.poisson(3.0, size=(12, 3))),
}


def as_tensors(family):
    return type(family)(*[pt.as_tensor(np.asarray(value, dtype="float64")).type() for value in family])


# PyTensor's machine code differs by the shapes and the data of a family only.
@pytest.mark.quick(
    "NormalWishart-FAST_COMPILE",
    "far away-FAST_COMPILE",
    "one feature-FAST_COMPILE",
    "NormalGamma-FAST_COMPILE",
    "BernoulliBeta-FAST_COMPILE",
    "PoissonGamma-FAST_COMPILE",
)
@pytest.mark.parametrize(
    ("case", "mode"),
    [*[(case, "FAST_COMPILE") for case in CASES], ("NormalWishart", "NUMBA"), ("PoissonGamma", "NUMBA")],
)
def test_value_and_gradient(case, mode):
    values, X = CASES[case]
    family, labels = as_tensors(values), pt.lvector()
    X = np.asarray(X, dtype="float64")
    given = [np.asarray(value, dtype="float64") for value in values]
    results = []
    # Derivatives of the symbolic likelihood lose digits there, more or fewer with the order of sums.
    tolerance = 1e-4 if case == "far away" else 1e-8
    symbolic = log_likelihood(family, pt.constant(X), labels)
    for graph, how in ((marginal_likelihood(family, X, labels), mode), (symbolic, "FAST_COMPILE")):
        outputs = [graph, *pt.grad(graph, list(family))]
        function = pytensor.function([*family, labels], outputs, mode=how)
        # A third call sees the labels of the first again.
        results.append([function(*given, at) for at in (LABELS, LABELS, OTHER_LABELS, LABELS)])
    for own, expected in zip(*results, strict=True):
        for name, value, right in zip(["value", *type(values)._fields], own, expected, strict=True):
            if name == "Psi":
                # The gradients of a symmetric matrix may share the weight of an entry and its mirror image otherwise.
                value, right = value + value.T, right + right.T
            np.testing.assert_allclose(value, right, rtol=tolerance, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("case", ["NormalGamma", pytest.param("BernoulliBeta", marks=pytest.mark.slow)])
def test_second_derivatives(case):
    values, X = CASES[case]
    family, X = as_tensors(values), np.asarray(X, dtype="float64")
    given = [np.asarray(value, dtype="float64") for value in values]
    results = []
    for graph in (
        marginal_likelihood(family, X, pt.constant(LABELS)),
        log_likelihood(family, pt.constant(X), pt.constant(LABELS)),
    ):
        slope = sum((derivative * np.arange(1.0, 4.0)).sum() for derivative in pt.grad(graph, list(family)))
        results.append(pytensor.function(list(family), pt.grad(slope, list(family)), mode="FAST_COMPILE")(*given))
    for own, expected in zip(*results, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.quick("FAST_COMPILE")
@pytest.mark.parametrize("mode", ["FAST_COMPILE", "NUMBA"])
def test_levels_that_features_do_not_have(mode):
    # Rates of levels may change, their numbers are constant; there are more levels than features.
    alpha, labels = pt.tensor(shape=(3, 5), dtype="float64"), pt.lvector()
    family = nrm.CategoricalDirichlet(alpha, pt.constant(np.array([2, 5, 2])))
    given = np.zeros((3, 5))
    given[0, :2], given[1], given[2, :2] = [0.2, 1.0], [3.0, 0.1, 40.0, 1.0, 1.0], [1.0, 1.0]
    X = _answers + [[0, 3, 0]] * (np.arange(12) % 2)[:, None]
    own = marginal_likelihood(family, X, labels)
    symbolic = log_likelihood(family, pt.constant(X), labels)
    graphs = [own, pt.grad(own, alpha), symbolic, pt.grad(symbolic, alpha)]
    function = pytensor.function([alpha, labels], graphs, mode=mode)
    for at in (LABELS, OTHER_LABELS, LABELS):
        value, gradient, expected, slope = function(given, at)
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        np.testing.assert_allclose(gradient[given > 0], slope[given > 0], rtol=1e-9)
    size = own.owner.inputs[-1].get_value().shape[1]
    assert size == statistics_size(nrm.CategoricalDirichlet(given, np.array([2, 5, 2])))


def test_lengths_that_only_a_graph_knows():
    family = nrm.CategoricalDirichlet(pt.dmatrix(), pt.constant(np.array([2, 5])))
    assert not has_marginal_likelihood(family)


def test_second_derivatives_of_hyperparameters_that_depend_on_each_other():
    X, labels, shape = pt.constant(CASES["NormalGamma"][1]), pt.constant(LABELS), pt.dscalar()
    # The rate is a function of the shape itself, not only of what both depend on.
    alpha = pt.full(3, shape)
    family = nrm.NormalGamma(pt.zeros(3), pt.ones(3), alpha, alpha**2)
    found, expected = (
        pytensor.function([shape], pt.grad(pt.grad(graph, shape), shape), mode="FAST_COMPILE")(1.7)
        for graph in (marginal_likelihood(family, X.data, labels), log_likelihood(family, X, labels))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_more_clusters_than_are_remembered():
    values, X = CASES["NormalGamma"]
    data = prepare_data(values, X)
    family = localise(nrm.NormalGamma(*[np.asarray(value, dtype="float64") for value in values]), data)
    size = statistics_size(family)
    found = []
    for n_rows in (12, 2):
        remembered, rows, gradient = np.full(12, -1), np.zeros((n_rows, size)), np.empty(12)
        for labels in (np.zeros(12, dtype="int64"), OTHER_LABELS, np.zeros(12, dtype="int64"), OTHER_LABELS):
            value = likelihood_and_gradient(family, data, labels, remembered, rows, gradient)
            found.append((value, gradient.copy()))
    for (a, slope_a), (b, slope_b) in zip(found[:4], found[4:], strict=True):
        assert a == b
        np.testing.assert_array_equal(slope_a, slope_b)
