"""Machine code that an optional package brings, so that the first run compiles nothing.

``packaging/build_kernels.py`` builds the package ``pymc_nrm_kernels`` for one version of Python, of numba and of this
package, and for every processor of an architecture.  Keys of machine code cover all sources, so code of other versions
is never found, and kernels compile as they do without the package.
"""

import functools
import importlib.util
import pathlib

PACKAGE = "pymc_nrm_kernels"
_ROOT = pathlib.Path(__file__).parents[1]


@functools.cache
def shipped_folder():
    """Folder of the optional package; None where it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    return None if spec is None else pathlib.Path(spec.submodule_search_locations[0])


def shipped_folder_of(path):
    """Folder with machine code of the functions of a file of this package; None for other files, or without any."""
    path, folder = pathlib.Path(path), shipped_folder()
    if folder is None or not path.is_relative_to(_ROOT):
        return None
    return folder / path.relative_to(_ROOT).parent


def shipped_key(key):
    """Key of machine code for every processor, from the key for this one."""
    signature, (triple, *_), *hashes = key
    # Numba's name of a processor without special instructions, and its features.
    return (signature, (triple, "generic", ""), *hashes)
