"""Progress bars for work that takes longer than two seconds."""

import _thread
import contextlib
import importlib.util
import threading

# Shorter work needs no bar.
SECONDS_BEFORE_BAR = 2.0
# The line that currently shows seconds; two lines would overwrite each other.
_lines = []


@contextlib.contextmanager
def progress(title, total, progressbar=True):
    """Show a bar like the bar of ``pm.sample`` after two seconds; yield a function to call after each step."""
    if not isinstance(progressbar, bool):
        raise TypeError(f"progressbar must be True or False; got {progressbar!r}")
    if not progressbar:
        yield lambda: None
        return
    with contextlib.closing(_LateBar(title, total)) as bar:
        bar.start()
        yield bar.advance
        bar.complete()


def tracked(elements, title, progressbar=True):
    """Iterate over the elements of a loop and show its progress, as :func:`progress` does."""
    with progress(title, len(elements), progressbar) as advance:
        for element in elements:
            yield element
            advance()


@contextlib.contextmanager
def elapsed(title):
    """Show the elapsed seconds on a terminal or in a notebook, in a line that disappears when the context ends or
    ``end_elapsed`` is called, for example before a bar of PyMC appears.
    """
    from rich.console import Console  # slow to import
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    end_elapsed()
    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter) or _would_warn(console):
        yield
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    line = Progress(*columns, console=console, transient=True)
    line.add_task(title, total=None)
    line.start()
    _lines.append(line)
    try:
        yield
    finally:
        if line in _lines:
            end_elapsed()


def _would_warn(console):
    """Whether a changing line would become a warning at each update: in a notebook, rich needs ipywidgets."""
    return console.is_jupyter and importlib.util.find_spec("ipywidgets") is None


def end_elapsed():
    """Remove the line that shows seconds, if there is one."""
    while _lines:
        _lines.pop().stop()


class _LateBar:
    """A bar that a thread shows, since the first step may take long, for example because its kernels compile.

    ``threading.Timer`` waits until it has started, where Ctrl-C would leave it behind, and a Thread has a callback when
    it is freed, where Ctrl-C would be lost.
    """

    def __init__(self, title, total):
        self._title, self._total, self._done = title, total, 0
        self._bar, self._closed, self._lock = None, threading.Event(), threading.Lock()

    def start(self):
        _thread.start_new_thread(self._show_later, ())

    def _show_later(self):
        if not self._closed.wait(SECONDS_BEFORE_BAR):
            self._show()

    def _show(self):
        from rich.console import Console  # slow to import
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        console = Console(stderr=True)
        with self._lock:
            if self._closed.is_set() or _would_warn(console):
                return
            number = TextColumn("{task.completed} of {task.total}")
            times = TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn()
            columns = (TextColumn("{task.description}"), BarColumn(), number, *times)
            # Leave the standard output of programs unchanged.
            self._bar = Progress(*columns, console=console)
            self._task = self._bar.add_task(self._title, total=self._total, completed=self._done)
            self._bar.start()

    def advance(self):
        self._done += 1
        self._update()

    def complete(self):
        """Fill the bar, since some work takes fewer steps than expected."""
        self._done = self._total
        self._update()

    def _update(self):
        with self._lock:
            if self._bar is not None:
                self._bar.update(self._task, completed=self._done)

    def close(self):
        self._closed.set()
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
