"""How long a run over many items will take, and how far it is where no progress bar can be shown."""

import logging
import time
from collections import deque

from rich.console import Console

from pymc_nrm.common.pymc_internals import default_chains
from pymc_nrm.models.rvs import n_items, names_in_chunks, partitions_of
from pymc_nrm.stats.point_estimate import MANY_ITEMS

# A child of PyMC's logger, which shows messages of level INFO.
_log = logging.getLogger("pymc.nrm_watch")

_DRAWS, _DRAWS_OF_MANY = 1000, 250
SECONDS_BETWEEN_LINES = 30.0
# Times are told once so many draws of the run have taken so long; the first draw of a chain does not count.
_DRAWS_BEFORE_ESTIMATE = 4
_SECONDS_BEFORE_ESTIMATE = 5.0
# The pace is that of the last draws, since those of tuning take longer.
_LAST_DRAWS = 20
_PAGE = 'With nrm.Chunks a chain uses all cores, see "Large data" in the documentation, docs/how-to/large-data.md.'


def with_numbers_of_draws(model, draws, kwargs, quiet):
    """Numbers of draws and of draws of tuning, where they are not given: fewer if a partition has many items."""
    name, n = _largest(model)
    is_many = n > MANY_ITEMS
    if is_many and draws is None and not quiet:
        _log.info(
            f"{name} has {n:,} items: by default chains make {_DRAWS_OF_MANY} draws instead of {_DRAWS}, and as many "
            "of tuning; draws and tune change that."
        )
    default = _DRAWS_OF_MANY if is_many else _DRAWS
    if kwargs.get("tune") is None:
        kwargs = {**kwargs, "tune": default}
    return default if draws is None else draws, kwargs


def _largest(model):
    """Name and number of items of the partition with the most."""
    items = {partition.name: n_items(partition) for partition in partitions_of(model)}
    name = max(items, key=items.get, default=None)
    return name, items.get(name, 0)


def watched(model, draws, kwargs):
    """The callback in arguments of ``pm.sample``, one that also tells how long the run takes if it has many items."""
    callback = kwargs.get("callback")
    name, n = _largest(model)
    if n <= MANY_ITEMS:
        return callback
    tune, chains = (kwargs.get(name) for name in ("tune", "chains"))
    chains = default_chains(kwargs.get("cores")) if chains is None else chains
    console = Console()
    has_bar = kwargs.get("progressbar") is not False and (console.is_terminal or console.is_jupyter)
    n_total = chains * (draws + (_DRAWS if tune is None else tune))
    if name not in names_in_chunks(model):
        _log.info(_PAGE)
    return Watch(callback, f"{name} has {n:,} items", n_total, lines=not has_bar)


class Watch:
    """A callback of ``pm.sample``: one line about the time of a draw and of the run, then one every half minute."""

    def __init__(self, callback, subject, n_total, lines):
        self._callback, self._subject, self._lines = callback, subject, lines
        self._n_total, self._n_done, self._chains = n_total, 0, set()
        self._times, self._last_line = deque(maxlen=_LAST_DRAWS + 1), None
        _log.info(
            f"{subject}: unless a start is given, a chain begins on 1,000 random ones, then more, some seconds, "
            "whose clusters all others join; how long a draw takes is said after some."
        )

    def __call__(self, trace, draw):
        if self._callback is not None:
            self._callback(trace=trace, draw=draw)
        now = time.monotonic()
        self._n_done += 1
        self._chains.add(draw.chain)
        self._times.append(now)
        if self._n_done >= self._n_total:
            return
        if self._last_line is None:
            if len(self._times) > _DRAWS_BEFORE_ESTIMATE and now - self._times[0] > _SECONDS_BEFORE_ESTIMATE:
                self._last_line = now
                _log.info(
                    f"{self._subject}: a draw takes {duration(len(self._chains) * self._seconds_per_draw())}, the "
                    f"remaining {self._n_total - self._n_done:,} of the run about {self._left()}."
                )
        elif self._lines and now - self._last_line > SECONDS_BETWEEN_LINES:
            self._last_line = now
            _log.info(f"{self._n_done:,} of {self._n_total:,} draws; about {self._left()} left.")

    def _seconds_per_draw(self):
        return (self._times[-1] - self._times[0]) / (len(self._times) - 1)

    def _left(self):
        return duration(self._seconds_per_draw() * (self._n_total - self._n_done))


def duration(seconds):
    """A time as a text of one or two digits."""
    if seconds < 1.0:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 100.0:
        return f"{seconds:.2g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"
