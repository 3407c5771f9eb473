"""The example of the README gives the posterior that the program of Favaro & Teh (2013) gives."""

import importlib.util
import pathlib

import arviz as az
import numpy as np
import pytest

import pymc_nrm as nrm

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "galaxies.py"

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
