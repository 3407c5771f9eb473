"""Models of tables: which column becomes what, data of new rows, and a column that is predicted by the others."""

import logging
import warnings

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.models.rvs import family_of
from pymc_nrm.models.values import Values
from tests.helpers import refused

pytestmark = pytest.mark.usefixtures("unbroken")

N = 24
LENGTH = np.random.default_rng(1).normal(size=N)


def table(**columns):
    return pd.DataFrame({"length": LENGTH, **columns})


def observed(model):
    return {rv.name: constant_behind(model.rvs_to_values[rv]).data for rv in model.observed_RVs}


def constant_behind(value):
    """PyMC casts observed values to the type of the variable."""
    return value if value.owner is None else constant_behind(value.owner.inputs[0])


def repeated(*values):
    return (list(values) * N)[:N]


def test_binary_columns_have_the_density_of_categories():
    """Also with gaps, at any concentrations, with priors of the hyperparameters."""
    rng = np.random.default_rng(1)
    df = pd.DataFrame((rng.random((30, 2)) < [0.2, 0.6]).astype(float), columns=["a", "b"])
    df.loc[3, "b"] = np.nan
    densities = []
    for kind in ("binary", "categorical"):
        model = nrm.mixture_model(df, kinds={"a": kind, "b": kind})
        log_density = model.compile_logp(mode="FAST_COMPILE")
        point = model.initial_point() | {"z": np.arange(30) % 3}
        concentration = f"{kind}_concentration_log__"
        points = [point | {concentration: np.array([0.3, shift])} for shift in (-1.0, 2.0)]
        densities.append([float(log_density(point)) for point in points])
    np.testing.assert_allclose(densities[0], densities[1], rtol=1e-12)
    assert densities[0][0] != densities[0][1]


# What a column is, the kind given, the mixture that takes it, and its first values there.
COLUMNS = {
    "floats": (LENGTH**2, None, "numeric", LENGTH[:3] ** 2),
    "whole floats": (repeated(1.0, 2.0, 5.0), {"b": "numeric"}, "numeric", [1.0, 2.0, 5.0]),
    "many integers": ([k * k for k in range(N)], None, "numeric", [0, 1, 4]),
    "few integers far apart": (repeated(0, 10, 20, 35, 40, 50), None, "categorical", [0, 1, 2]),
    "booleans": (repeated(True, False), None, "binary", [1, 0, 1]),
    "booleans with gaps": (repeated(True, None, False), None, "binary", [1, np.nan, 0]),
    "zeros and ones": (repeated(0, 1, 1), None, "binary", [0, 1, 1]),
    "zeros and ones with gaps": (repeated(0.0, np.nan, 1.0), None, "binary", [0, np.nan, 1]),
    "strings": (repeated("b", "a", None), None, "categorical", [1, 0, np.nan]),
    "pandas strings": (pd.array(repeated("b", "a", None), dtype="string"), None, "categorical", [1, 0, np.nan]),
    "categories": (
        pd.Categorical(repeated("low", "high"), categories=["low", "none", "high"]),
        None,
        "categorical",
        [0, 1, 0],
    ),
    "counts": (repeated(0, 3, 7), {"b": "count"}, "count", [0, 3, 7]),
    "counts with gaps": (repeated(0, None, 7), {"b": "count"}, "count", [0, np.nan, 7]),
    "ratings": (pd.array(repeated(1, 3, None), dtype="Int64"), {"b": "categorical"}, "categorical", [0, 1, np.nan]),
    "years": (list(range(N)), {"b": "numeric"}, "numeric", [0, 1, 2]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_kinds_of_columns(name):
    values, kinds, mixture, first = COLUMNS[name]
    model = nrm.mixture_model(table(b=values), kinds=kinds, jitter_ties=False)
    features = model.coords[f"{mixture}_feature"]
    assert features == (("length", "b") if mixture == "numeric" else ("b",))
    np.testing.assert_array_equal(observed(model)[mixture][:3, -1], first)


def test_counts_with_far_more_zeros_than_poisson_ones_warn():
    """Groups of different rates have zeros, but not this many; a lone column of zeros and ones has no excess."""
    rng = np.random.default_rng(3)
    rates, groups = np.array([[8, 2, 0.2], [2, 10, 0.5]]), np.arange(60) % 2
    counts = pd.DataFrame(rng.poisson(rates[groups]), columns=["a", "b", "c"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nrm.mixture_model(counts, kinds=dict.fromkeys(counts, "count"))
    inflated = counts.assign(b=counts["b"] * (rng.random(60) > 0.4))
    with pytest.warns(UserWarning, match=r"'b' \(4\d%, expected 0%\)\. .*'zero or positive'") as caught:
        nrm.mixture_model(inflated, kinds=dict.fromkeys(counts, "count"))
    assert caught[0].filename == __file__


def test_positive_columns_share_covariances_with_numeric_ones():
    """Repeated values stay positive, also where the smallest gap is wider than the smallest value."""
    income = np.exp(LENGTH).round(1) + 0.2
    df = table(income=income, wealth=repeated(0.1, 0.1, 5.1, 9.1, 17.0))
    kinds = {"income": "positive", "wealth": "positive"}
    for covariance, family_class in (("full", nrm.LogNormalWishart), ("diagonal", nrm.LogNormalGamma)):
        model = nrm.mixture_model(df, kinds=kinds, covariance=covariance)
        family = family_of(model["numeric"])
        assert type(family) is family_class and family.log_columns.data.tolist() == [0.0, 1.0, 1.0]
        assert [rv.name for rv in model.observed_RVs] == ["numeric"]
        values = observed(model)["numeric"]
        assert (values[:, 1:] > 0).all() and len(np.unique(values[:, 2])) == N
        np.testing.assert_array_equal(nrm.table_data(model, df.head(2))["numeric"][:, 1], income[:2])
    gaps = nrm.mixture_model(df.assign(income=np.where(np.arange(N) == 3, np.nan, income)), kinds=kinds)
    assert gaps.coords["numeric_missing_entry"] == ("3, income",)
    with pytest.raises(ValueError, match="n_directions must be None with .*'positive'"):
        nrm.mixture_model(df, kinds=kinds, n_directions=1)
    with pytest.raises(ValueError, match="column 'income' must be above 0"):
        nrm.table_data(model, df.assign(income=0.0))


def test_columns_that_are_zero_or_positive():
    """Amounts and counts are two mixtures; zeros are not spread, repeated amounts are."""
    presence = np.arange(N) % 3 > 0
    amounts = presence * np.exp(2 * LENGTH + 5).round(-1)
    visits = np.where(np.arange(N) == 4, np.nan, presence * (1.0 + np.arange(N) % 12))
    df = table(spending=amounts, visits=visits)
    model = nrm.mixture_model(df, kinds=dict.fromkeys(["spending", "visits"], "zero or positive"))
    assert [rv.name for rv in model.observed_RVs] == ["numeric", "zero_or_positive", "zero_or_positive_count"]
    families = [type(family_of(rv)) for rv in model.observed_RVs[1:]]
    assert families == [nrm.HurdleLogNormal, nrm.HurdlePoisson]
    data = observed(model)
    assert ((data["zero_or_positive"][:, 0] == 0.0) == (amounts == 0.0)).all()
    np.testing.assert_array_equal(data["zero_or_positive_count"][:, 0], visits)
    new = nrm.table_data(model, df.tail(2))
    assert {name: values.shape for name, values in new.items()} == dict.fromkeys(data, (2, 1))
    with pytest.raises(ValueError, match="column 'spending' must be at least 0 .*; got -1"):
        nrm.mixture_model(df.assign(spending=-1.0 * presence), kinds={"spending": "zero or positive"})
    with pytest.raises(ValueError, match="must be above 0 .*got 0. 'zero or positive'"):
        nrm.mixture_model(df, kinds={"spending": "positive"})


@pytest.mark.slow
def test_structural_zeros_leave_groups_as_they_are():
    """An oracle has an index of .79; as Poisson counts, there were fifty clusters."""
    rng = np.random.default_rng(3)
    rates = np.array([[8, 2, 1, 12, 3], [2, 10, 6, 1, 3], [1, 1, 12, 5, 15.0]])
    groups = rng.choice(3, 240, p=[0.5, 0.3, 0.2])
    df = pd.DataFrame(rng.poisson(rates[groups]) * (rng.random((240, 5)) > 0.4), columns=list("abcde"))
    model = nrm.mixture_model(df)
    idata = nrm.sample(300, tune=300, chains=2, cores=1, model=model, random_seed=1, progressbar=False, quiet=True)
    estimate = nrm.point_estimate(idata, random_seed=1, progressbar=False)
    assert nrm.stats.adjusted_rand(estimate["labels"].values, groups) > 0.7
    log_likelihood = nrm.compute_log_likelihood(idata, model, progressbar=False)
    assert np.isfinite(log_likelihood["log_likelihood"]["zero_or_positive_count"].values).all()


def test_it_is_the_model_that_one_would_write():
    df = table(sex=repeated("f", "m"), stripes=repeated(3, 4, 9)).set_index(pd.Index([f"c{k}" for k in range(N)]))
    model = nrm.mixture_model(df, kinds={"stripes": "count"})
    with pm.Model(coords={"item": df.index}) as written:
        z = nrm.Partition("z", nrm.DirichletProcess(pm.Exponential("alpha", np.log(N))), dims="item")
        X, codes, counts = df[["length"]], (df[["sex"]] == "m").astype(float), df[["stripes"]]
        family = nrm.NormalGamma.learned("numeric", X)
        nrm.Mixture("numeric", z, family, observed=X, dims=("item", "numeric_feature"))
        family = nrm.CategoricalDirichlet.learned("categorical", codes)
        nrm.Mixture("categorical", z, family, observed=codes, dims=("item", "categorical_feature"))
        family = nrm.PoissonGamma.learned("count", counts)
        nrm.Mixture("count", z, family, observed=counts, dims=("item", "count_feature"))
    assert model.str_repr() == written.str_repr()
    assert model.named_vars_to_dims == written.named_vars_to_dims and model.coords.items() >= written.coords.items()
    for name, values in observed(written).items():
        np.testing.assert_array_equal(observed(model)[name], values)
    assert model.coords["item"] == tuple(df.index)
    assert model.coords["sex_level"] == model.coords["level"] == ("f", "m")


def test_numeric_columns_with_gaps_keep_covariances():
    assert type(family_of(nrm.mixture_model(table(b=LENGTH**2))["numeric"])) is nrm.NormalWishart
    gaps = np.where(np.arange(N) == 3, np.nan, LENGTH**2)
    for covariance, family in ((None, nrm.NormalWishart), ("full", nrm.NormalWishart), ("diagonal", nrm.NormalGamma)):
        model = nrm.mixture_model(table(b=gaps), covariance=covariance)
        assert type(family_of(model["numeric"])) is family
        assert ("numeric_missing" in model.named_vars) == (family is nrm.NormalWishart)


WRONG = {
    "constant": (repeated(2.5), "numeric", ValueError, "only one value.*'skip'"),
    "empty": (repeated(None), "numeric", ValueError, "has no values"),
    "complex": (LENGTH + 1j, "numeric", TypeError, "got values of type complex"),
    "lists": ([[1]] * N, "categorical", TypeError, "values of type list"),
    "negative counts": (repeated(1, -2), "count", ValueError, "at least 0 to be a count; got -2"),
    "broken counts": (repeated(1, 2.5), "count", ValueError, "to be a count; got 2.5"),
    "numbers as binary": (repeated(1, 2), "binary", ValueError, "to be binary; got 2"),
    "text as numbers": (repeated("x", "y"), "numeric", TypeError, "got text, which .* takes as categorical"),
    "booleans as numbers": (repeated(True, False), "numeric", TypeError, "takes as binary"),
    "unknown kind": (repeated(1, 2), "counts", ValueError, r"kinds\['b'\] must be one of 'numeric'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_columns_that_are_not_of_their_kind(name):
    values, kind, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        nrm.mixture_model(table(b=values), kinds={"b": kind})


test_tables_that_are_not_allowed = refused(
    lambda change, options: nrm.mixture_model(change(table(b=LENGTH**2)), **options),
    (pd.DataFrame.to_numpy, {}, TypeError, "df must be a pandas DataFrame; got ndarray"),
    (lambda df: df.set_axis(["a", "a"], axis=1), {}, ValueError, r"columns of different names; got \['a'\]"),
    (lambda df: df.head(1), {}, ValueError, "at least two rows; got 1"),
    (lambda df: df[[]], {}, ValueError, r"rows and columns; got shape \(24, 0\)"),
    (lambda df: df.set_index([df.index, df.index]), {}, ValueError, "index of one level; got 2"),
    (lambda df: df, {"kinds": {"c": "count"}}, ValueError, r"kinds must be of columns of df.*got \['c'\]"),
    (lambda df: df, {"kinds": "count"}, TypeError, "kinds must be a mapping"),
    (lambda df: df, {"kinds": pd.DataFrame({"column": ["b"]})}, ValueError, "kinds must have the column 'kind'"),
    (lambda df: df, {"strict": 1}, TypeError, "strict must be True or False; got 1"),
    (lambda df: df, {"jitter_ties": "no"}, TypeError, "jitter_ties must be True or False; got 'no'"),
    (lambda df: df, {"covariance": "diag"}, ValueError, "covariance must be None, 'full' or 'diagonal'; got"),
)


def test_new_rows(caplog):
    df = table(sex=repeated("m", "f", None), smokes=repeated(True, False))
    model = nrm.mixture_model(df)
    new = pd.DataFrame({"smokes": [None, True], "length": [0.5, 1], "sex": ["m", None]}, index=["p", "q"])
    data = nrm.table_data(model, new)
    assert {name: block.values.tolist() for name, block in data.items() if name != "categorical"} == {
        "numeric": [[0.5], [1.0]],
        "binary": [[pytest.approx(np.nan, nan_ok=True)], [1.0]],
    }
    np.testing.assert_array_equal(data["categorical"], [[1.0], [np.nan]])
    assert data["numeric"].new_item.values.tolist() == ["p", "q"]
    for changed, message in (
        (new.assign(sex=["x", "m"]), r"column 'sex' must have levels of the model, \['f', 'm'\]; got 'x'"),
        (new.drop(columns="sex"), r"it lacks \['sex'\]"),
        (new.assign(smokes=2), "to be binary; got 2"),
    ):
        with pytest.raises(ValueError, match=message):
            nrm.table_data(model, changed)
    with pytest.raises(ValueError, match="must be made of a DataFrame"):
        nrm.table_data(nrm.gaussian_mixture(LENGTH), new)
    # Other tests may have lowered the level of the log, and the model above has one line.
    caplog.clear()
    with caplog.at_level(logging.INFO):
        further = nrm.table_data(model, new.assign(age=3, species="a"))
    assert caplog.messages == ["Columns that the model does not have are left out: age, species."]
    for name, block in data.items():
        xr.testing.assert_identical(further[name], block)


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
        data = nrm.table_data(estimator.model_, repeated) if columns else repeated[["height", "width"]].to_numpy()
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
    for predict in (lambda one: one.predict(NEW), lambda one: one.predict_column(NEW, "width")):
        with pytest.raises(ValueError, match=r"is not fitted yet: call fit\(X\) first|not fitted yet"):
            predict(nrm.MixtureEstimator())
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
    model = nrm.regression_model(TABLE, target="height", kinds={"height": "numeric"})
    assert list(nrm.table_data(model, TABLE.drop(columns="height"))) == ["numeric", "binary", "categorical"]


@pytest.mark.every(3)
@pytest.mark.parametrize("name", ["count", "alpha", "item"])
def test_a_target_may_have_the_name_of_a_variable(name):
    renamed = TABLE.rename(columns={"height": name}).assign(visits=np.arange(12) % 4)
    model = nrm.regression_model(renamed, target=name, kinds={"visits": "count"})
    plain = nrm.regression_model(TABLE.assign(visits=np.arange(12) % 4), target="height", kinds={"visits": "count"})
    names = [[rv.name for rv in one.observed_RVs] for one in (model, plain)]
    assert names[0] == [*names[1][:-1], f"{name}_target"]
    new = renamed.drop(columns=name)
    assert list(nrm.table_data(model, new)) == ["numeric", "binary", "categorical", "count"]
    logp = [one.compile_logp(mode="FAST_COMPILE")(one.initial_point()) for one in (model, plain)]
    assert logp[0] == pytest.approx(logp[1])


test_what_is_no_regression_is_refused = refused(
    lambda table, target, kinds: nrm.regression_model(table, target=target, covariance="diagonal", kinds=kinds),
    (TABLE, "weight", None, "target must be one of at least two columns"),
    (TABLE[["height"]], "height", None, "target must be one of at least two columns"),
    (TABLE.assign(age=[np.nan, *TABLE["age"][1:]]), "height", None, r"complete; columns \['age'\]"),
    (TABLE.assign(twice=2 * TABLE["age"]), "height", None, "linear combinations"),
    (TABLE, "height", {"height": "count"}, r"kinds\['height'\] must be 'numeric', since it is the target; got 'count'"),
)
