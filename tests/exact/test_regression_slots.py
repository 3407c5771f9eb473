"""Regressions with integrated coefficients and regressions whose coefficients are parameters of slots are one model."""

import numpy as np
import pymc as pm
import pytest
from helpers import assert_law

import pymc_nrm as nrm
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.testing import exact_posterior

MEASURE = nrm.PitmanYorProcess(0.3, 1.0)
X, Y = np.array([0.0, 0.5, 1.0, 2.0, 2.5]), np.array([0.2, 0.9, -1.4, 2.3, -2.4])
LINE = nrm.NormalRegression(np.column_stack([np.ones(5), X]), [0.3, 0.0], np.diag([0.5, 0.8]), 2.5, 1.2)


@pytest.mark.slow
def test_slots_have_the_law_of_integrated_coefficients():
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURE, n=5, max_clusters=5)
        variance = pm.InverseGamma("variance", LINE.alpha, LINE.beta, shape=5)
        intercept = pm.Normal("intercept", 0.0, 1.0 / np.sqrt(0.5), shape=5)
        slope = pm.Normal("slope", 0.0, 1.0 / np.sqrt(0.8), shape=5)
        width = pm.math.sqrt(variance)[z]
        pm.Normal("y", 0.3 + width * (intercept[z] + slope[z] * X), width, observed=Y)
    idata = nrm.sample(
        4000, tune=1000, chains=4, cores=1, model=model, random_seed=1, progressbar=False, quiet=True,
        compute_convergence_checks=False,
    )  # fmt: skip
    labels = np.apply_along_axis(canonical_labels, -1, idata.posterior["z"].values.astype(int))
    assert_law(labels, *exact_posterior(MEASURE, LINE, Y))
