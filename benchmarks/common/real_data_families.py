"""Families with their priors for real data, to be compared with each other.

A factory is a function ``family(data)`` that is called inside a PyMC model, adds what variables it needs, and returns
a family of the package.
"""

import numpy as np
import pymc as pm

import pymc_nrm as nrm


def published(data):
    """Fixed hyperparameters: those of Lee & Choi (2015) for continuous data, ones for others."""
    if data.kind == "continuous":
        return nrm.NormalWishart.from_data(data.values)
    if data.kind == "categorical":
        return nrm.CategoricalDirichlet(1.0, n_levels=[len(column.cat.categories) for _, column in data.X.items()])
    return {"binary": nrm.BernoulliBeta, "counts": nrm.PoissonGamma}[data.kind](1.0, 1.0)


def one_scale(data):
    """Full covariances with ``Psi = s Sigma``, s unknown; Sigma is the covariance of the data."""
    X = _continuous(data)
    d = X.shape[1]
    Sigma = np.cov(X, rowvar=False).reshape(d, d)
    scale = pm.LogNormal("scale", 0, 2)
    kappa = pm.LogNormal("kappa", np.log(0.1), 1)
    return nrm.NormalWishart(mu=X.mean(axis=0), kappa=kappa, Psi=scale * Sigma, nu=d + 6.0)


def scale_of_each(data):
    """Full covariances with mean ``diag(s_j Sigma_jj)`` and unknown s, nu and kappa."""
    X = _continuous(data)
    d = X.shape[1]
    scale = pm.LogNormal("scale", -1, 1, shape=d)
    freedom = pm.LogNormal("freedom", 1.5, 1)
    kappa = pm.LogNormal("kappa", -3, 1)
    Psi = pm.math.stack([scale * X.var(axis=0, ddof=1) * freedom])[0][:, None] * np.eye(d)
    return nrm.NormalWishart(mu=X.mean(axis=0), kappa=kappa, Psi=Psi, nu=d + 1 + freedom)


def learned(data):
    """The documented learned prior of the package for this kind of data."""
    kinds = {
        "continuous": nrm.NormalWishart,
        "binary": nrm.BernoulliBeta,
        "counts": nrm.PoissonGamma,
        "categorical": nrm.CategoricalDirichlet,
    }
    return kinds[data.kind].learned("x", data.values)


def _continuous(data):
    if data.kind != "continuous":
        raise ValueError(f"this prior is for continuous data, and {data.name} is {data.kind}")
    return data.values


FAMILIES = {"published": published, "one_scale": one_scale, "scale_of_each": scale_of_each, "learned": learned}
