"""SlotGibbs with SlotNUTS in PyMC, against enumerated partitions with a hyperparameter on a grid."""

import functools
import itertools
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pymc.distributions import transforms
from scipy import stats
from scipy.special import logsumexp

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.testing import all_partitions, exact_posterior
from tests.cases import MEASURES
from tests.helpers import assert_law, assert_means, canonical_labels, label_counts

pytestmark = pytest.mark.usefixtures("compiled")

Y = np.array([-1.3, 0.3, 1.1, 1.9])
COUNTS = np.array([0, 2, 1, 5])
SD = 0.8
TAU = stats.lognorm(0.4, scale=np.exp(0.3))
QUIET = {"chains": 4, "cores": 1, "progressbar": False, "quiet": True, "compute_convergence_checks": False}


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


def run(model, draws, seed, nuts=nrm.steps.SlotNUTS, chains=2, **options):
    """Slots, tau and parameters of slots in all draws; NUTS comes last in a draw."""
    with model:
        gibbs, nuts = nrm.steps.SlotGibbs([model["z"]], **options), nuts(target_accept=0.9)
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
                tau.append(np.exp(point["tau_log__"]))
                means.append(point["mean"])
    return [np.array(values).reshape(chains, draws, *np.shape(values[0])) for values in (slots, tau, means)]


def check(measure, K, draws, counts=False, nuts=nrm.steps.SlotNUTS, **options):
    model = make_model(measure, K, counts)
    slots, tau, means = run(model, draws, zlib.crc32(f"{measure} {K} {counts}".encode()), nuts, **options)
    partitions, p, mean_tau = law(measure, K, counts)
    labels = np.array([canonical_labels(row) for row in slots.reshape(-1, len(Y))]).reshape(slots.shape)
    assert_law(labels, partitions, p)
    # Every slot is equally likely for the first item; every 100th draw is about independent.
    assert stats.chisquare(np.bincount(slots[:, ::100, 0].ravel(), minlength=K)).pvalue > 1e-5
    # Parameters of empty slots have their prior at every draw.
    empty = (slots[..., None] != np.arange(K)).all(axis=-2)
    squares = np.where(empty, (means / tau[..., None]) ** 2, 0.0).sum(axis=-1) / empty.sum(axis=-1).clip(1)
    assert_means({"tau": tau, "empty": squares - empty.any(axis=-1)}, {"tau": mean_tau, "empty": 0.0})


LONG = [
    ("DP", 6, {}),
    ("DP", 3, {"n_sweeps": 1, "mean_empty": 0.5}),
    ("NGG", 6, {"n_sweeps": 1}),
    ("NIG", 3, {}),
    ("PY below 0", 20, {"mean_empty": 2.0}),
    ("MFM", 4, {}),
    ("NGG", 3, {"counts": True, "n_sweeps": 1}),
    ("NGG", 8, {"counts": True, "n_sweeps": 1}),
    ("PY", 2, {"mean_empty": 20.0}),
    ("DP", 4, {"nuts": pm.NUTS}),
]


@pytest.mark.parametrize(
    ("measure", "K", "options", "draws"),
    [("DP", 6, {"n_sweeps": 2}, 1500), *[pytest.param(*row, 10_000, marks=pytest.mark.slow) for row in LONG]],
)
def test_steps_have_the_posterior_law(measure, K, options, draws):
    check(measure, K, draws, **options)


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
    idata = nrm.sample(4000, tune=1000, model=model, random_seed=1, **QUIET)
    labels = np.apply_along_axis(canonical_labels, -1, idata.posterior["z"].values.astype(int))
    assert_law(labels, *exact_posterior(measure, line, np.array(y)))


class TwoSlots(NamedTuple):
    """A model of four items in two slots whose parameters lie on a grid, and its law."""

    measure: Any
    y: Any
    grid: Any
    log_prior: Any
    # Log densities of items, shape (n, 1), on the grid.
    log_density: Callable
    # A term that both parameters share.
    log_tie: Callable
    # Adds parameters named ``value`` and data to a model, given labels and data.
    build: Callable


LINE, WIDTHS = np.linspace(-9.0, 9.0, 601), np.linspace(0.0, 16.0, 1602)[1:]


def tied_by_a_potential(z, y):
    """A hinge that is flat where sampling starts: neither slot has its prior, even if it is empty."""
    mu = pm.Normal("value", 0, 2, shape=2, initval=[-1.0, 1.0])
    pm.Potential("order", -3 * pt.maximum(mu[0] - mu[1], 0.0))
    pm.Normal("y", mu[z], 0.8, observed=y)


def in_order(z, y):
    """The transform ties both slots."""
    mu = pm.Normal("value", 0, 2, shape=2, transform=transforms.ordered, initval=[-1.0, 1.0])
    pm.Normal("y", mu[z], 0.8, observed=y)


def of_bounded_support(z, y):
    """Widths below an item of their slot have probability zero."""
    width = pm.Gamma("value", 2, 1 / 1.5, shape=2, initval=[4.0, 4.0])
    pm.Uniform("y", 0.0, width[z], observed=y)


def made_positive(z, y):
    """The transform leaves out half of the prior."""
    mu = pm.Normal("value", 0, 2, shape=2, transform=transforms.log, initval=[1.0, 2.0])
    pm.Normal("y", mu[z], 0.8, observed=y)


NORMAL = TwoSlots(
    nrm.PitmanYorProcess(0.3, 0.8),
    np.array([-1.0, 0.3, 0.5, 2.0]),
    LINE,
    stats.norm.logpdf(LINE, 0, 2),
    lambda y, values: stats.norm.logpdf(y, values, 0.8),
    lambda a, b: -3 * np.maximum(a - b, 0.0),
    tied_by_a_potential,
)
TWO_SLOTS = {
    "tied by a potential": NORMAL,
    "in order": NORMAL._replace(log_tie=lambda a, b: np.where(a < b, 0.0, -np.inf), build=in_order),
    "made positive": NORMAL._replace(
        grid=WIDTHS, log_prior=stats.norm.logpdf(WIDTHS, 0, 2), log_tie=lambda a, b: 0.0, build=made_positive
    ),
    "of bounded support": TwoSlots(
        nrm.PitmanYorProcess(0.2, 0.7),
        np.array([0.4, 0.9, 2.5, 3.1]),
        WIDTHS,
        stats.gamma.logpdf(WIDTHS, 2, scale=1.5),
        lambda y, values: np.where(values > y, -np.log(values), -np.inf),
        lambda a, b: 0.0,
        of_bounded_support,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TWO_SLOTS)
def test_slots_that_have_no_prior_of_their_own(name):
    case = TWO_SLOTS[name]
    of_items, grids = case.log_density(case.y[:, None], case.grid), (case.grid[:, None], case.grid)
    slots, totals, means = np.array(list(itertools.product(range(2), repeat=4))), [], []
    for row in slots:
        first, second = (case.log_prior + of_items[row == k].sum(axis=0) for k in range(2))
        # Both ways to number two clusters, and both slots of a single one, share the probability of a partition.
        log_p = first[:, None] + second + case.log_tie(*grids)
        log_p = log_p + log_eppf(case.measure, label_counts(canonical_labels(row))) - np.log(2)
        totals.append(logsumexp(log_p))
        means.append([(np.exp(log_p - totals[-1]) * values).sum() for values in grids])
    p = np.exp(totals - logsumexp(totals))
    with pm.Model() as model:
        case.build(nrm.Partition("z", case.measure, n=4, max_clusters=2), case.y)
    posterior = nrm.sample(10_000, tune=500, model=model, target_accept=0.9, random_seed=4, **QUIET)["posterior"]
    assert_law(posterior["z"].values, slots, p)
    drawn = np.moveaxis(posterior["value"].values, -1, 0)
    assert_means(dict(enumerate(drawn)), dict(enumerate(p @ np.array(means))))
