"""A run of a few counts that tests of stopped, killed and continued chains share."""

import numpy as np
import pytest

import pymc_nrm as nrm
from tests.helpers import mixture_of


@pytest.fixture(scope="session")
def fixed():
    """A model of fixed hyperparameters and its step, made once, as arguments of ``nrm.sample``."""
    with mixture_of(nrm.PoissonGamma(1.0, 1.0), np.array([0, 1, 8, 9, 20, 22])) as model:
        return {"model": model, "step": [nrm.steps.MarginalGibbs([model["z"]])]}
