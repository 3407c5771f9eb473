"""Models of tables: which column becomes what, and the data of new rows."""

import logging

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from helpers import refused

import pymc_nrm as nrm
from pymc_nrm.models.rvs import family_of

N = 24
LENGTH = np.random.default_rng(1).normal(size=N)


def table(**columns):
    return pd.DataFrame({"length": LENGTH, **columns})


def observed(model):
    return {rv.name: constant_behind(model.rvs_to_values[rv]).data for rv in model.observed_RVs}


def constant_behind(value):
    """PyMC casts observed values to the type of the variable."""
    return value if value.owner is None else constant_behind(value.owner.inputs[0])


def repeated(*values):
    return (list(values) * N)[:N]


# What a column is, the kind given, the mixture that takes it, and its first values there.
COLUMNS = {
    "floats": (LENGTH**2, None, "numeric", LENGTH[:3] ** 2),
    "whole floats": (repeated(1.0, 2.0, 5.0), None, "numeric", [1.0, 2.0, 5.0]),
    "many integers": ([k * k for k in range(N)], None, "numeric", [0, 1, 4]),
    "booleans": (repeated(True, False), None, "binary", [1, 0, 1]),
    "booleans with gaps": (repeated(True, None, False), None, "binary", [1, np.nan, 0]),
    "zeros and ones": (repeated(0, 1, 1), None, "binary", [0, 1, 1]),
    "zeros and ones with gaps": (repeated(0.0, np.nan, 1.0), None, "binary", [0, np.nan, 1]),
    "strings": (repeated("b", "a", None), None, "categorical", [1, 0, np.nan]),
    "pandas strings": (pd.array(repeated("b", "a", None), dtype="string"), None, "categorical", [1, 0, np.nan]),
    "categories": (
        pd.Categorical(repeated("low", "high"), categories=["low", "none", "high"]),
        None,
        "categorical",
        [0, 1, 0],
    ),
    "counts": (repeated(0, 3, 7), {"b": "count"}, "count", [0, 3, 7]),
    "ratings": (pd.array(repeated(1, 3, None), dtype="Int64"), {"b": "categorical"}, "categorical", [0, 1, np.nan]),
    "years": (list(range(N)), {"b": "numeric"}, "numeric", [0, 1, 2]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_kinds_of_columns(name):
    values, kinds, mixture, first = COLUMNS[name]
    model = nrm.mixture_model(table(b=values), kinds=kinds, jitter_ties=False)
    features = model.coords[f"{mixture}_feature"]
    assert features == (("length", "b") if mixture == "numeric" else ("b",))
    np.testing.assert_array_equal(observed(model)[mixture][:3, -1], first)


def test_it_is_the_model_that_one_would_write():
    df = table(sex=repeated("f", "m"), stripes=repeated(3, 4, 9)).set_index(pd.Index([f"c{k}" for k in range(N)]))
    model = nrm.mixture_model(df, kinds={"stripes": "count"})
    with pm.Model(coords={"item": df.index}) as written:
        z = nrm.Partition("z", nrm.DirichletProcess(pm.Gamma("alpha", 2, 1)), dims="item")
        X, codes, counts = df[["length"]], (df[["sex"]] == "m").astype(float), df[["stripes"]]
        family = nrm.NormalGamma.learned("numeric", X)
        nrm.Mixture("numeric", z, family, observed=X, dims=("item", "numeric_feature"))
        family = nrm.CategoricalDirichlet.learned("categorical", codes)
        nrm.Mixture("categorical", z, family, observed=codes, dims=("item", "categorical_feature"))
        family = nrm.PoissonGamma.learned("count", counts)
        nrm.Mixture("count", z, family, observed=counts, dims=("item", "count_feature"))
    assert model.str_repr() == written.str_repr()
    assert model.named_vars_to_dims == written.named_vars_to_dims and model.coords.items() >= written.coords.items()
    for name, values in observed(written).items():
        np.testing.assert_array_equal(observed(model)[name], values)
    assert model.coords["item"] == tuple(df.index)
    assert model.coords["sex_level"] == model.coords["level"] == ("f", "m")


def test_numeric_columns_with_gaps_keep_covariances():
    assert type(family_of(nrm.mixture_model(table(b=LENGTH**2))["numeric"])) is nrm.NormalWishart
    gaps = np.where(np.arange(N) == 3, np.nan, LENGTH**2)
    for covariance, family in ((None, nrm.NormalWishart), ("full", nrm.NormalWishart), ("diagonal", nrm.NormalGamma)):
        model = nrm.mixture_model(table(b=gaps), covariance=covariance)
        assert type(family_of(model["numeric"])) is family
        assert ("numeric_missing" in model.named_vars) == (family is nrm.NormalWishart)


WRONG = {
    "constant": (repeated(2.5), None, ValueError, "only one value, so it says nothing .*drop"),
    "empty": (repeated(None), None, ValueError, "has no values"),
    "infinite": (np.where(LENGTH > 1, np.inf, LENGTH), None, ValueError, r"must be finite; got inf in row \d"),
    "dates": (pd.date_range("2026-01-01", periods=N), None, TypeError, "got datetime64.* days since"),
    "spans": (pd.to_timedelta(np.arange(N), "D"), None, TypeError, "got timedelta64"),
    "periods": (pd.period_range("2026", periods=N, freq="M"), None, TypeError, "got period"),
    "complex": (LENGTH + 1j, None, TypeError, "got complex128"),
    "mixed": (repeated("a", 1), None, TypeError, "values of type int, str"),
    "lists": ([[1]] * N, None, TypeError, "values of type list"),
    "names": ([f"p{k}" for k in range(N)], None, ValueError, r"different in every row.*set_index\('b'\)"),
    "row numbers": (list(range(1, N + 1)), None, ValueError, r"numbers the rows.*set_index\('b'\)"),
    "few integers": (repeated(1, 2, 3), None, ValueError, r"'b' \(3 values from 1 to 3\). Say .*kinds=\{'b': \.\.\.\}"),
    "integers with gaps": (repeated(1, 2, None), None, ValueError, r"'b' \(2 values from 1 to 2\)"),
    "counts with gaps": (repeated(1, 2, None), {"b": "count"}, ValueError, r"8 of 24 values are missing.*dropna"),
    "negative counts": (repeated(1, -2), {"b": "count"}, ValueError, "at least 0 to be a count; got -2"),
    "broken counts": (repeated(1, 2.5), {"b": "count"}, ValueError, "to be a count; got 2.5"),
    "numbers as binary": (repeated(1, 2), {"b": "binary"}, ValueError, "to be binary; got 2"),
    "text as numbers": (repeated("x", "y"), {"b": "numeric"}, TypeError, "got text, which .* takes as categorical"),
    "booleans as numbers": (repeated(True, False), {"b": "numeric"}, TypeError, "takes as binary"),
    "unknown kind": (repeated(1, 2), {"b": "counts"}, ValueError, r"kinds\['b'\] must be one of 'numeric'"),
    "unknown column": (repeated(1, 2), {"c": "count"}, ValueError, r"kinds must be of columns of df.*got \['c'\]"),
    "no mapping": (repeated(1, 2), "count", TypeError, "kinds must be a mapping"),
}


@pytest.mark.parametrize("name", WRONG)
def test_columns_that_are_not_allowed(name):
    values, kinds, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        nrm.mixture_model(table(b=values), kinds=kinds)


test_tables_that_are_not_allowed = refused(
    lambda change, options: nrm.mixture_model(change(table(b=LENGTH**2)), **options),
    (pd.DataFrame.to_numpy, {}, TypeError, "df must be a pandas DataFrame; got ndarray"),
    (lambda df: df.set_axis(["a", "a"], axis=1), {}, ValueError, r"columns of different names; got \['a'\]"),
    (lambda df: df.head(1), {}, ValueError, "at least two rows; got 1"),
    (lambda df: df[[]], {}, ValueError, r"rows and columns; got shape \(24, 0\)"),
    (lambda df: df.set_index([df.index, df.index]), {}, ValueError, "index of one level; got 2"),
    (lambda df: df, {"covariance": "diag"}, ValueError, "covariance must be None, 'full' or 'diagonal'; got"),
)


def test_new_rows(caplog):
    df = table(sex=repeated("m", "f", None), smokes=repeated(True, False))
    model = nrm.mixture_model(df)
    new = pd.DataFrame({"smokes": [None, True], "length": [0.5, 1], "sex": ["m", None]}, index=["p", "q"])
    data = nrm.table_data(model, new)
    assert {name: block.values.tolist() for name, block in data.items() if name != "categorical"} == {
        "numeric": [[0.5], [1.0]],
        "binary": [[pytest.approx(np.nan, nan_ok=True)], [1.0]],
    }
    np.testing.assert_array_equal(data["categorical"], [[1.0], [np.nan]])
    assert data["numeric"].new_item.values.tolist() == ["p", "q"]
    for changed, message in (
        (new.assign(sex=["x", "m"]), r"column 'sex' must have levels of the model, \['f', 'm'\]; got 'x'"),
        (new.drop(columns="sex"), r"it lacks \['sex'\]"),
        (new.assign(smokes=2), "to be binary; got 2"),
    ):
        with pytest.raises(ValueError, match=message):
            nrm.table_data(model, changed)
    with pytest.raises(ValueError, match="must be made of a DataFrame"):
        nrm.table_data(nrm.gaussian_mixture(LENGTH), new)
    with caplog.at_level(logging.INFO):
        further = nrm.table_data(model, new.assign(age=3, species="a"))
    assert caplog.messages == ["Columns that the model does not have are left out: age, species."]
    for name, block in data.items():
        xr.testing.assert_identical(further[name], block)
