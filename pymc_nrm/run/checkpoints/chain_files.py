"""The files of one chain: a log of its draws, and its last two checkpoints.

The draws of a chain are appended to a log.  A checkpoint is a file of its own, which says how much of the log counts.
A new checkpoint is written under another name, forced to disk, and then replaces the last but one.  A process that is
killed between any two instructions therefore leaves either the last checkpoint or the new one.
"""

import os
import pathlib
import time
from typing import Any, NamedTuple

from pymc_nrm.run.checkpoints.atomic_files import (
    flush_folder,
    flush_to_disk,
    frame_bytes,
    frame_of,
    read_frame,
    write_file,
)

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

_SECONDS_FOR_LOCK = 30.0


class Position(NamedTuple):
    """The last checkpoint of a chain."""

    # Number of iterations done, of tuning and of draws.
    n_iterations: int
    # Number of bytes of the log that hold them.
    log_size: int
    # Object passed to `commit`; None at the start of a chain.
    saved: Any


class ChainFiles:
    """The files of one chain, held by one process at a time."""

    def __init__(self, folder, chain):
        if not os.path.isdir(folder):
            raise FileNotFoundError(f"the checkpoint {str(folder)!r} cannot be seen from here")
        self.folder = pathlib.Path(folder, f"chain_{chain}")
        self.folder.mkdir(exist_ok=True)
        self._log_path = self.folder / "draws"
        self._places = [self.folder / "position_0", self.folder / "position_1"]
        self._log = None
        self._lock = _locked(self.folder / "lock", f"chain {chain} of the checkpoint {str(folder)!r}")

    def recover(self):
        """Find the last undamaged checkpoint, and remove what does not belong to it. Also returns the number of
        iterations that must be drawn again, because a file was damaged or missing.
        """
        ends = {0: 0} | {frame.end: frame.second for frame in self._frames()}
        for unfinished in self.folder.glob("*.new"):
            unfinished.unlink()
        last_known = max(ends.values())
        # A crash during the first commit leaves one block without a position; with more, the positions are gone.
        undamaged, damaged = [], len(ends) > 2 and not any(place.exists() for place in self._places)
        for place in filter(pathlib.Path.exists, self._places):
            frame = frame_of(place)
            last_known = last_known if frame is None else max(last_known, frame.first)
            if frame is not None and ends.get(frame.second) == frame.first:
                undamaged.append((frame, place))
            else:
                place.unlink()
                damaged = True
        position = Position(0, 0, None)
        if undamaged:
            frame, place = max(undamaged, key=lambda entry: entry[0][:2])
            position = Position(frame.first, frame.second, frame.load())
            # The next commit writes to the other place.
            self._places.sort(key=lambda other: other == place)
        with open(self._log_path, "ab") as log:
            log.truncate(position.log_size)
            flush_to_disk(log)
        flush_folder(self.folder)
        return position, last_known - position.n_iterations if damaged else 0

    def blocks(self, log_size):
        """Yield the objects in the first ``log_size`` bytes of the log, in order."""
        for frame in self._frames():
            if frame.end > log_size:
                return
            yield frame.load()

    def append(self, first, end, block):
        """Append an object with the iterations from ``first`` to ``end``; it counts once :meth:`commit` is called."""
        if self._log is None:
            self._log = open(self._log_path, "ab")  # noqa: SIM115
        self._log.write(frame_bytes(first, end, block))

    def commit(self, n_iterations, saved):
        """Make the log up to here count, and save an object with the position of the chain."""
        flush_to_disk(self._log)
        write_file(self._places[0], frame_bytes(n_iterations, self._log.tell(), saved))
        self._places.reverse()

    def close(self):
        """Close the files and release the lock."""
        for file in (self._log, self._lock):
            if file is not None:
                file.close()
        self._log = self._lock = None

    def _frames(self):
        if not self._log_path.exists():
            return
        with open(self._log_path, "rb") as log:
            done = 0
            while (frame := read_frame(log)) is not None and frame.first == done:
                done = frame.second
                yield frame


def _locked(path, what):
    """Open and lock a file; the system releases the lock when the process ends, however it ends."""
    file = open(path, "a+")  # noqa: SIM115
    if fcntl is None:
        return file
    give_up = time.monotonic() + _SECONDS_FOR_LOCK
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() > give_up:
                file.seek(0)
                owner = file.read().strip() or "unknown"
                file.close()
                raise RuntimeError(f"{what} is being sampled by another process (process {owner})") from None
            time.sleep(0.05)
        else:
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
            return file
