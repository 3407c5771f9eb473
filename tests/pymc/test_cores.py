"""Chains run on all processors that the process may use, and draws do not depend on how many there are."""

import numpy as np
import pytest
from helpers import mixture_of

import pymc_nrm as nrm
from pymc_nrm.run import chains


@pytest.mark.parametrize(
    ("given", "cores"),
    [({"chains": 4}, 3), ({"chains": 2}, 2), ({"chains": 4, "cores": 1}, 1), ({"chains": 2, "cores": 8}, 8)],
    ids=str,
)
def test_as_many_chains_at_a_time_as_processors(monkeypatch, given, cores):
    monkeypatch.setattr(chains, "usable_cores", lambda: 3)
    assert chains.on_usable_cores(given) == given | {"cores": cores}


def test_draws_do_not_depend_on_processors(monkeypatch):
    model = mixture_of(nrm.PoissonGamma(1.0, 1.0), [0, 1, 8, 9])
    with model:
        options = {"step": nrm.MarginalGibbs([model["z"]]), "random_seed": 1, "quiet": True}
    draws = []
    for n_cores in (1, 2):
        monkeypatch.setattr(chains, "usable_cores", lambda n_cores=n_cores: n_cores)
        idata = nrm.sample(20, tune=5, chains=2, model=model, **options)
        draws.append(idata.posterior["z"].values)
    np.testing.assert_array_equal(*draws)
