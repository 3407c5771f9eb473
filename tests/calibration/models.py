"""One model with hyperpriors for each family; each replication sets new data."""

import numpy as np
import pymc as pm
import pytensor

import pymc_nrm as nrm
from tests.tools.wings import rows_of_wings

N_ITEMS = 12

COVARIATES = np.column_stack([np.ones(N_ITEMS), np.linspace(-1.0, 2.0, N_ITEMS)])


# Missing entries: a third of all at random, and one item without values.
GAPS = np.random.default_rng(1).random((N_ITEMS, 2)) < 1 / 3
GAPS[5] = True


def wishart(s):
    return nrm.NormalWishart(mu=[0.0, 1.0], kappa=0.3, Psi=s * np.eye(2), nu=5.0)


# Family given its random hyperparameter, number of features (None for a vector), and whether the data are counts.
FAMILIES = {
    "NormalGamma": (lambda s: nrm.NormalGamma(mu=[0.0, 1.0], kappa=0.3, alpha=2.5, beta=s), 2, False),
    "NormalWishart": (wishart, 2, False),
    "NormalWishart with gaps": (wishart, 2, False),
    "HurdleLogNormal": (lambda s: nrm.HurdleLogNormal(1.0, [0.5, 1.5], [0.0, 1.0], 0.3, 2.5, s), 2, False),
    "HurdlePoisson": (lambda s: nrm.HurdlePoisson(1.0, [0.5, 1.5], [1.0, 2.0], s), 2, True),
    "LogNormalGamma": (lambda s: nrm.LogNormalGamma([1, 0], [0.0, 1.0], 0.3, 2.5, s), 2, False),
    "LogNormalWishart": (lambda s: nrm.LogNormalWishart([0, 1], *wishart(s)), 2, False),
    "NormalRegression": (lambda s: nrm.NormalRegression(COVARIATES, [0.0, 1.0], 0.3 * np.eye(2), 2.5, s), None, False),
    "PoissonGamma": (lambda s: nrm.PoissonGamma([1.0, 2.0], s), 2, True),
    "BernoulliBeta": (lambda s: nrm.BernoulliBeta(s, [0.5, 0.8, 1.0, 0.6]), 4, True),
    "CategoricalDirichlet": (lambda s: nrm.CategoricalDirichlet(s, [2, 3, 3]), 3, True),
    "MultinomialDirichlet": (lambda s: nrm.MultinomialDirichlet(s, total=5), 3, True),
} | rows_of_wings("CALIBRATED_FAMILIES")


# Membership depends on a covariate, and the hyperpriors of the regression are those of `learned`.
DENSITY_REGRESSION = "NormalRegression, learned, on a Mixture"
# Models of wings, by their names.
OF_WINGS = rows_of_wings("CALIBRATED")


def make_model(kind):
    """Model of a family: a random measure, a random scale, and data to be set."""
    if kind == DENSITY_REGRESSION:
        return _density_regression()
    if kind in OF_WINGS:
        return OF_WINGS[kind][0]()
    family, d, counts = FAMILIES[kind]
    start = np.zeros((N_ITEMS, d) if d else N_ITEMS, dtype="int64" if counts else "float64")
    if kind == "MultinomialDirichlet":
        start[:, 0] = 5
    if kind.endswith("with gaps"):
        start[GAPS] = np.nan
    if kind.startswith("LogNormal"):
        start += 1.0
    with pm.Model() as model:
        X = pytensor.shared(start, name="X")
        alpha, sigma = pm.Gamma("alpha", 2, 1), pm.Beta("sigma", 1, 3)
        z = nrm.Partition("z", nrm.NormalizedGeneralizedGamma(alpha, sigma), n=N_ITEMS)
        scale = pm.Gamma("scale", 4, 2)
        nrm.Mixture("x", z, family(scale), observed=X)
    return model


def _density_regression():
    start = np.random.default_rng(1).normal(size=(2, N_ITEMS))
    with pm.Model() as model:
        W, X = pytensor.shared(start[0], name="W"), pytensor.shared(start[1], name="X")
        alpha, sigma = pm.Gamma("alpha", 2, 1), pm.Beta("sigma", 1, 3)
        z = nrm.Partition("z", nrm.NormalizedGeneralizedGamma(alpha, sigma), n=N_ITEMS)
        scale = pm.Gamma("scale", 4, 2)
        w = nrm.Mixture("w", z, nrm.NormalGamma(mu=0.0, kappa=0.3, alpha=2.5, beta=scale), observed=W)
        # The hyperpriors are centred at data that replications replace.
        nrm.Mixture("x", z, nrm.NormalRegression.learned("x", start[1], w), observed=X)
    return model
