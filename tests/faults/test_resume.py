"""A stopped run resumes as if nothing had happened; a process that is gone is an error that names its chain."""

import concurrent.futures
import multiprocessing
import os
import pathlib
import shutil
import signal
import threading

import numpy as np
import pymc as pm
import pytest
from pymc.sampling.parallel import ParallelSamplingError

import pymc_nrm as nrm
from pymc_nrm.run.checkpoints import chain_files, fingerprint
from pymc_nrm.run.checkpoints.chain_files import ChainFiles
from pymc_nrm.run.checkpoints.run_folder import RunFolder
from pymc_nrm.steps.chunked_sampler import keeper_of_clusters
from tests.helpers import learned_dirichlet_process, mixture_of
from tests.tools.same_results import assert_same, stop_at

COUNTS = np.array([0, 1, 8, 9, 20, 22])
N_TUNE, N_DRAWS = 20, 30
OPTIONS = {"tune": N_TUNE, "chains": 2, "random_seed": 3}
# Arguments of the run, and arguments that are given again.
AGAIN = {"cores": 1, "quiet": True}
EVERY_DRAW = {"seconds_between_checkpoints": 0}


def make_model(counts=COUNTS, fixed=False):
    return mixture_of(nrm.PoissonGamma(1.0, 1.0), counts, None if fixed else learned_dirichlet_process)


@pytest.fixture(scope="module")
def expected_fixed(fixed):
    return nrm.sample(N_DRAWS, **OPTIONS, **AGAIN, **fixed)


@pytest.fixture(scope="module")
def original(fixed, tmp_path_factory):
    path = tmp_path_factory.mktemp("original") / "run"
    nrm.sample(N_DRAWS, checkpoint=path, callback=stop_at(1, 34), **OPTIONS, **AGAIN, **EVERY_DRAW, **fixed)
    return path


@pytest.fixture
def half_done(original, tmp_path):
    """A run with chain 0 finished and chain 1 stopped in the middle."""
    return pathlib.Path(shutil.copytree(original, tmp_path / "run"))


@pytest.mark.quick("place2")
@pytest.mark.parametrize("place", [(0, 0), (0, 19), (0, 20), (0, 49), (1, 49)])
def test_one_step_stopped_anywhere(place, fixed, expected_fixed, tmp_path):
    """Stops at the first draw, between chains, and after the last draw."""
    again = AGAIN | EVERY_DRAW | fixed
    nrm.sample(N_DRAWS, checkpoint=tmp_path / "run", callback=stop_at(*place), **OPTIONS, **again)
    calls = []
    assert_same(nrm.resume(tmp_path / "run", callback=lambda **kwargs: calls.append(1), **again), expected_fixed)
    assert len(calls) == 2 * (N_TUNE + N_DRAWS)


@pytest.mark.slow
def test_draws_after_the_last_checkpoint_are_drawn_again(fixed, expected_fixed, tmp_path):
    """By default, a short run writes no checkpoint except that of a finished chain."""
    nrm.sample(N_DRAWS, checkpoint=tmp_path / "run", callback=stop_at(1, 40), **OPTIONS, **AGAIN, **fixed)
    assert [len(list(tmp_path.glob(f"run/chain_{chain}/position_*"))) for chain in range(2)] == [1, 0]
    assert_same(nrm.resume(tmp_path / "run", **AGAIN, **fixed), expected_fixed)


@pytest.mark.parametrize("stopped_at", [(1, 34), (1, 49)])
def test_a_run_gets_more_draws(stopped_at, fixed, tmp_path):
    """Whether it was finished or not; the run remembers their number."""
    stop = stop_at(*stopped_at)
    nrm.sample(N_DRAWS, checkpoint=tmp_path / "run", callback=stop, **OPTIONS, **AGAIN, **EVERY_DRAW, **fixed)
    expected = nrm.sample(45, **OPTIONS, **AGAIN, **fixed)
    for draws in (45, None):
        assert_same(nrm.resume(tmp_path / "run", draws, **AGAIN, **fixed), expected)


def test_without_seed(fixed, tmp_path):
    again = AGAIN | EVERY_DRAW | fixed
    options = {"tune": 5, "chains": 2}
    part = nrm.sample(N_DRAWS, checkpoint=tmp_path / "run", callback=stop_at(1, 30), **options, **again)
    whole = nrm.resume(tmp_path / "run", **again)
    n_done = part.posterior.sizes["draw"]
    np.testing.assert_array_equal(part.posterior["z"], whole.posterior["z"][: part.posterior.sizes["chain"], :n_done])
    other = nrm.sample(N_DRAWS, **options, **AGAIN, **fixed)
    assert (other.posterior["z"].values != whole.posterior["z"].values).any()


def run_in_child(function):
    """Run a function in a separate process, and return how it ended."""
    process = multiprocessing.get_context("fork").Process(target=function)
    process.start()
    process.join(300)
    return process.exitcode


@pytest.mark.parametrize("cores", [1, 2])
def test_killed(cores, fixed, expected_fixed, tmp_path):
    """Processes of chains end with their parent, and release the locks of their chains."""

    def kill(trace, draw):
        if (draw.chain, draw.draw_idx) == (1, 28):
            os.kill(os.getpid(), signal.SIGKILL)

    def run():
        again = AGAIN | EVERY_DRAW | fixed | {"cores": cores}
        nrm.sample(N_DRAWS, checkpoint=tmp_path / "run", callback=kill, **OPTIONS, **again)

    assert run_in_child(run) == -signal.SIGKILL
    assert_same(nrm.resume(tmp_path / "run", **AGAIN, **fixed), expected_fixed)


def test_workers_go_on(half_done, fixed, expected_fixed, tmp_path):
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        assert_same(nrm.resume(half_done, client=executor, quiet=True, **fixed), expected_fixed)


def newest_position(chain):
    return max(chain.glob("position_*"), key=lambda path: path.stat().st_mtime_ns)


def flip_a_byte(path):
    content = bytearray(path.read_bytes())
    content[len(content) * 2 // 3] ^= 1
    path.write_bytes(content)


def cut(path, size):
    os.truncate(path, size if size >= 0 else path.stat().st_size + size)


def both_positions(chain, damage):
    for position in chain.glob("position_*"):
        damage(position)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda chain: flip_a_byte(newest_position(chain)), "the last 1 iterations"),
        (lambda chain: cut(newest_position(chain), 0), "the last 1 iterations"),
        (lambda chain: cut(chain / "draws", -1), "the last 1 iterations"),
        (lambda chain: flip_a_byte(chain / "draws"), "the last 35 iterations"),
        (lambda chain: (chain / "draws").unlink(), "the last 35 iterations"),
        (lambda chain: both_positions(chain, flip_a_byte), "the last 35 iterations"),
        (lambda chain: both_positions(chain, pathlib.Path.unlink), "the last 35 iterations"),
    ],
)
def test_damaged_files_of_a_chain(half_done, fixed, expected_fixed, damage, message, caplog):
    damage(half_done / "chain_1")
    resumed = nrm.resume(half_done, **AGAIN, **fixed)
    assert (
        f"A file of chain 1 in {str(half_done)!r} is damaged or missing:\n{message} of the chain are drawn again"
        in caplog.text
    )
    assert_same(resumed, expected_fixed)


@pytest.mark.parametrize(
    ("name", "damage", "error", "message"),
    [
        *((name, lambda path: cut(path, 40), ValueError, "damaged") for name in ("run.json", "arguments", "steps")),
        ("arguments", pathlib.Path.unlink, FileNotFoundError, "missing"),
    ],
)
def test_damaged_and_missing_files_of_a_run(half_done, fixed, name, damage, error, message):
    damage(half_done / name)
    with pytest.raises(error, match=f"its file {name} is {message}; delete the folder"):
        nrm.resume(half_done, **AGAIN, **fixed)


def test_another_model(half_done, fixed):
    def resume(model, step=nrm.steps.MarginalGibbs, **kwargs):
        with model:
            nrm.resume(half_done, step=[step([model["z"]], **kwargs)], **AGAIN)

    with pytest.raises(ValueError, match=r"other model or data: data of 'x' was \w+ when"):
        resume(make_model(counts=COUNTS + 1, fixed=True))
    with pytest.raises(ValueError, match=r"other model or data: variable 'z' was \w+ when it began"):
        resume(make_model())
    with pytest.raises(ValueError, match="other steps: MarginalGibbs of z was .* is nothing now"):
        resume(make_model(fixed=True), step=nrm.steps.SplitMerge)
    with pytest.raises(ValueError, match=r"options of MarginalGibbs of z was .*None.* is .*3"):
        resume(make_model(fixed=True), n_items=3)
    # Or else the next pm.sample would seem to be that of this run.
    assert keeper_of_clusters.get() is None


def test_other_options_of_a_step_for_hyperparameters(tmp_path):
    def steps(n_sweeps):
        return {"step": [nrm.steps.MarginalGibbs([model["z"]]), nrm.steps.LearnedGibbs(n_sweeps=n_sweeps)], **AGAIN}

    with mixture_of(nrm.PoissonGamma(1.0, 1.0), COUNTS, lambda: nrm.DirichletProcess(pm.Gamma("alpha", 2, 1))) as model:
        nrm.sample(5, checkpoint=tmp_path / "run", callback=stop_at(0, 3), **OPTIONS, **EVERY_DRAW, **steps(5))
        with pytest.raises(ValueError, match="options of LearnedGibbs of alpha_log__ was .*5.* is .*6"):
            nrm.resume(tmp_path / "run", **steps(6))


def test_other_versions(half_done, fixed, monkeypatch):
    real = fingerprint.metadata.version
    monkeypatch.setattr(fingerprint.metadata, "version", lambda name: "1.0" if name == "numpy" else real(name))
    with pytest.raises(ValueError, match=f"numpy was {real('numpy')} .*and is 1.0 now"):
        nrm.resume(half_done, **AGAIN, **fixed)


def test_two_processes_do_not_sample_one_chain(half_done, fixed, monkeypatch):
    monkeypatch.setattr(chain_files, "_SECONDS_FOR_LOCK", 0.1)
    other = ChainFiles(half_done, 1)
    with pytest.raises(RuntimeError, match=f"chain 1 .* another process .process {os.getpid()}"):
        nrm.resume(half_done, **AGAIN, **fixed)
    other.close()


def test_wrong_arguments(half_done, fixed, tmp_path):
    with pytest.raises(ValueError, match="draws must be at least 30, .*; got 29"):
        nrm.resume(half_done, 29, **fixed)
    with pytest.raises(ValueError, match="thin must be left out, .* got thin=60"):
        nrm.resume(half_done, thin=60, **AGAIN, **fixed)
    for checkpoint in (None, 5, ""):
        with pytest.raises(TypeError, match=f"checkpoint must be the path of a folder; got {checkpoint!r}"):
            nrm.resume(checkpoint, **AGAIN, **fixed)
    with pytest.raises(FileNotFoundError, match="holds no run; it is made by nrm.sample"):
        nrm.resume(tmp_path / "nothing", model=fixed["model"])
    new = {"checkpoint": tmp_path / "new"}
    for arguments, error, message in (
        ({"checkpoint": half_done}, FileExistsError, r"already exists: nrm.resume\(.* resumes its run"),
        (new | {"return_inferencedata": False}, ValueError, "return_inferencedata must be True, .* with checkpoint"),
        (new | {"var_names": ["beta"]}, ValueError, "var_names must be variables of the model"),
        (new | {"seconds_between_checkpoints": -1}, ValueError, "seconds_between_checkpoints must be"),
        ({"seconds_between_checkpoints": 5}, ValueError, "seconds_between_checkpoints=5 needs checkpoint"),
        ({"checkpoint": 3}, TypeError, "checkpoint must be the path of a folder; got 3"),
    ):
        with pytest.raises(error, match=message):
            nrm.sample(N_DRAWS, **OPTIONS, **AGAIN, **fixed, **arguments)
    # A run that never began leaves nothing behind.
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


class ClosedClient:
    status = "closed"

    def submit(self, *arguments):
        raise AssertionError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (lambda model: {"tune": 50}, "tune must be left out"),
        (lambda model: {"client": 3}, "client must have a method submit"),
        (lambda model: {"client": ClosedClient()}, "client must be open"),
        (lambda model: {"step": [nrm.steps.SplitMerge([model["z"]])]}, "other steps"),
    ],
    ids=["tune", "no client", "closed client", "step"],
)
def test_a_call_that_is_refused_changes_no_number_of_draws(half_done, fixed, options, message):
    with pytest.raises((TypeError, ValueError), match=message), fixed["model"] as model:
        nrm.resume(half_done, 5000, quiet=True, **options(model))
    assert RunFolder(half_done).arguments()["draws"] == N_DRAWS


class Crash(BaseException):
    pass


def test_files_at_every_moment_of_a_crash(tmp_path, monkeypatch):
    """Whichever system call is the last, either the last checkpoint or the new one is found."""

    def write(n_calls_left):
        """Write three checkpoints; return how many were certainly written."""
        shutil.rmtree(tmp_path / "chain_0", ignore_errors=True)
        calls = [n_calls_left]

        def counted(function):
            def call(*arguments, **kwargs):
                calls[0] -= 1
                if calls[0] < 0:
                    raise Crash
                return function(*arguments, **kwargs)

            return call

        n_kept = 0
        files = ChainFiles(tmp_path, 0)
        with monkeypatch.context() as patched:
            for name in ("fsync", "replace"):
                patched.setattr(chain_files.os, name, counted(getattr(os, name)))
            try:
                files.recover()
                for k in range(3):
                    files.append(4 * k, 4 * k + 4, [f"draw {t}" for t in range(4 * k, 4 * k + 4)])
                    files.commit(4 * k + 4, f"state {k}")
                    n_kept = k + 1
            except Crash:
                pass
        files.close()
        return n_kept, calls[0] >= 0

    n_calls, whole = 0, False
    seen = set()
    while not whole:
        n_kept, whole = write(n_calls)
        files = ChainFiles(tmp_path, 0)
        position, n_damaged = files.recover()
        k = position.n_iterations // 4
        assert k in (n_kept, n_kept + 1)
        assert n_damaged == 0
        assert position.saved == (f"state {k - 1}" if k else None)
        assert [d for block in files.blocks(position.log_size) for d in block] == [f"draw {t}" for t in range(4 * k)]
        assert not list(tmp_path.glob("chain_0/*.new"))
        files.close()
        seen.add((n_kept, k))
        n_calls += 1
    assert seen == {(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3), (3, 3)}


QUIET = {"quiet": True, "progressbar": False}


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
