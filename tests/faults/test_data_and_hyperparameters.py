"""Data and hyperparameters that are not allowed: the error names them, what was given and what is allowed."""

import decimal
from functools import partial

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from pymc.logprob.utils import ParameterValueError

import pymc_nrm as nrm
from pymc_nrm.common.supports import SUPPORTS, Hyperparameter
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.steps.target import Target
from tests.helpers import refused

X = np.array([[0.0, 0.4], [1.1, 1.9], [0.7, 0.6]])
LEVELS = np.array([[0, 1], [1, 2], [0, 0]])
MEASURE, NORMAL = nrm.DirichletProcess(1.0), nrm.NormalGamma(mu=0.0, kappa=1.0, alpha=2.0, beta=1.0)
WISHART = nrm.NormalWishart(mu=0.0, kappa=1.0, Psi=np.eye(2), nu=4.0)
MASKED = np.ma.array([1.0, 2.0], mask=[False, True])


def mixture(family, observed=X, **arguments):
    with pm.Model(coords={"obs": range(3), "feature": range(2), "other": range(4)}) as model:
        z = nrm.Partition("z", MEASURE, n=3)
        nrm.Mixture("x", z, family() if callable(family) else family, observed=observed, **arguments)
    return model


RAGGED = [[1.0], [1.0, 2.0], [3.0]]
BAD = [
    (np.array([["a", "b"]] * 3), TypeError, "must be real numbers; got text such as 'a'"),
    (np.array([["1", "2"]] * 3), TypeError, "must be real numbers; got text such as '1'"),
    (np.array([[1, "2"]] * 3, dtype=object), TypeError, r"got '2' of type str at position \(0, 1\)"),
    (X + 1j, TypeError, "must be real numbers; got complex numbers such as 1j"),
    (np.full((3, 2), np.datetime64("2020")), TypeError, "must be real numbers; got dates"),
    (np.full((3, 2), np.timedelta64(1, "D")), TypeError, "must be real numbers; got durations"),
    (pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]}), TypeError, r"got 'x' of type str at position \(0, 1\)"),
    (xr.Dataset({"a": ("i", [1.0, 2.0, 3.0])}), TypeError, "must be real numbers; got an object of type Dataset"),
    (RAGGED, ValueError, "must have rows of equal length; got rows of different lengths"),
    (np.empty((3, 0)), ValueError, r"must have at least one column; got shape \(3, 0\)"),
    (np.where(X > 1, np.inf, X), ValueError, "must be finite, without infinite values; got inf in row 1, column 0"),
    ({"a": 1}, TypeError, "must be real numbers; got .* of type dict"),
]
FROM_MATRICES = {
    **{name: partial(getattr(nrm.trees, name), family=NORMAL, measure=MEASURE) for name in ("bhc", "ibhc")},
    "optimize_hyperparameters": partial(nrm.trees.optimize_hyperparameters, family=NORMAL, measure=MEASURE),
    **{family.__name__: family.from_data for family in (nrm.NormalWishart, nrm.NormalGamma)},
}


test_observed_data = refused(
    lambda observed: mixture(NORMAL, observed), *BAD, match="^observed data of Mixture 'x'.* {}"
)


test_data_of_functions_of_matrices = refused(
    lambda name, data: FROM_MATRICES[name](data),
    *((name, *row) for name in FROM_MATRICES for row in [*BAD, (None, TypeError, "must be real numbers; got None")]),
    match="^X.* {}",
)


test_covariance_of_from_data = refused(
    nrm.NormalWishart.from_data,
    (np.eye(3), r"more items than features; got n = 3, d = 3\. Give Psi .*NormalGamma\.from_data"),
    (np.ones((2, 5)), "more items than features; got n = 2, d = 5"),
    (np.c_[np.arange(6.0), np.ones(6)], r"columns that vary; columns \[1\] are constant"),
    (np.c_[np.full(6, 0.1), np.arange(6.0)], r"columns that vary; columns \[0\] are constant"),
    (np.c_[np.arange(6.0), np.arange(6.0) ** 2, 0.1 * np.arange(6.0)], "not linear combinations .* columns "),
    (
        np.random.default_rng(22).normal(size=(5, 3)) + 8e8 * (np.arange(5) % 2)[:, None],
        r"not linear combinations of others; got such columns \[1, 2\]",
    ),
    (np.c_[[1e200], [2e200], [-1e300]].T, r"variances from 2\.2e-308 to 1\.8e308; got inf in column 0"),
    (np.c_[[1e-200], [2e-200], [-1e-300]].T, r"variances from .*; got 0\.0 in column 0"),
    match="^X must have .*{}",
)


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("seed", range(5))
def test_rank_is_decided_beyond_rounding(offset, seed):
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(200, 3))
    nrm.NormalWishart.from_data(base + offset)
    with pytest.raises(ValueError, match="not linear combinations of others; got such columns"):
        nrm.NormalWishart.from_data(np.c_[base, base @ [0.3, -1.7, 0.2]] + offset)


def test_missing_values_of_pandas_are_missing():
    model = mixture(NORMAL, pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64")}))
    np.testing.assert_array_equal(model.rvs_to_values[model["x"]].data, [[1.0], [np.nan], [3.0]])


test_labels = refused(
    lambda argument, labels: nrm.Partition("z", MEASURE, n=3, **{argument: labels}),
    # Observed labels may be text.
    (
        "initval",
        ["a", "b", "c"],
        TypeError,
        r"^initval of .* must be whole numbers; got text such as 'a'.*pandas\.factor",
    ),
    ("initval", pd.Series(["a", "b", "c"]), TypeError, r"^initval of .* must be whole numbers; got 'a' .*np\.unique"),
    *(
        (argument, labels, kind, f"^{argument} of Partition .z. {message}")
        for argument in ("initval", "observed")
        for labels, kind, message in [
            ([0, 1j, 1], TypeError, "must be whole numbers; got complex numbers"),
            ([0, None, 1], ValueError, r"must be whole numbers; got \[nan\]"),
            ([0.5, 1, 2], ValueError, r"must be whole numbers; got \[0.5\]"),
            ([[0, 1, 2]], ValueError, r"must have shape \(n,\); got shape \(1, 3\)"),
            (5, ValueError, r"must have shape \(n,\); got shape \(\)"),
            (pt.lvector("labels"), TypeError, "must be whole numbers; got labels of type TensorVariable"),
        ]
    ),
    within=pm.Model,
)


MATRIX = r"Psi of NormalWishart must be a matrix of shape \(d, d\) with d = 2 features; got "
REMEDY = r"\. Write Psi \* np\.eye\(d\) for equal variances, np\.diag\(Psi\) for one variance per feature"


test_Psi_is_a_matrix = refused(
    lambda Psi: mixture(WISHART._replace(Psi=Psi)),
    (1.0, f"{MATRIX}1.0{REMEDY}"),
    (np.eye(1), rf"{MATRIX}shape \(1, 1\){REMEDY}"),
    ([1.0, 2.0], rf"{MATRIX}shape \(2,\){REMEDY}"),
    (np.eye(3), rf"{MATRIX}shape \(3, 3\)$"),
    (pt.dvector("Psi"), f"{MATRIX}Psi of type .*{REMEDY}"),
    ([[1.0, 0.5], [0.0, 1.0]], r"symmetric, .*; got 0\.5 at position \(0, 1\) and 0\.0 at \(1, 0\)"),
    (pt.as_tensor([[1.0, 0.5], [0.0, 1.0]]), "Psi of NormalWishart must be .*symmetric, .*; got 0.5"),
    (np.ones((2, 2)), "positive definite matrix; got a matrix with smallest eigenvalue"),
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
    ([[1.0], [1.0, 2.0]], "must have rows of equal length"),
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


# Arguments of a family that have no entry.
EMPTY = [
    (nrm.CategoricalDirichlet(3.7, []), r"n_levels of CategoricalDirichlet must be .* \(d,\).*; got shape \(0,\)"),
    (nrm.CategoricalDirichlet([], 3), r"alpha of CategoricalDirichlet must be .* or \(l,\).*; got shape \(0,\)"),
    (nrm.CategoricalDirichlet([[]]), r"alpha of CategoricalDirichlet must be .* or \(l,\).*; got shape \(1, 0\)"),
    (nrm.CategoricalDirichlet(pt.as_tensor(np.ones(0))), "alpha of CategoricalDirichlet must be .* of type Vector"),
    (nrm.NormalGamma([], 1.0, 2.0, 1.0), r"mu of NormalGamma must be .* \(d,\).*; got shape \(0,\)"),
    (nrm.MultinomialDirichlet([]), r"alpha of MultinomialDirichlet must be .* \(d,\).*; got shape \(0,\)"),
]


def levels_as_data(n_levels):
    return lambda: nrm.CategoricalDirichlet(1.0, pm.Data("n", np.array(n_levels)))


def mean_of_items():
    return NORMAL._replace(mu=pm.Normal("mu", dims="obs"))


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
    (
        *(nrm.CategoricalDirichlet(1.0), [[0, 1], [1, 10**9], [0, 0]]),
        r"column 1 has the value 1000000000 and 3 rows.*pandas\.factorize.*np\.unique",
    ),
    *((levels_as_data(n), LEVELS, "^n_levels of Cat.* must be") for n in ([], [3, 3, 3], [3, 0], [3, 3.5])),
    (nrm.MultinomialDirichlet(1.0, [1, 2]), LEVELS, r"total of .* with n = 3 items; got shape \(2,\)"),
    (nrm.MultinomialDirichlet(1.0, 1.5), LEVELS, "total of .* must be a whole number of at least 0; got 1.5"),
    (WISHART._replace(nu=1.0), X, "nu of NormalWishart must be .* greater than the number of features"),
    (NORMAL._replace(mu=np.nan), X, "mu of NormalGamma.*finite"),
    (mean_of_items, X, r"mu of NormalGamma must be .*with d = 2 features; got mu .*shape=\(3,\)"),
    (mean_of_items, X[:, 0], r"mu of NormalGamma must be .*with d = 1 features; got mu .*shape=\(3,\)"),
    *((family, observed, message) for family, message in EMPTY for observed in (LEVELS, None)),
)


def test_an_asymmetric_Psi_has_no_log_probability():
    entry = pt.dscalar("entry")
    Psi = pt.stack([pt.stack([1.0, entry]), pt.stack([0.0, 1.0])])
    z = nrm.Partition.dist(MEASURE, 3)
    x = nrm.Mixture.dist(z, WISHART._replace(Psi=Psi), shape=(3, 2))
    log_p = pm.logp(x, X)
    labels = np.zeros(3, dtype="int64")
    assert np.isfinite(log_p.eval({z: labels, entry: 0.0}, mode="FAST_COMPILE"))
    with pytest.raises(ParameterValueError, match="Psi a finite, symmetric, positive definite matrix"):
        log_p.eval({z: labels, entry: 0.5}, mode="FAST_COMPILE")


def test_an_asymmetric_Psi_ends_a_chain_where_it_starts():
    with pm.Model() as model:
        entry = pm.Normal("entry", initval=0.5)
        z = nrm.Partition("z", MEASURE, n=3)
        Psi = pt.stack([pt.stack([1.0, entry]), pt.stack([0.0, 1.0])])
        nrm.Mixture("x", z, WISHART._replace(Psi=Psi), observed=X)
    message = "Psi of NormalWishart must be .*symmetric.* where the sampling of 'x' starts; got 0.5"
    with pytest.raises(ValueError, match=message):
        Target(model, z, model.initial_point(), {"mode": "FAST_COMPILE"})


def test_a_tensor_of_unknown_length_is_checked_where_it_is_evaluated():
    kappa = pt.dvector("kappa")
    full = broadcast_hyperparameters(NORMAL._replace(kappa=kappa), 3, 2)
    np.testing.assert_array_equal(full.kappa.eval({kappa: [1.0, 2.0]}, mode="FAST_COMPILE"), [1.0, 2.0])
    message = "kappa of NormalGamma must have one entry for each of the 2 features; kappa has another length"
    with pytest.raises(ValueError, match=message):
        full.kappa.eval({kappa: [1.0]}, mode="FAST_COMPILE")


test_latent_mixture = refused(
    lambda fields, arguments: mixture(NORMAL._replace(**fields), None, **arguments),
    ({"mu": [0.0, 1.0]}, {"shape": (4, 2)}, r"shape of a Mixture must begin with the 3 items of .* 'z'; got \(4, 2\)"),
    ({"mu": [0.0, 1.0]}, {"dims": ("other", "feature")}, "shape of a Mixture must begin with the 3 items"),
    ({"mu": [0.0, 1.0]}, {"shape": 3}, "shape of a Mixture must be .*; got 3"),
    ({"mu": [0.0, 1.0]}, {"shape": (3, 2.5)}, r"shape\[1\] of a Mixture must be a whole number"),
    ({"mu": [0.0, 1.0]}, {"shape": (3, 3)}, r"mu of NormalGamma .* with d = 3 features; got shape \(2,\)"),
    ({"mu": [0.0, 1.0]}, {"dims": ("obs", "other")}, r"mu of NormalGamma .* with d = 4 features; got shape \(2,\)"),
    ({"mu": [0.0, 1.0, 2.0], "kappa": [1.0, 2.0]}, {}, r"kappa of .* with d = 3 as in mu; got shape \(2,\)"),
    *(
        ({}, {"shape": (3, 2), "initval": initval}, "^initval of Mixture 'x': ")
        for initval in (1.0, [1.0, 2.0, 3.0], [["a", "b"]] * 3, [[1.0], [2.0, 3.0]])
    ),
    error=(TypeError, ValueError),
)


def test_a_start_of_a_latent_mixture_is_kept():
    model = mixture(NORMAL, None, shape=(3, 2), initval=X + 5.0)
    np.testing.assert_array_equal(model.initial_point(1)["x"], X + 5.0)


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
