"""Dates on the axis of a time series."""

import numpy as np
import pandas as pd
import pytest

from pymc_nrm.common.dates import dates_of, written_times
from pymc_nrm.plots.time_axis import edges_of, time_axis


@pytest.mark.parametrize(
    ("dates", "texts"),
    [
        (pd.date_range("1871", periods=100, freq="YS"), ["1880", "1900", "1920", "1940", "1960"]),
        (pd.date_range("2020-02-11", periods=300, freq="D"), ["2020-03", "2020-05", "2020-07", "2020-09", "2020-11"]),
        (pd.date_range("2020-02-11 05:00", periods=20, freq="15min"), ["05:00", "06:00", "07:00", "08:00", "09:00"]),
        (pd.DatetimeIndex(["2020-01-01"]), ["2020-01-01 00:00"]),
    ],
)
def test_ticks(dates, texts):
    for values in (dates, np.array(list(dates), dtype=object)):
        positions, (places, labels) = time_axis(values, 1)
        assert [label[-len(text) :] for label, text in zip(labels, texts, strict=False)] == texts
        assert len(places) == len(labels) <= 9 and positions[0] <= places[0] and places[-1] <= positions[-1]


def test_other_times():
    positions, ticks = time_axis(np.array([1.0, 2.0, 5.0]), 1)
    assert positions.tolist() == [1.0, 2.0, 5.0] and ticks is None
    assert edges_of(positions).tolist() == [0.5, 1.5, 3.5, 6.5]
    assert time_axis(np.array(["a", "b"]), 1)[0].tolist() == [0.0, 1.0]
    assert time_axis(pd.date_range("2020", periods=3), 2)[0].tolist() == [0.0, 1.0, 2.0]
    assert dates_of(["a"]) is None and dates_of(pd.period_range("2020", periods=2, freq="M"))[1].month == 2


def test_written_times():
    for freq, texts in {
        "YS": ["2020", "2021"],
        "MS": ["2020-01", "2020-02"],
        "D": ["2020-01-01", "2020-01-02"],
    }.items():
        assert written_times(pd.date_range("2020", periods=2, freq=freq)) == texts
    assert written_times(pd.date_range("2020", periods=2, freq="6h"))[1] == "2020-01-01 06:00"
    assert written_times([3, 4]) == ["3", "4"]
