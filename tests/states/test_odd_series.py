"""Odd series: each gives a model of regimes, or an error in one sentence that names the argument."""

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
RNG = np.random.default_rng(1)
X, PLANE = RNG.normal(size=N), RNG.normal(size=(N, 2))
SERIES = {
    "two rows": (pd.Series([1.0, 2.0]), None),
    "a masked array": (np.ma.masked_less(X, -1), None),
    "booleans": (pd.Series(X > 0), None),
    "columns of two levels": (pd.DataFrame(PLANE, columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])), None),
    "empty": (pd.DataFrame(), "series must have rows and columns; got shape (0, 0)"),
    "one row": (pd.Series([1.0]), "series must have at least two rows; got 1"),
    "no values": (pd.Series([np.nan] * N), "series must have columns that vary; column 'x' has no values"),
    "a constant": (pd.Series(np.ones(N)), "column 'x' has the only value 1"),
    "an infinite value": (pd.Series(np.r_[np.inf, X]), "column 'x' has inf (1 row)"),
    "whole numbers beyond doubles": (pd.Series([10**400 + k for k in range(N)]), "column 'x' has inf (40 rows)"),
    "complex numbers": (pd.Series(1j * X), "series must have columns of numbers, categories or booleans"),
    "a time twice": (pd.Series(X, index=[0] * N), "series must have one row for each time"),
    "None": (None, "series must be real numbers; got None"),
}


@pytest.mark.parametrize("name", SERIES)
def test_a_series_becomes_a_model_of_regimes_or_an_error_says_why_not(name):
    series, phrase = SERIES[name]
    if phrase is None:
        assert len(nrm.states.regime_model(series).free_RVs) > 1
        return
    with pytest.raises((ValueError, TypeError)) as refused:
        nrm.states.regime_model(series)
    assert phrase in str(refused.value)
