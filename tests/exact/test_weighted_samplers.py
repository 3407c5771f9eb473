"""Models with log_weights under several samplers: PyMC's mixtures, pm.sample, nutpie, and items left out exactly."""

import itertools

import arviz as az
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy import stats
from scipy.special import log_softmax, logsumexp

import pymc_nrm as nrm
from pymc_nrm.testing import geweke, largest_z, mean_and_error
from tests.helpers import assert_law, assert_means

pytestmark = pytest.mark.slow

OPTIONS = {"tune": 500, "chains": 4, "cores": 1, "random_seed": 1}
GRID = np.array([-3.0, 0.0, 3.0])


def data(n):
    rng = np.random.default_rng(n)
    return rng.choice([-2.0, 0.5, 3.0], n) + rng.normal(size=n)


def parameters(n_components):
    share = pm.Dirichlet("share", np.full(n_components, 2.0))
    return share, pm.Normal("mean", 0.0, 3.0, shape=n_components), pm.Gamma("sd", 4.0, 4.0, shape=n_components)


def mixture_with_labels(y, n_components):
    with pm.Model() as model:
        share, mean, sd = parameters(n_components)
        z = nrm.Partition("z", log_weights=pt.log(share), n=len(y))
        pm.Normal("y", mean[z], sd[z], observed=y)
    return model


def functionals(posterior):
    """Quantities that do not depend on the order of the components, each of shape (chains, draws)."""
    share, mean, sd = (posterior[name].values for name in ("share", "mean", "sd"))
    found = {"concentration": (share**2).sum(axis=2), "mean": (share * mean).sum(axis=2), "largest": mean.max(axis=2)}
    for x in GRID:
        found[f"density at {x}"] = (share * stats.norm.pdf(x, mean, sd)).sum(axis=2)
    return found


def assert_same_means(first, second):
    """Assert that functionals of two runs have the same means within their Monte Carlo errors."""
    for name, values in first.items():
        (mean, error, _), (other, other_error, _) = mean_and_error(values), mean_and_error(second[name])
        z = abs(mean - other) / np.hypot(error, other_error)
        assert z < largest_z(values.shape, len(first)), (name, mean, other, error, other_error)


@pytest.mark.parametrize("n_components", [3, 8])
def test_the_posterior_is_the_one_of_the_mixture_of_pymc(n_components):
    y = data(60)
    with mixture_with_labels(y, n_components):
        ours = nrm.sample(2000, quiet=True, **OPTIONS)
    with pm.Model():
        share, mean, sd = parameters(n_components)
        pm.NormalMixture("y", share, mean, sd, observed=y)
        theirs = pm.sample(2000, progressbar=False, **OPTIONS)
    assert_same_means(functionals(ours["posterior"]), functionals(theirs["posterior"]))


def of_labels(idata):
    labels = idata["posterior"]["z"].values
    pairs = {f"{i}, {j}": (labels[..., i] == labels[..., j]).astype(float) for i, j in ((0, 1), (2, 3), (4, 9))}
    return functionals(idata["posterior"]) | pairs | {"number": idata["posterior"]["z_n_clusters"].values.astype(float)}


@pytest.mark.parametrize("sampler", ["pymc", "nutpie", "numpyro"])
def test_labels_drawn_afterwards_are_those_of_the_step(sampler):
    if sampler != "pymc":
        pytest.importorskip(sampler)
    model = mixture_with_labels(data(30), 3)
    with model:
        ours = nrm.sample(2000, quiet=True, **OPTIONS)
    with nrm.summed_out(model):
        draws = pm.sample(2000, nuts_sampler=sampler, progressbar=False, **OPTIONS)
    theirs = nrm.draw_labels(draws, model, random_seed=2, progressbar=False)
    assert_same_means(of_labels(ours), of_labels(theirs))


# Two components with unequal weights, and means that labels index, with priors of different means.
Y = np.array([-1.1, 0.2, 0.4, 1.9, -0.3, 2.5, 0.9, -2.0])
WEIGHTS = np.stack([np.zeros(8), 0.6 + np.linspace(-1.0, 1.0, 8)], axis=1)
PRIOR_MEANS, PRIOR_SD, SD = np.array([0.0, 0.8]), 1.5, 0.7
LABELINGS = np.array(list(itertools.product(range(2), repeat=8)))


def small_model():
    with pm.Model() as model:
        z = nrm.Partition("z", log_weights=WEIGHTS)
        pm.Normal("y", pm.Normal("mean", PRIOR_MEANS, PRIOR_SD)[z], SD, observed=Y)
    return model


def log_joint(items):
    """Log joint density of some items and each of their labelings, means integrated out."""
    shares, found = log_softmax(WEIGHTS, axis=1), []
    for labels in np.unique(LABELINGS[:, items], axis=0):
        total = shares[items, labels].sum()
        for k in range(2):
            y = Y[items][labels == k]
            cov = SD**2 * np.eye(len(y)) + PRIOR_SD**2
            total += stats.multivariate_normal.logpdf(y, np.full(len(y), PRIOR_MEANS[k]), cov) if len(y) else 0.0
        found.append(total)
    return np.array(found)


def test_stock_nuts_draws_from_the_posterior():
    with small_model():
        idata = pm.sample(5000, progressbar=False, **OPTIONS)
    joint = log_joint(np.arange(8))
    assert_law(idata["posterior"]["z"].values, LABELINGS, np.exp(joint - logsumexp(joint)))


def test_items_left_out_have_their_exact_densities():
    model = small_model()
    with model:
        idata = nrm.sample(5000, quiet=True, **OPTIONS)
    idata = nrm.compute_log_likelihood(idata, model, progressbar=False)
    whole = logsumexp(log_joint(np.arange(8)))
    exact = np.array([whole - logsumexp(log_joint(np.delete(np.arange(8), i))) for i in range(8)])
    # The harmonic mean of the densities of an item is its density given the others.
    inverse = np.exp(-idata["log_likelihood"]["y"].values)
    values = {str(i): inverse[..., i] for i in range(8)}
    assert_means(values, {str(i): np.exp(-exact[i]) for i in range(8)})
    assert az.loo(idata).elpd == pytest.approx(exact.sum(), abs=0.05)


@pytest.mark.parametrize(("has_means", "has_mixture"), [(True, False), (False, True), (True, True)])
def test_data_and_parameters_drawn_in_turn_have_their_prior(has_means, has_mixture):
    x = np.array([-1.0, 1.0, 0.5, -0.5, 2.0, 0.1])
    with pm.Model() as model:
        slope = pm.Normal("slope", 0.5, 1.0)
        z = nrm.Partition("z", log_weights=pt.stack([pt.zeros(6), 0.6 + slope * x, -slope * x], axis=1), n=6)
        if has_means:
            tau = pm.LogNormal("tau", 0.0, 0.4)
            mean, scale = pm.Normal("mean", 1.0, tau, shape=3), pm.LogNormal("scale", 0.0, 0.4, shape=3)
            pm.StudentT("y", nu=5, mu=mean[z], sigma=scale[z], shape=6)
        if has_mixture:
            nrm.Mixture("counts", z, nrm.PoissonGamma(1.5, 0.5), shape=(6,))
        step = [nrm.steps.WeightedNUTS([rv for rv in model.free_RVs if rv.name in ("slope", "tau", "mean", "scale")])]
        scores = geweke(model, draws=4000, tune=500, chains=2, step=step, random_seed=3)
    assert set(scores) >= {"slope", "z: n_clusters", "z: entropy"}
    assert max(map(abs, scores.values())) < largest_z((2, 4000), len(scores)), scores
