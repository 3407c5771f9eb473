"""DataFrames and Dask collections in chunks: types of columns, rare levels, and rows that change or are others."""

import datetime

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import pymc_nrm as nrm
from pymc_nrm.moves.chunks.coded_columns import coded_columns
from pymc_nrm.moves.chunks.source import all_values

MEASURE = nrm.DirichletProcess(1.0)
# Columns, their numbers, and their levels: None if they are numbers, empty for dates.
COLUMNS = {
    "whole numbers": ([1, 2, 3], [1.0, 2.0, 3.0], None),
    "nullable": (pd.array([1, None, 3], dtype="Int64"), [1.0, np.nan, 3.0], None),
    "categories that are numbers": (pd.Categorical([10, 30, None]), [10.0, 30.0, np.nan], None),
    "objects that are numbers": (pd.Series([None, 1.5, 2.0], dtype=object), [np.nan, 1.5, 2.0], None),
    "objects that are truth values": (pd.Series([None, True, False], dtype=object), [np.nan, 1.0, 0.0], None),
    "truth values": ([True, False, True], [1.0, 0.0, 1.0], None),
    "text": (["u", "v", None], [0.0, 1.0, np.nan], ("u", "v")),
    "numbers in text": (["10", "2", "2"], [0.0, 1.0, 1.0], ("10", "2")),
    "categories in order": (pd.Categorical(["low", "high", "low"], ["low", "high"]), [0.0, 1.0, 0.0], ("low", "high")),
    "dates": (pd.to_datetime(["2026-01-01", "2026-01-11", None]), [0.0, 10.0, np.nan], ()),
    "dates of Python": ([datetime.date(2026, 1, 1), datetime.date(2026, 1, 11), None], [0.0, 10.0, np.nan], ()),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_types_of_columns(name):
    column, numbers, levels = COLUMNS[name]
    coded, found = coded_columns(pd.DataFrame({"a": column, "b": [0.5, 1.5, 2.5]}))
    np.testing.assert_array_equal(coded["a"].to_numpy("float64"), numbers)
    assert found.get("a") == levels and "b" not in found


def test_levels_that_the_sampled_rows_lack():
    answers = np.where(np.arange(3000) == 1234, "zz", np.array(["u", "v", "w"])[np.arange(3000) % 3])
    rows = nrm.Chunks(pd.DataFrame({"k": answers}), n_sampled=50, n_followed=10)
    codes = nrm.Chunks(rows.followed_values.iloc[:0].reindex(range(3000)).assign(k=np.unique(answers, True, True)[2]))
    for chunks in (rows, codes):
        with pm.Model():
            z = nrm.Partition("z", MEASURE, chunks=chunks)
            families = [nrm.CategoricalDirichlet.learned("k", chunks), nrm.CategoricalDirichlet(1.0)]
            for name, family in zip("xy", families, strict=True):
                mixture = nrm.Mixture(name, z, family, observed=chunks)
                assert mixture.owner.op.family(mixture.owner).n_levels.eval().tolist() == [4]


def test_a_table_that_gets_columns_later():
    df = pd.DataFrame({"a": [0.0, 0.1, 0.2, 9.0], "b": [1.0, 2.0, 3.0, 4.0]})
    rows = nrm.Chunks(df, block_rows=2)
    df.insert(0, "cluster", [5, 5, 5, 6])
    df["later"] = 1.0
    values = np.concatenate(list(rows.each(all_values, None)))
    np.testing.assert_array_equal(values, df[["a", "b"]])
    assert rows.table_of(["b"])["b"].tolist() == [1.0, 2.0, 3.0, 4.0]


def test_empty_partitions():
    dask = pytest.importorskip("dask.dataframe")
    for dtype in ("float64", "int64"):
        numbers = dask.from_pandas(pd.DataFrame({"a": np.arange(40, dtype=dtype)}), npartitions=4)
        for some in (numbers[numbers["a"] >= 20], numbers[numbers["a"] >= 20]["a"].to_dask_array(lengths=True)):
            rows = nrm.Chunks(some)
            assert rows.n == 20 and np.concatenate(list(rows.each(all_values, None))).ravel().tolist() == [
                *range(20, 40)
            ]
        with pytest.raises(ValueError, match="X must have at least one row; all its partitions are empty"):
            nrm.Chunks(numbers[numbers["a"] < 0])


def one_column(values):
    with pm.Model() as model:
        rows = nrm.Chunks(values)
        z = nrm.Partition("z", MEASURE, chunks=rows)
        nrm.Mixture("x", z, nrm.NormalGamma(0.0, 0.1, 2.0, 1.0), observed=rows)
    return model


def test_draws_of_other_rows_are_refused(tmp_path):
    values = np.array([0.0, 0.1, 0.2, 9.0, 9.1, 9.2, 9.3])
    model, other = one_column(values), one_column(np.array([0.0, 0.1, 0.2, 0.3, 9.0, 9.1, 9.2]))
    idata = nrm.sample(5, tune=5, chains=1, quiet=True, model=model, random_seed=1)
    nrm.save(idata, model, tmp_path / "run")
    for draws in (idata, nrm.load(tmp_path / "run")[0]):
        assert nrm.log_predictive_density(draws, one_column(values), [9.1]).shape == (1,)
        for function in (lambda *given: nrm.log_predictive_density(*given, [9.1]), nrm.describe):
            with pytest.raises(ValueError, match="the rows of 'z' are others. Give the model with which the draws"):
                function(draws, other)


def test_names_of_levels_in_results():
    rng = np.random.default_rng(1)
    group = np.repeat([0, 1], 40)
    df = pd.DataFrame({"colour": np.where(rng.random(80) < 0.95, np.array(["red", "blue"])[group], "grey")})
    with pm.Model() as model:
        rows = nrm.Chunks(df)
        z = nrm.Partition("z", MEASURE, chunks=rows)
        nrm.Mixture("x", z, nrm.CategoricalDirichlet(0.5), observed=rows)
    idata = nrm.sample(20, tune=20, chains=1, quiet=True, model=model, random_seed=1)
    assert "red" in str(nrm.describe(idata, model))
    by_name = nrm.log_predictive_density(idata, model, df.iloc[[0, 79]])
    codes = nrm.log_predictive_density(idata, model, np.array([[2.0], [0.0]]))
    np.testing.assert_array_equal(by_name, codes)
