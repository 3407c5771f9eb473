"""A process that is gone in the middle of a run is an error that names its chain."""

import concurrent.futures
import multiprocessing
import os
import signal
import threading

import pymc as pm
import pytest
from pymc.sampling.parallel import ParallelSamplingError

import pymc_nrm as nrm

QUIET = {"quiet": True, "progressbar": False}


@pytest.fixture(scope="module")
def fixed():
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=6)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 8, 9, 20, 22])
        return {"model": model, "step": [nrm.MarginalGibbs([z])]}


def kill(chain, number):
    [process] = [process for process in multiprocessing.active_children() if process.name == f"worker_chain_{chain}"]
    os.kill(process.pid, number)
    process.join()


@pytest.mark.parametrize("chain", [0, 1])
def test_a_killed_process_names_its_chain(fixed, chain):
    def kill_at_10(trace, draw):
        if (draw.chain, draw.draw_idx) == (0, 10):
            kill(chain, signal.SIGKILL)

    message = f"Chain {chain} failed: its process was ended by SIGKILL, as happens when memory is exhausted"
    with pytest.raises(ParallelSamplingError, match=message):
        nrm.sample(500, tune=500, chains=2, cores=2, callback=kill_at_10, **QUIET, **fixed)


def test_errors_of_others_are_left_alone(fixed):
    def fail(trace, draw):
        raise ConnectionResetError("of the callback")

    with pytest.raises(ConnectionResetError, match="of the callback"):
        nrm.sample(5, tune=5, chains=2, cores=2, callback=fail, **QUIET, **fixed)


@pytest.mark.slow
@pytest.mark.parametrize("gone", ["client", "cluster"])
def test_a_client_that_is_gone_names_its_chains(fixed, gone):
    distributed = pytest.importorskip("distributed")
    arguments = {"n_workers": 1, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**arguments) as cluster, distributed.Client(cluster) as client:

        def stop():
            if gone == "client":
                client.close()
            else:
                cluster.close()

        timer = threading.Timer(15, stop)
        timer.start()
        with pytest.raises(ParallelSamplingError, match=r"Chain \d failed"):
            nrm.sample(10**6, tune=5, chains=2, client=client, label_storage="none", **QUIET, **fixed)
        timer.join()


def test_a_closed_client(fixed):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster:
        client = distributed.Client(cluster)
        client.close()
        with pytest.raises(ValueError, match="client must be open; got a closed one"):
            nrm.sample(5, tune=5, chains=2, client=client, **QUIET, **fixed)


def test_a_pool_that_was_shut_down(fixed):
    executor = concurrent.futures.ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(ParallelSamplingError, match="Chain 0 failed: it cannot be sent to a worker, RuntimeError"):
        nrm.sample(5, tune=5, chains=2, client=executor, **QUIET, **fixed)
