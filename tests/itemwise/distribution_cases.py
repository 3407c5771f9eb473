"""Distributions of PyMC, and ways to compute their parameters, each with a parameter that labels index."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from tests.itemwise.itemwise_cases import COUNTS, LONG, OF_FIVE, ORDER, PAIRS, SUBJECT, K, N, X, Y, normal

POSITIVE = np.abs(Y) + 0.3
UNIT = np.clip(POSITIVE / 3, 0.05, 0.9)
CURVES = np.outer(Y, X[:3])
SERIES = np.cos(np.arange(6.0 * N)).reshape(N, 6)
EYE = np.eye(2)


def positive(shape=K):
    return pm.LogNormal("positive", 0, 1, shape=shape)


def unit():
    return pm.Beta("unit", 2, 2, shape=K)


def mean(*shape):
    return normal("mean", (K, *shape))


def noise(mu, size):
    return 2.0 * pm.Normal.dist(mu, 1.0, size=size)


def polynomial(z):
    coefficients = mean(3)
    return sum(coefficients[z][:, power] * X**power for power in range(3))


def drift(z):
    matrix, chol = mean(2)[z], pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0))[0]
    return {"mu": matrix, "chol": chol}


START, START_2 = pm.Normal.dist(0, 1), pm.Normal.dist(0, 1, shape=2)
PAIR_START = pm.MvNormal.dist(np.zeros(2), EYE)

# Each adds the variable y to a model, given labels.
DISTRIBUTIONS = {
    "Beta": lambda z: pm.Beta("y", positive()[z], 2.0, observed=UNIT),
    "Gamma": lambda z: pm.Gamma("y", positive()[z], 1.0, observed=POSITIVE),
    "InverseGamma": lambda z: pm.InverseGamma("y", positive()[z], 1.0, observed=POSITIVE),
    "Laplace": lambda z: pm.Laplace("y", mean()[z], 1.0, observed=Y),
    "AsymmetricLaplace": lambda z: pm.AsymmetricLaplace("y", kappa=positive()[z], mu=0.0, b=1.0, observed=Y),
    "Cauchy": lambda z: pm.Cauchy("y", mean()[z], 1.0, observed=Y),
    "Logistic": lambda z: pm.Logistic("y", mean()[z], 1.0, observed=Y),
    "Gumbel": lambda z: pm.Gumbel("y", mean()[z], 1.0, observed=Y),
    "SkewNormal": lambda z: pm.SkewNormal("y", mu=mean()[z], sigma=1.0, alpha=2.0, observed=Y),
    "SkewStudentT": lambda z: pm.SkewStudentT("y", a=positive()[z], b=1.0, mu=0.0, sigma=1.0, observed=Y),
    "ExGaussian": lambda z: pm.ExGaussian("y", mu=mean()[z], sigma=1.0, nu=1.0, observed=Y),
    "VonMises": lambda z: pm.VonMises("y", mean()[z], 1.0, observed=Y),
    "Wald": lambda z: pm.Wald("y", positive()[z], 1.0, observed=POSITIVE),
    "Pareto": lambda z: pm.Pareto("y", positive()[z], 0.1, observed=POSITIVE),
    "Kumaraswamy": lambda z: pm.Kumaraswamy("y", positive()[z], 1.0, observed=UNIT),
    "TruncatedNormal": lambda z: pm.TruncatedNormal("y", mean()[z], 1.0, lower=-3.0, upper=4.0, observed=Y),
    "Uniform": lambda z: pm.Uniform("y", -5.0 - positive()[z], 5.0, observed=Y),
    "HalfStudentT": lambda z: pm.HalfStudentT("y", nu=3.0, sigma=positive()[z], observed=POSITIVE),
    "Exponential": lambda z: pm.Exponential("y", positive()[z], observed=POSITIVE),
    "LogitNormal": lambda z: pm.LogitNormal("y", mean()[z], 1.0, observed=UNIT),
    "Rice": lambda z: pm.Rice("y", nu=positive()[z], sigma=1.0, observed=POSITIVE),
    "Binomial": lambda z: pm.Binomial("y", n=5, p=unit()[z], observed=COUNTS),
    "BetaBinomial": lambda z: pm.BetaBinomial("y", n=5, alpha=positive()[z], beta=1.0, observed=COUNTS),
    "Geometric": lambda z: pm.Geometric("y", unit()[z], observed=COUNTS + 1),
    "DiscreteWeibull": lambda z: pm.DiscreteWeibull("y", q=unit()[z], beta=1.0, observed=COUNTS),
    "ZeroInflatedBinomial": lambda z: pm.ZeroInflatedBinomial("y", psi=unit()[z], n=5, p=0.5, observed=COUNTS),
    "HurdleGamma": lambda z: pm.HurdleGamma("y", psi=0.5, alpha=positive()[z], beta=1.0, observed=POSITIVE),
    "OrderedProbit": lambda z: pm.OrderedProbit("y", eta=mean()[z], cutpoints=np.array([-1.0, 1.0]), observed=ORDER),
    "cutpoints": lambda z: pm.OrderedLogistic("y", eta=0.0, cutpoints=pt.sort(mean(2)[z], axis=1), observed=ORDER),
    "Dirichlet": lambda z: pm.Dirichlet("y", a=positive((K, 3))[z], observed=np.full((N, 3), 1 / 3)),
    "DirichletMultinomial": lambda z: pm.DirichletMultinomial("y", n=5, a=positive((K, 3))[z], observed=OF_FIVE),
    "softmax": lambda z: pm.Multinomial("y", n=5, p=pt.special.softmax(mean(3)[z], axis=-1), observed=OF_FIVE),
    "MvStudentT": lambda z: pm.MvStudentT("y", nu=4, mu=mean(2)[z], scale=EYE, observed=PAIRS),
    "covariance": lambda z: pm.MvNormal("y", mu=mean(2)[0], cov=positive()[z][:, None, None] * EYE, observed=PAIRS),
    "precision": lambda z: pm.MvNormal("y", mu=mean(2)[z], tau=EYE, observed=PAIRS),
    "LKJCholeskyCov": lambda z: pm.MvNormal("y", **drift(z), observed=PAIRS),
    "some_values_missing": lambda z: pm.MvNormal(
        "y", mu=mean(2)[z], cov=EYE, observed=np.ma.masked_array(PAIRS, mask=PAIRS < -0.4)
    ),
    "AR": lambda z: pm.AR("y", rho=mean()[z][:, None], sigma=1.0, init_dist=START, shape=(N, 6), observed=SERIES),
    "AR_2": lambda z: pm.AR("y", rho=mean(2)[z], sigma=1.0, init_dist=START_2, shape=(N, 6), observed=SERIES),
    "MvGaussianRandomWalk": lambda z: pm.MvGaussianRandomWalk(
        "y", mu=mean(2)[z], cov=EYE, init_dist=PAIR_START, shape=(N, 3, 2), observed=SERIES.reshape(N, 3, 2)
    ),
    "weights": lambda z: pm.NormalMixture(
        "y", w=pm.Dirichlet("w", np.ones(2), shape=(K, 2))[z], mu=np.array([-1.0, 1.0]), sigma=1.0, observed=Y
    ),
    "two_kinds": lambda z: pm.Mixture(
        "y", w=[0.5, 0.5], comp_dists=[pm.Normal.dist(mean()[z], 1.0), pm.Laplace.dist(0.0, 1.0)], observed=Y
    ),
    "Censored": lambda z: pm.Censored(
        "y", pm.Normal.dist(mean()[z], 1.0), lower=-0.9, upper=1.0, observed=np.clip(Y, -0.9, 1.0)
    ),
    "Truncated": lambda z: pm.Truncated("y", pm.Poisson.dist(positive()[z]), lower=1, observed=COUNTS + 1),
    "CustomDist": lambda z: pm.CustomDist("y", mean()[z], dist=noise, observed=Y),
    "non_centred": lambda z: pm.Normal(
        "y", (mean()[z] + positive()[z] * normal("effect", N))[SUBJECT][:, None], 1.0, observed=LONG[:, None]
    ),
    "polynomial": lambda z: pm.Normal("y", polynomial(z), 1.0, observed=Y),
    "dot": lambda z: pm.Normal("y", pt.dot(mean(3)[z], np.ones((3, 6))), 1.0, observed=SERIES),
    "dot_and_transpose": lambda z: pm.Normal("y", pt.dot(np.ones((6, 3)), mean(3).T[:, z]).T, 1.0, observed=SERIES),
    "matmul": lambda z: pm.Normal("y", (mean(1, 3)[z] @ CURVES[:, :, None])[:, 0, 0], 1.0, observed=Y),
    "tile": lambda z: pm.Normal("y", pt.tile(mean()[z], (2, 1)).T, 1.0, observed=PAIRS),
    "repeat": lambda z: pm.Normal("y", pt.repeat(mean()[z], 2).reshape((N, 2)), 1.0, observed=PAIRS),
    "sort": lambda z: pm.Normal("y", pt.sort(mean(3)[z], axis=1), 1.0, observed=CURVES),
    "norm": lambda z: pm.Normal("y", pt.linalg.norm(mean(3)[z], axis=1), 1.0, observed=Y),
    "inverse": lambda z: pm.Normal("y", pt.linalg.inv(pt.exp(mean())[z][:, None, None] * EYE)[:, 0, 0], 1, observed=Y),
    "vectorize": lambda z: pm.Normal(
        "y", pt.vectorize(lambda b: (b * X[:3]).sum(), signature="(k)->()")(mean(3)[z]), 1.0, observed=Y
    ),
    "stack": lambda z: pm.Normal("y", pt.stack([mean()[z], X], axis=1), 1.0, observed=PAIRS),
    "diff": lambda z: pm.Normal("y", pt.diff(mean(4)[z], axis=1), 1.0, observed=CURVES),
    "modulo": lambda z: pm.Normal("y", mean()[(z + 1) % K], 1.0, observed=Y),
}
