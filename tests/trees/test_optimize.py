"""Coordinates of hyperparameters, the gradient of the bound, and its maximisation."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from scipy import sparse

import pymc_nrm as nrm
from pymc_nrm.common.supports import SUPPORTS
from pymc_nrm.stats import adjusted_rand
from pymc_nrm.trees import bayes_kmeans_bhc, bhc, log_evidence_lower_bound, optimize_hyperparameters
from pymc_nrm.trees.bound_gradient import Block, TreeBound, coordinates
from tests.helpers import refused

_rng = np.random.default_rng(4)
TRUTH = _rng.integers(3, size=60)
X = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 7.0]])[TRUTH] + _rng.normal(size=(60, 2))
GAUSS = nrm.NormalGamma(1.0, 0.1, 2.0, [1.0, 2.0])
NGG = nrm.NormalizedGeneralizedGamma(0.7, 0.3)


@pytest.mark.parametrize(
    "value, support",
    [
        ([-1.0, 0.0, 2.0], "real"),
        (3.0, "positive"),
        ([[0.5, 0.0], [1.0, 2.0]], "non-negative"),
        (0.25, "unit interval"),
        (0.0, "unit interval"),
        (5.0, "greater than d - 1"),
        ([[2.0, -0.5, 0.1], [-0.5, 1.0, 0.0], [0.1, 0.0, 4.0]], "positive definite"),
    ],
)
def test_coordinates_there_and_back(value, support, rng):
    name, support = support, SUPPORTS[support]
    c = coordinates(value, support, 3)
    np.testing.assert_allclose(c(c.start), value, atol=1e-14)
    x = c.start + rng.normal(size=len(c.start))
    vector = pt.vector("vector", dtype="float64")
    symbolic = c(x)
    if len(x):
        interpreted = Mode(linker="py", optimizer="minimum_compile")
        symbolic = pytensor.function([vector], pt.as_tensor(c(vector, pt)), mode=interpreted)(x)
    np.testing.assert_allclose(symbolic, c(x), atol=1e-12)
    again = coordinates(c(x), support, 3)
    np.testing.assert_allclose(again.start, x, atol=1e-10)
    assert np.array_equal(np.asarray(c(x)) == 0.0, np.asarray(value) == 0.0) or name in ("real", "positive definite")


def test_values_that_belong_to_the_data_do_not_vary():
    for family, length in ((nrm.CategoricalDirichlet(0.5), 1), (nrm.MultinomialDirichlet([0.5, 1.0], total=3), 2)):
        assert len(Block(family, None, 2).start) == length
    with pytest.raises(ValueError, match="n_levels"):
        Block(nrm.CategoricalDirichlet(0.5), ["n_levels"], 2)


def assert_gradient(bound, tree):
    _, gradient = bound.value_and_gradient(bound.start, tree.tree, tree.log_u)
    step = 1e-4
    for k, unit in enumerate(np.eye(len(bound.start))):
        high, low = (
            bound.value_and_gradient(bound.start + sign * step * unit, tree.tree, tree.log_u)[0] for sign in (1, -1)
        )
        assert gradient[k] == pytest.approx((high - low) / (2 * step), rel=1e-5, abs=1e-5)


@pytest.mark.quick("measure0")
@pytest.mark.parametrize(
    "measure", [NGG, nrm.PitmanYorProcess(0.4, -0.2), nrm.DirichletProcess(0.5), nrm.PitmanYorProcess(1e-7, 0.5)]
)
def test_gradient(measure):
    bound = TreeBound(X, GAUSS, measure)
    assert len(bound.start) == len(measure) + 5
    tree = bhc(X, GAUSS, measure, random_seed=1)
    assert bound.value_and_gradient(bound.start, tree.tree, tree.log_u)[0] == pytest.approx(tree.log_evidence)
    assert_gradient(bound, tree)


@pytest.mark.slow
def test_gradient_of_several_data_sets(rng):
    counts = rng.poisson(1.0, size=(7, 4))
    data = [X[:7, :1], sparse.csr_array(counts)]
    families = [nrm.NormalGamma(0.2, 0.1, 1.5, 0.8), nrm.MultinomialDirichlet(0.5, total=counts.sum(axis=1))]
    bound = TreeBound(data, families, NGG, [["kappa"], None], ["sigma"])
    assert len(bound.start) == 3
    assert_gradient(bound, bhc(data, families, NGG, random_seed=1))


@pytest.mark.slow
def test_gradient_with_matrices():
    family = nrm.NormalWishart(X.mean(axis=0), 0.1, np.array([[1.0, 0.3], [0.3, 2.0]]), 5.0)
    assert_gradient(TreeBound(X, family, NGG), bhc(X, family, NGG, random_seed=1))


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [bhc, bayes_kmeans_bhc])
def test_bound_grows(algorithm):
    start = nrm.NormalGamma(5.0, 0.05, 2.0, [3.0, 0.3])
    result = optimize_hyperparameters(X, start, NGG, algorithm=algorithm, n_rounds=3, random_seed=1)
    assert (np.diff(result.log_bounds) >= 0.0).all()
    assert result.log_bounds[-1] > result.log_bounds[0] + 5.0
    assert adjusted_rand(TRUTH, result.dendrogram.labels) > 0.9
    again = log_evidence_lower_bound(result.dendrogram, X, result.family, result.measure)
    assert again == pytest.approx(result.log_bounds[-1], abs=1e-6)
    assert np.ndim(result.family.mu) == 0 and result.family.beta.shape == (2,)


def test_what_does_not_vary_stays():
    result = optimize_hyperparameters(
        X, GAUSS, nrm.NormalizedGeneralizedGamma(1.0, 0.0), family_names=["beta"], n_rounds=1, random_seed=1
    )
    assert result.family[:3] == GAUSS[:3] and result.measure.sigma == 0.0 and result.measure.alpha != 1.0


test_bad_arguments = refused(
    lambda options: optimize_hyperparameters(**({"X": X, "family": GAUSS, "measure": NGG} | options)),
    ({"n_rounds": 0}, ValueError, "n_rounds"),
    ({"n_iterations": 1.5}, ValueError, "n_iterations"),
    ({"family_names": ["nu"]}, ValueError, "nu"),
    ({"measure_names": ["kappa"]}, ValueError, "kappa"),
    ({"measure": nrm.DirichletProcess(-1.0)}, ValueError, "alpha of DirichletProcess"),
    ({"family": "gauss"}, TypeError, "must be a family"),
)
