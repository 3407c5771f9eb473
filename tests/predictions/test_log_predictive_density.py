"""Log posterior predictive density of new items."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from prediction_cases import CASES, MEASURES, draws_of, make_model, rows

import pymc_nrm as nrm
from pymc_nrm.partitions.labels import all_partitions

DRAWS = all_partitions(4)[[0, 3, 3, 9, 14]]


@pytest.mark.parametrize("name", rows(["NormalGamma, missing", "PoissonGamma", "CategoricalDirichlet"]))
def test_it_is_the_log_of_the_mean_density(name):
    case = CASES[name]
    model, idata = make_model(MEASURES["NGG"], case), draws_of(DRAWS)
    expected = np.log(nrm.predictive_density(idata, model, case.new).density.mean(("chain", "draw")))
    np.testing.assert_allclose(nrm.log_predictive_density(idata, model, case.new), expected, rtol=1e-12)


def test_mixtures_of_one_feature_each_are_one_of_all_features():
    case = CASES["PoissonGamma"]
    one = make_model(MEASURES["NGG"], case)
    with pm.Model() as two:
        z = nrm.Partition("z", MEASURES["NGG"], n=4)
        for k in range(2):
            family = nrm.PoissonGamma(case.family.alpha[k], case.family.beta)
            nrm.Mixture(f"x{k}", z, family, observed=case.X[:, k])
    idata = draws_of(DRAWS)
    given = {f"x{k}": case.new[:, k] for k in range(2)}
    expected = nrm.log_predictive_density(idata, one, case.new)
    np.testing.assert_allclose(nrm.log_predictive_density(idata, two, given), expected, rtol=1e-12)
    alone = nrm.log_predictive_density(idata, two, {"x0": case.new[:, 0]})
    assert (alone > expected).all()


def test_nothing_underflows():
    X = np.zeros((4, 300), dtype=int)
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=X)
    idata = draws_of([[0, 0, 0, 0]])
    far = np.full((1, 300), 40)
    assert nrm.predictive_density(idata, model, far).density.item() == 0.0
    # In a new cluster a count has probability (1/2)^(x + 1), in the old one 5/6 (1/6)^x.
    expected = np.logaddexp(np.log(1 / 5) + 300 * 41 * np.log(1 / 2), np.log(4 / 5) - 300 * 40 * np.log(6))
    assert nrm.log_predictive_density(idata, model, far).item() == pytest.approx(expected, rel=1e-12)


def test_names_and_errors():
    case = CASES["PoissonGamma"]
    model, idata = make_model(MEASURES["DP"], case), draws_of([[0, 0, 1, 1]])
    X = xr.DataArray(case.new, dims=("patient", "feature"), coords={"patient": ["p", "q"]})
    log_p = nrm.log_predictive_density(idata, model, X)
    assert log_p.dims == ("patient",) and log_p.patient.values.tolist() == ["p", "q"]
    with pytest.raises(ValueError, match=r"X_new of 'x' must have shape \(m, 2\)"):
        nrm.log_predictive_density(idata, model, [1, 1])
