"""``pm.sample`` against numerical integration: what NUTS and the steps of partitions do together."""

import itertools

import numpy as np
import pymc as pm
import pytest
from scipy import integrate, stats

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.testing import all_partitions, exact_posterior
from tests.helpers import assert_law, assert_means, label_counts

pytestmark = pytest.mark.usefixtures("compiled")
QUIET = {"progressbar": False, "quiet": True, "compute_convergence_checks": False, "cores": 1}

galaxies = np.array([9.17, 9.35, 10.23, 16.08, 19.05])
galaxy_family = nrm.NormalGamma(mu=14.0, kappa=0.3, alpha=2.0, beta=1.5)
counts = np.array([[1, 4], [3, 2], [5, 4], [2, 0]])
count_family = nrm.PoissonGamma(1.0, 0.4)


def marginal_likelihoods(family, X):
    """Partitions, and the likelihood of each up to a common factor."""
    partitions, probabilities = exact_posterior(nrm.DirichletProcess(1.0), family, X)
    return partitions, probabilities / eppf(nrm.DirichletProcess(1.0), partitions)


def eppf(measure, partitions):
    values = {}
    for labels in partitions:
        sizes = tuple(np.sort(label_counts(labels)))
        if sizes not in values:
            values[sizes] = np.exp(log_eppf(measure, np.array(sizes)))
    return np.array([values[tuple(np.sort(label_counts(labels)))] for labels in partitions])


def quantiles(law, m):
    return law.ppf((np.arange(m) + 0.5) / m)


# Measures with two hyperparameters, as functions of one above 0 and one below 1.
TWO_PARAMETERS = {
    "NGG": nrm.NormalizedGeneralizedGamma,
    "PY": lambda excess, discount: nrm.PitmanYorProcess(discount, excess - discount),
    "MFM": lambda rate, gamma: nrm.MixtureOfFiniteMixtures(gamma, rate),
}


# Functions of both hyperparameters and the number of clusters.
FUNCTIONALS = {
    "alpha": lambda alpha, sigma, k: alpha,
    "alpha below 1": lambda alpha, sigma, k: alpha < 1,
    "sigma": lambda alpha, sigma, k: sigma,
    "sigma squared": lambda alpha, sigma, k: sigma**2,
    "n_clusters": lambda alpha, sigma, k: k,
    "alpha and n_clusters": lambda alpha, sigma, k: alpha * k,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "known", "n_draws"),
    [*((measure, None, 600) for measure in TWO_PARAMETERS), ("PY", [3, -1, 3, 8, -1], 6000)],
)
def test_hyperparameters_of_a_measure_by_nuts_have_their_marginal_posterior(measure, known, n_draws):
    measure = TWO_PARAMETERS[measure]
    partitions, likelihood = marginal_likelihoods(galaxy_family, galaxies)
    if known is not None:
        kept = (partitions[:, 0] == partitions[:, 2]) & (partitions[:, 0] != partitions[:, 3])
        partitions, likelihood = partitions[kept], likelihood[kept]
    n_clusters = partitions.max(axis=1) + 1
    grid = list(itertools.product(quantiles(stats.gamma(2), 60), quantiles(stats.beta(1.5, 3), 30)))
    alpha, sigma = np.array(grid).T
    joint = np.array([eppf(measure(a, s), partitions) * likelihood for a, s in grid])
    joint /= joint.sum()
    at = alpha[:, None], sigma[:, None], n_clusters
    expected = {name: (joint * function(*at)).sum() for name, function in FUNCTIONALS.items()}
    # The data must tell something about the hyperparameters, or the test would not see a wrong coupling.
    assert expected["alpha and n_clusters"] > 1.02 * expected["alpha"] * expected["n_clusters"]
    with pm.Model():
        a, s = pm.Gamma("alpha", 2, 1), pm.Beta("sigma", 1.5, 3)
        z = nrm.Partition("z", measure(a, s), n=5, known=known)
        nrm.Mixture("x", z, galaxy_family, observed=galaxies)
        draws = pm.sample(n_draws, tune=400, chains=4, random_seed=11, **QUIET).posterior
    found = [draws[name].values for name in ("alpha", "sigma", "z_n_clusters")]
    values = {name: function(*found) for name, function in FUNCTIONALS.items()}
    assert_means(values, expected)
    assert_law(draws["z"].values, partitions, joint.sum(axis=0), least=0.01)


@pytest.mark.slow
def test_latent_mixture_has_its_exact_posterior():
    """Clustered random effects: all is Gaussian given the precision of each cluster, which leaves one integral."""
    y, noise = np.array([-1.0, 0.4, 2.2]), 0.7
    family = nrm.NormalGamma(mu=0.5, kappa=0.5, alpha=3.0, beta=2.0)
    precision = stats.gamma(family.alpha, scale=1 / family.beta)

    def moments(items):
        """Evidence of a cluster, and the integral of each effect against it."""
        size = len(items)
        residual = y[list(items)] - family.mu

        def integrand(value):
            covariance = (np.eye(size) + 1 / family.kappa) / value
            total = covariance + noise**2 * np.eye(size)
            density = precision.pdf(value) * stats.multivariate_normal.pdf(residual, np.zeros(size), total)
            return density * np.append(1.0, family.mu + covariance @ np.linalg.solve(total, residual))

        return integrate.quad_vec(integrand, 0, 30, epsrel=1e-9)[0]

    measure = nrm.DirichletProcess(1.0)
    partitions = all_partitions(3)
    law, effects = np.zeros(5), np.zeros((5, 3))
    for row, labels in enumerate(partitions):
        clusters = [np.flatnonzero(labels == c) for c in range(labels.max() + 1)]
        parts = [moments(tuple(items)) for items in clusters]
        law[row] = np.exp(log_eppf(measure, label_counts(labels))) * np.prod([part[0] for part in parts])
        for items, part in zip(clusters, parts, strict=True):
            effects[row, items] = part[1:] / part[0]
    law /= law.sum()

    with pm.Model():
        z = nrm.Partition("z", measure, n=3)
        effect = nrm.Mixture("effect", z, family, shape=(3,))
        pm.Normal("y", effect, noise, observed=y)
        draws = pm.sample(1500, tune=500, chains=4, random_seed=3, **QUIET).posterior
    assert_law(draws["z"].values, partitions, law)
    assert_means({i: draws["effect"].values[..., i] for i in range(3)}, {i: law @ effects[:, i] for i in range(3)})


@pytest.mark.slow
def test_two_partitions_that_share_a_hyperparameter():
    first, likelihood_1 = marginal_likelihoods(galaxy_family, galaxies)
    second, likelihood_2 = marginal_likelihoods(count_family, counts)
    grid = quantiles(stats.gamma(2), 400)
    evidence_1, evidence_2 = (
        np.array([eppf(nrm.DirichletProcess(a), partitions) @ likelihood for a in grid])
        for partitions, likelihood in ((first, likelihood_1), (second, likelihood_2))
    )
    weights = evidence_1 * evidence_2 / (evidence_1 @ evidence_2)
    law_1, law_2 = (
        sum(
            w * eppf(nrm.DirichletProcess(a), partitions) * likelihood / e
            for w, a, e in zip(weights, grid, evidence, strict=True)
        )
        for partitions, likelihood, evidence in ((first, likelihood_1, evidence_1), (second, likelihood_2, evidence_2))
    )
    with pm.Model():
        alpha = pm.Gamma("alpha", 2, 1)
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), n=5)
        w = nrm.Partition("w", nrm.DirichletProcess(alpha), n=4)
        nrm.Mixture("x", z, galaxy_family, observed=galaxies)
        nrm.Mixture("y", w, count_family, observed=counts)
        draws = pm.sample(1000, tune=400, chains=4, random_seed=5, **QUIET).posterior
    assert_means({"alpha": draws["alpha"].values}, {"alpha": weights @ grid})
    for name, partitions, law in (("z", first, law_1), ("w", second, law_2)):
        assert_law(draws[name].values, partitions, law, least=0.01)
