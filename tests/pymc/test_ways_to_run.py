"""Neither what is kept of a run nor where its chains run changes the draws or anything that is computed from them."""

import concurrent.futures
import logging
import tracemalloc

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from pymc.sampling.parallel import ParallelSamplingError

import pymc_nrm as nrm
from pymc_nrm.run.chains.trace import write_rows
from tests.helpers import refused
from tests.tools.same_results import assert_same, stop_at, values_of

COUNTS = np.array([0, 1, 8, 9, 20, 22])
OPTIONS = {"tune": 20, "chains": 2, "random_seed": 3, "progressbar": False}
N_DRAWS = 40


def make_model(counts=COUNTS, alpha=None, n_partitions=1):
    with pm.Model(coords={"obs": [f"item {i}" for i in range(len(counts))]}) as model:
        alpha = pm.LogNormal("alpha", 0, 1) if alpha is None else alpha
        for name in "zw"[:n_partitions]:
            labels = nrm.Partition(name, nrm.DirichletProcess(alpha), dims="obs")
            nrm.Mixture(f"x of {name}", labels, nrm.PoissonGamma(1.0, 1.0), observed=counts, dims="obs")
            pm.Deterministic(f"first two of {name}", pm.math.eq(labels[0], labels[1]).astype("int64"))
    return model


def run(draws=N_DRAWS, model=None, **kwargs):
    model = make_model() if model is None else model
    with model:
        kwargs.setdefault("step", [nrm.steps.MarginalGibbs([model[name]]) for name in "zw" if name in model.named_vars])
    options = OPTIONS if "client" in kwargs else OPTIONS | {"cores": 1}
    return nrm.sample(draws, model=model, **{"quiet": True, **options, **kwargs})


def assert_thinned(found, expected, stride, groups=("/posterior/", "/sample_stats/")):
    """Assert that draws of these groups of a result are some of another one."""
    found, expected = (
        {path: values for path, values in values_of(one).items() if path.startswith(groups)}
        for one in (found, expected)
    )
    assert_same(found, {path: x[:, stride - 1 :: stride] for path, x in expected.items()}, of_types=False)


@pytest.fixture(scope="module")
def full():
    return run()


@pytest.fixture(scope="module")
def compact():
    return run(label_storage="compact")


@pytest.mark.slow
def test_compact_labels_are_bytes_and_all_else_is_as_before(full, compact):
    labels = compact.posterior["z"]
    assert labels.dtype == np.uint8
    assert full.posterior["z"].dtype == np.int64
    assert labels.dims == ("chain", "draw", "obs")
    assert labels["obs"].values.tolist() == full.posterior["obs"].values.tolist()
    assert list(compact.posterior.data_vars) == ["alpha", "z", "z_n_clusters", "first two of z"]
    assert "/partition_stats/z/pairs/probability" in values_of(full)
    assert_same(compact, full, of_types=False)


def test_chains_in_processes_are_kept_alike(full):
    assert_same(run(label_storage="compact", cores=2), full, of_types=False)


@pytest.mark.slow
def test_thinned_draws_are_every_third(full):
    thinned = run(label_storage="compact", thin=3, partition_diagnostics=False, discard_tuned_samples=False)
    assert thinned.posterior.sizes["draw"] == N_DRAWS // 3
    assert thinned["warmup_posterior"].sizes["draw"] == thinned["warmup_sample_stats"].sizes["draw"] == 20 // 3
    assert thinned.posterior.attrs["thin"] == thinned.sample_stats.attrs["thin"] == 3
    assert_thinned(thinned, full, 3)
    assert thinned.posterior.draw.values.tolist() == list(range(N_DRAWS // 3))
    assert run(thin=20).posterior["z"].dtype == np.int64


@pytest.mark.slow
def test_without_labels_their_functionals_are_left(full, caplog):
    with caplog.at_level(logging.INFO, logger="pymc"):
        none = run(label_storage="none", quiet=False)
    assert "Labels were not kept" in caplog.text
    assert "z" not in none.posterior
    leave_out = ("/posterior/z", "/z/pairs/", "/z/largest_cluster", "/z/cluster_sizes", "/z/convergence/")
    first, second = values_of(none), values_of(full)
    assert "/posterior/first two of z" in first and "/posterior/z_n_clusters" in first
    assert {path for path in second if path not in first} <= {
        path for path in second if any(part in path for part in leave_out)
    }
    paths = [path for path in first if "/z/convergence/" not in path]
    assert_same({path: first[path] for path in paths}, {path: second[path] for path in paths})
    table, expected = none["partition_stats/z/convergence"], full["partition_stats/z/convergence"]
    names = table["quantity"].values.tolist()
    assert names == ["n_clusters", "entropy", "log_joint"]
    for name in ("rhat", "ess_bulk"):
        np.testing.assert_allclose(table[name], expected[name].sel(quantity=names), rtol=1e-6)


@pytest.mark.slow
def test_without_labels_steps_are_told_apart():
    expected = run(model=make_model(n_partitions=2))
    none = run(model=make_model(n_partitions=2), label_storage="none")
    for name in "zw":
        for quantity in ("n_clusters", "log_joint"):
            np.testing.assert_array_equal(
                none[f"partition_stats/{name}"][quantity], expected[f"partition_stats/{name}"][quantity]
            )


def test_labels_grow_no_larger_than_they_must():
    arrays = {"z": np.zeros((2, 2, 3), dtype=np.uint8)}
    write_rows(arrays, "z", (0, 0), np.array([0, 1, 255]))
    write_rows(arrays, "z", 1, np.array([[0, 1, 2], [0, 0, 0]]))
    assert arrays["z"].dtype == np.uint8
    write_rows(arrays, "z", (0, 1), np.array([0, 1, 256]))
    assert arrays["z"].dtype == np.uint16
    assert arrays["z"].tolist() == [[[0, 1, 255], [0, 1, 256]], [[0, 1, 2], [0, 0, 0]]]
    write_rows(arrays, "z", (1, 1), np.array([0, 1, 70_000]))
    assert arrays["z"].dtype == np.uint32
    assert arrays["z"][0].tolist() == [[0, 1, 255], [0, 1, 256]]


@pytest.mark.slow
def test_densities_and_what_else_pymc_puts_into_a_result():
    options = {"idata_kwargs": {"log_prior": True, "include_transformed": True}}
    found, compact = run(**options), run(label_storage="compact", thin=2, **options)
    assert "alpha_log__" in found.posterior
    assert set(found["log_prior"].data_vars) == {"alpha", "z"}
    assert_thinned(compact, found, 2, ("/log_prior/", "/posterior/"))


@pytest.mark.slow
def test_statistics_have_one_order_in_every_process():
    """PyMC gives a statistic of NUTS the name of one of splits and merges; which was left depended on hashes."""
    stats = run(5, model=make_model(n_partitions=2), step=None, partition_diagnostics=False).sample_stats
    assert stats["acceptance_rate"].dims == ("chain", "draw")
    renamed = {"acceptance_rate", "lp", "n_steps", "tree_depth"}
    names = [name for name in stats.data_vars if name not in renamed]
    assert names == sorted(names)


def test_callbacks_read_what_was_kept():
    seen = []

    def look(trace, draw):
        if draw.draw_idx == 30:
            seen.append((trace.get_values("z", thin=5), trace[-1]["alpha"], trace.get_sampler_stats("n_clusters")))

    idata = run(callback=look)
    for chain, (labels, alpha, n_clusters) in enumerate(seen):
        np.testing.assert_array_equal(labels, idata.posterior["z"][chain, :11:5])
        assert alpha == idata.posterior["alpha"][chain, 10]
        np.testing.assert_array_equal(n_clusters, idata.sample_stats["n_clusters"][chain, :11])


@pytest.mark.parametrize(
    "function",
    [
        nrm.similarity,
        nrm.point_estimate,
        nrm.credible_ball,
        nrm.stats.assignment_uncertainty,
        nrm.stats.partition_convergence,
        lambda idata: nrm.stats.expected_loss(idata, [0, 0, 1, 1, 2, 2]),
        lambda idata: nrm.similarity(idata, items=["item 1", "item 4"]),
        lambda idata: nrm.summary(idata).to_xarray(),
        lambda idata: nrm.stats.add_diagnostics(idata.copy())["partition_stats/z"],
        lambda idata: nrm.sample_posterior_predictive(idata, make_model(), random_seed=1),
        lambda idata: nrm.cluster_probabilities(idata, make_model(), [3, 30]),
        lambda idata: nrm.sample_cluster_parameters(idata, make_model(), random_seed=1),
    ],
)
def test_what_follows_from_compact_labels(full, compact, function):
    expected, found = function(full.copy()), function(compact.copy())
    if isinstance(expected, xr.DataTree):
        assert_same(found, expected)
    elif isinstance(expected, (xr.DataArray, xr.Dataset)):
        xr.testing.assert_equal(found, expected)
    else:
        np.testing.assert_equal(found, expected)


@pytest.mark.slow
@pytest.mark.parametrize(("last", "left"), [(24, [1]), (55, [0, 1])])
def test_an_interrupted_run_keeps_what_is_whole(full, last, left):
    """A KeyboardInterrupt of a callback ends one chain only; those chains are kept that leave the most draws."""
    for thin in (1, 4):
        found = run(label_storage="compact", thin=thin, callback=stop_at(0, last)).posterior["z"]
        assert found.sizes["draw"] == (N_DRAWS if left == [1] else last - 19) // thin
        np.testing.assert_array_equal(found, full.posterior["z"][left, thin - 1 :: thin][:, : found.sizes["draw"]])


@pytest.mark.slow
def test_chosen_variables(compact):
    idata = run(label_storage="compact", var_names=["alpha", "z"])
    assert set(idata.posterior.data_vars) == {"alpha", "z"}
    np.testing.assert_array_equal(idata.posterior["z"], compact.posterior["z"])
    idata = run(label_storage="compact", var_names=["alpha"])
    assert set(idata.posterior.data_vars) == {"alpha"}
    assert set(run(label_storage="compact", var_names=["z"]).posterior.data_vars) == {"z"}


@pytest.mark.slow
def test_labels_are_never_held_in_eight_bytes():
    n, n_draws = 20_000, 200
    model = make_model(counts=np.repeat([1, 50], n // 2), alpha=1.0)
    with model:
        step = nrm.steps.MarginalGibbs([model["z"]], n_items=10)
    kwargs = {"model": model, "step": step, "tune": 0, "chains": 1, "partition_diagnostics": False}
    tracemalloc.start()
    run(2, label_storage="compact", **kwargs)
    _, before = tracemalloc.get_traced_memory()
    idata = run(n_draws, label_storage="compact", **kwargs)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert idata.posterior["z"].nbytes == n * n_draws
    assert peak - before < 2 * n * n_draws


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    arguments = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**arguments) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def executor():
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        yield executor


@pytest.mark.slow
def test_chains_on_workers_are_those_of_this_machine(client, full, caplog):
    with caplog.at_level(logging.INFO, logger="pymc"):
        found = run(client=client, quiet=False, progressbar=True)
    assert_same(found, full)
    assert sum("finished" in record.message for record in caplog.records) == 2
    assert "Chain 1 finished" in caplog.text and "(2 of 2)" in caplog.text
    assert_thinned(run(client=client, label_storage="compact", thin=2), full, 2)
    by_default = {"step": None, "chains": 3}
    assert_same(run(client=client, **by_default), run(**by_default))


@pytest.mark.slow
def test_a_failure_names_its_chain(client):
    with pytest.raises(ParallelSamplingError, match="Chain 1 failed with: "):
        run(client=client, initvals=[{}, {"alpha": -1.0}])


@pytest.mark.slow
def test_initial_values_and_generators_of_each_chain(executor):
    initvals = [{"z": [5, 5, 1, 1, 2, 2]}, None, {"z": [0, 1, 2, 3, 4, 5], "alpha": 3.0}]
    generator = np.random.Generator(np.random.MT19937(5))
    kwargs = {"initvals": initvals, "tune": 0, "chains": 3, "random_seed": generator}
    assert_same(run(client=executor, **kwargs), run(**kwargs))


@pytest.mark.slow
def test_any_executor_will_do(executor, compact):
    found = run(client=executor, label_storage="compact", discard_tuned_samples=False)
    assert_thinned(found, compact, 1)
    assert found.posterior["z"].dtype == np.uint8
    assert found["warmup_posterior"].sizes["draw"] == 20


def test_labels_of_different_sizes_are_joined(executor):
    model = make_model(np.zeros(300), alpha=1e6)
    with model:
        step = nrm.steps.MarginalGibbs([model["z"]], n_items=5)
    initvals = [{"z": np.zeros(300)}, {"z": np.arange(300)}, {"z": np.zeros(300)}]
    kwargs = {"model": model, "step": step, "initvals": initvals, "tune": 0, "chains": 3}
    compact, full = run(client=executor, label_storage="compact", **kwargs), run(**kwargs)
    assert compact.posterior["z"].dtype == np.uint16
    np.testing.assert_array_equal(compact.posterior["z"], full.posterior["z"])


@pytest.mark.quick("True-options0")
@pytest.mark.parametrize("options", [{}, {"label_storage": "compact", "thin": 2}])
@pytest.mark.parametrize("wanted", [True, ["x of z", "y"]])
def test_log_likelihoods_leave_items_out_with_their_labels(options, wanted):
    with make_model(alpha=1.0) as model:
        rate = pm.Gamma("rate", 2, 1)
        pm.Poisson("y", rate, observed=[1, 2, 3])
    idata = run(20, model, idata_kwargs={"log_likelihood": wanted}, **options)
    expected = nrm.compute_log_likelihood(idata, model, extend_inferencedata=False, progressbar=False)
    xr.testing.assert_equal(idata["log_likelihood"].to_dataset()[["x of z"]], expected)
    # Data that depend on no partition have PyMC's values.
    rate = idata.posterior["rate"].values[..., None]
    values = np.array([1, 2, 3]) * np.log(rate) - rate - np.log([1, 2, 6])
    np.testing.assert_allclose(idata["log_likelihood"]["y"], values)


@pytest.mark.slow
def test_draws_are_kept_where_there_is_no_log_likelihood(caplog):
    with make_model() as model:
        effect = nrm.Mixture("effect", model["z"], nrm.NormalGamma(0.0, 1.0, 2.0, 1.0), shape=(6,))
        pm.Normal("y", effect, 1, observed=COUNTS)
    idata = run(20, model, idata_kwargs={"log_likelihood": ["x of z"]})
    assert idata.posterior.sizes["draw"] == 20
    assert "log_likelihood of idata_kwargs: none for the items of 'z', since Mixture 'effect' is latent" in caplog.text


def unpicklable():
    model = make_model()
    model.lock = (value for value in ())
    return model


def without_partition():
    with pm.Model() as model:
        pm.Normal("mu")
    return model


POOL = {"client": concurrent.futures.ThreadPoolExecutor(1)}


test_wrong_arguments = refused(
    lambda arguments: run(**{name: value() if name == "model" else value for name, value in arguments.items()}),
    ({"label_storage": "small"}, "label_storage must be one of 'full', 'compact', 'none'; got 'small'"),
    ({"thin": 0}, "thin must be a whole number between 1 and 40; got 0"),
    ({"thin": 41}, "thin must be a whole number between 1 and 40; got 41"),
    ({"thin": 1.5}, "thin must be a whole number between 1 and 40; got 1.5"),
    ({"label_storage": "compact", "return_inferencedata": False}, "return_inferencedata must be True, its default"),
    ({"thin": 2, "trace": []}, "trace must be None, its default, with label_storage='full', thin=2"),
    ({"label_storage": "none", "idata_kwargs": {"log_prior": True}}, "log_prior of idata_kwargs must be False"),
    ({"label_storage": "none", "idata_kwargs": {"log_likelihood": True}}, "it needs labels"),
    (
        {"idata_kwargs": {"log_likelihood": ["z"]}},
        "log_likelihood of idata_kwargs must name observed data, .*; got 'z'",
    ),
    ({"label_storage": "none", "var_names": ["z"]}, "label_storage='none' leaves none of var_names=.'z'. to keep"),
    ({"label_storage": "compact", "var_names": ["beta"]}, "var_names must be variables of the model: .*; got"),
    ({"label_storage": "compact", "model": without_partition}, "label_storage='compact' is for models with a free"),
    (POOL | {"cores": 2}, "cores must be None, its default, with a client"),
    (POOL | {"callback": print}, "callback must be None, its default, with a client"),
    (POOL | {"mp_ctx": "spawn"}, "mp_ctx must be None"),
    (POOL | {"chains": 0}, "chains must be a whole number of at least 1; got 0"),
    (POOL | {"initvals": [{}, {}, {}]}, "initvals must be one dict or one for each of the 2 chains; got 3"),
    (POOL | {"model": unpicklable}, "must be picklable, to be sent to workers"),
    (POOL | {"model": without_partition}, "client is for models with a free partition"),
    ({"client": "tcp://127.0.0.1:8786"}, TypeError, "client must have a method submit .*; got str"),
)


def test_other_variables_are_thinned():
    assert run(model=without_partition(), thin=4).posterior["mu"].shape == (2, 10)
