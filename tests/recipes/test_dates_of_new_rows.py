"""Dates of new rows: their time zones, their order of day and month, and levels that are dates."""

import numpy as np
import pandas as pd
import pytest

import pymc_nrm as nrm


def test_levels_of_few_dates_are_those_of_any_type():
    """Parquet gives dates as Python's, pandas as times."""
    days = pd.to_datetime(["2026-01-01", "2026-02-01", "2026-03-01"] * 20)
    x = np.random.default_rng(1).normal(size=60)
    of_pandas, of_python = pd.DataFrame({"x": x, "day": days}), pd.DataFrame({"x": x, "day": days.date})
    first, second = (nrm.mixture_model(df, kinds={"day": "categorical"}) for df in (of_pandas, of_python))
    assert first.coords["day_level"] == second.coords["day_level"]
    assert all(str(level).startswith("2026-0") for level in first.coords["day_level"])
    new = [nrm.table_data(model, df[:3]) for model in (first, second) for df in (of_pandas, of_python)]
    for data in new[1:]:
        for name, values in new[0].items():
            np.testing.assert_array_equal(data[name], values)


ZONED = pd.date_range("2026-01-01", periods=60, freq="30min", tz="America/New_York")


@pytest.mark.parametrize(
    ("times", "new", "wanted", "got"),
    [
        (ZONED, ZONED.tz_localize(None), "with", "without"),
        (ZONED, ZONED.tz_localize(None).astype(str), "with", "without"),
        (ZONED.tz_localize(None), ZONED, "without", "with"),
        (ZONED.tz_localize(None).astype(str), ZONED.astype(str), "without", "with"),
        (ZONED.astype(object), ZONED.tz_localize(None).astype(object), "with", "without"),
    ],
)
def test_time_zones_of_new_rows(times, new, wanted, got):
    x = np.random.default_rng(1).normal(size=60)
    model = nrm.mixture_model(pd.DataFrame({"x": x, "at": times}), kinds={"at": "numeric"}, jitter_ties=False)
    data = nrm.table_data(model, pd.DataFrame({"x": x, "at": times}))
    assert (
        sum(np.ptp(values) == pytest.approx(59 * 1800) for values in data.values() for values in values.values.T) == 1
    )
    message = f"column 'at' must hold dates {wanted} a time zone, as in the table of the model; got dates {got} a"
    with pytest.raises(TypeError, match=message):
        nrm.table_data(model, pd.DataFrame({"x": x, "at": new}))


def test_days_and_months_of_new_rows_that_may_be_in_either_order():
    df = pd.DataFrame({"x": np.random.default_rng(1).normal(size=60), "at": pd.date_range("2026-01-01", periods=60)})
    model = nrm.mixture_model(df)
    with pytest.warns(UserWarning, match="column 'at' of new rows: month first, as day first fits too"):
        nrm.table_data(model, pd.DataFrame({"x": [0.0, 1.0], "at": ["03/02/2026", "04/02/2026"]}))
