"""SlotGibbs with SlotNUTS in PyMC, against enumerated partitions with a hyperparameter on a grid."""

import functools
import zlib

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from cases import MEASURES
from helpers import assert_law
from scipy import stats
from scipy.special import logsumexp
from slot_laws import check_slots, law_of_slots

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.partitions.labels import all_partitions, canonical_labels, label_counts
from pymc_nrm.testing import exact_posterior, mean_and_error

pytestmark = pytest.mark.usefixtures("compiled")

Y = np.array([-1.3, 0.3, 1.1, 1.9])
COUNTS = np.array([0, 2, 1, 5])
SD = 0.8
TAU = stats.lognorm(0.4, scale=np.exp(0.3))


@functools.cache
def law(measure, K, counts):
    """Partitions, their probabilities, and the posterior mean of tau."""
    tau = np.exp(np.linspace(np.log(0.15), np.log(12.0), 801))
    partitions = all_partitions(len(Y))
    partitions = partitions[partitions.max(axis=1) < K]
    log_p = np.zeros((len(partitions), len(tau)))
    for row, labels in enumerate(partitions):
        log_p[row] = log_eppf(MEASURES[measure], label_counts(labels)) + TAU.logpdf(tau) + np.log(tau)
        for cluster in range(labels.max() + 1):
            y = Y[labels == cluster]
            m, rest = len(y), ((y - y.mean()) ** 2).sum()
            # The mean of the items of a cluster is normal with variance SD^2 / m + tau^2.
            log_p[row] += stats.norm.logpdf(y.mean(), 0, np.sqrt(SD**2 / m + tau**2)) - rest / (2 * SD**2)
            log_p[row] += -0.5 * np.log(m) - (m - 1) * np.log(SD * np.sqrt(2 * np.pi))
            if counts:
                # Poisson counts with a gamma prior (2, 1) on the rate.
                total = COUNTS[labels == cluster].sum()
                log_p[row] += stats.nbinom.logpmf(total, 2, 1 / (1 + m)) - total * np.log(m)
                log_p[row] += np.log(np.arange(1, total + 1)).sum()
    p = np.exp(log_p - logsumexp(log_p))
    return partitions, p.sum(axis=1), (p.sum(axis=0) * tau).sum()


def make_model(measure, K, counts=False):
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURES[measure], n=len(Y), max_clusters=K)
        tau = pm.LogNormal("tau", 0.3, 0.4)
        mean = pm.Normal("mean", 0, tau, shape=K)
        pm.Normal("y", mean[z], SD, observed=Y)
        if counts:
            nrm.Mixture("count", z, nrm.PoissonGamma(2.0, 1.0), observed=COUNTS)
    return model


def run(model, draws, seed, nuts=nrm.SlotNUTS, chains=2, continuous="mean", **options):
    """Slots, tau and parameters of slots in all draws; NUTS comes last in a draw."""
    with model:
        gibbs, nuts = nrm.SlotGibbs([model["z"]], **options), nuts(target_accept=0.9)
    slots, tau, means = [], [], []
    for rng in np.random.default_rng(seed).spawn(chains):
        point = model.initial_point()
        for step, generator in zip((gibbs, nuts), rng.spawn(2), strict=True):
            step.setup_chain(generator, 300, draws)
        nuts.reset_tuning()
        for i in range(300 + draws):
            if i == 300:
                nuts.stop_tuning()
            point, _ = gibbs.step(point)
            point, _ = nuts.step(point)
            if i >= 300:
                slots.append(point["z"])
                tau.append(np.exp(point.get("tau_log__", 0.0)))
                means.append(point[continuous])
    return [np.array(values).reshape(chains, draws, *np.shape(values[0])) for values in (slots, tau, means)]


def check(measure, K, draws, counts=False, nuts=nrm.SlotNUTS, **options):
    model = make_model(measure, K, counts)
    slots, tau, means = run(model, draws, zlib.crc32(f"{measure} {K} {counts}".encode()), nuts, **options)
    partitions, p, mean_tau = law(measure, K, counts)
    labels = np.array([canonical_labels(row) for row in slots.reshape(-1, len(Y))]).reshape(slots.shape)
    assert_law(labels, partitions, p)
    mean, error, _ = mean_and_error(tau)
    assert abs(mean - mean_tau) < 4.5 * error
    # Parameters of empty slots have their prior at every draw.
    empty = (slots[..., None] != np.arange(K)).all(axis=-2)
    squares = np.where(empty, (means / tau[..., None]) ** 2, 0.0).sum(axis=-1) / empty.sum(axis=-1).clip(1)
    mean, error, _ = mean_and_error(squares - (empty.any(axis=-1)))
    assert abs(mean) < 4.5 * error


LONG = [
    ("DP", 6, {}),
    ("DP", 3, {"n_sweeps": 1, "mean_empty": 0.5}),
    ("NGG", 6, {"n_sweeps": 1}),
    ("NGG", 3, {}),
    ("PY below 0", 20, {"mean_empty": 2.0}),
    ("MFM", 4, {}),
    ("NGG", 3, {"counts": True, "n_sweeps": 1}),
    ("NGG", 8, {"counts": True, "n_sweeps": 1}),
    ("DP", 4, {"nuts": pm.NUTS}),
]


@pytest.mark.parametrize(
    ("measure", "K", "options", "draws"),
    [("DP", 6, {"n_sweeps": 2}, 1500), *[pytest.param(*row, 10_000, marks=pytest.mark.slow) for row in LONG]],
)
def test_steps_have_the_posterior_law(measure, K, options, draws):
    check(measure, K, draws, **options)


@pytest.mark.slow
def test_slots_tied_by_a_potential():
    """A hinge that is flat where sampling starts: neither slot has its prior, even if it is empty."""
    y, measure, sd = np.array([-1.0, 0.3, 0.5, 2.0]), nrm.PitmanYorProcess(0.3, 0.8), 0.8
    with pm.Model() as model:
        z = nrm.Partition("z", measure, n=4, max_clusters=2)
        mu = pm.Normal("mu", 0, 2, shape=2, initval=[-1.0, 1.0])
        pm.Potential("order", -3 * pt.maximum(mu[0] - mu[1], 0.0))
        pm.Normal("y", mu[z], sd, observed=y)
    grid = np.linspace(-9.0, 9.0, 601)
    prior = stats.norm.logpdf(grid, 0, 2)
    log_p = prior[:, None] + prior - 3 * np.maximum(grid[:, None] - grid, 0.0)
    of_items = stats.norm.logpdf(y[:, None], grid, sd)

    def log_joint(row):
        return (grid[:, None], grid), log_p + of_items[row == 0].sum(0)[:, None] + of_items[row == 1].sum(0)

    drawn, _, mu_drawn = run(model, 2000, 5, chains=4, continuous="mu")
    check_slots(drawn, mu_drawn, *law_of_slots(len(y), measure, log_joint))


@pytest.mark.slow
def test_slots_have_the_law_of_integrated_coefficients():
    """Regressions whose coefficients are parameters of slots are those whose coefficients are integrated out."""
    measure, x, y = nrm.PitmanYorProcess(0.3, 1.0), np.array([0.0, 0.5, 1.0, 2.0, 2.5]), [0.2, 0.9, -1.4, 2.3, -2.4]
    line = nrm.NormalRegression(np.column_stack([np.ones(5), x]), [0.3, 0.0], np.diag([0.5, 0.8]), 2.5, 1.2)
    with pm.Model() as model:
        z = nrm.Partition("z", measure, n=5, max_clusters=5)
        variance = pm.InverseGamma("variance", line.alpha, line.beta, shape=5)
        intercept = pm.Normal("intercept", 0.0, 1.0 / np.sqrt(0.5), shape=5)
        slope = pm.Normal("slope", 0.0, 1.0 / np.sqrt(0.8), shape=5)
        width = pm.math.sqrt(variance)[z]
        pm.Normal("y", 0.3 + width * (intercept[z] + slope[z] * x), width, observed=y)
    options = {"cores": 1, "random_seed": 1, "progressbar": False, "quiet": True, "compute_convergence_checks": False}
    idata = nrm.sample(4000, tune=1000, chains=4, model=model, **options)
    labels = np.apply_along_axis(canonical_labels, -1, idata.posterior["z"].values.astype(int))
    assert_law(labels, *exact_posterior(measure, line, np.array(y)))
