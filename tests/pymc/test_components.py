"""Partitions with log_weights: prior draws, components without items, items without choice, names, errors."""

import logging

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy.special import log_softmax

import pymc_nrm as nrm
from pymc_nrm.models.rvs import kind_of
from pymc_nrm.steps.full_metric import FullMetric
from tests.helpers import refused, result_of

Y = np.array([0.3, -1.0, 2.0, 0.1])
# Component 2 is impossible for all, component 1 for item 2.
W = np.array([[0.0, 0.4, -np.inf], [1.0, 0.0, -np.inf], [0.3, -np.inf, -np.inf], [-2.0, 0.0, -np.inf]])


def make_model(log_weights, n=4, n_components=3):
    with pm.Model() as model:
        z = nrm.Partition("z", log_weights=log_weights, n=n)
        pm.Normal("y", pm.Normal("mean", 0.0, 2.0, shape=n_components)[z], 0.7, observed=Y)
    return model


def test_draws_from_the_prior_have_the_weights():
    for log_weights in (W, np.array([0.5, -1.0])):
        labels = pm.draw(nrm.Partition.dist(log_weights=log_weights, n=4), draws=4000, random_seed=1)
        p = np.exp(log_softmax(np.broadcast_to(log_weights, (4, log_weights.shape[-1])), axis=1))
        frequencies = (labels[:, :, None] == np.arange(p.shape[1])).mean(axis=0)
        assert (np.abs(frequencies - p) <= 5.0 * np.sqrt(p * (1.0 - p) / len(labels))).all()


@pytest.mark.quick("-inf")
@pytest.mark.parametrize(
    ("log_weights", "n_components"),
    [(W, 3), (np.zeros(1), 1), (np.array([0.0, -40.0, 1.0]), 3)],
    ids=["-inf", "1", "K"],
)
def test_components_may_be_impossible_or_empty_or_alone(log_weights, n_components):
    model = make_model(log_weights, n_components=n_components)
    idata = nrm.sample(30, tune=30, chains=1, cores=1, model=model, random_seed=1, quiet=True)
    labels = idata["posterior"]["z"].values[0]
    allowed = np.broadcast_to(log_weights, (4, n_components)) > -30.0
    assert allowed[np.arange(4), labels].all()
    assert np.isfinite(idata["posterior"]["mean"]).all()
    assert np.isfinite(idata["sample_stats"]["log_joint"]).all()
    np.testing.assert_array_equal(
        idata["posterior"]["z_n_clusters"][0], [len(np.unique(of_draw)) for of_draw in labels]
    )


def test_the_number_of_items_follows_the_data():
    with pm.Model() as model:
        x, y = pm.Data("x", [-1.0, 0.0, 0.5, 2.0]), pm.Data("data", Y)
        gate = pm.Normal("gate", 0.0, 1.0, shape=2)
        z = nrm.Partition("z", log_weights=x[:, None] * gate, n=x.shape[0])
        pm.Normal("y", pm.Normal("mean", 0.0, 2.0, shape=2)[z], 0.7, observed=y)
    steps = [nrm.steps.WeightedNUTS(model=model), nrm.steps.WeightedGibbs([model["z"]], model=model)]
    pm.set_data({"x": np.arange(6.0), "data": np.arange(6.0)}, model=model)
    for step in steps:
        step.setup_chain(np.random.default_rng(1), 5, 5)
        point, _ = step.step(model.initial_point())
        assert point["z"].shape == (6,)


@pytest.mark.parametrize(("differ", "n"), [(True, 5), (True, 21), (False, 5)])
def test_metric_of_nuts(differ, n):
    """All covariances where weights differ between items and there are at most 20 values."""
    with pm.Model() as model:
        gate = pm.Normal("gate", 0.0, 1.0, shape=2)
        x = np.arange(4.0)[:, None] if differ else 1.0
        z = nrm.Partition("z", log_weights=x * gate, n=4)
        shift = pm.Normal("shift", 0.0, 1.0, shape=n - 4)
        pm.Normal("y", pm.Normal("mean", 0.0, 2.0, shape=2)[z] + shift.sum(), 0.7, observed=Y)
        step = nrm.steps.WeightedNUTS()
    assert isinstance(step.potential, FullMetric) == (differ and n <= 20)
    step = nrm.steps.WeightedNUTS(model=model, scaling=np.ones(n))
    assert not isinstance(step.potential, FullMetric)


def test_summaries_do_not_change_when_components_are_permuted():
    rng = np.random.default_rng(1)
    labels, means = rng.integers(0, 3, (2, 50, 4)), rng.normal(size=(2, 50, 3))
    orders = rng.permuted(np.tile(np.arange(3), (2, 50, 1)), axis=2)
    moved = {"z": np.take_along_axis(orders, labels, axis=2), "mean": np.empty_like(means)}
    np.put_along_axis(moved["mean"], orders, means, axis=2)
    model = make_model(np.zeros(3))
    found = [result_of(z=labels, mean=means), result_of(**moved)]
    for draws in found:
        draws["posterior"]["z"].attrs.update(kind_of(model["z"]).marks())
    for call in (
        lambda draws: nrm.stats.similarity(draws),
        lambda draws: nrm.stats.cluster_parameters(draws, [0, 0, 1, 1], ["mean"])["mean"],
        lambda draws: nrm.compute_log_likelihood(draws, model, progressbar=False)["log_likelihood"]["y"],
    ):
        np.testing.assert_allclose(*[np.asarray(call(draws), dtype="float64") for draws in found], rtol=1e-9)


def test_results_have_the_number_of_components():
    assert kind_of(make_model(np.zeros(3))["z"]).marks() == {"partition": "z", "n_components": 3}


def test_stock_nuts_gets_a_hint(caplog):
    with caplog.at_level(logging.WARNING, logger="pymc_nrm"):
        with make_model(np.zeros(3)):
            pm.sample(2, tune=2, chains=1, cores=1, progressbar=False)
        assert sum("nrm.sample chooses WeightedNUTS" in message for message in caplog.messages) == 1
        caplog.clear()
        with make_model(np.zeros(3)):
            pm.sample(2, tune=2, chains=1, cores=1, progressbar=False, step=[nrm.steps.WeightedNUTS()])
        assert not any("WeightedNUTS" in message for message in caplog.messages)


def of_data(rows):
    with pm.Model():
        x = pm.Data("x", np.zeros(rows))
        nrm.Partition("z", log_weights=x[:, None] * pm.Normal("gate", shape=2), n=4)


def after_set_data(rows):
    with pm.Model():
        x = pm.Data("x", np.zeros(4))
        z = nrm.Partition("z", log_weights=x[:, None] * pm.Normal("gate", shape=2), n=4)
        pm.Normal("y", pm.Normal("mean", shape=2)[z], 1.0, observed=Y)
        pm.set_data({"x": np.zeros(rows)})
        nrm.steps.WeightedNUTS()


def own_labels(_):
    with pm.Model():
        z = nrm.Partition("z", log_weights=np.zeros(2), n=4)
        nrm.Partition("other", log_weights=pt.stack([z, z], axis=1).sum(axis=0) + np.zeros((4, 2)))
        nrm.steps.WeightedNUTS()


def tree_guided(_):
    with pm.Model():
        z = nrm.Partition("z", log_weights=np.zeros(2), n=4)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 2, 3])
        nrm.steps.TreeGuided([z])


def random_measure(_):
    with pm.Model() as model:
        z = nrm.Partition("z", log_weights=np.zeros(2), n=4)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 2, 3])
    nrm.random_measure.sample_random_measure(result_of(z=np.zeros((1, 2, 4), dtype=int)), model)


def probabilities(make):
    with pm.Model():
        nrm.Partition("z", log_weights=make(), n=4)


test_wrong_models_are_refused = refused(
    lambda call, argument: call(argument),
    (of_data, 5, "log_weights of a Partition must have a row for each of 4 items; got shape"),
    (after_set_data, 5, "log_weights of partition 'z' must have a row for each of its 4 items; got shape"),
    (probabilities, lambda: pm.Dirichlet("share", np.ones(2)), "must be logarithms of weights; got the prob.* 'share'"),
    (probabilities, lambda: pt.special.softmax(np.zeros((4, 2)), axis=1), "must be logarithms of weights; got prob"),
    (own_labels, None, "'other' must be a sum of terms that each depend on the label of one item of partition 'z'"),
    (tree_guided, None, "for WeightedNUTS, which nrm.sample chooses"),
    (random_measure, None, "there is no random measure: the weights of the components of 'z' are log_weights"),
)
