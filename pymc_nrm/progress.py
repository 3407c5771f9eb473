"""Progress of whatever lasts longer than a moment."""

import contextlib
import time

__all__ = ["SECONDS_BEFORE_BAR", "progress"]

# What is done sooner needs no bar.
SECONDS_BEFORE_BAR = 2.0


@contextlib.contextmanager
def progress(title, total, progressbar=True):
    """Show a bar like those of ``pm.sample``, if it takes longer than two seconds.

    Parameters
    ----------
    title : str
    total : int
        Number of steps.
    progressbar : bool
        Whether to show a bar at all.

    Yields
    ------
    callable
        To be called, without arguments, after each step.

    Raises
    ------
    TypeError
        If ``progressbar`` is not a bool.

    Examples
    --------
    >>> with progress("Counting", 3) as advance:
    ...     for k in range(3):
    ...         advance()
    """
    if not isinstance(progressbar, bool):
        raise TypeError(f"progressbar must be True or False; got {progressbar!r}")
    bar = _LateBar(title, total) if progressbar else None
    try:
        yield bar.advance if bar else _nothing
    finally:
        if bar:
            bar.close()


def _nothing():
    pass


class _LateBar:
    def __init__(self, title, total):
        self._title, self._total, self._done = title, total, 0
        self._begin, self._bar, self._shown_at = time.monotonic(), None, 0.0

    def advance(self):
        self._done += 1
        if self._bar is None:
            if time.monotonic() - self._begin < SECONDS_BEFORE_BAR or self._done == self._total:
                return
            self._show()
        self._bar.update(self._task, completed=self._done)

    def _show(self):
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn  # slow

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed} of {task.total}"))
        self._bar = Progress(*columns, TimeElapsedColumn(), TextColumn("/"), TimeRemainingColumn())
        self._task = self._bar.add_task(self._title, total=self._total)
        self._bar.start()

    def close(self):
        if self._bar is not None:
            self._bar.stop()
