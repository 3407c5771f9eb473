"""Ctrl-C while chains run: no draw is lost, and a run without draws ends in a KeyboardInterrupt."""

import contextlib
import os
import signal
import threading

from pymc_nrm.common.pymc_internals import NO_DRAWS
from pymc_nrm.kernels.interrupts import Interrupted, call_again_later, loses_errors


@contextlib.contextmanager
def interrupts_before_draws(folder):
    """Turn the ValueError of a run that was interrupted while it tuned into a KeyboardInterrupt.

    ``folder`` is the folder of the run, or None.
    """
    try:
        yield
    except ValueError as error:
        if str(error) != NO_DRAWS:
            raise
        is_resumable = folder is not None and not folder.is_temporary
        how = f"; nrm.resume({str(folder.path)!r}) resumes it" if is_resumable else ""
        raise KeyboardInterrupt(f"the run was interrupted before its first draw{how}") from None


@contextlib.contextmanager
def interrupts_outside_of_conversions():
    """Delay SIGINT by some milliseconds while numba converts results to Python objects, or stores machine code.

    Numba runs Python code for every array of a result.  A KeyboardInterrupt there becomes a SystemError, which PyMC
    does not recognise as an interrupt, and all draws are lost; in a callback of LLVM it is lost itself.
    """
    handler, process = signal.getsignal(signal.SIGINT), os.getpid()
    # Only the main thread handles signals; a handler may also be a number, or None if it is not Python's.
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return

    def hold(signum, frame):
        # A terminal interrupts the processes of chains as well.  PyMC ends them; one that ends first counts as failed.
        if os.getpid() != process:
            return None
        if loses_errors(frame):
            return call_again_later()
        Interrupted.came = True
        return handler(signum, frame)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        Interrupted.came = False
        signal.signal(signal.SIGINT, handler)
