"""Labels that index parameters: leave-one-out densities and labels of new items, against enumeration."""

from itertools import product

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import stats
from scipy.special import gammaln, logsumexp

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from tests.helpers import mixture_of, refused, result_of
from tests.predictions.prediction_cases import MEASURES

X = np.array([-1.0, 0.4, 1.8])


def log_prior(measure, slots, max_clusters):
    """Log of EPPF(sizes) (K - k)! / K!."""
    counts = np.bincount(slots)
    k = (counts > 0).sum()
    return log_eppf(measure, counts[counts > 0]) + gammaln(max_clusters - k + 1) - gammaln(max_clusters + 1)


def draws(**arrays):
    return result_of(**{name: np.asarray(values)[None] for name, values in arrays.items()})


@pytest.mark.quick("5-NGG")
@pytest.mark.parametrize(("max_clusters", "measure"), [(5, "NGG"), (2, "NGG"), (2, "DP"), (4, "DP")])
def test_items_are_left_out_with_all_their_data(max_clusters, measure, rng):
    """Repeated rows, two likelihoods, missing values, a latent hierarchy, and a mixture over the same partition."""
    item = np.array([0, 0, 1, 2, 2, 2, 3])
    y, counts, missing = rng.normal(size=7), np.array([3, 0, 9, 2]), np.ma.masked_invalid([0.1, np.nan, -2.0, 0.4])
    family, measure = nrm.PoissonGamma(1.0, 0.5), MEASURES[measure]
    with pm.Model() as model:
        z = nrm.Partition("z", measure, n=4, max_clusters=max_clusters)
        tau = pm.HalfNormal("tau")
        slope = pm.Normal("slope", 0, tau, shape=max_clusters)
        scale = pm.LogNormal("scale", 0, 1, shape=max_clusters)
        pm.StudentT("y", nu=4, mu=slope[z][item], sigma=scale[z][item], observed=y)
        with pytest.warns(pm.exceptions.ImputationWarning):
            pm.Normal("t", slope[z], 0.7, observed=missing)
        nrm.Mixture("counts", z, family, observed=counts)
    n_draws = 40
    found = {
        "z": np.vstack([[0, 0, 0, 0], np.arange(4) % max_clusters, rng.integers(max_clusters, size=(n_draws - 2, 4))]),
        "tau": rng.gamma(2.0, size=n_draws),
        "slope": rng.normal(size=(n_draws, max_clusters)),
        "scale": rng.gamma(2.0, size=(n_draws, max_clusters)),
        "t_unobserved": rng.normal(size=(n_draws, 1)),
    }
    values = nrm.compute_log_likelihood(draws(**found), model)["log_likelihood"]["z"].values[0]
    for s in range(n_draws):
        for i in range(4):
            log_joint, log_rest = [], []
            for slot in range(max_clusters):
                slots = found["z"][s].copy()
                slots[i] = slot
                prior = log_prior(measure, slots, max_clusters)
                mine, mean, spread = item == i, found["slope"][s, slot], found["scale"][s, slot]
                own = stats.t.logpdf(y[mine], 4, mean, spread).sum()
                own += 0.0 if i == 1 else stats.norm.logpdf(missing[i], mean, 0.7)
                mates = [j for j in range(4) if j != i and slots[j] == slot]
                shape, rate = 1.0 + counts[mates].sum(), 0.5 + len(mates)
                own += stats.nbinom.logpmf(counts[i], shape, rate / (rate + 1))
                log_joint.append(prior + own)
                log_rest.append(prior)
            assert values[s, i] == pytest.approx(logsumexp(log_joint) - logsumexp(log_rest), abs=1e-7)


def density_of_items(build):
    """Leave-one-out densities of a model whose data are built from labels and means of slots."""
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3, max_clusters=2)
        build(z, pm.Normal("mean", 0, 1, shape=2))
    nrm.compute_log_likelihood(draws(z=[[0, 0, 1]], mean=[[0.0, 1.0]], latent=np.zeros((1, 3))), model)


test_errors = refused(
    density_of_items,
    (
        lambda z, mean: pm.Normal("x", pm.Normal("latent", mean[z], 1), 1, observed=X),
        "'latent' is latent and depends on the labels of 'z': 'x'",
    ),
    (
        lambda z, mean: pm.Potential("likelihood", pm.logp(pm.Normal.dist(mean[z], 1), X)),
        "Potential 'likelihood' depends on the labels of 'z'",
    ),
    (lambda z, mean: None, "no data depend on partition 'z'"),
    (
        lambda z, mean: nrm.Mixture("x", z, nrm.NormalGamma(mean[z].sum(), 1.0, 1.0, 1.0), observed=X),
        "log-probability of 'x' is one number for all items",
    ),
)


# New items

SLOTS = np.array([[2, 2, 0], [1, 3, 2], [0, 0, 0], [3, 1, 3]])
SLOPE = np.array([[-5.0, 9.0, 1.0, -9.0], [0.1, 1.0, -0.5, 2.0], [3.0, 0.0, 1.0, -1.0], [0.0, 0.3, 0.2, -2.0]])
SCALE = np.array([0.5, 1.5, 2.0, 0.3])
NEW_X, NEW_Y, SUBJECT = np.array([1.0, 3.0, 2.0, 0.5]), np.array([-1.0, 2.0, 4.0, 0.2]), np.array([0, 0, 1, 1])


def regressions(measure, max_clusters=4):
    """Regressions of three subjects with several rows each, whose slopes belong to clusters."""
    with pm.Model(coords={"subject": ["a", "b", "c"]}) as model:
        x = pm.Data("x", [1.0, 2.0, 1.0])
        y = pm.Data("y_data", [1.1, 1.9, -5.0])
        seen = pm.Data("seen_data", [0.0, 0.0, 0.0], dims="subject")
        subject = pm.Data("row_subject", [0, 1, 2])
        z = nrm.Partition("z", measure, dims="subject", max_clusters=max_clusters)
        slope = pm.Normal("slope", 0, 5, shape=max_clusters)
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
    pm.set_data({"x": NEW_X, "y_data": NEW_Y, "row_subject": SUBJECT, "seen_data": [1.0, -1.0]}, model=model)


def probabilities(measure, draw, subject, names):
    """Law of the slot of a new subject, shape (4,), by the joint probability of old and new labels."""
    rows, slots = subject == SUBJECT, SLOTS[draw]
    log_p = np.array([log_prior(measure, np.append(slots, slot), 4) for slot in range(4)])
    for slot, slope in enumerate(SLOPE[draw]):
        if "y" in names:
            log_p[slot] += stats.norm.logpdf(NEW_Y[rows], slope * NEW_X[rows], SCALE[draw]).sum()
        if "seen" in names:
            log_p[slot] += stats.norm.logpdf([1.0, -1.0][subject], slope, 2.0)
    return np.exp(log_p - logsumexp(log_p))


@pytest.mark.parametrize("measure", MEASURES)
def test_probabilities_of_clusters(measure):
    model = regressions(MEASURES[measure])
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


@pytest.mark.slow
@pytest.mark.parametrize("known", [None, ["seen"]])
def test_draws_given_data(known):
    measure, n = MEASURES["NGG"], 800
    model = regressions(measure)
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
    model = regressions(measure)
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
    """Where every slot has one old item, new ones join each with the same probability."""
    n, model = 1000, regressions(MEASURES["DP"], max_clusters=3)
    set_new(model)
    full = draws(z=np.tile([0, 1, 2], (n, 1)), slope=np.zeros((n, 3)), scale=np.ones(n))
    for known in (None, []):
        labels = nrm.sample_new_labels(full, model, known=known, random_seed=1)["posterior"]["z"].values
        np.testing.assert_allclose(np.bincount(labels.ravel()) / labels.size, 1 / 3, atol=4.5 / np.sqrt(8 * n))


def test_pymc_predicts_rows_of_new_subjects():
    """Labels from some rows, then other rows of the same subjects; parameters stay those of the draws."""
    model, n = regressions(MEASURES["DP"]), 5
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
    with pytest.raises(ValueError, match=r"known must be \[\], .*'effect', .*\(3,\), .* \(2,\)"):
        nrm.sample_new_labels(xr.Dataset(variables), model)
    result = nrm.sample_new_labels(xr.Dataset(variables), model, known=[], random_seed=1)
    assert set(result["posterior"].data_vars) == {"z", "mean"}
    y = pm.sample_posterior_predictive(result, model=model, predictions=True, progressbar=False)["predictions"]["y"]
    assert y.shape == (1, 4, 2) and (y > 400).all()


def test_what_new_items_are_refused():
    model, new, idata = regressions(MEASURES["DP"]), nrm.sample_new_labels, make_draws()
    set_new(model)
    mixture = mixture_of(nrm.PoissonGamma(1.0, 0.5), [1, 0, 9])
    of_slots = r"known must be observed variables .* of \['y', 'seen'\]; got 'slope'"
    for function, error, message in [
        (lambda: new(idata, model, known="y"), TypeError, "known must be a list of names of .*, or None for all; got"),
        (lambda: new(idata, model, known=["slope"]), ValueError, of_slots),
        (
            lambda: nrm.cluster_probabilities(idata, model, NEW_X),
            ValueError,
            "X_new must be None, since 'y' depends on",
        ),
        (
            lambda: new(idata, mixture),
            ValueError,
            "new_items must be given, the number of new items, since 'z' has no slots",
        ),
        (lambda: nrm.cluster_probabilities(idata, mixture), ValueError, "X_new must be given for the partition 'z'"),
    ]:
        with pytest.raises(error, match=message):
            function()
    with model:
        nrm.Mixture("more", model["z"], nrm.PoissonGamma(1.0, 0.5), observed=[1, 0])
    with pytest.raises(ValueError, match="since Mixture 'more' depends on the partition 'z'"):
        new(idata, model)
