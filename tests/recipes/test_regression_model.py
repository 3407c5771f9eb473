"""The recipe of density regression: its model, and what it refuses."""

import numpy as np
import pandas as pd
import pytest

import pymc_nrm as nrm
from pymc_nrm.models.rvs import family_of
from pymc_nrm.models.values import Values

RNG = np.random.default_rng(1)
TABLE = pd.DataFrame(
    {
        "height": RNG.normal(170.0, 9.0, 12),
        "age": RNG.normal(40.0, 9.0, 12),
        "smokes": [True, False] * 6,
        "town": ["Ayr", "Bath", "Cork"] * 4,
    },
    index=list("abcdefghijkl"),
)
TABLE.loc["c", "height"] = np.nan


def test_the_target_regresses_on_all_other_columns():
    model = nrm.regression_model(TABLE, target="height")
    assert [rv.name for rv in model.observed_RVs] == ["numeric", "binary", "categorical", "height"]
    assert model.coords["item"] == tuple("abcdefghijkl")
    values = Values.at_draws(model, [family_of(model["height"]).covariates])({})[0]
    age, smokes = TABLE["age"] - TABLE["age"].mean(), TABLE["smokes"] - 0.5
    towns = [(TABLE["town"] == town) - 1 / 3 for town in ("Bath", "Cork")]
    np.testing.assert_allclose(values, np.column_stack([np.ones(12), age, smokes, *towns]), atol=1e-12)
    assert np.isfinite(model.compile_logp(mode="FAST_COMPILE")(model.initial_point()))


def test_new_rows_are_given_by_table_data():
    model = nrm.regression_model(TABLE, target="height")
    assert list(nrm.table_data(model, TABLE.drop(columns="height"))) == ["numeric", "binary", "categorical"]


@pytest.mark.parametrize(
    ("table", "target", "message"),
    [
        (TABLE, "weight", "target must be one of at least two columns"),
        (TABLE[["height"]], "height", "target must be one of at least two columns"),
        (TABLE.assign(age=[np.nan, *TABLE["age"][1:]]), "height", r"complete; columns \['age'\]"),
        (TABLE.rename(columns={"height": "numeric"}), "numeric", "another name than 'numeric'"),
        (TABLE.assign(twice=2 * TABLE["age"]), "height", "linear combinations"),
    ],
)
def test_what_is_no_regression_is_refused(table, target, message):
    with pytest.raises(ValueError, match=message):
        nrm.regression_model(table, target=target, covariance="diagonal")
