"""How columns of tables are read: values of all types, the kind that they suggest and why, and new rows alike."""

import datetime
import decimal
import logging
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import pymc_nrm as nrm
from pymc_nrm.recipes.messages import AllMessages

N = 60
RNG = np.random.default_rng(3)
LENGTH = RNG.normal(size=N)
NUMBERS = RNG.normal(size=N).round(2).astype(str)
CITIES = [f"city {k}" for k in RNG.integers(30, size=N)]


def repeated(*values):
    return (list(values) * N)[:N]


def table(**columns):
    return pd.DataFrame({"length": LENGTH, **columns})


WITH_ZEROS = np.arange(N) % 5 > 1
DAYS = pd.date_range("2026-01-01", periods=N)

# What a column holds, the kind that it suggests, and why.
KINDS = {
    "floats": (LENGTH, "numeric", "measurements"),
    "empty": (repeated(None), "skip", "no values"),
    "constant": (repeated(2.5), "skip", "only one value"),
    "constant text": (repeated("a", None), "skip", "only one value"),
    "different texts": ([f"p{k}" for k in range(N)], "skip", "a different text in every row"),
    "texts that hardly repeat": (CITIES, "skip", f"{len(set(CITIES))} different texts in 60 rows rarely repeat"),
    "row numbers": (list(range(1, N + 1)), "skip", "numbers the rows"),
    "shuffled row numbers": (RNG.permutation(N), "skip", "numbers the rows"),
    "lists": ([[k] for k in range(N)], "skip", "values of type list; neither numbers nor text"),
    "complex": (LENGTH + 1j, "skip", "values of type complex; neither numbers nor text"),
    "dates": (DAYS, "numeric", "days since 2026-01-01"),
    "dates in text": (DAYS.strftime("%Y-%m-%d"), "numeric", "dates in text, days since 2026-01-01"),
    "dates with slashes": (DAYS.strftime("%Y/%m/%d 12:30"), "numeric", "dates in text, days since 2026-01-01 12:30:00"),
    "few dates": (DAYS[:3].append([DAYS[:3]] * 19), "categorical", "few different dates"),
    "days of datetime": (DAYS.date, "numeric", "days since 2026-01-01"),
    "hours": (pd.date_range("2026-01-01", periods=N, freq="h"), "numeric", "seconds since 2026-01-01"),
    "zoned": (DAYS.tz_localize("Europe/Berlin"), "numeric", "days since 2025-12-31 23:00:00"),
    "months": (pd.period_range("2026", periods=N, freq="M"), "numeric", "days since 2026-01-01"),
    "spans": (pd.to_timedelta(np.arange(N) ** 2, "D"), "numeric", "days"),
    "numbers in text": (NUMBERS, "numeric", "numbers in text; measurements"),
    "decimal commas": ([x.replace(".", ",") for x in NUMBERS], "numeric", "numbers in text with decimal commas;"),
    "a question mark": (np.where(np.arange(N) == 7, "?", NUMBERS), "numeric", "became missing: '?' (1 row)"),
    "an infinite number": (np.where(np.arange(N) == 7, np.inf, LENGTH), "numeric", "became missing: inf (1 row)"),
    "codes in text": (repeated("1", "2", "3"), "categorical", "numbers in text; few different numbers"),
    "padded codes": (repeated("01", "02", "10"), "categorical", "text"),
    "booleans": (repeated(True, False, None), "binary", "booleans"),
    "zeros and ones": (repeated(0, 1, 1), "binary", "all 0 or 1"),
    "strings": (repeated("a", "b", None), "categorical", "text"),
    "blanks": (repeated("a", "b", " "), "categorical", "20 blank; text"),
    "several types": (repeated("a", 1, 2.5, "b"), "categorical", "values of several types, as text; text"),
    "intervals": (pd.cut(LENGTH, 3), "categorical", "in order; categories"),
    "few whole numbers": (repeated(1, 2, 3), "categorical", "few different numbers"),
    "few with gaps": (repeated(1, 2, None), "categorical", "few different numbers"),
    "incomes": (repeated(2500, 7500, 15_000, 35_000, 75_000), "categorical", "few different numbers"),
    "few fractions": (repeated(0.5, 1.5, 2.25), "categorical", "few different numbers"),
    "skewed": (np.exp(2 * LENGTH), "numeric", "measurements, skewed: 'positive' would model the logarithm"),
    "amounts and zeros": (WITH_ZEROS * np.exp(LENGTH), "zero or positive", "zero in 40% of the rows, positive"),
    "amounts, zeros and gaps": (
        np.where(np.arange(N) % 7 == 3, np.nan, WITH_ZEROS * np.exp(LENGTH)), "zero or positive", "of the rows"
    ),
    "counts and zeros": (WITH_ZEROS * (1 + np.arange(N) % 12), "zero or positive", "zero in 40% of the rows"),
    "Poisson counts": (RNG.poisson(1.5, N), "categorical", "few different numbers"),
    "few amounts and zeros": (WITH_ZEROS * repeated(5.0, 10.0, 20.0), "categorical", "few different numbers"),
    "decimals": ([decimal.Decimal(x) for x in NUMBERS], "numeric", "measurements"),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_the_kind_that_values_suggest(name):
    values, kind, why = KINDS[name]
    df = table(b=values)
    before = df.copy(deep=True)
    row = nrm.recipes.column_kinds(df).loc["b"]
    assert row["kind"] == kind and why in row["why"]
    pd.testing.assert_frame_equal(df, before)


def test_an_unknown_sign_among_numbers_does_not_make_a_column_of_few_numbers_text():
    """So do columns of breast cancer data that have a question mark in some rows."""
    row = nrm.recipes.column_kinds(table(b=np.where(np.arange(N) == 7, "?", repeated("1", "2", "10")))).loc["b"]
    assert row["kind"] == "categorical" and row["different"] == 3 and row["missing"] == 1


@pytest.mark.parametrize(
    ("name", "left_out"),
    [("id", True), ("patient_id", True), ("StudentID", True), ("Unnamed: 0", True), ("code", True), ("paid", False)],
)
def test_names_of_identifiers(name, left_out):
    df = table().assign(**{name: 1000 + 7 * RNG.permutation(N)})
    assert (nrm.recipes.column_kinds(df).loc[name, "kind"] == "skip") == left_out


def test_kinds_overrule_what_values_suggest():
    df = table(a=range(N), b=repeated("01", "02"), c=repeated(1, 2, 3), d=NUMBERS)
    model = nrm.mixture_model(
        df, kinds={"length": "skip", "a": "numeric", "b": "numeric", "c": "count", "d": "numeric"}
    )
    assert model.coords["numeric_feature"] == ("a", "b", "d") and model.coords["count_feature"] == ("c",)
    # Numbers in text are levels as they are written.
    levels = nrm.mixture_model(table(b=NUMBERS), kinds={"b": "categorical"}).coords["b_level"]
    assert levels == tuple(sorted(set(NUMBERS)))


def test_the_table_of_kinds_can_be_edited():
    df = table(a=repeated(1, 2, 3), b=repeated("x", "y"), c=range(N))
    kinds = nrm.recipes.column_kinds(df)
    assert kinds.index.tolist() == ["length", "a", "b", "c"] and kinds.index.name == "column"
    assert kinds.loc["a"].to_dict() == {
        "kind": "categorical", "why": "few different numbers", "different": 3, "missing": 0, "example": "1"
    }  # fmt: skip
    same, plain = nrm.mixture_model(df, kinds=kinds), nrm.mixture_model(df)
    assert same.str_repr() == plain.str_repr()
    kinds.loc["a", "kind"] = "count"
    for edited in (kinds, kinds.reset_index(), kinds["kind"].to_dict()):
        assert nrm.mixture_model(df, kinds=edited).coords["count_feature"] == ("a",)
    pd.testing.assert_frame_equal(nrm.recipes.column_kinds(df, kinds)[["kind"]], kinds[["kind"]])


def test_strict_asks_about_all_that_is_doubtful():
    df = table(a=repeated(1, 2, 3), b=repeated("x", "y"), c=range(N), d=DAYS, e=np.where(LENGTH > 0, np.inf, LENGTH))
    with pytest.raises(ValueError, match="strict=True needs an entry of kinds") as refusal:
        nrm.mixture_model(df, strict=True)
    for words in (
        "'a' (few different numbers; 'categorical' by",
        "'c' (numbers the rows; 'skip'",
        "'d' (days",
        "'e' (",
    ):
        assert words in str(refusal.value)
    assert "'b' (" not in str(refusal.value) and "'length' (" not in str(refusal.value)
    kinds = {"a": "count", "c": "skip", "d": "numeric", "e": "skip"}
    nrm.mixture_model(df, kinds=kinds, strict=True)


def test_a_table_of_which_nothing_is_left():
    df = pd.DataFrame({"a": range(N), "b": repeated(None), "c": [f"p{k}" for k in range(N)]})
    with pytest.raises(ValueError, match="all were left out") as refusal:
        nrm.mixture_model(df)
    for words in ("'a' (numbers the rows)", "'b' (no values)", "'c' (a different text in every row)"):
        assert words in str(refusal.value)


def test_one_block_and_at_most_one_warning(caplog):
    df = table(
        rounded=LENGTH.round(1), twice=2 * LENGTH + 1e-3 * RNG.normal(size=N), rating=repeated(1, 2, 3), row=range(N),
        text=np.where(np.arange(N) == 7, "?", NUMBERS), **{"a very long name " * 3: repeated("x", "y", None, "x")},
    )  # fmt: skip
    with caplog.at_level(logging.INFO), pytest.warns(UserWarning) as caught:
        nrm.mixture_model(df)
    (warning,) = caught
    assert warning.filename == __file__
    assert str(warning.message).startswith(
        "2 remarks on the columns:\n1. Entries that are not finite numbers or dates became"
    )
    assert "\n2. Columns that follow from others" in str(warning.message)
    (record,) = caplog.records
    block = record.getMessage().splitlines()
    assert max(map(len, block)) <= 100
    assert block[1].split() == ["column", "kind", "different", "missing", "why"]
    assert block[3].split()[:2] == ["rounded", "numeric"] and block[3].endswith("measurements; jittered by up to 0.05")
    assert block[9].startswith("Missing values are drawn with the clusters")


@pytest.mark.usefixtures("unbroken")
def test_remarks_on_columns_are_part_of_one_list():
    df = table(twice=2 * LENGTH + 1e-3 * RNG.normal(size=N), text=np.where(np.arange(N) == 7, "?", NUMBERS))
    with pytest.warns(UserWarning) as caught, AllMessages("messages"):
        nrm.mixture_model(df)
        logging.getLogger("pymc_nrm.run").warning("Chains disagree")
        warnings.warn("of PyMC", stacklevel=2)
    (warning,) = caught
    assert warning.filename == __file__
    lines = str(warning.message).splitlines()
    assert lines[0] == "4 messages:" and lines[3:] == ["3. Chains disagree", "4. of PyMC"]
    assert "not finite numbers" in lines[1] and "Leave out" in lines[2]


def one_line(warning):
    return " ".join(str(warning.message).split())


FEW = {(10, 40): True, (10, 39): False, (11, 219): False, (11, 220): True, (20, 400): True, (20, 399): False}


@pytest.mark.parametrize(("n_different", "n"), [*FEW, (21, 4000)])
@pytest.mark.parametrize("step", [1, 0.1])
def test_how_many_values_are_few(n_different, n, step):
    values = np.resize(3 + step * np.arange(n_different), n)
    kind = "categorical" if FEW.get((n_different, n)) else "numeric"
    assert nrm.recipes.column_kinds(pd.DataFrame({"a": values})).loc["a", "kind"] == kind


def test_whole_numbers_are_counts_where_one_poisson_cluster_is_likelier():
    """Measurements of the same mean that spread more are tiled by Poisson clusters."""
    rng = np.random.default_rng(4)
    counts, spread = rng.poisson(8, size=300), rng.normal(30, 15, size=300).round().clip(0)
    counts[0] = spread[0] = 0
    df = pd.DataFrame({"count": counts, "spread": spread, "far": counts + 100, "gaps": counts.astype(float)})
    df.loc[5, "gaps"] = np.nan
    assert nrm.recipes.column_kinds(df)["kind"].tolist() == ["count", "numeric", "numeric", "count"]
    # Few different values for their rows.
    assert nrm.recipes.column_kinds(pd.concat([df] * 2))["kind"].tolist()[0] == "categorical"


def test_columns_that_determine_each_other_warn():
    wages = np.exp(RNG.normal(size=N))
    df = table(
        country=repeated("Ayr", "Bath", "Cork"), code=repeated(3, 9, 1), other=repeated("Ayr", "Bath"),
        wage=wages, inverse=1 / wages, linear=3 * wages + 1e-9 * LENGTH,
    )  # fmt: skip
    with pytest.warns(UserWarning) as caught:
        nrm.mixture_model(df)
    (warning,) = caught
    text = (
        "the same information counts twice: 'country' and 'code', 'wage' and 'inverse'. Leave one of each out, such as"
    )
    assert text in one_line(warning) and "kinds={'code': 'skip'}" in one_line(warning)
    # Linear combinations have a warning of their own.
    assert "Linear combinations" in str(warning.message) or "'linear' from 'wage'" in str(warning.message)


def test_columns_that_are_functions_of_others_warn():
    rng = np.random.default_rng(6)
    age, town = rng.integers(20, 80, size=300), rng.integers(12, size=300)
    df = pd.DataFrame({
        "age": age, "group": pd.cut(age, [0, 30, 50, 99], labels=["young", "middle", "old"]),
        "town": np.array([f"town {k}" for k in range(12)])[town], "county": np.array(list("ABC"))[town % 3],
        "size": rng.normal(size=300),
        # By chance, or nearly: few others share a value with zero, and one row is an exception.
        "spent": np.where(age < 25, 0.0, rng.gamma(2.0, size=300)), "rare": np.arange(300) == 7,
        "nearly": np.where(np.arange(300) == 7, "none", np.array(["x", "y"])[town % 2]),
        # Groups that are apart determine nothing that was cut.
        "apart": rng.normal(40 * (np.arange(300) % 2)).round(1), "sex": np.array(["f", "m"])[np.arange(300) % 2],
    })  # fmt: skip
    with pytest.warns(UserWarning) as caught:
        nrm.mixture_model(df)
    (warning,) = caught
    assert "counts twice: 'group' of 'age', 'county' of 'town'. Leave one of each out, such as kinds={'group'" in (
        one_line(warning)
    )


@pytest.mark.usefixtures("unbroken")
def test_rows_of_a_unit_may_be_kept_together(caplog):
    """Units by the name of their column, and by what they determine; not those of a table whose rows are units."""
    rng = np.random.default_rng(7)
    subject, height = np.repeat(np.arange(24), 4), rng.normal(size=96)
    people = pd.DataFrame({"Subject": [f"M{k}" for k in subject], "height": height, "sex": np.repeat(["f", "m"], 48)})
    assert nrm.recipes.column_kinds(people).loc["Subject", "why"] == "an identifier by its name"
    towns = people.rename(columns={"Subject": "town"})
    with caplog.at_level(logging.INFO):
        nrm.mixture_model(people)
        with pytest.warns(UserWarning, match="'sex' of 'town'"):
            nrm.mixture_model(towns)
    assert "'Subject' has 24 values for 96 rows: together=df['Subject'] keeps rows of" in caplog.records[0].getMessage()
    assert "together=df['town']" in caplog.records[1].getMessage()
    caplog.clear()
    with caplog.at_level(logging.INFO):
        nrm.mixture_model(people, together=people["Subject"])
        nrm.mixture_model(people.assign(Subject=[f"M{k % 15}" for k in range(96)]))
    assert not any("together=" in record.getMessage() for record in caplog.records)


def test_levels_of_few_dates_are_dates():
    df = table(b=DAYS[:3].append([DAYS[:3]] * 19))
    model = nrm.mixture_model(df)
    assert [level[:10] for level in model.coords["b_level"]] == ["2026-01-01", "2026-01-02", "2026-01-03"]
    assert nrm.table_data(model, df.iloc[[2]])["categorical"].values.tolist() == [[2.0]]


def test_signs_at_some_numbers():
    """Amounts of which some have the sign of their currency take no other sign; shares beside per cent are doubtful."""
    x = np.random.default_rng(1).normal(10.0, size=N)
    amounts = [f"${v:.2f}" if i % 3 else f"{v:.2f}" for i, v in enumerate(x)]
    model = nrm.mixture_model(table(cost=amounts), jitter_ties=False)
    new = table(cost=amounts).iloc[:2]
    values = nrm.table_data(model, new.assign(cost=["$5", "6"]))["numeric"].sel(numeric_feature="cost")
    assert values.values.tolist() == [5.0, 6.0]
    for wrong in ("5%", "\u20ac5", "5 kg"):
        with pytest.raises(ValueError, match=re.escape(f"table of the model; got {wrong!r}")):
            nrm.table_data(model, new.assign(cost=[wrong, "6"]))
    shares = [f"{v / 100:.4f}" if i % 5 else f"{v:.2f}%" for i, v in enumerate(x)]
    with pytest.warns(UserWarning, match="column 'share': % stands at some numbers only"):
        nrm.mixture_model(table(share=shares), jitter_ties=False)


def test_new_rows_are_read_as_those_of_the_model():
    df = table(
        day=DAYS, price=[x.replace(".", ",") for x in NUMBERS], rating=repeated("1", "2", "3"),
        ok=repeated(True, False), size=pd.Categorical(repeated("big", "low"), ["low", "mid", "big"]),
    )  # fmt: skip
    model = nrm.mixture_model(df, covariance="diagonal")
    new = pd.DataFrame({
        "length": ["0.5", None], "day": [datetime.date(2026, 1, 11), None], "price": ["1,5", "2"], "rating": [2, None],
        "ok": [0, 1], "size": ["low", "big"],
    })  # fmt: skip
    data = nrm.table_data(model, new)
    np.testing.assert_array_equal(data["numeric"], [[0.5, 10.0, 1.5], [np.nan, np.nan, 2.0]])
    np.testing.assert_array_equal(data["categorical"], [[1.0, 0.0], [np.nan, 1.0]])
    np.testing.assert_array_equal(data["binary"], [[0.0], [1.0]])
    with pytest.raises(ValueError, match=r"column 'rating' must have levels .*\[1, 2, 3\]; got 4"):
        nrm.table_data(model, new.assign(rating=4))


# New entries of columns of numbers, of numbers in text with a question mark, and in kg; what is read, or a message.
NEW_ENTRIES = [
    ("plain", ["5,5", "6.1"], [np.nan, 6.1], "in column 'plain': '5,5' (1 row)"),
    ("plain", ["abc", "5.0", "abc"], [np.nan, 5.0, np.nan], "in column 'plain': 'abc' (2 rows)"),
    ("plain", ["5", " ", None, np.nan, pd.NA], [5.0, *[np.nan] * 4], None),
    ("text", ["?", "5"], [np.nan, 5.0], None),
    ("text", ["?", None], [np.nan, np.nan], None),
    ("text", ["-", "5"], [np.nan, 5.0], "in column 'text': '-' (1 row)"),
    ("mass", ["-", "5"], [np.nan, 5.0], "in column 'mass': '-' (1 row)"),
    ("plain", [np.inf, 1.0], None, "column 'plain' must be finite or missing; got inf"),
    ("text", ["-inf", "1"], None, "column 'text' must be finite or missing; got '-inf'"),
    ("plain", [10**400, 1], None, "column 'plain' must be finite or missing; got inf"),
    ("rating", [np.inf, 1.0], None, "column 'rating' must be finite or missing; got inf"),
    ("plain", ["5 mi", "6 mi"], None, "column 'plain' must be numbers without a unit, as in the table of the"),
    ("plain", ["6", "5 mi"], None, "without a unit, as in the table of the model; got '5 mi'"),
    ("plain", ["5%", "6"], None, "without a unit, as in the table of the model; got '5%'"),
    ("text", ["5 mi", "6 mi"], None, "without a unit, as in the table of the model; got '5 mi'"),
    ("mass", ["5 lb", "6 lb"], None, "column 'mass' must be in kg, as in the table of the model; got '5 lb'"),
    ("mass", ["5%", "6"], None, "column 'mass' must be in kg, as in the table of the model; got '5%'"),
]  # fmt: skip


@pytest.fixture(scope="module")
def model_of_numbers():
    question = np.where(np.arange(N) == 7, "?", NUMBERS)
    df = table(plain=RNG.normal(size=N), text=question, rating=repeated(1, 2, 3), mass=[f"{x} kg" for x in NUMBERS])
    with pytest.warns(UserWarning, match=r"'text': '\?'"):
        return nrm.mixture_model(df, covariance="diagonal")


@pytest.mark.parametrize(("name", "entries", "values", "message"), NEW_ENTRIES)
def test_entries_of_new_rows_that_are_not_numbers(name, entries, values, message, model_of_numbers, recwarn):
    """They are missing with a warning, or silently if they were missing in the table; other units are errors."""
    columns = {"length": "1.0", "plain": 1.0, "text": "1.0", "rating": 1, "mass": "1 kg"}
    new = pd.DataFrame(columns, index=range(len(entries))).assign(**{name: pd.Series(entries, dtype=object)})
    if values is None:
        with pytest.raises(ValueError, match=re.escape(message)):
            nrm.table_data(model_of_numbers, new)
        return
    data = nrm.table_data(model_of_numbers, new)["numeric"]
    np.testing.assert_array_equal(data.sel(numeric_feature=name), values)
    messages = [f"Entries of new rows that are not numbers or dates became missing, {message}"] if message else []
    assert [str(warning.message) for warning in recwarn] == messages
    assert all(warning.filename == __file__ for warning in recwarn)


def test_the_reading_is_kept_with_a_saved_model(tmp_path):
    import xarray as xr

    model = nrm.mixture_model(table(day=DAYS))
    posterior = xr.Dataset({"z": (("chain", "draw", "item"), np.zeros((1, 2, N), dtype=int))})
    nrm.save(xr.DataTree.from_dict({"posterior": posterior}), model, tmp_path / "model")
    _, loaded = nrm.load(tmp_path / "model")
    for day in ("2026-01-11", pd.Timestamp("2026-01-11")):
        data = nrm.table_data(loaded, pd.DataFrame({"length": [0.0], "day": [day]}))
        assert data["numeric"].values.tolist() == [[0.0, 10.0]]


def test_what_regressions_read():
    df = table(day=DAYS, row=range(N), y=NUMBERS)
    model = nrm.regression_model(df, target="y", covariance="diagonal")
    assert model.coords["numeric_feature"] == ("length", "day")
    with pytest.raises(ValueError, match=r"complete; columns \['a'\]"):
        nrm.regression_model(df.assign(a=np.where(np.arange(N) == 7, "?", NUMBERS)), target="y")


class OtherTable:
    """A table of another package, which pandas makes a DataFrame of."""

    def __init__(self, df):
        self.df = df

    def to_pandas(self):
        return self.df


class LazyTable:
    columns = ("length",)

    def collect(self):
        raise AssertionError


class ArrowTable:
    """A table of which pandas knows the interface alone."""

    def __arrow_c_stream__(self, requested_schema=None):
        raise NotImplementedError


def test_tables_of_other_packages(monkeypatch):
    df = table(b=repeated("x", "y"))
    for other in (OtherTable(df), {name: df[name].tolist() for name in df}):
        model = nrm.mixture_model(other)
        assert model.coords["numeric_feature"] == ("length",) and model.coords["b_level"] == ("x", "y")
        assert nrm.table_data(model, other)["categorical"].shape == (N, 1)
    assert nrm.gaussian_mixture(OtherTable(df[["length"]])).coords["x_feature"] == ("length",)
    monkeypatch.setattr(pd.DataFrame, "from_arrow", classmethod(lambda cls, table: df))
    assert nrm.recipes.column_kinds(ArrowTable())["kind"].tolist() == ["numeric", "categorical"]
    for recipe in (nrm.mixture_model, nrm.gaussian_mixture, nrm.recipes.column_kinds):
        with pytest.raises(TypeError, match=r"a table in memory; got LazyTable of .* collect\(\) first"):
            recipe(LazyTable())
        with pytest.raises(ValueError, match="columns of equal length"):
            recipe({"a": [1, 2], "b": [1]})


ARROW = {
    "string": (repeated("x", "y", None), "categorical"),
    "bool_": (repeated(True, False, None), "binary"),
    "int64": ([None, *range(0, 59 * 7, 7)], "numeric"),
    "float64": (LENGTH.tolist(), "numeric"),
    "date32": (DAYS.date.tolist(), "numeric"),
}


@pytest.mark.parametrize("name", ARROW)
def test_columns_in_the_types_of_arrow(name):
    pa = pytest.importorskip("pyarrow")
    values, kind = ARROW[name]
    column = pd.Series(values, dtype=pd.ArrowDtype(getattr(pa, name)()))
    plain = nrm.recipes.column_kinds(table(b=values)).loc["b"]
    found = nrm.recipes.column_kinds(table(b=column)).loc["b"]
    assert found["kind"] == kind and found[["kind", "different", "missing"]].equals(
        plain[["kind", "different", "missing"]]
    )
    model = nrm.mixture_model(table(b=column))
    pd.testing.assert_frame_equal(
        nrm.table_data(model, table(b=column))[kind].to_pandas(),
        nrm.table_data(model, table(b=values))[kind].to_pandas(),
    )


def test_nullable_types():
    for dtype, values, kind in (
        ("Int64", [None, *range(0, 59 * 7, 7)], "numeric"),
        ("boolean", repeated(True, None, False), "binary"),
    ):
        assert nrm.recipes.column_kinds(table(b=pd.array(values, dtype=dtype))).loc["b", "kind"] == kind
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nrm.mixture_model(table(b=pd.array(repeated("x", None, "y"), dtype="string")))
