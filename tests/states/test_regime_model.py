"""Models of time series in one call: what is in them, forecasts of lagged values, descriptions, wrong arguments."""

import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from pymc.model.transform.optimization import freeze_dims_and_data

import pymc_nrm as nrm
from pymc_nrm.posterior.any_draws import draws_of
from pymc_nrm.states.posterior.lagged_values import LaggedValues
from tests.helpers import refused

RNG = np.random.default_rng(1)
DATES = pd.date_range("2020-01-31", periods=40, freq="ME")
SERIES = pd.Series(np.repeat([0.0, 5.0], 20) + RNG.normal(size=40), DATES, name="rate")


def with_labels(model, labels, n_draws=4, **given):
    """A result in which every draw has these labels, and all other variables are at their initial values."""
    point = model.initial_point(random_seed=1)
    values = {rv.name: np.asarray(labels) for rv in model.free_RVs if rv.name == "z"}
    for rv in model.free_RVs:
        value = model.rvs_to_values[rv]
        transform = model.rvs_to_transforms[rv]
        if rv.name != "z":
            own = point[value.name]
            values[rv.name] = own if transform is None else transform.backward(own, *rv.owner.inputs).eval()
    values |= {name: np.asarray(value) for name, value in given.items()}
    dims = model.named_vars_to_dims
    variables = {
        name: (
            ("chain", "draw", *(dims.get(name) or [f"{name}_{k}" for k in range(np.ndim(own))])),
            own[None, None].repeat(n_draws, 1),
        )
        for name, own in values.items()
    }
    coords = {"time": list(model.coords["time"])}
    return xr.DataTree.from_dict({"posterior": xr.Dataset(variables, coords)})


def test_model_of_a_series():
    model = nrm.states.regime_model(SERIES)
    assert model.coords["x_feature"] == ("rate",) and len(model.coords["time"]) == 40
    assert [rv.name for rv in model.free_RVs][:4] == ["gamma", "alpha", "kappa", "z"]
    assert "kappa" not in nrm.states.regime_model(SERIES, duration=1).named_vars
    fixed = nrm.states.regime_model(SERIES, measure=nrm.PitmanYorProcess(0.3, 1.0))
    assert {"gamma", "alpha"} & set(fixed.named_vars) == {"alpha"}
    frame = pd.DataFrame({"x": SERIES, "y": SERIES + RNG.normal(size=40), "who": np.repeat(["b", "a"], 20)})
    both = nrm.states.regime_model(frame, sequences="who")
    assert both["x"].owner.op.__class__.__name__ == "MixtureRV" and len(both.coords["x_feature"]) == 2
    draws = draws_of(with_labels(both, np.repeat([0, 1], 20)), both, "z")
    assert next(iter(draws)).prior.starts.nonzero()[0].tolist() == [0, 20] and draws.kind.names == ("b", "a")


def test_lags_begin_anew_in_each_sequence():
    model = nrm.states.regime_model(np.arange(12.0) ** 2, lags=2, sequences=np.repeat([7, 3], 6))
    assert model.coords["time"] == (2, 3, 4, 5, 8, 9, 10, 11)
    assert model["x_lags"].get_value()[[0, 4]].tolist() == [[1.0, 0.0], [49.0, 36.0]]
    assert model["z"].owner.op.kind.starts.nonzero()[0].tolist() == [0, 4]


def test_values_before_the_next_time_are_those_of_its_sequence():
    model = nrm.states.regime_model(np.arange(12.0) ** 2, lags=2, sequences=np.repeat(["a", "b"], 6), jitter_ties=False)
    for sequence, before in {"a": [25.0, 16.0], "b": [121.0, 100.0]}.items():
        draws = draws_of(with_labels(model, np.zeros(8, dtype=int)), model, "z", sequence=sequence)
        last = draws.last_item(next(iter(draws)))
        assert LaggedValues(draws, "x")._before(last).tolist() == before


@pytest.mark.slow
def test_forecasts_of_lagged_values():
    """An autoregression with little noise goes on as it must, with the lags in their order."""
    y = np.array([1.0, 2.0])
    for _ in range(58):
        y = np.append(y, 0.5 * y[-1] - 0.9 * y[-2] + 1.0 + 1e-3 * RNG.normal())
    model = nrm.states.regime_model(y, lags=2, jitter_ties=False)
    idata = with_labels(model, np.zeros(58, dtype=int), 20, x_share=1e-6)
    ahead = y
    for _ in range(3):
        ahead = np.append(ahead, 0.5 * ahead[-1] - 0.9 * ahead[-2] + 1.0)
    drawn = nrm.sample_posterior_predictive(idata, model, new_items=3, random_seed=1, progressbar=False)
    values, is_old = drawn["predictions"]["x"].values[0], drawn["predictions"]["z"].values[0] == 0
    together = is_old.all(axis=1)
    assert together.sum() > 5
    np.testing.assert_allclose(values[together], np.tile(ahead[-3:], (together.sum(), 1)), atol=0.02)
    grid = ahead[-3] + np.linspace(-1, 1, 4001)
    density = nrm.states.forecast_density(idata, model, grid, 1, random_seed=1, progressbar=False).density
    given = {"x_lags": [[y[-1], y[-2]]]}
    exact = nrm.predictive_density(idata, model, grid, given=given, progressbar=False).density
    means = [
        float((d.mean(("chain", "draw")) * d.point).sum() / d.mean(("chain", "draw")).sum()) for d in (density, exact)
    ]
    np.testing.assert_allclose(means, ahead[-3], atol=0.01)
    description = str(nrm.describe(idata, model))
    slopes = re.findall(r"slope of lag (\d) (-?[\d.]+),", description)
    assert [lag for lag, _ in slopes] == ["1", "2"]
    np.testing.assert_allclose([float(slope) for _, slope in slopes], [0.5, -0.9], atol=0.002)
    with pytest.raises(ValueError, match="a further one has no values on which 'x' could depend"):
        nrm.states.forecast_density(idata, model, grid, sequence="new", progressbar=False)


def test_description_is_short():
    """At most 30 lines of 80 characters, with the longest runs in order of time."""
    n = 400
    labels = np.arange(n) // 3 % 12
    days = pd.date_range("2020-01-01", periods=n, freq="D")
    series = pd.Series(labels + 0.1 * RNG.normal(size=n), days, name="a long name of a column")
    model = nrm.states.regime_model(series)
    description = nrm.describe(with_labels(model, labels), model, labels)
    lines = str(description).splitlines()
    assert len(lines) <= 30 and max(map(len, lines)) <= 80
    assert "5 more regimes" in str(description) and "2020-01-01 to 2020-01-03" in str(description)
    assert len(description.table) == 12 and description.tables["runs"]["length"].sum() == n
    assert description.to_html().startswith("<p><b>400 times in 12 regimes")


def test_shares_are_mean_probabilities_as_in_the_legend():
    model, estimate = nrm.states.regime_model(SERIES), np.repeat([0, 1], 20)
    draws = with_labels(model, estimate)
    draws["posterior"]["z"].values[0, :2] = np.repeat([0, 1, 2], [20, 10, 10])
    description = nrm.describe(draws, model, estimate)
    assert description.table["regime", "share"].tolist() == [0.5, 0.375]
    text = str(description)
    assert text.startswith(
        "40 times in 2 regimes (2 to 3 in all draws), 12 % in others\n\n"
        "regime  times  certainty  runs, when, and data\n0        50 %      100 %  1 run"
    )
    draws["posterior"]["z"].attrs["sequence_starts"] = [0]
    drawn = nrm.states.plots.plot_state_sequence(draws, estimate, backend="none").viz["legend"]["entries"].item()
    assert drawn["labels"] == ["state 0: 50 % of times", "state 1: 38 % of times", "other states, white: 12 %"]


def test_data_of_few_regimes_have_several_lines():
    frame = pd.DataFrame({f"column number {k}": SERIES + RNG.normal(size=40) for k in range(6)})
    model, labels = nrm.states.regime_model(frame, covariance="diagonal"), np.repeat([0, 1], 20)
    lines = str(nrm.describe(with_labels(model, labels), model, labels)).splitlines()
    assert max(map(len, lines)) <= 80 and sum(line.count("column number") for line in lines) == 12


def test_runs_end_with_their_sequence_in_draws_of_pm_sample():
    """Only nrm.sample marks its draws with the times where sequences begin."""
    frame = pd.DataFrame({"x": SERIES, "who": np.repeat(["b", "a"], 20)})
    model, labels = nrm.states.regime_model(frame, sequences="who"), np.repeat([0, 1, 1, 0], 10)
    draws = with_labels(model, labels)
    description = nrm.describe(draws, model, labels)
    assert description.tables["runs"]["length"].tolist() == [10, 10, 10, 10]
    assert description.tables["runs"]["sequence"].tolist() == ["b", "b", "a", "a"]
    assert "b: 2020-01-31 to 2020-10-31, a: 2022-07-31 to 2023-04-30" in description.entries[0]
    with pytest.warns(UserWarning, match="draws of 'z' do not say where sequences begin"):
        nrm.states.state_durations(draws, labels)


test_wrong_series = refused(
    lambda series, options: nrm.states.regime_model(series, **options),
    (SERIES, {"lags": 39}, "lags must leave at least two times with values before them; got 39 for 40 times"),
    (SERIES, {"lags": -1}, "lags must be a whole number of at least 0; got -1"),
    (SERIES.where(SERIES.index != DATES[3]), {"lags": 1}, "lags must be 0 for a series with gaps; row 3 has none"),
    (
        pd.DataFrame({"a": SERIES, "b": SERIES**2}),
        {"lags": 1},
        "lags must be 0 for several columns, \\['a', 'b'\\]; got 1",
    ),
    (
        SERIES,
        {"sequences": "who"},
        "sequences must be labels or the name of a column of series, \\['rate'\\]; got 'who'",
    ),
    (SERIES, {"sequences": ["a"] * 3}, "sequences must have a label for each of the 40 times; got 3"),
    (SERIES, {"lags": 2, "sequences": ["a"] * 38 + ["b"] * 2}, "must have more rows than lags=2.*; 'b' has 2"),
    (SERIES, {"duration": 0.5}, "duration must be at least 1 and finite; got 0.5"),
)


def test_text_and_truth_values_are_data_of_the_states():
    """Each in a mixture of its own over the same states, as mixture_model takes them."""
    frame = pd.DataFrame({"rate": SERIES, "page": np.repeat(["home", "shop"], 20), "called": np.arange(40) % 3 == 0})
    model = nrm.states.regime_model(frame)
    assert [rv.name for rv in model.observed_RVs] == ["x", "binary", "categorical"]
    assert list(model.coords["page_level"]) == ["home", "shop"]
    assert model.named_vars_to_dims["categorical"][0] == "time"
    labels = np.repeat([0, 1], 20)
    text = str(nrm.describe(with_labels(model, labels), model, labels))
    assert "page home 100 %" in text and "called yes 35 %" in text
    only = nrm.states.regime_model(frame[["page"]])
    assert [rv.name for rv in only.observed_RVs] == ["categorical"]
    with pytest.raises(ValueError, match=r"lags must be 0 with columns of categories or booleans, \['page'\]; got 1"):
        nrm.states.regime_model(frame[["rate", "page"]], lags=1)


def test_text_that_does_not_vary_is_left_out(caplog):
    frame = pd.DataFrame({"rate": SERIES, "page": "home"})
    with caplog.at_level("INFO"):
        assert [rv.name for rv in nrm.states.regime_model(frame).observed_RVs] == ["x"]
    assert "Column 'page' is left out: only one value." in caplog.text
    with pytest.raises(ValueError, match="series must have columns that vary; column 'page' has only one value"):
        nrm.states.regime_model(frame[["page"]])


@pytest.mark.slow
def test_lagged_values_of_frozen_models_are_read():
    """Constants of a frozen model have the place of its data in forecasts."""
    model = freeze_dims_and_data(nrm.states.regime_model(SERIES.cumsum(), lags=1, jitter_ties=False))
    idata = nrm.sample(20, tune=10, chains=1, cores=1, model=model, random_seed=1, quiet=True)
    assert nrm.states.forecast_density(idata, model, [0.0, 1.0])["density"].shape[-1] == 2
