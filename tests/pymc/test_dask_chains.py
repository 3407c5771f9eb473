"""Chains on workers are the chains of this machine."""

import concurrent.futures
import logging

import numpy as np
import pymc as pm
import pytest
from helpers import learned_dirichlet_process, mixture_of, refused
from pymc.sampling.parallel import ParallelSamplingError

import pymc_nrm as nrm

OPTIONS = {"tune": 20, "chains": 3, "random_seed": 3, "progressbar": False}
N_DRAWS = 30


def make_model():
    return mixture_of(nrm.PoissonGamma(1.0, 1.0), [0, 1, 8, 9, 20, 22], learned_dirichlet_process)


def run(model=None, **kwargs):
    return nrm.sample(N_DRAWS, model=make_model() if model is None else model, **{"quiet": True, **OPTIONS, **kwargs})


def assert_same(found, expected, stride=1):
    assert found.posterior.sizes["chain"] == expected.posterior.sizes["chain"]
    for group, names in (("posterior", ("alpha", "z")), ("sample_stats", ("u", "log_joint", "step_size"))):
        for name in names:
            kept = expected[group][name][:, stride - 1 :: stride]
            np.testing.assert_array_equal(found[group][name], kept, err_msg=name)


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


@pytest.fixture(scope="module")
def expected():
    return run(cores=1)


@pytest.mark.slow
def test_chains_on_workers_are_those_of_this_machine(client, expected, caplog):
    with caplog.at_level(logging.INFO, logger="pymc"):
        found = run(client=client, quiet=False, progressbar=True)
    assert_same(found, expected)
    assert found.posterior["z"].dtype == np.int64
    assert sum("finished" in record.message for record in caplog.records) == 3
    assert "Chain 2 finished" in caplog.text and "(3 of 3)" in caplog.text
    assert "partition_stats" in found.children
    assert_same(run(client=client, label_storage="compact", thin=2), expected, stride=2)


@pytest.mark.slow
def test_steps_travel_with_their_model(client):
    def with_step():
        model = make_model()
        with model:
            return {"model": model, "step": [nrm.SplitMerge([model["z"]], n_moves=3)]}

    assert_same(run(client=client, **with_step()), run(cores=1, **with_step()))


@pytest.mark.slow
def test_a_failure_names_its_chain(client):
    initvals = [{}, {"alpha": -1.0}, {}]
    with pytest.raises(ParallelSamplingError, match="Chain 1 failed with: "):
        run(client=client, initvals=initvals)


@pytest.mark.slow
def test_initial_values_and_generators_of_each_chain(executor):
    initvals = [{"z": [5, 5, 1, 1, 2, 2]}, None, {"z": [0, 1, 2, 3, 4, 5], "alpha": 3.0}]
    generator = np.random.Generator(np.random.MT19937(5))
    kwargs = {"initvals": initvals, "tune": 0, "random_seed": generator}
    assert_same(run(client=executor, **kwargs), run(cores=1, **kwargs))


@pytest.mark.slow
def test_any_executor_will_do(executor, expected):
    compact = run(client=executor, label_storage="compact", discard_tuned_samples=False)
    assert_same(compact, expected)
    assert compact.posterior["z"].dtype == np.uint8
    assert compact["warmup_posterior"].sizes["draw"] == 20


def test_labels_of_different_sizes_are_joined(executor):
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1e6), n=300)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=np.zeros(300))
        step = nrm.MarginalGibbs([z], n_items=5)
    initvals = [{"z": np.zeros(300)}, {"z": np.arange(300)}, {"z": np.zeros(300)}]
    kwargs = {"model": model, "step": step, "initvals": initvals, "tune": 0}
    compact, full = run(client=executor, label_storage="compact", **kwargs), run(cores=1, **kwargs)
    assert compact.posterior["z"].dtype == np.uint16
    np.testing.assert_array_equal(compact.posterior["z"], full.posterior["z"])


test_wrong_arguments = refused(
    lambda executor, arguments: run(client=executor, **arguments),
    ({"cores": 2}, "cores must be None, its default, with a client"),
    ({"callback": print}, "callback must be None, its default, with a client"),
    ({"mp_ctx": "spawn"}, "mp_ctx must be None"),
    ({"chains": 0}, "chains must be a whole number of at least 1; got 0"),
    ({"initvals": [{}, {}]}, "initvals must be one dict or one for each of the 3 chains; got 2"),
)


def test_what_cannot_be_sent(executor):
    with pytest.raises(TypeError, match="client must have a method submit .*; got str"):
        run(client="tcp://127.0.0.1:8786")
    model = make_model()
    model.lock = (value for value in ())
    with pytest.raises(ValueError, match="must be picklable, to be sent to workers"):
        run(model=model, client=executor)
    with pm.Model() as model:
        pm.Normal("mu")
    with pytest.raises(ValueError, match="client is for models with a free partition"):
        run(model=model, client=executor)
