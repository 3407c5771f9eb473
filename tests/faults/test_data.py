"""Data that are not allowed: each gets an error that names the argument and what was given."""

from functools import partial

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from helpers import refused

import pymc_nrm as nrm

X = np.array([[0.0, 0.4], [1.1, 1.9], [0.7, 0.6]])
NORMAL = nrm.NormalGamma(mu=0.0, kappa=1.0, alpha=2.0, beta=1.0)
MEASURE = nrm.DirichletProcess(1.0)
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
    (RAGGED, ValueError, "must have rows of one length; got rows of different lengths"),
    (np.empty((3, 0)), ValueError, r"must have at least one column; got shape \(3, 0\)"),
    (np.where(X > 1, np.inf, X), ValueError, "must be finite, without infinite values; got inf in row 1, column 0"),
    ({"a": 1}, TypeError, "must be real numbers; got .* of type dict"),
]


@pytest.mark.parametrize(("observed", "kind", "message"), BAD)
def test_observed_data(observed, kind, message):
    with pm.Model():
        z = nrm.Partition("z", MEASURE, n=3)
        with pytest.raises(kind, match=f"^observed data of Mixture 'x'.* {message}"):
            nrm.Mixture("x", z, NORMAL, observed=observed)


FROM_MATRICES = {
    **{name: partial(getattr(nrm.trees, name), family=NORMAL, measure=MEASURE) for name in ("bhc", "ibhc")},
    "optimize_hyperparameters": partial(nrm.trees.optimize_hyperparameters, family=NORMAL, measure=MEASURE),
    **{family.__name__: family.from_data for family in (nrm.NormalWishart, nrm.NormalGamma)},
}


@pytest.mark.parametrize(("data", "kind", "message"), [*BAD, (None, TypeError, "must be real numbers; got None")])
@pytest.mark.parametrize("function", FROM_MATRICES)
def test_data_of_functions_of_matrices(function, data, kind, message):
    with pytest.raises(kind, match=f"^X.* {message}"):
        FROM_MATRICES[function](data)


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


def test_a_level_of_a_billion():
    with pm.Model():
        z = nrm.Partition("z", MEASURE, n=3)
        message = r"column 1 has the value 1000000000 and 3 rows.*pandas\.factorize.*np\.unique"
        with pytest.raises(ValueError, match=message):
            nrm.Mixture("x", z, nrm.CategoricalDirichlet(1.0), observed=[[0, 1], [1, 10**9], [0, 0]])


def test_missing_values_of_pandas_are_missing():
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURE, n=3)
        x = nrm.Mixture("x", z, NORMAL, observed=pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64")}))
    np.testing.assert_array_equal(model.rvs_to_values[x].data, [[1.0], [np.nan], [3.0]])


@pytest.mark.parametrize(
    ("labels", "kind", "message"),
    [
        (["a", "b", "c"], TypeError, r"must be whole numbers; got text such as 'a'.*pandas\.factorize"),
        (pd.Series(["a", "b", "c"]), TypeError, r"must be whole numbers; got 'a' .*np\.unique"),
        ([0, 1j, 1], TypeError, "must be whole numbers; got complex numbers"),
        ([0, None, 1], ValueError, r"must be whole numbers; got \[nan\]"),
        ([0.5, 1, 2], ValueError, r"must be whole numbers; got \[0.5\]"),
        ([[0, 1, 2]], ValueError, r"must have shape \(n,\); got shape \(1, 3\)"),
        (5, ValueError, r"must have shape \(n,\); got shape \(\)"),
        (pt.lvector("labels"), TypeError, "must be whole numbers; got labels of type TensorVariable"),
    ],
)
@pytest.mark.parametrize("argument", ["initval", "observed"])
def test_labels(argument, labels, kind, message):
    with pm.Model(), pytest.raises(kind, match=f"^{argument} of Partition .z. {message}"):
        nrm.Partition("z", MEASURE, n=3, **{argument: labels})
