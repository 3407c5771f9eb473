"""Expected time of a run, and progress lines of runs over many items where no progress bar can be shown."""

import logging
import time
from collections import deque

from rich.console import Console

from pymc_nrm.common.wrapping import wrapped
from pymc_nrm.models.rvs import n_items, names_in_chunks, partitions_of
from pymc_nrm.run.arguments import DRAWS, DRAWS_OF_MANY, largest_partition, number_of_chains
from pymc_nrm.stats.point_estimate import MANY_ITEMS

# A child of PyMC's logger, which shows messages of level INFO.
_log = logging.getLogger("pymc.nrm_progress")

SECONDS_BETWEEN_LINES = 30.0
# A run of fewer items is told the expected time if more than this is left.
SECONDS_WORTH_A_LINE = 30.0
# Draws and seconds after which the pace is estimated; the first draw of a run does not count.
_BEFORE_ESTIMATE = ((10, 2.5), (4, 5.0))
# The pace is estimated from the last draws, since tuning takes longer per draw: number of times, seconds between them.
_LAST_TIMES, _SECONDS_APART = 20, 0.25
_PAGE = 'With nrm.Chunks a chain uses all cores, see "Large data", docs/how-to/large-data.md.'


def tell_of_run(model, draws, kwargs, client=None):
    """Log one block about a model with a partition: its items, how long chains are, and what is slow with many items.

    PyMC lists the steps after it, and :class:`Watch` tells the expected time as soon as it is known.
    """
    sizes = {partition.name: n_items(partition) for partition in partitions_of(model)}
    if not sizes:
        return
    chains, tune = number_of_chains(kwargs, client), kwargs["tune"]
    items = ", ".join(f"{name} ({n:,} items)" for name, n in sizes.items())
    text = f"Sampling {items}: {chains} chain{'s' * (chains > 1)} of {tune:,} tuning and {draws:,} posterior draws"
    name, n = largest_partition(model)
    text += f", the default for more than {MANY_ITEMS:,} items." if n > MANY_ITEMS and draws == DRAWS_OF_MANY else "."
    if n > MANY_ITEMS:
        text += (
            " Without initvals, a chain starts from clusters of 1,000 random items, then more, to which all others "
            "are assigned; after a few draws, a line gives the time of a draw."
        )
        if name not in names_in_chunks(model):
            text += f"\n{_PAGE}"
    _log.info(wrapped(text))


def watched(model, draws, kwargs):
    """The callback in arguments of ``pm.sample``, wrapped to tell the expected time of a model with a partition."""
    callback = kwargs.get("callback")
    name, n = largest_partition(model)
    # With a callback PyMC might choose another sampler for a model without a partition.
    if name is None:
        return callback
    tune = kwargs.get("tune")
    n_total = number_of_chains(kwargs) * (draws + (DRAWS if tune is None else tune))
    subject = f"{name} has {n:,} items"
    if n <= MANY_ITEMS:
        return Watch(callback, subject, n_total, lines=False, least=SECONDS_WORTH_A_LINE)
    console = Console()
    has_bar = kwargs.get("progressbar") is not False and (console.is_terminal or console.is_jupyter)
    return Watch(callback, subject, n_total, lines=not has_bar)


class Watch:
    """A callback of ``pm.sample``: one line about the time of a draw and of the run, then one every half minute.

    The first line is logged if at least ``least`` seconds are left, the others with ``lines``.
    """

    def __init__(self, callback, subject, n_total, lines, least=0.0):
        self._callback, self._subject, self._lines, self._least = callback, subject, lines, least
        self._n_total, self._n_done, self._chains = n_total, 0, set()
        # Pairs of a time and the number of draws made by then.
        self._times, self._begin = deque(maxlen=_LAST_TIMES + 1), None
        self._next_estimate, self._last_line = 0.0, None

    def __call__(self, trace, draw):
        if self._callback is not None:
            self._callback(trace=trace, draw=draw)
        now = time.monotonic()
        self._n_done += 1
        self._chains.add(draw.chain)
        if self._begin is None:
            self._begin = now
        if not self._times or now - self._times[-1][0] >= _SECONDS_APART:
            self._times.append((now, self._n_done))
        if self._n_done >= self._n_total:
            return
        if self._last_line is None:
            self._estimate(now, now - self._begin)
        elif self._lines and now - self._last_line > SECONDS_BETWEEN_LINES:
            self._last_line = now
            _log.info(f"{self._n_done:,} of {self._n_total:,} draws; about {duration(self._seconds_left())} left.")

    def _estimate(self, now, passed):
        is_early = not any(self._n_done > draws and passed > seconds for draws, seconds in _BEFORE_ESTIMATE)
        if is_early or passed < self._next_estimate:
            return
        left = self._seconds_left()
        if left < self._least:
            # The pace may change: look again after twice the time.
            self._next_estimate = 2.0 * passed
            return
        self._last_line = now
        _log.info(
            f"{self._subject}: a draw takes {duration(len(self._chains) * self._seconds_per_draw())}, the "
            f"remaining {self._n_total - self._n_done:,} of the run about {duration(left)}."
        )

    def _seconds_per_draw(self):
        # Of the later half of the time: draws that were made before a run is resumed take none.
        *earlier, (last, n_last) = self._times
        half = 0.5 * (self._begin + last)
        first, n_first = next((time for time in earlier if time[0] >= half), earlier[-1])
        return (last - first) / (n_last - n_first)

    def _seconds_left(self):
        return self._seconds_per_draw() * (self._n_total - self._n_done)


def duration(seconds):
    """A time as a text of one or two digits."""
    if seconds < 1.0:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 100.0:
        return f"{seconds:.2g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"
