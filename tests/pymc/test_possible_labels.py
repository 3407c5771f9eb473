"""Known labels of slots, states and components of weights: where chains start, and the posterior, by enumeration."""

import itertools
import logging

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import pymc_nrm as nrm
from pymc_nrm.common.pymc_internals import initial_point_with
from pymc_nrm.models.log_density import LogDensity
from pymc_nrm.run.possible_labels import with_possible_labels
from tests.tools.wings import rows_of_wings

N, K = 5, 3
Y = np.array([-2.0, 0.5, 0.2, 1.8, -0.3])
# Item 1 is known to be in slot 2, item 3 not to be in slot 0, and item 4 to be in slot 1.
ALLOWED = np.array([[1, 1, 1], [0, 0, 1], [1, 1, 1], [0, 1, 1], [0, 1, 0]])
MEANS = np.array([-1.0, 0.0, 1.5])


def slots(n, n_slots):
    return nrm.Partition("z", nrm.DirichletProcess(1.0), n=n, max_clusters=n_slots)


def weights(n, n_slots):
    table = np.log([[0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.2, 0.2, 0.6], [0.8, 0.1, 0.1], [0.7, 0.2, 0.1]])
    return nrm.Partition("z", n=n, log_weights=table)


KINDS = {"slots": slots, "weights": weights} | rows_of_wings("SLOT_LABELS")


def model_of(kind, allowed=ALLOWED, mean=MEANS):
    with pm.Model() as model:
        z = KINDS[kind](N, K)
        mean = mean() if callable(mean) else pt.as_tensor(mean)
        pm.Normal("y", mean[z], 1.0, observed=Y)
        pm.Bernoulli("known", pt.as_tensor(allowed)[np.arange(N), z], observed=np.ones(N))
    return model


def free_means():
    return pm.Normal("mean", 0, 2, shape=K)


@pytest.mark.parametrize("kind", KINDS)
def test_the_default_start_has_the_likeliest_labels_that_are_allowed(kind, caplog):
    model = model_of(kind)
    density = LogDensity(model)
    assert np.isneginf(density(model.initial_point())).any()
    with caplog.at_level(logging.INFO, "pymc.nrm_runs"):
        initvals = with_possible_labels(None, model)
    assert "start as the likeliest ones, since 'known' forbids the default start" in caplog.text
    assert np.isfinite(density(initial_point_with(model, initvals))).all()
    rows = -((Y[:, None] - np.array([-1.0, 0.0, 1.5])) ** 2) / 2
    rows += model["z"].owner.inputs[-1].data if kind == "weights" else 0.0
    expected = np.where(ALLOWED, rows, -np.inf).argmax(axis=1)
    np.testing.assert_array_equal(initvals["z"], expected)


def test_starts_that_users_give_and_possible_ones_are_kept():
    given = {"z": np.array([0, 0, 0, 0, 0])}
    model = model_of("slots")
    assert with_possible_labels(given, model) is given
    assert with_possible_labels([None, given], model)[1] is given
    assert with_possible_labels(None, model_of("slots", allowed=np.ones((N, K)))) is None
    # The start of other variables decides which labels are likeliest.
    model = model_of("slots", mean=free_means)
    found = with_possible_labels({"mean": np.array([5.0, 1.0, -1.0])}, model)["z"]
    np.testing.assert_array_equal(found, [2, 2, 1, 1, 1])
    # Where nothing is allowed, the error of the start stays what it was.
    impossible = with_possible_labels(None, model_of("slots", allowed=np.zeros((N, K))))
    np.testing.assert_array_equal(impossible["z"], np.zeros(N))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_posterior_given_known_labels_is_that_of_enumeration(kind):
    model = model_of(kind)
    density = LogDensity(model)
    values = [np.array(labels) for labels in itertools.product(range(K), repeat=N)]
    log_p = np.array([density({"z": labels}).sum() for labels in values])
    p = np.exp(log_p - np.logaddexp.reduce(log_p))
    chains, draws = 4, 2000
    idata = nrm.sample(draws, tune=100, chains=chains, cores=1, model=model, random_seed=3, quiet=True)
    z = idata["posterior"]["z"].values
    for item, slot in itertools.product(range(N), range(K)):
        exact = sum(weight for weight, labels in zip(p, values, strict=True) if labels[item] == slot)
        batches = (z[..., item] == slot).reshape(chains * 20, -1).mean(axis=1)
        if exact in (0.0, 1.0) or not ALLOWED[item, slot]:
            assert (batches == exact).all()
            continue
        if ALLOWED[item].sum() == 1:
            assert (batches == 1.0).all()
            continue
        assert abs(batches.mean() - exact) < 4.5 * batches.std(ddof=1) / np.sqrt(len(batches)), (item, slot)
    # Pairs depend on the prior.
    exact = sum(weight for weight, labels in zip(p, values, strict=True) if labels[0] == labels[2])
    batches = (z[..., 0] == z[..., 2]).reshape(chains * 20, -1).mean(axis=1)
    assert abs(batches.mean() - exact) < 4.5 * batches.std(ddof=1) / np.sqrt(len(batches))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_models_with_parameters_are_sampled_without_initial_values(kind):
    model = model_of(kind, mean=free_means)
    idata = nrm.sample(50, tune=50, chains=2, cores=1, model=model, random_seed=3, quiet=True)
    z = idata["posterior"]["z"].values
    assert (ALLOWED[np.arange(N), z] == 1).all()
