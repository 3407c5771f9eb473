"""Copies of a model that PyMC makes: what recipes know of the table behind it stays, and frozen models are models."""

import copy
import dataclasses

import cloudpickle
import numpy as np
import pandas as pd
import pymc as pm
import pytest
from pymc.model.fgraph import clone_model
from pymc.model.transform.optimization import freeze_dims_and_data, freeze_model

import pymc_nrm as nrm
from pymc_nrm.models.origin import origin_of
from tests.tools.wings import rows_of_wings

RNG = np.random.default_rng(0)
DAYS = pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, 40), unit="D")
# Both columns of numbers repeat values, which are spread.
TABLE = pd.DataFrame({"day": DAYS, "x": RNG.normal(size=40).round(1), "kind": RNG.choice(list("abc"), 40)})
# Recipes of wings, each with a check of its copy.
OF_WINGS = rows_of_wings("COPIED").values()

COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "clone_model": clone_model,
    "cloudpickle": lambda model: cloudpickle.loads(cloudpickle.dumps(model)),
    "freeze_dims_and_data": freeze_dims_and_data,
    "freeze_model": freeze_model,
    "do": lambda model: pm.do(model, {"other": 1.0}),
    "observe": lambda model: pm.observe(model, {"other": 1.0}),
    "a copy of a frozen model": lambda model: copy.deepcopy(freeze_model(model)),
    "cloudpickle of a frozen model": lambda model: cloudpickle.loads(cloudpickle.dumps(freeze_model(model))),
}


def with_another_variable(model):
    with model:
        pm.Normal("other")
    return model


@pytest.fixture(scope="module")
def models():
    recipes = [nrm.mixture_model(TABLE), *(make() for make, _ in OF_WINGS)]
    return [with_another_variable(model) for model in recipes]


def as_lists(data):
    return {name: np.asarray(values).tolist() for name, values in data.items()}


@pytest.mark.parametrize("name", COPIES)
def test_copies_know_how_the_table_was_read(name, models):
    table, *_ = models
    copied = [COPIES[name](model) for model in models]
    found = nrm.table_data(copied[0], TABLE.tail(3))
    assert as_lists(found) == as_lists(nrm.table_data(table, TABLE.tail(3)))
    # Days are counted from the first one of the whole table.
    assert list(found) == ["numeric", "categorical"] and found["numeric"].values[:, 0].max() > 365
    np.testing.assert_array_equal(origin_of(copied[0]["numeric"]).recorded[:, 1], TABLE["x"])
    for (_, check), model in zip(OF_WINGS, copied[1:], strict=True):
        check(model)


def test_an_origin_is_frozen():
    X = pd.DataFrame({"x": RNG.normal(size=40).round(1)})
    largest = X["x"].max()
    model = nrm.gaussian_mixture(X)
    origin = origin_of(model["x"])
    assert list(origin.readings_by_name) == ["x"]
    X.loc[0, "x"] = 100.0
    assert origin.recorded.max() == largest
    with pytest.raises(ValueError, match="read-only"):
        origin.recorded[0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        origin.series = "another"


def test_a_mixture_written_by_hand_has_an_empty_origin():
    with pm.Model():
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
        x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[1, 2, 3])
    assert not any([*vars(origin_of(x)).values()])


def frozen_counts():
    with pm.Model(coords={"item": range(6)}) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=6, dims="item")
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 0, 9, 8, 9], dims="item")
    return freeze_model(model)


def test_frozen_models_are_sampled_and_read():
    model, options = frozen_counts(), {"random_seed": 1, "progressbar": False}
    with model:
        idata = nrm.sample(20, tune=10, chains=2, cores=1, compute_convergence_checks=False, **options)
    assert "z[n_clusters]" in nrm.summary(idata).index
    description = nrm.describe(idata, model, nrm.point_estimate(idata, **options))
    assert "6 rows in" in str(description)
    assert nrm.log_predictive_density(idata, model, np.array([0.0, 9.0])).shape[-1] == 2
    replicated = nrm.sample_posterior_predictive(idata, model, new_items=2, **options)
    assert "x" in replicated.predictions


def test_frozen_models_are_saved_and_resumed(tmp_path):
    model, options = frozen_counts(), {"random_seed": 1, "progressbar": False, "chains": 1, "cores": 1}
    idata = nrm.sample(6, tune=4, model=model, checkpoint=tmp_path / "run", **options)
    longer = nrm.resume(tmp_path / "run", draws=8, model=model, progressbar=False)
    np.testing.assert_array_equal(longer.posterior["z"][:, :6], idata.posterior["z"])
    nrm.save(idata, model, tmp_path / "saved")
    _, read = nrm.load(tmp_path / "saved")
    assert [rv.name for rv in read.basic_RVs] == [rv.name for rv in model.basic_RVs]


def test_labels_are_summed_out_of_frozen_models():
    with pm.Model() as model:
        weights = pm.math.log_softmax(pm.Normal("w", shape=2))
        z = nrm.Partition("z", n=3, log_weights=weights)
        pm.Normal("y", pm.Normal("mu", shape=2)[z], 1.0, observed=[0.0, 1.0, 5.0])
    summed = [nrm.summed_out(made) for made in (model, freeze_model(model))]
    point = summed[0].initial_point()
    values = [made.compile_logp(mode="FAST_COMPILE")({name: point[name] for name in point}) for made in summed]
    np.testing.assert_allclose(*values)


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match="model must be a pymc.Model"):
        nrm.table_data("model", TABLE)
