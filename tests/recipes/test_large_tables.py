"""Tables of many rows, which recipes take in chunks: the same columns as without, and what chunks do not support."""

import logging

import numpy as np
import pandas as pd
import pytest

import pymc_nrm as nrm
from pymc_nrm.common.pymc_internals import find_observations
from pymc_nrm.models.rvs import kind_of, mixtures_of
from pymc_nrm.partitions.chunked import Chunked
from pymc_nrm.recipes import rows_in_chunks
from tests.helpers import refused


def mixed(n=60, gaps=False):
    """A table of all kinds in three groups."""
    rng = np.random.default_rng(1)
    k = rng.integers(0, 3, n)
    df = pd.DataFrame(
        {
            "size": (5.0 * k + rng.normal(size=n)).round(1),
            "width": 2.0 * k + rng.normal(size=n),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(10 * k + rng.integers(0, 19, n), "D"),
            "kind": pd.Categorical(np.array(list("abc"))[k], categories=["c", "b", "a", "never"]),
            "paid": rng.random(n) < 0.2 + 0.2 * k,
            "rain": np.where(rng.random(n) < 0.5, 0.0, np.exp(k + rng.normal(size=n))),
            "visits": rng.poisson(3.0 + 8.0 * k),
        }
    )
    df.loc[3, "kind"] = None
    if gaps:
        df.loc[5:7, "width"] = np.nan
        df.loc[6:9, "rain"] = np.nan
    return df


KINDS = {"visits": "count", "rain": "zero or positive"}


def values_by_column(model):
    """Values of the columns of a model of rows, as it has them."""
    partition = next(rv for rv in model.free_RVs if kind_of(rv) is not None)
    values = {}
    for mixture in mixtures_of(model, partition):
        rows = getattr(mixture.owner.op, "rows", None)
        if isinstance(kind_of(partition), Chunked):
            own = pd.DataFrame(rows.sampled_values, columns=rows.columns)
        else:
            own = pd.DataFrame(
                np.asarray(find_observations(model)[mixture.name], dtype=float),
                columns=model.coords[f"{mixture.name}_feature"],
            )
        values |= {(mixture.name, name): own[name].to_numpy() for name in own}
    return values


def assert_same_columns(model, other):
    here, there = values_by_column(model), values_by_column(other)
    assert here.keys() == there.keys()
    for name, values in here.items():
        assert np.array_equal(values, there[name], equal_nan=True), name


def test_columns_are_read_as_without_chunks(monkeypatch, caplog, tmp_path):
    caplog.set_level(logging.INFO)
    df = mixed()
    plain = nrm.mixture_model(df, kinds=KINDS)
    assert "chunks" not in caplog.text
    monkeypatch.setattr(rows_in_chunks, "MANY_ROWS", 60)
    models = [nrm.mixture_model(df, kinds=KINDS)]
    assert "60 rows, 60 or more, are taken in chunks" in caplog.text and "chunks=False" in caplog.text
    monkeypatch.undo()
    models.append(nrm.mixture_model(nrm.Chunks(df, block_rows=17), kinds=KINDS))
    path = tmp_path / "table.parquet"
    pytest.importorskip("pyarrow")
    df.to_parquet(path)
    models.append(nrm.mixture_model(path, kinds=KINDS, chunks=True))
    for model in models:
        assert_same_columns(model, plain)
        coords = {name: values for name, values in plain.coords.items() if name != "item"}
        assert dict(model.coords) == coords
        assert isinstance(kind_of(model["z"]), Chunked)
        assert {rv.name for rv in model.free_RVs} - {"z"} >= {"alpha", "numeric_share", "categorical_concentration"}
    kept = nrm.mixture_model(df, kinds=KINDS, chunks=False)
    assert not isinstance(kind_of(kept["z"]), Chunked)


def test_a_table_of_dask_is_that_of_pandas():
    frames = pytest.importorskip("dask.dataframe")
    df = mixed()
    model = nrm.mixture_model(frames.from_pandas(df, npartitions=3), kinds=KINDS, chunks=True)
    assert_same_columns(model, nrm.mixture_model(df, kinds=KINDS))


def test_numbers_with_gaps_stand_apart(caplog):
    caplog.set_level(logging.INFO)
    model = nrm.mixture_model(mixed(gaps=True), kinds=KINDS, chunks=True)
    assert dict(list(values_by_column(model)))["numeric_with_gaps"] == "width"
    assert "'width', are independent" in caplog.text
    assert model["numeric"].owner.op.family_class is nrm.NormalWishart
    assert model["numeric_with_gaps"].owner.op.family_class is nrm.NormalGamma


test_chunks_say_what_they_do_not_support = refused(
    lambda options: nrm.mixture_model(mixed(gaps=True), kinds=KINDS | options.pop("kinds", {}), chunks=True, **options),
    ({"known": [0, 1] + [-1] * 58}, "chunks must be None or False with known, which rows in chunks do not support"),
    ({"together": np.arange(60) // 2}, "with together"),
    ({"n_directions": 2}, "with n_directions=2"),
    ({"covariance": "full"}, "with covariance='full' where columns have missing values, here 'width'"),
    ({"kinds": {"visits": "numeric", "size": "positive"}}, "'size' .*must be above 0|of the kind 'positive'"),
)


def test_many_rows_stay_as_they_are_where_chunks_would_not_do(monkeypatch, caplog):
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(rows_in_chunks, "MANY_ROWS", 60)
    model = nrm.mixture_model(mixed(), kinds=KINDS, known=[0, 1] + [-1] * 58)
    assert not isinstance(kind_of(model["z"]), Chunked)
    assert "60 rows would be faster in chunks, which do not support known" in caplog.text
    with pytest.raises(ValueError, match="chunks must be None or True for Chunks"):
        nrm.mixture_model(nrm.Chunks(mixed()), chunks=False)
    with pytest.raises(TypeError, match="chunks must be"):
        nrm.mixture_model(mixed(), chunks="yes")


@pytest.mark.slow
def test_results_of_a_large_table():
    """Clusters, their description and predictions of new rows are those of the three groups."""
    df = mixed(900, gaps=True)
    rows = nrm.Chunks(df, n_followed=300, n_sampled=300, block_rows=170)
    model = nrm.mixture_model(rows, kinds=KINDS)
    idata = nrm.sample(40, tune=40, chains=2, model=model, random_seed=1, quiet=True)
    truth = np.array([ord(kind) if isinstance(kind, str) else 0 for kind in df["kind"]])
    followed = idata.posterior["z_row"].values
    assert np.array_equal(followed, rows.followed)
    estimate = nrm.point_estimate(idata, random_seed=1, progressbar=False)
    assert nrm.stats.adjusted_rand(truth[followed], estimate.labels.values) > 0.8
    description = nrm.describe(idata, model)
    assert description.title.startswith("300 followed rows of 900 in 3 clusters")
    assert set(df.columns) <= set(description.table.columns.get_level_values(0))
    # What was recorded, not what was spread.
    own = description.estimate.labels.values
    largest = description.table.index[0]
    expected = df["size"].to_numpy()[followed][own == largest].mean()
    assert description.table["size"]["mean"][largest] == pytest.approx(expected)
    new = nrm.table_data(model, df.head(20))
    assert new["categorical"].shape == (20, 1) and new["numeric_with_gaps"].shape == (20, 1)
    predicted = nrm.cluster_probabilities(idata, model, new, estimate=estimate, progressbar=False)
    labelled = nrm.label_rows(idata, model, estimate=estimate, random_seed=1, progressbar=False)
    assert (predicted.labels.values == labelled.labels.values[:20]).mean() >= 0.9
    assert nrm.stats.adjusted_rand(truth, labelled.labels.values) > 0.8
    parameters = nrm.sample_cluster_parameters(idata, model, var_name="numeric", random_seed=1, progressbar=False)
    assert "numeric_feature" in parameters.dims
    pc = nrm.plots.plot_clusters(idata, df, model=model, backend="none")
    shown = [points for points in pc.viz["points"]["X"].values.ravel() if points is not None]
    assert {len(points["x"]) for points in shown} != {0}
