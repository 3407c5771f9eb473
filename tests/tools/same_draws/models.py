"""Small models of every kind of partition, family and measure."""

from functools import partial

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.families.definitions.principal_normal_wishart import PrincipalNormalWishart
from tests.cases import MEASURES
from tests.tools.wings import rows_of_wings

NAN = np.nan
REAL = np.array([[0.0, 0.4], [0.2, 0.1], [4.0, NAN], [4.4, 3.9], [9.1, 0.2], [9.4, 0.3]])
FULL = np.where(np.isnan(REAL), 4.1, REAL)
COUNTS = np.array([[1, 4], [3, 2], [15, 4], [12, 0], [2, 9], [0, 8]])
BITS = np.array([[1, 1, 0], [1, NAN, 0], [0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 0, 1]])
LEVELS = np.array([[0, 1, 2], [0, NAN, 2], [1, 0, 0], [0, 1, 1], [1, 1, 2], [0, 1, 2]])
TOTALS = np.array([[2, 1, 0], [1, 2, 1], [0, 1, 3], [2, 0, 1], [0, 0, 4], [3, 1, 0]])
FAMILIES = {
    "NormalGamma": (nrm.NormalGamma([5.0, 0.0], 0.3, 1.5, [0.8, 1.2]), REAL),
    "NormalWishart": (nrm.NormalWishart([0.0, 1.0], 0.3, [[1.5, 0.4], [0.4, 1.0]], 5.0), FULL),
    "PoissonGamma": (nrm.PoissonGamma([1.2, 0.8], 0.4), COUNTS),
    "BernoulliBeta": (nrm.BernoulliBeta(0.6, [0.5, 0.8, 0.6]), BITS),
    "CategoricalDirichlet": (nrm.CategoricalDirichlet(0.5, 3), LEVELS),
    "MultinomialDirichlet": (nrm.MultinomialDirichlet([0.9, 1.1, 0.4], [3, 4, 4, 3, 4, 4]), TOTALS),
}
POSITIVE = np.array([[1.0, 0.4], [1.3, 0.1], [4.0, 9.0], [4.4, 3.9], [9.1, 0.2], [9.4, 0.3]])
WIDE = np.column_stack([FULL, FULL[:, 0] - 0.3 * FULL[:, 1] + np.array([0.1, -0.2, 0.3, 0.0, -0.1, 0.2])])
BROAD = np.column_stack([WIDE, np.cos(np.arange(24.0)).reshape(6, 4)])
LINE = np.column_stack([np.ones(6), [0.0, 1.0, 2.0, 0.5, 3.0, 2.5]])
# Families made of the others, and of rows with covariates.
MORE_FAMILIES = {
    "NormalRegression": (nrm.NormalRegression(LINE, [0.2, 0.5], 0.3 * np.eye(2), 2.5, 0.7), REAL[:, 1]),
    "LogNormalGamma": (nrm.LogNormalGamma([1, 0], [1.0, 1.0], 0.3, 1.5, [0.8, 1.2]), POSITIVE),
    "LogNormalWishart": (nrm.LogNormalWishart([0, 1], [4.0, 0.0], 0.3, [[1.5, 0.4], [0.4, 1.0]], 5.0), POSITIVE),
    "PoissonGamma with gaps": (nrm.PoissonGamma([1.2, 0.8], 0.4), np.where(LEVELS[:, :2] == 0, NAN, COUNTS)),
    "HurdlePoisson": (nrm.HurdlePoisson(0.6, [0.5, 0.8], [1.2, 0.8], 0.4), COUNTS),
    "HurdleLogNormal": (
        nrm.HurdleLogNormal(0.6, [0.5, 0.8], [0.0, 1.0], 0.3, 1.5, [0.8, 1.2]),
        POSITIVE * (COUNTS > 3),
    ),
}
LABELS = np.array([0, 0, 1, 1, 2, 0])
CLUSTERS = xr.DataArray(LABELS, dims="item")
ANIMALS = {"item": list("abcdef")}
KNOWN, TOGETHER = ["a", "a", None, "b", None, None], [0, 0, 1, 2, 2, 3]


def flat(measure=MEASURES["DP"], *families, observed=True, **partition):
    """A flat partition with fixed hyperparameters and a mixture for each family."""
    with pm.Model(coords=ANIMALS) as model:
        z = nrm.Partition("z", measure, dims="item", **partition)
        for k, name in enumerate(families):
            family, X = (FAMILIES | MORE_FAMILIES)[name]
            nrm.Mixture(f"x{k}", z, family, **({"observed": X} if observed else {"shape": X.shape}))
    return model


def learned_flat(measure="NGG", family="NormalGamma"):
    with pm.Model(coords=ANIMALS) as model:
        alpha = pm.Gamma("alpha", 2, 1)
        if measure == "NGG":
            prior = nrm.NormalizedGeneralizedGamma(alpha, pm.Beta("sigma", 1, 3))
        else:
            prior = nrm.PitmanYorProcess(0.2, alpha) if measure == "PY" else nrm.MixtureOfFiniteMixtures(alpha, 2.0)
        z = nrm.Partition("z", prior, dims="item")
        X = FAMILIES[family][1]
        nrm.Mixture("x", z, getattr(nrm, family).learned("x", X), observed=X, dims=("item", "feature"))
    return model


def principal(family, X):
    """A family behind a map of the columns, whose directions are those of the data."""
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURES["DP"], n=6)
        nrm.Mixture("x", z, family.learned("x", X, 2), observed=X)
    return model


def rows_of_items(family):
    """Items with several rows or none, and a mixture with one row for each item."""
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURES["NGG"], n=5)
        nrm.Mixture("x0", z, FAMILIES[family][0], observed=FAMILIES[family][1], rows=[0, 1, 1, 2, 3, 0])
        nrm.Mixture("x1", z, FAMILIES["PoissonGamma"][0], observed=COUNTS[:5])
    return model


def gaps():
    """Missing entries that are sampled, and a mixture without any."""
    with pm.Model(coords=ANIMALS) as model:
        z = nrm.Partition("z", MEASURES["DP"], dims="item")
        nrm.Mixture("x", z, FAMILIES["NormalWishart"][0], observed=REAL)
        nrm.Mixture("x1", z, FAMILIES["PoissonGamma"][0], observed=COUNTS)
    return model


def chunks():
    """Rows in chunks, in three clusters; few enough that diagnostics look at all pairs."""
    X = np.random.default_rng(1).normal(size=(30, 2)) + 4.0 * (np.arange(30) % 3)[:, None]
    rows = nrm.Chunks(X)
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), chunks=rows)
        nrm.Mixture("x", z, nrm.NormalGamma.from_data(rows), observed=rows)
    return model


def slots(measure=MEASURES["DP"], clusters=4, mixture=False):
    """Labels that index parameters; also with a mixture over them."""
    with pm.Model(coords={"cluster": range(clusters)}) as model:
        Y = pm.Data("Y", FULL[:, 0])
        z = nrm.Partition("z", measure, n=Y.shape[0], max_clusters="cluster")
        mu = pm.Normal("mu", 3.0, 3.0, dims="cluster")
        sigma = pm.HalfNormal("sigma", 1.0)
        pm.Normal("y", mu[z], sigma, observed=Y)
        if mixture:
            nrm.Mixture("x", z, FAMILIES["PoissonGamma"][0], observed=COUNTS)
    return model


def own_weights(mixture=False):
    """Labels with weights that are a softmax of covariates, with NUTS on everything else; also with a mixture."""
    with pm.Model(coords=ANIMALS | {"cluster": range(3)}) as model:
        slope = pm.Normal("slope", 0.0, 1.0, dims="cluster")
        z = nrm.Partition("z", log_weights=pt.special.log_softmax(LINE[:, 1:] * slope, axis=1), dims="item")
        mu = pm.Normal("mu", 3.0, 3.0, dims="cluster")
        pm.Normal("y", mu[z], 1.0, observed=FULL[:, 0], dims="item")
        if mixture:
            nrm.Mixture("x", z, FAMILIES["PoissonGamma"][0], observed=COUNTS)
    return model


def several():
    """A flat partition, one whose labels index parameters, and one with weights of its own."""
    with pm.Model(coords=ANIMALS) as model:
        z = nrm.Partition("z", MEASURES["DP"], dims="item")
        nrm.Mixture("x", z, nrm.NormalGamma.learned("x", REAL), observed=REAL)
        w = nrm.Partition("w", MEASURES["NGG"], n=6, max_clusters=4)
        mu = pm.Normal("mu", 3.0, 3.0, shape=4)
        pm.Normal("y", mu[w], 1.0, observed=FULL[:, 0])
        v = nrm.Partition("v", log_weights=np.log([0.5, 0.2, 0.3]), dims="item")
        nrm.Mixture("x1", v, FAMILIES["BernoulliBeta"][0], observed=BITS)
    return model


KINDS = {
    "flat": learned_flat,
    "flat PoissonGamma": partial(learned_flat, "PY", "PoissonGamma"),
    "flat NormalWishart": partial(learned_flat, "MFM", "NormalWishart"),
    "two families": partial(flat, MEASURES["NIG"], "NormalGamma", "PoissonGamma"),
    "slots": slots,
    "slots MFM": partial(slots, MEASURES["MFM"]),
    "slots and mixture": partial(slots, mixture=True),
    "flat CategoricalDirichlet": partial(learned_flat, "PY", "CategoricalDirichlet"),
    "known labels": partial(flat, MEASURES["NGG"], "NormalGamma", known=KNOWN),
    "together": partial(flat, MEASURES["NGG"], "PoissonGamma", together=TOGETHER),
    "rows of items": partial(rows_of_items, "NormalGamma"),
    "principal": partial(principal, PrincipalNormalWishart, WIDE),
    "gaps": gaps,
    "chunks": chunks,
    "own weights": own_weights,
    "own weights and mixture": partial(own_weights, mixture=True),
    "several": several,
} | rows_of_wings("KINDS", "same_draws")
