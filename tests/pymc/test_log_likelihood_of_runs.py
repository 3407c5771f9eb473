"""``idata_kwargs={"log_likelihood": True}`` gives densities that leave out items with their labels."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm

OPTIONS = {"draws": 20, "tune": 10, "chains": 1, "cores": 1, "random_seed": 1, "progressbar": False, "quiet": True}
COUNTS = [1, 0, 9, 10, 2, 8]


@pytest.fixture(scope="module")
def model():
    with pm.Model(coords={"row": range(6)}) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="row")
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=COUNTS, dims="row")
        rate = pm.Gamma("rate", 2, 1)
        pm.Poisson("w", rate, observed=[1, 2, 3])
    return model


@pytest.mark.quick("True-options0")
@pytest.mark.parametrize("options", [{}, {"label_storage": "compact", "thin": 2}])
@pytest.mark.parametrize("wanted", [True, ["x", "w"]])
def test_values(model, options, wanted):
    with model:
        step = nrm.MarginalGibbs([model["z"]])
    idata = nrm.sample(model=model, step=step, idata_kwargs={"log_likelihood": wanted}, **OPTIONS, **options)
    expected = nrm.compute_log_likelihood(idata, model, extend_inferencedata=False, progressbar=False)
    xr.testing.assert_equal(idata["log_likelihood"].to_dataset()[["x"]], expected)
    # Data that depend on no partition have PyMC's values.
    rate = idata.posterior["rate"].values
    values = idata["log_likelihood"]["w"].values
    np.testing.assert_allclose(
        values, np.array([1, 2, 3]) * np.log(rate)[..., None] - rate[..., None] - np.log([1, 2, 6])
    )


def test_refused(model):
    with pytest.raises(ValueError, match=r"log_likelihood of idata_kwargs must name observed data, .*; got 'z'"):
        nrm.sample(model=model, idata_kwargs={"log_likelihood": ["z"]}, **OPTIONS)
    with pytest.raises(ValueError, match="it needs labels"):
        nrm.sample(model=model, idata_kwargs={"log_likelihood": True}, label_storage="none", **OPTIONS)


@pytest.mark.slow
def test_draws_are_kept_where_there_is_none(caplog):
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=6)
        effect = nrm.Mixture("effect", z, nrm.NormalGamma(0.0, 1.0, 2.0, 1.0), shape=(6,))
        pm.Normal("y", effect, 1, observed=COUNTS)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=COUNTS)
        step = nrm.MarginalGibbs([z])
    idata = nrm.sample(model=model, step=step, idata_kwargs={"log_likelihood": ["x"]}, **OPTIONS)
    assert idata.posterior.sizes["draw"] == 20
    assert "log_likelihood of idata_kwargs: none for the items of 'z', since Mixture 'effect' is latent" in caplog.text
