"""Files of predictions: a zip archive of arrays in NumPy's format and a description in JSON, without pickles."""

import io
import json
import os
import pathlib
import tempfile
import zipfile

import numpy as np

# The format of files that are written; all formats up to it are read.
FORMAT = 1

_DESCRIPTION, _SUFFIX = "description.json", ".npy"
# The same time for all members, so that equal contents are equal files.
_TIME = (1980, 1, 1, 0, 0, 0)


def write_file(path, description, arrays):
    """Write a description and arrays by name to a new file; return its number of bytes.

    The file is written under another name first, so that it is there as a whole or not at all.
    """
    path = pathlib.Path(path)
    members = {_DESCRIPTION: json.dumps({"format": FORMAT, **description}, indent=1, allow_nan=False).encode()}
    for name, array in arrays.items():
        stream = io.BytesIO()
        np.lib.format.write_array(stream, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
        members[f"{name}{_SUFFIX}"] = stream.getvalue()
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream, zipfile.ZipFile(stream, "w") as archive:
            for name, content in members.items():
                archive.writestr(zipfile.ZipInfo(name, _TIME), content, zipfile.ZIP_DEFLATED)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return path.stat().st_size


def read_file(path):
    """Description and arrays by name of a file that :func:`write_file` has written."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise TypeError(f"path must be the path of a file; got {path!r}")
    if not os.path.exists(path):
        raise FileNotFoundError(f"path={os.fspath(path)!r} does not exist")
    try:
        with zipfile.ZipFile(path) as archive:
            description = json.loads(archive.read(_DESCRIPTION))
            check_format(path, description)
            names = [name for name in archive.namelist() if name.endswith(_SUFFIX)]
            return description, {name.removesuffix(_SUFFIX): _array(archive.read(name)) for name in names}
    except (NewerFormat, OSError):
        raise
    except Exception as error:  # errors of zipfile, zlib, json, and of NumPy for headers that are none
        raise damaged(path, f"{type(error).__name__}: {error}") from error


class NewerFormat(ValueError):
    """A file that a later version has written."""


def check_format(path, description):
    """Check the number of the format in a description."""
    number = description.get("format") if isinstance(description, dict) else None
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise ValueError("its description has no number of a format")
    if number > FORMAT:
        raise NewerFormat(
            f"{os.fspath(path)!r} has the format {number}, and this version reads formats up to {FORMAT}: install the "
            f"version that wrote it, {description.get('written_by', 'which it does not name')}, or a later one"
        )


def damaged(path, reason):
    """The error for a file that cannot be read."""
    return ValueError(
        f"{os.fspath(path)!r} is no file that nrm.serving.export has written, or it is damaged: {reason}. Export it "
        "again, or copy it again as a binary file"
    )


def _array(content):
    return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
