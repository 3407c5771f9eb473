"""Families of logarithms against the same models of logarithms taken by hand."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.families.base import prepare_data
from pymc_nrm.families.conjugate import draw_item
from pymc_nrm.families.shared.scale import from_scale
from tests.helpers import mixture_of, refused

RNG = np.random.default_rng(1)
LOGS = RNG.normal(size=(12, 3)) @ RNG.normal(size=(3, 3)) + np.repeat([[0.0], [4.0]], 6, axis=0)
IS_LOG = np.array([1.0, 0.0, 1.0])
LEARNED = {
    "full": (nrm.LogNormalWishart, nrm.NormalWishart),
    "diagonal": (nrm.LogNormalGamma, nrm.NormalGamma),
}


def in_units(logs):
    return np.where(IS_LOG == 1.0, np.exp(logs), logs)


def models(kind, logs):
    """The model of columns in their units, and that of logarithms."""
    of_units, of_logs = LEARNED[kind]
    built = []
    for family_class, data, rest in ((of_units, in_units(logs), [IS_LOG]), (of_logs, logs, [])):
        with pm.Model(coords={"item": range(12)}) as model:
            z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="item")
            nrm.Mixture("x", z, family_class.learned("x", data, *rest), observed=data, dims=("item", "x_feature"))
        built.append(model)
    return built


@pytest.mark.slow
@pytest.mark.parametrize("kind", LEARNED)
def test_draws_are_those_of_logarithms(kind):
    """Labels, hyperparameters and missing entries, up to rounding."""
    logs = np.where(np.arange(36).reshape(12, 3) % 17 == 4, np.nan, LOGS)
    options = {"tune": 10, "chains": 1, "cores": 1, "random_seed": 3, "progressbar": False, "quiet": True}
    found, expected = (nrm.sample(10, model=model, **options)["posterior"] for model in models(kind, logs))
    np.testing.assert_array_equal(found["z"], expected["z"])
    assert len(np.unique(found["z"])) > 1
    np.testing.assert_allclose(found["x_share"], expected["x_share"], rtol=1e-6)
    if kind == "full":
        columns = np.nonzero(np.isnan(logs))[1]
        entries = np.where(IS_LOG[columns] == 1.0, np.log(np.abs(found["x_missing"])), found["x_missing"])
        np.testing.assert_allclose(entries, expected["x_missing"], rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LEARNED)
def test_results_are_those_of_logarithms(kind):
    """Densities have the Jacobian, quantiles and replicated data are exponentials, parameters are the same."""
    (of_units, of_logs), rng = models(kind, LOGS), np.random.default_rng(2)
    start = {rv.name: rng.lognormal(size=(1, 2, *np.shape(rv.eval()))) for rv in of_logs.free_RVs if rv.name != "z"}
    labels = np.repeat(np.arange(12)[None] // 6, 2, axis=0)[None]
    posterior = xr.Dataset(
        {"z": (("chain", "draw", "item"), labels)}
        | {name: (("chain", "draw", *(f"{name}_{k}" for k in range(x.ndim - 2))), x) for name, x in start.items()}
    )
    new, options = LOGS[:2] + 0.3, {"progressbar": False}
    volume = (new * IS_LOG).sum(axis=1)
    found = nrm.log_predictive_density(posterior, of_units, in_units(new), **options)
    expected = nrm.log_predictive_density(posterior, of_logs, new, **options)
    np.testing.assert_allclose(found, expected - volume)
    found = nrm.cluster_probabilities(posterior, of_units, in_units(new), **options)
    xr.testing.assert_allclose(found, nrm.cluster_probabilities(posterior, of_logs, new, **options))
    for feature in range(3):
        curves = [
            nrm.conditional_quantiles(posterior, model, {"x": rows}, [0.1, 0.5], feature=feature, **options)
            for model, rows in ((of_units, in_units(new)), (of_logs, new))
        ]
        logs = np.log(curves[0]["quantile"]) if IS_LOG[feature] else curves[0]["quantile"]
        np.testing.assert_allclose(logs, curves[1]["quantile"], rtol=1e-7)
        assert bool(np.isnan(curves[0]["mean"]).all()) == bool(IS_LOG[feature])
    parameters = [
        nrm.sample_cluster_parameters(posterior, model, random_seed=1, **options) for model in (of_units, of_logs)
    ]
    np.testing.assert_allclose(parameters[0]["location"], parameters[1]["mean"], rtol=1e-8)
    replicated = [
        nrm.sample_posterior_predictive(posterior, model, random_seed=1, **options)["posterior_predictive"]["x"]
        for model in (of_units, of_logs)
    ]
    np.testing.assert_allclose(replicated[0], in_units(replicated[1].values), rtol=1e-6)
    likelihoods = [
        nrm.compute_log_likelihood(xr.DataTree.from_dict({"posterior": posterior}), model, **options)["log_likelihood"][
            "x"
        ]
        for model in (of_units, of_logs)
    ]
    np.testing.assert_allclose(likelihoods[0], likelihoods[1] - (LOGS * IS_LOG).sum(axis=1))


@pytest.mark.parametrize("location", [-1e4, 1e4])
def test_draws_beyond_doubles_are_data(location):
    """A positive value that no double holds is the nearest one, neither 0 nor infinite."""
    rng = np.random.default_rng(1)
    cases = (
        (nrm.LogNormalGamma(np.ones(1), *np.ones((4, 1))), [location, 1.0]),
        (nrm.HurdleLogNormal(*np.ones((6, 1))), [1.0, location, 1.0]),
    )
    for family, parameters in cases:
        values = np.empty(1)
        draw_item(family, np.array(parameters), rng, 0, values)
        assert values[0] > 0.0 and prepare_data(family, values[:, None])
    assert 0.0 < from_scale(nrm.LogNormalGamma(np.ones(1), *np.ones((4, 1))), [0], np.array([location]))[0] < np.inf


test_refused = refused(
    lambda family, X: mixture_of(family, X),
    (nrm.LogNormalGamma([1, 0], 0.0, 1.0, 1.0, 1.0), [[1.0, 2.0], [0.0, 1.0]], "above 0 .* got 0.0 in row 1, column 0"),
    (nrm.LogNormalGamma([1, 0.5], 0.0, 1.0, 1.0, 1.0), [[1.0, 2.0]], "log_columns .* 0 or 1; got 0.5"),
)


def test_latent_amounts_that_may_be_zero_are_refused():
    with pm.Model():
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
        family = nrm.HurdleLogNormal(*np.ones((6, 2)))
        with pytest.raises(ValueError, match="'x' of HurdleLogNormal must have observed data, since no step .* 0 with"):
            nrm.Mixture("x", z, family, shape=(3, 2))
        assert nrm.Mixture.dist(z, family, shape=(3, 2)).dtype == "float64"


def test_rows_in_chunks_are_refused():
    with pytest.raises(NotImplementedError, match="LogNormalGamma does not support .*Chunks of logarithms"):
        mixture_of(nrm.LogNormalGamma([1.0], 0.0, 1.0, 1.0, 1.0), nrm.Chunks(np.ones((30, 1))))
