"""Missing entries of a mixture in models: their variable, log densities, predictions, results and errors."""

import warnings

import numpy as np
import pymc as pm
import pytensor
import pytest
import xarray as xr
from scipy.stats import multivariate_t

import pymc_nrm as nrm
from pymc_nrm.models.missing_entries import continuous_values, gaps_of
from tests.helpers import mixture_of

X = np.array([[0.1, 0.4], [1.1, np.nan], [np.nan, 0.6], [2.3, 2.9], [np.nan, np.nan]])
FILLED = np.where(np.isnan(X), [[0.0, 0.0], [0.0, 1.5], [0.3, 0.0], [0.0, 0.0], [-1.0, 2.0]], X)
ENTRIES = FILLED[np.isnan(X)]
LABELS = np.array([0, 0, 0, 1, 1])
PSI, NU, MU = np.array([[1.4, 0.5], [0.5, 1.1]]), 4.5, np.array([1.0, 1.5])
slow = pytest.mark.slow


def make_model(observed=X, coords=None, kappa=0.6):
    with pm.Model(coords=coords) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.3), n=len(observed), dims="item" if coords else None)
        if kappa is None:
            kappa = pm.LogNormal("kappa")
        family = nrm.NormalWishart(MU, kappa, PSI, NU)
        nrm.Mixture("x", z, family, observed=observed, dims=("item", "trait") if coords else None)
    return model


def predictive(rows, kappa=0.6):
    """Student t law of one more item of a cluster (Murphy 2007, eq. 258)."""
    n, d = rows.shape
    mean = rows.mean(axis=0) if n else MU
    scatter = (rows - mean).T @ (rows - mean) + kappa * n / (kappa + n) * np.outer(mean - MU, mean - MU)
    df = NU + n - d + 1
    location = (kappa * MU + n * mean) / (kappa + n)
    return location, (PSI + scatter) * (kappa + n + 1) / ((kappa + n) * df), df


def log_density_of_known(x, rows):
    """Log density of the entries of an item that are not NaN, the others integrated out."""
    location, shape, df = predictive(rows)
    known = np.flatnonzero(~np.isnan(x))
    return multivariate_t.logpdf(x[known], location[known], shape[np.ix_(known, known)], df) if len(known) else 0.0


def as_posterior(labels=LABELS, entries=ENTRIES):
    variables = {"z": (("chain", "draw", "item"), [[labels]]), "x_missing": (("chain", "draw", "entry"), [[entries]])}
    return xr.DataTree.from_dict({"posterior": xr.Dataset(variables)})


def log_weights(labels, alpha=1.3):
    """Log probabilities that one more item joins each cluster, or a new one."""
    return np.log([*np.bincount(labels), alpha]) - np.log(len(labels) + alpha)


def test_the_variable_has_names_of_its_entries():
    model = make_model(coords={"item": list("abcde"), "trait": ["height", "weight"]})
    assert [rv.name for rv in model.free_RVs] == ["z", "x_missing"]
    names = ("b, weight", "c, height", "e, height", "e, weight")
    assert model.coords["x_missing_entry"] == names and model.named_vars_to_dims["x_missing"] == ("x_missing_entry",)
    assert make_model().coords["x_missing_entry"] == ("1, 1", "2, 0", "4, 0", "4, 1")
    np.testing.assert_array_equal(gaps_of(model.rvs_to_values[model["x"]]).values, X)
    means = np.nanmean(X, axis=0)
    np.testing.assert_allclose(model.initial_point()["x_missing"], means[[1, 0, 0, 1]])
    assert continuous_values(model) == [] and [rv.name for rv in model.copy().free_RVs] == ["z", "x_missing"]


def test_families_that_leave_values_out_have_no_variable():
    families = {"x": nrm.NormalGamma(0.0, 1.0, 1.0, 1.0), "y": nrm.NormalWishart(MU, 1.0, PSI, NU)}
    model = mixture_of(families, {"x": X, "y": FILLED})
    assert [rv.name for rv in model.free_RVs] == ["z"] and gaps_of(model.rvs_to_values[model["y"]]) is None


def test_errors():
    with pm.Model():
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=len(X))
        family = nrm.NormalWishart(MU, 1.0, PSI, NU)
        with pytest.raises(ValueError, match="finite, without infinite"):
            nrm.Mixture("x", z, family, observed=np.where(np.isnan(X), np.inf, X))
    with pytest.raises(ValueError, match=r"no NaN; got one in row 1, column 1\. NormalWishart"):
        nrm.trees.bhc(X, family, nrm.DirichletProcess(1.0))
    with pm.Model():
        rows = nrm.Chunks(X[:4])
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), chunks=rows)
        with pytest.raises(ValueError, match=r"in chunks must have no NaN; got one in row 1, column 1"):
            nrm.Mixture("x", z, family, observed=rows)
    with pm.Model() as changed:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=len(X))
        nrm.Mixture("x", z, family, observed=(data := pytensor.shared(X)))
    data.set_value(np.where(X > 2, np.nan, X))
    with pytest.raises(ValueError, match=r"NaN where they had NaN .* they differ at \[3, 0\]"):
        nrm.compute_log_likelihood(as_posterior(), changed, progressbar=False)
    with make_model() as model:
        with pytest.raises(TypeError, match=r"vars must be .*\['x_missing'\], got \[z\]"):
            nrm.steps.MissingGibbs([model["z"]])
        pm.Normal("y", model["x"][:, 0], 1.0, observed=np.zeros(len(X)))
        with pytest.raises(ValueError, match="'y' depends on 'x'"):
            nrm.steps.MissingGibbs()


def test_entries_are_not_fixed_by_pymc():
    model = make_model()
    observed, done = (change(model, {"x_missing": ENTRIES}) for change in (pm.observe, pm.do))
    message = r"missing entries of Mixture 'x' must stay free: .* in the array observed"
    with pytest.raises(ValueError, match=message):
        observed.logp()
    for changed in (observed, done):
        with pytest.raises(ValueError, match=message):
            nrm.sample(model=changed)


@pytest.mark.parametrize("wrap", [np.asarray, pytensor.shared])
def test_observed_data_with_gaps_are_refused(wrap):
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=len(X))
        nrm.Mixture("x", z, nrm.NormalWishart(MU, 1.0, PSI, NU), shape=X.shape)
    with pytest.raises(ValueError, match=r"^data of a Mixture must have no NaN; got one in row 1, column 1"):
        pm.observe(model, {"x": wrap(X)}).logp()


def test_moments_of_data_with_gaps():
    rng = np.random.default_rng(1)
    covariance = np.array([[1.0, 1.2, 0.0], [1.2, 2.0, -0.5], [0.0, -0.5, 1.5]])
    whole = rng.multivariate_normal([5.0, -2.0, 1e3], covariance, 4000)
    gaps = np.where(rng.random(whole.shape) < 0.25, np.nan, whole)
    found, complete = nrm.NormalWishart.from_data(gaps), nrm.NormalWishart.from_data(whole)
    np.testing.assert_allclose(found.mu, complete.mu, atol=0.1)
    np.testing.assert_allclose(found.Psi, complete.Psi, atol=0.1 * complete.Psi.max())
    scaled = nrm.NormalWishart.from_data(gaps * [1e-3, 1.0, 1e4])
    np.testing.assert_allclose(scaled.mu, found.mu * [1e-3, 1.0, 1e4])


@slow
def test_log_density_of_the_model_and_its_gradient():
    model = make_model(kappa=None)
    point = {"z": LABELS, "kappa_log__": np.array(-0.4), "x_missing": ENTRIES}
    logp, gradient = model.compile_logp(), model.compile_dlogp()

    def expected(values):
        rows = FILLED.copy()
        rows[np.isnan(X)] = values[1:]
        total = np.log(1.3**2 * 2 * 1) - np.log(1.3 * 2.3 * 3.3 * 4.3 * 5.3) - 0.5 * values[0] ** 2
        total -= 0.5 * np.log(2 * np.pi)
        for items in ([0, 1, 2], [3, 4]):
            for k, item in enumerate(items):
                total += multivariate_t.logpdf(rows[item], *predictive(rows[items[:k]], np.exp(values[0])))
        return total

    for entries in (ENTRIES, ENTRIES + 1.0, ENTRIES):
        values = np.concatenate([[-0.4], entries])
        here = point | {"x_missing": entries}
        assert logp(here) == pytest.approx(expected(values), abs=1e-8)
        steps = 1e-5 * np.eye(5)
        slopes = [(expected(values + step) - expected(values - step)) / 2e-5 for step in steps]
        np.testing.assert_allclose(gradient(here), slopes, rtol=1e-5, atol=1e-6)


@slow
def test_predictions_integrate_missing_entries_out():
    model, idata = make_model(), as_posterior()
    new = np.array([[0.5, np.nan], [np.nan, 2.0], [1.0, 1.0], [np.nan, np.nan]])
    clusters = [FILLED[LABELS == 0], FILLED[LABELS == 1], FILLED[:0]]
    table = np.array([[log_density_of_known(x, rows) for rows in clusters] for x in new]) + log_weights(LABELS)
    expected = np.logaddexp.reduce(table, axis=1)
    assert expected[3] == pytest.approx(0.0)
    found = nrm.log_predictive_density(idata, model, new, progressbar=False)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    density = nrm.predictive_density(idata, model, new, progressbar=False).density
    np.testing.assert_allclose(density[0, 0], np.exp(expected), rtol=1e-9)
    probability = nrm.cluster_probabilities(idata, model, new, estimate=LABELS, progressbar=False)
    np.testing.assert_allclose(probability.probability, np.exp(table - expected[:, None])[:, :2], atol=1e-9)
    # Without their missing entries, by quadrature.
    grid = np.linspace(-200.0, 200.0, 400_001)
    points = np.column_stack([np.full_like(grid, 0.5), grid])
    of_grid = nrm.predictive_density(idata, model, points, progressbar=False).density[0, 0]
    assert np.trapezoid(of_grid, grid) == pytest.approx(float(density[0, 0, 0]), rel=1e-3)


@slow
def test_items_are_left_out_with_their_missing_entries():
    expected = []
    for i, x in enumerate(X):
        kept = np.delete(np.arange(len(X)), i)
        labels = LABELS[kept]
        rows = [FILLED[kept][labels == k] for k in (0, 1)] + [FILLED[:0]]
        log_density = [log_density_of_known(x, one) for one in rows]
        expected.append(np.logaddexp.reduce(log_density + log_weights(labels)))
    found = nrm.compute_log_likelihood(as_posterior(), make_model(), progressbar=False)["log_likelihood"]["x"]
    # An item without data has density 1 in every draw, and no entry.
    assert expected[4] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(found[0, 0], expected[:4], atol=1e-9)


@slow
def test_a_whole_run():
    rng = np.random.default_rng(3)
    whole = np.concatenate([rng.normal(0, 0.3, (20, 2)), rng.normal(4, 0.3, (20, 2))])
    observed = np.where(rng.random(whole.shape) < 0.15, np.nan, whole)
    observed[7] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = nrm.gaussian_mixture(observed)
    idata = nrm.sample(150, tune=150, chains=2, cores=1, model=model, random_seed=1, quiet=True, progressbar=False)
    assert {"n_moved_with_gaps"} <= set(idata["sample_stats"].data_vars)
    assert "log_joint" in idata["partition_stats"]["z"].data_vars
    missing = idata["posterior"]["x_missing"].mean(("chain", "draw"))
    gaps = np.isnan(observed)
    half_known = gaps & ~gaps.all(axis=1, keepdims=True)
    errors = missing.values[half_known[gaps]] - whole[half_known]
    assert np.abs(errors).max() < 1.5
    # The empty row belongs to either cluster.
    with_first = (idata["posterior"]["z"][..., 7] == idata["posterior"]["z"][..., 0]).mean()
    assert 0.2 < with_first < 0.8
    np.testing.assert_array_equal(np.isnan(idata["observed_data"]["x"]), gaps)
    replicated = nrm.sample_posterior_predictive(idata, model, random_seed=1, progressbar=False)
    assert replicated["posterior_predictive"]["x"].notnull().all()
    assert not [row for row in nrm.summary(idata).index if "missing" in row]
    estimate = nrm.point_estimate(idata, random_seed=1)
    assert "missing" in nrm.describe(idata, model, estimate).to_text(full=True)
    parameters = nrm.sample_cluster_parameters(idata, model, random_seed=1, progressbar=False)
    assert np.isfinite(parameters["item_mean"]).all()
    nrm.plots.plot_clusters(idata, observed, estimate=estimate, backend="none")


@slow
def test_statistics_are_of_the_labels_in_the_result():
    """With entries that say little, MissingGibbs moves labels in most draws."""
    options = {"tune": 2, "chains": 1, "cores": 1, "random_seed": 1, "quiet": True, "progressbar": False}
    idata = nrm.sample(100, model=make_model(), **options)
    assert (idata["sample_stats"]["n_moved_with_gaps"] > 0).mean() > 0.5
    np.testing.assert_array_equal(idata["sample_stats"]["n_clusters"], idata["posterior"]["z_n_clusters"])
    assert "log_joint" in idata["partition_stats"]["z"].data_vars


@slow
def test_forward_draws_have_one_joint_law():
    model = make_model()
    with model:
        prior = pm.sample_prior_predictive(3, random_seed=1)
    whole = prior["prior_predictive"]["x"].values[0]
    np.testing.assert_array_equal(prior["prior"]["x_missing"].values[0], whole[:, np.isnan(X)])
