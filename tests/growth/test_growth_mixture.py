"""Growth mixtures: the model against one written by hand, forms of tables, and messages."""

import logging

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
from pymc.model.transform.optimization import freeze_dims_and_data

import pymc_nrm as nrm

COLUMNS = {"subject": "id", "time": "t", "target": "y"}


def simulate(n=30, d=5, seed=1):
    """Rows of subjects in three groups of curves, some of them with few rows, in random order."""
    rng = np.random.default_rng(seed)
    group, age, rows = np.arange(n) % 3, rng.normal(50.0, 10.0, n), []
    for i in range(n):
        times = np.sort(rng.uniform(0.0, 5.0, rng.integers(1, d + 1) if i % 5 == 4 else d))
        curve = np.array([10.0, 12.0, 8.0])[group[i]] + np.array([0.0, 1.5, -1.5])[group[i]] * times
        values = curve + rng.normal() + 0.5 * rng.normal(size=len(times))
        rows += [(f"s{i}", t, y, age[i], ["f", "m"][i % 2], group[i]) for t, y in zip(times, values, strict=True)]
    return pd.DataFrame(rows, columns=["id", "t", "y", "age", "sex", "group"]).sample(frac=1, random_state=0)


DF = simulate()


def data_of(model):
    return model.rvs_to_values[model["trajectory"]].data


def test_the_model_is_the_one_of_the_docstring():
    model = nrm.growth.growth_mixture(DF, **COLUMNS, degree=1, jitter_ties=False)
    wide = DF.sort_values("t").groupby("id", sort=False).agg(list).loc[list(model.coords["subject"])]
    d = wide["t"].map(len).max()
    times = np.array([t + [t[-1]] * (d - len(t)) for t in wide["t"]])
    values = np.array([y + [np.nan] * (d - len(y)) for y in wide["y"]])
    np.testing.assert_array_equal(data_of(model), values)
    np.testing.assert_array_equal(model["time"].get_value(), times)
    with pm.Model(coords={"subject": wide.index, "visit": range(d)}) as by_hand:
        z = nrm.Partition("z", nrm.DirichletProcess(pm.Exponential("alpha", np.log(30))), dims="subject")
        family = nrm.growth.NormalTrajectory.learned("trajectory", values, pm.Data("time", times))
        nrm.Mixture("trajectory", z, family, observed=values)
    point = by_hand.initial_point() | {"z": np.arange(30) % 7 % 2}
    found = [other.compile_logp(jacobian=False)(point) for other in (model, by_hand)]
    assert found[0] == pytest.approx(found[1], abs=1e-8)


def test_membership_is_a_softmax_of_standardised_columns():
    model = nrm.growth.growth_mixture(DF, **COLUMNS, degree=1, n_groups=3, membership=["age", "sex"])
    assert model.coords["membership_term"] == ("age", "sex: m") or model.coords["membership_term"] == ("age", "sex: f")
    design = model["membership"].get_value()
    np.testing.assert_allclose(design.mean(axis=0), 0.0, atol=1e-12)
    assert design[:, 0].std() == pytest.approx(1.0) and np.ptp(design[:, 1]) == 1.0
    rng = np.random.default_rng(1)
    level, gate = rng.normal(size=3), rng.normal(size=(2, 3))
    [weights] = model.replace_rvs_by_values([model["z"].owner.op.prior_inputs(model["z"].owner)[0]])
    given = {model.rvs_to_values[model["level"]]: level, model.rvs_to_values[model["gate"]]: gate}
    np.testing.assert_allclose(weights.eval(given), level + design @ gate)


@pytest.mark.parametrize("options", [{"n_groups": 2}, {"max_groups": 4, "membership": "age"}, {"n_groups": 1}])
def test_weights_of_groups(options):
    model = nrm.growth.growth_mixture(DF, **COLUMNS, degree=2, **options)
    n = options.get("n_groups") or options["max_groups"]
    assert len(model.coords["group"]) == model["z"].owner.op.kind.max_clusters == n


def test_forms_of_tables(caplog):
    """Text and numbers as ids, dates as times, gaps, subjects with one row, and other libraries' tables."""
    model = nrm.growth.growth_mixture(DF, **COLUMNS, degree=1)
    numbered = DF.assign(id=DF["id"].str[1:].astype(int))
    other = nrm.growth.growth_mixture(numbered, **COLUMNS, degree=1)
    assert [f"s{k}" for k in other.coords["subject"]] == list(model.coords["subject"])
    np.testing.assert_array_equal(data_of(other), data_of(model))
    start = pd.Timestamp("2015-03-01")
    dated = DF.assign(t=start + pd.to_timedelta(365.25 * (DF["t"] - DF["t"].min()), unit="D"))
    gaps = pd.DataFrame({"id": ["s1", None, "x"], "t": [start, start, start], "y": [None, 1.0, None]})
    with caplog.at_level(logging.INFO):
        other = nrm.growth.growth_mixture(pd.concat([dated, gaps]), **COLUMNS, degree=1)
    np.testing.assert_array_equal(data_of(other), data_of(model))
    np.testing.assert_allclose(other["time"].get_value(), model["time"].get_value() - DF["t"].min(), atol=1e-6)
    assert "'t' is in years since 2015-03-01" in caplog.text
    text = " ".join(caplog.text.split())
    assert "Rows left out: 1 with a missing 'id', 2 with a missing target" in text
    assert "1 subject has no other row" in text


def test_numbers_in_text(caplog):
    text = DF.assign(y=DF["y"].round(3).map(str).where(DF["id"] != "s4", "?"))
    with caplog.at_level(logging.INFO):
        model = nrm.growth.growth_mixture(text, **COLUMNS, degree=1, jitter_ties=False)
    assert "'y': entries became missing: '?' (" in caplog.text and "s4" not in model.coords["subject"]
    rounded = nrm.growth.growth_mixture(DF[DF["id"] != "s4"].round({"y": 3}), **COLUMNS, degree=1, jitter_ties=False)
    np.testing.assert_array_equal(data_of(model), data_of(rounded))


def test_the_degree_is_guessed(caplog):
    rng, t = np.random.default_rng(2), np.tile(np.arange(6.0), 20)
    subject = np.repeat(np.arange(20), 6)
    for power in (1, 2, 3):
        y = rng.choice([-1.0, 1.0], 20)[subject] * (t - 2.5) ** power + 0.3 * rng.normal(size=120)
        df = pd.DataFrame({"id": subject, "t": t, "y": y})
        caplog.clear()
        with caplog.at_level(logging.INFO):
            model = nrm.growth.growth_mixture(df, **COLUMNS)
        assert f"Curves have degree {power}" in caplog.text
        assert model["trajectory"].owner.op.origin.rows.curve.degree == power


def test_a_spline_is_linear_beyond_its_knots():
    model = nrm.growth.growth_mixture(DF, **COLUMNS, degree="spline")
    curve = model["trajectory"].owner.op.origin.rows.curve
    outside = curve.center + curve.width * np.array([1.0, 1.5, 2.0])
    columns = np.stack(curve.columns(outside), axis=1)
    assert columns.shape == (3, 4)
    np.testing.assert_allclose(np.diff(columns, 2, axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(
        pt.stack(curve.columns(pt.as_tensor(outside), pt.maximum), axis=-1).eval(), columns, atol=1e-12
    )


def test_further_subjects():
    model = nrm.growth.growth_mixture(DF, **COLUMNS, degree=1, n_groups=2, membership=["age", "sex"], jitter_ties=False)
    new = nrm.table_data(model, DF[DF["id"].isin(["s3", "s9"])])
    places = [list(model.coords["subject"]).index(name) for name in new["trajectory"].new_subject.values]
    np.testing.assert_array_equal(new["trajectory"], data_of(model)[places])
    np.testing.assert_array_equal(new["time"], model["time"].get_value()[places])
    np.testing.assert_allclose(new["membership"], model["membership"].get_value()[places])


def test_times_of_further_subjects_are_of_the_same_kind():
    """Years, or dates counted from the first new one, are no days since the first date of the model."""
    dates = DF.assign(t=pd.to_datetime("2020-01-01") + pd.to_timedelta(30 * DF["t"], unit="D"))
    spans, years = DF.assign(t=pd.to_timedelta(DF["t"], unit="D")), DF.assign(t=2020)
    tables = {"dates": dates, "numbers": DF, "durations or times of a day": spans}
    for wanted, df in tables.items():
        model = nrm.growth.growth_mixture(df, **COLUMNS, degree=1)
        nrm.table_data(model, df.assign(t=df["t"].astype(str) if wanted == "dates" else df["t"]))
        for got, other in (tables | {"numbers": years}).items():
            if got != wanted:
                with pytest.raises(TypeError, match=f"time 't' must hold {wanted}, as in .* the model; got {got}"):
                    nrm.table_data(model, other)


def test_the_target_of_further_subjects_is_read_as_the_first_one():
    """Decimal commas, units and durations of the first table hold for new rows, however few they are."""
    rows = DF[DF["id"].isin(["s3", "s9"])].round({"y": 1})
    for unit, sign in (("", "."), (" kg", "."), ("", ",")):
        text, new = ([f"{y:.3f}{unit}".replace(".", sign) for y in df["y"]] for df in (DF, rows))
        model = nrm.growth.growth_mixture(DF.assign(y=text), **COLUMNS, degree=1, jitter_ties=False)
        values = nrm.table_data(model, rows.assign(y=new))["trajectory"].values
        np.testing.assert_allclose(np.sort(values[~np.isnan(values)]), np.sort(rows["y"]))
        if unit:
            with pytest.raises(ValueError, match="'y' must be in kg, as in the table of the model; got '1250 g'"):
                nrm.table_data(model, rows.assign(y="1250 g"))
    spans = DF.assign(y=pd.to_timedelta(DF["y"], unit="D"))
    model = nrm.growth.growth_mixture(spans, **COLUMNS, degree=1, jitter_ties=False)
    new = nrm.table_data(model, spans[:1].assign(y=pd.Timedelta(days=2)))["trajectory"].values
    assert np.nanmax(new) == 2.0
    lost = DF.assign(y=DF["y"].round(3).map(str).where(DF["id"] != "s4", "?"))
    model = nrm.growth.growth_mixture(lost, **COLUMNS, degree=1, jitter_ties=False)
    with pytest.raises(ValueError, match="df must have rows with a subject, a time and a target"):
        nrm.table_data(model, lost[lost["id"] == "s4"])


@pytest.mark.slow
def test_one_group_and_one_chain():
    model = nrm.growth.growth_mixture(DF, **COLUMNS, degree=1, n_groups=1)
    idata = nrm.sample(20, tune=20, chains=2, cores=1, model=model, random_seed=1, quiet=True)
    assert (idata["posterior"]["share"] == 1.0).all()
    description = nrm.describe(idata["posterior"].to_dataset().isel(chain=0), model)
    assert description.table.shape[0] == 1


ONE_ROW_EACH = DF.drop_duplicates("id")
MESSAGES = [
    ({"subject": "who"}, "subject must be a column of df, 'id', 't', .*; got 'who'"),
    ({"time": "y"}, "time and target must be different columns|must be different columns"),
    ({"time": "sex"}, "time must be a column of numbers or dates; 'sex' has values such as '[fm]'"),
    ({"target": "sex"}, "target must be a column of measurements, .* 'sex' has text such as '[fm]'"),
    ({"df": DF.assign(y=DF["y"] > 10)}, "'y' has two different values. For binary targets"),
    ({"df": DF.assign(y=1.0 * (DF["y"] > 10))}, "'y' has two different values. For binary targets"),
    ({"df": DF.assign(t=2.0)}, "time must have at least two different values; got only 2"),
    ({"df": ONE_ROW_EACH}, "subject must be a column with at least two subjects, and a subject with two rows"),
    ({"df": DF.assign(y=np.nan)}, "df must have rows with a subject, a time and a target"),
    ({"degree": 0}, "degree must be a whole number from 1 to .* or 'spline'; got 0"),
    ({"degree": "cubic"}, "degree must be .*; got 'cubic'"),
    ({"n_groups": 2.5}, "n_groups must be a whole number of at least 1; got 2.5"),
    ({"n_groups": 2, "max_groups": 4}, "must not both be given; got 2 and 4"),
    ({"membership": "age"}, "membership needs n_groups, .* or max_groups"),
    ({"max_groups": 5}, "max_groups must be None without membership"),
    ({"n_groups": 3, "measure": nrm.DirichletProcess(1.0)}, "measure must be None with n_groups"),
    ({"n_groups": 2, "membership": "t"}, "membership must be other columns than subject, time and target; got 't'"),
    ({"n_groups": 2, "membership": "shoe"}, "membership must be columns of df, .*; got 'shoe'"),
    ({"n_groups": 2, "membership": ["age", "age"]}, "membership must be different columns"),
    ({"n_groups": 2, "membership": "one", "df": DF.assign(one=1)}, "'one' is constant"),
    ({"n_groups": 2, "membership": "v", "df": DF.assign(v=DF["t"])}, "'v' has .* and .* for subject 's"),
    ({"n_groups": 2, "membership": "age", "df": DF.assign(age=DF["age"].where(DF["id"] != "s2"))}, "missing for 's2'"),
    ({"n_groups": 2, "membership": "name", "df": DF.assign(name=DF["id"])}, "'name' has 30 levels for 30 subjects"),
    ({"random_intercept": 1}, "random_intercept must be True or False; got 1"),
]


@pytest.mark.parametrize(("changes", "message"), MESSAGES, ids=[message[:40] for _, message in MESSAGES])
def test_bad_input(changes, message):
    options = COLUMNS | {"degree": 1} | changes
    df = options.pop("df", DF)
    with pytest.raises((TypeError, ValueError), match=message):
        nrm.growth.growth_mixture(df, **options)


def test_bad_further_subjects():
    model = nrm.growth.growth_mixture(DF, **COLUMNS, degree=1, n_groups=2, membership="sex")
    with pytest.raises(ValueError, match=r"df must have the columns of the model, .* it lacks \['sex'\]"):
        nrm.table_data(model, DF[["id", "t", "y"]])
    with pytest.raises(ValueError, match=r"'sex' must have the levels of the model, \['f', 'm'\]; got \['x'\]"):
        nrm.table_data(model, DF.assign(sex="x"))
    with pytest.raises(ValueError, match="at most 5 rows of each subject, as the model has; 'a' has more"):
        nrm.table_data(model, DF.assign(id="a", sex="f"))
    with pytest.raises(ValueError, match="model must be made of a DataFrame, as by mixture_model"):
        nrm.table_data(nrm.gaussian_mixture(np.arange(4.0)), DF)


def ratio_given_groups(df):
    """Posterior median of the ratio given the true groups, with flat priors of lines and a variance of each group."""
    log_ratios, log_density = np.linspace(-1.0, 4.0, 61), np.zeros(61)
    for place, ratio in enumerate(np.exp(log_ratios)):
        for _, group in df.groupby("group"):
            products, log_determinant = np.zeros((3, 3)), 0.0
            for _, rows in group.groupby("id"):
                covariance = np.eye(len(rows)) + ratio
                columns = np.column_stack([np.ones(len(rows)), rows["t"], rows["y"]])
                products += columns.T @ np.linalg.solve(covariance, columns)
                log_determinant += np.linalg.slogdet(covariance)[1]
            of_lines = np.linalg.slogdet(products[:2, :2])[1]
            of_rest = np.linalg.slogdet(products)[1] - of_lines
            log_density[place] -= 0.5 * (log_determinant + of_lines + (len(group) - 2) * of_rest)
    weights = np.exp(log_density - log_density.max() - 0.5 * (log_ratios / 1.5) ** 2).cumsum()
    return np.exp(np.interp(0.5, weights / weights[-1], log_ratios))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{}, {"n_groups": 3}, {"n_groups": 3, "membership": ["age", "sex"]}, {"max_groups": 6, "membership": "age"}],
    ids=["unknown number", "three groups", "membership", "sticks"],
)
def test_groups_are_found(options):
    df = simulate(90, 6)
    model = nrm.growth.growth_mixture(df, **COLUMNS, degree=1, **options)
    idata = nrm.sample(400, tune=400, chains=2, cores=1, model=model, random_seed=1, progressbar=False)
    truth = df.groupby("id")["group"].first().loc[list(model.coords["subject"])].to_numpy()
    labels = nrm.point_estimate(idata, random_seed=1)["labels"].values
    assert nrm.stats.adjusted_rand(labels, truth) > 0.85
    found = np.median(idata["posterior"]["trajectory_ratio"].values)
    assert np.log(found / ratio_given_groups(df)) == pytest.approx(0.0, abs=0.2)


LONG = pd.DataFrame({"id": np.repeat(list("abcd"), 3), "week": np.tile([0, 1, 5], 4), "score": np.arange(12.0) ** 1.5})
WIDE = LONG.pivot(index="id", columns="week", values="score")
DAY = pd.Timestamp("2020-01-15") + pd.to_timedelta(LONG["week"], unit="D")
FORMS = {
    "index": (LONG.set_index("id"), ""),
    "wide": (
        WIDE.add_prefix("y").reset_index(),
        "Columns y0, y1, y5 are rows now: 'week' is the number in their names",
    ),
    "several stems": (WIDE.add_prefix("score_").join(WIDE.add_prefix("age") + 1.0).reset_index(), "Columns score_0, "),
    "subjects in the index": (WIDE.add_prefix("y"), "Columns y0, y1, y5 are rows now"),
    "dates of offices": (LONG.assign(week=DAY.dt.strftime("%d.%m.%Y")), "in days since 2020-01-15"),
}


@pytest.mark.parametrize("name", FORMS)
def test_tables_as_people_have_them(name, caplog):
    table, told = FORMS[name]
    names = {"subject": "id", "time": "week", "target": "score", "degree": 1, "jitter_ties": False}
    with caplog.at_level(logging.INFO):
        model = nrm.growth.growth_mixture(table, **names)
    expected = nrm.growth.growth_mixture(LONG, **names)
    for variable in ("time", "trajectory"):
        found, wanted = (
            m.rvs_to_values[m[variable]].data if variable == "trajectory" else m[variable].get_value()
            for m in (model, expected)
        )
        np.testing.assert_array_equal(found, wanted)
    assert told in " ".join(caplog.text.split())
    new = nrm.table_data(model, table.tail(6))
    assert new["trajectory"].sizes["visit"] == 3


def test_wide_tables_of_several_targets_are_refused():
    table = WIDE.add_prefix("x").join(WIDE.add_prefix("y")).reset_index()
    with pytest.raises(ValueError, match="df must have a row for each visit, .* df.melt makes rows of columns"):
        nrm.growth.growth_mixture(table, subject="id", time="week", target="score")


@pytest.mark.slow
def test_times_of_frozen_models_are_read():
    """Constants of a frozen model have the place of its data in descriptions."""
    table = simulate()
    model = freeze_dims_and_data(nrm.growth.growth_mixture(table, **COLUMNS))
    idata = nrm.sample(20, tune=10, chains=1, cores=1, model=model, random_seed=1, quiet=True)
    assert "y over t" in nrm.describe(idata, model).to_text()
