"""Results belong to their models: they are saved together, and draws of other rows, orders or units are refused."""

import json
import os
import subprocess
import sys

import cloudpickle
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm
from tests.predictions.prediction_cases import drawn_from_prior
from tests.tools.wings import rows_of_wings

TABLE = pd.DataFrame({"length": [3.1, 2.9, 5.5, 5.2], "colour": ["red", "red", "blue", None]}, index=list("abcd"))
LABELS = np.array([[[0, 0, 1, 1], [0, 0, 1, 2]]])
ESTIMATE = [0, 0, 1, 1]


def table():
    return nrm.mixture_model(TABLE, covariance="diagonal")


def slots():
    with pm.Model(coords={"item": list("abcd"), "cluster": range(3)}) as model:
        y = pm.Data("y_data", [0.1, 0.2, 4.0, 5.0])
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=y.shape[0], max_clusters="cluster")
        mean = pm.Normal("mean", 0, 3, dims="cluster")
        pm.Normal("y", mean[z], 1, observed=y)
    return model


# What a user of the saved model does: model by name, and what is predicted.
MODELS = {"table": table, "slots": slots} | rows_of_wings("SAVED")
PREDICT = """
def predict(name, idata, model):
    if name == "table":
        new = nrm.table_data(model, pd.DataFrame({"length": [3.0, 6.0], "colour": ["red", None]}))
        return nrm.cluster_probabilities(idata, model, new, [0, 0, 1, 1])["probability"]
    if name == "slots":
        pm.set_data({"y_data": [0.3, 9.0]}, model=model)
        return nrm.cluster_probabilities(idata, model, estimate=[0, 0, 1, 1])["probability"]
    return nrm.log_predictive_density(idata, model, [[3.0], [9.0]])
"""
SCRIPT = f"""
import json, sys
import pandas as pd
import pymc as pm
import pymc_nrm as nrm
{PREDICT}
print(json.dumps({{p.split("/")[-1]: predict(p.split("/")[-1], *nrm.load(p)).values.tolist() for p in sys.argv[1:]}}))
"""
exec(PREDICT)


@pytest.mark.slow
def test_predictions_in_another_process(tmp_path):
    expected = {}
    for name, make in MODELS.items():
        model = make()
        idata = drawn_from_prior(model, LABELS)
        nrm.save(idata, model, tmp_path / name)
        expected[name] = predict(name, idata, model).values  # noqa: F821
    flags = ",".join([*filter(None, [os.environ.get("PYTENSOR_FLAGS")]), "linker=py,optimizer=fast_compile"])
    command = [sys.executable, "-c", SCRIPT, *(str(tmp_path / name) for name in MODELS)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTENSOR_FLAGS": flags})
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert set(found) == set(MODELS)
    for name, values in found.items():
        np.testing.assert_allclose(values, expected[name], rtol=1e-12, err_msg=name)


@pytest.fixture
def folder(tmp_path):
    model = table()
    nrm.save(drawn_from_prior(model, LABELS), model, tmp_path / "result")
    return tmp_path / "result"


def test_all_groups_and_attributes_come_back(tmp_path):
    model = table()
    idata = drawn_from_prior(model, LABELS)
    idata["posterior"]["z"].attrs["partition"] = "z"
    idata["partition_stats/z"] = xr.DataTree(xr.Dataset({"entropy": ("draw", [0.1, 0.2])}, attrs={"why": "test"}))
    nrm.save(idata, model, tmp_path / "new" / "result")
    found, again = nrm.load(tmp_path / "new" / "result")
    assert found.identical(idata)
    assert again.coords == model.coords and again.str_repr() == model.str_repr()
    assert os.listdir(tmp_path / "new") == ["result"]


def test_posterior_alone(tmp_path):
    model = table()
    posterior = drawn_from_prior(model, LABELS)["posterior"].to_dataset()
    nrm.save(posterior, model, str(tmp_path / "result"))
    assert nrm.load(str(tmp_path / "result"))[0]["posterior"].to_dataset().identical(posterior)


def test_draws_of_another_model(tmp_path):
    idata = drawn_from_prior(table(), LABELS)
    with pytest.raises(ValueError, match="idata must hold draws of this model: the observed numeric"):
        nrm.save(idata, nrm.mixture_model(TABLE.assign(length=[9.0, 2.9, 5.5, 5.2])), tmp_path / "result")
    assert not (tmp_path / "result").exists()


def test_folders_that_are_there_or_are_not(folder, tmp_path):
    model = table()
    with pytest.raises(FileExistsError, match="result' already exists: name another folder"):
        nrm.save(drawn_from_prior(model, LABELS), model, folder)
    with pytest.raises(FileNotFoundError, match="holds nothing that nrm.save has written"):
        nrm.load(tmp_path / "nowhere")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    with pytest.raises(FileNotFoundError, match="nrm.save has written; nrm.resume"):
        nrm.load(tmp_path / "run")
    for wrong in (3, "", None):
        with pytest.raises(TypeError, match="path must be the path of a folder"):
            nrm.load(wrong)


def test_other_versions(folder, monkeypatch):
    about = json.loads((folder / "saved.json").read_text())
    about["versions"]["pymc"] = "5.0.0"
    (folder / "saved.json").write_text(json.dumps(about))
    with pytest.raises(ValueError, match=r"version of pymc: 5.0.0 then, .*check_versions"):
        nrm.load(folder)
    assert "z" in nrm.load(folder, check_versions=False)[0]["posterior"]

    def fail(content):
        raise AttributeError("no such class")

    monkeypatch.setattr(cloudpickle, "loads", fail)
    with pytest.raises(ValueError, match="other versions .* pymc was 5.0.0 .*no such class"):
        nrm.load(folder, check_versions=False)


@pytest.mark.parametrize("name", ["draws", "model", "saved.json"])
def test_damaged_files(folder, name):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=f"file '{name}' of .* is damaged"):
        nrm.load(folder)
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match="nrm.save has written"):
        nrm.load(folder)


def test_model_that_cannot_be_pickled(tmp_path):
    model = table()
    model.lock = (one for one in "abc")
    with pytest.raises(ValueError, match="the model must be picklable to be saved: .*generator"):
        nrm.save(drawn_from_prior(model, LABELS), model, tmp_path / "result")
    assert os.listdir(tmp_path) == []


X = np.array([[0.1, 1.0], [0.3, np.nan], [4.0, 5.0], [4.2, 5.5]])


# Partitions of wings, from a name, a measure and the dimension of four items.
OF_WINGS = rows_of_wings("OF_DATA")


def model_of(X, items="abcd", kind="flat"):
    with pm.Model(coords={"item": list(items), "feature": ["u", "v"], "cluster": range(3)}) as model:
        measure, family = nrm.DirichletProcess(1.0), nrm.NormalGamma(0.0, 1.0, 2.0, 1.0)
        if kind in OF_WINGS:
            z = OF_WINGS[kind]("z", measure, dims="item")
        elif kind == "slots":
            z = nrm.Partition("z", measure, dims="item", max_clusters="cluster")
            mean = pm.Normal("mean", dims="cluster")
            pm.Normal("y", mean[z], 1, observed=X[:, 0], dims="item")
        else:
            z = nrm.Partition("z", measure, dims="item")
        nrm.Mixture("x", z, family, observed=X, dims=("item", "feature"))
    return model


def predictive_density(idata, model):
    return nrm.predictive_density(idata, model, X[:1])


@pytest.mark.parametrize(
    ("function", "make", "message"),
    [
        (nrm.fused_estimate, lambda: model_of(X[::-1], "dcba"), "item 0 of 'z' is 'a' in the draws and 'd' in the"),
        (nrm.fused_estimate, lambda: model_of(X[::-1]), r"the observed x\[0, 0\] is 0.1 in the draws and 4.2 in the"),
        (predictive_density, lambda: model_of(X * [1, 100]), r"observed x\[0, 1\] is 1 in the draws and 100 in the"),
        (predictive_density, lambda: model_of(np.nan_to_num(X, nan=2.0)), r"x\[1, 1\] is nan in the draws and 2 in"),
    ],
)
def test_other_rows_orders_and_units(function, make, message):
    idata = drawn_from_prior(model_of(X), LABELS)
    function(idata, model_of(X * (1 + 1e-9)))
    with pytest.raises(ValueError, match=message):
        function(idata, make())


@pytest.mark.quick("slots")
@pytest.mark.parametrize("kind", ["slots", *OF_WINGS])
def test_other_kinds_of_partitions(kind):
    idata = drawn_from_prior(model_of(X, kind=kind), LABELS)
    with pytest.raises(ValueError, match="idata must hold draws of this model: the observed"):
        nrm.compute_log_likelihood(idata, model=model_of(X[::-1], kind=kind), var_name="z" if kind == "slots" else "x")


def test_files_and_thinned_draws(tmp_path):
    idata = drawn_from_prior(model_of(X), LABELS)
    idata.to_netcdf(tmp_path / "draws.nc")
    for same in (xr.open_datatree(tmp_path / "draws.nc"), idata.isel(draw=slice(0, None, 2), missing_dims="ignore")):
        predictive_density(same, model_of(X))
