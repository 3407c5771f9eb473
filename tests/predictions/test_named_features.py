"""Features of new data are found by their names, in whatever order and container they come."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm
from tests.predictions.prediction_cases import draws_of

X = pd.DataFrame({"a": [0.1, -0.2, 0.3, 5.1, 4.8], "b": [100.2, 99.7, 100.4, 105.3, 105.1]})
NEW = pd.DataFrame({"a": [0.0, 5.0, 0.2], "b": [100.0, 105.0, 104.0]})
MATRIX = xr.DataArray(NEW, dims=("row", "feature"), coords={"feature": ["a", "b"]})
IDATA = draws_of([[0, 0, 0, 1, 1], [0, 0, 0, 1, 2]])


def normal_model():
    with pm.Model(coords={"feature": ["a", "b"]}) as model:
        data = pm.Data("data", X.to_numpy(), dims=("item", "feature"))
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=data.shape[0])
        nrm.Mixture("x", z, nrm.NormalGamma([0.0, 100.0], 0.1, 2.0, 1.0), observed=data, dims=("item", "feature"))
    return model


FORMS = {
    "DataFrame": NEW[["b", "a"]],
    "DataArray": MATRIX.sel(feature=["b", "a"]),
    "Dataset": MATRIX.to_dataset("feature")[["b", "a"]],
    "mixed": NEW.astype(object)[["b", "a"]],
}


def _values(result):
    arrays = result.data_vars.values() if isinstance(result, xr.Dataset) else [result]
    return [array.values.tolist() for array in arrays]


@pytest.mark.parametrize("new", FORMS.values(), ids=FORMS)
def test_columns_in_another_order(new, tmp_path):
    model, expected = normal_model(), NEW.to_numpy()
    for function in (nrm.cluster_probabilities, nrm.log_predictive_density, nrm.predictive_density):
        found, wanted = (function(IDATA, model, rows) for rows in (new, expected))
        assert _values(found) == _values(wanted)
    found, wanted = (nrm.conditional_quantiles(IDATA, model, {"x": rows}, feature="b") for rows in (new, expected))
    np.testing.assert_array_equal(found["quantile"].values, wanted["quantile"].values)
    if isinstance(new, xr.Dataset):
        return
    nrm.serving.export(IDATA, model, tmp_path / "file", n_draws="all")
    predictor = nrm.serving.Predictor(tmp_path / "file")
    np.testing.assert_array_equal(predictor.log_density(new), predictor.log_density(expected))


def test_names_that_are_others_leave_the_order():
    model, other = normal_model(), NEW.set_axis(["b", "c"], axis=1)
    found, wanted = (nrm.log_predictive_density(IDATA, model, rows) for rows in (other, NEW))
    np.testing.assert_array_equal(found.values, wanted.values)


def test_items_along_the_second_dimension_are_refused():
    square = MATRIX[:2].T
    message = "must have the new items along its first dimension .*; got features along the first, 'feature'"
    with pytest.raises(ValueError, match=message):
        nrm.cluster_probabilities(IDATA, normal_model(), square)


def test_given_features_are_coordinates_of_quantiles():
    curves = nrm.conditional_quantiles(IDATA, normal_model(), {"x": NEW[["b", "a"]]}, feature="b")
    assert curves["a"].values.tolist() == NEW["a"].tolist() and "b" not in curves.coords
    collection = nrm.plots.plot_conditional_density(curves, backend="none")
    assert np.sort(collection.viz["quantile"]["quantile"].item()["x"]).tolist() == sorted(NEW["a"])
    average = nrm.conditional_quantiles(IDATA, normal_model(), {"x": NEW}, feature="b", average=True)
    with pytest.raises(ValueError, match="curves must have the dims chain, draw, new item and probability"):
        nrm.plots.plot_conditional_density(average, backend="none")
