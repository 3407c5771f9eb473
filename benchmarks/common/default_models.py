"""Models of a table with the defaults under test, and what they and peers report of it."""

import time
import warnings
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pymc as pm
from peers import latent_classes, partitioners

import pymc_nrm as nrm
from common.real_data_ours import quick_compilation, quietly, rhat
from pymc_nrm.families.learned.hyperpriors import Hyperpriors
from pymc_nrm.stats import adjusted_rand
from pymc_nrm.stats.point_estimate import draws_of_estimate

DRAWS, TUNE, CHAINS = 500, 300, 2
BIC = "BIC"


def _log_rows(n):
    """Given alpha, the number of clusters less one is about Poisson with mean ``alpha log n``: here about geometric,
    one cluster with probability 1/2, and 2 in the mean, for any number of rows.
    """
    return nrm.DirichletProcess(pm.Gamma.dist(1.0, np.log(n)))


def _gamma(shape, rate):
    return lambda n: nrm.DirichletProcess(pm.Gamma.dist(shape, rate))


# Priors of the partition of n rows, by name.
ALPHA = {
    "Gamma(2, 1)": _gamma(2, 1),
    "Gamma(2, 4)": _gamma(2, 4),
    "Gamma(1, 2)": _gamma(1, 2),
    "Gamma(1, 4)": _gamma(1, 4),
    "Gamma(1, log n)": _log_rows,
    "2 clusters, sd 1.5": lambda n: nrm.elicit(nrm.DirichletProcess, n, 2, sd=1.5, hyperprior="alpha"),
    "3 clusters, sd 2": lambda n: nrm.elicit(nrm.DirichletProcess, n, 3, sd=2, hyperprior="alpha"),
    "finite, rate Exponential(1)": lambda n: nrm.MixtureOfFiniteMixtures(1.0, pm.Exponential.dist(1.0)),
}


def _common_centre(prior):
    return prior.variable("centre", "Normal", 1.0, 1.5), 1.0


def _common_centre_and_spread(prior):
    return prior.variable("centre", "Normal", 1.0, 1.5), prior.log_normal("spread", 0.0, 0.5)


# Means and standard deviations of logarithms of the concentrations of binary and categorical columns.
LEVELS = {
    "LogNormal(0, 1)": lambda prior: (0.0, 1.0),
    "LogNormal(1, 1.5)": lambda prior: (1.0, 1.5),
    "LogNormal(2, 2)": lambda prior: (2.0, 2.0),
    "common centre": _common_centre,
    "common centre and spread": _common_centre_and_spread,
}
# The same of kappa, the variance of numbers within clusters over the variance of their means.
KAPPA = {"kappa (-3, 1)": (-3.0, 1.0), "kappa (-2, 1.5)": (-2.0, 1.5), "kappa (-1, 1.5)": (-1.0, 1.5)}
COVARIANCE = {"covariance by fit": None, "full": "full", "diagonal": "diagonal"}


@contextmanager
def hyperpriors_of(levels, kappa):
    """Let ``learned`` of families take these hyperpriors."""
    own_log_normal = Hyperpriors.log_normal

    def concentrations_of_levels(prior):
        return own_log_normal(prior, "concentration", *LEVELS[levels](prior), dims=prior.features())

    def log_normal(prior, label, mu, sigma, dims=None):
        mu, sigma = KAPPA[kappa] if label == "kappa" else (mu, sigma)
        return own_log_normal(prior, label, mu, sigma, dims)

    with mock.patch.multiple(Hyperpriors, concentrations_of_levels=concentrations_of_levels, log_normal=log_normal):
        yield


def write_model(table, alpha, levels, kappa, covariance):
    """Model of a table with priors of these names."""
    with hyperpriors_of(levels, kappa):
        measure = ALPHA[alpha](len(table.X))
        return nrm.mixture_model(table.X, kinds=table.kinds, measure=measure, covariance=COVARIANCE[covariance])


def n_groups(labels):
    """Number of groups that have at least two rows and 2 % of the rows."""
    return int((np.bincount(labels) >= max(2.0, 0.02 * len(labels))).sum())


def compared(table, labels):
    """What a report of labels is, as entries of a row."""
    return {"groups": n_groups(labels), "index": float(adjusted_rand(labels, table.groups))}


def ours(table, names, draws=DRAWS, tune=TUNE, chains=CHAINS):
    """What the package reports of a table, and how its chains did, as entries of a row."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = write_model(table, *names)
    idata = quietly(draws, tune, chains, 1, model)
    with quick_compilation():
        fused = nrm.fused_estimate(idata, model, random_seed=0, progressbar=False)
    seconds = time.process_time() - start
    counts = idata.posterior["z_n_clusters"]
    labels = draws_of_estimate(idata.posterior["z"], fused).values.reshape(-1, len(table.X))
    return compared(table, fused["labels"].values) | {
        "components": fused.sizes["component"],
        "clusters": float(counts.mean()),
        "one": float(np.mean([n_groups(draw) <= 1 for draw in labels])),
        "rhat": rhat(counts),
        "seconds": seconds,
    }


def by_bic(table):
    """What a mixture of the same kind by EM reports, its number of components chosen by BIC; None for mixed tables."""
    if table.kind == "mixed":
        return None
    found = partitioners.em(table, 1) if table.kind == "continuous" else latent_classes.fit(table, 1)
    return compared(table, found.labels) | {"components": len(np.unique(found.labels)), "seconds": found.seconds}
