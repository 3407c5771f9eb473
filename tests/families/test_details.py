"""What single families promise beyond the common properties, affinities of components, and operations of PyTensor."""

import itertools
import math

import numpy as np
import pytensor
import pytensor.sparse as ps
import pytensor.tensor as pt
import pytest
from scipy import sparse, special, stats
from scipy.integrate import quad

import pymc_nrm as nrm
from pymc_nrm.families import base
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.conjugate import draw_dirichlet, log_affinities, log_marginal
from pymc_nrm.families.fast import log_predictive_without
from pymc_nrm.families.shared.scatter import ProductsWithRows, log_determinants, random_covariance, symbolic_covariance

interpreted = pytensor.compile.mode.Mode(linker="py", optimizer="fast_run")


def marginal_of_all(family, X):
    n, d = X.shape
    full = broadcast_hyperparameters(base.complete(family, X), n, d)
    data = base.prepare_data(full, X)
    full = base.localise(full, data)
    statistics = np.zeros(base.statistics_size(full))
    for item in range(n):
        base.add_item(full, statistics, data, item, 1.0)
    return log_marginal(full, statistics)


def test_normal_gamma_gradients_skip_missing_values():
    X = pt.dmatrix("X")
    family = broadcast_hyperparameters(nrm.NormalGamma(0.0, 0.1, 2.0, 1.0), 3, 2)
    gradient = pt.grad(base.log_likelihood(family, X, pt.as_tensor([0, 0, 1])), X)
    values = pytensor.function([X], gradient, mode=interpreted)([[1.0, np.nan], [2.0, np.nan], [np.nan, 3.0]])
    assert np.isfinite(values).all()
    assert (values[[0, 1, 2], [1, 1, 0]] == 0).all()
    assert (values[[0, 1, 2], [0, 0, 1]] != 0).all()


def test_normal_gamma_from_data_follows_the_units():
    X = np.random.default_rng(2).normal(size=(30, 2))
    X[3, 0] = np.nan
    family, scaled = nrm.NormalGamma.from_data(X), nrm.NormalGamma.from_data(10 * X + 5)
    np.testing.assert_allclose(scaled.mu, 10 * family.mu + 5)
    np.testing.assert_allclose(scaled.beta, 100 * family.beta)
    for wrong in ([[1.0], [1.0]], [[1.0], [np.nan]]):
        with pytest.raises(ValueError, match="^X must have (columns that vary|at least two values)"):
            nrm.NormalGamma.from_data(wrong)


def test_a_tiny_kappa_is_not_lost_beside_the_last_item():
    """Without its only item, a cluster is empty: the predictive density is the one of the prior."""
    family = nrm.NormalGamma(*([value] for value in (0.2, 1e-13, 2.0, 1.0)))
    family, X = broadcast_hyperparameters(family, 1, 1), np.array([[0.7]])
    data = base.prepare_data(family, X)
    family = base.localise(family, data)
    statistics, empty = (np.zeros(base.statistics_size(family)) for _ in range(2))
    base.add_item(family, statistics, data, 0, 1.0)
    caches = np.zeros((2, base.cache_size(family)))
    for row, cache in zip((statistics, empty), caches, strict=True):
        base.refresh_cache(family, row, cache)
    value = log_predictive_without(family, statistics, caches[0], data, 0)
    assert value == pytest.approx(base.log_predictive(family, caches[1], data, 0), abs=1e-9)


def test_n_levels_come_from_the_data():
    X = np.array([[0, 3, np.nan], [1, np.nan, 0]])
    family = base.complete(nrm.CategoricalDirichlet(0.5), X)
    np.testing.assert_array_equal(family.n_levels, [2, 4, 1])
    full = broadcast_hyperparameters(family, 2, 3)
    np.testing.assert_array_equal(full.alpha, 0.5 * np.array([[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]]))


def test_n_levels_of_a_matrix_are_its_width():
    family = base.complete(nrm.CategoricalDirichlet(np.ones((2, 3))), np.zeros((4, 2)))
    assert family.n_levels is None
    np.testing.assert_array_equal(broadcast_hyperparameters(family, 4, 2).n_levels, [3, 3])
    with pytest.raises(ValueError, match="must be levels below n_levels; got 3"):
        base.prepare_data(family, [[3, 0]])


def test_levels_of_weight_zero_are_impossible():
    family = nrm.CategoricalDirichlet(np.array([[1.0, 0.0]]))
    X = np.array([[0], [1]])
    assert marginal_of_all(family, X) == -np.inf
    full = broadcast_hyperparameters(nrm.CategoricalDirichlet(pt.as_tensor(family.alpha)), 2, 1)
    assert base.log_likelihood(full, pt.as_tensor(X), pt.as_tensor([0, 0])).eval(mode=interpreted) == -np.inf


HURDLES = {"ones": 1.0, "zeros": 2.0, "alpha": 1.5, "beta": 0.5}
# A family, two columns of data, and values outside its support.
OUTSIDE = {
    "BernoulliBeta": (nrm.BernoulliBeta(0.7, 1.2), [0, 1, 1, 0], [-1.0, 0.5, 2.0, np.inf]),
    "CategoricalDirichlet": (nrm.CategoricalDirichlet(0.8, [3, 5]), [0, 2, 1, 0], [-1.0, 0.5, 3.0, 7.0, 1e6, np.inf]),
    "PoissonGamma": (nrm.PoissonGamma(1.2, 0.4), [0, 2, 1, 7], [-1.0, 0.5, np.inf]),
    "MultinomialDirichlet": (nrm.MultinomialDirichlet(0.8), [1, 2, 1, 7], [-1.0, 0.5, np.inf, np.nan]),
    "HurdlePoisson": (nrm.HurdlePoisson(**HURDLES), [0, 2, 1, 7], [-1.0, 0.5, 1.5, np.inf, -np.inf]),
    "HurdleLogNormal": (nrm.HurdleLogNormal(mu=0.0, kappa=0.1, **HURDLES), [0, 2, 1.5, 7], [-1e-9, -1.0, np.inf]),
    "LogNormalGamma": (nrm.LogNormalGamma([1, 0], 0.0, 0.1, 1.5, 0.5), [0.3, 2, 1.5, 7], [0.0, -1.0, np.inf]),
    "LogNormalWishart": (nrm.LogNormalWishart([1, 0], 0.0, 0.1, np.eye(2), 4.0), [0.3, 2, 1.5, 7], [0.0, -1.0, np.inf]),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_densities_outside_the_support_are_zero(name):
    family, column, outside = OUTSIDE[name]
    X, labels = np.column_stack([column, column]).astype("float64"), [0, 1, 0, 1]
    full = broadcast_hyperparameters(base.canonical(base.complete(family, X)), 4, 2)
    x, fields = pt.dmatrix("x"), [pt.as_tensor(field).type(name) for name, field in full._asdict().items()]
    value = base.log_likelihood(type(full)(*fields), x, pt.as_tensor(labels))
    gradient = pytensor.grad(value, fields, disconnected_inputs="ignore")
    mode = pytensor.compile.mode.Mode(linker="py", optimizer="minimum_compile")
    function = pytensor.function([x, *fields], [value, *gradient], mode=mode, on_unused_input="ignore")
    assert np.isfinite(function(X, *full)[0])
    for number in outside:
        changed = X.copy()
        changed[2, 0] = number
        total, *derivatives = function(changed, *full)
        assert total == -np.inf
        assert all(np.isfinite(derivative).all() for derivative in derivatives)


def test_sparse_formats_equal_dense_counts():
    dense = np.random.default_rng(3).poisson(0.5, size=(6, 5))
    entries = sparse.coo_array(dense)
    row, column = entries.coords
    # Store every entry twice, in an order that no format keeps.
    order = np.random.default_rng(4).permutation(2 * len(row))
    doubled = sparse.coo_array(
        (np.tile(entries.data, 2)[order], (np.tile(row, 2)[order], np.tile(column, 2)[order])), shape=dense.shape
    )
    family = nrm.MultinomialDirichlet(0.5)
    expected = base.prepare_data(family, 2 * dense)
    for X in (doubled, doubled.tocsr(), doubled.tocsc(), sparse.csr_matrix(2 * dense)):
        for field, other in zip(expected, base.prepare_data(family, X), strict=True):
            np.testing.assert_allclose(field, other, rtol=1e-14)


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_log_likelihood_of_a_sparse_variable_equals_the_dense_one(format):
    counts = np.random.default_rng(5).poisson(0.7, size=(6, 5)).astype("float64")
    labels = pt.as_tensor([0, 1, 0, 2, 1, 0])
    family = broadcast_hyperparameters(nrm.MultinomialDirichlet(pt.as_tensor(0.3), 0), 6, 5)
    X = ps.matrix(format, name="X", dtype="float64")
    function = pytensor.function([X], base.log_likelihood(family, X, labels), mode=interpreted)
    expected = base.log_likelihood(family, pt.as_tensor(counts), labels).eval(mode=interpreted)
    assert function(getattr(sparse, f"{format}_matrix")(counts)) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("family", [nrm.PoissonGamma(), nrm.MultinomialDirichlet()])
def test_sums_over_many_large_counts_are_exact(family):
    """Log factorials are added in any order without rounding, and sums beyond 1e12 are refused."""
    X = np.random.default_rng(1).integers(4e8, 1e9, (600, 2)).astype("float64")
    data = base.prepare_data(family, X)
    terms = data[-1]
    assert np.cumsum(terms)[-1] == np.cumsum(terms[::-1])[-1] == math.fsum(terms)
    factorials = special.gammaln(X + 1).sum(axis=1)
    expected = factorials if isinstance(family, nrm.PoissonGamma) else special.gammaln(X.sum(axis=1) + 1) - factorials
    np.testing.assert_allclose(terms, expected, rtol=1e-13, atol=0.01)
    with pytest.raises(ValueError, match=f"data of {type(family).__name__} must have a sum of at most 1e\\+12, .* got"):
        base.prepare_data(family, np.tile(X, (4, 1)))


def test_totals_come_from_the_data():
    X = np.array([[2, 0, 3], [0, 0, 1]])
    for data in (X, sparse.csr_array(X)):
        np.testing.assert_array_equal(base.complete(nrm.MultinomialDirichlet(), data).total, [5, 1])
    np.testing.assert_array_equal(base.complete(nrm.MultinomialDirichlet(1.0, 7), X).total, 7)
    with pytest.raises(ValueError, match="MultinomialDirichlet needs total; got None"):
        broadcast_hyperparameters(nrm.MultinomialDirichlet(1.0), 2, 3)


def test_n_levels_of_a_family_of_tensors_are_read():
    family = broadcast_hyperparameters(nrm.CategoricalDirichlet(pt.dscalar("alpha"), [2, 3]), 4, 2)
    np.testing.assert_array_equal(base.prepare_data(family, [[1, 2]]).values, [[1, 2]])
    with pytest.raises(ValueError, match="got 2.0 of feature 0, which has 2 levels"):
        base.prepare_data(family, [[2, 2]])


def test_dirichlet_draws_of_tiny_concentration_are_corners():
    rng = np.random.default_rng(8)
    probabilities = np.zeros(4)
    corners = []
    for _ in range(200):
        draw_dirichlet(rng, np.array([1e-4, 1e-4, 0.0, 1e-4]), probabilities)
        assert probabilities.sum() == pytest.approx(1.0)
        assert probabilities[2] == 0.0
        corners.append(probabilities.argmax())
    assert set(corners) == {0, 1, 3}


WISHART = nrm.NormalWishart(mu=np.zeros(2), kappa=1.0, Psi=np.eye(2), nu=5.0)


def covariances(rng, n, d):
    factors = rng.normal(size=(n, d, d))
    return factors @ factors.transpose(0, 2, 1) + 0.3 * np.eye(d)


def test_gaussian_affinities_are_integrals():
    rng = np.random.default_rng(1)
    mean, covariance = rng.normal(size=(3, 2)), covariances(rng, 3, 2)
    log_affinity = log_affinities(WISHART, {"mean": mean, "covariance": covariance})
    grid = np.linspace(-14, 14, 1401)
    points = np.stack(np.meshgrid(grid, grid), axis=-1)
    roots = [np.exp(0.5 * stats.multivariate_normal(*p).logpdf(points)) for p in zip(mean, covariance, strict=True)]
    for a, b in itertools.product(range(3), repeat=2):
        integral = (roots[a] * roots[b]).sum() * (grid[1] - grid[0]) ** 2
        assert np.exp(log_affinity[a, b]) == pytest.approx(integral, rel=1e-6)


def test_gaussian_affinities_of_independent_features_are_integrals():
    family = nrm.NormalGamma(mu=np.zeros(2), kappa=1.0, alpha=2.0, beta=1.0)
    mean, variance = np.array([[0.0, 2.0], [1.5, -1.0]]), np.array([[1.0, 4.0], [0.3, 2.0]])
    log_affinity = log_affinities(family, {"mean": mean, "variance": variance})
    product = 1.0
    for j in range(2):
        f, g = (stats.norm(mean[k, j], np.sqrt(variance[k, j])).pdf for k in range(2))
        product *= quad(lambda x, f=f, g=g: np.sqrt(f(x) * g(x)), -20, 20, points=[0, 2])[0]
    assert np.exp(log_affinity[0, 1]) == pytest.approx(product, rel=1e-7)
    full = {"mean": mean, "covariance": np.stack([np.diag(v) for v in variance])}
    np.testing.assert_allclose(log_affinity, log_affinities(WISHART, full), atol=1e-12)


def test_affinities_of_counts_and_levels_are_sums():
    rates, k = np.array([[2.0, 0.5], [7.0, 0.1]]), np.arange(80)
    log_affinity = log_affinities(nrm.PoissonGamma(1.0, 1.0), {"rate": rates})
    sums = [np.sqrt(stats.poisson(rates[0, j]).pmf(k) * stats.poisson(rates[1, j]).pmf(k)).sum() for j in range(2)]
    assert np.exp(log_affinity[0, 1]) == pytest.approx(np.prod(sums), rel=1e-9)
    p = np.array([[0.2, 0.9], [0.7, 0.0]])
    two = np.stack([p, 1 - p], axis=2)
    expected = np.prod(np.sqrt(two[0] * two[1]).sum(axis=1))
    for family, probability in ((nrm.BernoulliBeta(1.0, 1.0), p), (nrm.CategoricalDirichlet(np.ones(2)), two)):
        log_affinity = log_affinities(family, {"probability": probability})
        assert np.exp(log_affinity[0, 1]) == pytest.approx(expected)
        np.testing.assert_array_equal(np.diag(log_affinity), 0.0)
    disjoint = log_affinities(nrm.BernoulliBeta(1.0, 1.0), {"probability": np.array([[0.0], [1.0]])})
    assert np.exp(disjoint).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_components_that_are_singular_in_doubles():
    """Components that have shrunk to items with equal values overlap with nothing but each other."""
    flat = np.diag([1.0, 1e-40, 1.0])
    flat[0, 2] = flat[2, 0] = 1.0
    covariance = np.array([flat, flat, np.zeros((3, 3)), np.eye(3)])
    mean = np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [4.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    log_affinity = log_affinities(WISHART, {"mean": mean, "covariance": covariance})
    assert np.isfinite(log_affinity).all()
    assert log_affinity[0, 1] == pytest.approx(0.0, abs=1e-9)
    others = log_affinity[[0, 0, 2], [2, 3, 3]]
    assert (others < -15.0).all(), others


LABELS = np.array([1, 0, 1, 2, 1, 0])
CLUSTERS = [np.flatnonzero(cluster) for cluster in np.arange(3)[:, None] == LABELS]


def dense_log_determinants(Psi, rows):
    return pt.stack([pt.linalg.slogdet(Psi + rows[items].T @ rows[items])[1] for items in CLUSTERS])


def case(name, rng):
    """An operation, the same by products of matrices, and values of its inputs."""
    if name == "log_determinants":
        root = rng.normal(size=(3, 4))
        operation = lambda Psi, rows: log_determinants(Psi, rows, pt.constant(LABELS), pt.constant(3))  # noqa: E731
        return operation, dense_log_determinants, [root @ root.T, rng.normal(size=(6, 3))]
    d = int(name[-1])
    scale = pt.constant(np.linalg.cholesky(np.cov(rng.normal(size=(d, 9))).reshape(d, d)))
    functions = [lambda *inputs, of=of: of(scale, *inputs) for of in (random_covariance, symbolic_covariance)]
    return *functions, [rng.chisquare(4.0, size=d), rng.normal(size=d * (d - 1) // 2)]


# How often the output is derived, and by how many inputs; the rest of the cotangents are disconnected.
@pytest.mark.quick("log_determinants-1-2")
@pytest.mark.parametrize(("order", "n_inputs"), [(1, 2), (2, 2), (2, 1)])
@pytest.mark.parametrize("name", ["log_determinants", "covariance 1", "covariance 2", "covariance 4"])
def test_derivatives(name, order, n_inputs, rng):
    *functions, values = case(name, rng)
    results = []
    for function in functions:
        inputs = [pt.tensor(shape=value.shape, dtype="float64") for value in values]
        output = function(*inputs)
        # The cotangent depends on the inputs, too.
        found = [output, *pt.grad((output**2 * np.linspace(-1.0, 2.0, 3 if output.ndim == 1 else 1)).sum(), inputs)]
        if order == 2:
            # Only symmetric matrices are allowed, along which derivatives agree.
            first = [(g + g.T if g.ndim == 2 and g.type.shape[0] == g.type.shape[1] else g) for g in found[1:]]
            total = sum((g**2).sum() for g in first[:n_inputs])
            found = pt.grad(total, inputs, disconnected_inputs="ignore")
        options = {"mode": "FAST_COMPILE", "on_unused_input": "ignore"}
        results.append(pytensor.function(inputs, found, **options)(*values))
    for found, expected in zip(*results, strict=True):
        found, expected = ((a + a.T if a.shape == (3, 3) else a) for a in (found, expected))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["log_determinants", "covariance 4"])
def test_compiled(name, rng):
    operation, dense, values = case(name, rng)
    inputs = [pt.tensor(shape=value.shape, dtype="float64") for value in values]
    found, expected = (
        pytensor.function(inputs, [f(*inputs), *pt.grad(f(*inputs).sum(), inputs)], mode=mode)(*values)
        for f, mode in ((operation, "NUMBA"), (dense, "FAST_COMPILE"))
    )
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.quick("FAST_COMPILE")
@pytest.mark.parametrize("mode", ["FAST_COMPILE", "NUMBA"])
def test_products_with_rows(mode, rng):
    rows, matrices, weights = rng.normal(size=(6, 3)), rng.normal(size=(3, 3, 3)), rng.normal(size=(6, 3))
    M, x = pt.tensor3("M"), pt.matrix("x")
    product = ProductsWithRows()(M, x, pt.constant(LABELS))
    gradient = pt.grad((product * weights).sum(), [M, x])
    found = pytensor.function([M, x], [product, *gradient], mode=mode)(matrices, rows)
    expected = [
        np.einsum("rij,rj->ri", matrices[LABELS], rows),
        np.array([weights[items].T @ rows[items] for items in CLUSTERS]),
        np.einsum("rij,ri->rj", matrices[LABELS], weights),
    ]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
