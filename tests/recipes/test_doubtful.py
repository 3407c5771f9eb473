"""Columns that are probably not what their type says."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import pymc_nrm as nrm

N = 60
RNG = np.random.default_rng(1)
LENGTH = RNG.normal(size=N)
NUMBERS = RNG.normal(size=N).round(2).astype(str)
CITIES = np.array([f"city {k}" for k in RNG.integers(30, size=N)])


def table(**columns):
    return pd.DataFrame({"length": LENGTH, **columns})


TEXT = {
    "one question mark": (
        np.where(np.arange(N) == 7, "?", NUMBERS),
        "holds text, and 59 of 60 values are numbers, others are '?'. Make it numeric by "
        "pandas.to_numeric(df['b'], errors=\"coerce\"), which makes the others missing; kinds={'b': 'categorical'}",
    ),
    "decimal commas": (
        [number.replace(".", ",") for number in NUMBERS],
        "60 of 60 values are numbers. Make it numeric by pandas.to_numeric(df['b'].str.replace(',', '.'), "
        'errors="coerce"); kinds',
    ),
    "gaps": (np.where(np.arange(N) < 20, None, NUMBERS), "40 of 40 values are numbers."),
    "codes": (["1", "2", "3"] * 20, "60 of 60 values are numbers."),
    "many levels": (CITIES, f"holds {len(set(CITIES))} different strings in 60 rows, so it says little"),
}


@pytest.mark.parametrize("name", TEXT)
def test_text_that_is_no_category_is_refused_unless_kinds_says_that_it_is(name):
    values, message = TEXT[name]
    with pytest.raises(ValueError, match=re.escape(message)):
        nrm.mixture_model(table(b=values))
    model = nrm.mixture_model(table(b=values), kinds={"b": "categorical"})
    assert model.coords["categorical_feature"] == ("b",)
    nrm.mixture_model(table(b=pd.Categorical(values)))


def test_the_remedy_for_numbers_in_text_works():
    for name, call in (("one question mark", "x"), ("decimal commas", "x.str.replace(',', '.')")):
        df = table(b=TEXT[name][0])
        df["b"] = pd.to_numeric(eval(call, {"x": df["b"]}), errors="coerce")
        model = nrm.mixture_model(df, covariance="diagonal")
        assert model.coords["numeric_feature"] == ("length", "b")


def test_numbers_in_text_of_a_matrix():
    df = table(b=TEXT["one question mark"][0])
    for build in (nrm.gaussian_mixture, lambda df: nrm.mixture_model(df, kinds={"b": "numeric"})):
        with pytest.raises(TypeError, match=re.escape("pandas.to_numeric(df['b'], errors=")):
            build(df)


def test_text_that_repeats_is_a_category():
    for values in (["red", "blue", "1"] * 20, [f"city {k % 20}" for k in range(N)]):
        assert nrm.mixture_model(table(b=values)).coords["categorical_feature"] == ("b",)


IDENTIFIERS = 1000 + RNG.permutation(5 * N)[:N]
DOUBTFUL = {
    "codes": (RNG.integers(3, size=N), r"column 1 \(3 values\) is taken .* kinds=\{1: 'categorical'\}"),
    "scaled codes": (RNG.integers(3, size=N) / 7.0, r"column 1 \(3 values\) is taken .* as codes"),
    "ratings": (RNG.integers(1, 11, size=N), r"column 1 \(10 values\) is taken"),
    "identifiers": (IDENTIFIERS, r"column 1 \(60 values\) is taken .* names of rows .* leave them out"),
    "row numbers": (np.arange(N), "names of rows"),
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_a_matrix_of_numbers_that_may_be_codes_or_names_warns(name):
    values, message = DOUBTFUL[name]
    data = np.column_stack([LENGTH, values])
    for X in (data, pd.DataFrame(data)):
        with pytest.warns(UserWarning, match=message) as caught:
            nrm.gaussian_mixture(X)
        assert [warning.filename for warning in caught] == [__file__] * len(caught)


def test_identifiers_and_whole_codes_in_a_table_warn_unless_kinds_says_that_they_are_measured():
    df = table(b=IDENTIFIERS, c=(RNG.integers(3, size=N)).astype(float))
    with pytest.warns(UserWarning) as caught:
        nrm.mixture_model(df)
    assert [str(warning.message)[:27] for warning in caught] == [
        "column 'c' (3 values) is ta",
        "column 'b' (60 values) is t",
    ]
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nrm.mixture_model(df, kinds={"b": "numeric", "c": "numeric"})


def test_measurements_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nrm.gaussian_mixture(IDENTIFIERS)
        nrm.gaussian_mixture(np.column_stack([LENGTH.round(1), 1e20 * RNG.normal(size=N), RNG.integers(30, size=N)]))
        nrm.gaussian_mixture([[1.0], [2.0], [3.0]])


def test_names_of_columns_that_are_whole_numbers():
    df = pd.DataFrame({0: LENGTH, 1: [1, 2, 3] * 20, 2: 5.0})
    with pytest.raises(ValueError, match=r"column 2 has only one value.*df.drop\(columns=2\)"):
        nrm.mixture_model(df, kinds={1: "count"})
    df = df.drop(columns=2)
    with pytest.raises(ValueError, match=r"1 \(3 values from 1 to 3\).*kinds=\{1: \.\.\.\}"):
        nrm.mixture_model(df)
    with pytest.raises(ValueError, match=r"kinds must be of columns of df, \[0, 1\]; got \['1'\]"):
        nrm.mixture_model(df, kinds={"1": "count"})
    for kind in ("count", "categorical"):
        model = nrm.mixture_model(df, kinds={1: kind})
        assert model.coords["numeric_feature"] == ("0",) and model.coords[f"{kind}_feature"] == ("1",)
        assert nrm.table_data(model, df)[kind].shape == (N, 1)
