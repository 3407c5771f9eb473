"""The package itself as a method for real data: a Dirichlet process mixture with learned hyperparameters."""

import logging
import time
import warnings
from functools import partial

import arviz_stats
import numpy as np
import pymc as pm
import pytensor

import pymc_nrm as nrm
from common.real_data_fits import Fit

NAME, FUSED = "pymc_nrm", "pymc_nrm, fused"
# Columns read by the rules of `column_kinds`, in place of kinds that are given.
AS_READ, AS_READ_FUSED = "pymc_nrm, as read", "pymc_nrm, as read, fused"
FUSED_NAMES = {NAME: FUSED, AS_READ: AS_READ_FUSED}
FAMILIES = {"binary": nrm.BernoulliBeta, "counts": nrm.PoissonGamma, "categorical": nrm.CategoricalDirichlet}
KINDS_WITH_DENSITY = ("continuous", *FAMILIES)
# Kinds of the columns of numbers of `short_path`, by kinds of data.
NUMBERS_AS = {"continuous": "numeric", "counts": "count", "binary": "binary", "mixed": "numeric"}
DRAWS, TUNE, CHAINS = 300, 300, 2


def short_path(data):
    """Model that the package writes for a table, with learned hyperparameters and the default DP(alpha).

    Numbers of continuous data have full covariances.  Sets of one kind of discrete columns may have constant ones,
    which the recipes refuse, so that their family is given.
    """
    if data.kind == "continuous":
        return nrm.gaussian_mixture(data.X)
    if data.kind == "mixed":
        return nrm.mixture_model(data.X, kinds=dict.fromkeys(data.X.select_dtypes("number").columns, "numeric"))
    with pm.Model() as model:
        alpha = pm.Exponential("alpha", np.log(len(data.X)))
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), n=len(data.X))
        nrm.Mixture("x", z, FAMILIES[data.kind].learned("x", data.values), observed=data.values)
    return model


def default_reading(data):
    """Model of a table whose columns are read by default."""
    return nrm.mixture_model(data.X)


def reads_otherwise(data):
    """Whether rules read a column of numbers of a set as another kind than `short_path` does."""
    numbers = data.X.select_dtypes("number")
    kinds = nrm.recipes.column_kinds(data.X)["kind"][numbers.columns]
    return not kinds.isin(["skip", NUMBERS_AS.get(data.kind)]).all()


def fit(data, seed, write_model=short_path):
    """Sample the model of a set; labels are the point estimate, and the density averages over draws."""
    start = time.process_time()
    model = write_model(data)
    idata = quietly(DRAWS, TUNE, CHAINS, seed, model)
    sampling = time.process_time() - start
    estimate = nrm.point_estimate(idata, random_seed=seed, progressbar=False)
    seconds = time.process_time() - start
    counts = nrm.stats.without_labels(idata).posterior["z_n_clusters"]
    about = {"rhat": rhat(counts), "mean_clusters": float(counts.mean())}
    similarity = nrm.similarity(idata, progressbar=False).values
    with quick_compilation():
        fused = nrm.fused_estimate(idata, model, estimate, random_seed=seed, progressbar=False)
    about |= {"sampling_seconds": sampling}
    density = partial(_density_of, idata, model, data)
    return Fit(estimate["labels"].values, seconds, density, similarity, about, fused["labels"].values)


def fit_for_density(data, seed):
    """The same with one chain, for a density only: labels are those of the last draw."""
    start = time.process_time()
    model = short_path(data)
    idata = quietly(DRAWS, TUNE, 1, seed, model)
    labels = idata.posterior["z"].values[-1, -1]
    return Fit(labels, time.process_time() - start, partial(_density_of, idata, model, data))


def quick_compilation():
    """Compile little: graphs of hyperparameters are small, and take longer to compile than to evaluate."""
    return pytensor.config.change_flags(mode="FAST_COMPILE")


def quietly(draws, tune, chains, seed, model, step=None, **further):
    """Draws of chains that run one after another in this process, without bars and warnings."""
    logging.getLogger("pymc").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"step": step, "tune": tune, "chains": chains, "cores": 1, "random_seed": seed, "progressbar": False}
        return nrm.sample(draws, model=model, compute_convergence_checks=False, quiet=True, **options, **further)


def _density_of(idata, model, data, X):
    """Log predictive density of new items: the log of the mean over draws, shape (m,)."""
    with quick_compilation():
        return nrm.log_predictive_density(idata, model, data._replace(X=X).values, progressbar=False).values


def rhat(values):
    """Split R-hat of a scalar of every draw; 1 if it never changes."""
    if float(values.std()) == 0:
        return 1.0
    return float(arviz_stats.rhat(values.to_dataset(name="value"))["value"])
