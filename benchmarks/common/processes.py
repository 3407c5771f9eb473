"""Calls in separate processes, since a process can measure import, compilation and peak memory only once."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

from common.one_core import ONE_CORE

_PROGRAM = """
import importlib, json, sys
module, name, arguments = sys.argv[1:]
print(json.dumps(getattr(importlib.import_module(module), name)(**json.loads(arguments))))
"""


def call(function, *, cache=None, **arguments):
    """Call a function of a benchmark script in a new process, on one core unless the environment says otherwise."""
    script = Path(inspect.getfile(function)).resolve()
    paths = [str(script.parent), str(script.parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = ONE_CORE | os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache["numba"])
        environment["PYTENSOR_FLAGS"] = f"base_compiledir={cache['pytensor']}"
    command = [sys.executable, "-c", _PROGRAM, script.stem, function.__name__, json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"{function.__name__}({arguments}) failed:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])
