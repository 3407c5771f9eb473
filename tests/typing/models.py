"""Every measure, family and random variable, as a user's model has them."""

from typing import assert_type

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr
from pytensor.tensor.variable import TensorVariable

import pymc_nrm as nrm

X = np.array([[0.1, 0.3], [0.2, 0.1], [2.1, 4.0], [1.9, 3.8]])
counts = np.array([[1, 0], [0, 2], [5, 9], [4, 8]])

prior = nrm.elicit(nrm.DirichletProcess, 100, 5, interval=(2, 10), hyperprior="alpha")
print(prior.measure, prior.hyperprior, prior.pmf.sum(), prior.mean + prior.sd, prior.interval, prior.probability)
print(nrm.elicit(nrm.NormalizedGeneralizedGamma, n=100, n_clusters=5.5, sigma=0.25).measure)

with pm.Model(coords={"item": range(4), "feature": ["a", "b"]}) as model:
    alpha = pm.Gamma("alpha", 2, 1)
    sigma = pm.Beta("sigma", 1, 4)
    scale = pm.LogNormal("scale", 0, 1, shape=2)
    noise = pm.HalfNormal("noise", 1)

    z = nrm.Partition("z", nrm.NormalizedGeneralizedGamma(alpha, sigma), dims="item")
    assert_type(z, TensorVariable)
    pm.Deterministic("first_alone", (z[1:] > 0).all())

    weak = nrm.NormalGamma.from_data(X)
    assert_type(weak, nrm.NormalGamma)
    nrm.Mixture("weak", z, weak, observed=X, dims=("item", "feature"))
    nrm.Mixture("independent", z, nrm.NormalGamma(mu=0, kappa=0.1, alpha=2, beta=scale), observed=X)
    nrm.Mixture("lines", z, nrm.NormalRegression.learned("lines", X[:, 0], X[:, 1:]), observed=X[:, 0])
    nrm.Mixture("through_origin", z, nrm.NormalRegression(X, 0.0, np.eye(2), 2.0, 1.0), observed=X[:, 0])
    nrm.Mixture(
        "trajectories", z, nrm.growth.NormalTrajectory(np.ones((2, 1)), 1.0, 0.0, np.eye(1), 2.0, scale[0]), observed=X
    )
    assert_type(nrm.growth.NormalTrajectory.learned("learned", X, X, ratio=0.0), nrm.growth.NormalTrajectory)
    nrm.Mixture("visits", z, nrm.PoissonGamma(1.0, 1.0), observed=[1, 2, 0], rows=[0, 0, 3])
    nrm.Mixture("plane", z, nrm.NormalWishart.from_data(X), observed=X)
    nrm.Mixture("full", z, nrm.NormalWishart(mu=[0.0, 0.0], kappa=0.1, Psi=np.eye(2), nu=8), observed=X)
    nrm.Mixture("binary", z, nrm.BernoulliBeta(alpha=1, beta=[1.0, 2.0]), observed=counts > 0)
    nrm.Mixture("binary_default", z, nrm.BernoulliBeta(), observed=counts > 0)
    nrm.Mixture("counts", z, nrm.PoissonGamma(1.0, noise), observed=counts)
    nrm.Mixture("visits_or_none", z, nrm.HurdlePoisson(1.0, 1.0, 1.0, noise), observed=counts)
    assert_type(nrm.HurdleLogNormal.learned("amounts", X), nrm.HurdleLogNormal)
    assert_type(nrm.LogNormalGamma.learned("sizes", X, [1, 1]), nrm.LogNormalGamma)
    assert_type(nrm.LogNormalWishart.learned("sizes_with_covariances", X, [1, 0]), nrm.LogNormalWishart)
    nrm.Mixture("levels", z, nrm.CategoricalDirichlet(alpha=np.ones((2, 10))), observed=counts)
    nrm.Mixture("some_levels", z, nrm.CategoricalDirichlet(0.5, n_levels=[6, 10]), observed=counts)
    nrm.Mixture("words", z, nrm.MultinomialDirichlet(0.9), observed=counts)

    effect = nrm.Mixture("effect", z, nrm.NormalGamma(mu=0, kappa=0.1, alpha=3, beta=0.5), dims="item")
    assert_type(effect, TensorVariable)
    pm.Normal("outcome", effect[:, None] + effect.mean(), noise, observed=X)

    nrm.Partition("known", nrm.DirichletProcess(1.0), observed=[0, 0, 1, 1])
    nrm.Partition("started", nrm.NormalizedInverseGaussian(alpha=alpha), n=4, initval=[0, 1, 1, 2])
    nrm.Partition("finite", nrm.MixtureOfFiniteMixtures(gamma=0.5, rate=alpha), n=4)
    nrm.Partition("two_parameters", nrm.PitmanYorProcess(discount=sigma, concentration=alpha - sigma), n=4)
    nrm.Partition("by_default", nrm.DirichletProcess(), n=4)
    nrm.Partition("partly_known", nrm.DirichletProcess(), known=["a", None, "b", None])

# Models in one call.
assert_type(nrm.gaussian_mixture(X), pm.Model)
nrm.gaussian_mixture(X, n_directions=1)
nrm.gaussian_mixture(X, covariance="diagonal", measure=nrm.DirichletProcess(pm.Gamma.dist(2, 1)))
table = pd.DataFrame({"length": X[:, 0], "sex": ["f", "m", "f", None], "visits": counts[:, 0]})
from_table = nrm.mixture_model(table, kinds={"visits": "count"})
nrm.mixture_model(table, kinds={"visits": "count"}, known=[0] + [-1] * (len(table) - 1))
assert_type(from_table, pm.Model)
assert_type(nrm.table_data(from_table, table), dict[str, xr.DataArray])
regression = nrm.regression_model(pd.DataFrame({"height": X[:, 0], "age": X[:, 1]}), target="height")
assert_type(regression, pm.Model)
visits_table = pd.DataFrame({"id": [1, 1, 2, 2], "t": [0, 1, 0, 1], "y": X[:, 0], "age": [5, 5, 7, 7]})
growth = nrm.growth.growth_mixture(visits_table, subject="id", time="t", target="y", n_groups=2, membership=["age"])
assert_type(growth, pm.Model)
assert_type(nrm.table_data(growth, visits_table), dict[str, xr.DataArray])
nrm.growth.growth_mixture(visits_table, subject="id", time="t", target="y", degree=1, random_intercept=False)
assert_type(nrm.datasets.penguins(), pd.DataFrame)

forward = nrm.Partition.dist(nrm.DirichletProcess(1.0), n=4)
draws = pm.draw(nrm.Mixture.dist(forward, nrm.PoissonGamma(1.0, 1.0), shape=(4, 1)), 3, random_seed=1)

forward_measure = nrm.PitmanYorProcess(0.25, 1.0)
print(forward_measure.discount, forward_measure.concentration)
measure = nrm.NormalizedGeneralizedGamma(alpha=1.0, sigma=0.25)
print(measure.alpha, measure._replace(sigma=0.5), len(measure), np.shape(draws))

rows = nrm.Chunks(X, block_rows=3, n_followed=2, n_sampled=4, max_clusters=6, n_threads=1, copy=None, seed=2)
assert_type(rows.followed_values, pd.DataFrame)
with pm.Model() as chunked_model:
    in_chunks = nrm.Partition("z", nrm.DirichletProcess(1.0), chunks=rows)
    nrm.Mixture("x", in_chunks, nrm.NormalGamma.from_data(rows), observed=rows[["0", "1"]])
    chunked_idata = nrm.sample(5, tune=5, chains=1, step=[nrm.steps.ChunkedSampler(n_pairs=2, n_redrawn=2)], quiet=True)
assert_type(nrm.label_rows(chunked_idata, chunked_model, n_draws=2, random_seed=1, progressbar=False), xr.Dataset)
