"""Processes that need the same machine code: one compiles, others wait, and none waits for a process that ended."""

import contextlib
import importlib
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from pymc_nrm.kernels import kernel_cache, one_compiler
from pymc_nrm.kernels.generic import precompile

fcntl = pytest.importorskip("fcntl")


NEW_KERNEL = """
from pymc_nrm.kernels.generic import kernel

@kernel
def new(x):
    return x[0]
"""


def hold(path, ready, seconds):
    with one_compiler.alone(path):
        ready.set()
        time.sleep(seconds)


def start_holding(path, seconds):
    """A process that holds a lock by now."""
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=hold, args=(path, ready, seconds))
    process.start()
    assert ready.wait(60)
    return process


def test_a_process_waits_for_another(tmp_path):
    path = str(tmp_path / "one.lock")
    other = start_holding(path, 1.0)
    began = time.monotonic()
    with one_compiler.alone(path):
        assert time.monotonic() - began > 0.3
    other.join()
    assert not os.path.exists(path)


def test_nobody_waits_for_a_process_that_was_killed(tmp_path):
    path = str(tmp_path / "one.lock")
    other = start_holding(path, 600.0)
    other.kill()
    other.join()
    began = time.monotonic()
    with one_compiler.alone(path):
        assert time.monotonic() - began < 10


def test_a_process_compiles_by_itself_after_a_long_time(tmp_path, monkeypatch):
    path = str(tmp_path / "one.lock")
    monkeypatch.setattr(one_compiler, "_SECONDS_AT_MOST", 0.2)
    with one_compiler.alone(path), one_compiler.alone(path):
        pass


def test_only_one_of_many_is_inside(tmp_path):
    path, inside, largest = str(tmp_path / "one.lock"), [], []

    def work():
        for _ in range(20):
            with one_compiler.alone(path):
                inside.append(1)
                largest.append(len(inside))
                time.sleep(0.0005)
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(largest) == 80 and max(largest) == 1


def test_a_folder_that_cannot_be_written_has_no_locks(tmp_path):
    with one_compiler.alone(str(tmp_path / "none" / "one.lock")):
        pass


def test_locks_are_gone_after_compilation(tmp_path, monkeypatch):
    locks, held = [], []

    @contextlib.contextmanager
    def look(path):
        with one_compiler.alone(path):
            locks.append(path)
            held.append(os.path.exists(path))
            yield

    monkeypatch.setattr(kernel_cache, "alone", look)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "new_kernel.py").write_text(NEW_KERNEL)
    precompile(importlib.import_module("new_kernel").new, np.zeros(3))
    assert held == [True]
    assert not os.path.exists(locks[0])


COMPILE_ONE = """
import sys
import numpy as np
sys.path.insert(0, {folder!r})
from slow_kernel import slow
from pymc_nrm.kernels.generic import precompile

print("ready", flush=True)
input()
precompile(slow, np.zeros(3))
print(sum(slow.dispatcher.stats.cache_hits.values()), sum(slow.dispatcher.stats.cache_misses.values()))
"""
SLOW_KERNEL = "\n".join(
    [
        "from pymc_nrm.kernels.generic import kernel",
        "@kernel",
        "def slow(x):",
        *[f"    x[0] += x[1] * {k}.5 if x[2] > {k}.0 else x[1]" for k in range(60)],
        "    return x[0]",
    ]
)


def test_two_processes_compile_once(tmp_path):
    (tmp_path / "slow_kernel.py").write_text(SLOW_KERNEL)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    script = textwrap.dedent(COMPILE_ONE.format(folder=str(tmp_path)))
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", script],
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for _ in range(2)
        ]
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
        results = [process.stdout.readline().split() for process in processes]
    assert sorted(results) == [["0", "1"], ["1", "0"]]
