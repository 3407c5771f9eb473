"""Ctrl-C: earlier draws are kept, nothing else than KeyboardInterrupt comes out, and no kernel holds it for long."""

import contextlib
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.kernels import interrupts
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import call_with_late_interrupts, check_signals
from pymc_nrm.run.chains.interrupts import interrupts_outside_of_conversions
from pymc_nrm.stats.similarity import similarity_matrix
from tests.helpers import call_until_interrupted, canonical_labels, mixture_of
from tests.tools.wings import rows_of_wings


@pytest.fixture(autouse=True)
def default_handler():
    """A shell may start programs in the background with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Leaf(NamedTuple):
    value: Any


class Nest(NamedTuple):
    first: Leaf
    second: Leaf


@kernel
def nest(values):
    return Nest(Leaf(values), Leaf(values)), Leaf(values)


@kernel
def count_with_checks(n, total):
    for _ in range(n):
        check_signals()
        total[0] += 1


# Another process sends signals: a thread of this one would wait for the end of the kernel.
SENDER = """
import os, sys, time
pid, seconds = int(sys.argv[1]), float(sys.argv[2])
while sys.stdin.buffer.read(1):
    time.sleep(seconds)
    os.kill(pid, 2)
"""


@contextlib.contextmanager
def signals(seconds):
    """A function after whose call this process gets SIGINT, so many seconds later.

    A process that waits for the processor may get any other signal before it is ready for it.
    """
    command = [sys.executable, "-c", SENDER, str(os.getpid()), str(seconds)]
    sender = subprocess.Popen(command, stdin=subprocess.PIPE, bufsize=0)
    try:
        yield lambda: sender.stdin.write(b".")
    finally:
        sender.kill()
        sender.wait()
        sender.stdin.close()


def test_only_keyboard_interrupts_come_out_of_kernels():
    """Arguments and results of kernels are converted in Python code, most of the time here."""
    values = np.arange(3.0)
    results = [nest(values)]

    def call_often():
        for _ in range(100):
            results[0] = nest(values)

    n_interrupts = 0
    with signals(0.002) as send:
        for _ in range(200):
            try:
                send()
                call_until_interrupted(call_often)
            except KeyboardInterrupt:
                n_interrupts += 1
    assert n_interrupts == 200
    first, leaf = results[0]
    assert first.second.value is not None and leaf.value.tolist() == [0.0, 1.0, 2.0]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_signal_at_the_end_of_a_call_leaves_none_for_the_next_call(monkeypatch):
    """An earlier one, which was held, comes out together with it."""

    def restore(number, handler):
        signal.signal(number, handler)
        if handler is signal.default_int_handler:
            signal.raise_signal(number)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(interrupts, "_signal", SimpleNamespace(signal=restore, getsignal=signal.getsignal))
        call_with_late_interrupts(lambda: signal.raise_signal(signal.SIGINT), ())
    try:
        assert call_with_late_interrupts(lambda: "result", ()) == "result"
    except KeyboardInterrupt:
        pytest.fail("a later call ends in the KeyboardInterrupt of an earlier one")


def test_a_long_kernel_ends():
    total = np.zeros(1)
    count_with_checks(1, total)
    with signals(0.1) as send, pytest.raises(KeyboardInterrupt):
        send()
        count_with_checks(10**12, total)
    assert total[0] < 10**12
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.fixture
def gentle_handler():
    received = []
    before = signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
    yield received
    signal.signal(signal.SIGINT, before)


def test_handlers_that_raise_nothing_do_not_end_a_kernel(gentle_handler):
    total = np.zeros(1)
    with signals(0.05) as send:
        send()
        while not gentle_handler:
            total[0] = 0.0
            count_with_checks(10**6, total)
    assert gentle_handler == [signal.SIGINT]
    assert total[0] == 10**6


@pytest.fixture
def counted(fixed):
    return fixed | {"cores": 1, "quiet": True}


def test_an_interrupt_while_a_run_tunes(counted):
    def stop(trace, draw):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="interrupted before its first draw"):
        nrm.sample(10, tune=10, chains=1, callback=stop, **counted)


def test_chains_that_have_not_begun_are_left_out(counted):
    """``pm.sample`` begins the next chain, so that somebody who wants to stop four chains needs four signals."""
    begun = []

    def stop(trace, draw):
        begun.append(draw.chain)
        if draw.draw_idx == 5:
            signal.raise_signal(signal.SIGINT)

    idata = nrm.sample(10, tune=1, chains=3, callback=stop, **counted)
    assert begun == [0] * 6
    assert idata["posterior"].sizes["chain"] == 1 and idata["posterior"].sizes["draw"] == 5
    assert nrm.sample(10, tune=1, chains=3, **counted)["posterior"].sizes["chain"] == 3


def test_processes_of_chains_leave_interrupts_to_the_main_process(counted):
    """A process that ended before the main process saw its own signal would count as failed, and all draws be lost."""

    def interrupt_chains_only(trace, draw):
        if draw.draw_idx == 5:
            for process in multiprocessing.active_children():
                os.kill(process.pid, signal.SIGINT)

    options = counted | {"cores": 2, "mp_ctx": "fork"}
    idata = nrm.sample(20, tune=1, chains=2, callback=interrupt_chains_only, **options)
    assert idata["posterior"].sizes["chain"] == 2 and idata["posterior"].sizes["draw"] == 20


# Partitions of steps of wings, flat ones where none is given.
OF_WINGS = rows_of_wings("INTERRUPTED")
CHAINS = """
    import functools, signal, sys
    import numpy as np, pymc as pm, pymc_nrm as nrm

    signal.signal(signal.SIGINT, signal.default_int_handler)
    step_name, cores, times, with_nuts = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "True"
    rng = np.random.default_rng(20261121)
    with pm.Model() as model:
        alpha = pm.LogNormal("alpha", 0.0, 1.0) if with_nuts else 1.0
        z = {partition}
        data = rng.normal(np.repeat([-4.0, 4.0], 1000))
        x = nrm.Mixture("x", z, nrm.NormalGamma(0.0, 0.1, 2.0, 1.0), observed=data)
        step = eval(f"nrm.{step_name if '.' in step_name else 'steps.' + step_name}")([z])
    run = {"model": model, "step": step, "tune": 3, "chains": cores, "cores": cores, "random_seed": 1}
    run |= {"progressbar": False, "compute_convergence_checks": False, "quiet": True}
    whole = pm.sample(3, **run)["posterior"]["z"].values

    functions = {
        "pm.sample": (pm.sample, 1),
        "nrm.sample": (nrm.sample, 1),
        "compact": (functools.partial(nrm.sample, label_storage="compact", thin=2), 2),
    }
    for name, (sample, thin) in functions.items():
        for _ in range(times):
            recorded = [0] * cores

            def callback(trace, draw):
                if not draw.tuning:
                    recorded[draw.chain] += 1
                    if sum(recorded) == 4 * cores:
                        print("ready", flush=True)

            try:
                found = sample(20_000, callback=callback, **run)["posterior"]["z"].values
                # PyMC keeps those chains, cut to one length, that leave the most draws; one more of a chain may be
                # recorded than the callback has seen.
                least = max(count * (cores - k) for k, count in enumerate(sorted(recorded)))
                longest = (max(recorded) + 1) // thin
                kept = found.shape[0] * (found.shape[1] * thin + thin - 1) >= least and found.shape[1] <= longest
                starts = {tuple(chain[thin - 1]) for chain in whole}
                kept = kept and {tuple(chain[0]) for chain in found} <= starts
                print(name, "kept" if kept else f"lost: {found.shape} of {recorded}")
            except BaseException as error:
                print(name, repr(error))
            sys.stdout.flush()
"""

PAUSES = random.Random(20261121)


def interrupt_chains(tmp_path, step, cores, times, with_nuts=False):
    """Interrupt chains of three functions so many times each, everything at once as a terminal does; what came out."""
    script = tmp_path / "chains.py"
    partition = OF_WINGS.get(step) or 'nrm.Partition("z", nrm.DirichletProcess(alpha), n=2000)'
    script.write_text(textwrap.dedent(CHAINS).replace("{partition}", partition))
    command = [sys.executable, script, step, str(cores), str(times), str(with_nuts)]
    results = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        for line in process.stdout:
            if line == "ready\n":
                time.sleep(PAUSES.uniform(0.0, 0.1))
                os.killpg(process.pid, signal.SIGINT)
            else:
                results.append(line.strip())
    return results


@pytest.mark.slow
@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize(
    "step",
    [
        *("TreeGuided", "SplitMerge", "MarginalGibbs", "SliceSampler", *OF_WINGS),
        "MarginalGibbs and NUTS",
    ],
)
def test_earlier_draws_are_kept(tmp_path, step, cores):
    times = 8
    results = interrupt_chains(tmp_path, step.split()[0], cores, times, with_nuts="NUTS" in step)
    # Functions that PyTensor has compiled make a SystemError of an interrupt at their end; nrm.sample holds it back.
    lost = [result for result in results[:times] if result != "pm.sample kept"]
    if "NUTS" not in step:
        assert all("SystemError" in result and "numba_funcified_fgraph" in result for result in lost) and len(lost) <= 2
    assert results[times:] == [f"{name} kept" for name in ("nrm.sample", "compact") for _ in range(times)]


@pytest.fixture(scope="module")
def functions():
    """Functions that take some tenths of a second, and always have the same result."""
    rng = np.random.default_rng(20261121)
    family, measure = nrm.NormalGamma(0.0, 0.1, 2.0, 1.0), nrm.DirichletProcess(1.0)
    X = rng.normal(np.repeat([-4.0, 4.0], 2000))
    labels = rng.integers(0, 8, size=(300, 1000)) * (rng.random((300, 1000)) < 0.2)
    labels = np.array([canonical_labels(row) for row in labels])
    draws = xr.DataArray(labels[None], dims=("chain", "draw", "item"))
    model = mixture_of(family, X, measure)
    step = nrm.steps.MarginalGibbs([model["z"]], model=model)
    options = {"chains": 1, "random_seed": 1, "quiet": True, "partition_diagnostics": False}
    idata = nrm.sample(10, tune=0, step=step, model=model, **options)
    return {
        "bhc": lambda: nrm.trees.bhc(X[::2], family, measure, random_seed=1).labels,
        "ibhc": lambda: nrm.trees.ibhc(X, family, measure, random_seed=1).labels,
        "similarity": lambda: similarity_matrix(labels),
        "point_estimate": lambda: nrm.point_estimate(draws, random_seed=1)["labels"].values,
        "log_likelihood": lambda: nrm.compute_log_likelihood(idata, model, extend_inferencedata=False)["x"].values,
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bhc", "ibhc", "similarity", "point_estimate", "log_likelihood"])
def test_functions_outside_of_sampling(functions, name):
    """A KeyboardInterrupt comes out, and leaves nothing behind."""
    function = functions[name]
    expected = function()
    for _ in range(20):
        with signals(PAUSES.uniform(0.0, 0.2)) as send, pytest.raises(KeyboardInterrupt):
            send()
            call_until_interrupted(function)
    np.testing.assert_array_equal(function(), expected)


@pytest.mark.parametrize("name", ["_raw_object_cache_notify", "_numba_unpickle"])
@pytest.mark.parametrize("in_kernel", [True, False])
def test_an_interrupt_in_a_callback_of_machine_code_comes_again(name, in_kernel):
    """ctypes ignores an error in a callback, so that the run would go on."""
    steps = []

    def call_back():
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
            steps.append("called back")

    environment = {"call_back": call_back}
    exec(f"def {name}():\n    call_back()", environment)

    def _compile_for_args():
        environment[name]()
        for _ in range(100):
            time.sleep(0.005)
        steps.append("went on")

    with pytest.raises(KeyboardInterrupt):
        if in_kernel:
            call_with_late_interrupts(_compile_for_args, ())
        else:
            with interrupts_outside_of_conversions():
                _compile_for_args()
    assert steps == ["called back"]
