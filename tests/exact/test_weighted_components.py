"""Labels with weights of the user's own: WeightedNUTS and WeightedGibbs against quadrature over all labelings."""

import itertools

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from helpers import assert_law, assert_means
from same_results import assert_same, stop_at
from scipy import stats
from scipy.special import logsumexp

import pymc_nrm as nrm
from pymc_nrm.steps.weighted_nuts import values_for_weighted_nuts

pytestmark = pytest.mark.usefixtures("compiled")

X = np.array([-1.0, -0.3, 0.4, 1.2])
Y = np.array([-1.1, 0.2, 0.4, 1.9])
PRIOR_SD, SD = 1.5, 0.7
FAMILY = nrm.NormalGamma(0.3, 0.5, 2.0, 0.8)
OFFSET = 0.6
LABELINGS = np.array(list(itertools.product(range(2), repeat=4)))
SLOPES = np.linspace(-9.0, 9.0, 721)


def log_shares_of_slopes():
    """Log probabilities of components given slopes on a grid, shape (slopes, items, 2)."""
    logits = np.stack([np.zeros((len(SLOPES), 4)), OFFSET + SLOPES[:, None] * X], axis=2)
    return logits - logsumexp(logits, axis=2, keepdims=True)


def one_cluster(y):
    """Log marginal of values of one component: a multivariate t density."""
    mu, kappa, alpha, beta = FAMILY
    return stats.multivariate_t.logpdf(
        y, np.full(len(y), mu), beta / alpha * (np.eye(len(y)) + 1.0 / kappa), df=2.0 * alpha
    )


def posterior(has_means, has_mixture):
    """Probabilities of labelings, and the posterior mean of the slope and of its square."""
    joint = log_shares_of_slopes()[:, np.arange(4)[:, None], LABELINGS.T].sum(axis=1).T
    joint = joint + stats.norm.logpdf(SLOPES, 0.0, PRIOR_SD)
    for row, labels in zip(joint, LABELINGS, strict=True):
        for component in range(2):
            y = Y[labels == component]
            if has_means:
                cov = SD**2 * np.eye(len(y)) + PRIOR_SD**2
                row += stats.multivariate_normal.logpdf(y, np.zeros(len(y)), cov) if len(y) else 0.0
            if has_mixture and len(y):
                row += one_cluster(y)
    p = np.exp(joint - logsumexp(joint))
    return p.sum(axis=1), (p.sum(axis=0) * SLOPES).sum(), (p.sum(axis=0) * SLOPES**2).sum()


def make_model(has_means, has_mixture):
    with pm.Model() as model:
        slope = pm.Normal("slope", 0.0, PRIOR_SD)
        z = nrm.Partition("z", log_weights=pt.stack([pt.zeros(4), OFFSET + slope * X], axis=1), n=4)
        if has_means:
            mean = pm.Normal("mean", 0.0, PRIOR_SD, shape=2)
            pm.Normal("y", mean[z], SD, observed=Y)
        if has_mixture:
            nrm.Mixture("x", z, FAMILY, observed=Y)
    return model


def run(model, make_steps, draws, seed, chains=2, tune=400):
    with model:
        steps = make_steps(model)
    labels, slopes = [], []
    for rng in np.random.default_rng(seed).spawn(chains):
        point = model.initial_point()
        for step, generator in zip(steps, rng.spawn(len(steps)), strict=True):
            step.setup_chain(generator, tune, draws)
            if isinstance(step, pm.NUTS):
                step.reset_tuning()
        for i in range(tune + draws):
            for step in steps:
                if i == tune and isinstance(step, pm.NUTS):
                    step.stop_tuning()
                point, _ = step.step(point)
            if i >= tune:
                labels.append(point["z"])
                slopes.append(point["slope"])
    return np.array(labels).reshape(chains, draws, 4), np.array(slopes).reshape(chains, draws)


def summed_out(model):
    return [nrm.WeightedNUTS(model=model)]


def summed_out_and_gibbs(model):
    return [nrm.WeightedNUTS(model=model), nrm.WeightedGibbs([model["z"]], model=model)]


def given_labels(model):
    return [nrm.WeightedGibbs([model["z"]], model=model), pm.NUTS(model=model)]


@pytest.mark.parametrize(
    ("has_means", "has_mixture", "make_steps", "draws"),
    [
        (True, False, summed_out, 2000),
        (False, True, summed_out, 2000),
        pytest.param(True, False, summed_out, 20_000, marks=pytest.mark.slow),
        pytest.param(False, True, summed_out, 20_000, marks=pytest.mark.slow),
        pytest.param(True, True, summed_out, 20_000, marks=pytest.mark.slow),
        pytest.param(True, True, summed_out_and_gibbs, 20_000, marks=pytest.mark.slow),
        pytest.param(True, True, given_labels, 20_000, marks=pytest.mark.slow),
        pytest.param(False, True, given_labels, 20_000, marks=pytest.mark.slow),
    ],
)
def test_steps_have_the_posterior_distribution(has_means, has_mixture, make_steps, draws):
    labels, slopes = run(
        make_model(has_means, has_mixture), make_steps, draws, seed=draws + 2 * has_means + has_mixture
    )
    probabilities, mean, square = posterior(has_means, has_mixture)
    assert_law(labels, LABELINGS, probabilities)
    assert_means({"slope": slopes, "square": slopes**2}, {"slope": mean, "square": square})


def test_what_mixtures_depend_on_is_sampled_given_labels():
    with pm.Model() as model:
        share, beta = pm.Beta("share", 1.0, 1.0), pm.HalfNormal("beta")
        z = nrm.Partition("z", log_weights=pt.log(pt.stack([share, 1.0 - share])), n=4)
        latent = nrm.Mixture("latent", z, FAMILY._replace(beta=beta))
        pm.Normal("y", latent, 1.0, observed=Y)
    assert [value.name for value in values_for_weighted_nuts(model, model.continuous_value_vars)] == ["share_logodds__"]
    with pytest.raises(ValueError, match="vars must not have .*'latent'.* since a Mixture over 'z'"):
        nrm.WeightedNUTS([share, latent], model=model)


@pytest.mark.slow
def test_a_stopped_run_resumes_as_if_nothing_had_happened(tmp_path):
    again = {"model": make_model(True, True), "cores": 1, "quiet": True}
    options = {"tune": 5, "chains": 2, "random_seed": 3}
    expected = nrm.sample(20, **options, **again)
    kept = {"checkpoint": tmp_path / "run", "callback": stop_at(1, 12), "seconds_between_checkpoints": 0}
    nrm.sample(20, **options, **again, **kept)
    assert_same(nrm.resume(tmp_path / "run", **again), expected)
