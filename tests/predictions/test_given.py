"""Laws of new items given some of their data, also where items have several rows of data or none."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from pytensor.raise_op import CheckAndRaise
from scipy import stats

import pymc_nrm as nrm
from pymc_nrm.posterior.conditional_distributions import components_of, mixture_quantiles
from pymc_nrm.testing import all_partitions, exact_posterior, log_evidence
from tests.helpers import mixture_of, refused
from tests.predictions.prediction_cases import (
    CASES,
    LINE,
    MEASURES,
    OF_AGE,
    OF_W,
    PLANE,
    RESPONSE,
    W,
    Y,
    design,
    draws_of,
    joint_model,
    make_model,
    visits_model,
)

MEASURE = MEASURES["NGG"]
W_NEW, Y_NEW = np.array([0.7, 3.2, 8.0]), np.array([1.4, -1.2])
CONSTANT = LINE._replace(covariates=np.column_stack([np.ones(5), W]))


def test_model_has_the_enumerated_posterior():
    families, data = [OF_W, CONSTANT], [W, Y]
    partitions, probabilities = exact_posterior(MEASURE, families, data)
    logp = joint_model().compile_logp(mode="FAST_COMPILE")
    expected = np.log(probabilities) + log_evidence(data, families, MEASURE)
    np.testing.assert_allclose([logp({"z": labels}) for labels in partitions], expected, rtol=1e-9)


@pytest.mark.slow
def test_quantiles_are_those_of_the_density():
    idata, model = draws_of(all_partitions(5)[[0, 7, 30, 51]]), joint_model()
    grid = np.concatenate([-np.geomspace(300, 12, 400), np.linspace(-12, 12, 4001)[1:-1], np.geomspace(12, 300, 400)])
    density = nrm.predictive_density(idata, model, grid, given={"w": W_NEW}, var_name="y").density.values[0]
    q = [0.05, 0.5, 0.9]
    curves = nrm.conditional_quantiles(idata, model, {"w": W_NEW}, q, var_name="y")
    quantile = curves["quantile"].values[0]
    np.testing.assert_allclose(curves["mean"].values[0], np.trapezoid(grid * density, grid), atol=1e-3)
    cumulative = np.concatenate(
        [np.zeros((4, 3, 1)), np.cumsum((density[..., 1:] + density[..., :-1]) / 2 * np.diff(grid), axis=2)], axis=2
    )
    for s, g in np.ndindex(4, 3):
        assert np.interp(quantile[s, g], grid, cumulative[s, g]) == pytest.approx(q, abs=2e-3)


def test_quantiles_of_mixtures_are_exact():
    rng = np.random.default_rng(1)
    weights, df = rng.dirichlet(np.ones(4), size=6), rng.uniform(0.3, 30.0, (6, 4))
    location, scale = 100.0 * rng.normal(size=(6, 4)), np.exp(3.0 * rng.normal(size=(6, 4)))
    weights[0] = [1.0, 0.0, 0.0, 0.0]
    components = components_of(np.log(np.maximum(weights, 1e-300)), df, location, scale)
    x = mixture_quantiles(components, [0.001, 0.5, 0.99])
    laws = stats.t(df[:, None], location[:, None], scale[:, None])
    np.testing.assert_allclose(
        (weights[:, None] * laws.cdf(x[..., None])).sum(axis=2), [[0.001, 0.5, 0.99]] * 6, atol=1e-9
    )


@pytest.mark.slow
def test_columns_given_columns():
    """A gap in a table is predicted by the other columns; what is given of categories is no covariate."""
    colours = np.array([[0], [0], [0], [1], [1]])
    families = {"colour": nrm.CategoricalDirichlet(0.5), "length": OF_W}
    model = mixture_of(families, {"colour": colours, "length": W}, MEASURE)
    idata = draws_of([[0, 0, 0, 1, 1]])
    curves = nrm.conditional_quantiles(idata, model, {"colour": [[0], [1]]}, [0.5], var_name="length")
    short, long = curves["mean"].values[0, 0]
    assert short < 1.5 < long
    weights = nrm.predictive_density(idata, model, [[0], [1]], given={"length": [0.5, 3.3]}, var_name="colour").density
    np.testing.assert_allclose(weights.sum("point"), 1.0)
    assert weights[0, 0, 0, 0] > 0.7 and weights[0, 0, 1, 1] > 0.6


test_what_is_given_is_checked = refused(
    lambda given: nrm.predictive_density(draws_of([[0, 0, 0, 1, 1]]), joint_model(), Y_NEW, given=given, var_name="y"),
    ({}, "given must be a dict"),
    ({"y": Y_NEW}, r"given must not have data of \['y'\]"),
    ({"v": Y_NEW}, "got .*'v'"),
    ({"w": [np.nan]}, "without missing values"),
)


def test_covariates_that_depend_on_other_rows_are_not_known_for_new_items():
    """A mean of new rows differs from the old mean: log densities would be -6.3 in place of -0.2."""
    x = np.random.default_rng(1).normal(5.0, 2.0, 20)
    with pm.Model() as model:
        data = pm.Data("data", x)
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=20)
        W = pt.stack([pt.ones_like(data), data - data.mean()], axis=1)
        nrm.Mixture("y", z, nrm.NormalRegression(W, 0.0, 0.01 * np.eye(2), 2.0, 1.0), observed=1.0 + 2.0 * x)
    draws = xr.Dataset({"z": (("chain", "draw", "item"), np.zeros((1, 2, 20), dtype=int))})
    with pytest.raises(ValueError, match="values of a new item depend on other new ones, as with the mean of a column"):
        nrm.log_predictive_density(draws, model, {"y": [21.0], "data": [10.0]}, progressbar=False)


def test_constant_covariates_are_not_known_for_new_items():
    model = mixture_of({"w": OF_W, "y": CONSTANT}, {"w": W, "y": Y}, MEASURE)
    idata = draws_of([[0, 0, 0, 1, 1]])
    with pytest.raises(ValueError, match="covariates of 'y' must be pm.Data, a Mixture"):
        nrm.predictive_density(idata, model, Y_NEW, given={"w": W_NEW}, var_name="y")
    with pytest.raises(ValueError, match=r"X_new must have new values of \['w'\]"):
        nrm.log_predictive_density(idata, joint_model(), {"y": Y_NEW})


@pytest.mark.parametrize("size", [{"n": 5}, {"dims": "item"}], ids=["n", "dims"])
def test_checks_of_covariates_hold_for_new_items(size):
    """Those of values, but not those of the number of the old items."""
    with pm.Model(coords={"item": list("abcde")}) as model:
        z = nrm.Partition("z", MEASURE, **size)
        w = pm.Data("w", W)
        X = CheckAndRaise(ValueError, "w must be below 9")(design(w), pt.all(w < 9))
        X = CheckAndRaise(ValueError, "five rows are needed")(X, pt.eq(X.shape[0], 5))
        nrm.Mixture("y", z, LINE._replace(covariates=X), observed=Y)
    idata, density = draws_of([[0, 0, 0, 1, 1]]), nrm.log_predictive_density
    assert np.isfinite(density(idata, model, {"y": Y_NEW, "w": np.array([1.0, 8.0])}, progressbar=False)).all()
    with pytest.raises(ValueError, match="w must be below 9"):
        density(idata, model, {"y": Y_NEW, "w": np.array([1.0, 9.5])}, progressbar=False)


@pytest.mark.slow
def test_replications_and_parameters_are_in_the_coordinates_of_the_user():
    line = CONSTANT._replace(Lambda=1e-6 * np.eye(2), beta=1e-8)
    model = mixture_of({"y": line}, {"y": 2.0 + 3.0 * W}, MEASURE)
    idata = draws_of([[0, 0, 0, 0, 0]] * 3)
    drawn = nrm.sample_posterior_predictive(idata, model, random_seed=1, progressbar=False)["posterior_predictive"]
    np.testing.assert_allclose(drawn["y"].values[0], [2.0 + 3.0 * W] * 3, atol=0.02)
    parameters = nrm.sample_cluster_parameters(idata, model, random_seed=1, progressbar=False)
    np.testing.assert_allclose(parameters["item_coefficient"].values[0, :, 0], [[2.0, 3.0]] * 3, atol=0.02)
    with pytest.raises(ValueError, match="covariates of NormalRegression differs between items"):
        nrm.sample_posterior_predictive(idata, model, new_items=1, progressbar=False)
    measures = nrm.random_measure.sample_random_measure(idata, model, random_seed=1, progressbar=False)
    with pytest.raises(NotImplementedError, match="NormalRegression has covariates of each item"):
        nrm.random_measure.measure_density(measures, model, [0.0])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["NormalGamma, missing", "NormalWishart"])
def test_a_feature_given_the_others_of_its_mixture(name):
    """Quantiles are those of the joint density on a line."""
    case, grid = CASES[name], np.linspace(-200.0, 300.0, 100_001)
    model, idata = make_model(MEASURE, case), draws_of(all_partitions(4)[[0, 4, 9, 14]])
    found = nrm.conditional_quantiles(idata, model, {"x": [[np.nan, 0.7]]}, [0.2, 0.6], feature="feature 0")
    line = np.column_stack([grid, np.full(len(grid), 0.7)])
    density = nrm.predictive_density(idata, model, line).density.values[0]
    cumulative = np.cumsum(density, axis=1)
    for s in range(4):
        expected = np.interp([0.2, 0.6], cumulative[s] / cumulative[s, -1], grid)
        np.testing.assert_allclose(found["quantile"].values[0, s, 0], expected, atol=0.02)
    with pytest.raises(ValueError, match="feature must be given, one of the 2 of 'x'"):
        nrm.conditional_quantiles(idata, model, {"x": [[0.0, 0.7]]}, var_name="x")
    with pytest.raises(ValueError, match=r"feature must be a feature of 'x', .* got 'area'"):
        nrm.conditional_quantiles(idata, model, {"x": [[0.0, 0.7]]}, var_name="x", feature="area")


@pytest.mark.slow
def test_one_cluster_is_the_conjugate_linear_model():
    """With a single cluster and no Mixture of covariates, which are data of the model."""
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1e-12), n=5)
        x = pm.Data("x", W)
        nrm.Mixture("y", z, LINE._replace(covariates=design(x)), observed=Y)
    idata = draws_of([[0, 0, 0, 0, 0]])
    D, D_new = np.column_stack([np.ones(5), W]), np.column_stack([np.ones(3), W_NEW])
    precision = LINE.Lambda + D.T @ D
    mean = np.linalg.solve(precision, LINE.Lambda @ LINE.mu + D.T @ Y)
    beta_n = LINE.beta + (Y @ Y + LINE.mu @ (LINE.Lambda @ LINE.mu) - mean @ precision @ mean) / 2
    alpha_n = LINE.alpha + 2.5
    leverage = np.einsum("ij,ij->i", D_new @ np.linalg.inv(precision), D_new)
    law = stats.t(2 * alpha_n, D_new @ mean, np.sqrt(beta_n / alpha_n * (1 + leverage)))
    density = nrm.predictive_density(idata, model, Y_NEW, given={"x": W_NEW}).density.values[0, 0]
    np.testing.assert_allclose(density.T, [law.pdf(y) for y in Y_NEW], rtol=1e-8)
    curves = nrm.conditional_quantiles(idata, model, {"x": W_NEW}, [0.1, 0.5])
    np.testing.assert_allclose(curves["quantile"].values[0, 0].T, [law.ppf(0.1), law.ppf(0.5)], rtol=1e-8)
    np.testing.assert_allclose(curves["mean"].values[0, 0], law.mean(), rtol=1e-8)


@pytest.mark.slow
def test_quantile_of_a_new_item_with_one_row():
    idata, model, given = draws_of(all_partitions(4)[[5]]), visits_model(), {"age": [0.3], "time": [0.5]}
    [[[[end]]]] = nrm.conditional_quantiles(idata, model, given, [0.3], var_name="y")["quantile"].values
    grid = np.linspace(-60, end, 8001)
    density = nrm.predictive_density(idata, model, grid, given=given, var_name="y")["density"].values[0, 0, 0]
    assert density.sum() * (end + 60) / 8000 == pytest.approx(0.3, abs=2e-3)


@pytest.mark.slow
def test_replications_parameters_and_new_items():
    line = PLANE._replace(Lambda=1e-6 * np.eye(3), beta=1e-8)
    items, rates = np.array([0, 0, 0, 2, 1, 1, 0]), np.array([4, 6, 5, 90, 3, 5, 5])
    time = np.arange(7.0)
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURE, n=4)
        covariates = np.column_stack([np.ones(7), time, time**2])
        nrm.Mixture("y", z, line._replace(covariates=covariates), observed=2.0 + 3.0 * time, rows=items, dims="visit")
        nrm.Mixture("count", z, nrm.PoissonGamma(1.0, 0.1), observed=rates, rows=items)
    idata = draws_of([[0, 0, 1, 0]] * 400)
    drawn = nrm.sample_posterior_predictive(idata, model, random_seed=1, progressbar=False)["posterior_predictive"]
    assert drawn["y"].dims == ("chain", "draw", "visit")
    on_line = drawn["y"].values[0][:, items == 0]
    np.testing.assert_allclose(on_line, np.tile(2.0 + 3.0 * time[items == 0], (400, 1)), atol=0.05)
    np.testing.assert_allclose(drawn["count"].mean(("chain", "draw")).values[[0, 3, 4]], [4.7, 82.7, 4.7], rtol=0.15)
    parameters = nrm.sample_cluster_parameters(idata, model, var_name="count", random_seed=1, progressbar=False)
    assert parameters["item_rate"].sizes["item"] == 4
    new = nrm.sample_posterior_predictive(idata, model, new_items=2, var_names="count", random_seed=1)
    assert new["predictions"]["count"].shape == (1, 400, 2)
    assert new["posterior_predictive"]["count"].shape == (1, 400, 7)
    assert list(nrm.describe(idata, model, [0, 0, 1, 0]).cells.columns.intersection(["y", "count"])) == [
        "y",
        "count",
    ]


@pytest.mark.slow
def test_forward_draws_have_the_clusters_of_their_items():
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURE, n=4)
        family = nrm.NormalGamma(0.0, 1e-14, 1e8, 1.0)
        nrm.Mixture("x", z, family, rows=[2, 0, 0, 3, 2], shape=(5,))
    z, x = pm.draw([model["z"], model["x"]], 50, random_seed=1)
    for labels, values in zip(z, x, strict=True):
        same = labels[[2, 0, 0, 3, 2]][:, None] == labels[[2, 0, 0, 3, 2]]
        np.testing.assert_array_equal(np.abs(values[:, None] - values) < 0.01, same)


test_wrong_rows = refused(
    lambda rows: nrm.Mixture("x", nrm.Partition("z", MEASURE, n=4), OF_AGE, observed=RESPONSE, rows=rows),
    ([0, 1, 2], ValueError, "observed data of Mixture 'x' must have one row for each of the 3 entries of rows"),
    ([0, 1, 2, 4, 0], ValueError, r"rows of Mixture 'x' must be items .* from 0 to 3; got 4 in row 3"),
    ([0, 1, np.nan, 1, 0], ValueError, "rows of Mixture 'x' must be items .* got nan in row 2"),
    ([0, 1, 0.5, 1, 0], ValueError, "rows of Mixture 'x' must be items .* got 0.5 in row 2"),
    ([[0], [1], [2], [1], [0]], ValueError, r"rows of Mixture 'x' must have shape \(n_rows,\)"),
    (["a", "b", "a", "b", "a"], TypeError, "rows of Mixture 'x' must be real numbers; got text"),
    (pt.lvector("i"), TypeError, "rows of Mixture 'x' must be an array"),
    within=pm.Model,
)


@pytest.mark.parametrize("logarithms", [False, True])
def test_quantiles_given_some_of_the_others(logarithms):
    """Missing features of new items are marginalised out, whatever other items lack."""
    X = np.random.default_rng(2).normal(size=(8, 3)) @ [[1.0, 0.7, 0.3], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]]
    prior, labels = (np.zeros(3), 0.5, 3.0 * np.eye(3), 6.0), [0, 0, 0, 1, 1, 1, 1, 0]
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=8)
        if logarithms:
            nrm.Mixture("x", z, nrm.families.LogNormalWishart(np.ones(3), *prior), observed=np.exp(X))
        else:
            nrm.Mixture("x", z, nrm.NormalWishart(*prior), observed=X)
    idata = xr.Dataset({"z": (("chain", "draw", "item"), [[labels]])})
    new = np.array(
        [[9.0, 0.4, np.nan], [9.0, np.nan, -1.0], [9.0, np.nan, np.nan], [9.0, 0.4, -1.0], [np.nan, 0.4, np.nan]]
    )
    q = [0.1, 0.5, 0.9]
    given = np.exp(new) if logarithms else new
    quantiles = nrm.conditional_quantiles(idata, model, {"x": given}, q, feature=0)["quantile"].values[0, 0]
    # By integrating the joint density of the features that are known.
    grid = np.linspace(-40.0, 40.0, 8001)
    for row, result in zip(new, quantiles, strict=True):
        points = np.tile(row, (len(grid), 1))
        points[:, 0] = grid
        scale = grid if logarithms else np.zeros(len(grid))
        points = np.exp(points) if logarithms else points
        density = nrm.predictive_density(idata, model, points).density.values[0, 0] * np.exp(scale)
        cumulative = np.cumsum(density) / density.sum()
        result = np.log(result) if logarithms else result
        np.testing.assert_allclose(np.interp(result, grid, cumulative), q, atol=5e-3)
