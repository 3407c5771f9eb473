"""Models written with ``pymc.dims``: the same log-probability, draws and results as their twins without names."""

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from scipy import stats

import pymc_nrm as nrm
from pymc_nrm.models.itemwise import item_table
from pymc_nrm.models.itemwise.local_variables import EmptySlots, local_variables
from pymc_nrm.models.log_density import log_density_of
from pymc_nrm.models.values import constant_value
from pymc_nrm.posterior.label_dependence import changed_by_renaming, slot_parameters
from tests.helpers import refused
from tests.tools.same_results import assert_same, stop_at
from tests.tools.wings import rows_of_wings

pmd = pytest.importorskip("pymc.dims")
transforms = pytest.importorskip("pymc.dims.distributions.transforms")

CHEAP = {"mode": "FAST_COMPILE"}
ERUPTIONS = nrm.datasets.old_faithful()[:40]
Y = np.array([-1.3, 0.3, 1.1, 1.9, 2.5, -0.4])
W = np.random.default_rng(1).normal(size=(6, 2))
ONE_CHAIN = {"chains": 1, "cores": 1, "progressbar": False, "quiet": True, "compute_convergence_checks": False}


class Twins(NamedTuple):
    """The same model in two ways, as functions that add it to the model of the context."""

    coords: dict
    plain: Callable
    named: Callable
    # Whether data are predicted by the family of a mixture, and whether its rows are quick.
    is_mixture: bool = False
    quick: bool = False
    # Further functions of draws, a model and a seed whose results are equal.
    results: dict = {}


def readme_mixture(alpha, data):
    z = nrm.Partition("z", nrm.DirichletProcess(alpha), dims="eruption")
    family = nrm.NormalWishart.learned("x", ERUPTIONS)
    nrm.Mixture("x", z, family, observed=data, dims=("eruption", "feature"))


def plain_readme_mixture():
    readme_mixture(pm.Exponential("alpha", np.log(40)), ERUPTIONS)


def named_readme_mixture():
    data = pmd.Data("data", ERUPTIONS, dims=("eruption", "feature"))
    readme_mixture(pmd.Exponential("alpha", np.log(40)), data)


def plain_readme_slots():
    z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="eruption", max_clusters="cluster")
    center = pm.Normal("center", 3.5, 1, dims="cluster")
    scale = pm.LogNormal("scale", -1, 0.5, dims="cluster")
    pm.StudentT("duration", nu=4, mu=center[z], sigma=scale[z], observed=ERUPTIONS[:, 0], dims="eruption")


def named_readme_slots():
    z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="eruption", max_clusters="cluster")
    center = pmd.Normal("center", 3.5, 1, dims="cluster")
    scale = pmd.LogNormal("scale", -1, 0.5, dims="cluster")
    slot, data = ("eruption", z), pmd.Data("y", ERUPTIONS[:, 0], dims="eruption")
    pmd.StudentT("duration", nu=4, mu=center.isel(cluster=slot), sigma=scale.isel(cluster=slot), observed=data)


def plain_weights():
    slope = pm.Normal("slope", 0, 1, dims=("covariate", "cluster"))
    z = nrm.Partition("z", log_weights=pm.Data("w", W, dims=("day", "covariate")) @ slope, dims="day")
    center = pm.Normal("center", 0, 2, dims="cluster")
    pm.Normal("y", center[z], 0.5, observed=Y, dims="day")


def named_weights():
    slope = pmd.Normal("slope", 0, 1, dims=("covariate", "cluster"))
    w = pmd.Data("w", W, dims=("day", "covariate"))
    # Clusters come first here, and items are known by their name.
    log_weights = slope.dot(w, dim="covariate")
    assert log_weights.dims == ("cluster", "day")
    z = nrm.Partition("z", log_weights=log_weights, dims="day", max_clusters="cluster")
    center = pmd.Normal("center", 0, 2, dims="cluster")
    pmd.Normal("y", center.isel(cluster=("day", z)), 0.5, observed=pmd.Data("data", Y, dims="day"))


def plain_regression():
    z = nrm.Partition("z", nrm.PitmanYorProcess(pm.Beta("sigma", 1, 3), 1.0), dims="day")
    mu = pm.Normal("mu", 0, 1, dims="covariate")
    covariates = pm.Data("w", W, dims=("day", "covariate"))
    nrm.Mixture("y", z, nrm.NormalRegression(covariates, mu, np.eye(2), 2.0, 1.0), observed=Y, dims="day")


def named_regression():
    z = nrm.Partition("z", nrm.PitmanYorProcess(pmd.Beta("sigma", 1, 3), 1.0), dims="day")
    mu = pmd.Normal("mu", 0, 1, dims="covariate")
    covariates = pmd.Data("w", W.T, dims=("covariate", "day"))
    data = pmd.Data("data", Y, dims="day")
    nrm.Mixture("y", z, nrm.NormalRegression(covariates, mu, np.eye(2), 2.0, 1.0), observed=data)


@pytest.mark.parametrize("dims", ["day", ("day",), ["day"]])
def test_one_name_of_dims_is_one_name(dims):
    """Not its letters, of which d is an axis of families."""
    with pm.Model(coords={"day": range(6), "covariate": ["a", "b"], "d": range(2)}) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="day")
        covariates = pmd.Data("w", W.T, dims=("covariate", "day"))
        nrm.Mixture("y", z, nrm.NormalRegression(covariates, 0.0, np.eye(2), 2.0, 1.0), observed=Y, dims=dims)
    assert model.named_vars_to_dims["y"] == ("day",)


OF_ERUPTIONS = {"eruption": range(40), "feature": ["duration", "wait"], "cluster": range(20)}
OF_DAYS = {"day": range(6), "state": range(4), "cluster": range(3), "covariate": ["a", "b"]}
MODELS = {
    "mixture of the README": Twins(OF_ERUPTIONS, plain_readme_mixture, named_readme_mixture, is_mixture=True),
    "slots of the README": Twins(OF_ERUPTIONS, plain_readme_slots, named_readme_slots, quick=True),
    "weights": Twins(OF_DAYS, plain_weights, named_weights, quick=True),
    "regression": Twins(OF_DAYS, plain_regression, named_regression, is_mixture=True, quick=True),
} | {name: Twins(OF_DAYS, **row) for name, row in rows_of_wings("WITH_DIMS").items()}


def both(name):
    twins, models = MODELS[name], []
    for build in (twins.plain, twins.named):
        with pm.Model(coords=twins.coords) as model:
            build()
        models.append(model)
    return models


def random_points(model, count):
    """The initial point and others with noise, in which labels are random but of the same partitions."""
    rng, first = np.random.default_rng(3), model.initial_point()
    for _ in range(count):
        yield {
            name: value + 0.3 * rng.normal(size=value.shape) if value.dtype.kind == "f" else value
            for name, value in first.items()
        }


@pytest.mark.quick(*[name for name, twins in MODELS.items() if twins.quick])
@pytest.mark.parametrize("name", MODELS)
def test_equal_log_probabilities(name):
    """The sum that NUTS sees, and the terms with which moves of all steps are compared."""
    plain, named = both(name)
    assert plain.initial_point().keys() == named.initial_point().keys()
    of_plain, of_named = (model.compile_logp(**CHEAP) for model in (plain, named))
    terms = log_density_of(named)
    for point in random_points(plain, 3):
        assert of_named(point) == pytest.approx(float(of_plain(point)), rel=1e-12)
        assert terms(point).sum() == pytest.approx(float(of_plain(point)), rel=1e-9)


@pytest.mark.quick("slots of the README")
@pytest.mark.parametrize("name", MODELS)
def test_equal_draws(name):
    """The same steps sample both, which compare their moves with the model."""
    plain, named = both(name)
    first, second = (nrm.sample(10, tune=15, model=model, random_seed=5, **ONE_CHAIN) for model in (plain, named))
    for variable, values in first["posterior"].data_vars.items():
        found = second["posterior"][variable]
        assert (found.dims, found.attrs) == (values.dims, values.attrs), variable
        np.testing.assert_allclose(found, values, rtol=1e-6, err_msg=variable)
    assert first["sample_stats"].data_vars.keys() == second["sample_stats"].data_vars.keys()


@pytest.mark.quick("weights")
@pytest.mark.parametrize("name", MODELS)
def test_equal_results(name):
    plain, named = both(name)
    idata = nrm.sample(10, tune=20, model=plain, random_seed=5, **ONE_CHAIN)
    given, seed = {"w": [[0.1, 0.2]]}, {"random_seed": 1, "progressbar": False}
    quiet = {"progressbar": False}
    functions = {
        "description": lambda model: nrm.describe(idata, model).table,
        "items left out": lambda model: nrm.compute_log_likelihood(idata, model, extend_inferencedata=False, **quiet),
        "log-likelihood": lambda model: pm.compute_log_likelihood(
            idata, model=model, extend_inferencedata=False, **quiet
        ),
    }
    if MODELS[name].is_mixture:
        grid = [[3.0, 70.0]] if name == "mixture of the README" else [0.0, 1.0]
        options = {"given": given} if name == "regression" else {}
        functions |= {
            "density": lambda model: nrm.predictive_density(idata, model, grid, **options, **quiet),
            "parameters": lambda model: nrm.sample_cluster_parameters(idata, model, **seed),
            "data": lambda model: nrm.sample_posterior_predictive(idata, model, **seed)["posterior_predictive"],
        }
    else:
        functions |= {"new items": lambda model: nrm.sample_new_labels(idata, model, known=[], **seed)["posterior"]}
    if name == "regression":
        functions["quantiles"] = lambda model: nrm.conditional_quantiles(idata, model, given, **quiet)
    if name == "weights":
        functions["components"] = lambda model: nrm.cluster_probabilities(idata, model, **quiet)
        functions["labels afterwards"] = lambda model: nrm.draw_labels(idata, model, **seed)["posterior"]
    for what, function in MODELS[name].results.items():
        functions[what] = partial(function, idata, **seed)
    for what, function in functions.items():
        if what == "description":
            pd.testing.assert_frame_equal(function(named), function(plain))
        else:
            xr.testing.assert_allclose(function(named), function(plain), rtol=1e-6)


def test_clusters_are_renamed_in_the_same_deterministics():
    """Parameters picked by labels and sums over slots are free of labels; the rest of the model says what is not."""
    with pm.Model(coords=OF_DAYS) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="day", max_clusters="cluster")
        center = pmd.Normal("center", 0, 1, dims="cluster")
        scale = pmd.HalfNormal("scale", dims="cluster")
        pmd.Deterministic("of days", center.isel(cluster=("day", z)) / scale.isel(cluster=("day", z)))
        pmd.Deterministic("total", (center * scale).sum("cluster"))
        pmd.Deterministic("first", center.isel(cluster=0))
        pmd.Deterministic("ratio", center / scale)
        pmd.Normal("y", center.isel(cluster=("day", z)), 1, observed=pmd.Data("data", Y, dims="day"))
    posterior = pm.sample_prior_predictive(3, model=model, random_seed=1)["prior"].to_dataset()
    slots = slot_parameters(model, posterior)
    assert slots == {"z": ["center", "scale", "ratio"]}
    assert changed_by_renaming(model, slots) == {"first": "z"}


LOCAL = {
    "normal": lambda: pmd.Normal("x", dims="cluster"),
    "on the log scale": lambda: pmd.Exponential("x", pmd.Gamma("rate", alpha=1, beta=1), dims="cluster"),
    "a share": lambda: pmd.Beta("x", 1, 2, dims="cluster"),
    "bounded": lambda: pmd.Uniform("x", -1, 3, dims="cluster"),
    "bounded, without a transform": lambda: pmd.Uniform("x", -1, 3, dims="cluster", default_transform=None),
    "bounded above": lambda: pmd.TruncatedNormal("x", 0, 1, lower=-np.inf, upper=1, dims="cluster"),
    "shares": lambda: pmd.Dirichlet(
        "x", pmd.as_xtensor(np.ones(2), dims=("covariate",)), core_dims="covariate", dims=("cluster", "covariate")
    ),
    "a matrix": lambda: pmd.Normal(
        "x", pmd.as_xtensor(np.arange(2.0), dims=("covariate",)), 1, dims=("cluster", "covariate")
    ),
}
NOT_LOCAL = {
    "clusters last": lambda: pmd.Normal("x", dims=("covariate", "cluster")),
    "another transform": lambda: pmd.Normal("x", dims="cluster", transform=transforms.log_transform),
    "other bounds": lambda: pmd.Uniform(
        "x", -1, 3, dims="cluster", default_transform=transforms.IntervalTransform(0, 3)
    ),
    "no prior to draw from": lambda: pmd.Flat("x", dims="cluster"),
    "tied": lambda: pmd.ZeroSumNormal("x", core_dims="cluster"),
}


@pytest.mark.parametrize("name", [*LOCAL, *NOT_LOCAL])
def test_variables_that_belong_to_single_slots(name):
    with pm.Model(coords=OF_DAYS) as model:
        nrm.Partition("z", nrm.DirichletProcess(1.0), dims="day", max_clusters="cluster")
        x = (LOCAL | NOT_LOCAL)[name]()
    assert local_variables(model, model["z"], 3, model.initial_point()) == ([x] if name in LOCAL else [])


def test_parameters_of_empty_slots_have_their_prior():
    K = 200
    with pm.Model(coords={"item": range(3), "cluster": range(K)}) as model:
        nrm.Partition("z", nrm.DirichletProcess(1.0), dims="item", max_clusters="cluster")
        tau = pmd.HalfNormal("tau", 1)
        scale = pmd.Gamma("scale", alpha=2, beta=3, dims="cluster")
        pmd.Normal("mean", 1, tau * scale, dims="cluster")
        pmd.Uniform("share", -1, 3, dims="cluster")
    slots = EmptySlots(model, [model[name] for name in ("scale", "mean", "share")], CHEAP)
    slots.reseed(np.random.default_rng(1))
    point, empty = model.initial_point() | {"tau_log__": np.array(np.log(1.7))}, np.arange(K) >= 2
    drawn = [slots.redraw(point, empty) for _ in range(20)]
    values = {name: np.array([one[name][2:] for one in drawn]).ravel() for name in slots.names}
    scale = np.exp(values["scale_log__"])
    assert stats.kstest(scale, stats.gamma(2, scale=1 / 3).cdf).pvalue > 1e-4
    assert stats.kstest((values["mean"] - 1) / (1.7 * scale), stats.norm.cdf).pvalue > 1e-4
    assert stats.kstest(1 / (1 + np.exp(-values["share_interval__"])), stats.uniform(0, 1).cdf).pvalue > 1e-4


def of_days(data, covariates, item):
    """A model whose number of items follows its data, in which labels are an index and the partition of a mixture."""
    with pm.Model(coords={"day": range(len(data)), "cluster": range(3), "covariate": ["a", "b"]}) as model:
        w = pmd.Data("w", covariates.T, dims=("covariate", "day"))
        y = pmd.Data("y", data, dims="day")
        slope = pmd.Normal("slope", 0, 1, dims=("cluster", "covariate"))
        z = nrm.Partition(
            "z", nrm.DirichletProcess(pmd.Gamma("alpha", alpha=2, beta=1)), dims="day", max_clusters="cluster"
        )
        slope = slope.isel(cluster=item(z))
        pmd.Normal("x", slope.dot(w, dim="covariate"), 1, observed=y)
        nrm.Mixture("line", item(z), nrm.NormalRegression(w, 0.0, np.eye(2), 2.0, 1.0), observed=y)
    return model


FORMS = {
    "by a name": lambda z: pmd.as_xtensor(z, dims="day"),
    "by a tuple of names": lambda z: pmd.as_xtensor(z, ("day",)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", [4, 9])
def test_set_data(form, n):
    rng = np.random.default_rng(7)
    data, covariates = rng.normal(size=n), rng.normal(size=(n, 2))
    model, expected = of_days(Y, W, FORMS[form]), of_days(data, covariates, FORMS[form])
    model.set_dim("day", n, range(n))
    pm.set_data({"y": data, "w": covariates.T}, model=model)
    point = expected.initial_point() | {"z": rng.integers(3, size=n)}
    assert {name: value.shape for name, value in model.initial_point().items()} == {
        name: value.shape for name, value in point.items()
    }
    np.testing.assert_allclose(log_density_of(model)(point), log_density_of(expected)(point), rtol=1e-12)
    with model:
        step = nrm.steps.SlotGibbs([model["z"]])
        step.setup_chain(np.random.default_rng(1), 0, 1)
        # The first draw compares the moves of the step with the model.
        assert step.step(point)[0]["z"].shape == (n,)
    assert step.comparison.n_compared > 0


def test_an_overlooked_term_stops_the_step(monkeypatch):
    """Moves are compared with the model by value, also where a rule is wrong about its names."""
    model, terms_of = of_days(Y, W, FORMS["by a name"]), item_table.terms_of
    monkeypatch.setattr(item_table, "terms_of", lambda *rest: [one for one in terms_of(*rest) if one.name != "x"])
    with model:
        step = nrm.steps.SlotGibbs([model["z"]])
    step.setup_chain(np.random.default_rng(1), 0, 1)
    with pytest.raises(pm.exceptions.SamplingError, match="SlotGibbs would not sample 'z' from the posterior"):
        step.step(model.initial_point() | {"slope": np.array([[1.0, 2.0], [-1.0, 0.0], [0.5, 1.0]])})


def test_variables_that_are_fixed_or_observed():
    model, names = of_days(Y, W, FORMS["by a name"]), ["z", "x", "line"]
    point = model.initial_point() | {"z": np.array([0, 0, 1, 1, 2, 2]), "alpha_log__": np.array(np.log(2.0))}
    densities = [log_density_of(one) for one in (model, *(do(model, {"alpha": 2.0}) for do in (pm.do, pm.observe)))]
    expected, *found = [density(point)[density.places(names)] for density in densities]
    np.testing.assert_allclose(found, [expected, expected], rtol=1e-12)


def test_data_and_their_names():
    """Axes of items and of features are found by their names, which become the dims of the mixture."""
    with pm.Model(coords=OF_DAYS) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="day")
        data = pmd.Data("data", W.T, dims=("covariate", "day"))
        nrm.Mixture("x", z, nrm.NormalGamma(0.0, 1.0, 2.0, 1.0), observed=data)
        nrm.Mixture("centred", z, nrm.NormalGamma(0.0, 1.0, 2.0, 1.0), observed=data - data.mean("day"))
        nrm.Mixture(
            "constant", z, nrm.NormalGamma(0.0, 1.0, 2.0, 1.0), observed=pmd.as_xtensor(W, ("day", "covariate"))
        )
    for name, values in {"x": W, "centred": W - W.mean(axis=0), "constant": W}.items():
        assert model.named_vars_to_dims[name] == ("day", "covariate")
        np.testing.assert_allclose(constant_value(model.rvs_to_values[model[name]]), values)


def test_missing_values_of_data():
    gaps = W.copy()
    gaps[2, 1] = np.nan
    models = []
    for data in (lambda: gaps, lambda: pmd.Data("data", gaps, dims=("day", "covariate"))):
        with pm.Model(coords=OF_DAYS) as model:
            z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="day")
            nrm.Mixture("x", z, nrm.NormalWishart.from_data(gaps), observed=data())
        models.append(model)
    point = models[0].initial_point()
    assert "x_missing" in point
    assert models[1].compile_logp(**CHEAP)(point) == pytest.approx(float(models[0].compile_logp(**CHEAP)(point)), 1e-12)


def weights(make):
    return nrm.Partition("z", log_weights=make(), dims="day", max_clusters="cluster")


def mixture(family=lambda: nrm.NormalGamma(0.0, 1.0, 2.0, 1.0), data=lambda: pmd.Data("y", Y, dims="day"), **options):
    z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="day")
    return nrm.Mixture("x", z, family(), observed=data(), **options)


def of_matrix(mu):
    return mixture(lambda: nrm.NormalGamma(mu(), 1.0, 2.0, 1.0), lambda: pmd.Data("y", W, dims=("day", "covariate")))


test_names_that_do_not_fit = refused(
    lambda build: build(),
    (
        lambda: weights(lambda: pmd.Normal("w", dims=("item", "cluster"))),
        r"log_weights of Partition 'z' must have the dims \('day', 'cluster'\); got \('item', 'cluster'\)",
    ),
    (
        lambda: weights(lambda: pmd.Normal("w", dims="day")),
        r"log_weights of Partition 'z' must have the dims \('cluster',\); got \('day',\)",
    ),
    (
        lambda: weights(lambda: pmd.math.softmax(pmd.Normal("w", dims=("day", "cluster")), dim="cluster")),
        r"must be logarithms of weights; got probabilities: give pt\.log of them",
    ),
    (
        lambda: weights(lambda: pmd.Dirichlet("w", pmd.as_xtensor(np.ones(3), dims=("cluster",)), core_dims="cluster")),
        "must be logarithms of weights; got the probabilities 'w'",
    ),
    (
        lambda: nrm.Partition("z", nrm.DirichletProcess(pmd.HalfNormal("alpha", dims="item")), dims="day"),
        r"alpha of DirichletProcess must be a scalar; got alpha with dims \('item',\)",
    ),
    (
        lambda: mixture(data=lambda: pmd.Data("y", Y, dims="item")),
        r"observed data of Mixture 'x' must have the dims \('day',\); got \('item',\)",
    ),
    (
        lambda: mixture(lambda: nrm.NormalGamma(pmd.Normal("mu", dims="day"), 1.0, 2.0, 1.0)),
        r"mu of NormalGamma must not have the dim 'day', which belongs to another axis; got \('day',\)",
    ),
    (
        lambda: of_matrix(lambda: pmd.Normal("mu", dims="state")),
        r"mu of NormalGamma must have the dims \('covariate',\); got \('state',\)",
    ),
    (
        lambda: mixture(dims=("day", "covariate")),
        r"dims of Mixture 'x' must be one name for a vector, two for a matrix; got \('day', 'covariate'\)",
    ),
    within=lambda: pm.Model(coords=OF_DAYS | {"item": range(6)}),
)


def test_data_that_are_sampled():
    with pm.Model(coords=OF_DAYS), pytest.raises(TypeError, match="must be data, .*; got the symbolic tensor y"):
        mixture(data=lambda: pmd.Normal("y", dims="day"))


@pytest.mark.slow
def test_runs_are_resumed_and_saved(tmp_path):
    model, options = of_days(Y, W, FORMS["by a name"]), {"tune": 5, "chains": 2, "random_seed": 3, "cores": 1}
    expected = nrm.sample(20, model=model, quiet=True, **options)
    kept = {"checkpoint": tmp_path / "run", "callback": stop_at(1, 12), "seconds_between_checkpoints": 0}
    nrm.sample(20, model=model, quiet=True, **options, **kept)
    # The model made again has the same fingerprint.
    again = of_days(Y, W, FORMS["by a tuple of names"])
    assert_same(nrm.resume(tmp_path / "run", model=again, cores=1, quiet=True), expected)
    nrm.save(expected, model, tmp_path / "saved")
    idata, same = nrm.load(tmp_path / "saved")
    xr.testing.assert_allclose(
        nrm.compute_log_likelihood(idata, same, extend_inferencedata=False, progressbar=False),
        nrm.compute_log_likelihood(expected, model, extend_inferencedata=False, progressbar=False),
    )


@pytest.mark.slow
def test_models_without_names_do_not_import_their_operations():
    code = """
import sys, numpy as np, pymc as pm, pymc_nrm as nrm
with pm.Model() as model:
    z = nrm.Partition("z", nrm.DirichletProcess(pm.Gamma("alpha", 2, 4)), n=4, max_clusters=3)
    pm.Normal("y", pm.Normal("center", shape=3)[z], 1, observed=np.arange(4.0))
nrm.sample(2, tune=2, chains=1, cores=1, model=model, progressbar=False, quiet=True)
print([name for name in sys.modules if "xtensor" in name or name.startswith("pymc.dims")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
