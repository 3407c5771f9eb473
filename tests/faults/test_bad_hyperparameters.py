"""Hyperparameters that are not allowed: each gets an error that names it, what was given and what is allowed."""

import decimal

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from helpers import refused
from pymc.logprob.utils import ParameterValueError

import pymc_nrm as nrm
from pymc_nrm.common.supports import SUPPORTS, Hyperparameter
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.steps.target import Target

X = np.array([[0.0, 0.4], [1.1, 1.9], [0.7, 0.6]])
LEVELS = np.array([[0, 1], [1, 2], [0, 0]])
NORMAL = nrm.NormalGamma(mu=0.0, kappa=1.0, alpha=2.0, beta=1.0)
WISHART = nrm.NormalWishart(mu=0.0, kappa=1.0, Psi=np.eye(2), nu=4.0)
MASKED = np.ma.array([1.0, 2.0], mask=[False, True])


def mixture(family, observed=X, **arguments):
    with pm.Model(coords={"obs": range(3), "feature": range(2), "other": range(4)}) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
        nrm.Mixture("x", z, family, observed=observed, **arguments)
    return model


MATRIX = r"Psi of NormalWishart must be a matrix of shape \(d, d\) with d = 2 features; got "
REMEDY = r"\. Write Psi \* np\.eye\(d\) for one variance, np\.diag\(Psi\) for one of each feature"


test_Psi_is_a_matrix = refused(
    lambda Psi: mixture(WISHART._replace(Psi=Psi)),
    (1.0, f"{MATRIX}1.0{REMEDY}"),
    (np.eye(1), rf"{MATRIX}shape \(1, 1\){REMEDY}"),
    ([1.0, 2.0], rf"{MATRIX}shape \(2,\){REMEDY}"),
    (np.eye(3), rf"{MATRIX}shape \(3, 3\)$"),
    (pt.dvector("Psi"), f"{MATRIX}Psi of type .*{REMEDY}"),
    ([[1.0, 0.5], [0.0, 1.0]], r"symmetric, .*; got 0\.5 at position \(0, 1\) and 0\.0 at \(1, 0\)"),
    (pt.as_tensor([[1.0, 0.5], [0.0, 1.0]]), "Psi of NormalWishart must be .*symmetric, .*; got 0.5"),
    (np.ones((2, 2)), "positive definite matrix; got one with the smallest eigenvalue"),
    ([[1.0, np.nan], [np.nan, 1.0]], r"Psi of NormalWishart must be a finite, .*; got nan at position \(0, 1\)"),
    (np.eye(2) * 5e-324, "Psi of NormalWishart .* got 5e-324 .* below the smallest normal double"),
    (np.eye(2) * 1j, "Psi of NormalWishart must be .* got complex numbers"),
    (np.ma.array(np.eye(2), mask=np.eye(2)), "Psi of NormalWishart must have no masked entries; got 2"),
    (None, "Psi of NormalWishart must be .* matrix; got None"),
)


test_kappa = refused(
    lambda value: mixture(NORMAL._replace(kappa=value)),
    ("a", "must be finite and above 0; got text such as 'a'"),
    (None, "must be finite and above 0; got None"),
    (True, "must be finite and above 0; got True"),
    (1j, "must be finite and above 0; got complex numbers"),
    (np.datetime64("2020"), "must be finite and above 0; got dates"),
    (object(), "must be finite and above 0; got <object object .*> of type object"),
    (MASKED, "must have no masked entries; got 1"),
    ([[1.0], [1.0, 2.0]], "must have rows of one length"),
    ([1.0, 2.0, 3.0], r"must be a scalar or an array of shape \(d,\) with d = 2 features; got shape \(3,\)"),
    ([], r"must be a scalar or an array of shape \(d,\) with d = 2 features; got shape \(0,\)"),
    (np.ones((2, 2)), r"must be .* with d = 2 features; got shape \(2, 2\)"),
    (xr.DataArray([1.0, 2.0, 3.0]), r"must be .* with d = 2 features; got shape \(3,\)"),
    (pm.Gamma.dist(2, 1, shape=3), "must be .* with d = 2 features; got .* of type Vector"),
    ([1.0, -2.0], r"must be finite and above 0; got -2.0 at position \(1,\)"),
    (np.inf, "must be finite and above 0; got inf"),
    (5e-324, "must be finite and above 0; got 5e-324, below the smallest normal double 2.2e-308"),
    (pt.zscalar("kappa"), "must be finite and above 0; got kappa of type"),
    match="^kappa of NormalGamma {}",
)


@pytest.mark.parametrize(
    "value",
    [xr.DataArray([1.0, 2.0]), pd.Series([1.0, 2.0]), np.ma.array([1.0, 2.0]), (1, 2), [decimal.Decimal(1), 2.0]],
)
def test_arrays_of_other_libraries_are_read_in_the_order_of_their_axes(value):
    family = broadcast_hyperparameters(NORMAL._replace(kappa=value, alpha=xr.DataArray(3.0)), 3, 2)
    np.testing.assert_array_equal(family.kappa, [1.0, 2.0])
    np.testing.assert_array_equal(family.alpha, [3.0, 3.0])


test_other_hyperparameters_of_families = refused(
    mixture,
    (nrm.CategoricalDirichlet(0), LEVELS, "alpha of Cat.* with a level above 0 for each feature; got 0.0"),
    (nrm.CategoricalDirichlet([0, 0, 0]), LEVELS, "with a level above 0 for each feature; got 0.0"),
    (nrm.CategoricalDirichlet([[1, 1, 1], [0, 0, 0]]), LEVELS, r"above 0 for each .* got 0.0 at position \(1, 0\)"),
    (nrm.CategoricalDirichlet(None), LEVELS, "alpha of CategoricalDirichlet must be .* got None"),
    (nrm.CategoricalDirichlet(np.ones((3, 3))), LEVELS, r"alpha of .* with d = 2 features; got shape \(3, 3\)"),
    (nrm.CategoricalDirichlet(1.0, "x"), LEVELS, "n_levels of .* must be a whole number .* got text such as 'x'"),
    (nrm.CategoricalDirichlet(1.0, 2.5), LEVELS, "n_levels of .* must be a whole number of at least 1; got 2.5"),
    (nrm.CategoricalDirichlet(1.0, [3, 3, 3]), LEVELS, r"n_levels of .* with d = 2 features; got shape \(3,\)"),
    (nrm.CategoricalDirichlet(1.0, pt.iscalar("l")), LEVELS, "n_levels of CategoricalDirichlet must be constant"),
    (nrm.CategoricalDirichlet(1.0, [3, 10**9]), LEVELS, "n_levels of .* at most 1000000; .* feature"),
    (nrm.MultinomialDirichlet(1.0, [1, 2]), LEVELS, r"total of .* with n = 3 items; got shape \(2,\)"),
    (nrm.MultinomialDirichlet(1.0, 1.5), LEVELS, "total of .* must be a whole number of at least 0; got 1.5"),
    (WISHART._replace(nu=1.0), X, "nu of NormalWishart must be .* greater than the number of features"),
    (NORMAL._replace(mu=np.nan), X, "mu of NormalGamma.*finite"),
)


def test_an_asymmetric_Psi_has_no_log_probability():
    entry = pt.dscalar("entry")
    Psi = pt.stack([pt.stack([1.0, entry]), pt.stack([0.0, 1.0])])
    z = nrm.Partition.dist(nrm.DirichletProcess(1.0), 3)
    x = nrm.Mixture.dist(z, WISHART._replace(Psi=Psi), shape=(3, 2))
    log_p = pm.logp(x, X)
    labels = np.zeros(3, dtype="int64")
    assert np.isfinite(log_p.eval({z: labels, entry: 0.0}, mode="FAST_COMPILE"))
    with pytest.raises(ParameterValueError, match="Psi a finite, symmetric, positive definite matrix"):
        log_p.eval({z: labels, entry: 0.5}, mode="FAST_COMPILE")


def test_an_asymmetric_Psi_ends_a_chain_where_it_starts():
    with pm.Model() as model:
        entry = pm.Normal("entry", initval=0.5)
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
        Psi = pt.stack([pt.stack([1.0, entry]), pt.stack([0.0, 1.0])])
        nrm.Mixture("x", z, WISHART._replace(Psi=Psi), observed=X)
    message = "Psi of NormalWishart must be .*symmetric.* where the sampling of 'x' starts; got 0.5"
    with pytest.raises(ValueError, match=message):
        Target(model, z, model.initial_point(), {"mode": "FAST_COMPILE"})


@pytest.mark.parametrize(("observed", "d"), [(X, 2), (X[:, 0], 1)])
def test_a_variable_with_a_dimension_of_the_model_has_one_entry_for_each_feature(observed, d):
    with pm.Model(coords={"obs": range(3)}):
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="obs")
        mu = pm.Normal("mu", dims="obs")
        message = rf"mu of NormalGamma must be .*shape \(d,\) with d = {d} features; got mu .*shape=\(3,\)"
        with pytest.raises(ValueError, match=message):
            nrm.Mixture("x", z, NORMAL._replace(mu=mu), observed=observed)


def test_a_tensor_of_unknown_length_is_checked_where_it_is_evaluated():
    kappa = pt.dvector("kappa")
    full = broadcast_hyperparameters(NORMAL._replace(kappa=kappa), 3, 2)
    np.testing.assert_array_equal(full.kappa.eval({kappa: [1.0, 2.0]}, mode="FAST_COMPILE"), [1.0, 2.0])
    message = "kappa of NormalGamma must have one entry for each of the 2 features; kappa has another length"
    with pytest.raises(ValueError, match=message):
        full.kappa.eval({kappa: [1.0]}, mode="FAST_COMPILE")


test_shape_of_a_latent_mixture = refused(
    lambda arguments: mixture(NORMAL._replace(mu=[0.0, 1.0]), None, **arguments),
    ({"shape": (4, 2)}, r"shape of a Mixture must begin with the 3 items of partition 'z'; got \(4, 2\)"),
    ({"dims": ("other", "feature")}, "shape of a Mixture must begin with the 3 items"),
    ({"shape": 3}, "shape of a Mixture must be .*; got 3"),
    ({"shape": (3, 2.5)}, r"shape\[1\] of a Mixture must be a whole number"),
    ({"shape": (3, 3)}, r"mu of NormalGamma .* with d = 3 features; got shape \(2,\)"),
    ({"dims": ("obs", "other")}, r"mu of NormalGamma .* with d = 4 features; got shape \(2,\)"),
)


def test_hyperparameters_of_a_latent_mixture_agree():
    with pytest.raises(ValueError, match=r"kappa of NormalGamma .* with d = 3 as in mu; got shape \(2,\)"):
        mixture(NORMAL._replace(mu=[0.0, 1.0, 2.0], kappa=[1.0, 2.0]), None)


@pytest.mark.parametrize("initval", [1.0, [1.0, 2.0, 3.0], [["a", "b"]] * 3, [[1.0], [2.0, 3.0]]])
def test_start_of_a_latent_mixture(initval):
    with pytest.raises((TypeError, ValueError), match="^initval of Mixture 'x': "):
        mixture(NORMAL, None, shape=(3, 2), initval=initval)


def test_a_start_of_a_latent_mixture_is_kept():
    model = mixture(NORMAL, None, shape=(3, 2), initval=X + 5.0)
    np.testing.assert_array_equal(model.initial_point(1)["x"], X + 5.0)


@pytest.mark.parametrize("observed", [LEVELS, None])
@pytest.mark.parametrize(
    ("family", "message"),
    [
        (nrm.CategoricalDirichlet(3.7, []), "n_levels of CategoricalDirichlet must be .* (d,); got shape (0,)"),
        (nrm.CategoricalDirichlet([], 3), "alpha of CategoricalDirichlet must be .* (d, l) or (l,); got shape (0,)"),
        (nrm.CategoricalDirichlet([[]]), "alpha of CategoricalDirichlet must be .* (d, l) or (l,); got shape (1, 0)"),
        (nrm.CategoricalDirichlet(pt.as_tensor(np.ones(0))), "alpha of CategoricalDirichlet must be .* of type Vector"),
        (nrm.NormalGamma([], 1.0, 2.0, 1.0), "mu of NormalGamma must be .* (d,); got shape (0,)"),
        (nrm.MultinomialDirichlet([]), "alpha of MultinomialDirichlet must be .* (d,); got shape (0,)"),
    ],
)
def test_empty_hyperparameters(family, observed, message):
    message = message.replace("(", r"\(").replace(")", r"\)").replace(";", ".*;")
    with pytest.raises(ValueError, match=message):
        mixture(family, observed)


@pytest.mark.parametrize("n_levels", [[], [3, 3, 3], [3, 0], [3, 3.5]])
def test_numbers_of_levels_in_data_of_the_model(n_levels):
    with pm.Model():
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
        with pytest.raises(ValueError, match="^n_levels of CategoricalDirichlet must be"):
            nrm.Mixture("x", z, nrm.CategoricalDirichlet(1.0, pm.Data("n", np.array(n_levels))), observed=LEVELS)


def test_a_misspelt_support_fails_where_the_class_is_made():
    with pytest.raises(ValueError, match="support must be one of 'real', 'positive', .*; got 'postive'"):
        Hyperparameter(("d",), "postive")


@pytest.mark.parametrize("name", SUPPORTS)
def test_supports_agree_about_numbers_and_tensors(name):
    support = SUPPORTS[name]
    values = [-1.0, 0.0, 5e-324, 0.5, 1.0, 1.5, 7.0, np.inf, np.nan]
    arrays = [np.diag([value, 1.0]) for value in values] if name == "positive definite" else map(np.array, values)
    for array in arrays:
        condition = support.condition(pt.as_tensor(array), 2).eval(mode="FAST_COMPILE")
        assert condition == (support.complaint(array, 2) is None)
