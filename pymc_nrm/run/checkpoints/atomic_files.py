"""Files and folders that are written as a whole or not at all, and in which damage is detected."""

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
from typing import NamedTuple

import cloudpickle

# A magic word, two numbers, the length of the content, and a digest of numbers and content.
_HEADER = struct.Struct("<8sQQQ32s")
_MAGIC = b"nrmchain"


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


def _digest(first, second, content):
    digest = hashlib.sha256(struct.pack("<QQ", first, second))
    digest.update(content)
    return digest.digest()
