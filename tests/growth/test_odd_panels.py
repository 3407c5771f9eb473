"""Odd panels: each gives a growth mixture, or an error in one sentence that names the argument."""

import decimal

import numpy as np
import pandas as pd
import pytest

import pymc_nrm as nrm

pytestmark = [
    pytest.mark.usefixtures("unbroken"),
    # Warnings on columns are the subject of other files.
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

N = 40
PANEL = pd.DataFrame(
    {"id": np.repeat(np.arange(10), 4), "t": np.tile(np.arange(4.0), 10), "y": np.random.default_rng(2).normal(size=N)}
)
LISTS = np.empty(N, dtype=object)
LISTS[:] = [[1] for _ in range(N)]

# Changes of a panel, and a phrase of the error, or None for a model.
PANELS = {
    "decimal": ({"y": [decimal.Decimal(str(y)) for y in PANEL["y"]]}, None),
    "durations": ({"t": pd.to_timedelta(PANEL["t"], unit="h")}, None),
    "levels as names": ({"id": pd.Categorical(PANEL["id"])}, None),
    "a missing target": ({"y": np.nan}, "df must have rows with a subject, a time and a target; got none of 40"),
    "a constant target": ({"y": 1.0}, "target must be a column of measurements, with normal errors; 'y' has only one"),
    "whole numbers beyond doubles": ({"y": [10**400] * N}, "got none of 40"),
    "a complex target": ({"y": 1j * PANEL["y"]}, "target must be a column of measurements"),
    "one time": ({"t": 1.0}, "time must have at least two different values; got only 1"),
    "times in words": ({"t": "late"}, "time must be a column of numbers or dates; 't' has values such as 'late'"),
    "one subject": ({"id": 1}, "subject must be a column with at least two subjects"),
    "numbers and their text": ({"id": [1, "1", 2, 3] * (N // 4)}, "subject 'id' must not have a number and its text"),
    "lists as names": ({"id": LISTS}, "subject must be a column of numbers or text; 'id' has"),
}


@pytest.mark.parametrize("name", PANELS)
def test_a_panel_becomes_a_growth_mixture_or_an_error_says_why_not(name):
    changes, phrase = PANELS[name]
    options = {"subject": "id", "time": "t", "target": "y"}
    if phrase is None:
        assert "trajectory" in nrm.growth.growth_mixture(PANEL.assign(**changes), **options).named_vars
        return
    with pytest.raises((ValueError, TypeError)) as refused:
        nrm.growth.growth_mixture(PANEL.assign(**changes), **options)
    assert phrase in str(refused.value)


def test_names_of_subjects_lose_spaces():
    names = PANEL["id"].astype(str) + np.where(np.arange(N) % 2, " ", "")
    model = nrm.growth.growth_mixture(PANEL.assign(id=names), subject="id", time="t", target="y")
    assert model.coords["subject"] == tuple(map(str, range(10)))
