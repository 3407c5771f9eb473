"""Rows of arrays, files and copies of them: the same draws, and errors that name the argument."""

import resource
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import pymc_nrm as nrm
from pymc_nrm.moves.chunks import source
from tests.chunks.chunk_cases import FOLLOWED, MEASURES, in_four_places, sampled


@pytest.mark.slow
def test_partitions_and_files_give_the_same_draws(tmp_path):
    dask_array, zarr = pytest.importorskip("dask.array"), pytest.importorskip("zarr")
    X = in_four_places()
    stored = zarr.create_array(store=tmp_path / "x.zarr", shape=X.shape, chunks=(100, 1), dtype="f8")
    stored[:] = X
    mapped = np.memmap(tmp_path / "x.raw", "f8", "w+", shape=X.shape)
    mapped[:] = X
    family, in_parts = nrm.NormalGamma.from_data(X), dask_array.from_array(X, chunks=(150, 1))
    sources = [
        (X, {}),
        (in_parts, {}),
        (stored, {}),
        (mapped, {}),
        (in_parts, {"copy": tmp_path / "copy", "n_threads": 2}),
    ]
    sources.append((stored, {"copy": tmp_path / "other", "n_threads": 2, "block_rows": 30}))
    results = [
        sampled(nrm.Chunks(one, **FOLLOWED, **options), family, MEASURES["ngg"], 5, random_seed=5)
        for one, options in sources
    ]
    for result in results[1:]:
        assert np.array_equal(results[0].posterior["z"], result.posterior["z"])
        assert np.array_equal(results[0]["clusters"]["x"], result["clusters"]["x"])


def test_rows_of_parquet_files(tmp_path):
    pytest.importorskip("pyarrow")
    table, dataframe = pd.DataFrame(in_four_places(), columns=["size"]), pytest.importorskip("dask.dataframe")
    for part in range(3):
        table[part * 300 : (part + 1) * 300].to_parquet(tmp_path / f"part.{part}.parquet")
    rows = dataframe.read_parquet(tmp_path)
    assert nrm.Chunks(rows, **FOLLOWED).key == nrm.Chunks(table, **FOLLOWED).key


def test_partitions_of_dask_are_computed_once_for_a_copy(tmp_path):
    delayed, dask_array = pytest.importorskip("dask.delayed"), pytest.importorskip("dask.array")
    X, computed = in_four_places(), []

    def part(first):
        computed.append(first)
        return X[first : first + 100]

    parts = [
        dask_array.from_delayed(delayed.delayed(part)(first), (np.nan, X.shape[1]), X.dtype)
        for first in range(0, len(X), 100)
    ]
    rows = nrm.Chunks(dask_array.concatenate(parts, allow_unknown_chunksizes=True), **FOLLOWED, copy=tmp_path / "copy")
    assert rows.key == nrm.Chunks(X, **FOLLOWED).key
    assert sorted(computed) == list(range(0, len(X), 100))


class Slices:
    """Rows of an array that count how often each is read."""

    def __init__(self, X):
        self._X, self.shape, self.n_reads = X, X.shape, np.zeros(len(X), dtype=int)

    def __getitem__(self, rows):
        self.n_reads[rows] += 1
        return self._X[rows]


def test_a_copy_is_all_that_is_read_after_the_first_time(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "_MOST_BYTES_KEPT", 0)
    X = in_four_places()
    X[40] = np.nan
    slices, family = Slices(X), nrm.NormalGamma(5.0, 0.1, 2.0, 1.0)
    rows = nrm.Chunks(slices, **FOLLOWED, block_rows=60, n_threads=2, copy=tmp_path / "copy")
    there = sampled(rows, family, MEASURES["ngg"], 2, random_seed=5)
    assert (slices.n_reads == 1).all()
    assert np.array_equal(np.load(tmp_path / "copy" / "rows.npy"), X, equal_nan=True)
    here = sampled(nrm.Chunks(X, **FOLLOWED), family, MEASURES["ngg"], 2, random_seed=5)
    assert np.array_equal(here.posterior["z"], there.posterior["z"])
    assert np.array_equal(here["clusters"]["x"], there["clusters"]["x"])


def test_copies_that_cannot_be_made(tmp_path, monkeypatch):
    """Errors name the argument, and nothing is left of the folder."""
    X, folder, client = in_four_places(), tmp_path / "copy", object()
    with pytest.raises(ValueError, match="copy must be None with a client.*; got"):
        nrm.Chunks(X, copy=folder, client=client)
    with pytest.raises(ValueError, match=f"copy must be a new folder; got '{tmp_path}'"):
        nrm.Chunks(X, copy=tmp_path)
    with pytest.raises(TypeError, match="copy must be the path of a folder; got True"):
        nrm.Chunks(X, copy=True)
    with pytest.raises(ValueError, match="inf in row 650"):
        nrm.Chunks(np.where(np.arange(700)[:, None] == 650, np.inf, X), block_rows=100, copy=folder)
    assert not folder.exists()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, limits[1]))
    try:
        with pytest.raises(OSError, match="copy cannot be written: File too large.*rows.npy"):
            nrm.Chunks(X, block_rows=100, n_threads=2, copy=folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not folder.exists()
    monkeypatch.setattr(source.shutil, "disk_usage", lambda folder: SimpleNamespace(free=5599))
    with pytest.raises(OSError, match="copy needs 5,600 bytes of disk space; 5,599 are free"):
        nrm.Chunks(X, copy=folder)
    assert not folder.exists()
