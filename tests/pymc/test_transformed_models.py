"""Models of all kinds after PyMC's transformations: frozen, conditioned, intervened upon, and as tables and graphs."""

import io

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytest
from pymc.model.transform.optimization import freeze_dims_and_data, freeze_model
from rich.console import Console

import pymc_nrm as nrm
from pymc_nrm.models.itemwise.item_table import ItemTable
from pymc_nrm.models.log_density import LogDensity
from pymc_nrm.models.rvs import kind_of, partitions_of
from tests.tools.transformed_cases import N, Transformed, X, indexed, mixture
from tests.tools.wings import rows_of_wings


def partition(**options):
    return nrm.Partition("z", nrm.DirichletProcess(pm.Exponential("alpha", 1.0)), dims="item", **options)


def weighted(data):
    slope = pm.Normal("slope", dims="component")
    return nrm.Partition("z", log_weights=slope * data[:, None], dims="item")


def chunks():
    rows = nrm.Chunks(np.column_stack([X, X[::-1]]))
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(pm.Exponential("alpha", 1.0)), chunks=rows)
        nrm.Mixture("x", z, nrm.NormalGamma.learned("x", rows), observed=rows)
    return model


def table():
    df = pd.DataFrame({"a": np.r_[X[:-1], np.nan], "b": [0, 1] * 4, "c": ["u", "v", None, "v"] * 2})
    return nrm.mixture_model(df, jitter_ties=False)


def regression():
    return nrm.regression_model(pd.DataFrame({"a": X, "y": X**2}), "y", jitter_ties=False)


PARTITION = "Partition[DirichletProcess]"
MODELS = {
    "a partition": Transformed(lambda: mixture(partition), PARTITION, quick=True),
    "slots": Transformed(lambda: indexed(lambda _: partition(max_clusters=3)), PARTITION, "Normal"),
    "weights": Transformed(lambda: indexed(weighted), "Partition[LogWeights]", "Normal", quick=True),
    "together": Transformed(lambda: mixture(lambda: partition(together=[0, 0, 1, 2, 3, 3, 4, 5])), PARTITION),
    "known": Transformed(
        lambda: mixture(lambda: partition(known=["a", None, "a", None, "b", None, None, None])), PARTITION
    ),
    "a table": Transformed(table, PARTITION, "Mixture[CategoricalDirichlet]", reordered=True),
    "a regression": Transformed(regression, PARTITION, "Mixture[NormalRegression]", reordered=True),
} | rows_of_wings("TRANSFORMED")
QUICK = [name for name, case in MODELS.items() if case.quick]


def log_densities(model, point):
    """Log density of each term at those entries of a point that the model has."""
    density = LogDensity(model)
    values = density({value.name: point[value.name] for value in model.value_vars})
    assert np.isfinite(values).all()
    return dict(zip(density.names, values, strict=True))


def made(name):
    model = chunks() if name == "chunks" else MODELS[name].make()
    [labels] = partitions_of(model)
    return model, model.initial_point(), labels


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


@pytest.mark.quick("a partition")
@pytest.mark.parametrize("name", ["a partition", "known", "a tree"])
def test_observed_labels_in_another_numbering_are_refused(name):
    model, point, labels = made(name)
    values = np.array([1, 0, 1, 0, 2, 0, 0, 0]) if name == "known" else point[labels.name] + 1
    for data in (values, pytensor.shared(values)):
        observed = pm.observe(model, {labels: data})
        start = {value.name: point[value.name] for value in observed.value_vars}
        with pytest.raises(
            ValueError, match="^(observed )?labels .* must be numbered from 0 in order of appearance, as"
        ):
            observed.compile_logp(mode="FAST_COMPILE")(start)
        with pytest.raises(ValueError, match=f"^observed labels of .* '{labels.name}' must be numbered"):
            nrm.sample(model=observed)


INVALID = {"a partition": [-1, 1, 5], "slots of a mixture": [-1, 3], "a tree": [-1, 1, 8]}


@pytest.mark.quick("a partition")
@pytest.mark.parametrize("name", INVALID)
def test_labels_that_are_set_must_be_valid(name):
    """Neither the density nor a draw of data reads labels that name no cluster, which was memory beyond arrays."""
    model = mixture(lambda: partition(max_clusters=3)) if name.startswith("slots") else MODELS[name].make()
    [labels] = partitions_of(model)
    start = model.initial_point()
    for label in INVALID[name]:
        values = np.zeros_like(start[labels.name])
        values[:2] = label
        done = pm.do(model, {labels: values})
        point = {value.name: start[value.name] for value in done.value_vars}
        with pytest.raises(ValueError, match=f"^labels '{labels.name}' of a {kind_of(labels).title} must be"):
            done.compile_logp(mode="FAST_COMPILE")(point)
        with pytest.raises(ValueError, match=f"^labels of a {kind_of(labels).title} must be"):
            pm.draw(done["x"], mode="FAST_COMPILE")


@pytest.mark.quick("a table", *QUICK)
@pytest.mark.parametrize("name", MODELS)
def test_tables_and_graphs_say_what_variables_are(name):
    case = MODELS[name]
    model = case.make()
    printed = Console(width=400, file=io.StringIO())
    printed.print(model.table())
    source = pm.model_to_graphviz(model).source
    for text in (case.title, case.data):
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


@pytest.mark.quick("a partition")
@pytest.mark.parametrize("name", [*MODELS, "chunks"])
def test_frozen_models_are_sampled(name):
    """With the draws of the model, where copies of PyMC keep the order of the variables."""
    model, _, _ = made(name)
    expected = sampled(model)["posterior"]
    for freeze in (freeze_dims_and_data, freeze_model):
        found = sampled(freeze(model))["posterior"]
        assert set(found.data_vars) == set(expected.data_vars)
        for variable in expected.data_vars:
            if name != "chunks" and not MODELS[name].reordered:
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
