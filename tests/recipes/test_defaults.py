"""How many groups default priors report: one where there is one, and two where there are two."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import pymc_nrm as nrm

N_SETS, LARGEST_SIZE, LEAST_POWER = 20, 0.1, 0.8
# So rarely does a default fail that has exactly this size or power.
CHANCE = 0.01


def numbers(rng, distance):
    X = rng.normal(size=(40, 2))
    X[:20, 0] += distance
    return pd.DataFrame(X, columns=["a", "b"])


def mixed(rng, distance):
    df = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    second = np.arange(60) < 30
    df.loc[second, "a"] += distance
    df["answer"] = np.where(rng.random(60) < 0.5, "yes", "no")
    df["count"] = rng.poisson(np.where(second & (distance > 0), 12, 3))
    return df


def number_of_groups(df, kinds):
    model = nrm.mixture_model(df, kinds=kinds)
    options = {"chains": 2, "cores": 1, "random_seed": 1, "quiet": True, "progressbar": False}
    idata = nrm.sample(300, tune=300, model=model, compute_convergence_checks=False, **options)
    fused = nrm.fused_estimate(idata, model, random_seed=0, progressbar=False)
    counts = np.bincount(fused["labels"].values)
    return (counts >= max(2, 0.02 * len(df))).sum()


@pytest.mark.slow
@pytest.mark.parametrize(("table", "kinds"), [(numbers, {}), (mixed, {"count": "count"})])
def test_size_and_power(table, kinds):
    rng = np.random.default_rng(1)
    one = [number_of_groups(table(rng, 0.0), kinds) for _ in range(N_SETS)]
    assert sum(k > 1 for k in one) <= scipy.stats.binom(N_SETS, LARGEST_SIZE).isf(CHANCE)
    two = [number_of_groups(table(rng, 5.0), kinds) for _ in range(N_SETS)]
    assert sum(k == 2 for k in two) >= scipy.stats.binom(N_SETS, LEAST_POWER).ppf(CHANCE)
