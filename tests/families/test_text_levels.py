"""Columns of text in ``CategoricalDirichlet``: the model of their codes, with names in results and predictions."""

import warnings

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm
from tests.helpers import mixture_of, refused

TABLE = pd.DataFrame(
    {
        "colour": ["red", "blue", None, "red", "green", "blue"],
        "size": pd.Categorical(
            ["small", "large", "large", np.nan, "small", "small"], categories=["small", "large", "huge"]
        ),
        "code": [0, 2, 1, 1, 0, 0],
    }
)
CODES = np.array([[2, 0, 0], [0, 1, 2], [np.nan, 1, 1], [2, np.nan, 1], [1, 0, 0], [0, 0, 0]])
LEVELS = [("blue", "green", "red"), ("small", "large"), ()]
TEXT = TABLE.astype(object).where(TABLE.notna(), None)
AS_ARRAYS = {
    "objects": TEXT.to_numpy(),
    "lists": TEXT.to_numpy().tolist(),
    "masked": np.ma.masked_where(TABLE.isna(), TEXT.fillna("?").to_numpy()),
    "DataArray": xr.DataArray(TEXT.to_numpy(), dims=("row", "feature")),
    "strings": TABLE.astype({"colour": "string"}),
    "table": TABLE,
}
ARRAY_LEVELS = [*LEVELS[:1], ("large", "small"), ()]


def model_of(family, observed, dims=("row", "x_feature")):
    with pm.Model(coords={"row": range(len(observed))}) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="row")
        nrm.Mixture("x", z, family(), observed=observed, dims=dims)
    return model


def learned(X):
    return lambda: nrm.CategoricalDirichlet.learned("x", X)


def log_density(model, labels, concentration):
    point = {"z": np.array(labels), "x_concentration_log__": np.log(concentration)}
    return model.point_logps(point, round_vals=12)["x"]


POSTERIOR = xr.Dataset(
    {
        "z": (("chain", "draw", "row"), [[[0, 1, 1, 0, 0, 0], [0, 1, 1, 0, 2, 1]]]),
        "x_concentration": (("chain", "draw", "x_feature"), [[[0.5, 2.0, 1.0], [1.0, 3.0, 0.2]]]),
    }
)


@pytest.mark.quick("table", "lists")
@pytest.mark.parametrize("form", AS_ARRAYS)
def test_text_is_the_model_of_its_codes(form):
    codes = CODES.copy()
    levels = LEVELS if form in ("table", "strings") else ARRAY_LEVELS
    if levels is ARRAY_LEVELS:
        # Categories of an array have no order of their own, and are sorted.
        codes[:, 1] = 1 - codes[:, 1]
    with pm.Model():
        family = learned(AS_ARRAYS[form])()
    assert [column.levels for column in family.n_levels.columns] == levels
    texts = model_of(learned(AS_ARRAYS[form]), AS_ARRAYS[form])
    np.testing.assert_array_equal(texts.rvs_to_values[texts["x"]].data, codes)
    numbers = model_of(learned(codes), codes)
    for labels in ([0] * 6, [0, 1, 1, 0, 0, 1], [0, 1, 2, 3, 4, 5]):
        expected = log_density(numbers, labels, [0.3, 2.0, 5.0])
        assert log_density(texts, labels, [0.3, 2.0, 5.0]) == pytest.approx(expected, rel=1e-12)


def test_names_of_levels_are_in_results():
    model = model_of(learned(TABLE), TABLE)
    assert model.coords["colour_level"] == LEVELS[0] and model.coords["size_level"] == LEVELS[1]
    description = nrm.describe(POSTERIOR, model, [0, 1, 1, 0, 0, 0])
    assert description.table["colour", "red"].tolist() == [0.5, 0.0]
    assert description.table["size", "large"].tolist() == [0.0, 1.0]
    assert description.table["code", "1"].tolist() == [0.25, 0.5]
    parameters = nrm.sample_cluster_parameters(POSTERIOR, model, random_seed=1, progressbar=False)
    assert parameters["level_name"].dims == ("x_feature", "level")
    assert parameters["level_name"].values.tolist() == [["blue", "green", "red"], ["small", "large", ""], ["", "", ""]]


def test_shared_levels_are_a_coordinate():
    answers = [["yes", "no"], ["no", "no"], ["yes", "yes"]]
    model = model_of(lambda: nrm.CategoricalDirichlet(0.5), answers, dims=None)
    draws = xr.Dataset({"z": (("chain", "draw", "row"), [[[0, 1, 0]]])})
    parameters = nrm.sample_cluster_parameters(draws, model, random_seed=1, progressbar=False)
    assert parameters["level"].values.tolist() == ["no", "yes"]
    assert nrm.describe(draws, model, [0, 1, 0]).table["x_1", "yes"].tolist() == [0.5, 0.0]


NEW = pd.DataFrame({"colour": ["green", None], "size": ["large", "small"], "code": [2, 0]})
NEW_FORMS = {
    "table": NEW,
    "other order": NEW[["code", "size", "colour"]],
    "array": NEW.to_numpy(),
    "categories": NEW.astype({"colour": "category", "size": pd.CategoricalDtype(["large", "small"])}),
    "Dataset": xr.Dataset({name: ("new", NEW[name].to_numpy()) for name in NEW}),
    "dict": {"x": NEW},
}


@pytest.mark.parametrize("form", NEW_FORMS)
def test_new_rows_have_the_numbers_of_the_model(form):
    model, codes = model_of(learned(TABLE), TABLE), np.array([[1.0, 1.0, 2.0], [np.nan, 0.0, 0.0]])
    options = {"estimate": [0, 1, 1, 0, 0, 0], "progressbar": False}
    expected = nrm.cluster_probabilities(POSTERIOR, model, codes, **options)["probability"]
    found = nrm.cluster_probabilities(POSTERIOR, model, NEW_FORMS[form], **options)["probability"]
    np.testing.assert_array_equal(found, expected)
    if form == "table":
        np.testing.assert_array_equal(nrm.table_data(model, NEW)["x"], codes)
        found = nrm.log_predictive_density(POSTERIOR, model, NEW, progressbar=False)
        np.testing.assert_array_equal(
            found, nrm.log_predictive_density(POSTERIOR, model, codes, progressbar=False).values
        )


def test_a_vector_of_text():
    """A Series, with the name of the mixture, and rows that follow the levels of other data."""
    colour, size = TABLE["colour"], pd.Categorical(TABLE["size"])
    with pm.Model():
        assert learned(size)().n_levels.columns[0].levels == LEVELS[1]
    model = model_of(learned(colour), colour, dims="row")
    assert model.coords["x_level"] == LEVELS[0]
    with pm.Model():
        # The data lack a level that the prior has seen, and keep the numbers.
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
        x = nrm.Mixture("x", z, learned(colour)(), observed=["red", None, "green"])
        np.testing.assert_array_equal(pm.modelcontext(None).rvs_to_values[x].data, [2, np.nan, 1])


def test_numbers_stay_numbers_of_levels():
    """Also categories of numbers, and numbers where the family knows names."""
    numbers = pd.DataFrame({"a": pd.Categorical([1, 2, 1]), "b": [0, 1, 1]})
    with pm.Model():
        family = learned(numbers)()
        assert np.asarray(family.n_levels).tolist() == [3, 2] and not hasattr(family.n_levels, "columns")
    codes = np.where(np.isnan(CODES), 0, CODES).astype(int)
    model = model_of(learned(TABLE), codes)
    np.testing.assert_array_equal(model.rvs_to_values[model["x"]].eval(), codes)
    assert nrm.describe(POSTERIOR, model, [0, 1, 1, 0, 0, 0]).table["colour", "green"].tolist() == [0.25, 0.0]


def test_numbers_that_no_row_has_are_told():
    codes = np.array([[1.0, 0.0], [3.0, np.nan], [2.0, 1.0]])
    lacking = r"levels 0, 1, 2, \.\.\., of which no row has\s+some: column 0 lacks 0\. They"
    with pm.Model(), pytest.warns(UserWarning, match="X: CategoricalDirichlet has " + lacking):
        nrm.CategoricalDirichlet.learned("x", codes)
    with pytest.warns(UserWarning, match="observed data of Mixture 'x': CategoricalDirichlet has " + lacking):
        mixture_of(nrm.CategoricalDirichlet(1.0), codes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mixture_of(nrm.CategoricalDirichlet(1.0, 4), codes)
        mixture_of(lambda: nrm.CategoricalDirichlet.learned("x", codes - [1.0, 0.0]), codes - [1.0, 0.0])
        table = pd.DataFrame({"code": np.arange(60) % 3 + 1, "answer": np.arange(60) % 4 // 2 + 5})
        nrm.mixture_model(table, kinds={"code": "categorical", "answer": "categorical"})


def test_what_text_hides_is_told(caplog):
    caplog.set_level("INFO")
    model_of(learned(["Red", "red", " ", "blue"]), ["Red", "red", " ", "blue"], dims="row")
    [line] = [record.message for record in caplog.records if record.name == "pymc.nrm_models"]
    text = "Text of Mixture 'x': column 'x': 1 blank; levels that differ by capital letters alone: 'Red' and 'red'."
    assert " ".join(line.split()) == text


@pytest.mark.slow
def test_names_survive_saving(tmp_path):
    with model_of(learned(TABLE), TABLE) as model:
        idata = nrm.sample(20, tune=20, chains=1, random_seed=1, quiet=True, progressbar=False)
    nrm.save(idata, model, tmp_path / "run")
    loaded, copy = nrm.load(tmp_path / "run")
    assert nrm.cluster_probabilities(loaded, copy, NEW, progressbar=False).equals(
        nrm.cluster_probabilities(idata, model, NEW, progressbar=False)
    )
    assert "red" in str(nrm.describe(loaded, copy).to_text(full=True))


def predicted(X_new):
    return nrm.cluster_probabilities(POSTERIOR, model_of(learned(TABLE), TABLE), X_new, progressbar=False)


test_new_rows_that_are_refused = refused(
    predicted,
    (NEW.replace("green", "pink"), "column 'colour' must have levels of the model, .'blue', 'green', 'red'.; got 'pin"),
    (NEW[["colour", "size"]], "X_new of 'x' must have 3 columns; got 2"),
    (NEW.assign(code=["a", "b"]), TypeError, "column 'code' must hold numbers of levels, .*; got text"),
)
test_data_that_are_refused = refused(
    lambda family, observed: model_of(family, observed, dims=None),
    (learned(TABLE), TABLE.replace("green", "pink"), "observed data of Mixture 'x': column 'colour' must have levels"),
    (learned(CODES), TABLE, TypeError, "'x' must be numbers of levels, since alpha .*pandas.factorize"),
    (lambda: nrm.CategoricalDirichlet([0.5, 0.5]), TABLE, TypeError, "alpha of CategoricalDirichlet has a weight for"),
    (lambda: nrm.CategoricalDirichlet(0.5, [3, 1, 3]), TABLE, "must be levels below n_levels; got 1.0 of feature 1"),
    (lambda: nrm.BernoulliBeta(0.5, 0.5), TABLE[["colour"]], TypeError, "must be real numbers; got 'red'"),
)


def test_trees_refuse_text():
    with pytest.raises(
        TypeError, match=r"X must be numbers of levels; got text.*pandas.factorize\(column, sort=True\)"
    ):
        nrm.trees.bhc(TABLE[["colour"]], nrm.CategoricalDirichlet(1.0), nrm.DirichletProcess(1.0))
