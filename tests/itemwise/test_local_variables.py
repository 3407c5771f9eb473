"""Parameters of slots that the rest of a model ties together are not local, wherever the tie shows in values."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from itemwise_cases import K, N, model_of, normal
from pymc.distributions import transforms
from pytensor.compile.ops import wrap_py

import pymc_nrm as nrm
from pymc_nrm.models.itemwise.local_variables import local_variables

Y = np.linspace(-1.0, 1.0, N)


@wrap_py(itypes=[pt.dvector], otypes=[pt.dvector])
def of_the_user(mu):
    return mu


def scanned(mu):
    return pytensor.scan(lambda one, last: last + one, sequences=mu, outputs_info=pt.zeros(()), return_updates=False)


# Functions of the parameters of slots whose sum is a term of the log-probability.
TIES = {
    "hinge": lambda mu: -3 * pt.maximum(mu[0] - mu[1], 0.0),
    "hinge far away": lambda mu: -3 * pt.maximum(mu[0] - mu[1] - 1e3, 0.0),
    "order": lambda mu: pt.switch(pt.all(mu[1:] > mu[:-1]), 0.0, -np.inf),
    "soft order": lambda mu: pt.switch(pt.all(mu[1:] > mu[:-1]), 0.0, -20.0),
    "largest": lambda mu: -5 * pt.maximum(pt.abs(mu) - 4, 0.0).max(),
    "sum": lambda mu: -2 * pt.maximum(mu.sum() - 12, 0.0),
    "every entry": lambda mu: -(mu**2),
    "one entry": lambda mu: -(mu[2] ** 2),
    "last entry": lambda mu: -(mu[-1] ** 2),
    "entries of some": lambda mu: -(mu[np.array([0, 3])] ** 2),
    "mask": lambda mu: mu[np.array([True, False, True, False])],
    "slice": lambda mu: mu[1:3],
    "differences": lambda mu: -pt.abs(mu[1:] - mu[:-1]),
    "pairs": lambda mu: -pt.exp(-((mu[:, None] - mu[None, :]) ** 2)),
    "mean": lambda mu: mu.mean(),
    "product": lambda mu: mu.prod(),
    "largest of all": lambda mu: mu.max(),
    "smallest of all": lambda mu: mu.min(),
    "argmax": lambda mu: pt.argmax(mu).astype("float64"),
    "sorted": lambda mu: pt.sort(mu)[0],
    "sorted by": lambda mu: pt.argsort(mu).astype("float64")[0],
    "cumulative": lambda mu: pt.cumsum(mu),
    "softmax": lambda mu: pt.special.softmax(mu)[0],
    "log of sums": lambda mu: pt.logsumexp(mu),
    "inner product": lambda mu: pt.dot(mu, mu),
    "matrix": lambda mu: pt.dot(np.ones((2, K)), mu),
    "quadratic form": lambda mu: mu @ (0.5 * np.eye(K) + 0.5) @ mu,
    "any": lambda mu: pt.switch(pt.any(mu > 100), -np.inf, 0.0),
    "number above": lambda mu: -(mu > 50).sum().astype("float64"),
    "number by shape": lambda mu: -1.0 * pt.nonzero(mu > 50)[0].shape[0],
    "picked by itself": lambda mu: mu[(mu > 0).astype("int64")],
    "determinant": lambda mu: pt.log(1 + pt.linalg.det(pt.diag(mu)) ** 2),
    "reversed": lambda mu: mu * mu[::-1],
    "rolled": lambda mu: mu * pt.roll(mu, 1),
    "set": lambda mu: pt.set_subtensor(pt.zeros(K)[:1], mu[1:2]),
    "increased": lambda mu: pt.inc_subtensor(pt.zeros(2)[0], mu[1]),
    "joined": lambda mu: pt.concatenate([mu, mu]).sum(),
    "reshaped": lambda mu: mu.reshape((2, 2)).sum(0),
    "scan": scanned,
    "operation of the user": of_the_user,
    "scaled to nothing": lambda mu: 1e-300 * mu.sum(),
    "rounded": lambda mu: -pt.floor(pt.abs(mu.sum()) / 1e6),
    "condition": lambda mu: pm.logp(pm.Normal.dist(0, mu + 100.0), np.zeros(K)),
    "size of clusters": lambda mu: pt.switch(mu.sum() > 1e5, -1.0, 0.0),
}


def add_tied(z, tie, term):
    mu, free = pm.Normal("mu", 0, 2, shape=K), normal("free")
    if term == "potential":
        pm.Potential("tie", tie(mu))
    elif term == "variable":
        pm.Normal("tied", tie(mu).sum(), 1)
    pm.Normal("y", mu[z] + free[z] + (tie(mu).sum() if term == "likelihood" else 0.0), 1, observed=Y)


@pytest.mark.parametrize("term", ["potential", "likelihood", "variable"])
@pytest.mark.parametrize("name", TIES)
def test_slots_that_are_tied(name, term):
    assert names(model_of(lambda z: add_tied(z, TIES[name], term))) == ["free"]


def names(model):
    return [rv.name for rv in local_variables(model, model["z"], K, model.initial_point())]


# Ways to read parameters at labels only.
READ = {
    "labels": lambda mu, z: mu[z],
    "rows of items": lambda mu, z: mu[z][np.arange(N)[::-1]],
    "labels of some items": lambda mu, z: mu[z[np.array([0, 2, 2, 1, 4])]],
    "function before": lambda mu, z: pt.exp(mu)[z],
    "function after": lambda mu, z: pt.exp(mu[z]) + 1,
    "take": lambda mu, z: pt.take(mu, z),
    "sum over items": lambda mu, z: mu[z].sum() + pt.zeros(N),
    "all pairs of items": lambda mu, z: (mu[z][:, None] * mu[z]).sum(1),
    "single labels": lambda mu, z: pt.stack([mu[z[i]] for i in range(N)]),
    "matrix of labels": lambda mu, z: mu[z[:, None]][:, 0],
    "centred": lambda mu, z: mu[z] - mu[z].mean(),
    "two columns": lambda mu, z: pt.stack([mu, mu**2], axis=1)[z, np.array([0, 1, 0, 1, 1])],
    "across": lambda mu, z: pt.stack([mu, mu**2])[:, z].sum(0),
    "small labels": lambda mu, z: mu[z.astype("int8")],
    "repeated": lambda mu, z: mu[pt.repeat(z, 2)].reshape((N, 2)).sum(1),
}

NOT_READ_AT_LABELS = {
    "other entry": lambda mu, z: mu[(z + 1) % K],
    "from the end": lambda mu, z: mu[::-1][z],
    "half of the labels": lambda mu, z: mu[z // 2],
    "by equality": lambda mu, z: pt.eq(z[:, None], np.arange(K)) @ mu,
    "largest label": lambda mu, z: mu[: z.max() + 1].sum() + pt.zeros(N),
    "chosen label": lambda mu, z: mu[pt.switch(z > 0, z, 3)],
    "data": lambda mu, z: mu[pm.Data("which", np.array([0, 1, 2, 3, 3]))] + 0.0 * z,
}


@pytest.mark.parametrize("name", [*READ, *NOT_READ_AT_LABELS])
def test_ways_to_read_parameters(name):
    model = model_of(lambda z: pm.Normal("y", (READ | NOT_READ_AT_LABELS)[name](normal("mu"), z), 1, observed=Y))
    assert names(model) == (["mu"] if name in READ else [])


@pytest.mark.slow
def test_priors_that_keep_slots_apart():
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=N, max_clusters=K)
        tau = pm.HalfNormal("tau", 1)
        scale = pm.LogNormal("scale", 0, 1, shape=K)
        pm.Gamma("gamma", 2, scale, shape=K)
        pm.Beta("beta", scale, 1 + scale, shape=K)
        pm.Uniform("uniform", 0, scale, shape=K)
        pm.Truncated("truncated", pm.Normal.dist(0, tau), lower=0, shape=K)
        pm.StudentT("t", nu=3, mu=0, sigma=pt.sqrt(scale) / (1 + scale), shape=K)
        chol, _, _ = pm.LKJCholeskyCov("chol", 2, n=2, sd_dist=pm.HalfNormal.dist(1))
        vectors = pm.MvNormal("vectors", np.zeros(2), chol=chol, shape=(K, 2))
        pm.Dirichlet("shares", np.ones(3), shape=(K, 3))
        pm.Normal("row", pt.sort(vectors, axis=1)[:, 0], 1, shape=K)
        start = np.ones((K, 1)) * [0.0, 1.0, 2.0]
        pm.Normal("cut", shape=(K, 3), transform=transforms.ordered, initval=start)
        pm.MvNormal("y", vectors[z], chol=chol, observed=np.c_[Y, Y])
    expected = ["scale", "gamma", "beta", "uniform", "truncated", "t", "vectors", "shares", "row", "cut"]
    assert names(model) == expected


def test_priors_that_tie_slots():
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=N, max_clusters=K)
        sign = pm.Normal("sign", 1, 1, shape=K)
        pm.Normal("of any sign", 0, sign, shape=K, initval=np.zeros(K))
        pm.Dirichlet("weights", np.ones(K))
        pm.GaussianRandomWalk("walk", 0, 1, init_dist=pm.Normal.dist(), shape=K)
        pm.MvNormal("field", np.zeros(K), 0.5 * np.eye(K) + 0.5)
        pm.Flat("flat", shape=K)
        pm.ZeroSumNormal("sum to zero", shape=K)
        pm.Normal("ordered", shape=K, transform=transforms.ordered, initval=np.arange(1.0 * K))
        pm.Normal("second", pm.Normal("first", shape=K)[::-1], 1, shape=K)
        pm.Uniform("bounded", 0, pm.Normal("upper", 5, 1, shape=K), shape=K)
        pm.Normal("y", sign[z], 1, observed=Y)
    # Given upper bounds or the first variable, those that depend on them are drawn one by one.
    assert names(model) == ["of any sign", "second", "bounded"]


def test_as_many_items_as_slots():
    model = model_of(lambda z: pm.Normal("latent", normal("mean")[z], 1, shape=K), n=K)
    assert names(model) == ["mean"]
