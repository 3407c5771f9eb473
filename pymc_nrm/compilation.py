"""A line about compilation, which is what the first run with a new family waits for."""

import contextlib
import logging
import time

from pymc_nrm.generic import prepare_numba

__all__ = ["announced_compilation", "without_announcements"]

# A child of PyMC's logger, which shows messages of level INFO.
_log = logging.getLogger("pymc.nrm_compilation")

# Shorter compilation needs no line.
SECONDS_BEFORE_LINE = 2.0


@contextlib.contextmanager
def announced_compilation(step, families):
    """Log one line if kernels are compiled for longer than two seconds; loading them from the cache takes less.

    Parameters
    ----------
    step : str
        What is compiled.
    families : iterable of type
        What it is compiled for.

    Examples
    --------
    >>> with announced_compilation("TreeGuided", []):
    ...     pass
    """
    names = " and ".join(sorted({family.__name__ for family in families}))
    title = f"{step} for {names}" if names else step
    prepare_numba()
    from numba.core import event

    class Announcement(event.Listener):
        """Numba compiles parts of a kernel one by one, so there is an event every second or so."""

        def __init__(self):
            self.first = None
            self.is_announced = False

        def on_start(self, event):
            now = time.monotonic()
            self.first = now if self.first is None else self.first
            if not self.is_announced and now - self.first > SECONDS_BEFORE_LINE:
                self.is_announced = True
                _log.info(f"Compiling {title}: up to a minute, once; later runs load it from the cache.")

        def on_end(self, event):
            pass

    with event.install_listener("numba:compile", Announcement()):
        yield


@contextlib.contextmanager
def without_announcements(quiet=True):
    """Log no such line.

    Parameters
    ----------
    quiet : bool
        Whether to change anything.

    Examples
    --------
    >>> with without_announcements(), announced_compilation("TreeGuided", []):
    ...     pass
    """
    level = _log.level
    if quiet:
        _log.setLevel(logging.WARNING)
    try:
        yield
    finally:
        _log.setLevel(level)
