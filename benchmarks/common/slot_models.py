"""Mixtures without conjugate priors: with labels as an index, and with labels summed out of stick-breaking weights."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from scipy import stats

import pymc_nrm as nrm


class Problem(NamedTuple):
    """Data, priors of the parameters of components, and the likelihood of items."""

    y: Any
    x: Any
    priors: Callable
    likelihood: Any
    arguments: Callable
    log_density: Callable


def regressions(rng, n):
    """Three overlapping regressions with normal errors."""
    group, x = rng.choice(3, n, p=[0.5, 0.3, 0.2]), rng.uniform(-2, 2, n)
    intercept, slope, scale = np.array([[0, 2, -1], [1, -1, 0.5], [0.4, 0.4, 0.8]])[:, group]
    return Problem(
        intercept + slope * x + scale * rng.normal(size=n),
        x,
        lambda K: {
            "intercept": pm.Normal("intercept", 0, 2, shape=K),
            "slope": pm.Normal("slope", 0, 2, shape=K),
            "scale": pm.LogNormal("scale", -0.5, 0.5, shape=K),
        },
        pm.Normal,
        lambda p, x: {"mu": p["intercept"] + p["slope"] * x, "sigma": p["scale"]},
        lambda y, p, x: stats.norm.logpdf(y, p["intercept"] + p["slope"] * x, p["scale"]),
    )


def heavy_tails(rng, n):
    """Four clusters on a line with Student-t errors."""
    group = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    mean, scale = np.array([[-3, 0, 2.5, 6], [0.6, 0.5, 0.5, 0.8]])[:, group]
    return Problem(
        mean + scale * rng.standard_t(4, n),
        np.zeros(n),
        lambda K: {"mean": pm.Normal("mean", 0, 5, shape=K), "scale": pm.LogNormal("scale", -0.5, 0.5, shape=K)},
        pm.StudentT,
        lambda p, x: {"nu": 4.0, "mu": p["mean"], "sigma": p["scale"]},
        lambda y, p, x: stats.t.logpdf(y, 4, p["mean"], p["scale"]),
    )


def counts(rng, n):
    """Three Poisson regressions."""
    group, x = rng.choice(3, n, p=[0.5, 0.3, 0.2]), rng.uniform(-1, 1, n)
    level, slope = np.array([[0.5, 2.0, 1.5], [0.8, -0.6, 1.2]])[:, group]
    return Problem(
        rng.poisson(np.exp(level + slope * x)).astype(float),
        x,
        lambda K: {"level": pm.Normal("level", 1, 1.5, shape=K), "slope": pm.Normal("slope", 0, 1, shape=K)},
        pm.Poisson,
        lambda p, x: {"mu": pt.exp(p["level"] + p["slope"] * x)},
        lambda y, p, x: stats.poisson.logpmf(y, np.exp(p["level"] + p["slope"] * x)),
    )


PROBLEMS = {"three regressions": regressions, "Student-t clusters": heavy_tails, "Poisson regressions": counts}


def slot_model(problem, alpha, n_slots):
    """The Dirichlet process mixture with labels that index parameters of slots."""
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), n=len(problem.y), max_clusters=n_slots)
        parameters = {name: variable[z] for name, variable in problem.priors(n_slots).items()}
        problem.likelihood("y", **problem.arguments(parameters, problem.x), observed=problem.y)
    return model


def stick_model(problem, alpha, n_sticks):
    """The same, with weights of truncated stick-breaking and labels summed out."""
    with pm.Model() as model:
        v = pm.Beta("v", 1.0, alpha, shape=n_sticks - 1)
        log_weights = pt.concatenate([pt.log(v), [0.0]]) + pt.concatenate([[0.0], pt.cumsum(pt.log1p(-v))])
        arguments = problem.arguments(problem.priors(n_sticks), problem.x[:, None])
        log_p = pm.logp(problem.likelihood.dist(**arguments), problem.y[:, None])
        pm.Potential("y", pt.logsumexp(log_weights + log_p, axis=1).sum())
    return model


def stick_labels(problem, point, rng):
    """Draw the labels of all items given weights and parameters."""
    v = np.asarray(point["v"])
    with np.errstate(divide="ignore"):
        log_weights = np.append(np.log(v), 0.0) + np.append(0.0, np.cumsum(np.log1p(-v)))
    parameters = {name: value for name, value in point.items() if name != "v"}
    table = log_weights + problem.log_density(problem.y[:, None], parameters, problem.x[:, None])
    return (table + rng.gumbel(size=table.shape)).argmax(axis=1)


def functionals(problem, labels, parameters):
    """Number of clusters, complete log-likelihood, and size of the largest cluster."""
    indexed = {name: np.asarray(value)[labels] for name, value in parameters.items() if name != "v"}
    sizes = np.bincount(labels)
    return (sizes > 0).sum(), problem.log_density(problem.y, indexed, problem.x).sum(), sizes.max()
