"""The joint law of partitions and missing entries, against enumeration of the former and quadrature over the latter."""

import functools

import numpy as np
import pymc as pm
import pytest
from helpers import assert_law, label_counts, mixture_of
from laws import log_marginal_of_wishart
from models import assert_functionals, run_steps
from scipy.special import gammaln

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.testing import all_partitions

pytestmark = pytest.mark.slow

COMPLETE = np.array([[0.2, -0.4], [0.9, 0.8], [2.1, 1.7], [2.9, 3.1]])
GAPS = {
    "two items": [(1, 0), (3, 1)],
    "every item": [(0, 1), (1, 0), (2, 0), (3, 1)],
    "an empty row": [(1, 0), (3, 0), (3, 1)],
    "a third at random": [(0, 0), (2, 1), (3, 1)],
}
COUNTS = np.array([0, 1, 6, 7])
MEASURE = nrm.NormalizedGeneralizedGamma(1.3, 0.3)
MU, KAPPA, PSI, NU = np.array([1.0, 1.5]), 0.6, np.array([[1.4, 0.5], [0.5, 1.1]]), 4.5
CHAINS, DRAWS = 4, 6000


def data(gaps):
    X = COMPLETE.copy()
    X[tuple(np.transpose(GAPS[gaps]))] = np.nan
    return X


def log_marginal_of_counts(y):
    """Poisson counts whose rate has the law Gamma(1, 0.3)."""
    return gammaln(1 + y.sum()) + np.log(0.3) - (1 + y.sum()) * np.log(0.3 + len(y)) - gammaln(y + 1).sum()


@functools.cache
def exact(gaps, counts=False):
    """All partitions, their probabilities, and the mean of each statistic of the missing entries given each of them."""
    places = GAPS[gaps]
    t = np.linspace(-7.0, 7.0, {2: 141, 3: 51, 4: 29}[len(places)])
    axis, log_weight = 1.0 + np.sinh(t), np.log(np.cosh(t))
    grid = np.stack([one.ravel() for one in np.meshgrid(*[axis] * len(places))], axis=1)
    log_weights = sum(one.ravel() for one in np.meshgrid(*[log_weight] * len(places)))
    rows = np.repeat(data(gaps)[None], len(grid), axis=0)
    for entry, (i, j) in zip(grid.T, places, strict=True):
        rows[:, i, j] = entry
    partitions, log_p, means = all_partitions(4), [], []
    for labels in partitions:
        value = log_weights + log_eppf(MEASURE, label_counts(labels))
        for cluster in range(labels.max() + 1):
            value = value + log_marginal_of_wishart(rows[:, labels == cluster], MU, KAPPA, PSI, NU)
            value = value + (log_marginal_of_counts(COUNTS[labels == cluster]) if counts else 0.0)
        log_p.append(np.logaddexp.reduce(value))
        means.append(np.exp(value - log_p[-1]) @ statistics(grid))
    p = np.exp(log_p - np.logaddexp.reduce(log_p))
    return partitions, p, np.array(means)


def statistics(entries):
    """Bounded functions of entries (..., m): first and second moments, and products of neighbours."""
    x = np.arctan(entries - 1.0)
    return np.concatenate([x, x**2, x[..., 1:] * x[..., :-1]], axis=-1)


def make_model(gaps, counts=False, **partition):
    with mixture_of(nrm.NormalWishart(MU, KAPPA, PSI, NU), data(gaps), MEASURE, **partition) as model:
        if counts:
            nrm.Mixture("y", model["z"], nrm.PoissonGamma(1.0, 0.3), observed=COUNTS)
    return model


def check(labels, entries, partitions, p, means):
    """Compare chains with probabilities of partitions, and with means of statistics alone and with co-clustering."""
    assert_law(labels, partitions, p)
    together = [labels[..., i] == labels[..., 3] for i in range(3)]
    drawn = [statistics(entries), *(statistics(entries) * one[..., None] for one in together)]
    of_partitions = [np.ones(len(partitions)), *(partitions[:, i] == partitions[:, 3] for i in range(3))]
    expected = np.concatenate([(p * weight) @ means for weight in of_partitions])
    assert_functionals(np.concatenate(drawn, axis=-1), expected)


def chains(steps, model, starts):
    """Labels and missing entries of all draws, shape (chains, draws, ...)."""
    points = [model.initial_point() | {"z": np.array(starts[k % len(starts)])} for k in range(CHAINS)]

    def read(point):
        return point["z"], point["x_missing"]

    drawn = [run_steps(steps, point, np.random.default_rng(k), DRAWS, read) for k, point in enumerate(points)]
    return [np.array(one) for one in zip(*drawn, strict=True)]


STEPS = {"tree": [nrm.TreeGuided], "gibbs": [nrm.MarginalGibbs], "split": [nrm.SplitMerge, nrm.TreeGuided], "alone": []}


@pytest.mark.parametrize(
    ("gaps", "others"),
    [
        ("every item", "alone"),
        *((gaps, others) for gaps in ("two items", "an empty row") for others in ("tree", "gibbs")),
        ("a third at random", "split"),
    ],
)
def test_partitions_and_missing_entries_have_their_joint_law(gaps, others):
    model = make_model(gaps)
    with model:
        steps = [cls([model["z"]], rng=1) for cls in STEPS[others]] + [nrm.MissingGibbs(model["x_missing"], rng=1)]
    check(*chains(steps, model, [[0, 0, 0, 0], [0, 1, 2, 3]]), *exact(gaps))


def test_labels_of_complete_items_stay():
    """Given that items 0 and 2 share their cluster, or do not, the step alone has the conditional law."""
    model = make_model("two items")
    with model:
        steps = [nrm.MissingGibbs(model["x_missing"], rng=1)]
    partitions, p, means = exact("two items")
    for start in ([0, 0, 0, 0], [0, 1, 2, 3]):
        kept = (partitions[:, 0] == partitions[:, 2]) == (start[0] == start[2])
        check(*chains(steps, model, [start]), partitions[kept], p[kept] / p[kept].sum(), means[kept])


def test_labels_know_the_other_mixtures():
    model = make_model("two items", counts=True)
    with model:
        steps = [nrm.MarginalGibbs([model["z"]], rng=1), nrm.MissingGibbs(model["x_missing"], rng=1)]
    check(*chains(steps, model, [[0, 0, 0, 0], [0, 1, 2, 3]]), *exact("two items", counts=True))


@pytest.mark.parametrize("option", [{"together": [0, 0, 1, 2]}, {"known": [5, -1, -1, 7]}])
def test_labels_that_the_step_leaves_alone(option):
    """Entries are drawn given labels, which the step of the partition draws."""
    with make_model("two items", **option) as model:
        steps = [nrm.MarginalGibbs([model["z"]], rng=1), nrm.MissingGibbs(model["x_missing"], rng=1)]
    partitions, p, means = exact("two items")
    if "together" in option:
        kept = partitions[:, 0] == partitions[:, 1]
        sizes = [np.bincount(labels[[0, 2, 3]]) for labels in partitions[kept]]
        log_p = np.log(p[kept]) + [log_eppf(MEASURE, one) for one in sizes]
        log_p -= [log_eppf(MEASURE, label_counts(labels)) for labels in partitions[kept]]
    else:
        kept = partitions[:, 0] != partitions[:, 3]
        log_p = np.log(p[kept])
    p = np.exp(log_p - np.logaddexp.reduce(log_p))
    start = partitions[kept][0]
    labels, entries = chains(steps, model, [start])
    check(labels, entries, partitions[kept], p, means[kept])


def test_labels_of_hidden_states():
    """Entries are drawn given labels, which StateSampler draws."""
    prior = nrm.DirichletProcess(1.1), nrm.Transitions(0.7, 1.2)
    with pm.Model() as model:
        z = nrm.HiddenStates("z", *prior, n=4)
        nrm.Mixture("x", z, nrm.NormalWishart(MU, KAPPA, PSI, NU), observed=data("two items"))
        steps = [nrm.StateSampler([z], rng=1), nrm.MissingGibbs(model["x_missing"], rng=1)]
    partitions, p, means = exact("two items")
    variable = nrm.HiddenStates.dist(*prior, n=4)
    log_p = np.log(p) - [log_eppf(MEASURE, label_counts(labels)) for labels in partitions]
    log_p += [float(pm.logp(variable, labels).eval()) for labels in partitions]
    p = np.exp(log_p - np.logaddexp.reduce(log_p))
    check(*chains(steps, model, [[0, 0, 0, 0], [0, 1, 2, 3]]), partitions, p, means)
