"""Predictions of a file are those of draws and model, for every family, measure and kind of partition."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy import sparse

import pymc_nrm as nrm
from pymc_nrm.families.definitions.principal_normal_wishart import PrincipalNormalWishart
from pymc_nrm.families.derived.spherical_principal_normal_wishart import SphericalPrincipalNormalWishart
from pymc_nrm.serving.predictive_distributions import PREDICTIVE
from tests.cases import LARGE, MEASURES, SMALL
from tests.helpers import mixture_of, refused
from tests.serving.serving_cases import (
    EQUAL,
    KINDS,
    QUIET,
    assert_equal_predictions,
    assert_equal_quantiles,
    draws_from_prior,
    draws_of_labels,
    predictor_of,
    table,
)

LABELS = np.array([[0, 0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 2], [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1], np.zeros(12, int)])
ESTIMATE = np.array([3, 3, 3, 3, 3, 3, 3, 5, 5, 5, 5, 5])


def large(name):
    """Family, data of twelve items, and new data: some of these with gaps if the family allows them, and others."""
    family, simulate = LARGE[name].large
    X, new = simulate(np.random.default_rng(1)), simulate(np.random.default_rng(2))
    if sparse.issparse(new):
        return family, X, new
    new = np.array(new, dtype="float64")
    if type(family).missing_allowed:
        new[0, 0] = new[1, -1] = np.nan
        new[2] = np.nan
    return family, X, new


# Regressions have covariates, and a test of their own.
EXPORTED = [name for name, row in LARGE.items() if type(row.large.family) in {*PREDICTIVE} - {nrm.NormalRegression}]


@pytest.mark.quick("NormalWishart, three features", "CategoricalDirichlet, matrix")
@pytest.mark.parametrize("name", EXPORTED)
def test_families(name, tmp_path):
    family, X, new = large(name)
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=12)
        nrm.Mixture("x", z, family, observed=X)
    assert_equal_predictions(draws_of_labels(LABELS), model, new, tmp_path, ESTIMATE)


def test_every_family_that_can_be_exported_has_a_case():
    assert {type(LARGE[name].large.family) for name in EXPORTED} >= set(PREDICTIVE) - {
        nrm.NormalRegression,
        PrincipalNormalWishart,
        SphericalPrincipalNormalWishart,
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["PrincipalNormalWishart", "SphericalPrincipalNormalWishart", "two families"])
def test_further_families(name, tmp_path):
    family, X = SMALL[name]
    labels, estimate = [[0, 0, 1, 1], [0, 0, 0, 0]], [0, 0, 1, 1]
    if isinstance(family, list):
        model = mixture_of(dict(zip("xy", family, strict=True)), dict(zip("xy", X, strict=True)))
        new = {"x": X[0][:3] + 0.3, "y": X[1][:3] + 1}
    else:
        labels = [[*row, 1] for row in labels] if len(X) == 5 else labels
        estimate = [*estimate, 1] if len(X) == 5 else estimate
        model, new = mixture_of(family, X), X[:3] + 0.2
    predictor = assert_equal_predictions(draws_of_labels(labels), model, new, tmp_path, estimate)
    if isinstance(family, list):
        # A feature given another mixture, and a density given it.
        idata, given = draws_of_labels(labels), {"y": new["y"]}
        assert_equal_quantiles(predictor, idata, model, given, var_name="x")
        expected = nrm.log_predictive_density(idata, model, {"x": new["x"]}, given=given, **QUIET).values
        np.testing.assert_allclose(predictor.log_density({"x": new["x"]}, given=given), expected, **EQUAL)
        np.testing.assert_allclose(
            predictor.log_density(given), nrm.log_predictive_density(idata, model, given, **QUIET), **EQUAL
        )


@pytest.mark.quick("DP", "MFM")
@pytest.mark.parametrize("measure", MEASURES)
def test_measures(measure, tmp_path):
    model = mixture_of(nrm.PoissonGamma(1.0, 0.5), [0, 1, 0, 9, 12, 11], MEASURES[measure])
    idata = draws_of_labels([[0, 0, 0, 1, 1, 2], [0, 1, 0, 2, 2, 2]])
    assert_equal_predictions(idata, model, [0, 4, 10, np.nan], tmp_path, [0, 0, 0, 0, 1, 1])


@pytest.mark.quick("NormalWishart, three features")
@pytest.mark.parametrize("name", ["NormalWishart, three features", "LogNormalWishart", "NormalGamma, missing"])
def test_quantiles(name, tmp_path):
    """Of every feature given the others, in the units of the data."""
    family, X, new = large(name)
    new = new[3:]
    with pm.Model(coords={"item": range(12), "feature": [f"column {j}" for j in range(X.shape[1])]}) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="item")
        nrm.Mixture("x", z, family, observed=X, dims=("item", "feature"))
    idata = draws_of_labels(LABELS)
    if np.isnan(X).any() and "x_missing" in [rv.name for rv in model.free_RVs]:
        idata = idata.merge(draws_from_prior(model)[["x_missing"]])
    predictor = predictor_of(idata, model, tmp_path)
    for feature in model.coords["feature"]:
        assert_equal_quantiles(predictor, idata, model, {"x": new}, feature=feature)


def test_quantiles_given_some_of_the_others(tmp_path):
    """The conditional density of a feature is the ratio of two densities, whatever else is missing."""
    family, X, new = large("NormalWishart, three features")
    predictor = predictor_of(draws_of_labels(LABELS[:1]), mixture_of(family, X), tmp_path)
    row = np.array([[np.nan, new[3, 1], np.nan]])
    found = predictor.conditional_quantiles({"x": row}, [0.2, 0.7], feature=0, average=True)
    grid = np.linspace(-40.0, 40.0, 160_001)
    rows = np.column_stack([grid, np.full_like(grid, row[0, 1]), np.full_like(grid, np.nan)])
    density = np.exp(predictor.log_density(rows) - predictor.log_density(row))
    cumulative = np.cumsum(density) * (grid[1] - grid[0])
    np.testing.assert_allclose(np.interp(found.quantile[0], grid, cumulative), [0.2, 0.7], atol=2e-3)


@pytest.mark.parametrize("d", [1, 3])
def test_quantiles_of_masked_and_sparse_rows(d, tmp_path):
    """Masked entries are missing, and values of the feature itself are not read, in data of any shape."""
    family = nrm.NormalGamma([0.0] * d, 0.1, 2.0, 1.0)
    X = np.array([0.2, 0.1, 0.4, 5.1, 5.0, 5.3])[:, None] + np.arange(d)
    predictor = predictor_of(draws_of_labels([[0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 1]]), mixture_of(family, X), tmp_path)
    missing = np.where(np.arange(d) == 1, 1.2, np.nan)[None]
    masked = np.ma.masked_array(np.where(np.isnan(missing), 7.0, missing), np.isnan(missing))
    rows = [masked, np.where(np.arange(d) == 0, 5.0, missing), missing.astype(object), sparse.csr_array(missing)]
    rows += [[5.0], np.array([5.0])] if d == 1 else []
    expected = predictor.conditional_quantiles({"x": missing}, [0.2, 0.7], feature=0).quantile
    for data in rows:
        quantile = predictor.conditional_quantiles({"x": data}, [0.2, 0.7], feature=0).quantile
        np.testing.assert_array_equal(quantile, expected)


@pytest.mark.slow
def test_regressions(tmp_path):
    """The target given covariates of all kinds, their density, and clusters given both."""
    columns = ["weight", "income", "smokes", "colour", "calls"]
    df = table()[columns].assign(height=lambda df: df["calls"] + np.sin(np.arange(24)), colour=table()["rating"])
    df = df.assign(smokes=df["calls"] > 4)
    model = nrm.regression_model(df, "height", kinds={name: KINDS[name] for name in columns})
    idata, new = draws_from_prior(model), df.iloc[[3, 1, 17]].assign(calls=[2, 3, 4])
    data = nrm.table_data(model, new)
    given, y = {name: rows.values for name, rows in data.items()}, new["height"].to_numpy()
    predictor = assert_equal_predictions(idata, model, {**given, "height": y}, tmp_path, np.arange(24) % 2)
    assert_equal_quantiles(predictor, idata, model, given)
    np.testing.assert_array_equal(
        predictor.conditional_quantiles(new).quantile, predictor.conditional_quantiles(given).quantile
    )
    expected = nrm.log_predictive_density(idata, model, {"height": y}, given=given, **QUIET).values
    np.testing.assert_allclose(predictor.log_density({"height": y}, given=given), expected, **EQUAL)
    with pytest.raises(ValueError, match=r"new values of .*'numeric'.* must be given.*covariates of 'height' depend"):
        predictor.log_density({"height": y})
    with pytest.raises(ValueError, match="'numeric', a covariate of 'height' must not be missing"):
        predictor.conditional_quantiles(given | {"numeric": np.full((3, 2), np.nan)})


@pytest.fixture(scope="module")
def of_table():
    model = nrm.mixture_model(table(), kinds=KINDS)
    return draws_from_prior(model), model


@pytest.mark.slow
def test_tables(of_table, tmp_path):
    """Learned hyperparameters, gaps that are drawn, and new rows read as the first ones were."""
    idata, model = of_table
    new = table(seed=2, n=9)
    estimate = np.arange(24) % 3
    data = nrm.table_data(model, new)
    predictor = assert_equal_predictions(idata, model, data, tmp_path, estimate)
    assert predictor.columns.keys() == data.keys()
    for columns in (new, new[new.columns[::-1]].assign(further="x")):
        read = predictor.read(columns)
        assert read.keys() == data.keys()
        for name, values in read.items():
            np.testing.assert_array_equal(values, data[name].values)
    np.testing.assert_array_equal(predictor.log_density(new), predictor.log_density(data))
    assert_equal_quantiles(predictor, idata, model, {name: x.values for name, x in data.items()}, feature="income")
    without = new.drop(columns="income")
    np.testing.assert_array_equal(
        predictor.conditional_quantiles(without, feature="income", average=True).quantile,
        predictor.conditional_quantiles(new, feature="income", average=True).quantile,
    )
    with pytest.raises(ValueError, match="lacks colour"):
        predictor.log_density(new.drop(columns="colour"))
    with pytest.raises(ValueError, match=r"column 'colour' must have levels of the model.*got 'pink'"):
        predictor.log_density(new.assign(colour="pink"))
    with pytest.raises(ValueError, match="column 'weight' must be in kg"):
        predictor.log_density(new.assign(weight=["50 lb", *new["weight"][1:]]))


@pytest.mark.slow
def test_text_without_a_table(tmp_path):
    """A family that has read text reads it in new rows too."""
    answers = [["yes", "red"], ["no", None], ["yes", "blue"], ["no", "red"]]
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
        nrm.Mixture("x", z, nrm.CategoricalDirichlet.learned("x", answers), observed=answers)
    idata, new = draws_from_prior(model), [["no", "blue"], ["yes", None]]
    predictor = predictor_of(idata, model, tmp_path, estimate=[0, 1, 0, 1])
    expected = nrm.log_predictive_density(idata, model, new, **QUIET).values
    np.testing.assert_allclose(predictor.log_density(new), expected, **EQUAL)
    np.testing.assert_allclose(predictor.log_density([[0, 0], [1, np.nan]]), expected, **EQUAL)


X = np.array([0.2, 0.1, 0.4, 5.1, 5.0, 5.3])
OF_X = nrm.NormalGamma(0.0, 0.3, 2.0, 0.5)
PARTITIONS = {
    "slots": {"max_clusters": 4},
    "together": {"together": [0, 0, 1, 2, 2, 3]},
    "known": {"known": [0, None, None, 1, None, None]},
    "weights": {"log_weights": np.log([0.2, 0.5, 0.3])},
    "observed": {"observed": [0, 0, 0, 1, 1, 1]},
}


@pytest.mark.quick("together")
@pytest.mark.parametrize("kind", PARTITIONS)
def test_kinds_of_partitions(kind, tmp_path):
    options = PARTITIONS[kind]
    with pm.Model() as model:
        measure = () if kind == "weights" else (nrm.DirichletProcess(pm.Exponential("alpha", 1.0)),)
        z = nrm.Partition("z", *measure, **({} if kind == "observed" else {"n": 6}), **options)
        nrm.Mixture("x", z, OF_X, observed=X)
        if kind == "weights":
            pm.Normal("further")
    idata = draws_from_prior(model)
    assert_equal_predictions(idata, model, [0.0, 5.2, np.nan], tmp_path, [0, 0, 0, 1, 1, 1])


@pytest.mark.slow
def test_several_rows_of_an_item(tmp_path):
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
        nrm.Mixture("x", z, OF_X, observed=X, rows=[0, 0, 1, 2, 2, 1])
        nrm.Mixture("y", z, nrm.PoissonGamma(1.0, 1.0), observed=[1, 0, 8])
    idata = draws_of_labels([[0, 0, 1], [0, 1, 2]])
    new = {"x": [0.3, 4.0], "y": [0, 9]}
    predictor = assert_equal_predictions(idata, model, new, tmp_path, [0, 0, 1])
    assert_equal_quantiles(predictor, idata, model, {"y": [0, 9]}, var_name="x")


@pytest.mark.slow
def test_rows_in_chunks(tmp_path):
    rng = np.random.default_rng(1)
    values = {"a": rng.normal(6.0 * (np.arange(300) % 2)), "b": rng.poisson(3.0, 300)}
    rows = nrm.Chunks(pd.DataFrame(values))
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), chunks=rows)
        nrm.Mixture("x", z, nrm.NormalGamma(3.0, 0.1, 2.0, 1.0), observed=rows[["a"]])
        nrm.Mixture("y", z, nrm.PoissonGamma(1.0, 1.0), observed=rows[["b"]])
        idata = nrm.sample(20, tune=20, chains=2, cores=1, random_seed=1, quiet=True, progressbar=False)
    new = {"x": [[0.0], [6.2]], "y": [[3], [9]]}
    assert_equal_predictions(idata, model, new, tmp_path, nrm.point_estimate(idata, progressbar=False))


def test_distant_data_keep_their_digits(tmp_path):
    """Locations are relative to a centre: clusters of width 1 around 1e9 keep ten digits."""
    family = nrm.NormalWishart(mu=[1e9, 0.0], kappa=0.3, Psi=np.eye(2), nu=4.0)
    rng = np.random.default_rng(1)
    X = np.column_stack([1e9 + rng.normal(size=12), rng.normal(size=12)])
    assert_equal_predictions(draws_of_labels(LABELS), mixture_of(family, X), X + 0.25, tmp_path, ESTIMATE)


@pytest.mark.slow
def test_large_clusters_keep_their_digits(tmp_path):
    """Gamma functions of 1e5 items would lose six digits in a difference."""
    rng = np.random.default_rng(1)
    X, counts = rng.normal(size=(100_000, 2)), rng.poisson(3.0, size=(100_000, 1))
    families = {"x": nrm.NormalGamma(0.0, 1.0, 2.0, 1.0), "y": nrm.PoissonGamma(1.0, 1.0)}
    model = mixture_of(families, {"x": X, "y": counts})
    idata = draws_of_labels(np.zeros((1, 100_000), dtype=int))
    assert_equal_predictions(idata, model, {"x": X[:5], "y": counts[:5]}, tmp_path, np.zeros(100_000, dtype=int))


class Own(nrm.PoissonGamma):
    """A subclass may have another distribution."""


def test_families_of_users_cannot_be_exported(tmp_path):
    model = mixture_of(Own(1.0, 1.0), [0, 1, 0, 1])
    with pytest.raises(NotImplementedError, match="Mixture 'x' has the family Own.*it can of BernoulliBeta"):
        predictor_of(draws_of_labels([[0, 0, 1, 1]]), model, tmp_path)


def model_of(kind):
    with pm.Model() as model:
        if kind == "likelihood":
            z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=6, max_clusters=3)
            pm.Normal("x", pm.Normal("m", shape=3)[z], 1.0, observed=X)
        elif kind == "regression":
            z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=6)
            nrm.Mixture("y", z, nrm.NormalRegression(X[:, None], 0.0, np.eye(1), 2.0, 1.0), observed=X)
        elif kind == "weights":
            w = pm.Data("w", np.arange(6.0))
            weights = pm.math.stack([w, 0.0 * w], axis=1)
            z = nrm.Partition("z", log_weights=weights, n=6)
            nrm.Mixture("x", z, OF_X, observed=X)
        else:
            z = nrm.states.HiddenStates("z", nrm.DirichletProcess(1.0), nrm.states.Transitions(1.0, 1.0), n=6)
            nrm.Mixture("x", z, OF_X, observed=X)
    return model


test_what_else_cannot_be_exported = refused(
    lambda tmp_path, kind: predictor_of(draws_from_prior(model_of(kind)), model_of(kind), tmp_path),
    ("likelihood", "no Mixture depends on partition 'z'"),
    (
        "regression",
        "covariates of Mixture 'y' are a graph of PyTensor.*holds the covariates of a model of nrm",
    ),
    ("weights", r"log_weights of 'z' depend on \['w'\]"),
    ("states", "the partition must be flat to be exported"),
    error=NotImplementedError,
)
pytest.mark.slow(test_what_else_cannot_be_exported)
