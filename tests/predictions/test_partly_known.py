"""Predictions where labels are partly known, against sums over values of models with and without data of an item."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.partitions.labels import canonical_labels

KNOWN = ["a", None, "b", "a", "c", None]
LABELS = np.array([0, 1, 1, 0, 2, 2])
X = np.array([0.1, 2.2, 1.4, 0.5, -1.2, -0.3])
MEASURE, FAMILY = nrm.NormalizedGeneralizedGamma(1.0, 0.4), nrm.NormalGamma(0.0, 0.3, 2.0, 1.0)


def draws(labels=LABELS):
    """One posterior draw."""
    return xr.DataTree.from_dict({"posterior": xr.Dataset({"z": (("chain", "draw", "item"), labels[None, None])})})


def make_model(X=X, known=KNOWN):
    """Model of items with known labels."""
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURE, known=known)
        nrm.Mixture("x", z, FAMILY, observed=X)
    return model


def log_sum(labels, X, known, item):
    """Log density of data and partition, the cluster of one item summed over."""
    values = {tuple(canonical_labels(np.where(np.arange(len(X)) == item, k, labels))) for k in range(labels.max() + 2)}
    logp = make_model(X, known).compile_logp()
    return np.logaddexp.reduce([float(logp({"z": np.array(value)})) for value in values])


def log_density(labels, X, known, item):
    """Log density of the data of an item, given all other data, their clusters, and all known labels."""
    without = np.where(np.arange(len(X)) == item, np.nan, X)
    return log_sum(labels, X, known, item) - log_sum(labels, without, known, item)


@pytest.mark.slow
@pytest.mark.parametrize("labels", [LABELS, np.array([0, 1, 2, 0, 3, 0])])
def test_an_item_is_left_out_with_its_cluster_but_not_its_known_label(labels):
    values = nrm.compute_log_likelihood(draws(labels), make_model(), extend_inferencedata=False)["x"].values[0, 0]
    np.testing.assert_allclose(values, [log_density(labels, X, KNOWN, item) for item in range(6)], rtol=1e-8)


def test_a_new_item_has_no_known_label():
    found = nrm.log_predictive_density(draws(), make_model(), [[1.1]]).values.ravel()
    assert found == pytest.approx(log_density(np.append(LABELS, 0), np.append(X, 1.1), [*KNOWN, None], 6), rel=1e-8)
