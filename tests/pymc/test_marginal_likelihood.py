"""The kernel of the log-likelihood of observed data and its gradient, against the symbolic log-likelihood."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.traversal import ancestors

import pymc_nrm as nrm
from pymc_nrm.families.base import localise, log_likelihood, prepare_data, statistics_size
from pymc_nrm.families.definitions.principal_normal_wishart import principal_directions
from pymc_nrm.models.marginal_likelihood import (
    MarginalLikelihood,
    has_marginal_likelihood,
    likelihood_and_gradient,
    marginal_likelihood,
)
from tests.cases import PrincipalNormalWishart, SphericalPrincipalNormalWishart
from tests.helpers import mixture_of
from tests.tools.wings import rows_of_wings

LABELS = np.array([0, 0, 1, 1, 0, 2, 2, 1, 0, 1, 2, 0])
OTHER_LABELS = np.array([0, 1, 0, 1, 2, 3, 2, 1, 0, 3, 2, 0])
_rng = np.random.default_rng(1)
_missing = _rng.normal(size=(12, 3))
_missing[:4, 1] = np.nan
_answers = _rng.integers(0, 2, size=(12, 3)).astype("float64")
_answers[5:, 2] = np.nan
_root = _rng.normal(size=(3, 3))
_covariates = np.column_stack([np.ones(12), _rng.normal(size=(12, 2))])
_response = _covariates @ [1.0, 2.0, -1.0] + _rng.normal(size=12)
_response[4] = np.nan
_axes = principal_directions(_rng.normal(size=(12, 3)) @ _rng.normal(size=(3, 3)) * [1.0, 10.0, 100.0])[:3]
CASES = {
    "NormalWishart": (nrm.NormalWishart([0.3, -1.0, 100.0], 0.3, _root @ _root.T, 3.7), _rng.normal(size=(12, 3))),
    "far away": (nrm.NormalWishart([0.0, 0.0], 0.3, np.eye(2), 3.7), _rng.normal(size=(12, 2)) + 1e6),
    "one feature": (nrm.NormalWishart([0.0], 0.3, np.eye(1), 0.7), _rng.normal(size=(12, 1))),
    "NormalGamma": (nrm.NormalGamma([0.3, -1.0, 100.0], [0.1, 1.0, 9.0], [1.0, 2.0, 30.0], [0.2, 1.0, 5.0]), _missing),
    "BernoulliBeta": (nrm.BernoulliBeta([0.2, 1.0, 200.0], [3.0, 0.1, 1.0]), _answers),
    "PoissonGamma": (nrm.PoissonGamma([0.2, 1.0, 200.0], [3.0, 0.1, 1.0]), _rng.poisson(3.0, size=(12, 3))),
    "NormalRegression": (
        nrm.NormalRegression(_covariates, [0.5, 0.0, 1.0], np.diag([0.3, 0.5, 0.8]) + 0.1, 2.5, 0.9),
        _response[:, None],
    ),
    "PrincipalNormalWishart": (
        PrincipalNormalWishart(*_axes, [0.3, -0.2], 0.5, [[2.0, 0.5], [0.5, 1.0]], 5.0, [0.7]),
        _rng.normal(size=(12, 3)) * [1.0, 10.0, 100.0],
    ),
}
CASES["SphericalPrincipalNormalWishart"] = (
    SphericalPrincipalNormalWishart(*_axes[:2], _axes[2][:, :1], [0.3], 0.5, [[2.0]], 5.0, [0.7]),
    CASES["PrincipalNormalWishart"][1],
)
CASES["LogNormalWishart"] = (
    nrm.LogNormalWishart([0.0, 1.0, 0.0], [0.3, -1.0, 100.0], 0.3, _root @ _root.T, 3.7),
    _rng.lognormal(size=(12, 3)),
)
CASES["LogNormalGamma"] = (
    nrm.LogNormalGamma([1.0, 1.0, 0.0], [0.3, -1.0, 100.0], [0.1, 1.0, 9.0], [1.0, 2.0, 30.0], [0.2, 1.0, 5.0]),
    np.exp(_missing),
)
_zeros = np.where(_rng.random((12, 3)) < 0.4, 0.0, 1.0)
CASES["HurdleLogNormal"] = (
    nrm.HurdleLogNormal(
        np.full(3, 0.6), [0.5, 0.8, 3.0], [0.3, -1.0, 1.0], [0.1, 1.0, 9.0], [1.0, 2.0, 30.0], np.ones(3)
    ),
    np.exp(_missing) * _zeros,
)
CASES["HurdlePoisson"] = (
    nrm.HurdlePoisson(0.6 * np.ones(3), [0.5, 0.8, 3.0], [0.2, 1.0, 200.0], [3.0, 0.1, 1.0]),
    _rng.poisson(3.0, size=(12, 3)) * _zeros,
)
# Numbers of fields at the front that are constants.
CONSTANT = {
    "NormalRegression": 1,
    "PrincipalNormalWishart": 3,
    "SphericalPrincipalNormalWishart": 3,
}
CONSTANT |= {"LogNormalWishart": 1, "LogNormalGamma": 1}
for _name, (_family, _X, CONSTANT[_name]) in rows_of_wings("MARGINALS").items():
    CASES[_name] = _family, _X


def as_tensors(family, n_constant=0):
    """The family of tensors, and its inputs."""
    fields = [pt.as_tensor(np.asarray(value, dtype="float64")) for value in family]
    inputs = [field.type() for field in fields[n_constant:]]
    return type(family)(*fields[:n_constant], *inputs), inputs


# PyTensor's machine code differs by the shapes and the data of a family only.
@pytest.mark.quick(
    *("NormalWishart-FAST_COMPILE", "far away-FAST_COMPILE", "PoissonGamma-FAST_COMPILE"),
    *("NormalRegression-FAST_COMPILE", "PrincipalNormalWishart-FAST_COMPILE", "HurdleLogNormal-FAST_COMPILE"),
)
@pytest.mark.parametrize(
    ("case", "mode"),
    [
        *[(case, "FAST_COMPILE") for case in CASES],
        *[(case, "NUMBA") for case in ("NormalWishart", "PoissonGamma", "NormalRegression")],
    ],
)
def test_value_and_gradient(case, mode):
    values, X = CASES[case]
    (family, inputs), labels = as_tensors(values, CONSTANT.get(case, 0)), pt.lvector()
    X = np.asarray(X, dtype="float64")
    given = [np.asarray(value, dtype="float64") for value in values[len(values) - len(inputs) :]]
    others, results = [1.1 * value for value in given], []
    # Derivatives of the symbolic likelihood lose digits there, more or fewer with the order of sums.
    tolerance = 1e-4 if case == "far away" else 1e-8
    symbolic = log_likelihood(family, pt.constant(X), labels)
    for graph, how in ((marginal_likelihood(family, X, labels), mode), (symbolic, "FAST_COMPILE")):
        function = pytensor.function([*inputs, labels], [graph, *pt.grad(graph, inputs)], mode=how)
        # Some calls see the hyperparameters of the last one again, the labels, or both.
        calls = [(given, LABELS), (given, LABELS), (others, LABELS), (others, OTHER_LABELS), (given, LABELS)]
        results.append([function(*fields, at) for fields, at in calls])
    for own, expected in zip(*results, strict=True):
        for name, value, right in zip(["value", *values._fields[-len(inputs) :]], own, expected, strict=True):
            if name in ("Psi", "Lambda"):
                # The gradients of a symmetric matrix may share the weight of an entry and its mirror image otherwise.
                value, right = value + value.T, right + right.T
            np.testing.assert_allclose(value, right, rtol=tolerance, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("family", [nrm.NormalGamma, nrm.BernoulliBeta, nrm.PoissonGamma, nrm.CategoricalDirichlet])
@pytest.mark.parametrize("shape", [(12,), (12, 2)])
def test_models_use_the_kernel(family, shape):
    X = np.resize([0, 1, 1], shape)
    model = mixture_of(lambda: family.learned("x", X), X)
    ops = [variable.owner.op for variable in ancestors([model.logp()]) if variable.owner]
    assert any(isinstance(op, MarginalLikelihood) for op in ops)


@pytest.mark.parametrize(
    "case", [*(pytest.param(case, marks=pytest.mark.slow) for case in ("NormalGamma", "BernoulliBeta")), "shared"]
)
def test_second_derivatives(case):
    """Shared hyperparameters depend on each other: the rate is the square of the shape."""
    values, X = CASES["NormalGamma" if case == "shared" else case]
    X, labels, (family, inputs) = np.asarray(X, dtype="float64"), pt.constant(LABELS), as_tensors(values)
    given = [np.asarray(value, dtype="float64") for value in values]
    if case == "shared":
        inputs, given = [pt.dvector()], [np.array([1.7, 0.4, 3.0])]
        family = nrm.NormalGamma(pt.zeros(3), pt.ones(3), inputs[0], inputs[0] ** 2)
    results = []
    for graph in (marginal_likelihood(family, X, labels), log_likelihood(family, pt.constant(X), labels)):
        slope = sum((derivative * np.arange(1.0, 4.0)).sum() for derivative in pt.grad(graph, inputs))
        results.append(pytensor.function(inputs, pt.grad(slope, inputs), mode="FAST_COMPILE")(*given))
    for own, expected in zip(*results, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.slow
def test_second_derivatives_of_levels_with_gaps():
    X, scale = np.array([[0.0, 1.0], [1.0, np.nan], [2.0, 0.0], [0.0, 0.0]]), pt.dscalar()
    family = nrm.CategoricalDirichlet(scale * pt.ones((2, 3)), pt.constant(np.array([3, 3])))
    labels = pt.constant([0, 0, 1, 1])
    graphs = marginal_likelihood(family, X, labels), log_likelihood(family, pt.constant(X), labels)
    seconds = [pt.grad(pt.grad(graph, scale), scale) for graph in graphs]
    own, expected = pytensor.function([scale], seconds, mode="FAST_COMPILE")(1.3)
    assert own == pytest.approx(expected, rel=1e-10)


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
    size = own.owner.inputs[-2].get_value().shape[1]
    assert size == statistics_size(nrm.CategoricalDirichlet(given, np.array([2, 5, 2])))


def key_of_machine_code(model):
    """PyTensor's key of the machine code of a log-probability and its gradient, which are not compiled."""
    from pytensor.link.numba.dispatch.basic import numba_funcify_ensure_cache

    values = [value for value in model.value_vars if value.dtype == "float64"]
    graph = model.logp()
    function = pytensor.function(model.value_vars, [graph, *pt.grad(graph, values)], mode="NUMBA")
    return numba_funcify_ensure_cache(function.maker.fgraph)[1]


@pytest.mark.parametrize("case", ["normal", "gaps", "counts"])
def test_other_data_have_the_same_machine_code(case):
    """Otherwise each data set compiles its graph for seconds; keys cover constants, such as data and their center."""
    keys = []
    for n in (12, 15):
        X, options = _rng.normal(size=(n, 2)), {}
        if case == "gaps":
            X[:2, 1] = np.nan
        if case == "counts":
            options = {"counts": _rng.integers(1, 4, size=n)}
        with pm.Model() as model:
            family = nrm.NormalGamma([0.0, 1.0], 0.1, 2.0, pm.LogNormal("rate", shape=2))
            z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=n)
            nrm.Mixture("x", z, family, observed=X, **options)
        keys.append(key_of_machine_code(model))
    assert keys[0] is not None
    assert keys[0] == keys[1]


def test_lengths_that_only_a_graph_knows():
    family = nrm.CategoricalDirichlet(pt.dmatrix(), pt.constant(np.array([2, 5])))
    assert not has_marginal_likelihood(family)


def test_more_clusters_than_are_remembered():
    values, X = CASES["NormalGamma"]
    data = prepare_data(values, X)
    family = localise(nrm.NormalGamma(*[np.asarray(value, dtype="float64") for value in values]), data)
    size = statistics_size(family)
    found = []
    for n_rows in (12, 2):
        remembered, rows, last = np.full(12, -1), np.zeros((n_rows, size)), np.zeros((2, 13))
        given, gradient = np.concatenate(family), np.empty(12)
        for labels in (np.zeros(12, dtype="int64"), OTHER_LABELS, np.zeros(12, dtype="int64"), OTHER_LABELS):
            value = likelihood_and_gradient(family, data, labels, remembered, rows, last, given, gradient)
            found.append((value, gradient.copy()))
    for (a, slope_a), (b, slope_b) in zip(found[:4], found[4:], strict=True):
        assert a == b
        np.testing.assert_array_equal(slope_a, slope_b)
