"""The folder of a run with checkpoints: what the run began with, and the draws and positions of its chains.

The draws of a chain are appended to a log.  Its position is a file of its own, which says how much of the log counts.
A new position is written under another name, forced to disk, and then replaces the last but one.  A process that is
killed between any two instructions therefore leaves either the last checkpoint or the new one.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import pickle
import shutil
import struct
import tempfile
import threading
import time
from typing import Any, NamedTuple

import cloudpickle

from pymc_nrm.common.checks import check_path
from pymc_nrm.run.checkpoints.fingerprint import describe_model, first_difference, versions

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

# A magic word, two numbers, the length of the content, and a digest of numbers and content.
_HEADER = struct.Struct("<8sQQQ32s")
_MAGIC = b"nrmchain"

_SECONDS_FOR_LOCK = 30.0


class Frame(NamedTuple):
    """A piece of a file in which damage can be detected."""

    # first, second: Two numbers that can be read without the rest.
    first: int
    second: int
    content: bytes
    # Where the frame ends in its file.
    end: int

    def load(self):
        """Unpickle the content."""
        return pickle.loads(self.content)


class Position(NamedTuple):
    """Where a chain stands."""

    # Number of iterations done, of tuning and of draws.
    n_iterations: int
    # Number of bytes of the log that hold them.
    log_size: int
    # Object passed to `commit`; None at the start of a chain.
    saved: Any


def frame_bytes(first, second, saved):
    """Turn an object into bytes that :func:`read_frame` can check."""
    content = pickle.dumps(saved, protocol=pickle.HIGHEST_PROTOCOL)
    return _HEADER.pack(_MAGIC, first, second, len(content), _digest(first, second, content)) + content


def read_frame(file):
    """Read the next frame of an open file; return None if there is none, or if it is damaged."""
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    magic, first, second, length, digest = _HEADER.unpack(header)
    if magic != _MAGIC:
        return None
    try:
        content = file.read(length)
    except (OverflowError, MemoryError):  # a damaged length
        return None
    if len(content) < length or _digest(first, second, content) != digest:
        return None
    return Frame(first, second, content, file.tell())


def frame_of(path):
    """Read the only frame of a file; None if it is missing or damaged."""
    if not path.is_file():
        return None
    with open(path, "rb") as file:
        return read_frame(file)


def write_file(path, content):
    """Write a file so that a crash leaves the whole new file or what was there before."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.new")
    with open(temporary, "wb") as file:
        file.write(content)
        flush_to_disk(file)
    os.replace(temporary, path)
    flush_folder(path.parent)


def flush_to_disk(file):
    """Force what was written to a file to disk."""
    file.flush()
    os.fsync(file.fileno())


def flush_folder(path):
    """Force new names in a folder to disk, if the system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


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
        known = max(ends.values())
        # A crash during the first commit leaves one block without a position; with more, the positions are gone.
        found, damaged = [], len(ends) > 2 and not any(place.exists() for place in self._places)
        for place in filter(pathlib.Path.exists, self._places):
            frame = frame_of(place)
            known = known if frame is None else max(known, frame.first)
            if frame is not None and ends.get(frame.second) == frame.first:
                found.append((frame, place))
            else:
                place.unlink()
                damaged = True
        position = Position(0, 0, None)
        if found:
            frame, place = max(found, key=lambda entry: entry[0][:2])
            position = Position(frame.first, frame.second, frame.load())
            # The next commit writes to the other place.
            self._places.sort(key=lambda other: other == place)
        with open(self._log_path, "ab") as log:
            log.truncate(position.log_size)
            flush_to_disk(log)
        flush_folder(self.folder)
        return position, known - position.n_iterations if damaged else 0

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


def _digest(first, second, content):
    digest = hashlib.sha256(struct.pack("<QQ", first, second))
    digest.update(content)
    return digest.digest()


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


RUN, _ARGUMENTS, _STEPS = "run.json", "arguments", "steps"


def _arguments_bytes(arguments):
    return frame_bytes(0, 0, pickled(arguments, "the arguments of a run with checkpoints must be picklable"))


@contextlib.contextmanager
def removed_if_nothing_was_drawn(folder):
    """Remove the folder of a new run if an error, such as a wrong argument, stops it before its first checkpoint."""
    try:
        yield
    except Exception:
        if folder is not None and not any(folder.path.glob("chain_*/position_*")):
            shutil.rmtree(folder.path, ignore_errors=True)
        raise


def write_folder(path, files):
    """Make a folder with files of given contents, under another name until all are there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = pathlib.Path(tempfile.mkdtemp(prefix=f"{path.name}.", suffix=".new", dir=path.parent))
    try:
        for name, content in files.items():
            write_file(new / name, content)
        os.rename(new, path)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def pickled(content, what):
    """Pickle an object; ``what`` says in the error why it must be possible."""
    try:
        return cloudpickle.dumps(content, protocol=-1)
    except Exception as error:
        raise ValueError(f"{what}: {error}") from error


def read_file(path, lost):
    """Unpickle the content of a file of a folder; ``lost(name, how)`` is what errors say."""
    if not path.is_file():
        raise FileNotFoundError(lost(path.name, "missing"))
    frame = frame_of(path)
    if frame is None:
        raise ValueError(lost(path.name, "damaged"))
    return frame.load()


def read_about(path, names, lost):
    """Read entries of a file in JSON."""
    try:
        about = json.loads(path.read_bytes())
        return [about[name] for name in names]
    except (ValueError, KeyError) as error:
        raise ValueError(lost(path.name, "damaged")) from error


class RunFolder:
    """The folder of a run, which :meth:`create` has made; a temporary one, which is there, has only its chains."""

    def __init__(self, path, is_temporary=False):
        check_path("checkpoint", path)
        self.path, self.is_temporary = pathlib.Path(path).resolve(), is_temporary

    @classmethod
    def create(cls, path, model, arguments):
        """Make the folder."""
        folder = cls(path)
        if folder.path.exists() and (not folder.path.is_dir() or any(folder.path.iterdir())):
            raise FileExistsError(
                f"checkpoint={str(path)!r} is there already: nrm.resume({str(path)!r}) goes on with its run; delete "
                "it, or name another folder, to begin a new one"
            )
        about = {"versions": versions(), "model": describe_model(model)}
        files = {_ARGUMENTS: _arguments_bytes(arguments), RUN: json.dumps(about, indent=1).encode()}
        write_folder(folder.path, files)
        return folder

    def check(self, model):
        """Check that a model and the software are those with which the run began."""
        if not (self.path / RUN).is_file():
            raise FileNotFoundError(
                f"{str(self.path)!r} holds no run; it is made by nrm.sample(..., checkpoint={str(self.path)!r})"
            )
        expected = read_about(self.path / RUN, ("versions", "model"), self._lost)
        found = versions(), describe_model(model)
        for what, then, now in zip(("software", "model or data"), expected, found, strict=True):
            difference = first_difference(then, now)
            if difference is not None:
                raise ValueError(self._difference(what, *difference))

    def arguments(self):
        """Load the arguments with which the run began."""
        return cloudpickle.loads(read_file(self.path / _ARGUMENTS, self._lost))

    def set_arguments(self, arguments):
        """Replace the arguments."""
        write_file(self.path / _ARGUMENTS, _arguments_bytes(arguments))

    @property
    def knows_steps(self):
        """Whether steps have been stored, from whose states chains can go on."""
        return (self.path / _STEPS).exists()

    def check_steps(self, description, state):
        """Check that the steps are those with which the run began; the first call stores them. Returns the state passed
        to the first call.
        """
        path = self.path / _STEPS
        if not self.knows_steps:
            write_file(path, frame_bytes(0, 0, (description, state)))
        then, state = read_file(path, self._lost)
        difference = first_difference(then, description)
        if difference is not None:
            raise ValueError(f"{self._difference('steps', *difference)}. Give the step with which the run began")
        return state

    def recover(self, n_chains):
        """Recover the files of all chains. Returns the numbers of iterations saved, and lost because a file was damaged
        or missing, of each chain.
        """
        found = []
        for chain in range(n_chains):
            with contextlib.closing(ChainFiles(self.path, chain)) as files:
                position, n_damaged = files.recover()
            found.append((position.n_iterations, n_damaged))
        return found

    def _difference(self, what, name, then, now):
        return (
            f"the run in {str(self.path)!r} cannot be resumed with other {what}: {name} was {then} when it began, "
            f"and is {now} now"
        )

    def _lost(self, name, how):
        return (
            f"the run in {str(self.path)!r} cannot be resumed, since its file {name} is {how}; delete the folder and "
            "begin again"
        )
