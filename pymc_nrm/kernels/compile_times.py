"""How long kernels took to compile the last time, in a file of the folder of the kernel cache."""

import json
import os
import pathlib

from pymc_nrm.kernels.kernel_cache import cache_folder
from pymc_nrm.kernels.shipped import shipped_folder

NAME = "pymc_nrm_compile_seconds.json"


def last_seconds(title):
    """Seconds that the kernels of this title took the last time; None if they are not known."""
    shipped = shipped_folder()
    seconds = _read(cache_folder()).get(title, None if shipped is None else _read(shipped).get(title))
    return seconds if isinstance(seconds, int | float) and seconds >= 0 else None


def keep_seconds(title, seconds):
    """Remember how long the kernels of this title took, if there is a folder that can be written."""
    folder = cache_folder()
    if folder is None:
        return
    path = pathlib.Path(folder) / NAME
    # Another process may read the file at the same time.
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        temporary.write_text(json.dumps(_read(folder) | {title: round(seconds, 1)}))
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)


def _read(folder):
    """Seconds by title; none if the file cannot be read."""
    try:
        seconds = {} if folder is None else json.loads((pathlib.Path(folder) / NAME).read_text())
    except (OSError, ValueError):
        return {}
    return seconds if isinstance(seconds, dict) else {}
