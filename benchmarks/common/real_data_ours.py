"""The package itself as a method for real data: a Dirichlet process mixture, with the family as a parameter."""

import logging
import time
import warnings
from functools import partial

import numpy as np
import pymc as pm
from scipy.special import logsumexp

import pymc_nrm as nrm
from common.real_data_families import learned
from common.real_data_fits import Fit

NAME = "pymc_nrm"
KINDS = ("continuous", "binary", "counts", "categorical")
DRAWS, TUNE, CHAINS = 300, 300, 2


def dirichlet_process(data, family=learned):
    """Model of a partition of the items under DP(alpha), alpha ~ Gamma(2, 1).

    Parameters
    ----------
    data : DataSet
    family : callable
        ``family(data)``, see ``common.real_data_families``.
    """
    with pm.Model() as model:
        alpha = pm.Gamma("alpha", 2, 1)
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), n=len(data.X))
        nrm.Mixture("x", z, family(data), observed=data.values)
    return model


def fit(data, seed, *, family=learned, draws=DRAWS, tune=TUNE, chains=CHAINS):
    """Sample the model of a set; labels are the point estimate, and the density averages over draws.

    Returns
    -------
    Fit
        ``about`` has ``rhat``, the R-hat of the number of clusters; ``mean_clusters``, its posterior mean;
        ``log_joint``, the mean log joint density of labels and data; and ``sampling_seconds``.
    """
    start = time.process_time()
    model = dirichlet_process(data, family)
    idata = quietly(draws, tune, chains, seed, model)
    sampling = time.process_time() - start
    estimate = nrm.point_estimate(idata, random_seed=seed, progressbar=False)
    seconds = time.process_time() - start
    scalars = nrm.without_labels(idata).posterior
    counts = scalars["z_n_clusters"]
    about = {
        "rhat": rhat(counts) if chains > 1 else None,
        "mean_clusters": float(counts.mean()),
        "log_joint": float(scalars["z_log_joint"].mean()),
        "sampling_seconds": sampling,
    }
    similarity = nrm.similarity(idata, progressbar=False).values
    density = partial(_density_of, idata, model, data)
    return Fit(estimate["labels"].values, seconds, density, similarity, about)


def fit_for_density(data, seed, *, family=learned, draws=DRAWS, tune=TUNE):
    """The same with one chain, for a density only: labels are those of the last draw."""
    start = time.process_time()
    model = dirichlet_process(data, family)
    idata = quietly(draws, tune, 1, seed, model)
    labels = idata.posterior["z"].values[-1, -1]
    return Fit(labels, time.process_time() - start, partial(_density_of, idata, model, data))


def quietly(draws, tune, chains, seed, model):
    """Draws of chains that run one after another in this process, without bars and warnings."""
    logging.getLogger("pymc").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"tune": tune, "chains": chains, "cores": 1, "random_seed": seed, "progressbar": False}
        return nrm.sample(draws, model=model, compute_convergence_checks=False, quiet=True, **options)


def _density_of(idata, model, data, X):
    """Log predictive density of new items: the log of the mean over draws, shape (m,)."""
    found = nrm.density(idata, model, data._replace(X=X).values, progressbar=False)["density"]
    with np.errstate(divide="ignore"):
        draws = np.log(found.values.reshape(-1, found.shape[-1]))
    return logsumexp(draws, axis=0) - np.log(len(draws))


def rhat(values):
    """Split R-hat of a scalar of every draw; 1 if it never changes."""
    import arviz_stats

    if float(values.std()) == 0:
        return 1.0
    return float(arviz_stats.rhat(values.to_dataset(name="value"))["value"])
