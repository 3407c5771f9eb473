"""Compile what depends on no family in another process, once, while this one compiles what the model needs first.

The default step and point estimates compile once for all models.  Before they are on disk, a second process begins with
them, and this one loads what it finds there when its turn comes (``kernels/one_compiler.py``)::

    this process     | model | hyperparameters, families ... | what is left of the moves | chains
    another process          | import | moves of partitions ...... | point estimates ...
"""

import atexit
import contextlib
import sys
import threading
from importlib.metadata import version

from pymc_nrm.kernels.compilation import usable_cores, with_work_beside_compilation
from pymc_nrm.kernels.compile_times import keep_seconds, last_seconds
from pymc_nrm.kernels.reached_files import fingerprint_of_files, reached_modules
from pymc_nrm.run.start_python import start_python

_running = []


def with_moves_beside(kwargs):
    """Context in which a step that compiles for long has another process compile the moves, unless it has been done."""
    if kwargs.get("cores") == 1 or kwargs.get("step") is not None or usable_cores() < 2:
        return contextlib.nullcontext()
    return with_work_beside_compilation("the moves of all families", _other_process)


def _title():
    """Name under which the folder of machine code remembers that a process has compiled these files."""
    files = fingerprint_of_files(reached_modules(["pymc_nrm.moves.tree_guided", "pymc_nrm.stats.search"]))
    return f"moves {files[:16]} numba {version('numba')} python {sys.version_info[0]}.{sys.version_info[1]}"


@contextlib.contextmanager
def _other_process():
    """Start the process once, and yield whether this was possible; it does not end with the context."""
    process, title = None, _title()
    if last_seconds(title) is None:
        keep_seconds(title, 0.0)
        process = start_python("-m", "pymc_nrm.warm_up", "moves")
    if process is None:
        yield False
        return
    _running.append(process)
    # Nobody else waits for it.
    threading.Thread(target=process.wait, daemon=True).start()
    yield True


@atexit.register
def _end():
    for process in _running:
        process.kill()
        process.wait()
