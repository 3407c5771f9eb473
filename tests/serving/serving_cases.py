"""Models, draws from their priors, and predictions of a file beside those of draws and model."""

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

import pymc_nrm as nrm

QUIET = {"progressbar": False}
# Equal up to rounding: log densities to 1e-10, or ten digits where they are large.
EQUAL = {"rtol": 1e-10, "atol": 1e-10}

N = 24


def draws_from_prior(model, n_draws=3):
    """Draws of labels and hyperparameters; those of labels make several clusters."""
    with model:
        prior = pm.sample_prior_predictive(2 * n_draws, random_seed=1)["prior"].to_dataset()
    names = [rv.name for rv in model.free_RVs]
    chains = [prior[names].isel(chain=0, draw=slice(k * n_draws, (k + 1) * n_draws)) for k in range(2)]
    chains = [chain.assign_coords(draw=np.arange(n_draws)) for chain in chains]
    return xr.concat(chains, dim="chain").transpose("chain", "draw", ...)


def draws_of_labels(labels, name="z"):
    """A posterior of two chains with labels (S, n) alone."""
    labels = np.asarray(labels)
    return xr.Dataset({name: (("chain", "draw", "item"), np.stack([labels, labels[::-1]]))})


def predictor_of(idata, model, folder, **options):
    path = folder / "file.nrm"
    path.unlink(missing_ok=True)
    nrm.serving.export(idata, model, path, **{"n_draws": "all", **QUIET, **options})
    return nrm.serving.Predictor(path)


def assert_equal_predictions(idata, model, X_new, folder, estimate, n_new=None):
    """Assert that a file predicts new items as draws and model do; return its reader."""
    predictor = predictor_of(idata, model, folder, estimate=estimate)
    expected = nrm.log_predictive_density(idata, model, X_new, **QUIET)
    np.testing.assert_allclose(predictor.log_density(X_new), expected.values, **EQUAL)
    expected = nrm.cluster_probabilities(idata, model, X_new, estimate, **QUIET)
    found = predictor.cluster_probabilities(X_new)
    np.testing.assert_allclose(found.probability, expected.probability.values, **EQUAL)
    np.testing.assert_allclose(found.new_cluster_probability, expected.new_cluster_probability.values, **EQUAL)
    assert found.labels.tolist() == expected.labels.values.tolist()
    assert found.clusters.tolist() == expected.cluster.values.tolist()
    return predictor


def assert_equal_quantiles(predictor, idata, model, given, **options):
    q = [0.05, 0.5, 0.9]
    for average in (False, True):
        expected = nrm.conditional_quantiles(idata, model, given, q, average=average, **options, **QUIET)
        found = predictor.conditional_quantiles(given, q, average=average, **options)
        shape = found.quantile.shape
        np.testing.assert_allclose(found.quantile, expected["quantile"].values.reshape(shape), **EQUAL)
        np.testing.assert_allclose(found.mean, expected["mean"].values.reshape(shape[:-1]), **EQUAL)


KINDS = {
    "length": "numeric",
    "weight": "numeric",
    "income": "positive",
    "rain": "zero or positive",
    "visits": "zero or positive",
    "smokes": "binary",
    "colour": "categorical",
    "rating": "categorical",
    "calls": "count",
    "since": "numeric",
}


def table(seed=1, n=N):
    """A table of every kind of column: text, gaps, numbers with units, dates, booleans."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 2
    length = pd.Series(rng.normal(5.0 * group, 1.0, n)).where(np.arange(n) % 7 != 3)
    return pd.DataFrame(
        {
            "length": length,
            "weight": [f"{value:.2f} kg" for value in rng.normal(50.0 + 20.0 * group, 5.0)],
            "income": np.exp(rng.normal(7.0 + group, 0.5)),
            "rain": np.where(rng.random(n) < 0.4, 0.0, rng.exponential(3.0, n)),
            "visits": np.where(rng.random(n) < 0.4, 0, 1 + rng.poisson(2.0 + group)),
            "smokes": pd.Series(rng.random(n) < 0.3 + 0.4 * group).astype(object).where(np.arange(n) % 5 != 2),
            "colour": pd.Series(rng.choice(["red", "blue", "green"], n)).where(np.arange(n) % 6 != 4),
            "rating": pd.Categorical.from_codes(np.arange(n) % 3, ["low", "middle", "high"], ordered=True),
            "calls": rng.poisson(3.0 + 4.0 * group),
            "since": [f"2024-0{1 + k % 9}-1{k % 7}" for k in range(n)],
        }
    )
