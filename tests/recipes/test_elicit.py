"""Elicited priors have the wanted law of the number of clusters, stand wherever a measure does, or are refused."""

import functools
import itertools
import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy import integrate, special, stats

import pymc_nrm as nrm
from pymc_nrm.measures.base import Hyperparameter, n_clusters_log_pmf, random_measure
from pymc_nrm.recipes.elicitation_distributions import mean_and_sd, n_clusters_pmf
from pymc_nrm.recipes.elicitation_matching import BetaHyperprior, GammaHyperprior, HyperpriorLaw
from tests.helpers import refused
from tests.tools.wings import rows_of_wings


@random_measure(hyperparameters={"a": Hyperparameter((), "positive"), "b": Hyperparameter((), "positive")})
class BetaBinomial(NamedTuple):
    """A measure of a user: the number of clusters less one is beta-binomial."""

    a: Any = 1.0
    b: Any = 1.0


@random_measure(hyperparameters={"place": Hyperparameter((), "real"), "many": Hyperparameter((), "positive whole")})
class Logistic(NamedTuple):
    """Another one: the number of clusters less one is binomial, and falls with the place."""

    place: Any = 0.0
    many: Any = 1.0


@n_clusters_log_pmf.register(BetaBinomial)
def _(measure, n):
    return stats.betabinom.logpmf(np.arange(n), n - 1, measure.a, measure.b)


@n_clusters_log_pmf.register(Logistic)
def _(measure, n):
    return stats.binom.logpmf(np.arange(n), n - 1, special.expit(-measure.place * measure.many))


def exact_law(measure, n):
    return np.exp(n_clusters_log_pmf(measure, n))


@pytest.mark.parametrize(
    "measure_class, n, mean, fixed",
    [
        (nrm.DirichletProcess, 100, 5, {}),
        (nrm.DirichletProcess, 82, 1.001, {}),
        (nrm.DirichletProcess, 82, 81.9, {}),
        (nrm.NormalizedInverseGaussian, 82, 20, {}),
        (nrm.NormalizedGeneralizedGamma, 60, 7.5, {"sigma": 0.25}),
        (nrm.NormalizedGeneralizedGamma, 60, 7.5, {"alpha": 0.5}),
        (nrm.NormalizedGeneralizedGamma, 60, 7.5, {"sigma": 0}),
        (nrm.PitmanYorProcess, 60, 7.5, {"discount": 0.6}),
        (nrm.PitmanYorProcess, 60, 20, {"concentration": 1}),
        (nrm.MixtureOfFiniteMixtures, 60, 7.5, {"gamma": 0.5}),
        (BetaBinomial, 40, 4, {"b": 3.0}),
        (Logistic, 40, 4, {"many": 2}),
    ],
)
def test_one_hyperparameter_takes_the_mean(measure_class, n, mean, fixed):
    prior = nrm.elicit(measure_class, n, mean, **fixed)
    law = exact_law(prior.measure, n)
    k = np.arange(1, n + 1)
    assert law @ k == pytest.approx(mean, rel=1e-6)
    np.testing.assert_allclose(prior.pmf, law[: len(prior.pmf)], atol=1e-14)
    assert prior.mean == pytest.approx(mean, rel=1e-6)
    assert prior.sd == pytest.approx(math.sqrt(law @ k**2 - (law @ k) ** 2), rel=1e-5)
    low, high = prior.interval
    assert prior.probability == pytest.approx(law[low - 1 : high].sum()) and prior.probability >= 0.9 - 1e-9
    for name, value in fixed.items():
        assert getattr(prior.measure, name) == value


@pytest.mark.parametrize(
    "measure_class, n, mean, wishes",
    [
        (nrm.NormalizedGeneralizedGamma, 100, 8, {"sd": 4}),
        (nrm.NormalizedGeneralizedGamma, 100, 8, {"sd": 2.4}),
        (nrm.NormalizedGeneralizedGamma, 100, 8, {"sd": 5.8}),
        (nrm.NormalizedGeneralizedGamma, 100, 60, {"sd": 5}),
        (nrm.NormalizedGeneralizedGamma, 82, 8, {"interval": (4, 12), "probability": 0.8}),
        (nrm.PitmanYorProcess, 100, 8, {"sd": 5}),
        (nrm.PitmanYorProcess, 100, 8, {"interval": (1, 40), "probability": 0.95}),
        (nrm.MixtureOfFiniteMixtures, 100, 5, {"sd": 2}),
        (BetaBinomial, 40, 4, {"sd": 6}),
        (BetaBinomial, 40, 10, {"interval": (5, 15)}),
    ],
)
def test_two_hyperparameters_take_mean_and_spread(measure_class, n, mean, wishes):
    prior = nrm.elicit(measure_class, n, mean, **wishes)
    law = exact_law(prior.measure, n)
    k = np.arange(1, n + 1)
    assert law @ k == pytest.approx(mean, rel=1e-5)
    if "sd" in wishes:
        assert math.sqrt(law @ (k - mean) ** 2) == pytest.approx(wishes["sd"], rel=1e-5)
    else:
        low, high = prior.interval
        assert (low, high) == wishes["interval"]
        assert law[low - 1 : high].sum() == pytest.approx(wishes.get("probability", 0.9), abs=1e-5)


def integrated(moment, density, ends):
    """Integrals of 1 and of a function of a hyperparameter over its hyperprior, by adaptive quadrature."""
    panels = list(itertools.pairwise(ends))
    total = sum(integrate.quad(density, *panel)[0] for panel in panels)
    return sum(integrate.quad(lambda x: density(x) * moment(x), *panel)[0] for panel in panels) / total


@pytest.mark.parametrize("sd", [1.9, 3, 6])
def test_gamma_hyperprior_of_a_dirichlet_process(sd):
    n, mean = 100, 5
    prior = nrm.elicit(nrm.DirichletProcess, n, mean, sd=sd, hyperprior="alpha")
    shape, rate = prior.hyperprior
    law = stats.gamma(shape, scale=1 / rate)
    i = np.arange(n)

    def variance(alpha):
        return (alpha * i / (alpha + i) ** 2).sum()

    # The logarithm of alpha has a density without a pole.
    def density(x):
        return math.exp(law.logpdf(math.exp(x)) + x)

    ends = [max(-40.0, math.log(law.ppf(1e-12))), *np.log(law.ppf([0.01, 0.5, 0.99, 1 - 1e-12]))]
    first = integrated(lambda x: (math.exp(x) / (math.exp(x) + i)).sum(), density, ends)
    second = integrated(lambda x: (math.exp(x) / (math.exp(x) + i)).sum() ** 2 + variance(math.exp(x)), density, ends)
    assert first == pytest.approx(mean, rel=1e-5)
    assert math.sqrt(second - first**2) == pytest.approx(sd, rel=1e-4)
    assert prior.sd == pytest.approx(sd, rel=1e-5)


@pytest.mark.parametrize(
    "hyperprior", [GammaHyperprior(0.1, 0.2), GammaHyperprior(300.0, 40.0), BetaHyperprior(0.5, 9.0)]
)
def test_lattices_integrate_over_hyperpriors(hyperprior):
    """One cluster with probability s, the share or the logistic transform of the hyperparameter, two otherwise."""
    law = HyperpriorLaw(lambda x: np.array([special.expit(x), special.expit(-x)]), (-50.0, 50.0))(hyperprior)
    if isinstance(hyperprior, BetaHyperprior):
        expected = hyperprior.alpha / sum(hyperprior)
    else:
        # expit(log a) = a / (1 + a)
        gamma = stats.gamma(hyperprior.alpha, scale=1 / hyperprior.beta)
        expected = integrate.quad(lambda q: (a := gamma.ppf(q)) / (1 + a), 0, 1, limit=200, epsabs=1e-10)[0]
    np.testing.assert_allclose(law, [expected, 1 - expected], atol=1e-6)


def test_hyperprior_of_sigma_and_of_a_measure_of_ones_own():
    prior = nrm.elicit(nrm.NormalizedGeneralizedGamma, 60, 8, sd=5, alpha=0.5, hyperprior="sigma")
    sigma = prior.hyperprior
    rng = np.random.default_rng(1)
    draws = rng.beta(*sigma, size=400)
    moments = np.array([mean_and_sd(n_clusters_pmf(nrm.NormalizedGeneralizedGamma(0.5, s), 60)) for s in draws])
    error = moments[:, 0].std() / 20
    assert abs(moments[:, 0].mean() - 8) < 4 * error
    prior = nrm.elicit(BetaBinomial, 40, 4, interval=(1, 9), b=20.0, hyperprior="a")
    assert prior.probability == pytest.approx(0.9, abs=1e-6) and prior.mean == pytest.approx(4, rel=1e-6)


def test_dirichlet_process_with_many_items():
    """The generating function and the recursion have one law; moments are those of digamma and trigamma functions."""
    for alpha in (1e-3, 1.0, 3.0, 40.5):
        law = exact_law(nrm.DirichletProcess(alpha), 2500)
        other = n_clusters_pmf(nrm.DirichletProcess(alpha), 2500)
        np.testing.assert_allclose(other, law[: len(other)], atol=1e-10)
        assert law[len(other) :].sum() < 1e-10
    n, prior = 10**6, nrm.elicit(nrm.DirichletProcess, 10**6, 20)
    alpha = prior.measure.alpha
    mean = alpha * (special.digamma(alpha + n) - special.digamma(alpha))
    variance = mean + alpha**2 * (special.polygamma(1, alpha + n) - special.polygamma(1, alpha))
    assert (prior.mean, prior.sd) == (pytest.approx(20, rel=1e-7), pytest.approx(math.sqrt(variance), rel=1e-6))
    assert mean == pytest.approx(20, rel=1e-7)


def test_measures_say_what_they_are():
    prior = nrm.elicit(nrm.DirichletProcess, 6, 2, sd=1.2, hyperprior="alpha")
    shape, rate = prior.hyperprior
    drawn = pm.draw(prior.measure.alpha, draws=4000, random_seed=1)
    assert abs(drawn.mean() - shape / rate) < 5 * math.sqrt(shape) / rate / math.sqrt(4000)
    fixed = nrm.elicit(nrm.NormalizedGeneralizedGamma, 6, 2, sigma=0.1)
    with pm.Model():
        assert fixed.in_model() is fixed.measure
    assert repr(fixed).startswith("ElicitedPrior(NormalizedGeneralizedGamma(alpha=")
    assert f"DirichletProcess(alpha ~ Gamma(alpha={shape:.4g}, beta={rate:.4g})), n=6: mean 2, sd 1.2" in repr(prior)


DP, NGG = nrm.DirichletProcess, nrm.NormalizedGeneralizedGamma
REFUSED = [
    (nrm.DirichletProcess(1.0), 9, 2, {}, "measure_class must be the class of a measure, .*; got Dirichlet"),
    (nrm.NormalGamma, 9, 2, {}, "measure_class must have n_clusters_log_pmf, which NormalGamma lacks"),
    (dict, 9, 2, {}, "measure_class must be the class of a measure, .*; got <class 'dict'>"),
    (DP, 1, 2, {}, "n must be a whole number between 2 and 1000000000; got 1"),
    (DP, 9, 9, {}, "n_clusters must be above 1 and below n = 9; got 9"),
    (DP, 9, "2", {}, "n_clusters must be above 1 and below n = 9; got '2'"),
    (DP, 9, 2, {"sd": -1}, "sd must be above 0 and below n = 9; got -1"),
    (DP, 9, 2, {"sd": 1, "interval": (1, 3)}, "one of sd and interval must be None"),
    (DP, 9, 2, {"probability": 0.8}, "probability must be None without an interval"),
    (DP, 9, 2, {"interval": 3}, "interval must be the smallest and the largest"),
    (DP, 9, 2, {"interval": (0, 3)}, r"interval\[0\] must be .* between 1 and 9; got 0"),
    (DP, 9, 2, {"interval": (3, 4)}, r"interval must contain n_clusters = 2; got \(3, 4"),
    (DP, 9, 5, {"interval": (8, 2)}, r"interval must be the smallest and then the largest .*; got \(8, 2\)"),
    (DP, 9, 2, {"interval": (1, 4), "probability": 1}, "probability must be between 0 and"),
    (DP, 9, 2, {"sigma": 0.1}, "hyperparameters of DirichletProcess are alpha; got sigma"),
    (DP, 9, 2, {"alpha": 1}, "alpha of DirichletProcess must be free .* got values of all"),
    (DP, 9, 2, {"sd": 1}, "sd must be None if alpha .* alone is free, .*; got 1.0. Give hyp"),
    (DP, 9, 2, {"interval": (1, 4)}, "interval must be None if alpha .* alone is free"),
    (DP, 9, 2, {"hyperprior": "sigma"}, "hyperprior must name a free .*, alpha; got 'sigma'"),
    (DP, 9, 2, {"hyperprior": "alpha"}, "sd or interval must be given with a hyperprior"),
    (DP, 9, 2, {"hyperprior": "alpha", "sd": 0.1}, "sd must be between .*; got 0.1"),
    (DP, 100, 1.001, {"interval": (1, 10), "hyperprior": "alpha"}, r"must be between 0\.99999\d+ and 1 for"),
    (NGG, 9, 2, {}, "sd, interval or one of alpha and sigma .* must be given"),
    (NGG, 9, 2, {"sigma": 1}, r"sigma of .* must be in \[0, 1\); got 1"),
    (NGG, 9, 2, {"hyperprior": "alpha", "sd": 1}, "sigma of .* must be given beside a hyperprior of alpha"),
    (nrm.NormalizedInverseGaussian, 100, 8, {}, "n_clusters must be between 11.27 and 100 for .* and 100 items; got 8"),
    (NGG, 60, 8, {"interval": (7, 9), "probability": 0.99}, "from 7 to 9 must be between .* with mean 8; got 0.99"),
    (
        nrm.PitmanYorProcess,
        *(60, 8, {"discount": 0.2, "hyperprior": "concentration", "sd": 5}),
        "hyperprior must name a hyperparameter that is positive or in .*; got 'concentration', which is finite",
    ),
    (nrm.MixtureOfFiniteMixtures, 60, 8, {"rate": 3}, "n_clusters must be between .* and 3.157 for .* and 60 items"),
    (Logistic, 40, 4, {}, "many of Logistic is a whole number and must be given, as in many=1"),
    (Logistic, 40, 4, {"many": 1, "hyperprior": "place", "sd": 3}, "hyperprior must name a .* 'place'"),
]


test_what_cannot_be_had_is_refused = refused(
    lambda measure_class, n, n_clusters, wishes: nrm.elicit(measure_class, n, n_clusters, **wishes),
    *REFUSED,
    error=(TypeError, ValueError),
)


def test_attainable_spreads_are_those_of_the_error():
    """Just inside of the range of the message there is a prior."""
    with pytest.raises(ValueError, match="sd must be between 2.363 and 5.863 .* with mean 8; got 7"):
        nrm.elicit(nrm.NormalizedGeneralizedGamma, 100, 8, sd=7)
    assert nrm.elicit(nrm.DirichletProcess, 100, 8).sd == pytest.approx(2.363, abs=1e-3)
    assert nrm.elicit(nrm.NormalizedGeneralizedGamma, 100, 8, sd=5.86).sd == pytest.approx(5.86)


N = 20
X = np.random.default_rng(1).normal(size=(N, 2))


@pytest.fixture(scope="module")
def prior():
    return nrm.elicit(nrm.DirichletProcess, N, 4, sd=2, hyperprior="alpha")


def in_a_model(variable, measure, **options):
    with pm.Model() as model:
        variable("z", measure, n=N, **options)
    return model


BUILDS = {
    "model": lambda measure: in_a_model(nrm.Partition, measure),
    "matrix": lambda measure: nrm.gaussian_mixture(X, measure=measure),
    "table": lambda measure: nrm.mixture_model(pd.DataFrame(X, columns=["a", "b"]), measure=measure),
    **{name: functools.partial(in_a_model, make) for name, make in rows_of_wings("OF_MEASURES").items()},
}


@pytest.mark.parametrize("name", BUILDS)
def test_elicited_priors_stand_for_measures(name, prior):
    model = BUILDS[name](prior)
    alpha = model["alpha"]
    assert model.free_RVs[:2] == [alpha, model["z"]]
    shape, rate = prior.hyperprior
    np.testing.assert_allclose([value.eval() for value in alpha.owner.inputs[2:]], [shape, 1 / rate])
    # The same prior serves another model.
    BUILDS[name](prior)
    fixed = BUILDS[name](nrm.elicit(nrm.DirichletProcess, N, 4))
    assert "alpha" not in fixed.named_vars


@pytest.mark.parametrize("name", BUILDS)
def test_classes_of_measures_are_refused(name):
    with pytest.raises(TypeError, match=r"measure must have .*DirichletProcess\(alpha=...\)"):
        BUILDS[name](nrm.DirichletProcess)


def test_elicited_priors_in_the_plot_of_the_number_of_clusters(prior):
    from pymc_nrm.plots.n_clusters import prior_probabilities

    shown = prior_probabilities(prior, "z", N)
    assert shown.shape == (N,)
    assert shown @ np.arange(1, N + 1) == pytest.approx(4)
    with pytest.raises(ValueError, match="prior must be elicited for the 30 items"):
        prior_probabilities(prior, "z", 30)
