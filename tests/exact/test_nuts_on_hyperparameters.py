"""NUTS on hyperparameters beside the steps of partitions, against enumeration with hyperparameters on a grid."""

import itertools

import numpy as np
import pymc as pm
import pytest
from helpers import assert_law
from scipy import stats
from scipy.special import gammaln, logsumexp
from slot_laws import check_mean, check_slots, law_of_slots

import pymc_nrm as nrm
from pymc_nrm.partitions.labels import all_partitions, canonical_labels

pytestmark = pytest.mark.slow

Y = np.array([0, 1, 7, 9])
OPTIONS = {"tune": 500, "chains": 4, "cores": 2, "progressbar": False, "quiet": True, "target_accept": 0.9}


def log_marginal(y):
    """Poisson counts whose rate has the law Gamma(1, 0.2)."""
    return gammaln(1 + y.sum()) + np.log(0.2) - (1 + y.sum()) * np.log(0.2 + len(y)) - gammaln(y + 1).sum()


def log_marginals(labels, y):
    return sum(log_marginal(y[labels == cluster]) for cluster in range(labels.max() + 1))


def check(idata, name, partitions, log_p, hyperparameters):
    """Compare partitions and the means of hyperparameters; ``log_p`` has one column for each of their values."""
    p = np.exp(log_p - logsumexp(log_p))
    assert_law(idata["posterior"][name].values, partitions, p.sum(axis=1))
    for variable, values in hyperparameters.items():
        check_mean(variable, idata["posterior"][variable].values, (p.sum(axis=0) * values).sum())


def grid(first, second, n=240):
    """Pairs of midpoints of both laws' quantiles, each with the same probability."""
    levels = (np.arange(n) + 0.5) / n
    return [values.ravel() for values in np.meshgrid(first.ppf(levels), second.ppf(levels))]


def sizes(labels):
    return np.bincount(labels)


@pytest.mark.parametrize("known", [None, [3, -1, 3, 8]])
def test_pitman_yor(known):
    discount, excess = grid(stats.beta(1, 2), stats.gamma(2))
    partitions = all_partitions(len(Y))
    if known is not None:
        partitions = partitions[(partitions[:, 0] == partitions[:, 2]) & (partitions[:, 0] != partitions[:, 3])]
    log_p = []
    for labels in partitions:
        k = labels.max() + 1
        total = sum(np.log(excess + (i - 1) * discount) for i in range(1, k))
        t = excess - discount
        total = total - gammaln(t + len(Y)) + gammaln(t + 1)
        total = total + sum(gammaln(m - discount) - gammaln(1 - discount) for m in sizes(labels))
        log_p.append(total + log_marginals(labels, Y))
    with pm.Model():
        d = pm.Beta("discount", 1, 2)
        measure = nrm.PitmanYorProcess(d, pm.Gamma("excess", 2, 1) - d)
        z = nrm.Partition("z", measure, n=len(Y), known=known)
        nrm.Mixture("y", z, nrm.PoissonGamma(1.0, 0.2), observed=Y)
        idata = nrm.sample(6000, random_seed=1, **OPTIONS)
    check(idata, "z", partitions, np.array(log_p), {"discount": discount, "excess": excess})


def log_crp(labels, concentration):
    counts = sizes(labels)
    total = len(counts) * np.log(concentration) + gammaln(counts).sum()
    return total + gammaln(concentration) - gammaln(concentration + len(labels))


def franchise(groups, gamma, gamma_0):
    """Log prior of every partition into components: sums over the tables of every group, and their components."""
    log_p = {}
    blocks = [np.flatnonzero(groups == group) for group in range(groups.max() + 1)]
    for seatings in itertools.product(*[all_partitions(len(block)) for block in blocks]):
        tables, total, first = np.empty(len(groups), dtype=int), 0.0, 0
        for block, seating in zip(blocks, seatings, strict=True):
            tables[block] = first + seating
            first += seating.max() + 1
            total = total + log_crp(seating, gamma)
        for components in all_partitions(first):
            key = tuple(canonical_labels(components[tables]))
            log_p.setdefault(key, []).append(total + log_crp(components, gamma_0))
    return {key: logsumexp(values, axis=0) for key, values in log_p.items()}


def law_of_components(n, groups, gamma, gamma_0):
    """Log prior of all partitions into components; a random tree has the law of the process with concentration 1."""
    partitions = all_partitions(n)
    if groups is not None:
        prior = franchise(groups, gamma, gamma_0)
        return partitions, np.array([prior[tuple(labels)] for labels in partitions])
    terms = []
    for tree in partitions:
        prior = franchise(tree, gamma, gamma_0)
        terms.append(log_crp(tree, 1.0) + np.array([prior[tuple(labels)] for labels in partitions]))
    return partitions, logsumexp(terms, axis=0)


def log_evidence(y, groups, gamma, gamma_0):
    """Log of the mean over the grid of the probability of counts."""
    partitions, log_prior = law_of_components(len(y), groups, gamma, gamma_0)
    log_p = log_prior + np.array([log_marginals(labels, y) for labels in partitions])[:, None]
    return logsumexp(log_p) - np.log(len(gamma))


@pytest.mark.parametrize("groups", [None, np.array([0, 0, 1, 1])], ids=["random tree", "known groups"])
def test_hierarchical_dirichlet_process(groups):
    gamma, gamma_0 = grid(stats.gamma(2, scale=0.5), stats.gamma(2, scale=0.5), n=120)
    partitions, log_prior = law_of_components(len(Y), groups, gamma, gamma_0)
    log_p = log_prior + np.array([log_marginals(labels, Y) for labels in partitions])[:, None]
    with pm.Model() as model:
        weights = nrm.HierarchicalDirichletProcess(pm.Gamma("gamma", 2, 2), pm.Gamma("gamma_0", 2, 2))
        if groups is None:
            h = nrm.NestedPartition("h", nrm.DirichletProcess(1.0), n=len(Y), depth=1, weights=weights)
        else:
            h = nrm.NestedPartition("h", weights=weights, paths=groups)
        nrm.Mixture("y", h, nrm.PoissonGamma(1.0, 0.2), observed=Y)
        idata = nrm.sample(8000, random_seed=3, **OPTIONS)
    check(idata, "h_components", partitions, log_p, {"gamma": gamma, "gamma_0": gamma_0})
    whole = log_evidence(Y, groups, gamma, gamma_0)
    # The posterior mean of 1 / p(y_i | everything else) is p(y_-i) / p(y).
    left_out = nrm.compute_log_likelihood(idata, model)["log_likelihood"]["y"].values
    for item in range(len(Y)):
        rest = None if groups is None else canonical_labels(np.delete(groups, item))
        expected = np.exp(log_evidence(np.delete(Y, item), rest, gamma, gamma_0) - whole)
        check_mean(f"item {item} left out", np.exp(-left_out[..., item]), expected)
    for y in (0, 8):
        for group in (None,) if groups is None else (0, 1, 2):
            longer = None if groups is None else np.append(groups, group)
            expected = np.exp(log_evidence(np.append(Y, y), longer, gamma, gamma_0) - whole)
            new_paths = None if group is None else [group]
            found = nrm.predictive_density(idata, model, np.array([y]), new_paths=new_paths)["density"].values
            check_mean(f"count {y} in group {group}", found.reshape(idata["posterior"]["gamma"].shape), expected)


def test_slots_of_bounded_support():
    """Uniform data on (0, width): widths below an item of their slot have probability zero."""
    y, measure = np.array([0.4, 0.9, 2.5, 3.1]), nrm.PitmanYorProcess(0.2, 0.7)
    widths = np.linspace(0.0, 16.0, 1602)[1:]
    prior = stats.gamma.logpdf(widths, 2, scale=1.5)

    def log_joint(row):
        terms = []
        for k in range(2):
            own = y[row == k]
            terms.append(np.where(widths > own.max(initial=0.0), prior - len(own) * np.log(widths), -np.inf))
        return (widths[:, None], widths), terms[0][:, None] + terms[1]

    with pm.Model():
        z = nrm.Partition("z", measure, n=len(y), max_clusters=2)
        width = pm.Gamma("width", 2, 1 / 1.5, shape=2, initval=[4.0, 4.0])
        pm.Uniform("y", 0.0, width[z], observed=y)
        idata = nrm.sample(10_000, random_seed=4, **OPTIONS)
    posterior = idata["posterior"]
    check_slots(posterior["z"].values, posterior["width"].values, *law_of_slots(len(y), measure, log_joint))


def test_slots_in_order():
    """The transform ties both slots: neither has its prior, even if it is empty."""
    y, measure, sd = np.array([-1.0, 0.3, 0.5, 2.0]), nrm.PitmanYorProcess(0.3, 0.8), 0.8
    values = np.linspace(-9.0, 9.0, 601)
    prior = stats.norm.logpdf(values, 0, 2)
    of_items = stats.norm.logpdf(y[:, None], values, sd)
    in_order = np.where(values[:, None] < values, 0.0, -np.inf)

    def log_joint(row):
        terms = [prior + of_items[row == k].sum(axis=0) for k in range(2)]
        return (values[:, None], values), terms[0][:, None] + terms[1] + in_order

    with pm.Model():
        z = nrm.Partition("z", measure, n=len(y), max_clusters=2)
        ordered = pm.distributions.transforms.ordered
        mu = pm.Normal("mu", 0, 2, shape=2, transform=ordered, initval=[-1.0, 1.0])
        pm.Normal("y", mu[z], sd, observed=y)
        idata = nrm.sample(10_000, random_seed=5, **OPTIONS)
    posterior = idata["posterior"]
    check_slots(posterior["z"].values, posterior["mu"].values, *law_of_slots(len(y), measure, log_joint))
