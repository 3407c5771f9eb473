"""How many groups default priors report: one where there is one, and two where there are two."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import scipy.stats

import pymc_nrm as nrm
from pymc_nrm.families.learned.hyperpriors import Hyperpriors
from pymc_nrm.posterior.default_clusters import default_clusters
from tests.tools.wings import rows_of_wings

N_SETS, LARGEST_SIZE, LEAST_POWER = 20, 0.1, 0.8
# So rarely does a default fail that has exactly this size or power.
CHANCE = 0.01


def numbers(rng, distance):
    X = rng.normal(size=(40, 2))
    X[:20, 0] += distance
    return nrm.mixture_model(pd.DataFrame(X, columns=["a", "b"]))


def few_correlated_numbers(rng, distance):
    # In 40 rows of three columns, two groups are found half of the time.
    X = rng.normal(size=(40 if distance == 0.0 else 100, 3))
    X[: len(X) // 2, 0] += distance
    return nrm.mixture_model(pd.DataFrame(X @ rng.normal(size=(3, 3)), columns=["a", "b", "c"]))


def few_rows_of_many_numbers(rng, distance):
    X = rng.normal(size=(100, 8))
    X[:50] += distance / np.sqrt(8)
    return nrm.gaussian_mixture(X)


def answers(rng, distance):
    ones = np.where((np.arange(200) < 100)[:, None], 0.5 + 0.08 * distance, 0.5 - 0.08 * distance)
    return nrm.mixture_model(pd.DataFrame(rng.random((200, 6)) < ones).add_prefix("q"))


def mixed(rng, distance):
    df = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    second = np.arange(60) < 30
    df.loc[second, "a"] += distance
    df["answer"] = np.where(rng.random(60) < 0.5, "yes", "no")
    df["count"] = rng.poisson(np.where(second & (distance > 0), 12, 3))
    return nrm.mixture_model(df, kinds={"count": "count"})


RECIPES = {
    write.__name__: write for write in (numbers, few_correlated_numbers, few_rows_of_many_numbers, answers, mixed)
} | rows_of_wings("RECIPES")


def number_of_groups(model):
    options = {"chains": 2, "cores": 1, "random_seed": 1, "quiet": True, "progressbar": False}
    idata = nrm.sample(300, tune=300, model=model, compute_convergence_checks=False, **options)
    labels = default_clusters(idata, model).labels
    return (np.bincount(labels) >= max(2, 0.02 * len(labels))).sum()


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_size_and_power(name):
    rng, write = np.random.default_rng(1), RECIPES[name]
    one = [number_of_groups(write(rng, 0.0)) for _ in range(N_SETS)]
    assert sum(k > 1 for k in one) <= scipy.stats.binom(N_SETS, LARGEST_SIZE).isf(CHANCE), one
    two = [number_of_groups(write(rng, 5.0)) for _ in range(N_SETS)]
    assert sum(k == 2 for k in two) >= scipy.stats.binom(N_SETS, LEAST_POWER).ppf(CHANCE), two


@pytest.mark.slow
def test_the_size_of_another_default_is_seen(monkeypatch):
    """Gamma(2, 1) for the concentration, small means of kappa and full covariances tell of groups in most noise."""
    log_normal = Hyperpriors.log_normal

    def smaller_kappa(prior, label, mu, sigma, dims=None):
        return log_normal(prior, label, *((-3.0, 1.0) if label == "kappa" else (mu, sigma)), dims)

    monkeypatch.setattr(Hyperpriors, "log_normal", smaller_kappa)
    rng, found = np.random.default_rng(1), []
    for _ in range(8):
        df = pd.DataFrame(rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3)), columns=["a", "b", "c"])
        measure = nrm.DirichletProcess(pm.Gamma.dist(2.0, 1.0))
        found.append(number_of_groups(nrm.mixture_model(df, measure=measure, covariance="full")))
    assert sum(k > 1 for k in found) > scipy.stats.binom(8, LARGEST_SIZE).isf(CHANCE), found
