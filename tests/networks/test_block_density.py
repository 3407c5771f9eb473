"""The log-probability of block models, against direct formulas and quadrature."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.replace import clone_replace
from scipy import integrate, sparse
from scipy.special import gammaln

import pymc_nrm as nrm
from pymc_nrm.models.marginal_likelihood import without_marginal_likelihood
from pymc_nrm.networks import BlockModel, block_data
from pymc_nrm.testing import all_partitions
from tests.networks.block_cases import (
    FAMILIES,
    log_degree_corrected,
    log_network,
    log_table,
    matrix,
    network_model,
    symmetric,
)

MEASURE = nrm.DirichletProcess(1.3)
PARTITIONS = all_partitions(5)[::7]
DATA = [(directed, loops, gaps) for directed in (False, True) for loops in (False, True) for gaps in (0, 3)]


def log_probabilities(model, name="ties", labels=PARTITIONS):
    """Log-probability of the pairs at partitions, by the graph of NUTS and by the graph of the family."""
    found = []
    for graph in (lambda: model.compile_logp(vars=[model[name]]), lambda: symbolic(model, name)):
        logp = graph()
        found.append(np.array([float(np.sum(logp({"z": z}))) for z in labels]))
    return found


def symbolic(model, name):
    with without_marginal_likelihood():
        return model.compile_logp(vars=[model[name]])


@pytest.mark.quick("Bernoulli-False-False-3", "normal-True-True-3", "hurdle Poisson-False-True-0")
@pytest.mark.parametrize(("directed", "loops", "gaps"), DATA)
@pytest.mark.parametrize("name", FAMILIES)
def test_density_is_that_of_the_values_of_blocks(name, directed, loops, gaps):
    family, log_marginal, _ = FAMILIES[name]
    A = matrix(name, 3, directed, gaps)
    model = network_model(A, family, MEASURE, directed=directed, loops=loops)
    expected = [log_network(A, z, log_marginal, directed, loops) for z in PARTITIONS]
    for found in log_probabilities(model):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("directed", [False, True])
def test_sparse_matrices_have_the_density_of_dense_ones(directed):
    A = np.random.default_rng(4).integers(0, 3, (5, 5)) * (np.random.default_rng(5).random((5, 5)) < 0.4)
    A = (A if directed else symmetric(A)).astype("float64")
    A[0, 3] = A[3, 0] = np.nan
    found = []
    for observed in (A, sparse.csr_array(A), sparse.coo_matrix(A), with_stored_zeros(A)):
        model = network_model(observed, nrm.PoissonGamma(1.2, 0.6), MEASURE, directed=directed)
        np.testing.assert_array_equal(block_data(model, "ties").mask(), ~np.isnan(A) & ~np.eye(5, dtype=bool))
        found.append(log_probabilities(model)[0])
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-12)


def with_stored_zeros(A):
    stored = sparse.csr_matrix(np.where(A == 0, 7.0, A))
    stored.data[stored.data == 7.0] = 0.0
    return stored


def test_table_has_the_density_of_its_blocks():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(5, 3))
    X[1, 2] = np.nan
    family, log_marginal, _ = FAMILIES["normal"]
    with pm.Model() as model:
        z, w = nrm.Partition("z", MEASURE, n=5), nrm.Partition("w", MEASURE, n=3)
        BlockModel("visits", (z, w), family, observed=X)
    logp = model.compile_logp(vars=[model["visits"]])
    for rows in PARTITIONS[::3]:
        for columns in all_partitions(3):
            expected = log_table(X, rows, columns, log_marginal)
            assert float(np.sum(logp({"z": rows, "w": columns}))) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_degree_correction_has_its_closed_form(directed, loops):
    A = matrix("Poisson", 7, directed)
    model = network_model(A, nrm.PoissonGamma(1.2, 0.6), MEASURE, directed=directed, loops=loops, degree_corrected=0.8)
    expected = [log_degree_corrected(A, z, 0.8, directed, loops) for z in PARTITIONS]
    for found in log_probabilities(model):
        np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_degree_correction_is_the_integral_over_shares():
    """Two nodes in one cluster and one in another, without direction and with a loop."""
    A, labels, c, a, b = np.array([[1.0, 2, 1], [2, 0, 3], [1, 3, 0]]), [0, 0, 1], 0.8, 1.2, 0.6

    def likelihood(share):
        theta, total = np.array([2 * share, 2 * (1 - share), 1.0]), 0.0
        for block in ((0, 0), (0, 1), (1, 1)):
            exposure, count, rest = 0.0, 0.0, 0.0
            for i in range(3):
                for j in range(i, 3):
                    if (labels[i], labels[j]) == block:
                        rate = theta[i] * theta[j] * (0.5 if i == j else 1.0)
                        exposure, count = exposure + rate, count + A[i, j]
                        rest += A[i, j] * np.log(rate) - gammaln(A[i, j] + 1)
            total += rest
            total += a * np.log(b) - gammaln(a) + gammaln(a + count) - (a + count) * np.log(b + exposure)
        log_prior = gammaln(2 * c) - 2 * gammaln(c) + (c - 1) * np.log(share * (1 - share))
        return np.exp(total + log_prior)

    value, _ = integrate.quad(likelihood, 0.0, 1.0, epsabs=0, epsrel=1e-8)
    assert np.log(value) == pytest.approx(log_degree_corrected(A, labels, c, loops=True), abs=1e-6)


@pytest.mark.parametrize("corrected", [False, True])
def test_density_is_differentiable_in_hyperparameters(corrected):
    A = matrix("Poisson", 8, gaps=0 if corrected else 2)
    with pm.Model() as model:
        a, b = pm.LogNormal("a", 0, 1), pm.LogNormal("b", 0, 1)
        c = pm.LogNormal("c", 0, 1) if corrected else None
        z = nrm.Partition("z", MEASURE, n=5)
        BlockModel("ties", z, nrm.PoissonGamma(a, b), observed=A, directed=False, degree_corrected=c)
    value = model.logp(vars=[model["ties"]])
    inputs = [model.rvs_to_values[rv] for rv in model.free_RVs if rv is not z]
    function = pytensor.function([*inputs, model.rvs_to_values[z]], [value, *pt.grad(value, inputs)])
    point, labels, h = [0.3, -0.2, 0.1][: len(inputs)], np.array([0, 0, 1, 0, 2]), 1e-5
    _, *gradient = function(*point, labels)
    for k in range(len(inputs)):
        above, below = [
            function(*(x + sign * h * (i == k) for i, x in enumerate(point)), labels)[0] for sign in (1, -1)
        ]
        assert float(gradient[k]) == pytest.approx((above - below) / (2 * h), rel=1e-6)


@pytest.mark.parametrize("case", ["undirected", "directed", "table"])
def test_forward_draws_have_the_moments_of_the_prior(case):
    """Pairs of one block have the mean and the second moments of the family."""
    z, w = nrm.Partition.dist(MEASURE, n=3), nrm.Partition.dist(MEASURE, n=3)
    partition = (z, w) if case == "table" else z
    ties = BlockModel.dist(partition, nrm.PoissonGamma(3.0, 2.0), directed=case == "directed")
    labels = np.zeros(3, dtype=np.int64)
    given = clone_replace([ties], {z: pt.constant(labels), w: pt.constant(labels)}, rebuild_strict=False)[0]
    draws = pm.draw(given, draws=4000, random_seed=5)
    beyond = {z: pt.constant(labels), w: pt.constant(labels + 3)} if case == "table" else {z: pt.constant(labels - 1)}
    with pytest.raises(ValueError, match=r"^labels of a Partition must be numbered from 0"):
        pm.draw(clone_replace([ties], beyond, rebuild_strict=False), mode="FAST_COMPILE")
    assert (np.diagonal(draws, axis1=1, axis2=2) == 0).all() or case == "table"
    if case == "undirected":
        np.testing.assert_array_equal(draws, draws.transpose(0, 2, 1))
    first, second = draws[:, 0, 1].astype(float), draws[:, 1, 2].astype(float)
    # E x = a / b, E x y = a (a + 1) / b^2.
    for values, expected in ((first, 1.5), (first * second, 3.0)):
        assert abs(values.mean() - expected) < 5 * values.std() / np.sqrt(len(values))
