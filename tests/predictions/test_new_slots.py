"""New items where labels index parameters: their labels against enumeration, and what PyMC makes of them."""

from itertools import product

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import stats
from scipy.special import logsumexp
from test_slot_log_likelihood import MEASURES, log_prior

import pymc_nrm as nrm

SLOTS = np.array([[2, 2, 0], [1, 3, 2], [0, 0, 0], [3, 1, 3]])
SLOPE = np.array([[-5.0, 9.0, 1.0, -9.0], [0.1, 1.0, -0.5, 2.0], [3.0, 0.0, 1.0, -1.0], [0.0, 0.3, 0.2, -2.0]])
SCALE = np.array([0.5, 1.5, 2.0, 0.3])
X, Y, SUBJECT = np.array([1.0, 3.0, 2.0, 0.5]), np.array([-1.0, 2.0, 4.0, 0.2]), np.array([0, 0, 1, 1])


def make_model(measure, n_slots=4):
    """Regressions of three subjects with several rows each, whose slopes belong to clusters."""
    with pm.Model(coords={"subject": ["a", "b", "c"]}) as model:
        x = pm.Data("x", [1.0, 2.0, 1.0])
        y = pm.Data("y_data", [1.1, 1.9, -5.0])
        seen = pm.Data("seen_data", [0.0, 0.0, 0.0], dims="subject")
        subject = pm.Data("row_subject", [0, 1, 2])
        z = nrm.Partition("z", measure, dims="subject", max_clusters=n_slots)
        slope = pm.Normal("slope", 0, 5, shape=n_slots)
        scale = pm.LogNormal("scale")
        pm.Deterministic("slope_of_subject", slope[z], dims="subject")
        pm.Normal("y", slope[z][subject] * x, scale, observed=y, shape=x.shape)
        pm.Normal("seen", slope[z], 2.0, observed=seen, dims="subject")
    return model


def make_draws(n=1):
    """The four draws, n times."""
    variables = {
        "z": (("chain", "draw", "subject"), np.tile(SLOTS, (1, n, 1))),
        "slope": (("chain", "draw", "slope_dim_0"), np.tile(SLOPE, (1, n, 1))),
        "scale": (("chain", "draw"), np.tile(SCALE, (1, n))),
    }
    variables["slope_of_subject"] = (("chain", "draw", "subject"), np.zeros((1, 4 * n, 3)))
    return xr.DataTree.from_dict({"posterior": xr.Dataset(variables, {"subject": ["a", "b", "c"]})})


def set_new(model):
    model.set_dim("subject", 2, coord_values=["d", "e"])
    pm.set_data({"x": X, "y_data": Y, "row_subject": SUBJECT, "seen_data": [1.0, -1.0]}, model=model)


def probabilities(measure, draw, subject, names):
    """Law of the slot of a new subject, shape (4,), by the joint probability of old and new labels."""
    rows, slots = subject == SUBJECT, SLOTS[draw]
    log_p = np.array([log_prior(measure, np.append(slots, slot), 4) for slot in range(4)])
    for slot, slope in enumerate(SLOPE[draw]):
        if "y" in names:
            log_p[slot] += stats.norm.logpdf(Y[rows], slope * X[rows], SCALE[draw]).sum()
        if "seen" in names:
            log_p[slot] += stats.norm.logpdf([1.0, -1.0][subject], slope, 2.0)
    return np.exp(log_p - logsumexp(log_p))


@pytest.mark.parametrize("measure", MEASURES)
def test_probabilities_of_clusters(measure):
    model = make_model(MEASURES[measure])
    set_new(model)
    predicted = nrm.cluster_probabilities(make_draws(), model, estimate=[5, 5, 7])
    assert predicted["new_subject"].values.tolist() == ["d", "e"]
    assert predicted["cluster"].values.tolist() == [5, 7]
    for subject in range(2):
        expected = np.zeros(3)
        for draw, slots in enumerate(SLOTS):
            for slot, p in enumerate(probabilities(MEASURES[measure], draw, subject, ["y", "seen"])):
                mates = np.flatnonzero(slots == slot)
                if len(mates):
                    expected[:2] += p * np.array([np.mean(mates < 2), np.mean(mates == 2)]) / 4
                else:
                    expected[2] += p / 4
        found = [*predicted["probability"].values[subject], predicted["new_cluster_probability"].values[subject]]
        np.testing.assert_allclose(found, expected, rtol=1e-7)
        assert predicted["labels"].values[subject] == [5, 7, -1][np.argmax(expected)]


@pytest.mark.parametrize("known", [None, ["seen"]])
def test_draws_given_data(known):
    measure, n = MEASURES["NGG"], 800
    model = make_model(measure)
    set_new(model)
    result = nrm.sample_new_labels(make_draws(n), model, known=known, random_seed=1)
    labels = result["posterior"]["z"].values.reshape(n, 4, 2)
    for draw, subject in product(range(4), range(2)):
        p = probabilities(measure, draw, subject, known or ["y", "seen"])
        shares = np.bincount(labels[:, draw, subject], minlength=4) / n
        assert (abs(shares - p) <= 4.5 * np.sqrt(p * (1 - p) / n) + 1e-12).all()


def test_draws_without_data_are_joint():
    """Labels of two new subjects together; a second draw with one empty slot, which both may open."""
    measure, n = MEASURES["NGG"], 1000
    model = make_model(measure)
    set_new(model)
    result = nrm.sample_new_labels(make_draws(n), model, known=[], random_seed=1)
    labels = result["posterior"]["z"].values.reshape(n, 4, 2)
    for draw, slots in enumerate(SLOTS):
        pairs = list(product(range(4), repeat=2))
        log_p = np.array([log_prior(measure, np.append(slots, pair), 4) for pair in pairs])
        p = np.exp(log_p - logsumexp(log_p))
        shares = np.bincount(labels[:, draw] @ [4, 1], minlength=16) / n
        assert (abs(shares - p) <= 4.5 * np.sqrt(p * (1 - p) / n)).all()


def test_no_room_for_more_clusters():
    measure, n = MEASURES["DP"], 1000
    with pm.Model() as model:
        X = pm.Data("X", np.zeros(3))
        z = nrm.Partition("z", measure, n=X.shape[0], max_clusters=3)
        mean = pm.Normal("mean", 0, 1, shape=3)
        pm.Normal("x", mean[z], 1, observed=X)
    pm.set_data({"X": np.zeros(2)}, model=model)
    slots = np.array([0, 1, 0])
    posterior = xr.Dataset(
        {
            "z": (("chain", "draw", "item"), np.tile(slots, (1, n, 1))),
            "mean": (("chain", "draw", "slot"), np.zeros((1, n, 3))),
        }
    )
    pairs = list(product(range(3), repeat=2))
    log_p = np.array([log_prior(measure, np.append(slots, pair), 3) for pair in pairs])
    p = np.exp(log_p - logsumexp(log_p))
    labels = nrm.sample_new_labels(posterior, model, known=[], random_seed=1)["posterior"]["z"].values[0]
    shares = np.bincount(labels @ [3, 1], minlength=9) / n
    assert (abs(shares - p) <= 4.5 * np.sqrt(p * (1 - p) / n)).all()
    full = posterior.assign(z=(("chain", "draw", "item"), np.tile([0, 1, 2], (1, n, 1))))
    for known in (None, []):
        labels = nrm.sample_new_labels(full, model, known=known, random_seed=1)["posterior"]["z"].values
        np.testing.assert_allclose(np.bincount(labels.ravel()) / labels.size, 1 / 3, atol=4.5 / np.sqrt(8 * n))


def test_pymc_predicts_rows_of_new_subjects():
    """Labels from some rows, then other rows of the same subjects; parameters stay those of the draws."""
    model, n = make_model(MEASURES["DP"]), 5
    set_new(model)
    result = nrm.sample_new_labels(make_draws(n), model, random_seed=1)
    posterior = result["posterior"]
    assert set(posterior.data_vars) == {"z", "slope", "scale"}
    assert posterior["subject"].values.tolist() == ["d", "e"]
    rows = {"x": np.array([1e6, 2e6, 0.0]), "row_subject": [1, 0, 1], "y_data": np.zeros(3)}
    pm.set_data(rows, model=model)
    predicted = pm.sample_posterior_predictive(
        result, model=model, predictions=True, var_names=["y", "slope_of_subject"], progressbar=False, random_seed=1
    )["predictions"]
    slope = np.take_along_axis(posterior["slope"].values, posterior["z"].values, axis=2)
    np.testing.assert_array_equal(predicted["slope_of_subject"], slope)
    expected = slope[:, :, [1, 0, 1]] * rows["x"]
    np.testing.assert_allclose(predicted["y"], expected, atol=20)


def test_subjects_with_effects_of_their_own():
    """Effects of new subjects are drawn from their prior; labels cannot be drawn given data that depend on them."""
    with pm.Model(coords={"subject": range(3)}) as model:
        y = pm.Data("y_data", np.zeros(3), dims="subject")
        z = nrm.Partition("z", MEASURES["DP"], dims="subject", max_clusters=4)
        mean = pm.Normal("mean", 0, 1, shape=4)
        effect = pm.Normal("effect", 500, 1, dims="subject")
        pm.Normal("y", mean[z] + effect, 0.1, observed=y, dims="subject")
    variables = {
        "z": (("chain", "draw", "subject"), SLOTS[None]),
        "mean": (("chain", "draw", "slot"), SLOPE[None]),
        "effect": (("chain", "draw", "subject"), np.zeros((1, 4, 3))),
    }
    pm.set_data({"y_data": np.zeros(2)}, coords={"subject": [7, 8]}, model=model)
    with pytest.raises(
        ValueError, match=r"known must be \[\], since .* depend on 'effect', .* shape \(3,\), .* \(2,\)"
    ):
        nrm.sample_new_labels(xr.Dataset(variables), model)
    result = nrm.sample_new_labels(xr.Dataset(variables), model, known=[], random_seed=1)
    assert set(result["posterior"].data_vars) == {"z", "mean"}
    y = pm.sample_posterior_predictive(result, model=model, predictions=True, progressbar=False)["predictions"]["y"]
    assert y.shape == (1, 4, 2) and (y > 400).all()


def test_errors():
    model = make_model(MEASURES["DP"])
    set_new(model)
    for known, error, message in [
        ("y", TypeError, "known must be a list of names of observed variables, or None for all; got 'y'"),
        (["slope"], ValueError, r"known must be observed variables .* of \['y', 'seen'\]; got 'slope'"),
    ]:
        with pytest.raises(error, match=message):
            nrm.sample_new_labels(make_draws(), model, known=known)
    with pytest.raises(ValueError, match="X_new must be None, since 'y' depends on the labels of 'z'"):
        nrm.cluster_probabilities(make_draws(), model, X)
    with pm.Model() as mixture:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9])
    with pytest.raises(ValueError, match="var_name must be that of a Partition with max_clusters; 'z' has none"):
        nrm.sample_new_labels(make_draws(), mixture)
    with pytest.raises(ValueError, match="X_new must be given for the partition 'z'"):
        nrm.cluster_probabilities(make_draws(), mixture)
    with model:
        nrm.Mixture("more", model["z"], nrm.PoissonGamma(1.0, 0.5), observed=[1, 0])
    with pytest.raises(ValueError, match="since Mixture 'more' depends on the partition 'z'"):
        nrm.sample_new_labels(make_draws(), model)
