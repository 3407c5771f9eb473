"""Priors learned from data: their law, what leaves them unchanged, and what they refuse."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy import sparse, stats

import pymc_nrm as nrm

FAMILIES = {
    nrm.NormalWishart: np.random.default_rng(1).normal(size=(12, 3))
    @ [[2.0, 1.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 0.2]],
    nrm.NormalGamma: np.random.default_rng(2).normal(size=(12, 3)),
    nrm.BernoulliBeta: np.random.default_rng(3).integers(0, 2, size=(12, 3)),
    nrm.PoissonGamma: np.random.default_rng(4).poisson(3.0, size=(12, 3)),
    nrm.CategoricalDirichlet: np.random.default_rng(5).integers(0, 3, size=(12, 3)),
    nrm.MultinomialDirichlet: np.random.default_rng(6).poisson(3.0, size=(12, 3)),
}
LABELS = np.array([0, 0, 1, 1, 0, 2, 2, 1, 0, 1, 2, 0])


def model_of(family_class, X):
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=len(X))
        nrm.Mixture("x", z, family_class.learned("x", X), observed=X)
    return model


def log_density_at(model, seed):
    """Log-probability at a fixed partition, and at hyperparameters that depend on the seed alone."""
    point = dict(model.initial_point())
    rng = np.random.default_rng(seed)
    for name in point:
        point[name] = LABELS if name == "z" else rng.normal(0.5, 0.5, size=np.shape(point[name]))
    return model.compile_logp(mode="FAST_COMPILE")(point)


@pytest.mark.parametrize("family_class", FAMILIES, ids=lambda family: family.__name__)
def test_hyperparameters_are_in_their_supports(family_class):
    X = FAMILIES[family_class]
    with pm.Model() as model:
        family = family_class.learned("x", X)
        nrm.Mixture("x", nrm.Partition("z", nrm.DirichletProcess(1.0), n=12), family, observed=X)
    assert np.isfinite(log_density_at(model, 1))
    assert all(variable.name.startswith("x_") for variable in model.free_RVs if variable.name != "z")


@pytest.mark.parametrize(
    ("family_class", "change", "log_volume"),
    [
        (nrm.NormalWishart, lambda X: X * [1000.0, 1.0, 0.01] + [5.0, -3.0, 1e4], np.log(10.0)),
        (nrm.NormalGamma, lambda X: X * [1000.0, 1.0, 0.01] + [5.0, -3.0, 1e4], np.log(10.0)),
        (nrm.NormalGamma, lambda X: -X, 0.0),
        (nrm.BernoulliBeta, lambda X: X, 0.0),
    ],
)
def test_other_units_change_nothing(family_class, change, log_volume):
    X = FAMILIES[family_class].astype("float64")
    before, after = (log_density_at(model_of(family_class, values), 2) for values in (X, change(X)))
    np.testing.assert_allclose(after + len(X) * log_volume, before, rtol=1e-7)


@pytest.mark.parametrize(
    ("family_class", "change"),
    [(nrm.BernoulliBeta, lambda X: 1 - X), (nrm.CategoricalDirichlet, lambda X: (X + 1) % 3)],
)
def test_other_names_of_levels_change_nothing(family_class, change):
    X = FAMILIES[family_class]
    before, after = (log_density_at(model_of(family_class, values), 3) for values in (X, change(X)))
    np.testing.assert_allclose(after, before, rtol=1e-10)


def test_shape_of_normal_wishart_is_wishart():
    """The law of W is invariant under rotations, and so is the prior under linear maps of the data."""
    X = FAMILIES[nrm.NormalWishart]
    d = X.shape[1]
    with pm.Model() as model:
        nrm.NormalWishart.learned("x", X)
    pivots, below = model["x_squared_pivot"], model["x_below_pivot"]
    rng = np.random.default_rng(7)
    for _ in range(3):
        squares, lower = rng.chisquare(3, size=d), rng.normal(size=d * (d - 1) // 2)
        factor = np.diag(np.sqrt(squares))
        factor[np.tril_indices(d, -1)] = lower
        value = pm.logp(pivots, squares).eval().sum() + pm.logp(below, lower).eval().sum()
        # |dW / dT| is 2^d prod T_ii^(d - i), and dT_ii / dT_ii^2 is 1 / (2 T_ii); i counts from 0.
        log_jacobian = np.sum((d - np.arange(d) - 1) * np.log(squares) / 2)
        expected = stats.wishart.logpdf(factor @ factor.T, df=d + 2, scale=np.eye(d))
        np.testing.assert_allclose(value - log_jacobian, expected, rtol=1e-7)


def test_normal_wishart_expects_the_stated_covariance():
    X = FAMILIES[nrm.NormalWishart]
    with pm.Model() as model:
        family = nrm.NormalWishart.learned("x", X)
        values = [model["x_share"], model["x_excess"], model["x_squared_pivot"], model["x_below_pivot"]]
        share, excess, squares, below, Psi, nu = pm.draw([*values, family.Psi, family.nu], random_seed=1)
    factor = np.diag(np.sqrt(squares))
    factor[np.tril_indices(3, -1)] = below
    root = np.linalg.cholesky(np.cov(X, rowvar=False)) @ factor
    np.testing.assert_allclose(Psi / (nu - 4.0), share * root @ root.T / 5.0)
    np.testing.assert_allclose(nu, 4.0 + excess)


def test_columns_of_a_table_name_the_features():
    X = pd.DataFrame(FAMILIES[nrm.NormalGamma], columns=["length", "width", "height"])
    with pm.Model() as model:
        nrm.NormalGamma.learned("x", X)
    assert model.named_vars_to_dims["x_share"] == ("x_feature",)
    assert list(model.coords["x_feature"]) == ["length", "width", "height"]


def test_missing_values_are_left_out():
    X = FAMILIES[nrm.BernoulliBeta].astype("float64")
    X[:6, 0] = np.nan
    with pm.Model():
        alpha, beta = pm.draw(list(nrm.BernoulliBeta.learned("x", X)), random_seed=1)
    np.testing.assert_allclose((alpha / (alpha + beta))[0], (X[6:, 0].sum() + 0.5) / 7.0)


def test_forms_of_documents():
    X = FAMILIES[nrm.MultinomialDirichlet]
    with pm.Model():
        dense = nrm.MultinomialDirichlet.learned("x", X)
        rows = nrm.MultinomialDirichlet.learned("y", sparse.csr_matrix(X))
        shared = nrm.MultinomialDirichlet.learned("w", pm.Data("counts", X))
        a, b, c = (pm.draw(family.alpha, random_seed=1) for family in (dense, rows, shared))
    np.testing.assert_allclose(a / a.sum(), b / b.sum())
    np.testing.assert_allclose(a / a.sum(), c / c.sum())


@pytest.mark.parametrize("family_class", FAMILIES, ids=lambda family: family.__name__)
def test_a_model_is_needed(family_class):
    with pytest.raises(TypeError, match="model"):
        family_class.learned("x", FAMILIES[family_class])


@pytest.mark.parametrize(
    ("family_class", "name", "X", "words"),
    [
        (nrm.NormalGamma, 3, np.ones((4, 2)), "name must be a string"),
        (nrm.NormalGamma, "x", np.ones((1, 2)), "X must have at least two items"),
        (nrm.NormalGamma, "x", np.ones((4, 2)), "X must have columns that vary"),
        (nrm.NormalWishart, "x", np.ones((2, 2)), "X must have more items than features"),
        (nrm.BernoulliBeta, "x", [[0, 2], [1, 1]], "X: data of BernoulliBeta"),
        (nrm.PoissonGamma, "x", [[0.5, 2], [1, 1]], "X: data of PoissonGamma"),
        (nrm.CategoricalDirichlet, "x", [["a"], ["b"]], "X"),
        (nrm.MultinomialDirichlet, "x", [[-1, 2], [1, 1]], "X: data of MultinomialDirichlet"),
    ],
)
def test_what_cannot_be_learned_from(family_class, name, X, words):
    with pm.Model(), pytest.raises((TypeError, ValueError), match=words):
        family_class.learned(name, X)
