"""NUTS on concentrations of hierarchical Dirichlet processes, and predictions, against sums over seats at tables."""

import itertools

import numpy as np
import pymc as pm
import pytest
from helpers import assert_law, assert_means
from scipy import stats
from scipy.special import gammaln, logsumexp

import pymc_nrm as nrm
from pymc_nrm.partitions.labels import all_partitions, canonical_labels

pytestmark = pytest.mark.slow

Y = np.array([0, 1, 7, 9])


def log_marginal(y):
    """Poisson counts whose rate has the law Gamma(1, 0.2)."""
    return gammaln(1 + y.sum()) + np.log(0.2) - (1 + y.sum()) * np.log(0.2 + len(y)) - gammaln(y + 1).sum()


def log_marginals(labels, y):
    return sum(log_marginal(y[labels == cluster]) for cluster in range(labels.max() + 1))


def log_crp(labels, concentration):
    counts = np.bincount(labels)
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
    # Pairs of midpoints of quantiles, each with the same probability.
    levels = stats.gamma(2, scale=0.5).ppf((np.arange(120) + 0.5) / 120)
    gamma, gamma_0 = (values.ravel() for values in np.meshgrid(levels, levels))
    partitions, log_prior = law_of_components(len(Y), groups, gamma, gamma_0)
    log_p = log_prior + np.array([log_marginals(labels, Y) for labels in partitions])[:, None]
    with pm.Model() as model:
        weights = nrm.HierarchicalDirichletProcess(pm.Gamma("gamma", 2, 2), pm.Gamma("gamma_0", 2, 2))
        if groups is None:
            h = nrm.NestedPartition("h", nrm.DirichletProcess(1.0), n=len(Y), depth=1, weights=weights)
        else:
            h = nrm.NestedPartition("h", weights=weights, paths=groups)
        nrm.Mixture("y", h, nrm.PoissonGamma(1.0, 0.2), observed=Y)
        options = {"tune": 500, "chains": 4, "cores": 2, "progressbar": False, "quiet": True}
        idata = nrm.sample(8000, random_seed=3, target_accept=0.9, **options)
    posterior, p = idata["posterior"], np.exp(log_p - logsumexp(log_p))
    assert_law(posterior["h_components"].values, partitions, p.sum(axis=1))
    values = {name: posterior[name].values for name in ("gamma", "gamma_0")}
    expected = {"gamma": p.sum(axis=0) @ gamma, "gamma_0": p.sum(axis=0) @ gamma_0}
    whole = log_evidence(Y, groups, gamma, gamma_0)
    # The posterior mean of 1 / p(y_i | everything else) is p(y_-i) / p(y).
    left_out = nrm.compute_log_likelihood(idata, model)["log_likelihood"]["y"].values
    for item in range(len(Y)):
        rest = None if groups is None else canonical_labels(np.delete(groups, item))
        expected[item] = np.exp(log_evidence(np.delete(Y, item), rest, gamma, gamma_0) - whole)
        values[item] = np.exp(-left_out[..., item])
    for y, group in itertools.product((0, 8), (None,) if groups is None else (0, 1, 2)):
        longer = None if groups is None else np.append(groups, group)
        expected[y, group] = np.exp(log_evidence(np.append(Y, y), longer, gamma, gamma_0) - whole)
        new_paths = None if group is None else [group]
        found = nrm.predictive_density(idata, model, np.array([y]), new_paths=new_paths)["density"].values
        values[y, group] = found.reshape(values["gamma"].shape)
    assert_means(values, expected)
