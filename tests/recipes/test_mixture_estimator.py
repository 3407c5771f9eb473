"""The estimator with the interface of scikit-learn."""

import copy
import logging
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import sparse

import pymc_nrm as nrm
from pymc_nrm.posterior.label_dependence import mark_variables
from pymc_nrm.recipes.estimator_inputs import class_estimate, cluster_names, known_labels, named_clusters
from tests.helpers import refused

pytestmark = pytest.mark.usefixtures("unbroken")

X = np.random.default_rng(1).normal(np.repeat([0.0, 8.0], 12))[:, None]
NEW = np.array([[0.1], [8.2], [4000.0]])
SMALL = {"draws": 40, "tune": 40, "chains": 2, "cores": 1, "random_state": 1}
QUIET = {"sample_options": {"quiet": True}}


@pytest.fixture(scope="module")
def fitted():
    return nrm.MixtureEstimator(**SMALL, **QUIET).fit(X)


@pytest.mark.slow
def test_attributes(fitted):
    assert fitted.labels_.tolist() == [0] * 12 + [1] * 12
    assert fitted.labels_.dtype == np.int64 and fitted.n_clusters_ == 2
    assert fitted.classes_.tolist() == [0, 1, -1] and fitted.n_features_in_ == 1
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.idata_.posterior["z"].shape == (2, 40, 24)
    assert [rv.name for rv in fitted.model_.observed_RVs] == ["x"]
    np.testing.assert_array_equal(fitted.estimate_.labels, fitted.labels_)


def test_predictions_are_those_of_model_and_draws(fitted):
    assert fitted.predict(NEW).tolist() == [0, 1, -1]
    probabilities = fitted.predict_proba(NEW)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert fitted.classes_[probabilities.argmax(axis=1)].tolist() == [0, 1, -1]
    predicted = nrm.cluster_probabilities(fitted.idata_, fitted.model_, NEW, fitted.labels_)
    np.testing.assert_array_equal(probabilities[:, :-1], predicted.probability)
    log_p = fitted.score_samples(NEW)
    np.testing.assert_array_equal(log_p, nrm.log_predictive_density(fitted.idata_, fitted.model_, NEW))
    assert fitted.score(NEW) == pytest.approx(log_p.mean())


def test_new_data_of_another_form(fitted):
    frame = pd.DataFrame(NEW, columns=["length"])
    with pytest.warns(UserWarning, match="X has feature names, but MixtureEstimator was fitted without") as caught:
        assert fitted.predict(frame).tolist() == [0, 1, -1]
    assert caught[0].filename == __file__
    for wrong, error in ((NEW.astype(str).astype(object), "text such as '0.1'"), (sparse.csr_array(NEW), "Sparse")):
        with pytest.raises(TypeError, match=error):
            fitted.predict(wrong)
    masked, gap = np.ma.masked_array(NEW, mask=NEW > 9), np.where(NEW > 9, np.nan, NEW)
    np.testing.assert_array_equal(fitted.predict_proba(masked), fitted.predict_proba(gap))
    with pytest.raises(ValueError, match="max_draws must be a whole number of at least 1; got -3"):
        copy.copy(fitted).set_params(max_draws=-3).predict(NEW)


@pytest.mark.slow
def test_clusters_are_fused_components(fitted):
    fused = nrm.fused_estimate(fitted.idata_, fitted.model_, fitted.estimate_.component_labels.values, random_seed=1)
    np.testing.assert_array_equal(fitted.labels_, fused.labels)
    apart = copy.copy(fitted).set_params(fuse=False).fit(X)
    assert "component_labels" not in apart.estimate_
    with pytest.raises(TypeError, match="fuse must be True or False; got 2"):
        nrm.MixtureEstimator(fuse=2).fit(X)


def test_max_draws(fitted):
    few = copy.copy(fitted).set_params(max_draws=4)
    expected = nrm.log_predictive_density(fitted.idata_.isel(draw=[0, 39]), fitted.model_, NEW)
    np.testing.assert_array_equal(few.score_samples(NEW), expected)


def test_copies(fitted):
    for other in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        np.testing.assert_array_equal(other.predict_proba(NEW), fitted.predict_proba(NEW))
        assert other.get_params() == fitted.get_params()


@pytest.mark.slow
def test_the_seed_fixes_the_draws(fitted):
    again = nrm.MixtureEstimator(**SMALL, **QUIET)
    assert again.fit_predict(X.tolist()).tolist() == fitted.labels_.tolist()
    np.testing.assert_array_equal(again.idata_.posterior["alpha"], fitted.idata_.posterior["alpha"])


@pytest.mark.slow
def test_names_of_columns():
    df = pd.DataFrame(X, columns=["length"])
    estimator = nrm.MixtureEstimator(**SMALL, **QUIET).fit(df)
    assert estimator.feature_names_in_.tolist() == ["length"]
    new = pd.DataFrame(NEW, columns=["length"])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        np.testing.assert_array_equal(estimator.predict_proba(NEW), estimator.predict_proba(new))
    for wrong, message in (
        (sparse.csr_array(NEW), "Sparse data are not supported"),
        (np.ones((3, 2)), "X has 2 features, but MixtureEstimator is expecting 1 features as input"),
        (new.assign(b=1.0), r"it has also \['b'\]"),
        (pd.DataFrame({"width": [1.0]}), r"columns seen in fit, \['length'\]; it has also \['width'\]"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            estimator.predict(wrong)


@pytest.mark.slow
def test_known_labels_are_names_of_clusters():
    y = np.full(24, -1)
    y[[0, 3]], y[20] = 7, 2
    estimator = nrm.MixtureEstimator(**SMALL, **QUIET).fit(X, y)
    assert estimator.labels_.tolist() == [7] * 12 + [2] * 12 and estimator.n_clusters_ == 2
    assert estimator.classes_.tolist() == [7, 2, -1]
    assert estimator.predict(NEW).tolist() == [7, 2, -1]
    assert estimator.fit_predict(X, np.full(24, -1)).tolist() == [0] * 12 + [1] * 12


@pytest.mark.slow
def test_known_labels_are_strings_and_only_these_classes():
    """A group of which nothing is known: by itself, or in one of the known classes."""
    apart = X + np.where(np.arange(24) < 18, 0.0, 30.0)[:, None]
    y = np.full(24, None, dtype=object)
    y[0], y[13] = "low", "high"
    options = {**SMALL, "covariance": "diagonal"}
    free = nrm.MixtureEstimator(**options, **QUIET).fit(apart, y)
    assert free.labels_.tolist() == ["low"] * 12 + ["high"] * 6 + ["other 1"] * 6
    assert free.classes_.tolist() == ["low", "high", "other 1", "new"]
    assert free.predict(np.vstack([NEW, [[38.0]]])).tolist() == ["low", "high", "new", "other 1"]
    only = nrm.MixtureEstimator(**options, only_known=True)
    y[[6, 14, 23]] = "low", "high", "high"
    beside = X + np.where(np.arange(24) < 18, 0.0, 3.0)[:, None]
    with pytest.warns(UserWarning, match="chains|draws"):
        only.fit(beside, pd.Series(y).fillna(np.nan))
    assert only.labels_.tolist() == ["low"] * 12 + ["high"] * 12
    assert only.classes_.tolist() == ["low", "high", "new"] and only.n_clusters_ == 2
    assert only.predict(NEW).tolist() == ["low", "high", "high"]
    probabilities = only.predict_proba(NEW)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (probabilities[:, -1] == 0.0).all()
    np.testing.assert_allclose(only.estimate_["probability"].sum("cluster"), 1.0)
    again = pickle.loads(pickle.dumps(only))
    np.testing.assert_array_equal(again.predict(NEW), only.predict(NEW))


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ([-1, -1, -1, -1, -1], [0, 0, 1, 1, 2]),
        ([-1, np.nan, 5, None, -1], [6, 6, 5, 5, 7]),
        ([3, -1, 0, 3, 3], [3, 3, 0, 0, 4]),
        ([1, 0, 0, 0, -1], [1, 1, 0, 0, 2]),
        ([-7, -1, 10**15, -1, -1], [-7, -7, 10**15, 10**15, 10**15 + 1]),
        (["a", None, np.nan, -1, "c"], ["a", "a", "other 1", "other 1", "c"]),
        (["a", None, 3, -1, "c"], ["a", "a", "3", "3", "c"]),
    ],
)
def test_names_of_clusters(known, expected):
    """Each label names one cluster, where an estimate may disagree with what is known."""
    codes, names = known_labels(np.array(known, dtype=object), 5)
    clusters = named_clusters(np.array([0, 0, 1, 1, 2]), codes)
    table = cluster_names(clusters.max() + 1, names)
    assert table[clusters].tolist() == expected
    assert table[-1] == ("new" if isinstance(expected[0], str) else -1)


def test_the_class_of_an_item_is_its_most_probable_one():
    labels = np.array([[0, 0, 1, 1], [0, 1, 1, 1], [0, 1, 0, 2]])
    estimate = class_estimate(labels, np.array([1, 0, -1, -1]))
    assert estimate["labels"].values.tolist() == [1, 0, 0, 0]
    np.testing.assert_allclose(estimate["probability"], [[1 / 3, 1], [1, 1 / 3], [1 / 3, 1 / 3], [1 / 3, 0]])


test_wrong_known_labels = refused(
    lambda y: nrm.MixtureEstimator(draws=1, tune=0).fit(X, y),
    (np.zeros(23), ValueError, "or -1, NaN or None, for each of the 24 samples; got 23 labels"),
    (np.zeros((24, 1)), ValueError, r"y must have shape \(n,\), with at least one item; got shape \(24, 1\)"),
    (np.full(24, 0.5), TypeError, "y must be whole numbers or strings; got 0.5"),
)


def test_what_an_estimator_says(monkeypatch, caplog):
    """One warning of a fit, and no line; all of them if they are wanted."""
    table = pd.DataFrame(
        {"a": np.round(X[:, 0], 1), "code": np.where(np.arange(24) == 5, "?", (X[:, 0] ** 2).astype(str))}
    )
    y = np.where(np.arange(24) == 3, 1, -1)

    def sampled(*arguments, **options):
        logging.getLogger("pymc.nrm_runs").info("Preparing")
        logging.getLogger("pymc_nrm.run.one_run").warning("the chains disagree")
        warnings.warn("of another package", DeprecationWarning, stacklevel=2)
        raise RuntimeError("stop")

    caplog.set_level(logging.INFO)
    monkeypatch.setattr("pymc_nrm.recipes.estimator.sample", sampled)
    with pytest.raises(RuntimeError, match="stop"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nrm.MixtureEstimator().fit(table, y)
    # What fails has warned as well.
    assert [warning.category for warning in caught] == [DeprecationWarning, UserWarning] and caplog.records == []
    assert str(caught[1].message).startswith("3 messages of this fit")

    def sampled_well(*arguments, **options):
        with pytest.raises(RuntimeError):
            sampled()
        return arguments, options

    monkeypatch.setattr("pymc_nrm.recipes.estimator.sample", sampled_well)
    monkeypatch.setattr("pymc_nrm.recipes.estimator.point_estimate", lambda *a, **o: {"labels": pd.Series([0] * 24)})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nrm.MixtureEstimator().fit(table, y)
    assert caplog.records == []
    assert [warning.category for warning in caught] == [DeprecationWarning, UserWarning]
    assert caught[1].filename == __file__
    lines = str(caught[1].message).splitlines()
    assert lines[0] == "3 messages of this fit (verbose=True shows them as they come):"
    assert [line[:3] for line in lines[1:]] == ["1. ", "2. ", "3. "]
    assert "'code'" in lines[1] and "1 of 24 items have a known label" in lines[2] and "disagree" in lines[3]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nrm.MixtureEstimator(verbose=True).fit(table, y)
    assert len(caught) == 2 and "'code'" in str(caught[0].message)
    said = [record.message for record in caplog.records]
    assert any("1 of 24 items" in line for line in said) and said[-2:] == ["Preparing", "the chains disagree"]


def test_advice_names_arguments_of_the_estimator(monkeypatch):
    a = np.random.default_rng(1).normal(size=200)
    table = pd.DataFrame({"a": a, "twice": 2 * a + 0.01 * np.random.default_rng(2).normal(size=200)})
    monkeypatch.setattr("pymc_nrm.recipes.estimator.sample", lambda *arguments, **options: None)
    labels = {"labels": pd.Series([0] * 200)}
    monkeypatch.setattr("pymc_nrm.recipes.estimator.point_estimate", lambda *arguments, **options: labels)
    with pytest.warns(UserWarning, match="or try n_directions"):
        nrm.MixtureEstimator(fuse=False).fit(table)


def test_parameters():
    estimator = nrm.MixtureEstimator(draws=10, random_state=3)
    assert repr(estimator) == "MixtureEstimator(draws=10, random_state=3)"
    assert estimator.set_params(tune=20, covariance="full") is estimator
    assert nrm.MixtureEstimator(**estimator.get_params()).get_params() == estimator.get_params()
    with pytest.raises(ValueError, match="parameters of MixtureEstimator are .*; got 'n_clusters'"):
        estimator.set_params(n_clusters=3)


test_bad_input = refused(
    lambda data, parameters: nrm.MixtureEstimator(**{"draws": 1, "tune": 0} | parameters).fit(data),
    (X[:, 0], {}, ValueError, r"got shape \(24,\). Reshape your data"),
    (X[:0], {}, ValueError, r"0 sample\(s\) \(shape=\(0, 1\)\) while a minimum of 2"),
    (X[:1], {}, ValueError, r"1 sample\(s\)"),
    (X[:, :0], {}, ValueError, r"0 feature\(s\)"),
    (X + 1j, {}, ValueError, "Complex data not supported"),
    (sparse.csr_array(X), {}, TypeError, "Sparse data are not supported"),
    (sparse.dok_array(X), {}, TypeError, "Sparse data are not supported"),
    ([["a"], ["b"]], {}, TypeError, "DataFrames may have text"),
    (np.array([[{}], [1.0]], dtype=object), {}, TypeError, "must be a string or a real number, not 'dict'"),
    (X.astype(str).astype(object), {}, TypeError, r"must be real numbers; got text such as '"),
    (np.where(X > 9, "nan", X.astype(object)), {}, TypeError, "got text such as 'nan'"),
    ([[1.0, 2.0], [3.0]], {}, ValueError, "rows of different lengths"),
    (X, {"draws": 0}, ValueError, "draws must be a whole number of at least 1; got 0"),
    (X, {"sample_options": [1]}, TypeError, r"sample_options must be a mapping of arguments of sample; got \[1\]"),
    (X, {"sample_options": {"tune": 5}}, ValueError, "sample_options must not have 'tune': give tune"),
    (X, {"sample_options": {"chains": 5}}, ValueError, "sample_options must not have 'chains': give chains"),
    (X, {"sample_options": {"random_seed": 5}}, ValueError, "not have 'random_seed': give random_state"),
    (X, {"sample_options": {"return_inferencedata": False}}, ValueError, "which the estimator chooses"),
    (X, {"sample_options": {"label_storage": "none"}}, ValueError, "needs the labels of draws"),
    (np.where(X > 8, np.inf, X), {}, ValueError, "infinity; got inf in row"),
    (X, {"kinds": {"a": "count"}}, ValueError, "kinds is for columns of a DataFrame; X is of type ndarray"),
    (X, {"strict": True}, ValueError, "strict is for columns of a DataFrame; X is of type ndarray"),
    (X, {"strict": "yes"}, TypeError, "strict must be True or False; got 'yes'"),
    (pd.DataFrame({"a": X[:, 0], "b": range(24)}), {"strict": True}, ValueError, "strict=True needs an entry of kinds"),
    (X, {"covariance": "tied"}, ValueError, "covariance must be"),
    (X, {"measure": 1.0}, TypeError, "measure must be"),
    (X, {"only_known": True}, ValueError, "only_known must be False without y"),
    (X, {"verbose": 2}, TypeError, "verbose must be True or False; got 2"),
    (X, {"max_draws": 0}, ValueError, "max_draws must be a whole number of at least 1"),
    (X, {"loss": "squared"}, ValueError, "loss"),
    (X, {"random_state": "one"}, TypeError, "random_state must be None"),
    (
        pd.DataFrame({"a": ["x", "y", "z"], "b": [1, 2, 3]}),
        {},
        ValueError,
        r"all were left out: .*'b' \(numbers the rows",
    ),
)


def test_rows_without_values_have_no_cluster(monkeypatch):
    """They get -1, a warning says how many, and ``predict`` gives them a cluster."""
    known = np.ones(26, dtype=bool)
    known[[3, 25]] = False
    data = np.full((26, 1), np.nan)
    data[known] = X

    def draws(n_draws, model, **kwargs):
        labels = np.tile(np.insert(np.repeat([0, 1], 12), [3, 24], 0), (1, 5, 1))
        labels[:, ::2, [3, 25]] = 1
        idata = xr.DataTree.from_dict({"posterior": xr.Dataset({"z": (("chain", "draw", "item"), labels)})})
        mark_variables(idata, model)
        return idata

    monkeypatch.setattr("pymc_nrm.recipes.estimator.sample", draws)
    estimator = nrm.MixtureEstimator(fuse=False, random_state=1)
    with pytest.warns(UserWarning, match="2 rows have no values and are left out of the estimate: labels_ has -1"):
        estimator.fit(data)
    assert estimator.labels_[~known].tolist() == [-1, -1]
    assert estimator.labels_[known].tolist() == [0] * 12 + [1] * 12 and estimator.n_clusters_ == 2
    assert estimator.estimate_.sizes["item"] == 24
