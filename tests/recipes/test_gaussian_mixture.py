"""Gaussian mixtures of matrices in one call."""

import warnings

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from helpers import measure_of, refused

import pymc_nrm as nrm
from pymc_nrm.models.rvs import family_of

X = np.random.default_rng(1).normal(size=(12, 3))
GAPS = np.where(np.arange(36).reshape(12, 3) == 4, np.nan, X)
WIDE = np.random.default_rng(2).normal(size=(60, 31))
DEPENDENT = np.column_stack([X, X @ [1.0, 2.0, 0.0]])


@pytest.mark.parametrize(
    ("data", "covariance", "family"),
    [
        (X, None, nrm.NormalWishart),
        (X, "diagonal", nrm.NormalGamma),
        (GAPS, None, nrm.NormalWishart),
        (DEPENDENT, None, nrm.NormalGamma),
        (X[:3], None, nrm.NormalGamma),
        (X[:, :1], None, nrm.NormalGamma),
        (X[:, 0], None, nrm.NormalGamma),
        (WIDE, None, nrm.NormalGamma),
        (WIDE[:, :30], None, nrm.NormalWishart),
        (X[:, :1], "full", nrm.NormalWishart),
    ],
)
def test_the_family_follows_from_the_data(data, covariance, family):
    model = nrm.gaussian_mixture(data, covariance=covariance)
    assert type(family_of(model["x"])) is family
    assert model.named_vars_to_dims["x"] == ("item", "x_feature")[: data.ndim]
    assert [rv.name for rv in model.free_RVs[:2]] == ["alpha", "z"]


NAMES = ["a", 7, "c"]
EMPTY = np.where(np.arange(12)[:, None] == 5, np.nan, X)
TWO = pd.DataFrame(np.where(np.isnan(GAPS), np.nan, EMPTY), columns=NAMES)
REASONS = {
    "combinations": (pd.DataFrame(DEPENDENT, columns=[*NAMES, 3]), r"combinations of other columns: .*\. Leave"),
    "few rows": (X[:3], "3 rows for 3 numeric columns"),
    "many columns": (WIDE, "31 numeric columns.*at most 30"),
}


@pytest.mark.parametrize("reason", REASONS)
def test_columns_without_covariances_warn_and_say_why(reason):
    data, message = REASONS[reason]
    with pytest.warns(UserWarning, match=message) as caught:
        model = nrm.gaussian_mixture(data)
    assert "independent within clusters" in str(caught[0].message) and caught[0].filename == __file__
    assert type(family_of(model["x"])) is nrm.NormalGamma
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nrm.gaussian_mixture(data, covariance="diagonal")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (GAPS, "1 in 1 of 12 rows, column 1. "),
        (EMPTY, "3 in 1 of 12 rows, columns 0, 1, 2. "),
        (TWO, "4 in 2 of 12 rows, columns 'a', 7, 'c'. "),
        (np.where(np.arange(12)[:, None] % 3 == np.arange(3), np.nan, X), "12 in 12 of 12 rows"),
    ],
)
def test_gaps_are_drawn_and_said(data, text, caplog):
    with warnings.catch_warnings(), caplog.at_level("INFO", logger="pymc.nrm_recipes"):
        warnings.simplefilter("error")
        for covariance in (None, "full"):
            model = nrm.gaussian_mixture(data, covariance=covariance)
            assert type(family_of(model["x"])) is nrm.NormalWishart
            values = np.asarray(data, dtype="float64")
            names = getattr(data, "columns", range(3))
            items, columns = np.nonzero(np.isnan(values))
            expected = [f"{i}, {names[j]}" for i, j in zip(items, columns, strict=True)]
            assert list(model.coords["x_missing_entry"]) == expected
    assert [f"as x_missing: {text}" in record.message for record in caplog.records] == [True, True]


def test_names():
    df = pd.DataFrame(X, columns=["a", "b", "c"], index=list("klmnopqrstuv"))
    array = xr.DataArray(X, dims=("plant", "trait"), coords={"plant": df.index, "trait": df.columns})
    for data in (df, array):
        model = nrm.gaussian_mixture(data)
        assert model.coords["x_feature"] == ("a", "b", "c") and model.coords["item"] == tuple(df.index)
    assert nrm.gaussian_mixture(df["a"]).coords["item"] == tuple(df.index)
    data = nrm.table_data(nrm.gaussian_mixture(df), df[["c", "a", "b"]].head(1))
    np.testing.assert_array_equal(data["x"], X[:1])


def test_measures_with_priors():
    measure = nrm.NormalizedGeneralizedGamma(pm.Gamma.dist(2, 1), pm.Beta.dist(1, 4))
    for _ in range(2):
        model = nrm.gaussian_mixture(X, measure=measure)
        assert [rv.name for rv in model.free_RVs[:3]] == ["alpha", "sigma", "z"]
        assert type(measure_of(model["z"])) is nrm.NormalizedGeneralizedGamma
    assert measure.alpha.name is None
    fixed = nrm.gaussian_mixture(X, measure=nrm.DirichletProcess(0.5))
    assert "alpha" not in fixed.named_vars
    with pytest.raises(TypeError, match="measure must be a measure such as"):
        nrm.gaussian_mixture(X, measure=1.0)
    with pm.Model():
        alpha = pm.Gamma("alpha", 2, 1)
        with pytest.raises(TypeError, match=r"alpha of measure must be .* such as pm.Gamma.dist\(2, 1\); got alpha"):
            nrm.gaussian_mixture(X, measure=nrm.DirichletProcess(alpha))
        with pytest.raises(TypeError, match="alpha of measure must be"):
            nrm.gaussian_mixture(X, measure=nrm.DirichletProcess(2 * pm.Gamma.dist(2, 1)))


def test_a_model_of_its_own():
    """The model is no part of one that is being written."""
    with pm.Model() as outer:
        inner = nrm.gaussian_mixture(X)
    assert not outer.named_vars and inner.parent is None


test_bad_data = refused(
    lambda data, covariance: nrm.gaussian_mixture(data, covariance=covariance),
    (np.where(np.arange(36).reshape(12, 3) % 3 == 1, np.nan, X), "full", ValueError, "two values in every column"),
    (DEPENDENT, "full", ValueError, "linear combinations"),
    (X, "spherical", ValueError, "covariance must be"),
    (X[:1], None, ValueError, r"at least two items.*got shape \(1, 3\)"),
    (X[:, :0], None, ValueError, r"got shape \(12, 0\)"),
    (X[None], None, ValueError, r"got shape \(1, 12, 3\)"),
    ([["a"], ["b"]], None, TypeError, "must be real numbers"),
    (X + 1j, None, TypeError, "must be real numbers"),
    (X * [1, 0, 0], None, ValueError, r"columns \[1, 2\] are constant"),
    (np.where(X > 1, np.inf, X), None, ValueError, "inf"),
    (pd.DataFrame({"a": X[:, 0], "b": list("abcabcabcabc")}), None, TypeError, "column 'b' must hold numbers"),
    (pd.DataFrame({"a": X[:, 0], "b": 1.0}), None, ValueError, "column 'b' has only one value"),
)


@pytest.mark.parametrize("frame", [False, True])
def test_repeated_values_warn(frame):
    values = np.random.default_rng(3).normal(size=(30, 2))
    values[:8, 1] = 0.25
    data = pd.DataFrame(values, columns=["a", "b"]) if frame else values
    name = "'b'" if frame else "1"
    with pytest.warns(UserWarning, match=f"column {name} has the value 0.25 in 27% of its items"):
        nrm.gaussian_mixture(data)
    values[0, 1] = 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nrm.gaussian_mixture(pd.DataFrame(values, columns=["a", "b"]) if frame else values)
