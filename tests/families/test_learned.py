"""Priors learned from data: their law, what leaves them unchanged, and what they refuse."""

import warnings

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy import sparse, stats

import pymc_nrm as nrm
from tests.cases import PrincipalNormalWishart, SphericalPrincipalNormalWishart
from tests.helpers import refused
from tests.tools.wings import rows_of_wings

RNG = np.random.default_rng(1)
REAL = RNG.normal(size=(12, 3)) @ [[2.0, 1.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 0.2]]
COUNTS, BITS, LEVELS = RNG.poisson(3.0, (12, 3)), RNG.integers(0, 2, (12, 3)), RNG.integers(0, 3, (12, 3))
POSITIVE = np.column_stack([np.exp(REAL[:, :2]), REAL[:, 2]])
# Families of wings, with two levels, and what makes their partitions.
TREES = rows_of_wings("LEARNED_FAMILIES")
FAMILIES = {
    nrm.NormalWishart: REAL,
    nrm.NormalGamma: REAL,
    nrm.BernoulliBeta: BITS,
    nrm.PoissonGamma: COUNTS,
    nrm.CategoricalDirichlet: LEVELS,
    nrm.MultinomialDirichlet: COUNTS,
    PrincipalNormalWishart: REAL,
    nrm.LogNormalWishart: POSITIVE,
    nrm.HurdleLogNormal: POSITIVE * [1, 1, 0] + np.where(COUNTS > 3, 0.5 * COUNTS, 0.0) * [0, 0, 1],
    nrm.HurdlePoisson: COUNTS,
    nrm.LogNormalGamma: POSITIVE,
    SphericalPrincipalNormalWishart: REAL,
} | dict.fromkeys(TREES, REAL)
LOGS = (nrm.LogNormalWishart, nrm.LogNormalGamma)
PRINCIPAL = (PrincipalNormalWishart, SphericalPrincipalNormalWishart)
PATHS = np.array([[0, 0], [0, 0], [1, 1], [1, 2], [0, 3], [0, 0], [2, 4], [1, 1], [0, 3], [1, 2], [2, 4], [0, 5]])
LABELS = np.array([0, 0, 1, 1, 0, 2, 2, 1, 0, 1, 2, 0])


def learned(family_class, name, X):
    """With two levels of a tree, or two leading directions."""
    return family_class.learned(
        name, X, *([2] if family_class in (*TREES, *PRINCIPAL) else [[1, 1, 0]] if family_class in LOGS else [])
    )


def log_density(family_class, X, seed):
    """Log-probability at a fixed partition, and at hyperparameters that depend on the seed alone."""
    with pm.Model() as model:
        if family_class in TREES:
            z = TREES[family_class]("z", nrm.DirichletProcess(1.0), n=X.shape[0])
        else:
            z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=X.shape[0])
        nrm.Mixture("x", z, learned(family_class, "x", X), observed=X)
    assert all(variable.name.startswith("x_") for variable in model.free_RVs if variable is not z)
    point, rng = dict(model.initial_point()), np.random.default_rng(seed)
    for name in point:
        value = PATHS if family_class in TREES else LABELS
        point[name] = value if name == "z" else rng.normal(0.5, 0.5, size=np.shape(point[name]))
    return model.compile_logp(mode="FAST_COMPILE")(point)


def in_other_units(X):
    return X * [1000.0, 1.0, 0.01] + [5.0, -3.0, 1e4]


CHANGES = [
    *((cls, in_other_units, np.log(10.0)) for cls in (nrm.NormalWishart, nrm.NormalGamma, *TREES)),
    *((cls, in_other_units, np.log(10.0)) for cls in PRINCIPAL),
    *((cls, lambda X: X * [1000.0, 2.0, 5.0], np.log(10_000.0)) for cls in LOGS),
    (nrm.HurdlePoisson, lambda X: X.astype("float64"), 0.0),
    (nrm.NormalGamma, lambda X: -X, 0.0),
    (nrm.BernoulliBeta, lambda X: 1 - X, 0.0),
    (nrm.CategoricalDirichlet, lambda X: (X + 1) % 3, 0.0),
    (nrm.PoissonGamma, lambda X: X.astype("float64"), 0.0),
    (nrm.MultinomialDirichlet, sparse.csr_matrix, 0.0),
]


@pytest.mark.quick("NormalWishart-in_other_units-2.302585092994046")
@pytest.mark.parametrize(("family_class", "change", "log_volume"), CHANGES)
def test_other_units_and_names_change_nothing(family_class, change, log_volume):
    X = FAMILIES[family_class]
    before, after = (log_density(family_class, values, 2) for values in (X, change(X)))
    assert np.isfinite(before)
    np.testing.assert_allclose(after + len(X) * log_volume, before, rtol=1e-7)


@pytest.mark.parametrize("family_class", [nrm.HurdlePoisson, nrm.HurdleLogNormal])
def test_zeros_have_the_hyperprior_of_binary_columns(family_class):
    with pm.Model() as model:
        family_class.learned("x", FAMILIES[family_class])
        nrm.BernoulliBeta.learned("y", BITS)
    nodes = [model[name].owner for name in ("x_zero_concentration", "y_concentration")]
    priors = [node.op.dist_params(node) for node in nodes]
    values = [[parameter.eval() for parameter in prior] for prior in priors]
    np.testing.assert_array_equal(*values)


def test_shape_of_normal_wishart_is_wishart():
    """The law of W is invariant under rotations, and so is the prior under linear maps of the data."""
    d = REAL.shape[1]
    with pm.Model() as model:
        nrm.NormalWishart.learned("x", REAL)
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
    with pm.Model() as model:
        family = nrm.NormalWishart.learned("x", REAL)
        values = [model["x_share"], model["x_excess"], model["x_squared_pivot"], model["x_below_pivot"]]
        share, excess, squares, below, Psi, nu = pm.draw([*values, family.Psi, family.nu], random_seed=1)
    factor = np.diag(np.sqrt(squares))
    factor[np.tril_indices(3, -1)] = below
    root = np.linalg.cholesky(np.cov(REAL, rowvar=False)) @ factor
    np.testing.assert_allclose(Psi / (nu - 4.0), share * root @ root.T / 5.0)
    np.testing.assert_allclose(nu, 4.0 + excess)


def test_names_and_coordinates():
    X = pd.DataFrame(REAL, columns=["length", "width", "height"])
    with pm.Model() as model:
        nrm.NormalGamma.learned("x", X)
        nrm.PoissonGamma.learned("y", pd.DataFrame(COUNTS, columns=X.columns))
    assert model.named_vars_to_dims["x_share"] == ("x_feature",)
    assert list(model.coords["x_feature"]) == list(model.coords["y_feature"]) == ["length", "width", "height"]


def test_missing_values_are_left_out():
    X = BITS.astype("float64")
    X[:6, 0] = np.nan
    with pm.Model():
        alpha, beta = pm.draw(list(nrm.BernoulliBeta.learned("x", X)), random_seed=1)
    np.testing.assert_allclose((alpha / (alpha + beta))[0], (X[6:, 0].sum() + 0.5) / 7.0)


# Three complete rows, for three columns of which one is the sum of the others.
WITH_GAPS = np.random.default_rng(0).normal(size=(16, 3))[4:] @ [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
SLOW = np.random.default_rng(2).normal(size=(200, 3))
SLOW[3:100, 0] = SLOW[100:, 1] = np.nan
SLOW[:3, 2] = SLOW[:3, 0] + SLOW[:3, 1]
WITH_GAPS[3:8, 0] = WITH_GAPS[8:, 1] = np.nan


def test_moments_with_few_complete_rows():
    with pytest.raises(ValueError, match=r"not linear combinations of others; got such columns \[.\]\."):
        nrm.NormalWishart.from_data(WITH_GAPS)
    with pytest.warns(UserWarning, match=r"missing values has not converged in 200 steps"):
        nrm.NormalWishart.from_data(SLOW)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nrm.NormalWishart.from_data(np.where(np.arange(36).reshape(12, 3) % 17 == 4, np.nan, REAL))


def test_forms_of_documents():
    with pm.Model():
        forms = {"x": COUNTS, "y": sparse.csr_matrix(COUNTS), "w": pm.Data("counts", COUNTS)}
        families = [nrm.MultinomialDirichlet.learned(name, X) for name, X in forms.items()]
        a, b, c = (pm.draw(family.alpha, random_seed=1) for family in families)
    np.testing.assert_allclose(a / a.sum(), b / b.sum())
    np.testing.assert_allclose(a / a.sum(), c / c.sum())


@pytest.mark.parametrize("family_class", FAMILIES, ids=lambda family: family.__name__)
def test_a_model_is_needed(family_class):
    with pytest.raises(TypeError, match="model"):
        learned(family_class, "x", FAMILIES[family_class])


STILL = np.column_stack([REAL[:, 0], np.ones(12)])


test_what_cannot_be_learned_from = refused(
    learned,
    (nrm.NormalGamma, 3, np.ones((4, 2)), "name must be a string"),
    (nrm.NormalGamma, "x", np.ones((1, 2)), "X must have at least two items"),
    (nrm.NormalGamma, "x", np.ones((4, 2)), "X must have columns that vary"),
    (nrm.NormalWishart, "x", np.ones((2, 2)), "X must have more items than features"),
    (nrm.BernoulliBeta, "x", [[0, 2], [1, 1]], "X: data of BernoulliBeta"),
    (nrm.PoissonGamma, "x", [[0.5, 2], [1, 1]], "X: data of PoissonGamma"),
    (nrm.BernoulliBeta, "x", [["a"], ["b"]], "X"),
    (nrm.MultinomialDirichlet, "x", [[-1, 2], [1, 1]], "X: data of MultinomialDirichlet"),
    *((cls, "x", STILL, r"columns \[1\] are constant") for cls in TREES),
    *((cls, "x", np.where(REAL > 1.0, np.nan, REAL), "no NaN") for cls in TREES),
    error=(TypeError, ValueError),
    within=pm.Model,
)


test_numbers_of_directions_that_leave_no_noise = refused(
    lambda family_class, X, k: family_class.learned("x", X, k),
    *((cls, REAL, k, f"n_directions .* between 1 and 2; got {k}") for cls in PRINCIPAL for k in (0, 3)),
    (SphericalPrincipalNormalWishart, REAL[:4].T, 2, "of 3 items with 4 features .* between 1 and 1; got 2"),
    (SphericalPrincipalNormalWishart, REAL[:2], 1, "at least three items and two features; got n = 2, d = 3"),
    within=pm.Model,
)
