"""Models of all kinds after PyMC's transformations: frozen, conditioned, intervened upon, and as tables and graphs."""

import io

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from pymc.model.transform.optimization import freeze_dims_and_data, freeze_model
from rich.console import Console

import pymc_nrm as nrm
from pymc_nrm.models.itemwise.item_table import ItemTable
from pymc_nrm.models.log_density import LogDensity
from pymc_nrm.models.rvs import partitions_of

N = 8
X = np.array([-3.1, -2.9, -3.3, -2.7, 2.9, 3.4, 3.0, 2.6])


def mixture(add_partition, **coords):
    with pm.Model(coords={"item": range(N), **coords}) as model:
        data = pm.Data("data", X, dims="item")
        labels = add_partition()
        nrm.Mixture("x", labels, nrm.NormalGamma.learned("x", X), observed=data)
    return model


def indexed(add_partition):
    """A model whose labels index means of three components."""
    with pm.Model(coords={"item": range(N), "component": range(3)}) as model:
        data = pm.Data("data", X, dims="item")
        labels = add_partition(data)
        mean = pm.Normal("mean", 0, 3, dims="component")
        pm.Normal("x", mean[labels], 1, observed=data, dims="item")
    return model


def partition(**options):
    return nrm.Partition("z", nrm.DirichletProcess(pm.Exponential("alpha", 1.0)), dims="item", **options)


def weighted(data):
    slope = pm.Normal("slope", dims="component")
    return nrm.Partition("z", log_weights=slope * data[:, None], dims="item")


def states(**options):
    transitions = nrm.states.Transitions(pm.Gamma("alpha", 2, 1), 1.0)
    return nrm.states.HiddenStates("z", nrm.DirichletProcess(1.0), transitions, dims="item", **options)


def nested():
    weights = nrm.nested.HierarchicalDirichletProcess(pm.Gamma("alpha", 2, 1), 1.0)
    return nrm.nested.NestedPartition("z", weights=weights, paths=["a", "b"] * 4, dims="item")


def tree():
    measure = nrm.DirichletProcess(pm.Gamma("alpha", 2, 1))
    return nrm.nested.NestedPartition(
        "z", measure, depth=2, weights=nrm.nested.HierarchicalDirichletProcess(1.0, 1.0), dims="item"
    )


def chunks():
    rows = nrm.Chunks(np.column_stack([X, X[::-1]]))
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(pm.Exponential("alpha", 1.0)), chunks=rows)
        nrm.Mixture("x", z, nrm.NormalGamma.learned("x", rows), observed=rows)
    return model


def growth():
    table = pd.DataFrame({"id": np.repeat(range(N), 3), "t": np.tile([0.0, 1.0, 2.0], N)})
    table["y"] = np.repeat(X, 3) * table["t"] + np.tile([0.1, 0.0, 0.2], N)
    return nrm.growth.growth_mixture(table, subject="id", time="t", target="y", jitter_ties=False)


def table():
    df = pd.DataFrame({"a": np.r_[X[:-1], np.nan], "b": [0, 1] * 4, "c": ["u", "v", None, "v"] * 2})
    return nrm.mixture_model(df, jitter_ties=False)


def regression():
    return nrm.regression_model(pd.DataFrame({"a": X, "y": X**2}), "y", jitter_ties=False)


def series():
    return nrm.states.regime_model(pd.Series(X, index=pd.date_range("2026", periods=N)), jitter_ties=False)


# A model, and the name of its partition and of its data in tables and graphs.
MODELS = {
    "a partition": (lambda: mixture(partition), "Partition[DirichletProcess]", "Mixture[NormalGamma]"),
    "slots": (lambda: indexed(lambda _: partition(max_clusters=3)), "Partition[DirichletProcess]", "Normal"),
    "weights": (lambda: indexed(weighted), "Partition[LogWeights]", "Normal"),
    "together": (
        lambda: mixture(lambda: partition(together=[0, 0, 1, 2, 3, 3, 4, 5])),
        "Partition[DirichletProcess]",
        "Mixture[NormalGamma]",
    ),
    "known": (
        lambda: mixture(lambda: partition(known=["a", None, "a", None, "b", None, None, None])),
        "Partition[DirichletProcess]",
        "Mixture[NormalGamma]",
    ),
    "states": (lambda: mixture(states), "HiddenStates[DirichletProcess]", "Mixture[NormalGamma]"),
    "state slots": (lambda: indexed(lambda _: states(max_states=3)), "HiddenStates[DirichletProcess]", "Normal"),
    "known paths": (lambda: mixture(nested), "NestedPartition[KnownPaths]", "Mixture[NormalGamma]"),
    "a tree": (lambda: mixture(tree), "NestedPartition[DirichletProcess]", "Mixture[NormalGamma]"),
    "growth": (growth, "Partition[DirichletProcess]", "Mixture[NormalTrajectory]"),
    "a table": (table, "Partition[DirichletProcess]", "Mixture[CategoricalDirichlet]"),
    "a regression": (regression, "Partition[DirichletProcess]", "Mixture[NormalRegression]"),
    "a series": (series, "HiddenStates[DirichletProcess]", "Mixture[NormalGamma]"),
}


def log_densities(model, point):
    """Log density of each term at those entries of a point that the model has."""
    density = LogDensity(model)
    values = density({value.name: point[value.name] for value in model.value_vars})
    assert np.isfinite(values).all()
    return dict(zip(density.names, values, strict=True))


def made(name):
    model = chunks() if name == "chunks" else MODELS[name][0]()
    [labels] = partitions_of(model)
    return model, model.initial_point(), labels


QUICK = ("a partition", "weights", "state slots", "known paths")


@pytest.mark.quick(*QUICK, "chunks")
@pytest.mark.parametrize("name", [*MODELS, "chunks"])
def test_frozen_models_have_the_density_of_the_model(name):
    model, point, _ = made(name)
    expected = log_densities(model, point)
    for freeze in (freeze_dims_and_data, freeze_model):
        frozen = freeze(model)
        assert frozen.initial_point().keys() == point.keys()
        assert log_densities(frozen, frozen.initial_point()) == pytest.approx(expected, rel=1e-12)


@pytest.mark.quick(*QUICK, "chunks")
@pytest.mark.parametrize("name", [*MODELS, "chunks"])
def test_observed_and_intervened_variables_leave_other_terms_as_they_are(name):
    model, point, _ = made(name)
    expected = log_densities(model, point)
    scalar = next(rv for rv in model.free_RVs if rv.name in ("alpha", "slope"))
    [graph] = model.replace_rvs_by_values([scalar])
    inputs = model.rvs_to_values[scalar]
    value = graph.eval({inputs: point[inputs.name]}, mode="FAST_COMPILE")
    observed, done = (change(model, {scalar: value}) for change in (pm.observe, pm.do))
    found = log_densities(observed, point)
    # Without the Jacobian of its transform, only the density of what is observed differs.
    for densities in (expected, found):
        del densities[scalar.name]
    assert found == pytest.approx(expected, rel=1e-12)
    assert log_densities(done, point) == pytest.approx(expected, rel=1e-12)
    assert partitions_of(observed) and partitions_of(done)


@pytest.mark.quick(*QUICK)
@pytest.mark.parametrize("name", MODELS)
def test_labels_may_be_observed_or_set(name):
    model, point, labels = made(name)
    expected = log_densities(model, point)
    observed, done = (change(model, {labels: point[labels.name]}) for change in (pm.observe, pm.do))
    assert log_densities(observed, point) == pytest.approx(expected, rel=1e-12)
    del expected[labels.name]
    assert log_densities(done, point) == pytest.approx(expected, rel=1e-12)


@pytest.mark.quick("a partition", "states", "a table")
@pytest.mark.parametrize("name", MODELS)
def test_tables_and_graphs_say_what_variables_are(name):
    make, title, data = MODELS[name]
    model = make()
    printed = Console(width=400, file=io.StringIO())
    printed.print(model.table())
    source = pm.model_to_graphviz(model).source
    for text in (title, data):
        assert f"~  {text}(" in printed.file.getvalue()
        assert f'~\n{text}"' in source
        assert text in model.str_repr()


@pytest.mark.parametrize("draw", [pm.draw, lambda z: pm.draw(z, mode="FAST_COMPILE")])
def test_rows_in_chunks_say_that_they_have_no_draws(draw):
    model = chunks()
    with pytest.raises(NotImplementedError, match="a partition of rows in chunks has no forward draws"):
        draw(model["z"])


def sampled(model, **options):
    return nrm.sample(20, tune=10, chains=1, cores=1, model=model, random_seed=1, quiet=True, **options)


# PyMC's copies change the order of the variables, and with several steps or other rounding the draws of a seed.
REORDERED = ("growth", "a table", "a regression", "chunks")


@pytest.mark.quick("a partition")
@pytest.mark.parametrize("name", [*MODELS, "chunks"])
def test_frozen_models_are_sampled(name):
    """With the draws of the model, where copies keep the order of the draws."""
    model, _, _ = made(name)
    expected = sampled(model)["posterior"]
    for freeze in (freeze_dims_and_data, freeze_model):
        found = sampled(freeze(model))["posterior"]
        assert set(found.data_vars) == set(expected.data_vars)
        for variable in expected.data_vars:
            if name not in REORDERED:
                np.testing.assert_allclose(found[variable], expected[variable], rtol=1e-5, err_msg=variable)


@pytest.mark.slow
def test_hyperparameters_given_labels_are_sampled():
    """By one step given observed labels, by another given labels that were set, from the same posterior."""
    model, _, labels = made("a partition")
    given = {labels: np.arange(N) // 4}
    draws = [
        nrm.sample(500, tune=500, chains=2, cores=1, model=change(model, given), random_seed=1, quiet=True)
        for change in (pm.observe, pm.do)
    ]
    logs = [np.log(idata["posterior"]["x_kappa"].values).ravel() for idata in draws]
    error = np.hypot(*(np.std(x) / np.sqrt(len(x) / 10) for x in logs))
    assert abs(logs[0].mean() - logs[1].mean()) < 4 * error


def test_predictions_after_do_say_why_there_are_none():
    model, point, labels = made("a partition")
    with pytest.raises(ValueError, match=r"labels of \['x'\] are data, as after pm.do, whereas pm.observe keeps"):
        nrm.sample_posterior_predictive({}, pm.do(model, {labels: point["z"]}))


def test_observed_labels_have_no_table_of_densities():
    model, point, labels = made("slots")
    with pytest.raises(ValueError, match="labels of 'z' must not be observed where each item may have any label"):
        ItemTable(pm.observe(model, {labels: point["z"]}), labels, 3, point)


@pytest.mark.slow
def test_covariates_of_frozen_models_are_read():
    """Constants of a frozen model have the place of its data in descriptions and forecasts."""
    model = freeze_dims_and_data(growth())
    assert "y over t" in nrm.describe(sampled(model), model).to_text()
    model = freeze_dims_and_data(nrm.states.regime_model(pd.Series(np.cumsum(X)), lags=1, jitter_ties=False))
    assert nrm.states.forecast_density(sampled(model), model, X)["density"].shape[-1] == N
