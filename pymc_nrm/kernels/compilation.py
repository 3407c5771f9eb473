"""Log line for a compilation that a first run waits for, work beside it, processors for both, options of PyTensor."""

import contextlib
import logging
import os
import threading
import time

import pytensor

from pymc_nrm.kernels.compile_times import keep_seconds, last_seconds
from pymc_nrm.kernels.generic import prepare_numba

# A child of PyMC's logger, which shows messages of level INFO.
_log = logging.getLogger("pymc.nrm_compilation")

# Shorter compilation needs no line.
SECONDS_BEFORE_LINE = 2.0

# Work for another process while this one compiles: pairs of a name and a function, see
# with_work_beside_compilation.
_work_beside = []
# Whether a line on the terminal shows the elapsed seconds of compilation.
_shows_seconds = True


@contextlib.contextmanager
def announced_compilation(step, families, elapsed=contextlib.nullcontext):
    """Log one line if kernels take longer than two seconds to compile, with the time that they took before, and enter
    ``elapsed(title)``, which shows the elapsed seconds; loading kernels from the cache takes less.

    Work beside it starts then, and has ended when the context exits.
    """
    names = " and ".join(sorted({family.__name__ for family in families}))
    title = f"{step} for {names}" if names else step
    prepare_numba()
    from numba.core import event

    class Announcement(event.Listener):
        """Numba compiles the parts of a kernel one by one, so there is an event every second or so."""

        def __init__(self):
            self.first = None
            self.is_announced = False

        def on_start(self, event):
            now = time.monotonic()
            self.first = now if self.first is None else self.first
            if not self.is_announced and now - self.first > SECONDS_BEFORE_LINE:
                self.is_announced = True
                started = []
                while _work_beside:
                    name, start = _work_beside.pop()
                    if beside.enter_context(start()):
                        started.append(f", and {name} beside it")
                seconds = last_seconds(title)
                before = "" if seconds is None else f", which took {seconds:.0f} s last time"
                _log.info(f"Compiling {''.join([title, *started])}{before}; later runs load it from disk.")
                if _shows_seconds and _log.isEnabledFor(logging.INFO):
                    beside.enter_context(elapsed(f"Compiling {title}"))

        def on_end(self, event):
            pass

    announcement = Announcement()
    with contextlib.ExitStack() as beside, event.install_listener("numba:compile", announcement):
        yield
    if announcement.is_announced:
        keep_seconds(title, time.monotonic() - announcement.first)


@contextlib.contextmanager
def with_work_beside_compilation(name, start):
    """Let the next compilation that takes longer than two seconds start other work in another process."""
    _work_beside.append((name, start))
    try:
        yield
    finally:
        _work_beside.clear()


@contextlib.contextmanager
def without_announcements(quiet=True, progressbar=True):
    """Log no line about compilation if ``quiet``, and show no seconds without a progress bar."""
    global _shows_seconds
    level, shown = _log.level, _shows_seconds
    if quiet:
        _log.setLevel(logging.WARNING)
    _shows_seconds = shown and progressbar
    try:
        yield
    finally:
        _log.setLevel(level)
        _shows_seconds = shown


class _FastMathematics:
    """Off during a run: the first of several threads switches it off, and the last switches it on again."""

    lock = threading.Lock()
    n_runs = 0
    restore = None


@contextlib.contextmanager
def same_bits_in_every_process():
    """Compile functions of PyTensor without fast mathematics, also in processes started in this context.

    With fast mathematics, the last bits of results differ between the process that compiles a function and processes
    that load it from the cache.
    """
    with _FastMathematics.lock:
        if _FastMathematics.n_runs == 0:
            with contextlib.ExitStack() as stack:
                stack.enter_context(pytensor.config.change_flags(numba__fastmath=False))
                flags = filter(None, [os.environ.get("PYTENSOR_FLAGS"), "numba__fastmath=False"])
                stack.enter_context(_environment("PYTENSOR_FLAGS", ",".join(flags)))
                _FastMathematics.restore = stack.pop_all()
        _FastMathematics.n_runs += 1
    try:
        yield
    finally:
        with _FastMathematics.lock:
            _FastMathematics.n_runs -= 1
            if _FastMathematics.n_runs == 0:
                _FastMathematics.restore.close()


@contextlib.contextmanager
def _environment(name, value):
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def usable_cores():
    """Number of processors that this process may use; PyMC counts only half of the processors of the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
