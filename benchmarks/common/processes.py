"""Calls in separate processes, since a process can measure import, compilation and peak memory only once."""

import ctypes
import gc
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

from common import ONE_CORE

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_PROGRAM = """
import importlib, json, sys
module, name, arguments = sys.argv[1:]
print(json.dumps(getattr(importlib.import_module(module), name)(**json.loads(arguments))))
"""


def call(function, *, cache=None, **arguments):
    """Call a function of a benchmark script in a new process, on one core unless the environment says otherwise."""
    script = Path(inspect.getfile(function)).resolve()
    paths = [str(script.parent), str(script.parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = ONE_CORE | {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache["numba"])
        environment["PYTENSOR_FLAGS"] = f"base_compiledir={cache['pytensor']}"
    command = [sys.executable, "-c", _PROGRAM, script.stem, function.__name__, json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"{function.__name__}({arguments}) failed:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def tells_memory(note):
    """Whether the peak of memory can be measured; if not, a note says so."""
    found = STATUS.exists() and os.access(CLEAR, os.W_OK)
    if not found:
        note("Memory skipped: the peak is read from /proc, which Linux has.")
    return found


def resident(field="VmHWM"):
    """Bytes in use now ("VmRSS") or their maximum since the last reset ("VmHWM"); None if the system does not tell."""
    lines = STATUS.read_text().splitlines() if STATUS.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field)), None)


def rise_of_memory(function):
    """By how many bytes this process grows at most during a call, and what the call returns."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim:
        # Memory that is free but not returned to the system would hide what the call takes.
        trim(0)
    CLEAR.write_text("5")
    before = resident("VmRSS")
    result = function()
    return resident() - before, result
