"""Run one example and say whether its outcome is allowed."""

import contextlib
import re
import signal
import time
import traceback
import warnings
from typing import NamedTuple

import arviz_plots
import arviz_stats
import numpy as np
import pymc as pm
import scipy.ndimage
from numba.core.event import Listener, install_listener

from . import results
from .case import NAMESPACE

# Import now: if the time limit cut off an import, modules would be left half loaded.
LAZY = (arviz_plots, arviz_stats, scipy.ndimage)
SECONDS = 20.0
NEVER = (
    *(ArithmeticError, IndexError, AttributeError, AssertionError, UnboundLocalError, RecursionError, MemoryError),
    *(np.linalg.LinAlgError, SystemError, StopIteration, SyntaxError),
)
ALLOWED = (ValueError, TypeError, NotImplementedError, KeyError, pm.exceptions.SamplingError, pm.exceptions.ShapeError)

# Predictions without PyMC are a package beside this one, whose checks it shares.
OWN_FILE = re.compile(r"/pymc_nrm(?:_predictor)?/")


class Outcome(NamedTuple):
    """A verdict, "void" where the package was not reached; where and how, equal for those that fail alike; why."""

    verdict: str
    detail: str = ""
    message: str = ""

    @property
    def failed(self):
        return self.verdict not in ("right", "refused", "void")


class TooSlow(BaseException):
    """An example took longer than the limit."""


class CompilationTime(Listener):
    """Seconds in which numba compiles or loads kernels."""

    def __init__(self):
        self.depth, self.since, self.total = 0, 0.0, 0.0

    def on_start(self, event):
        if self.depth == 0:
            self.since = time.process_time()
        self.depth += 1

    def on_end(self, event):
        self.depth -= 1
        if self.depth == 0:
            self.total += time.process_time() - self.since


@contextlib.contextmanager
def time_limit(seconds):
    """Raise an error after some CPU seconds, once Python code runs; time in which numba compiles is free."""
    compilation, start = CompilationTime(), time.process_time()

    def stop(number, frame):
        left = seconds + compilation.total - (time.process_time() - start)
        if compilation.depth == 0 and left <= 0.0:
            raise TooSlow(f"more than {seconds} s")
        signal.setitimer(signal.ITIMER_PROF, max(left, 1.0))

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        with install_listener("numba:compiler_lock", compilation):
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def judge(case, seconds=SECONDS):
    """Outcome of an example, which may take so long."""
    namespace = dict(NAMESPACE)
    start = time.process_time()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), time_limit(seconds):
            warnings.simplefilter("ignore")
            exec(compile(case.program, "<example>", "exec"), namespace)
    except TooSlow as error:
        return Outcome("too slow", _place(error), f"after {time.process_time() - start:.1f} CPU s")
    except Exception as error:
        return _judge_error(error, case)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = results.problem_of(case, namespace)
    if problem is not None:
        return Outcome("wrong result", f"{case.kind}: {_shape_of(problem)}", problem)
    return Outcome("right")


def _judge_error(error, case):
    message, name = str(error), type(error).__name__
    words, keywords = set(re.findall(r"\w+", message)), set(re.findall(r"(\w+)=", case.program))
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    if not any(map(OWN_FILE.search, files)):
        # The example itself makes no sense, or a name is misspelt.
        return Outcome("refused" if words & keywords else "void")
    detail = f"{case.kind}: {name} in {_place(error)}: {_shape_of(message)}"
    if case.is_plain:
        return Outcome("plain input refused", detail, message)
    is_own = OWN_FILE.search(files[-1]) is not None
    explicit = is_own and isinstance(error, FloatingPointError)
    if not explicit and (isinstance(error, NEVER) or not isinstance(error, ALLOWED)):
        return Outcome("internal error", detail, message)
    # PyMC and ArviZ check their own arguments.
    if not (is_own or files[-1] == "<example>" or re.search(r"site-packages/(pymc|arviz\w*)/", files[-1])):
        return Outcome("error from below", detail, message)
    return Outcome("refused") if words & (case.names | keywords) else Outcome("no argument named", detail, message)


def _place(error):
    """The innermost function of the package in the traceback of an error."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if OWN_FILE.search(frame.filename)] or frames[-1:]
    return f"{OWN_FILE.split(own[-1].filename)[-1]}:{own[-1].name}"


def _shape_of(message):
    """A message without its numbers and values, to recognise failures of the same kind."""
    text = re.sub(r"'[^']*'|\[[^\]]*\]|\([^)]*\)", "_", message.splitlines()[0] if message else "")
    return re.sub(r"-?\d[\d.e+-]*|\bnan\b|\binf\b", "#", text)[:70]
