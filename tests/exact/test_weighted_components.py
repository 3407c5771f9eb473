"""Labels with weights of the user's own: WeightedNUTS and WeightedGibbs against quadrature over all labelings."""

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy import stats
from scipy.special import gammaln, logsumexp

import pymc_nrm as nrm
from pymc_nrm.families.arguments import check_matrix
from pymc_nrm.families.base import Dense, Hyperparameter, conjugate_family, segment_sum
from pymc_nrm.run.choose_steps import with_own_nuts
from pymc_nrm.steps import weighted_gibbs
from pymc_nrm.steps.component_swaps import ComponentSwaps
from pymc_nrm.steps.weighted_nuts import values_for_weighted_nuts
from tests.helpers import assert_law, assert_means
from tests.tools.same_results import assert_resumes_the_same

pytestmark = pytest.mark.usefixtures("compiled")

X = np.array([-1.0, -0.3, 0.4, 1.2])
Y = np.array([-1.1, 0.2, 0.4, 1.9])
PRIOR_SD, SD, PRIOR_MEANS = 1.5, 0.7, np.array([0.0, 0.8])
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


@conjugate_family(
    hyperparameters={"mean": Hyperparameter((), "real"), "sd": Hyperparameter((), "positive")},
    parameters={},
    continuous=True,
    missing_allowed=False,
)
class NormalOfUser(NamedTuple):
    """Normal values about a normal mean; the five functions of a family without densities given parameters."""

    mean: Any = 0.0
    sd: Any = PRIOR_SD

    def prepare_data(self, X):
        return Dense(check_matrix(self, X))

    def statistics_size(self):
        return 3

    def add_item(self, statistics, data, item, sign):
        x = data.values[item, 0] - self.mean
        statistics[0] += sign
        statistics[1] += sign * x
        statistics[2] += sign * x * x

    def log_marginal(self, statistics):
        n, total, squares = statistics[0], statistics[1], statistics[2]
        variance, prior = 0.7**2, self.sd**2
        exponent = (squares - prior * total**2 / (variance + n * prior)) / variance
        return -0.5 * (exponent + n * math.log(2.0 * math.pi * variance) + math.log1p(n * prior / variance))

    def log_likelihood(self, X, labels):
        x, k = X[:, 0] - self.mean, labels.max() + 1
        n, total = segment_sum(pt.ones_like(x), labels, k), segment_sum(x, labels, k)
        variance, prior = 0.7**2, self.sd**2
        exponent = (segment_sum(x**2, labels, k) - prior * total**2 / (variance + n * prior)) / variance
        return -0.5 * (exponent + n * math.log(2.0 * math.pi * variance) + pt.log1p(n * prior / variance)).sum()


def posterior(has_means, has_mixture, prior_means=PRIOR_MEANS):
    """Probabilities of labelings, and the posterior mean of the slope and of its square."""
    joint = log_shares_of_slopes()[:, np.arange(4)[:, None], LABELINGS.T].sum(axis=1).T
    joint = joint + stats.norm.logpdf(SLOPES, 0.0, PRIOR_SD)
    for row, labels in zip(joint, LABELINGS, strict=True):
        for component in range(2):
            y = Y[labels == component]
            if has_means and len(y):
                cov = SD**2 * np.eye(len(y)) + PRIOR_SD**2
                row += stats.multivariate_normal.logpdf(y, np.full(len(y), prior_means[component]), cov)
            if has_mixture and len(y):
                row += one_cluster(y)
    p = np.exp(joint - logsumexp(joint))
    return p.sum(axis=1), (p.sum(axis=0) * SLOPES).sum(), (p.sum(axis=0) * SLOPES**2).sum()


def make_model(has_means, has_mixture, family=FAMILY):
    with pm.Model() as model:
        slope = pm.Normal("slope", 0.0, PRIOR_SD)
        z = nrm.Partition("z", log_weights=pt.stack([pt.zeros(4), OFFSET + slope * X], axis=1), n=4)
        if has_means:
            mean = pm.Normal("mean", PRIOR_MEANS, PRIOR_SD)
            pm.Normal("y", mean[z], SD, observed=Y)
        if has_mixture:
            nrm.Mixture("x", z, family, observed=Y)
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
    return [nrm.steps.WeightedNUTS(model=model)]


def summed_out_and_gibbs(model):
    return [nrm.steps.WeightedNUTS(model=model), nrm.steps.WeightedGibbs([model["z"]], model=model)]


def given_labels(model):
    return [nrm.steps.WeightedGibbs([model["z"]], model=model), pm.NUTS(model=model)]


@pytest.mark.parametrize(
    ("has_means", "has_mixture", "make_steps", "draws"),
    [
        (True, False, summed_out, 2000),
        pytest.param(False, True, summed_out, 2000, marks=pytest.mark.slow),
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


@pytest.mark.slow
def test_families_without_densities_have_the_posterior_distribution():
    # The same model with parameters that labels index has the same posterior.
    labels, slopes = run(make_model(False, True, NormalOfUser()), given_labels, 20_000, seed=3)
    probabilities, mean, square = posterior(True, False, np.zeros(2))
    assert_law(labels, LABELINGS, probabilities)
    assert_means({"slope": slopes, "square": slopes**2}, {"slope": mean, "square": square})


def test_families_without_densities_are_sampled_given_labels():
    model = make_model(False, True, NormalOfUser())
    assert with_own_nuts(model, {}) == {}
    with pytest.raises(NotImplementedError, match="which WeightedNUTS needs; WeightedGibbs does not"):
        nrm.steps.WeightedNUTS(model=model)


def far_apart():
    """A model whose groups are far apart, with unequal weights; all labelings and their probabilities."""
    log_weights, y = np.log([0.5, 0.3, 0.2]) + 0.1 * X[:, None] * [0.0, 1.0, 2.0], np.array([0, 1, 30, 28])
    with pm.Model() as model:
        nrm.Mixture("x", nrm.Partition("z", log_weights=log_weights), nrm.PoissonGamma(1.0, 0.1), observed=y)
    labelings = np.array(list(itertools.product(range(3), repeat=4)))
    joint = (log_weights - logsumexp(log_weights, axis=1, keepdims=True))[np.arange(4), labelings].sum(axis=1)
    for row, labels in enumerate(labelings):
        for counts in (y[labels == k] for k in range(3)):
            shape, rate = 1.0 + counts.sum(), 0.1 + len(counts)
            joint[row] += gammaln(shape) + np.log(0.1) - shape * np.log(rate)
    return model, labelings, np.exp(joint - logsumexp(joint))


def labels_of_gibbs(model, draws):
    step, point = nrm.steps.WeightedGibbs([model["z"]], model=model, rng=1), model.initial_point()
    step.setup_chain(np.random.default_rng(2), 0, draws)
    labels = np.empty((1, draws, 4), dtype=int)
    for i in range(draws):
        point, _ = step.step(point)
        labels[0, i] = point["z"]
    return labels


@pytest.mark.parametrize("has_densities", [pytest.param(True, marks=pytest.mark.slow), False])
def test_labels_with_unequal_weights_have_the_posterior_distribution(has_densities, monkeypatch):
    monkeypatch.setattr(weighted_gibbs, "has_densities", lambda *_: has_densities)
    model, labelings, probabilities = far_apart()
    assert_law(labels_of_gibbs(model, 2500), labelings, probabilities)
    # Without the ratio of weights, all names of components are equally probable.
    redraw = ComponentSwaps.redraw
    monkeypatch.setattr(ComponentSwaps, "redraw", lambda *given: redraw(*given[:-1], 0.0 * given[-1]))
    with pytest.raises(AssertionError):
        assert_law(labels_of_gibbs(model, 2500), labelings, probabilities)


def test_components_swap_only_where_their_parameters_can():
    def swaps(make_data, variables=None):
        with pm.Model() as model:
            z = nrm.Partition("z", log_weights=np.log([0.2, 0.3, 0.5]), n=4)
            make_data(z)
            point = model.initial_point()
            labels = weighted_gibbs.ComponentLabels(model, z, point)
            variables = model.continuous_value_vars if variables is None else variables
            return ComponentSwaps(model, z, labels, variables, point)._n_swaps

    def indexed(z, mean):
        pm.Normal("y", mean[z], 1.0, observed=Y)

    assert swaps(lambda z: nrm.Mixture("x", z, FAMILY, observed=Y)) == 3
    assert swaps(lambda z: indexed(z, pm.Normal("mean", shape=3))) == 3
    assert swaps(lambda z: indexed(z, pm.Normal("mean", shape=3)), variables=[]) == 0
    assert swaps(lambda z: indexed(z, pt.constant([0.0, 1.0, 2.0]))) == 0
    assert swaps(lambda z: indexed(z, pt.cumsum(pm.HalfNormal("gap", shape=3)))) == 0


def test_what_mixtures_depend_on_is_sampled_given_labels():
    with pm.Model() as model:
        share, beta = pm.Beta("share", 1.0, 1.0), pm.HalfNormal("beta")
        z = nrm.Partition("z", log_weights=pt.log(pt.stack([share, 1.0 - share])), n=4)
        latent = nrm.Mixture("latent", z, FAMILY._replace(beta=beta))
        pm.Normal("y", latent, 1.0, observed=Y)
    assert [value.name for value in values_for_weighted_nuts(model, model.continuous_value_vars)] == ["share_logodds__"]
    with pytest.raises(ValueError, match="vars must not have .*'latent'.* since a Mixture over 'z'"):
        nrm.steps.WeightedNUTS([share, latent], model=model)


@pytest.mark.slow
def test_a_stopped_run_resumes_as_if_nothing_had_happened(tmp_path):
    assert_resumes_the_same(tmp_path / "run", model=make_model(True, True), cores=1, quiet=True)
