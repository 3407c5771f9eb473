"""Which missing entries of own likelihoods are integrated out, and what runs make of them."""

import concurrent.futures
import logging

import arviz_base
import numpy as np
import pymc as pm
import pytest
from pymc.distributions import transforms

import pymc_nrm as nrm
from pymc_nrm.models.imputed_entries import integrate_out_imputed
from pymc_nrm.models.itemwise.item_table import ItemTable, random_points
from tests.tools.same_results import assert_same, stop_at

pytestmark = pytest.mark.filterwarnings("ignore:Data in")

K = 3
Y = np.array([0.1, np.nan, 3.0, np.nan, 1.0, 2.0])
COUNTS = np.ma.masked_array([0, 1, 2, 3, 1, 0], np.isnan(Y))


def model_of(build):
    with pm.Model() as model:
        build(nrm.Partition("z", nrm.DirichletProcess(1.0), n=len(Y), max_clusters=K))
    return model


def scales():
    return pm.HalfNormal("scale", shape=K)


def shares():
    return pm.Dirichlet("share", np.ones(4), shape=(K, 4))


# Models, and the number of potentials: conditions on parameters that remain, or the data.
INTEGRATED = {
    "normal": (lambda z: pm.Normal("y", pm.Normal("mean", shape=K)[z], scales()[z], observed=Y), 0),
    "masked counts": (lambda z: pm.Poisson("y", scales()[z], observed=COUNTS), 0),
    "transformed entries": (lambda z: pm.Gamma("y", 2.0, scales()[z], observed=Y), 0),
    "angles": (lambda z: pm.VonMises("y", 0.0, scales()[z], observed=Y - 1.0), 0),
    "categories": (lambda z: pm.Categorical("y", shares()[z], observed=COUNTS), 3),
    "a scale below 0": (lambda z: pm.Normal("y", 0.0, pm.Normal("scale", 1.0, shape=K)[z], observed=Y), 1),
    "a shared condition": (lambda z: pm.Normal("y", pm.Normal("mean", shape=K)[z], pm.Normal("s", 1.0), observed=Y), 0),
    "data": (lambda z: pm.Normal("y", 0.0, pm.Data("s", [1.0, 2.0, 3.0])[z] * scales()[0], observed=Y), 1),
    "rows of items": (lambda z: pm.Normal("y", 0.0, scales()[z][[0, 1, 1, 2, 5, 5]], observed=Y), 0),
    "whole rows": (
        lambda z: pm.MvNormal("y", pm.Normal("mean", shape=(K, 2))[z], cov=np.eye(2), observed=np.column_stack([Y, Y])),
        0,
    ),
    "one operation for all entries": (lambda z: pm.Weibull("y", 1.5, scales()[z], observed=Y), 1),
    "zero-inflated": (lambda z: pm.ZeroInflatedPoisson("y", 0.5, scales()[z], observed=COUNTS), 1),
    "censored": (
        lambda z: pm.Censored("y", pm.Normal.dist(scales()[z]), lower=-3.0, upper=6.0, observed=Y),
        1,
    ),
    "a matrix": (lambda z: pm.Normal("y", 0.0, scales()[z][:, None], observed=np.column_stack([Y, Y[::-1]])), 0),
}


@pytest.mark.parametrize("case", INTEGRATED)
def test_the_model_is_the_one_without_the_term(case):
    """At random points, also where parameters are out of range, and for one table of items."""
    build, n_potentials = INTEGRATED[case]
    model = model_of(build)
    found = integrate_out_imputed(model)
    assert list(found.n_entries) == ["y"] and not found.reasons
    n_missing = model.initial_point()[model.rvs_to_values[model["y_unobserved"]].name].size
    assert found.n_entries["y"] == n_missing
    assert len(found.model.potentials) == n_potentials
    assert "y_unobserved" in model.named_vars and model["y_unobserved"] in model.free_RVs
    whole, rest = (one.compile_logp(mode="FAST_COMPILE") for one in (model, found.model))
    _, graph = model.logp(vars=[model["y_observed"], model["y_unobserved"]], sum=False)
    options = {"mode": "FAST_COMPILE", "on_unused_input": "ignore"}
    term = model.compile_fn(graph.sum(), inputs=model.value_vars, **options)
    rng, start, n_finite = np.random.default_rng(1), model.initial_point(), 0
    for point in random_points(start, 12):
        point["z"] = rng.integers(K, size=len(Y))
        without = {name: value for name, value in point.items() if name not in found.names}
        expected = term(point) + rest(without)
        n_finite += np.isfinite(expected)
        np.testing.assert_allclose(whole(point), expected, rtol=1e-9)
    assert n_finite > 0
    ItemTable(found.model, found.model["z"], K, {value.name: start[value.name] for value in found.model.value_vars})


def read_by_potential(z):
    pm.Potential("penalty", -pm.Normal("y", scales()[z], 1.0, observed=Y).sum())


def read_by_data(z):
    pm.Normal("other", pm.Normal("y", scales()[z], 1.0, observed=Y), 1.0, observed=np.ones(len(Y)))


def of_own_density(value, mean):
    return pm.logp(pm.Normal.dist(mean, 1.0), value)


REFUSED = {
    "potential": (read_by_potential, "'penalty' depends on them"),
    "data": (read_by_data, "'other' depends on them"),
    "own density": (
        lambda z: pm.CustomDist("y", scales()[z], logp=of_own_density, observed=Y),
        "their density is not known to integrate to one",
    ),
    "flat": (
        lambda z: (pm.Flat("y", shape=len(Y), observed=Y), pm.Normal("x", scales()[z], 1.0, observed=np.ones(len(Y)))),
        "their density is not known to integrate to one",
    ),
    "own density in a mixture": (
        lambda z: pm.Mixture(
            "y",
            [0.5, 0.5],
            [pm.Normal.dist(scales()[z]), pm.CustomDist.dist(0.0, logp=of_own_density, shape=len(Y))],
            observed=Y,
        ),
        "their density is not known to integrate to one",
    ),
    "autoregression": (
        lambda z: pm.AR("y", [0.5], sigma=pm.HalfNormal("s"), observed=Y, init_dist=pm.Normal.dist(scales()[z[0]])),
        "their density is not known to integrate to one",
    ),
    "transform": (
        lambda z: pm.Normal("y", scales()[z], 1.0, observed=Y, transform=transforms.Interval(-9.0, 9.0)),
        "their transform may not reach all values",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_other_entries_stay_variables(case):
    build, reason = REFUSED[case]
    model = model_of(build)
    found = integrate_out_imputed(model)
    assert found.model is model and not found.n_entries
    assert found.reasons == {"y_unobserved": reason}


def test_entries_that_only_other_missing_entries_read():
    """The second series is missing where the first is: together they integrate to one, one after the other."""

    def build(z, second):
        y = pm.Normal("y", scales()[z], 1.0, observed=Y)
        pm.Normal("w", y, 1.0, observed=second)

    found = integrate_out_imputed(model_of(lambda z: build(z, Y)))
    assert found.n_entries == {"y": 2, "w": 2}
    found = integrate_out_imputed(model_of(lambda z: build(z, Y[::-1])))
    assert found.n_entries == {"w": 2} and found.reasons == {"y_unobserved": "'w_observed' depends on them"}


def test_entries_that_a_condition_on_others_reads():
    """A scale that is a missing entry may be negative, so that it decides whether others are possible."""

    def build(z):
        pm.Normal("w", 0.0, pm.Normal("y", scales()[z], 1.0, observed=Y), observed=Y)

    found = integrate_out_imputed(model_of(build))
    assert found.n_entries == {"w": 2} and found.reasons == {"y_unobserved": "'w_unobserved' depends on them"}


def test_models_without_gaps_or_partition_are_left_as_they_are():
    model = model_of(lambda z: pm.Normal("y", scales()[z], 1.0, observed=np.ones(len(Y))))
    assert integrate_out_imputed(model).model is model
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("mean"), 1.0, observed=Y)
    assert integrate_out_imputed(model).model is model


RUN = {"tune": 4, "chains": 2, "random_seed": 3, "progressbar": False, "compute_convergence_checks": False}


def movement():
    def build(z):
        pm.Normal("y", pm.Normal("mean", shape=K)[z], scales()[z], observed=Y)
        pm.Weibull("steps", 2.0, pm.LogNormal("length", shape=K)[z], observed=Y)

    return model_of(build)


def run(draws=6, **kwargs):
    options = RUN if "client" in kwargs else RUN | {"cores": 1}
    return nrm.sample(draws, model=movement(), **{"quiet": True, **options, **kwargs})


@pytest.fixture(scope="module")
def full():
    return run()


def test_the_result_has_the_draws_and_the_log_says_so(full, caplog, monkeypatch):
    posterior = full["posterior"]
    assert posterior["y_unobserved"].shape == posterior["steps_unobserved"].shape == (2, 6, 2)
    assert posterior["y"].shape == (2, 6, len(Y))
    np.testing.assert_array_equal(posterior["y"].values[..., np.isnan(Y)], posterior["y_unobserved"].values)
    assert (posterior["steps_unobserved"] > 0.0).all()
    assert not [name for name in posterior if name.endswith("__")]
    monkeypatch.setattr(logging.getLogger("pymc"), "propagate", True)
    with caplog.at_level(logging.INFO, logger="pymc"):
        again = run(quiet=False)
    assert_same(again, full)
    assert "2 missing entries of 'y' are integrated out, and drawn given each draw of the rest." in caplog.text
    assert "SlotNUTS: [mean, scale, length]" in caplog.text


@pytest.mark.slow
def test_entries_do_not_depend_on_what_is_kept(full):
    thinned, few = run(thin=3, label_storage="none"), run(var_names=["y"])
    assert "z" not in thinned["posterior"] and list(few["posterior"]) == ["y"]
    for name in ("y_unobserved", "steps_unobserved", "steps"):
        np.testing.assert_array_equal(thinned["posterior"][name], full["posterior"][name][:, 2::3])
    np.testing.assert_array_equal(few["posterior"]["y"], full["posterior"]["y"])


def test_entries_are_the_same_with_a_checkpoint_and_a_client(full, tmp_path):
    stopped = run(checkpoint=tmp_path / "run", callback=stop_at(0, 7), seconds_between_checkpoints=0)
    assert stopped["posterior"].sizes["draw"] < 6
    options = {"cores": 1, "quiet": True, "compute_convergence_checks": False}
    assert_same(nrm.resume(tmp_path / "run", model=movement(), **options), full)
    with concurrent.futures.ThreadPoolExecutor(1) as client:
        assert_same(run(client=client), full)


@pytest.mark.slow
def test_initial_values_of_entries_have_no_effect(full):
    found = run(initvals={"y_unobserved": np.array([5.0, 5.0]), "steps_unobserved": np.array([1.0, 1.0])})
    assert_same(found, full)


@pytest.mark.filterwarnings("ignore:`return_inferencedata=False`:FutureWarning")
@pytest.mark.parametrize(
    "kwargs", [{"step": True}, pytest.param({"return_inferencedata": False}, marks=pytest.mark.slow)]
)
def test_entries_are_sampled_where_steps_or_the_trace_are_given(kwargs, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("pymc"), "propagate", True)
    model = movement()
    if "step" in kwargs:
        kwargs = {"step": nrm.steps.SlotGibbs([model["z"]], model=model)}
    with caplog.at_level(logging.INFO, logger="pymc"):
        nrm.sample(3, model=model, **RUN | {"cores": 1}, **kwargs)
    argument = "step" if "step" in kwargs else "trace or return_inferencedata"
    text = f"Missing entries 'y_unobserved' are sampled like other variables, since {argument} is given."
    assert text in " ".join(caplog.text.split())


def test_labels_and_entries_are_summed_out_together():
    with pm.Model() as model:
        z = nrm.Partition("z", log_weights=np.log([0.5, 0.3, 0.2]), n=len(Y))
        mean = pm.Normal("mean", shape=K)
        y = pm.Normal("y", mean[z], 1.0, observed=Y)
        pm.Deterministic("total", y.sum())
    summed = nrm.summed_out(model)
    assert [rv.name for rv in summed.free_RVs] == ["mean"] and not summed.deterministics
    means = np.array([-1.0, 0.5, 2.0])
    rows = pm.logp(pm.Normal.dist(means, 1.0), Y[~np.isnan(Y)][:, None]).eval() + np.log([0.5, 0.3, 0.2])
    expected = np.logaddexp.reduce(rows, axis=1).sum() + pm.logp(pm.Normal.dist(), means).eval().sum()
    assert summed.compile_logp(mode="FAST_COMPILE")({"mean": means}) == pytest.approx(expected)
    draws = {"posterior": {"mean": np.tile(means, (1, 4000, 1))}}
    labels = nrm.draw_labels(arviz_base.from_dict(draws), model, random_seed=1, progressbar=False)["posterior"]["z"]
    # The label of an item without data has its prior.
    assert np.abs((labels.values[0, :, 1] == 0).mean() - 0.5) < 5.0 * np.sqrt(0.25 / 4000)
