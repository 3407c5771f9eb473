"""Odd and tiny tables: each gives a model, or an error in one sentence that names the argument."""

import datetime
import decimal
import fractions

import numpy as np
import pandas as pd
import pytest
import scipy
import xarray as xr

import pymc_nrm as nrm

pytestmark = [
    pytest.mark.usefixtures("unbroken"),
    # Warnings on columns are the subject of other files.
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

N = 40
RNG = np.random.default_rng(1)
X, PLANE = RNG.normal(size=N), RNG.normal(size=(N, 2))
DAY = pd.Timestamp("2020-01-01")
DAYS = pd.date_range(DAY, periods=N)


def repeated(*values):
    return (list(values) * N)[:N]


def objects(values):
    """A column of Python objects, lists as entries."""
    column = np.empty(N, dtype=object)
    column[:] = list(values)
    return column


def beside(values):
    """A table with these values beside a column of measurements."""
    return pd.DataFrame({"a": X, "b": values})


def plane(columns=("a", "b"), index=None):
    return pd.DataFrame(PLANE, columns=columns, index=index)


SHORT = {"a": X, "b": repeated("u", "v")}
RECORDS = np.array(list(zip(X, SHORT["b"], strict=True)), dtype=[("a", "f8"), ("b", "U1")])
LEVELS = ["low", "none", "high"]

# A table, and the kinds of its columns, or a phrase of the error.
TABLES = {
    "empty": (pd.DataFrame(), "df must have rows and columns; got shape (0, 0)"),
    "no rows": (pd.DataFrame(SHORT).iloc[:0], "df must have rows and columns; got shape (0, 2)"),
    "no columns": (pd.DataFrame(index=range(N)), "df must have rows and columns; got shape (40, 0)"),
    "one column": (pd.DataFrame({"a": X}), ["numeric"]),
    "one row": (pd.DataFrame(SHORT).iloc[:1], "df must have at least two rows; got 1"),
    "two rows": (pd.DataFrame(SHORT).iloc[:2], ["numeric", "skip"]),
    "two equal rows": (pd.DataFrame(SHORT).iloc[[0, 0]], "all were left out: 'a' (only one value); 'b' (only one"),
    "columns of two levels": (plane(pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])), ["numeric", "numeric"]),
    "names that occur twice": (plane(["a", "a"]), "columns of different names; got ['a'] more than once"),
    "names equal as text": (plane([1, "1"]), "columns of different names; got ['1'] more than once"),
    "whole numbers as names": (plane([0, 1]), ["numeric", "numeric"]),
    "None as a name": (plane([None, "b"]), ["numeric", "numeric"]),
    "dates as names": (plane(DAYS[:2]), ["numeric", "numeric"]),
    "names of the model": (plane(["z", "alpha"]), ["numeric", "numeric"]),
    "a missing column": (beside(np.nan), ["numeric", "skip"]),
    "missing rows": (plane().mask(np.tile(np.arange(N)[:, None] < 4, 2)), ["numeric", "numeric"]),
    "a missing table": (pd.DataFrame({"a": repeated(np.nan), "b": repeated(None)}), "'a' (no values); 'b' (no values)"),
    "values of several types": (beside(repeated(1, "x", 2.5, None, True)), ["numeric", "categorical"]),
    "a constant": (beside(3.0), ["numeric", "skip"]),
    "one value and gaps": (beside(repeated(3.0, np.nan)), ["numeric", "skip"]),
    "infinities": (beside(np.where(X > 1, np.inf, np.where(X < -1, -np.inf, X))), ["numeric", "numeric"]),
    "nothing but infinities": (beside(np.inf), ["numeric", "skip"]),
    "variances beyond doubles": (
        beside(np.sign(X) * 1e307 * (1 + X**2)),
        "column 'b' must have a variance from 2.2e-308",
    ),
    "variances of zero": (beside(X * 1e-320), "column 'b' must have a variance from 2.2e-308"),
    "complex numbers": (beside(X + 1j * X), ["numeric", "skip"]),
    "lists": (beside(objects([1, k] for k in range(N))), ["numeric", "skip"]),
    "dicts": (beside(objects({"a": k} for k in range(N))), ["numeric", "skip"]),
    "nothing but lists": (
        pd.DataFrame({"b": objects([k] for k in range(N))}),
        "'b' (values of type list; neither numbers",
    ),
    "very long texts": (beside([f"{k} " + 5000 * "word " for k in range(N)]), ["numeric", "skip"]),
    "very long levels": (beside(repeated(5000 * "a", 5000 * "b")), ["numeric", "categorical"]),
    "bytes": (beside(repeated(b"x", b"y")), ["numeric", "skip"]),
    "decimal": (beside([decimal.Decimal(f"{x:.4f}") for x in X**3]), ["numeric", "numeric"]),
    "decimal with NaN": (beside(repeated(decimal.Decimal("NaN"), decimal.Decimal("1.5"))), ["numeric", "skip"]),
    "fractions": (beside([fractions.Fraction(int(1000 * x**3), 7) for x in X]), ["numeric", "numeric"]),
    "Int64": (beside(pd.array(repeated(1, 5, None), dtype="Int64")), ["numeric", "categorical"]),
    "boolean": (beside(pd.array(repeated(True, False, None), dtype="boolean")), ["numeric", "binary"]),
    "string": (beside(pd.array(repeated("u", "v", None), dtype="string")), ["numeric", "categorical"]),
    "periods": (beside(pd.period_range("2020-01", periods=N, freq="M")), ["numeric", "numeric"]),
    "intervals": (beside(pd.cut(X, 4)), ["numeric", "categorical"]),
    "durations": (beside(pd.to_timedelta(np.arange(N) ** 2, unit="h")), ["numeric", "numeric"]),
    "zones": (beside(DAYS.tz_localize("Europe/Berlin")), ["numeric", "numeric"]),
    "dates with and without zones": (
        beside(objects([d.tz_localize("UTC") if d.day % 2 else d for d in DAYS])),
        ["numeric", "numeric"],
    ),
    "dates of old": (beside(objects([datetime.date(1000 + 5 * k * k % 997, 1, 1) for k in range(N)])), ["numeric"] * 2),
    "no time at all": (beside(pd.NaT), ["numeric", "skip"]),
    "sparse numbers": (
        beside(pd.arrays.SparseArray(np.where(np.arange(N) % 3, 0.0, X**2))),
        ["numeric", "zero or positive"],
    ),
    "sparse gaps": (beside(pd.arrays.SparseArray(np.where(np.arange(N) % 3, np.nan, X**2))), ["numeric", "numeric"]),
    "levels without rows": (beside(pd.Categorical(repeated("low", "high"), LEVELS)), ["numeric", "categorical"]),
    "one of three levels": (beside(pd.Categorical(repeated("low"), LEVELS)), ["numeric", "skip"]),
    "levels in order": (beside(pd.Categorical(repeated(*LEVELS), LEVELS, ordered=True)), ["numeric", "categorical"]),
    "no levels": (beside(pd.Categorical(repeated(None), [])), ["numeric", "skip"]),
    "booleans as objects": (beside(objects(repeated(True, False, None))), ["numeric", "binary"]),
    "whole numbers beyond int64": (beside([2**70 + k * k * 10**19 for k in range(N)]), ["numeric", "numeric"]),
    "whole numbers beyond doubles": (beside([10**400 + k for k in range(N)]), ["numeric", "skip"]),
    "an index that repeats": (pd.DataFrame(SHORT, index=[0] * N), ["numeric", "categorical"]),
    "an index without values": (pd.DataFrame(SHORT, index=[np.nan] * N), ["numeric", "categorical"]),
    "a Series": (pd.Series(X), "df must be a pandas DataFrame; got Series. pandas.DataFrame(df) makes one"),
    "a dict": (SHORT, ["numeric", "categorical"]),
    "a dict of numbers": ({"a": 1, "b": 2}, "columns of equal length if it is a mapping; got lengths {'a': 'a single"),
    "a ragged dict": ({"a": [1, 2], "b": [1]}, "of equal length if it is a mapping; got lengths {'a': 2, 'b': 1}"),
    "an empty dict": ({}, "df must have rows and columns; got shape (0, 0)"),
    "a list of lists": (PLANE.tolist(), "df must be a pandas DataFrame; got list"),
    "an array": (PLANE, "df must be a pandas DataFrame; got ndarray"),
    "a structured array": (RECORDS, "df must be a pandas DataFrame; got ndarray"),
    "a masked array": (np.ma.masked_less(PLANE, -1), "df must be a pandas DataFrame; got MaskedArray"),
    "a sparse matrix": (scipy.sparse.eye(N), "df must be a pandas DataFrame; got dia_matrix"),
    "a data set of xarray": (xr.Dataset({"a": ("i", X), "b": ("i", PLANE[:, 0])}), ["numeric", "numeric"]),
    "None": (None, "df must be a pandas DataFrame; got NoneType"),
    "a path": ("table.csv", "path of Parquet files that exist; got 'table.csv'. Read other files by pandas"),
}


def kinds_of(df):
    return nrm.recipes.column_kinds(df)["kind"].tolist()


@pytest.mark.parametrize("name", TABLES)
def test_a_table_becomes_a_model_or_an_error_says_why_not(name):
    df, expected = TABLES[name]
    if isinstance(expected, str):
        with pytest.raises((ValueError, TypeError)) as refused:
            nrm.mixture_model(df)
        assert expected in str(refused.value)
        return
    assert kinds_of(df) == expected
    model = nrm.mixture_model(df)
    mixtures = {kind.replace(" ", "_") for kind in expected if kind != "skip"}
    assert {rv.name for rv in model.observed_RVs} | {rv.name for rv in model.free_RVs} >= mixtures
    length = len(df) if isinstance(df, pd.DataFrame) else N
    assert len(model.coords["item"]) == length
    # The kinds that were shown make the same model.
    again = nrm.mixture_model(df, kinds=nrm.recipes.column_kinds(df))
    assert list(again.named_vars) == list(model.named_vars)
    # New rows are read.
    data = nrm.table_data(model, df)
    assert {len(values) for values in data.values()} == {length}


def test_rows_of_two_levels_are_refused_where_they_would_be_names():
    df = pd.DataFrame(SHORT, index=pd.MultiIndex.from_product([range(20), ["u", "v"]]))
    assert kinds_of(df) == ["numeric", "categorical"]
    with pytest.raises(ValueError, match="df must have an index of one level; got 2"):
        nrm.mixture_model(df)


@pytest.mark.parametrize("name", ["polars", "pyarrow"])
def test_tables_of_other_libraries(name):
    library = pytest.importorskip(name)
    df = getattr(library, {"polars": "DataFrame", "pyarrow": "table"}[name])(SHORT)
    assert kinds_of(df) == ["numeric", "categorical"]
    assert [rv.name for rv in nrm.mixture_model(df).observed_RVs] == ["numeric", "categorical"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two rows", "missing rows", "columns of two levels", "sparse numbers"])
def test_odd_tables_are_sampled_and_described(name):
    df, _ = TABLES[name]
    model = nrm.mixture_model(df)
    idata = nrm.sample(50, tune=50, chains=2, cores=1, model=model, random_seed=1, quiet=True)
    assert np.isfinite(nrm.summary(idata)["mean"]).all()
    assert nrm.describe(idata, model).to_text()
