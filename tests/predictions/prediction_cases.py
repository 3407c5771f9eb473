"""Small models of items, and draws of their partitions."""

from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from scipy import sparse

import pymc_nrm as nrm
from tests.cases import SMALL
from tests.helpers import canonical_labels, mixture_of

MEASURES = {"DP": nrm.DirichletProcess(0.8), "NGG": nrm.NormalizedGeneralizedGamma(0.6, 0.35)}

_nan = np.nan


class Case(NamedTuple):
    """A family with data of four items, and data of new ones."""

    family: Any
    X: Any
    new: Any


CASES = {
    "NormalGamma, missing": Case(
        nrm.NormalGamma(mu=[5.0, 0.0], kappa=0.3, alpha=2.5, beta=[0.8, 1.2]),
        np.array([[104.2, _nan], [105.6, 0.3], [_nan, -1.5], [106.3, 1.1]]),
        np.array([[105.0, 0.5], [50.0, _nan]]),
    ),
    "NormalGamma, vector": Case(
        nrm.NormalGamma(mu=0.0, kappa=0.3, alpha=2.5, beta=0.8), np.array([-0.4, 0.3, 1.5, 4.0]), np.array([0.7, -2.0])
    ),
    "PoissonGamma": Case(*SMALL["PoissonGamma"], np.array([[1, 1], [12, 0]])),
    "NormalWishart": Case(
        nrm.NormalWishart(mu=[0.0, 1.0], kappa=0.3, Psi=[[1.5, 0.4], [0.4, 1.0]], nu=6.0),
        np.array([[0.0, 0.4], [1.1, 1.9], [0.7, 0.6], [-1.6, 1.2]]),
        np.array([[0.3, 0.2], [7.0, -5.0]]),
    ),
    "BernoulliBeta, missing": Case(
        nrm.BernoulliBeta(0.6, [0.5, 0.8, 0.6]),
        np.array([[0, 1, 1], [0, 1, _nan], [1, 0, 1], [1, _nan, 0]]),
        np.array([[0, 0, 1], [1, _nan, 0]]),
    ),
    "CategoricalDirichlet": Case(
        nrm.CategoricalDirichlet(np.full((2, 3), 0.5)),
        np.array([[0, 1], [0, _nan], [1, 0], [2, 1]]),
        np.array([[0, 2], [_nan, 1]]),
    ),
    "MultinomialDirichlet, sparse": Case(
        SMALL["MultinomialDirichlet, sparse"].family,
        SMALL["MultinomialDirichlet, sparse"].X[:4],
        sparse.csr_array(np.array([[4, 1, 0], [0, 0, 2]])),
    ),
}

# Kernels are compiled for each family: the other rows are slow.
FAST = ("NormalGamma, missing", "NormalGamma, vector", "PoissonGamma")


def rows(names):
    """Names of cases, those of slow ones marked."""
    return [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in names]


def make_model(measure, case):
    n = case.X.shape[0]
    dims = ("item", "feature") if case.X.ndim == 2 else ("item",)
    coords = {"item": list("abcdef")[:n]}
    if case.X.ndim == 2:
        coords["feature"] = [f"feature {j}" for j in range(case.X.shape[1])]
    with pm.Model(coords=coords) as model:
        z = nrm.Partition("z", measure, dims="item")
        nrm.Mixture("x", z, case.family, observed=case.X, dims=dims)
    return model


def draws_of(labels, **variables):
    """Posterior with one chain of given labels, and other variables."""
    labels = np.asarray(labels)
    arrays = {name: (("chain", "draw"), np.asarray(values)[None]) for name, values in variables.items()}
    posterior = xr.Dataset({"z": (("chain", "draw", "item"), labels[None]), **arrays})
    posterior = posterior.assign_coords(chain=[0], draw=np.arange(len(labels)), item=list("abcdef")[: labels.shape[1]])
    return xr.DataTree.from_dict({"posterior": posterior})


def drawn_from_prior(model, labels):
    """A result with draws from the prior, with these labels of a flat partition, and the observed data."""
    with model:
        idata = pm.sample_prior_predictive(2, random_seed=1)
    posterior = idata["prior"].to_dataset()
    if posterior["z"].shape == labels.shape:
        posterior["z"] = posterior["z"].copy(data=labels)
    return xr.DataTree.from_dict({"posterior": posterior, "observed_data": idata["observed_data"].to_dataset()})


def extensions(partitions, labels):
    return np.flatnonzero((partitions[:, : len(labels)] == labels).all(axis=1))


# A response whose covariate is a mixture over the same partition.
W, Y = np.array([0.0, 0.4, 1.0, 3.0, 3.5]), np.array([0.3, 0.9, 2.2, -1.0, -1.9])
OF_W = nrm.NormalGamma(1.0, 0.3, 2.0, 0.8)
LINE = nrm.NormalRegression(None, [0.2, 0.5], 0.3 * np.eye(2), 2.5, 0.7)


def design(w):
    return pt.stack([pt.ones_like(w), w], axis=1)


def joint_model(measure=MEASURES["NGG"]):
    with pm.Model() as model:
        z = nrm.Partition("z", measure, n=5)
        w = nrm.Mixture("w", z, OF_W, observed=W)
        nrm.Mixture("y", z, LINE._replace(covariates=design(w)), observed=Y)
    return model


# Patients with an age, and visits whose response depends on age and time: patient 3 has none, and the response of visit
# 4 is missing.
PATIENTS = np.array([2, 0, 0, 1, 2])
AGE, TIME = np.array([0.2, 1.5, 0.9, -1.0]), np.array([0.0, 1.0, 2.0, 0.5, 1.5])
RESPONSE = np.array([1.9, 0.4, 0.7, -1.0, np.nan])
OF_AGE = nrm.NormalGamma(0.5, 0.3, 2.0, 0.8)
PLANE = nrm.NormalRegression(None, [0.2, 0.5, 0.0], 0.3 * np.eye(3), 2.5, 0.7)


def visits_model(measure=MEASURES["NGG"]):
    with pm.Model() as model:
        z = nrm.Partition("z", measure, n=4)
        age, time = nrm.Mixture("age", z, OF_AGE, observed=AGE)[PATIENTS], pm.Data("time", TIME)
        plane = PLANE._replace(covariates=pt.stack([pt.ones_like(time), age, time], axis=1))
        nrm.Mixture("y", z, plane, observed=RESPONSE, rows=PATIENTS, dims="visit")
    return model


def line_model(X):
    return mixture_of(nrm.NormalGamma(mu=0.0, kappa=0.01, alpha=2.0, beta=0.1), X)


def skewed_group():
    """A skewed group of a narrow and a wide component that exchange items, and a group apart."""
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.normal(0, 1, 40), rng.normal(1.5, 2, 40), np.linspace(20, 22, 40)])
    components = np.repeat([0, 1, 2], 40)
    flipped = (rng.random((40, 120)) < 0.1) & (components < 2)
    labels = np.stack([canonical_labels(row) for row in np.where(flipped, 1 - components, components)])
    return X, components, xr.Dataset({"z": (("chain", "draw", "item"), labels[None])})
