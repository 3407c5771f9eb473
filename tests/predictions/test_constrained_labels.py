"""Predictions for items in groups or with partly known labels, against sums over values of models."""

import functools

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.partitions.labels import canonical_labels

X = np.array([0.1, 2.2, 1.4, 0.5, -1.2, -0.3])
MEASURE, FAMILY = nrm.NormalizedGeneralizedGamma(1.0, 0.4), nrm.NormalGamma(0.0, 0.3, 2.0, 1.0)
# What is said of the items, and of a new one.
CASES = {"together": (["a", "b", "c", "b", "d", "a"], "new"), "known": (["a", None, "b", "a", "c", None], None)}
ROWS = [("together", [0, 1, 1, 1, 2, 0]), ("known", [0, 1, 1, 0, 2, 2]), ("known", [0, 1, 2, 0, 3, 0])]


def make_model(kind, X=X, further=()):
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURE, **{kind: [*CASES[kind][0], *further]})
        nrm.Mixture("x", z, FAMILY, observed=pm.Data("data", X))
    return model


def draws(labels):
    return xr.Dataset({"z": (("chain", "draw", "item"), [[labels]])})


@functools.cache
def compiled(kind, *further):
    model = make_model(kind, np.append(X, np.zeros(len(further))), further)
    return model, model.compile_logp()


def log_sum(model, logp, labels, X, item):
    """Log density of data and partition, the cluster of one item summed over."""
    pm.set_data({"data": X}, model=model)
    places = [np.where(np.arange(len(X)) == item, k, labels) for k in range(max(labels) + 2)]
    distinct = {tuple(canonical_labels(place)) for place in places}
    return np.logaddexp.reduce([float(logp({"z": np.array(value)})) for value in distinct])


def log_density(function, labels, X, item):
    """Log density of the data of an item, given all other data, their clusters, and what is said of all items."""
    without = np.where(np.arange(len(X)) == item, np.nan, X)
    return log_sum(*function, labels, X, item) - log_sum(*function, labels, without, item)


@pytest.mark.parametrize(("kind", "labels"), ROWS)
def test_an_item_is_left_out_with_its_cluster(kind, labels):
    """But not with its known label; others of its group tell its cluster."""
    values = nrm.compute_log_likelihood(draws(labels), make_model(kind), extend_inferencedata=False)["x"].values[0, 0]
    np.testing.assert_allclose(values, [log_density(compiled(kind), labels, X, item) for item in range(6)], rtol=1e-8)


@pytest.mark.parametrize(("kind", "labels"), ROWS[:2])
def test_a_new_item_may_go_anywhere(kind, labels):
    found = nrm.log_predictive_density(draws(labels), make_model(kind), [[1.1]]).item()
    expected = log_density(compiled(kind, CASES[kind][1]), [*labels, 0], np.append(X, 1.1), 6)
    assert found == pytest.approx(expected, rel=1e-8)
