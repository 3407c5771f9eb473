"""Time series in all forms that users have: what is guessed is said, and what is ambiguous is refused by name."""

import logging

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.common.dates import written_times
from pymc_nrm.posterior.draws import check_same_model
from pymc_nrm.posterior.layout import MixtureLayout
from pymc_nrm.states.posterior.next_times import next_times
from pymc_nrm.states.recipes.rows_of_times import rows_of_times
from pymc_nrm.states.recipes.time_series import read_time_series
from tests.helpers import refused

N = 12
VALUES = np.random.default_rng(1).normal(size=N)
DAYS = pd.date_range("2020-01-30", periods=N, freq="D")
SERIES = pd.Series(VALUES, DAYS, name="rate")
WHO, DAY = np.repeat(["b", "a"], N // 2), pd.Timedelta("1D")
PANEL = pd.DataFrame({"rate": VALUES, "who": WHO}, np.tile(DAYS[: N // 2], 2))
TIED = pd.DataFrame({"time": 1990 + np.arange(N).round(3) / 12, "row": np.arange(1, N + 1), "rate": VALUES})
QUARTERS = pd.date_range("2000-04-01", periods=N, freq="QS")
QUARTERLY = pd.DataFrame({"Year": QUARTERS.year, "qtr": QUARTERS.quarter, "rate": VALUES})
SHUFFLED = np.random.default_rng(2).permutation(N)


def with_times(times):
    return pd.Series(VALUES, times, name="rate")


# A series, the times and values that are read, and what the log says.
FORMS = {
    "dates": (SERIES, DAYS, ""),
    "dates, the latest first": (SERIES[::-1], DAYS, "Rows are sorted by time"),
    "years out of order": (with_times(range(1990, 1990 + N)).iloc[SHUFFLED], range(1990, 1990 + N), "Rows are sorted"),
    "dates in text": (with_times(DAYS.strftime("%Y-%m-%d")).iloc[SHUFFLED], DAYS, "Rows are sorted by time"),
    "months in text": (
        with_times(pd.date_range("2020", periods=N, freq="MS").strftime("%Y-%m")),
        pd.date_range("2020", periods=N, freq="MS"),
        "",
    ),
    "other text": (with_times(DAYS.strftime("%d. %m.")), DAYS.strftime("%d. %m."), "neither dates nor numbers"),
    "periods": (with_times(DAYS.to_period("D")), DAYS, ""),
    "a zone": (SERIES.tz_localize("Europe/Berlin"), DAYS, "zone Europe/Berlin are kept as local times"),
    "the hour that repeats": (
        with_times(pd.date_range("2020-10-25", periods=N, freq="h", tz="Europe/Berlin")),
        pd.date_range("2020-10-24 22:00", periods=N, freq="h"),
        "kept as UTC",
    ),
    "a column of dates": (
        pd.DataFrame({"day": DAYS, "rate": VALUES}).iloc[SHUFFLED],
        DAYS,
        "Column 'day' says when the rows were.",
    ),
    "a column of periods": (pd.DataFrame({"day": DAYS.to_period("D"), "rate": VALUES}), DAYS, "Column 'day' says when"),
    "a column of text": (pd.DataFrame({"day": DAYS.strftime("%Y/%m/%d"), "rate": VALUES}), DAYS, "Column 'day' says"),
    "a column that counts": (TIED, TIED["time"], "Column 'time' says when the rows were.*Left out: 'row'"),
    "a column with a zone": (
        pd.DataFrame({"day": DAYS.tz_localize("Europe/Berlin"), "rate": VALUES}),
        DAYS,
        "Column 'day' says.*zone Europe/Berlin are kept as local times",
    ),
    "text with offsets": (
        with_times([f"{day:%Y-%m-%d}T01:00:00+01:00" for day in DAYS]),
        DAYS,
        "Times with a difference from UTC are kept as UTC",
    ),
    "years and quarters": (QUARTERLY.iloc[SHUFFLED], QUARTERS, "Columns 'Year', 'qtr' say when the rows were"),
    "years and months": (
        pd.DataFrame({"month": [1.0, 2.0] * 6, "year": np.repeat(range(2000, 2006), 2), "rate": VALUES}),
        [pd.Timestamp(year, month, 1) for year in range(2000, 2006) for month in (1, 2)],
        "Columns 'month', 'year' say when.*not equally spaced",
    ),
    "years, quarters and months": (
        QUARTERLY.assign(month=QUARTERS.month),
        QUARTERS,
        "Columns 'Year', 'qtr', 'month' say when",
    ),
    "numbers in text": (with_times(DAYS).map("{:.6f} %".format), DAYS, "Column 'rate': numbers in text"),
    "whole numbers with gaps": (
        with_times([*range(N - 1), 15]),
        [*range(N - 1), 15],
        "4 of 16 times by steps of 1 have no row",
    ),
    "years in floats with gaps": (
        with_times([*range(1990, 1989 + N), 2005.0]),
        [*range(1990, 1989 + N), 2005.0],
        "4 of 16 times by steps of 1 have no row",
    ),
    "days without spacing": (
        with_times(pd.DatetimeIndex([*DAYS[:-1], "2023-01-01"])),
        [*DAYS[:-1], pd.Timestamp("2023-01-01")],
        "Times are not equally spaced",
    ),
    "DataArray": (xr.DataArray(VALUES, {"t": DAYS}, "t", "rate"), DAYS, ""),
    "array": (VALUES, range(N), ""),
}


@pytest.mark.parametrize("name", FORMS)
def test_times_of_forms(name, caplog):
    series, times, said = FORMS[name]
    caplog.set_level("INFO", "pymc.nrm_recipes")
    read = read_time_series(series)
    assert read.times.tolist() == list(times) and read.starts.tolist() == [True] + [False] * (N - 1)
    np.testing.assert_allclose(read.table.to_numpy()[:, 0], VALUES, atol=1e-6)
    assert read.table.columns.tolist() == (["x"] if name == "array" else ["rate"])
    log = " ".join(caplog.text.split())
    assert pd.Series(log).str.contains(said).all() if said else not log


SEQUENCES = {
    "a Series in another order": (SERIES, pd.Series(WHO, DAYS)[::-1]),
    "a Series beside an array": (VALUES, pd.Series(WHO, DAYS)[::-1].set_axis(range(N))[::-1]),
    "a column": (PANEL, "who"),
    "a column, sorted by time": (PANEL.iloc[np.arange(N).reshape(2, -1).T.ravel()], "who"),
    "a column, sorted within sequences": (PANEL.iloc[[*range(5, -1, -1), *range(6, 12)]], "who"),
    "a column, in order of years": (
        PANEL.assign(year=np.tile(range(1990, 1990 + N // 2), 2)).sort_values("year").reset_index(drop=True),
        "who",
    ),
    "a level of the index": (PANEL.set_index("who", append=True), "who"),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_labels_of_sequences(name):
    read = read_time_series(*SEQUENCES[name])
    assert read.sequences.tolist() == WHO.tolist() and np.flatnonzero(read.starts).tolist() == [0, N // 2]
    np.testing.assert_array_equal(read.table.iloc[:, 0], VALUES)


def test_gaps_of_several_sequences_are_said_in_one_line(caplog):
    caplog.set_level("INFO", "pymc.nrm_recipes")
    days = [*DAYS[[0, 1, 3, 5]], *DAYS[:4], *DAYS[[0, 1, 11]], DAYS[0]]
    read_time_series(pd.Series(VALUES, pd.DatetimeIndex(days)), np.repeat(["a", "b", "c", "d"], [4, 4, 3, 1]))
    [record] = caplog.records
    text = " ".join(record.getMessage().split())
    assert "Times of sequence 'c' are not equally spaced" in text
    assert "2 of 6 times of sequence 'a' by the frequency 'D' have no row" in text
    caplog.clear()
    read_time_series(PANEL, "who")
    assert not caplog.records


@pytest.mark.parametrize(
    "change",
    [
        {"Year": 2000 + np.arange(N) // 6},
        {"qtr": np.arange(N) % 6},
        {"Year": QUARTERS.year + 0.5},
        {"Year": np.arange(1, N + 1) ** 2},
        {"year": QUARTERS.year},
        {"month": np.roll(QUARTERS.month, 1)},
    ],
)
def test_years_and_quarters_that_are_no_dates_are_data(change):
    read = read_time_series(QUARTERLY.assign(**change))
    assert read.times.dtype.kind == "i" and {"Year", "qtr", "rate"} <= {*read.table}


def test_a_column_of_dates_comes_before_years_and_quarters():
    read = read_time_series(QUARTERLY.assign(date=QUARTERS + DAY))
    assert read.times.tolist() == (QUARTERS + DAY).tolist() and {"Year", "qtr"} <= {*read.table}


def test_years_and_quarters_of_sequences():
    table = pd.concat([QUARTERLY.assign(who=who) for who in "ba"])
    for shuffled in (table, table.sample(frac=1.0, random_state=1)):
        read = read_time_series(shuffled.reset_index(drop=True), "who")
        assert read.times.tolist() == [*QUARTERS] * 2 and [*read.table] == ["rate"]
    assert {"Year", "qtr"} <= {*read_time_series(table.drop(columns="who").reset_index(drop=True)).table}


test_what_cannot_be_read = refused(
    read_time_series,
    (with_times([*range(N - 1), 3]), None, r"one row for each time; rows 3 and 11 are both of 3\. Keep one"),
    (SERIES.iloc[[*range(N), 3, 4]], None, r"rows 3 and 12 are both of 2020-02-02 \(and 1 more\)"),
    (PANEL.set_axis([0, 1, 2, 3, 4, 2, *range(6)]), "who", "for each time of a sequence; rows 2 and 5 are both of 2"),
    (with_times([*DAYS[:-1], pd.NaT]), None, "series must have a time for each row; row 11 has none"),
    (SERIES, ["a", "b"] * 6, "sequences must keep the rows of a sequence together; 'a' returns at row 2"),
    (SERIES, pd.Series(WHO), "sequences must have the index of series.*no label at 2020-01-30, .* and 9 more"),
    (SERIES, pd.Series(WHO, DAYS)[:-1], "no label at 2020-02-10. sequences.to_numpy"),
    (SERIES, pd.Series("a", [*DAYS, DAYS[1]]), "it has several labels at 2020-01-31"),
    (SERIES, [1.5] * N, TypeError, "sequences must be whole numbers or strings; got 1.5"),
    (SERIES, [None] * N, "sequences must have no missing labels; got 12 missing"),
    (
        PANEL.set_index("who", append=True),
        None,
        "got levels \\[None, 'who'\\]. sequences='who' takes labels from a level",
    ),
    (SERIES * 0.0, None, "series must have columns that vary; column 'rate' has the only value 0$"),
    (pd.DataFrame({"a": SERIES, "b": np.nan}), None, "vary; column 'b' has no values. Leave it out"),
    (np.ones(N), None, "series must have columns that vary; column 'x' has the only value 1"),
    (SERIES.replace(SERIES.iloc[2], np.inf), None, r"finite numbers, .*; column 'rate' has inf \(1 row\)"),
    (np.where(np.arange(N) == 3, -np.inf, VALUES), None, "finite numbers, .*; row 3 has -inf"),
    (
        pd.DataFrame({"a": np.sin(np.arange(30)), "b": [f"word {k}" for k in range(30)]}),
        None,
        "columns of numbers, categories or booleans; got text with more than 20 different values in ",
    ),
    (pd.DataFrame({"a": SERIES, "d": DAYS}), None, r"got dates in \['d'\]. .* series.set_index\('d'\)"),
)


def test_warnings_name_what_hidden_states_have():
    with pytest.warns(UserWarning, match=r"(?s)over\s+HiddenStates takes counts with PoissonGamma"):
        nrm.states.regime_model(np.repeat([3, 0, 2], 8))
    years = pd.DataFrame({"year": np.cumsum(np.tile([1, 2], 15)), "rate": np.random.default_rng(1).normal(size=30)})
    with pytest.warns(UserWarning, match=r"(?s)'year' \(30 values\) is taken.*series.set_index\('year'\)\s+makes"):
        nrm.states.regime_model(years)


def test_growth_is_warned_of():
    with pytest.warns(UserWarning, match=r"(?s)column 'x' never decreases.*series.diff\(\)"):
        nrm.states.regime_model(np.arange(N) ** 2.0)
    with pytest.warns(UserWarning, match="column 'x' never decreases"):
        nrm.states.regime_model(np.where(np.arange(2 * N) % 3 == 1, np.nan, np.arange(2 * N) ** 2.0))


def test_rows_are_found_at_times():
    assert rows_of_times(SERIES[::-1], DAYS[2:]).tolist() == VALUES[2:].tolist()
    assert rows_of_times(SERIES.tz_localize("UTC"), DAYS[2:].to_numpy()).tolist() == VALUES[2:].tolist()
    for data in (SERIES.reset_index(drop=True), SERIES[:-1], VALUES):
        assert rows_of_times(data, DAYS) is data


LABELLED = pd.DataFrame({"rate": VALUES, "who": WHO, "day": np.tile(DAYS[: N // 2], 2)})
SOURCES = {
    "columns": LABELLED,
    "whole numbers": LABELLED.assign(who=np.repeat([2.0, 1.0], N // 2)),
    "an index of times": LABELLED.set_index("day"),
    "two levels of the index": LABELLED.set_index(["who", "day"]),
    "a Series": LABELLED.set_index(["who", "day"])["rate"],
    "more rows": pd.concat(
        [LABELLED, LABELLED[:6].assign(who="c"), LABELLED.assign(day=LABELLED["day"].add(DAYS[9] - DAYS[0]))]
    ),
}


@pytest.mark.parametrize("name", SOURCES)
def test_rows_of_several_sequences_are_found_in_any_order(name):
    data = SOURCES[name].iloc[np.random.default_rng(1).permutation(len(SOURCES[name]))]
    who = np.repeat(["2", "1"], N // 2).astype(object) if name == "whole numbers" else WHO.astype(object)
    rows = rows_of_times(data, LABELLED["day"].to_numpy(), who)
    assert np.ravel(rows).tolist() == VALUES.tolist()


def test_rows_of_several_sequences_without_labels_must_be_in_order():
    times, who = LABELLED["day"].to_numpy(), WHO.astype(object)
    rate, values = LABELLED.drop(columns="who"), LABELLED["rate"]
    for labels in (who, None):
        assert [*rows_of_times(rate, times, labels)] == ["rate"] and rows_of_times(values, times, labels) is values
        for unit in ("us", "ns"):
            assert [*rows_of_times(rate, times.astype(f"datetime64[{unit}]"), labels)] == ["rate"]
            with pytest.raises(ValueError, match="row 1 is of 2020-01-30, and of 2020-01-31 in the draws"):
                rows_of_times(rate.sort_values("day"), times.astype(f"datetime64[{unit}]"), labels)


def test_times_that_may_be_labels_are_refused():
    who, day = np.divmod(np.arange(9), 3)
    table = pd.DataFrame({"who": who, "day": day, "rate": VALUES[:9]})
    for data in (table, table.sort_values("day"), table.set_index(["who", "day"])):
        with pytest.raises(ValueError, match="must tell times from labels of sequences"):
            rows_of_times(data, day, who.astype(str).astype(object))
    assert rows_of_times(table[["rate"]], day, who.astype(str).astype(object)).shape == (9, 1)
    dated = table.assign(day=DAYS[day])
    rows = rows_of_times(dated.sort_values("day"), DAYS[day], who.astype(str).astype(object))
    assert np.ravel(rows).tolist() == VALUES[:9].tolist()


def test_draws_have_the_labels_of_their_sequences(tmp_path):
    """A picture of a panel that the model has sorted has its data at their times, of a result from a file, too."""
    model = nrm.states.regime_model(LABELLED.sort_values("day", kind="stable"), sequences="who")
    marks = model["z"].owner.op.kind.marks() | {"partition": "z"}
    assert marks["sequence_labels"] == ["b", "a"]
    labels = (("chain", "draw", "time"), np.zeros((1, 2, N), dtype=int), marks)
    idata = xr.DataTree.from_dict({"posterior": xr.Dataset({"z": labels}, {"time": LABELLED["day"].to_numpy()})})
    idata.to_netcdf(tmp_path / "draws.nc")
    for draws in (idata, xr.open_datatree(tmp_path / "draws.nc")):
        picture = nrm.states.plots.plot_state_sequence(draws, data=LABELLED.sort_values("day"), backend="none")
        ticks = picture.viz["xticks"]["data"].item()
        assert (ticks["ticks"].tolist(), ticks["labels"]) == ([2.5, 8.5], ["b", "a"])
        assert picture.viz["xlabel"]["data"].item()["string"] == "time, one sequence after the other"
        drawn = picture.viz["data"]["data"].item()["y"]
        np.testing.assert_array_equal(drawn[~np.isnan(drawn)], VALUES)


def test_sequences_end_in_all_panels():
    labels = np.zeros((1, 2, 6), dtype=int)
    draws = xr.DataArray(labels, dims=("chain", "draw", "time"), name="z", attrs={"sequence_starts": [0, 2, 5]})
    picture = nrm.states.plots.plot_state_sequence(draws, data=np.ones((6, 2)), backend="none")
    assert [line["x"] for line in picture.viz["starts"]["data"].values] == [4.5, 4.5]


def test_values_between_missing_ones_are_points():
    draws = xr.DataArray(np.zeros((1, 2, 6), dtype=int), dims=("chain", "draw", "time"), name="z")
    draws.attrs["sequence_starts"] = [0, 5]
    values = np.array([[1.0, np.nan, 2.0, np.nan, 3.0, 4.0], [1.0, 2.0, np.nan, 3.0, 4.0, np.nan]]).T
    picture = nrm.states.plots.plot_state_sequence(draws, data=values, backend="none")
    points, none = picture.viz["points"]["data"].values
    assert points["y"][np.isfinite(points["y"])].tolist() == [1.0, 2.0, 3.0, 4.0] and none is None
    whole = nrm.states.plots.plot_state_sequence(draws, data=values[:, 1], backend="none")
    assert "points" not in whole.viz.children


def test_a_picture_has_the_data_of_its_times():
    draws = xr.DataArray(np.zeros((1, 2, N - 2), dtype=int), {"time": DAYS[2:]}, ("chain", "draw", "time"), "z")
    draws.attrs["sequence_starts"] = [0]
    picture = nrm.states.plots.plot_state_sequence(draws, data=SERIES[::-1], backend="none")
    np.testing.assert_array_equal(picture.viz["data"]["data"].item()["y"], VALUES[2:])


def test_draws_from_a_file_have_the_times_of_the_model():
    """Files hold dates in nanoseconds."""
    model, labels = nrm.states.regime_model(SERIES), np.zeros((1, 2, N), dtype=int)
    for times in (DAYS.to_numpy("datetime64[ns]"), DAYS.to_numpy("datetime64[us]")):
        posterior = xr.Dataset({"z": (("chain", "draw", "time"), labels)}, {"time": times})
        check_same_model(posterior, model, "z")
    with pytest.raises(ValueError, match="item 0 of 'z' is Timestamp.*01-31 .* in the draws and Timestamp.*01-30"):
        check_same_model(posterior.assign_coords(time=times + np.timedelta64(1, "D")), model, "z")


MONTHS = pd.date_range("2020-01-31", periods=9, freq="ME")
BUSINESS_DAYS = pd.bdate_range("2020-01-01", periods=30)
TUESDAYS, THIRD_DAYS = (pd.date_range(f"2020-01-0{k}", periods=9, freq=f"{k}D") for k in (7, 3))
# Times, the two that follow, and by what.
NEXT = {
    "days": (DAYS, ["2020-02-11", "2020-02-12"], "frequency 'D'"),
    "ends of months with a gap": (MONTHS.delete(3), ["2020-10-31", "2020-11-30"], "frequency 'ME'"),
    "business days with holidays": (BUSINESS_DAYS.delete([3, 12]), ["2020-02-12", "2020-02-13"], "frequency 'B'"),
    "weeks with a gap": (TUESDAYS.delete(2), ["2020-03-10", "2020-03-17"], "frequency 'W-TUE'"),
    "every third day with a gap": (THIRD_DAYS.delete(2), ["2020-01-30", "2020-02-02"], "frequency '3D'"),
    "days that are seldom": (pd.DatetimeIndex(["2020-01-01", "2020-01-05", "2020-03-01"]), [1, 2], "counting steps"),
    "years": (np.arange(1871, 1971), [1971, 1972], "steps of 1"),
    "years with a gap": (np.delete(np.arange(1871, 1971), 4), [1971, 1972], "steps of 1"),
    "rounded months": (np.round(1990 + np.arange(25) / 12, 2), [1992 + 1 / 12, 1992 + 2 / 12], "steps of 0.083"),
    "text": (np.array(["a", "b"]), [1, 2], "counting steps"),
    "a single time": (DAYS[:1], [1, 2], "counting steps"),
}


def test_times_are_written_with_as_few_decimals_as_differ():
    assert written_times(1990 + np.arange(3) / 12) == ["1990.0", "1990.1", "1990.2"]
    assert written_times(1990 + np.arange(13) / 12)[:2] == ["1990.00", "1990.08"]
    assert written_times(np.array([1990.0, 1991.0])) == ["1990", "1991"]


@pytest.mark.parametrize("name", NEXT)
def test_next_times(name):
    times, expected, by = NEXT[name]
    found, words = next_times(times, 2)
    assert by in words
    if isinstance(expected[0], str):
        assert found.astype("datetime64[D]").astype(str).tolist() == expected
    else:
        np.testing.assert_allclose(found, expected)


def test_times_of_a_short_sequence_follow_as_in_longer_ones():
    starts = pd.date_range("2020-01-01", periods=9, freq="MS")
    for times, others, expected in (
        (starts[[2, 4]], starts, ["2020-06-01", "2020-07-01"]),
        (starts[[4]], starts, ["2020-06-01", "2020-07-01"]),
        (starts[[4]] + DAY, starts, [1, 2]),
        (starts[[4]], np.arange(9), [1, 2]),
        (np.array([3, 5]), np.arange(9), [6, 7]),
        (np.array([3]), starts, [1, 2]),
    ):
        found, _ = next_times(times, 2, others)
        found = found.astype("datetime64[D]").astype(str) if found.dtype.kind == "M" else found
        assert found.tolist() == expected


def test_forecasts_have_the_times_that_follow(caplog):
    caplog.set_level("INFO", "pymc.nrm_results")
    model = nrm.states.regime_model(PANEL, sequences="who")
    labels = xr.DataArray(np.zeros((1, 2, N), dtype=int), dims=("chain", "draw", "time"))
    scale = {name: (("chain", "draw"), np.ones((1, 2))) for name in ("gamma", "alpha", "kappa", "x_kappa", "x_excess")}
    share = {"x_share": (("chain", "draw", "x_feature"), np.full((1, 2, 1), 0.5))}
    times = {"time": PANEL.index}
    draws = xr.DataTree.from_dict({"posterior": xr.Dataset({"z": labels, **scale, **share}, times)})
    for sequence, expected in {"a": ["2020-02-06", "2020-02-08"], "new": [2, 4]}.items():
        options = {"sequence": sequence, "random_seed": 1, "progressbar": False}
        ahead = nrm.states.forecast_density(draws, model, [0.0, 1.0], [2, 4], **options)
        drawn = nrm.sample_posterior_predictive(draws, model, new_items=4, **options)["predictions"]["x"]
        new = ahead["new_time"].values, drawn["new_time"].values[[1, 3]]
        for values in new:
            values = values if sequence == "new" else values.astype("datetime64[D]").astype(str)
            assert values.tolist() == expected
    assert "new_time continues time by the frequency 'D'" in caplog.text
    with pytest.raises(ValueError, match=r"got chain, draw, step, point. Take one step, .sel\(step=2\)"):
        nrm.plots.plot_density(ahead)
    picture = nrm.plots.plot_density(ahead.sel(step=[2]), backend="none")
    assert picture.viz["xlabel"]["density"].item()["string"] == ahead.attrs["variable"] == "rate"
    lagged = nrm.states.regime_model(SERIES, lags=1)
    assert MixtureLayout(lagged, "x").density_attrs()["variable"] == "rate"


def test_the_picture_leaves_out_the_column_of_the_times():
    """Rows are in the order of the times of the model, whatever their order in the table."""
    dates = pd.date_range("2020-01-01", periods=6, freq="MS")
    table = pd.DataFrame({"date": dates, "y": [0.0, 0.1, 0.2, 5.0, 5.1, 5.2]})
    shuffled = table.iloc[[3, 0, 5, 1, 2, 4]].reset_index(drop=True)
    rows = rows_of_times(shuffled, dates.to_numpy())
    assert rows.columns.tolist() == ["y"]
    assert rows["y"].tolist() == table["y"].tolist()
    text = shuffled.assign(date=shuffled["date"].astype(str))
    assert rows_of_times(text, dates.to_numpy())["y"].tolist() == table["y"].tolist()


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%d %b %Y", "%b %Y"])
def test_dates_as_offices_write_them(form):
    months = pd.date_range("2015-01-01", periods=30, freq="MS")
    frame = pd.DataFrame({"when": months.strftime(form), "rate": np.random.default_rng(1).normal(size=30)})
    model = nrm.states.regime_model(frame)
    [times] = model.coords.values() if len(model.coords) == 1 else [model.coords["time"]]
    assert list(times) == list(months)


@pytest.mark.parametrize("kept", [slice(None), slice(10, None)])
def test_a_column_of_years_counts_whatever_is_left_of_row_numbers(kept, caplog):
    values = np.random.default_rng(1).normal(size=30).cumsum()
    newest_first = pd.DataFrame({"year": np.arange(2019, 1989, -1), "gdp": values})
    df = newest_first.sort_values("year")[kept]
    with caplog.at_level(logging.INFO):
        model = nrm.states.regime_model(df)
    assert list(model.coords["time"]) == df["year"].tolist() and "Column 'year' says when" in caplog.text
    data = model.rvs_to_values[model.observed_RVs[0]].data
    np.testing.assert_allclose(np.ravel(data), df["gdp"])
    panel = pd.concat([newest_first.assign(c="a"), newest_first.assign(c="b")], ignore_index=True)
    model = nrm.states.regime_model(panel.sort_values(["c", "year"]), sequences="c")
    data = model.rvs_to_values[model.observed_RVs[0]].data
    np.testing.assert_allclose(np.ravel(data), [*values[::-1]] * 2, atol=0.01)


def test_hours_of_a_panel_at_the_end_of_summer_time():
    hours = pd.date_range("2024-10-26", periods=60, freq="h", tz="Europe/Berlin")
    df = pd.DataFrame(
        {"x": np.random.default_rng(1).normal(size=120), "s": np.repeat(["a", "b"], 60)}, index=[*hours] * 2
    )
    assert len(nrm.states.regime_model(df, sequences="s").coords["time"]) == 120


def test_months_that_may_be_days(caplog):
    days = pd.date_range("2020-01-01", periods=24, freq="MS").strftime("%d/%m/%Y")
    df = pd.DataFrame({"date": days, "x": np.random.default_rng(1).normal(size=24)})
    message = "column 'date' has dates such as '01/01/2020', whose order of day and month is not clear. Parse them by"
    with pytest.raises(ValueError, match=message):
        nrm.states.regime_model(df)
    with caplog.at_level(logging.INFO):
        nrm.states.regime_model(df.set_index("date"))
    assert "pd.to_datetime(series.index, dayfirst=...) makes dates" in " ".join(caplog.text.split())
