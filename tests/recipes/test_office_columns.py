"""Columns as they are in spreadsheets of offices: units, groups of digits, typeset signs, dates, times, durations."""

import numpy as np
import pandas as pd
import pytest

import pymc_nrm as nrm
from pymc_nrm.posterior.describe_values import describe_column
from pymc_nrm.posterior.described_columns import Column
from pymc_nrm.recipes.reading.table import read_columns
from pymc_nrm_predictor.reading.column_contents import read_content

N = 40
V = np.random.default_rng(0).normal(70, 10, N).round(1)
DAYS = pd.Timestamp("2015-01-01") + pd.to_timedelta(np.random.default_rng(1).integers(0, 2000, N), unit="D")
CHANGES = V - 70.0

# Texts of the numbers V, or of changes; with the note.
NUMBERS = {
    "decimal comma and euro": ([f"{x:.1f} \u20ac".replace(".", ",") for x in V], V, "with decimal commas, in \u20ac"),
    "kilogram": ([f"{x:.1f} kg" for x in V], V, "in kg"),
    "no space": ([f"{x:.1f}cm" for x in V], V, "in cm"),
    "dollar before": ([f"$ {x:.1f}" for x in V], V, "in $"),
    "francs and apostrophes": ([f"CHF {1000 * x:,.0f}".replace(",", "'") for x in V], 1000 * V, "in CHF"),
    "no-break spaces": ([f"{100 * x:,.0f}".replace(",", "\u00a0") for x in V], 100 * V, "numbers in text"),
    "narrow spaces": ([f"{1e4 * x:,.0f}".replace(",", "\u202f") for x in V], 1e4 * V, "numbers in text"),
    "unicode minus": ([f"{x:.1f}".replace("-", "\u2212") for x in CHANGES], CHANGES, "numbers in text"),
    "brackets": ([f"({-x:.1f})" if x < 0 else f"{x:.1f}" for x in CHANGES], CHANGES, "numbers in text"),
    "degrees below zero": ([f"\u2212{x:.1f} \u00b0C" for x in V], -V, "in \u00b0C"),
    "brackets of accountants": ([f"(${-x:,.1f})" if x < 0 else f"${x:,.1f}" for x in CHANGES], CHANGES, "in $"),
    "brackets and unit": ([f"({-x:.1f} kg)" if x < 0 else f"{x:.1f} kg" for x in CHANGES], CHANGES, "in kg"),
    "bracketed number": ([f"({-x:.1f}) kg" if x < 0 else f"{x:.1f} kg" for x in CHANGES], CHANGES, "in kg"),
    "minus before the dollar": (
        [f"\u2212${-x:.1f}" if x < 0 else f"${x:.1f}" for x in CHANGES],
        CHANGES,
        "in $",
    ),
    "some per cent": ([f"{x:.1f}%" if i % 2 else f"{x:.1f}" for i, x in enumerate(V)], V, "numbers in text"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_read(name):
    texts, values, note = NUMBERS[name]
    content = read_content(pd.Series(texts, dtype=object))
    np.testing.assert_allclose(content.values, values, atol=1e-9 * np.abs(values).max())
    assert note in content.note and content.lost == ()
    kinds = nrm.recipes.column_kinds(pd.DataFrame({"x": texts}))
    assert kinds.loc["x", "kind"] == "numeric" and kinds.loc["x", "missing"] == 0


@pytest.mark.parametrize(
    "form",
    ["%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d %b %Y", "%d. %B %Y", "%B %d, %Y", "%d-%b-%Y", "%d.%m.%Y %H:%M", "%Y%m%d"],
)
def test_dates_of_one_format_are_days(form):
    content = read_content(pd.Series(DAYS.strftime(form), dtype=object))
    np.testing.assert_array_equal(content.values, (DAYS - DAYS.min()).days)
    assert content.note.startswith("dates in text, days since 2015-") and content.remark == ""


def test_months_are_days_since_the_first():
    content = read_content(pd.Series(DAYS.strftime("%b %Y"), dtype=object))
    months = DAYS.to_period("M").to_timestamp()
    np.testing.assert_array_equal(content.values, (months - months.min()).days)


def test_order_of_day_and_month_that_nothing_decides_is_told():
    texts = [f"{i % 12 + 1:02d}/{(5 * i) % 12 + 1:02d}/201{i % 3}" for i in range(N)]
    content = read_content(pd.Series(texts, dtype=object))
    assert content.remark == "month first, as day first fits too: parse it by pd.to_datetime to be sure"
    decided = read_content(pd.Series([*texts, "25/01/2012"], dtype=object))
    assert decided.remark == "" and decided.rule.format == "%d/%m/%Y"


def test_times_and_durations():
    clock = read_content(pd.Series(["08:30", "23:05", None, "0:10"] * 10, dtype=object))
    np.testing.assert_array_equal(clock.values[:4], [510.0, 1385.0, np.nan, 10.0])
    assert "where the day has an edge" in clock.note and clock.rule.shown_unit == "min"
    lasted = read_content(pd.Series(["1:02:03", "0:00:10", "26:00:00"] * 10, dtype=object))
    np.testing.assert_array_equal(lasted.values[:3], [3723.0, 10.0, 93600.0])


# Texts that are not measurements.
TEXTS = {
    "codes": [f"0{10115 + i}" for i in range(N)],
    "ages": [f"{10 * (i % 6)}-{10 * (i % 6) + 9} years" for i in range(N)],
    "two currencies": [f"${x:.1f}" if i % 2 else f"\u20ac{x:.1f}" for i, x in enumerate(V)],
    "amounts and shares": [f"${x:.1f}" if i % 2 else f"{x:.1f} %" for i, x in enumerate(V)],
    "two units": [f"{x:.1f} kg" if i % 2 else f"{1000 * x:.0f} g" for i, x in enumerate(V)],
    "telephones": [f"{555 + i % 3} {1234 + i}" for i in range(N)],
    "ordinals": [["1st", "2nd", "3rd", "4th"][i % 4] for i in range(N)],
    "at least": [f"{i % 5}+" for i in range(N)],
    "groups": [f"group {i % 3}" for i in range(N)],
    "versions": [f"1.{i % 4}.{i % 3}" for i in range(N)],
    "months without years": [["Jan", "Feb", "Mar"][i % 3] for i in range(N)],
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_stay_texts(name):
    content = read_content(pd.Series(TEXTS[name], dtype=object))
    assert content.form == "levels" and content.levels == tuple(sorted(set(TEXTS[name])))


def model_of(**columns):
    return nrm.mixture_model(pd.DataFrame({"x": V, **columns}), covariance="diagonal", jitter_ties=False)


def test_new_rows_are_read_alike():
    model = model_of(weight=[f"{x:.1f} kg".replace(".", ",") for x in V], since=DAYS.strftime("%d.%m.%Y"))
    new = pd.DataFrame({"x": [1.0, 2.0], "weight": ["1.234,5 kg", "7,5"], "since": ["01.02.2015", "03.01.2016"]})
    found = nrm.table_data(model, new)["numeric"].values
    expected = (pd.to_datetime(["2015-02-01", "2016-01-03"]) - DAYS.min()).days
    np.testing.assert_allclose(found[:, 1:], np.column_stack([[1234.5, 7.5], expected]))
    with pytest.raises(ValueError, match="column 'weight' must be in kg, as in the table of the model; got '900 g'"):
        nrm.table_data(model, new.assign(weight=["900 g", "7,5 kg"]))
    with pytest.raises(TypeError, match="column 'since' must hold numbers to be numeric; got text"):
        nrm.table_data(model, new.assign(since=["2015/02/01", "13th of May"]))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (TEXTS["two units"], r"column 'y': left out as text, although most entries have digits, such as '.* g'"),
        (
            [["S\u00fcd", "S\u00fcd ", "s\u00fcd"][i % 3] for i in range(N)],
            "levels that differ by capital letters alone",
        ),
        (
            [*NUMBERS["kilogram"][0][:-1], "70 lb"],
            "Entries that are not finite numbers or dates became missing.*'70 lb'",
        ),
        ([*NUMBERS["kilogram"][0][:-1], "70 %"], "Entries that are not finite numbers or dates became missing.*'70 %'"),
    ],
    ids=["two units", "capital letters", "another unit", "per cent"],
)
def test_what_looks_wrong_is_a_warning(texts, message):
    with pytest.warns(UserWarning, match=message):
        model_of(y=texts)


@pytest.mark.parametrize("texts", [[f"AB-{i:04d}" for i in range(N)], [f"user{i}" for i in range(N)]])
def test_codes_are_left_out_without_a_warning(texts, recwarn):
    model_of(y=texts)
    assert not [warning for warning in recwarn if "left out" in str(warning.message)]


def test_units_are_in_descriptions():
    import xarray as xr

    labels = (V > 70).astype(int)
    model = model_of(weight=[f"{x:.1f} kg" for x in V], start=[f"{8 + 6 * k}:{i:02d}" for i, k in enumerate(labels)])
    posterior = xr.Dataset({"z": (("chain", "draw", "item"), np.tile(labels, (1, 3, 1)))})
    description = nrm.describe(posterior, model, labels)
    assert (
        description.cells["weight"].str.endswith(" kg").all() and description.cells["start"].str.endswith(" min").all()
    )
    assert " kg (" in description.entries[0]


def exported(number, form):
    """A table as a spreadsheet of a country writes it."""
    rent, change = 12.5 * V, CHANGES
    return pd.DataFrame(
        {
            "rent": [number(f"{x:,.2f}") for x in rent],
            "change": [number(f"{x:.1f}") for x in change],
            "since": DAYS.strftime(form),
            "kind": np.where(V > 70, "house", "flat"),
        }
    )


EXPORTS = {
    "german": (lambda text: text.translate({ord(","): ".", ord("."): ","}) + " \u20ac", "%d.%m.%Y"),
    "french": (lambda text: text.translate({ord(","): "\u202f", ord("."): ","}) + " \u20ac", "%d/%m/%Y"),
    "american": (lambda text: f"-${text[1:]}" if text.startswith("-") else f"${text}", "%m/%d/%Y"),
}


@pytest.mark.parametrize("country", EXPORTS)
def test_exports_of_three_countries_are_one_table(country):
    plain = pd.DataFrame({"rent": (12.5 * V).round(2), "change": CHANGES.round(1), "since": DAYS})
    expected = nrm.mixture_model(plain.assign(kind=np.where(V > 70, "house", "flat")), jitter_ties=False)
    model = nrm.mixture_model(exported(*EXPORTS[country]), jitter_ties=False)
    assert [rv.name for rv in model.observed_RVs] == [rv.name for rv in expected.observed_RVs]
    for rv in model.observed_RVs:
        found, wanted = (m.rvs_to_values[m[rv.name]].eval() for m in (model, expected))
        np.testing.assert_allclose(found, wanted, atol=1e-9)


THOUSANDS = np.array([806, 229, 2750, 812, 569, 2391, 1204, 988, 3015, 640] * 4)
POINTS, COMMAS = ([f"{x:,}".replace(",", sign) for x in THOUSANDS] for sign in ".,")
CLOCK = [f"{h:02d}:{m:02d}" for h, m in np.random.default_rng(2).integers(0, [24, 60], size=(N, 2))]


def remarks_of(readings):
    return [reading.remark for reading in readings]


def test_groups_of_three_digits_beside_numbers_without_them():
    """Numbers that are rounded to three decimals hardly ever lack them; those of four digits have no groups."""
    for texts in (POINTS, COMMAS):
        content = read_content(pd.Series(texts, dtype=object))
        np.testing.assert_array_equal(content.values, THOUSANDS)
        assert f"{texts[2]!r} is read as 2750" in content.note and content.remark == ""
    plain = read_content(pd.Series([*POINTS[2:3] * 3, "2750", "1204"], dtype=object))
    np.testing.assert_array_equal(plain.values, [2.75] * 3 + [2750.0, 1204.0])


@pytest.mark.parametrize(
    ("text", "value", "remark"), [("3,148", 3148.0, "although 3.148 fits"), ("3.148", 3.148, "although 3148 fits")]
)
def test_three_digits_after_each_sign_are_a_guess_that_is_told(text, value, remark):
    [reading] = read_columns(pd.DataFrame({"x": [text, text[:-1] + "9"] * 20}), {"x": "numeric"})
    assert f"{text!r} is read as {value:g}, {remark}" in reading.remark
    np.testing.assert_allclose(reading.values(pd.Series([text])), value)


def test_other_columns_tell_decimals_from_groups():
    price = [f"{x:.2f}".replace(".", ",") for x in V]
    [count, _] = readings = read_columns(
        pd.DataFrame({"count": ["3.148", "2.750"] * 20, "price": price}), {"count": "numeric"}
    )
    assert remarks_of(readings) == ["", ""]
    np.testing.assert_array_equal(count.values(pd.Series(["3.148"])), [3148.0])
    # The other way round, and where columns disagree.
    [count, _] = read_columns(
        pd.DataFrame({"count": ["3.148", "2.750"] * 20, "price": [f"{x:.2f}" for x in V]}), {"count": "numeric"}
    )
    np.testing.assert_array_equal(count.values(pd.Series(["3.148"])), [3.148])


def test_text_among_stored_numbers_has_their_size():
    for factor, value in ((1.0, 10.126), (1000.0, 10126.0)):
        stored = pd.Series([*(factor * V / 7).round(3), "10,126"], dtype=object)
        content = read_content(stored)
        assert content.values[-1] == value and "fits too" in content.remark


def test_times_of_the_day_keep_their_unit_whatever_their_type():
    times = [pd.Timestamp(text).time() for text in CLOCK]
    spans = pd.Series(pd.to_timedelta([f"{text}:00" for text in CLOCK]))
    columns = pd.Series(CLOCK, dtype=object), pd.Series(times, dtype=object), spans
    for first, unit in zip(columns, (60.0, 1.0, 1.0), strict=True):
        rule = read_content(first).rule
        for other in columns:
            np.testing.assert_allclose(read_content(other, rule).values, spans.dt.total_seconds() / unit)


def test_a_column_of_several_types_is_of_the_most_frequent_one():
    moment, days = pd.Timestamp("2024-05-03"), list(DAYS)
    of_numbers = read_content(pd.Series([*V, moment], dtype=object))
    assert of_numbers.form == "numbers" and of_numbers.lost == ("2024-05-03 00:00:00",)
    of_dates = read_content(pd.Series([*days, "unknown", 7.0], dtype=object))
    assert of_dates.form == "dates" and of_dates.lost == ("unknown", "7.0")
    # Dates that are text among others are dates.
    also = read_content(pd.Series([*days, "2015-03-04"], dtype=object))
    assert also.lost == () and also.values[-1] == (pd.Timestamp("2015-03-04") - DAYS.min()).days
    [reading] = read_columns(pd.DataFrame({"x": [[1], {2}] * 20}))
    assert reading.kind == "skip" and reading.remark == "left out, as it has values of type list, set"


@pytest.mark.parametrize("error", ["#DIV/0!", "#N/A", "#WERT!"])
def test_errors_of_spreadsheets_are_missing_among_numbers_dates_and_levels(error):
    for texts in ([f"{x:.1f}" for x in V], [f"{x:.1f} kg" for x in V], DAYS.strftime("%d.%m.%Y"), list("abcd") * 10):
        with_error, without = (read_content(pd.Series([first, *texts], dtype=object)) for first in (error, None))
        assert with_error.lost == (error,) and with_error.rule == without.rule
        assert pd.Series(with_error.values).equals(pd.Series(without.values))


def test_long_whole_numbers_are_names_if_doubles_would_make_them_equal():
    names = np.array([2**53, 2**53 + 1, 2**53 + 11])
    for column in (pd.Series(names), pd.Series(names, dtype="Int64"), pd.Series(names.tolist(), dtype=object)):
        assert read_content(column).levels == tuple(map(str, names))
    moments = read_content(pd.Series(10**18 + 10**9 * np.arange(30) + 7))
    assert moments.form == "numbers" and (np.diff(moments.values) > 0).all()
    assert read_content(pd.Series([1e18, 1e19, 1e20] * 5)).levels == (10**18, 1e19, 1e20)


def test_words_and_placeholders_among_dates_are_missing():
    for form in ("%Y-%m-%d", "%d.%m.%Y"):
        texts = [*DAYS.strftime(form), "n/a", pd.Timestamp("9999-12-31").strftime(form)]
        content = read_content(pd.Series(texts, dtype=object))
        np.testing.assert_array_equal(content.values, [*(DAYS - DAYS.min()).days, np.nan, np.nan])
        assert set(content.lost) == {"n/a", "9999-12-31"}
    stored = read_content(pd.Series([*DAYS, pd.Timestamp("9999-12-31")]))
    assert stored.lost == ("9999-12-31",) and np.nanmax(stored.values) < 2001


def test_means_of_dates_are_dates():
    labels = np.arange(N) % 2
    rule = read_content(pd.Series(DAYS)).rule
    values = np.where(labels, 100.0, 20.0)
    described = describe_column(Column("x", "number", None, values, dates=rule), labels)
    early, late = (f"{DAYS.min() + pd.Timedelta(days=k):%Y-%m-%d}" for k in (20, 100))
    assert described.apart == [f"early {early} ({late})", f"late {late} ({early})"]
    assert described.cells == [f"{early} ± 0 days", f"{late} ± 0 days"]
    assert described.statistics["mean"].tolist() == [20.0, 100.0]
