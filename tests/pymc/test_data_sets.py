"""Data sets whose posterior is known from other programs."""

import importlib.util
import pathlib

import arviz as az
import numpy as np
import pymc as pm
import pytest

import pymc_nrm as nrm
from pymc_nrm.testing import mean_and_error
from tests.helpers import mixture_of

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "galaxies.py"
QUIET = {"progressbar": False, "quiet": True, "compute_convergence_checks": False, "cores": 1}


def sample(X, family, draws, tune, chains, **options):
    with mixture_of(family, X):
        return pm.sample(draws, tune=tune, chains=chains, random_seed=1, **(QUIET | options))


@pytest.mark.slow
def test_thirteen_gaussians(shared):
    """E[n_clusters] = 13.60 and P(13, ..., 16) = .546, .331, .10, .02; Lee & Choi (2015), table of the toy data."""
    X = np.loadtxt(shared / "data" / "lee_choi_toy" / "X.txt")
    draws = sample(X, nrm.NormalWishart.from_data(X), 1500, 300, 2)
    n_clusters = draws.posterior["z_n_clusters"].values
    mean, error, _ = mean_and_error(n_clusters)
    assert abs(mean - 13.60) < 5 * np.hypot(error, 0.01)
    assert error < 0.05
    for k, probability in ((13, 0.546), (14, 0.331), (15, 0.10), (16, 0.02)):
        share, error, _ = mean_and_error(n_clusters == k)
        assert abs(share - probability) < 5 * np.hypot(error, 0.006)


@pytest.mark.slow
def test_six_overlapping_gaussians(shared):
    """E[n_clusters] = 10.87 +- 0.04, sd 2.06, by an independent Gibbs sampler."""
    X = np.loadtxt(shared / "bench" / "x1000.csv", delimiter=",", skiprows=1)
    family = nrm.NormalWishart(mu=0.0, kappa=0.1, Psi=5.0 * np.eye(2), nu=8.0)
    n_clusters = sample(X, family, 6000, 500, 2).posterior["z_n_clusters"].values
    mean, error, _ = mean_and_error(n_clusters)
    assert error < 0.12
    assert abs(mean - 10.87) < 5 * np.hypot(error, 0.04)
    assert n_clusters.std() == pytest.approx(2.06, abs=0.15)


# Errors of the published figures are not known: as large as ours, and half of their last digit.
N_ERRORS = 4 * np.sqrt(2)


@pytest.mark.slow
def test_galaxies_under_the_priors_of_favaro_and_teh():
    pytest.importorskip("arviz_plots")
    pytest.importorskip("matplotlib")
    spec = importlib.util.spec_from_file_location("galaxies_example", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    with example.build_model(nrm.datasets.galaxies() / 1000):
        idata = nrm.sample(1500, chains=4, random_seed=2, target_accept=0.95, progressbar=False)
    table = example.agreement(idata)
    half_digit = np.array([0.005, 0.005, 0.005, 0.0005])
    assert (abs(table["here"] - table["published"]) < N_ERRORS * table["mcse"] + half_digit).all(), table.to_string()
    n_clusters = idata.posterior["z_n_clusters"].values
    numbers = np.arange(4, 4 + len(example.PUBLISHED_LAW))
    law = (n_clusters.ravel()[:, None] == numbers).mean(axis=0)
    error = np.sqrt(law * (1 - law) / float(az.ess(n_clusters)))
    assert (abs(law - example.PUBLISHED_LAW) < N_ERRORS * error + 0.0005).all(), law.round(4)
