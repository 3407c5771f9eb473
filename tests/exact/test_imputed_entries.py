"""Missing entries of the user's own data that nrm.sample integrates out: labels and entries against enumeration."""

import itertools

import numpy as np
import pymc as pm
import pytest
from scipy import stats
from scipy.special import logsumexp

import pymc_nrm as nrm
from pymc_nrm.testing import all_partitions
from tests.helpers import assert_law, assert_means, in_order
from tests.tools.wings import rows_of_wings

pytestmark = [pytest.mark.usefixtures("compiled"), pytest.mark.filterwarnings("ignore:Data in")]

Y = np.array([-1.3, 1.9, np.nan, 1.1])
GONE, N_SLOTS, SD, PRIOR_SD = 2, 3, 0.7, 1.5
OPTIONS = {"cores": 1, "tune": 300, "random_seed": 1, "quiet": True, "compute_convergence_checks": False}


def slots(n, n_slots):
    return nrm.Partition("z", nrm.PitmanYorProcess(0.3, 1.0), n=n, max_clusters=n_slots)


def weights(n, n_slots):
    # The item without data has other weights than all others.
    log_weights = np.log([[0.5, 0.3, 0.2]] * 2 + [[0.1, 0.1, 0.8]] + [[0.5, 0.3, 0.2]])
    return nrm.Partition("z", log_weights=log_weights, n=n)


PARTITIONS = {"slots": slots, "weights": weights} | rows_of_wings("SLOT_LABELS")


def model_of(partition, y=Y):
    with pm.Model() as model:
        z = PARTITIONS[partition](len(Y), N_SLOTS)
        mean = pm.Normal("mean", 0.0, PRIOR_SD, shape=N_SLOTS)
        pm.Normal("y", mean[z], SD, observed=y)
    return model


def law(partition):
    """Partitions, their probabilities, and posterior means of functions of labels and of the missing entry."""
    with pm.Model() as model:
        z = PARTITIONS[partition](len(Y), N_SLOTS)
    log_prior = model.compile_logp(vars=[z])
    slots = np.array(list(itertools.product(range(N_SLOTS), repeat=len(Y))))
    log_p, means, variances = np.zeros(len(slots)), np.zeros(len(slots)), np.zeros(len(slots))
    for row, labels in enumerate(slots):
        log_p[row] = log_prior({"z": labels})
        for slot in range(N_SLOTS):
            y = Y[(labels == slot) & ~np.isnan(Y)]
            covariance = SD**2 * np.eye(len(y)) + PRIOR_SD**2
            log_p[row] += stats.multivariate_normal.logpdf(y, cov=covariance) if len(y) else 0.0
            if slot == labels[GONE]:
                precision = 1.0 / PRIOR_SD**2 + len(y) / SD**2
                means[row], variances[row] = y.sum() / SD**2 / precision, 1.0 / precision + SD**2
    p = np.exp(log_p - logsumexp(log_p))
    together = slots[:, GONE] == slots[:, 1]
    expected = {
        "entry": p @ means,
        "square": p @ (means**2 + variances),
        "entry where together": p @ (together * means),
    }
    partitions = all_partitions(len(Y))
    partitions = partitions[partitions.max(axis=1) < N_SLOTS]
    ordered = in_order(slots)
    return partitions, np.array([p[(ordered == one).all(axis=1)].sum() for one in partitions]), expected


@pytest.mark.parametrize(
    ("partition", "chains", "draws"),
    [
        ("slots", 2, 500),
        *[pytest.param(partition, 4, 4000, marks=pytest.mark.slow) for partition in PARTITIONS],
    ],
)
def test_labels_and_entries_have_the_posterior_distribution(partition, chains, draws):
    model = model_of(partition)
    idata = nrm.sample(draws, chains=chains, model=model, **OPTIONS)
    assert not {"y_unobserved", "y"} - set(idata["posterior"])
    labels, entry = idata["posterior"]["z"].values.astype(int), idata["posterior"]["y_unobserved"].values[..., 0]
    partitions, probabilities, expected = law(partition)
    assert_law(in_order(labels), partitions, probabilities)
    together = labels[..., GONE] == labels[..., 1]
    drawn = {"entry": entry, "square": entry**2, "entry where together": together * entry}
    assert_means(drawn, expected)
    joined = idata["posterior"]["y"].values
    assert (joined[..., GONE] == entry).all() and (joined[..., :2] == Y[:2]).all()
    # Chains and draws have random numbers of their own.
    mean = idata["posterior"]["mean"].values
    noise = (entry - np.take_along_axis(mean, labels[..., [GONE]], -1)[..., 0]) / SD
    assert len(np.unique(noise.round(8))) == noise.size
    assert stats.kstest(noise.ravel(), "norm").pvalue > 1e-5


@pytest.mark.slow
def test_pm_sample_draws_the_same_posterior():
    """PyMC's NUTS moves the entries; labels are drawn given them."""
    with model_of("slots"):
        idata = pm.sample(1500, chains=4, cores=1, tune=500, random_seed=1, progressbar=False)
    partitions, probabilities, expected = law("slots")
    assert_law(in_order(idata["posterior"]["z"].values), partitions, probabilities)
    entry = idata["posterior"]["y_unobserved"].values[..., 0]
    assert_means({"entry": entry, "square": entry**2}, expected)
