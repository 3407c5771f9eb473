"""Models of rows in chunks: their density, the law of their draws, and equal draws for any blocks and threads."""

import errno
import functools
import os
import signal

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy.spatial import cKDTree

import pymc_nrm as nrm
from pymc_nrm.kernels.generic import kernels_in_python
from pymc_nrm.moves.chunks import engine, sweep
from pymc_nrm.moves.chunks.chain import rounded_rows
from pymc_nrm.testing import all_partitions, exact_posterior
from tests.cases import PrincipalNormalWishart
from tests.chunks.chunk_cases import FAMILIES, FOLLOWED, MEASURES, MORE, in_four_places, sampled
from tests.helpers import assert_law, canonical_labels, learned_dirichlet_process, mixture_of, refused

SLOW = pytest.mark.slow


def two_models(X, rows, family):
    """The same model over rows in chunks and over items, with random hyperparameters."""
    models = []
    for of_partition, observed in (({"chunks": rows}, rows), ({"n": len(X)}, X)):
        with pm.Model() as model:
            alpha = pm.Gamma("alpha", 2.0, 1.0)
            z = nrm.Partition("z", nrm.NormalizedGeneralizedGamma(alpha, 0.3), **of_partition)
            nrm.Mixture("x", z, family("x", rows), observed=observed)
        models.append(model)
    return models


LEARNED = {family.__name__: family.learned for family in (nrm.NormalGamma, nrm.NormalWishart, nrm.PoissonGamma)}
LEARNED |= {family.__name__: family.learned for family in (nrm.HurdleLogNormal, nrm.HurdlePoisson)}
LEARNED["MultinomialDirichlet"] = nrm.MultinomialDirichlet.learned
LEARNED["PrincipalNormalWishart"] = functools.partial(PrincipalNormalWishart.learned, n_directions=1)


@pytest.mark.quick("NormalGamma")
@pytest.mark.parametrize("name", LEARNED)
def test_density_and_gradient_are_those_of_items(name):
    X = np.random.default_rng(1).poisson(5.0, size=(12, 2)) + 1000.0
    if name.startswith("Hurdle"):
        X[::3, 0], X[1, 1] = 0.0, np.nan
    rows = nrm.Chunks(X, block_rows=5)
    chunked, items = two_models(X, rows, LEARNED[name])
    labels = canonical_labels([0, 1, 0, 2, 0, 1, 1, 1, 2, 0, 0, 1])
    point, other = chunked.initial_point(), items.initial_point()
    measured = chunked["x"].owner.op.measured
    values = measured.preparation(X)
    rounded = rounded_rows(measured.preparation, values, 12, measured.quanta)
    point["z"], point["x"] = np.zeros_like(point["z"]), np.zeros_like(point["x"])
    point["z"][:3] = np.bincount(labels)
    np.add.at(point["x"], labels, rounded)
    other["z"] = labels
    scores = []
    for model, at in ((chunked, point), (items, other)):
        logp, gradient = model.compile_logp(), model.compile_dlogp()
        scores.append([float(logp(at)), *gradient(at)])
    assert np.allclose(*scores, rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gamma", "multinomial", "principal"])
def test_law_of_partitions(name):
    family, X = (FAMILIES | MORE)[name]
    idata = sampled(nrm.Chunks(X, block_rows=2), family, MEASURES["ngg"], 4000, random_seed=1)
    labels = idata.posterior["z"].values.astype(np.int64)
    assert_law(labels, *exact_posterior(MEASURES["ngg"], family, X))
    assert np.array_equal(idata.posterior["z_n_clusters"], labels.max(axis=-1) + 1)


NAN = np.nan
# Columns of tables by their mixtures, with gaps, and families.
MIXED = {
    "numbers and counts": {
        "size": FAMILIES["gamma"],
        "number": (nrm.PoissonGamma(1.0, 0.5), np.array([[0.0], [1.0], [4.0], [6.0], [5.0]])),
    },
    "all kinds": {
        "place": FAMILIES["wishart"],
        "size": FAMILIES["gamma"],
        "number": (nrm.PoissonGamma(1.0, 0.5), np.array([[0.0], [1.0], [NAN], [6.0], [5.0]])),
        "answer": (nrm.BernoulliBeta(0.7, 0.7), np.array([[0.0, 1.0], [0.0, NAN], [1.0, 0.0], [NAN, 0.0], [1.0, 1.0]])),
        "kind": (nrm.CategoricalDirichlet(0.6, n_levels=3), np.array([[0.0], [NAN], [2.0], [2.0], [1.0]])),
        "rain": (nrm.HurdleLogNormal(0.8, 0.6, 0.5, 0.3, 2.0, 0.7), np.array([[0.0], [0.2], [2.5], [NAN], [4.0]])),
        "visits": (nrm.HurdlePoisson(0.8, 0.6, 1.0, 0.5), np.array([[0.0], [0.0], [4.0], [7.0], [NAN]])),
    },
}


@SLOW
@pytest.mark.parametrize("table", MIXED)
def test_law_of_several_mixtures(table):
    families, data = ({name: pair[k] for name, pair in MIXED[table].items()} for k in (0, 1))
    names = {name: [f"{name} {k}" for k in range(X.shape[1])] for name, X in data.items()}
    columns = [column for own in names.values() for column in own]
    rows = nrm.Chunks(pd.DataFrame(np.hstack(list(data.values())), columns=columns), block_rows=3)
    with pm.Model():
        z = nrm.Partition("z", MEASURES["ngg"], chunks=rows)
        for name, family in families.items():
            nrm.Mixture(name, z, family, observed=rows[names[name]])
        idata = nrm.sample(2000, tune=0, chains=2, quiet=True, random_seed=1, chunked_sampler={"n_redrawn": 2})
    labels = idata.posterior["z"].values.astype(np.int64)
    model = mixture_of(families, data, MEASURES["ngg"])
    partitions = np.array(list(all_partitions(5)))
    logp = model.compile_logp()
    values = np.array([float(logp({"z": one})) for one in partitions])
    probabilities = np.exp(values - np.logaddexp.reduce(values))
    assert_law(labels, partitions, probabilities)
    assert {idata["clusters"][name].shape[:2] for name in families} == {(2, 2000)}


@pytest.mark.parametrize(
    ("block_rows", "n_threads", "many_rows"), [pytest.param(100, 1, 200_000, marks=pytest.mark.slow), (37, 2, 140)]
)
def test_draws_do_not_depend_on_blocks_or_threads(block_rows, n_threads, many_rows, monkeypatch):
    monkeypatch.setattr(sweep, "_MANY_ROWS", many_rows)
    X = in_four_places()
    family = nrm.NormalGamma.from_data(X)
    results = [
        sampled(nrm.Chunks(X, **FOLLOWED, **blocks), family, MEASURES["ngg"], 12, random_seed=5)
        for blocks in ({}, {"block_rows": block_rows, "n_threads": n_threads})
    ]
    for group, name in (("posterior", "z"), ("clusters", "size"), ("clusters", "x"), ("sample_stats", "log_joint")):
        assert np.array_equal(results[0][group][name], results[1][group][name])
    assert results[0].posterior.sizes["z_row"] == 50
    assert (results[0]["clusters"]["size"].sum("cluster") == 700).all()


def test_a_given_start_is_kept_unless_chains_tune():
    X, family = in_four_places(), nrm.NormalGamma(5.0, 0.1, 20.0, 20.0)
    starts = [{"z": np.zeros(700, dtype=int)}, {"z": np.arange(700) % 50}, {"z": np.rint(X[:, 0] / 5.0).clip(0, 3)}]
    options = {"chains": 3, "quiet": True, "random_seed": 1}

    def first_draws(tune, **blocks):
        moves = {"n_pairs": 10 * tune, "n_redrawn": 2 * tune}
        model = mixture_of(family, nrm.Chunks(X, **FOLLOWED, **blocks), nrm.DirichletProcess(0.1))
        idata = nrm.sample(1, tune=tune, initvals=starts, chunked_sampler=moves, model=model, **options)
        return idata["clusters"]["size"].values[:, 0]

    kept, improved = first_draws(0), first_draws(1)
    assert [np.count_nonzero(sizes) for sizes in kept] == [1, 50, 4]
    assert all((np.sort(sizes)[-4:] > 130).all() and np.count_nonzero(sizes) < 7 for sizes in improved)
    assert np.array_equal(improved, first_draws(1, block_rows=37, n_threads=2))


@SLOW
@pytest.mark.parametrize("pieces", [1, 50, 5000])
@pytest.mark.parametrize("seed", [1, 2])
def test_six_clusters_are_found_from_any_start(pieces, seed):
    """Two of them overlap; 50 and 5000 pieces are neither their parts nor Gaussian."""
    rng, n = np.random.default_rng(seed), 200_000
    truth = rng.choice(6, n, p=[0.1, 0.1, 0.15, 0.15, 0.2, 0.3])
    means = 6.0 * np.array([[0.0, 0], [1, 0], [0, 1], [1, 1], [2, 2], [2.5, 2]])
    X = means[truth] + rng.normal(size=(n, 2))
    _, labels = cKDTree(X[:pieces]).query(X)
    model = mixture_of(nrm.NormalWishart(np.zeros(2), 0.001, 8.0 * np.eye(2), 8.0), nrm.Chunks(X, max_clusters=5000))
    options = {"chains": 1, "quiet": True, "random_seed": seed, "label_storage": "none", "model": model}
    of_truth, found = (
        nrm.sample(10, tune=tune, initvals={"z": start}, **options) for tune, start in ((0, truth), (10, labels))
    )
    assert ((found["clusters"]["size"].values > n / 100).sum(axis=-1) == 6).all()
    joints = [result.sample_stats["log_joint"].values[0] for result in (of_truth, found)]
    assert abs(joints[0].mean() - joints[1].mean()) < 6.0 * joints[0].std()


@pytest.mark.slow
def test_fewer_moves_and_values_that_doubles_do_not_resolve():
    X = np.concatenate([np.full(30, -1e6), np.full(50, 1e6)])[:, None] + np.random.default_rng(1).normal(size=(80, 1))
    rows, measure = nrm.Chunks(X, block_rows=33), MEASURES["ngg"]
    idata = sampled(rows, nrm.NormalGamma(0.0, 1e-8, 2.0, 1.0), measure, 10, n_redrawn=0, random_seed=1)
    clusters = idata["clusters"].isel(chain=0, draw=-1)
    assert sorted(clusters["size"].values.tolist())[-2:] == [30, 50]
    assert (idata.sample_stats["n_moved"] == 0).all()
    alone = sampled(rows, nrm.NormalGamma(0.0, 1e-8, 2.0, 1.0), measure, 2, n_pairs=0, n_redrawn=0, random_seed=1)
    assert (alone.sample_stats["n_splits"] == 0).all()
    with pytest.raises(ValueError, match="data of 'x': item .* doubles resolve at most"):
        sampled(rows, nrm.NormalGamma(0.0, 1e-8, 2.0, 1e-12), measure, 1, random_seed=1)


test_errors_of_rows = refused(
    lambda X: nrm.Chunks(X, block_rows=1),
    (np.array([[1.0], [np.inf], [3.0]]), ValueError, "inf in row 1, column '0'"),
    (np.zeros((0, 2)), ValueError, r"at least one row .* got shape \(0, 2\)"),
    (np.array([[np.nan, 1.0], [np.nan, 2.0]]), ValueError, "a value in every column; got only NaN in column '0'"),
    (pd.DataFrame({"a": [1.0, 2.0], "b": [["one"], ["two"]]}), TypeError, "column 'b' of X must be real numbers"),
)


def over_rows(observed=None):
    """A mixture over rows in chunks, or over other data."""
    rows = nrm.Chunks(np.arange(8.0), max_clusters=5)
    z = nrm.Partition("z", nrm.DirichletProcess(1.0), chunks=rows)
    nrm.Mixture("x", z, nrm.NormalGamma.from_data(rows), observed=rows if observed is None else observed)


def partition(name, **given):
    nrm.Partition(name, nrm.DirichletProcess(1.0), **{"chunks": ROWS} | given)


def over_text():
    rows = nrm.Chunks(pd.DataFrame({"kind": ["a", "b", None, "b"]}))
    z = nrm.Partition("z", nrm.DirichletProcess(1.0), chunks=rows)
    nrm.Mixture("x", z, nrm.NormalGamma.from_data(rows), observed=rows)


ROWS = nrm.Chunks(np.arange(8.0))


OF_SAMPLE = [
    ({"cores": 2}, "cores must be 1"),
    ({"client": object()}, "client must be None"),
    ({"trace": []}, "trace must be None"),
    ({"return_inferencedata": False}, "return_inferencedata must be True"),
    ({"initvals": {"z": np.zeros(7)}}, r"initvals\['z'\] must hold one label for each of 8 rows; got 7"),
    ({"initvals": {"z": np.arange(8)}}, "must have at most max_clusters=5 clusters, .* got 8"),
    ({"initvals": [None, {"x": np.zeros(8)}]}, r"initvals\['x'\] must be None"),
    ({"idata_kwargs": {"log_likelihood": True}}, "log_likelihood of idata_kwargs must be False"),
    ({"idata_kwargs": {"log_prior": True}}, "log_prior of idata_kwargs must be False"),
    ({"idata_kwargs": {"dims": {"z": ["row"]}}}, "dims of idata_kwargs must leave out 'z'"),
]


test_errors_of_models = refused(
    lambda call: call(),
    (lambda: partition("z", chunks=np.arange(8.0)), r"chunks of Partition 'z' must be Chunks\(X\)"),
    (lambda: partition("z", observed=np.zeros(8)), "observed of Partition 'z' must be None with chunks"),
    (lambda: partition("z", dims="row"), "dims of Partition 'z' must be None"),
    (lambda: (over_rows(), partition("y")), "chunks of Partition 'y' must be None, since .* has 'z'"),
    (lambda: over_rows(np.arange(8.0)), "observed of Mixture 'x' must be Chunks"),
    (lambda: over_rows(ROWS), "must be a Partition with chunks= these Chunks"),
    (lambda: over_text(), r"column 'kind' of Mixture 'x' must hold numbers; got text\. mixture_model takes Chunks"),
    (lambda: (over_rows(), pm.sample(10, chains=1, progressbar=False)), r"kept by nrm\.sample"),
    *((lambda given=given: (over_rows(), nrm.sample(10, quiet=True, **given)), words) for given, words in OF_SAMPLE),
    error=(TypeError, ValueError),
    within=lambda: pm.Model(coords={"row": range(8)}),
)


def test_what_is_kept_is_what_was_asked_for():
    model, kept = mixture_of(FAMILIES["gamma"][0], nrm.Chunks(in_four_places(), **FOLLOWED), MEASURES["ngg"]), {}
    for asked in ("full", "compact", "none", ("z",), ("x", "z_n_clusters")):
        options = {"label_storage": asked} if isinstance(asked, str) else {"var_names": asked}
        kept[asked] = nrm.sample(4, tune=0, chains=1, quiet=True, random_seed=1, model=model, **options)
    names = {asked: (*result.posterior, *result["clusters"]) for asked, result in kept.items()}
    assert names["full"] == names["compact"] == ("z_n_clusters", "z", "size", "x")
    assert names["none"] == ("z_n_clusters", "size", "x")
    assert names["z",] == ("z", "size")
    assert names["x", "z_n_clusters"] == ("z_n_clusters", "x")
    full, compact = kept["full"].posterior["z"], kept["compact"].posterior["z"]
    assert (full.dtype, compact.dtype) == (np.int64, np.uint8)
    assert np.array_equal(full, compact)
    for result in kept.values():
        assert all(np.array_equal(result["clusters"][k], kept["full"]["clusters"][k]) for k in result["clusters"])
    with pytest.raises(ValueError, match="idata must have labels of the followed rows of 'z'"):
        nrm.predictive_density(kept["none"], model, np.zeros((2, 1)), progressbar=False)


def test_predictions_are_those_of_all_rows():
    family, X = FAMILIES["gamma"]
    model = mixture_of(family, nrm.Chunks(X, block_rows=2), MEASURES["ngg"])
    idata = nrm.sample(8, tune=0, chains=1, quiet=True, random_seed=1, model=model)
    of_items = mixture_of(family, X, MEASURES["ngg"])
    labels = idata.posterior.to_dataset()[["z"]].astype("int64").rename(z_row="z_dim_0").drop_vars("z_dim_0")
    labels["z"].attrs["partition"] = "z"
    grid = X[:3] + 0.1
    # By default estimates of items leave out a row without values, and estimates of rows in chunks do not.
    estimate = {"estimate": [0, 0, 0, 1, 2]}
    for function, options in ((nrm.predictive_density, {}), (nrm.cluster_probabilities, estimate)):
        here = function(idata, model, grid, progressbar=False, **options)
        there = function(labels, of_items, grid, progressbar=False, **options)
        for name in here.data_vars:
            assert np.allclose(here[name].values, there[name].values, rtol=1e-9), name
    here, there = (
        nrm.sample_cluster_parameters(*draws, random_seed=1, progressbar=False)
        for draws in ((idata, model), (labels, of_items))
    )
    for name in here.data_vars:
        expected = there[name].values.reshape(here[name].shape)
        assert np.allclose(here[name].values, expected, rtol=1e-9, equal_nan=True), name
    here = nrm.log_predictive_density(idata, model, grid, progressbar=False)
    assert np.allclose(here, nrm.log_predictive_density(labels, of_items, grid, progressbar=False))
    with pytest.raises(NotImplementedError, match="leave no row out"):
        nrm.compute_log_likelihood(idata, model)


def test_all_rows_get_the_probabilities_of_their_clusters(tmp_path):
    rng = np.random.default_rng(1)
    truth = rng.permutation(np.repeat([0, 1, 2], [300, 200, 100]))
    X = rng.normal(size=(600, 1)) + np.array([0.0, 3.0, 30.0])[truth, None]
    rows = nrm.Chunks(X, block_rows=128, n_followed=200, n_sampled=200)
    model = mixture_of(nrm.NormalGamma(0.0, 0.01, 20.0, 20.0), rows, nrm.DirichletProcess(0.1))
    idata = nrm.sample(200, tune=20, chains=1, quiet=True, random_seed=1, model=model)
    estimate = nrm.point_estimate(idata, random_seed=0)
    options = {"estimate": estimate, "n_draws": 200, "random_seed": 1, "progressbar": False}
    labelled = nrm.label_rows(idata, model, **options)
    assert labelled.sizes["row"] == 600
    # Rows that are followed have labels in the draws, of whose shares in the estimate the probabilities are means.
    own = labelled.labels.values[rows.followed]
    mates = idata.posterior["z"].values[0][:, :, None] == idata.posterior["z"].values[0][:, None, :]
    direct = (mates * (estimate.labels.values == own[:, None])).sum(axis=2) / mates.sum(axis=2)
    errors = labelled.probability.values[rows.followed] - direct.mean(axis=0)
    assert abs(errors.mean()) < 0.02
    assert np.abs(errors).max() < 0.35
    assert (own == estimate.labels.values).mean() > 0.95
    far = labelled.labels.values[truth == 2]
    assert (far == far[0]).all()
    assert (labelled.probability.values[truth == 2] > 0.999).all()
    stored = nrm.label_rows(idata, model, path=tmp_path / "labels.zarr", **options)
    assert np.array_equal(stored.labels, labelled.labels)
    # The followed rows are described: two groups overlap, the third is apart.
    fused = nrm.fused_estimate(idata, model, estimate, random_seed=1, progressbar=False)
    description = nrm.describe(idata, model)
    assert description.title.startswith("200 followed rows of 600 in ")
    assert "not joined" not in description.title
    apart = truth[rows.followed] == 2
    for labels in (fused.labels.values, description.estimate.labels.values):
        assert len(np.unique(labels[apart])) == 1 and not set(labels[apart]) & set(labels[~apart])
    k = description.estimate.labels.values[apart][0]
    assert description.table["0"]["mean"][k] == pytest.approx(X[rows.followed][apart].mean())
    assert description.table["cluster"]["certainty"][k] == 1.0
    with pytest.raises(ValueError, match="path must be a new folder"):
        nrm.label_rows(idata, model, estimate=estimate, path=tmp_path / "labels.zarr")


@SLOW
def test_a_cluster_gives_the_same_draws_though_a_worker_is_killed(monkeypatch):
    monkeypatch.setattr(engine, "_PASSES_BETWEEN_RESTARTS", 7)
    monkeypatch.setattr(sweep, "_MANY_ROWS", 140)
    distributed, dask_array = pytest.importorskip("distributed"), pytest.importorskip("dask.array")
    X = in_four_places()
    family = nrm.NormalGamma.from_data(X)
    here = sampled(nrm.Chunks(X, **FOLLOWED), family, MEASURES["ngg"], 8, random_seed=5)
    arguments = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**arguments) as cluster, distributed.Client(cluster) as client:
        rows = nrm.Chunks(dask_array.from_array(X, chunks=(90, 1)), client=client, **FOLLOWED)
        killed = []

        def kill_at_three(trace, draw):
            if draw.draw_idx == 3 and not killed:
                killed.append(client.run(os.getpid))
                os.kill(next(iter(killed[0].values())), signal.SIGKILL)

        there = sampled(rows, family, MEASURES["ngg"], 8, random_seed=5, callback=kill_at_three)
        assert killed
        with pytest.raises(TypeError, match="which is in the memory of this process"):
            nrm.Chunks(X, client=client)
        X[650] = np.inf
        with pytest.raises(ValueError, match="inf in row 650, column '0'"):
            nrm.Chunks(dask_array.from_array(X, chunks=(90, 1)), client=client)
    assert np.array_equal(here.posterior["z"], there.posterior["z"])
    assert np.array_equal(here["clusters"]["x"], there["clusters"]["x"])


@pytest.mark.slow
def test_the_recipe_takes_rows_in_chunks():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 1)) + 20.0 * rng.integers(0, 2, size=(300, 1))
    rows = nrm.Chunks(pd.DataFrame(X, columns=["size"]), block_rows=77, n_followed=100, n_sampled=100)
    model = nrm.gaussian_mixture(rows)
    assert {rv.name for rv in model.free_RVs} >= {"z", "x", "alpha", "x_share"}
    idata = nrm.sample(20, tune=30, chains=2, model=model, quiet=True, random_seed=1)
    estimate = nrm.point_estimate(idata, random_seed=1)
    far = rows.followed_values["size"].to_numpy() > 10.0
    assert len(set(zip(far, estimate.labels.values, strict=True))) == 2
    assert nrm.summary(idata).loc["z[n_clusters]", "mean"] >= 2.0
    with pytest.raises(ValueError, match="together and chunks of Partition 'z' must not both be given"):
        nrm.gaussian_mixture(rows, together=np.zeros(300))


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_with_the_same_draws(tmp_path):
    X = in_four_places()

    def model_of(block_rows):
        rows = nrm.Chunks(X, block_rows=block_rows, **FOLLOWED)
        return mixture_of(nrm.NormalGamma.from_data(X), rows, learned_dirichlet_process)

    options = {"tune": 4, "chains": 2, "quiet": True, "random_seed": 5, "initvals": {"z": np.arange(700) % 50}}
    whole = nrm.sample(8, model=model_of(100), **options)

    def stop(trace, draw):
        if draw.chain == 1 and draw.draw_idx == 7:
            raise RuntimeError("stopped")

    folder = tmp_path / "run"
    with pytest.raises(RuntimeError, match="stopped"):
        nrm.sample(8, model=model_of(100), checkpoint=folder, seconds_between_checkpoints=0, callback=stop, **options)
    resumed = nrm.resume(folder, model=model_of(61), quiet=True)
    for group, name in (("posterior", "z"), ("posterior", "alpha"), ("clusters", "x"), ("sample_stats", "log_joint")):
        assert np.array_equal(whole[group][name], resumed[group][name]), name


@pytest.mark.slow
def test_labels_of_all_rows_on_disk(tmp_path, monkeypatch, caplog):
    """They agree with followed rows and sizes of clusters, in a run that was stopped, too; a full disk stops a run."""
    zarr, X = pytest.importorskip("zarr"), in_four_places()
    family, measure = nrm.NormalGamma(5.0, 0.1, 2.0, 1.0), MEASURES["dirichlet"]

    def run(name, **kwargs):
        model = mixture_of(family, nrm.Chunks(X, block_rows=300, n_followed=50), measure)
        options = {"tune": 2, "thin": 2, "chains": 2, "random_seed": 1, "quiet": True, **kwargs}
        return model, nrm.sample(8, model=model, label_path=tmp_path / name, **options)

    def labels_in(name):
        return zarr.open_group(tmp_path / name, mode="r")["labels"][:]

    model, idata = run("whole")
    labels, sizes = labels_in("whole"), idata["clusters"]["size"].values
    assert labels.shape == (2, 4, 700)
    np.testing.assert_array_equal(labels[..., idata.posterior["z_row"]], idata.posterior["z"])
    for place in np.ndindex(2, 4):
        np.testing.assert_array_equal(np.bincount(labels[place], minlength=sizes.shape[-1]), sizes[place])

    def stop(trace, draw):
        if draw.chain == 1 and draw.draw_idx == 5:
            raise KeyboardInterrupt

    run("stopped", checkpoint=tmp_path / "run", seconds_between_checkpoints=0, callback=stop)
    np.testing.assert_array_equal(labels_in("stopped")[1, :2], labels[1, :2])
    assert (labels_in("stopped")[1, 2:] == -1).all()
    nrm.resume(tmp_path / "run", model=model, quiet=True)
    np.testing.assert_array_equal(labels_in("stopped"), labels)

    def write(self, place, values, until):
        if place[1] == until:
            raise OSError(errno.ENOSPC, "No space left on device")
        original(self, place, values)

    original = zarr.Array.__setitem__
    monkeypatch.setattr(zarr.Array, "__setitem__", lambda *a: write(*a, until=2))
    _, part = run("full")
    assert dict(part.posterior["z"].sizes) == {"chain": 1, "draw": 2, "z_row": 50}
    np.testing.assert_array_equal(part.posterior["z"].values[0], idata.posterior["z"].values[0, :2])
    assert "labels of draw 2 of chain 0 could not be written" in caplog.text
    assert "No space left on device" in caplog.text
    monkeypatch.setattr(zarr.Array, "__setitem__", lambda *a: write(*a, until=0))
    with pytest.raises(OSError, match="labels of draw 0 of chain 0 .* No space left on device"):
        run("fuller")
    with pytest.raises(ValueError, match="label_path must be a new folder; got .*whole'"):
        run("whole")
    with (
        pm.Model() as model,
        pytest.raises(ValueError, match="label_path must be None for a model without rows in chunks"),
    ):
        nrm.Partition("z", measure, n=3)
        nrm.sample(label_path=tmp_path / "other", model=model)


@pytest.mark.parametrize("block_rows", [pytest.param(2, marks=pytest.mark.slow), 5])
def test_blocks_share_the_grid_of_scores(block_rows):
    """Each block alone would take another grid, and the statistics of its rows would depend on its neighbours."""
    X = np.array([[1.0, 2.0], [1e6, -2e6], [3.0, 0.5], [-2.0, 1.0], [0.1, 4.0]])
    with kernels_in_python():
        measured, whole = (
            mixture_of(MORE["principal"][0], rows)["x"].owner.op.measured
            for rows in (nrm.Chunks(X, block_rows=block_rows), nrm.Chunks(X))
        )
    assert np.array_equal(measured.sums, whole.sums)
    assert np.array_equal(measured.preparation.grid, whole.preparation.grid)


def test_totals_of_rows_are_not_given():
    rows = nrm.Chunks(np.array([[1, 2], [3, 4]]))
    with pytest.raises(ValueError, match="total of MultinomialDirichlet must be None.*got 3"):
        mixture_of(nrm.MultinomialDirichlet(1.0, total=3), rows)
    with pytest.raises(NotImplementedError, match="NormalRegression has hyperparameters for each item"):
        mixture_of(nrm.NormalRegression(np.ones((2, 1)), [0.0], np.eye(1), 2.0, 1.0), nrm.Chunks([1.0, 2.0]))
