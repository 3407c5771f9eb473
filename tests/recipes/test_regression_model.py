"""Density regression: its model, predictions of a column, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from helpers import refused

import pymc_nrm as nrm
from pymc_nrm.models.rvs import family_of
from pymc_nrm.models.values import Values
from pymc_nrm.recipes import table_data

rng = np.random.default_rng(1)
HALF = np.repeat([0, 1], 15)
DF = pd.DataFrame(
    {
        "height": 3.0 * HALF + rng.normal(size=30),
        "width": rng.normal(size=30) + 100.0,
        "colour": np.where(rng.random(30) < 0.2 + 0.6 * HALF, "red", "blue"),
    }
)
NEW = pd.DataFrame({"height": [0.1, 3.5, 9.0], "width": 50.0, "colour": ["blue", "red", None]}, index=[7, 8, 9])
OPTIONS = {"draws": 5, "tune": 5, "chains": 2, "cores": 1, "random_state": 1, "sample_options": {"quiet": True}}


def on_grid(estimator, rows, grid, columns):
    """Density of the column on a grid, from the joint density of all columns, shape (len(rows), len(grid))."""
    log_p = []
    for k in range(len(rows)):
        repeated = rows.iloc[[k] * len(grid)].assign(width=grid).set_axis(range(len(grid)))
        data = table_data(estimator.model_, repeated) if columns else repeated[["height", "width"]].to_numpy()
        log_p.append(nrm.log_predictive_density(estimator.idata_, estimator.model_, data, progressbar=False).values)
    p = np.exp(np.array(log_p) - np.max(log_p, axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["table", "table with gaps", "matrix"])
def test_predictions_are_those_of_the_joint_density(case):
    df = DF.assign(height=DF["height"].where(DF.index != 4)) if case == "table with gaps" else DF
    X = df[["height", "width"]].to_numpy() if case == "matrix" else df
    estimator = nrm.MixtureEstimator(**OPTIONS).fit(X)
    grid = np.linspace(-300.0, 500.0, 80_001)
    density = on_grid(estimator, NEW, grid, case != "matrix")
    if case == "matrix":
        found = estimator.predict_column(NEW[["height", "width"]].to_numpy(), 1, interval=0.5)
    else:
        found = estimator.predict_column(NEW.drop(columns="width"), "width", interval=0.5)
        assert found.index.tolist() == [7, 8, 9]
        pd.testing.assert_frame_equal(found, estimator.predict_column(NEW, "width", interval=0.5))
    cumulative = np.cumsum(density, axis=1)
    for k in range(3):
        expected = np.interp([0.5, 0.25, 0.75], cumulative[k], grid)
        np.testing.assert_allclose(found.iloc[k, 1:], expected, atol=0.01)
        assert found["mean"].iloc[k] == pytest.approx(density[k] @ grid, abs=0.05)
    wrong = "colour" if case != "matrix" else 2
    with pytest.raises(ValueError, match="column must be a numeric one"):
        estimator.predict_column(NEW, wrong)


def test_what_is_not_fitted_predicts_nothing():
    with pytest.raises(ValueError, match="not fitted yet"):
        nrm.MixtureEstimator().predict_column(NEW, "width")
    with pytest.raises(ValueError, match="interval must be between 0 and 1; got 90"):
        nrm.MixtureEstimator().predict_column(NEW, "width", interval=90)


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


test_what_is_no_regression_is_refused = refused(
    lambda table, target: nrm.regression_model(table, target=target, covariance="diagonal"),
    (TABLE, "weight", "target must be one of at least two columns"),
    (TABLE[["height"]], "height", "target must be one of at least two columns"),
    (TABLE.assign(age=[np.nan, *TABLE["age"][1:]]), "height", r"complete; columns \['age'\]"),
    (TABLE.rename(columns={"height": "numeric"}), "numeric", "another name than 'numeric'"),
    (TABLE.assign(twice=2 * TABLE["age"]), "height", "linear combinations"),
)
