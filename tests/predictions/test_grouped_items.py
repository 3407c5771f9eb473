"""Predictions for items in groups that stay together, against sums over values of models of other items."""

import functools

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.partitions.labels import canonical_labels

GROUPS = ["a", "b", "c", "b", "d", "a"]
LABELS = np.array([0, 1, 1, 1, 2, 0])
X = np.array([0.1, 2.2, 1.4, 2.0, -1.2, 0.5])
MEASURE, FAMILY = nrm.NormalizedGeneralizedGamma(1.0, 0.4), nrm.NormalGamma(0.0, 0.3, 2.0, 1.0)


def make_model(X=X, groups=GROUPS):
    """Model of items in groups."""
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURE, together=groups)
        nrm.Mixture("x", z, FAMILY, observed=X)
    return model


def draws(labels=LABELS):
    """One posterior draw."""
    return xr.DataTree.from_dict({"posterior": xr.Dataset({"z": (("chain", "draw", "item"), labels[None, None])})})


@functools.cache
def compiled_logp(X, groups):
    """Log density of data and partition, compiled once for all labels."""
    return make_model(np.array(X), list(groups)).compile_logp()


def log_joint(labels, X, groups):
    """Log density of data and partition."""
    return float(compiled_logp(tuple(X), tuple(groups))({"z": canonical_labels(labels)}))


def log_one_more(labels, X, groups, item):
    """Log density of the data of one item given the others and their partition, its cluster summed over."""
    others = np.arange(len(X)) != item
    values = [np.where(others, labels, label) for label in range(labels.max() + 2)]
    distinct = {tuple(canonical_labels(value)): value for value in values}
    joint = [log_joint(value, X, groups) for value in distinct.values()]
    own = [group for group, kept in zip(groups, others, strict=True) if kept]
    return np.logaddexp.reduce(joint) - log_joint(labels[others], X[others], own)


def test_an_item_is_left_out_of_its_group():
    """Others of its group tell its cluster; an item on its own may go anywhere, by numbers of groups."""
    values = nrm.compute_log_likelihood(draws(), make_model(), extend_inferencedata=False)["x"].values[0, 0]
    expected = [log_one_more(LABELS, X, GROUPS, item) for item in range(6)]
    np.testing.assert_allclose(values, expected, rtol=1e-8)


def test_a_new_item_is_a_group_of_its_own():
    x_new = 1.1
    found = nrm.log_predictive_density(draws(), make_model(), [[x_new]]).values.ravel()
    longer = np.append(LABELS, 0)
    assert found == pytest.approx(log_one_more(longer, np.append(X, x_new), [*GROUPS, "new"], 6), rel=1e-8)
