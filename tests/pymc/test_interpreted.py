"""Graphs that NumPy evaluates node by node have the values of compiled ones, and are compiled where that pays."""

import pickle

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.executor import Function
from pytensor.graph.traversal import ancestors

from pymc_nrm.models.interpreted import Interpreted, function_of

x, y, M, k = pt.dscalar("x"), pt.dvector("y"), pt.dmatrix("M"), pt.lscalar("k")
VALUES = {x: 0.7, y: np.array([0.2, 1.5, 3.0]), M: np.array([[1.0, 2.0, 0.5], [0.3, 0.1, 4.0]]), k: 2}
GRAPHS = {
    "numbers": [pt.exp(x), pt.log(x) * 2.0 + x**3, pt.sqrt(x) / (1.0 + x), -pt.log1p(x), pt.expm1(x), pt.sqr(x) - x],
    "arrays": [pt.exp(y)[:, None] * pt.sqr(y), M * y + x + 1.0, M.sum(axis=0), pt.concatenate([y, y[:1]]), M.T, M[1]],
    "whole numbers": [k + 1, y * k, pt.eq(k, 2), y.astype("int64") // 2, y.shape[0]],
    "special functions": [pt.gammaln(y), pt.sigmoid(y), pt.switch(y > 1.0, y, x), pt.dot(M, y), pt.maximum(y, x)],
    "arguments and constants": [x, pt.constant([1.0, 2.0]), y, pt.exp(x)],
}


@pytest.mark.parametrize("name", GRAPHS)
def test_values_are_those_of_a_compiled_function(name):
    graphs = GRAPHS[name]
    inputs = [variable for variable in VALUES if variable in set(ancestors(graphs))]
    arguments = [np.asarray(VALUES[variable]) for variable in inputs]
    function = function_of(inputs, graphs)
    assert isinstance(function, Interpreted)
    expected = pytensor.function(inputs, graphs)(*arguments)
    for again in (function, pickle.loads(pickle.dumps(function))):
        for value, other, graph in zip(again(*arguments), expected, graphs, strict=True):
            assert value.dtype == graph.dtype and value.shape == other.shape
            np.testing.assert_allclose(value, other, rtol=4e-16)


def test_lengths_that_differ_are_an_error_as_in_compiled_functions():
    function = function_of([y, z := pt.dvector("z")], [y * z])
    assert function(np.ones(3), np.ones(3))[0].shape == (3,)
    for lengths in ((3, 2), (3, 1)):
        with pytest.raises(ValueError, match="[Bb]roadcast|shape"):
            function(*map(np.ones, lengths))


def test_shared_variables_have_their_present_values():
    shared = pytensor.shared(np.array([1.0, 2.0]))
    function = function_of([x], [x * shared, shared])
    first = function(3.0)[1]
    first[:] = 9.0
    np.testing.assert_array_equal(function(3.0)[0], [3.0, 6.0])
    shared.set_value(np.array([5.0, 6.0, 7.0]))
    np.testing.assert_array_equal(function(2.0)[0], [10.0, 12.0, 14.0])


def test_results_are_not_the_arguments():
    function, argument = function_of([y], [y, y[None], pt.exp(y)]), np.ones(3)
    for value in function(argument):
        value[:] = 7.0
    np.testing.assert_array_equal(argument, 1.0)


def test_large_arrays_and_many_nodes_are_compiled():
    function = function_of([y], [pt.exp(y)])
    function(np.ones(10_000))
    assert isinstance(function._compiled, Function)
    np.testing.assert_allclose(function(np.zeros(2))[0], 1.0)
    many = y
    for i in range(60):
        many = pt.tanh(many) * pt.gammaln(many + i)
    start = pt.constant(0.0, dtype="float64")
    looped = pytensor.scan(lambda a, b: a + b, y, outputs_info=[start], return_updates=False)
    for graph in (many, looped, pt.random.normal(y)):
        assert isinstance(function_of([y], [graph]), Function)
    assert isinstance(function_of([x], [pt.exp(x)], {"mode": "NUMBA"}), Function)
