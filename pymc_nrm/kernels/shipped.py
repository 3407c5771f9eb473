"""Machine code that an optional package brings, so that the first run compiles nothing.

``packaging/build_kernels.py`` builds the package ``pymc_nrm_kernels`` for one version of Python, of numba and of this
package, and for every processor of an architecture.  Keys of machine code cover all sources, so code of other versions
is never found, and kernels compile as they do without the package.
"""

import functools
import importlib.util
import pathlib

from pymc_nrm.kernels.reached_files import ROOT

PACKAGE = "pymc_nrm_kernels"


@functools.cache
def shipped_folder():
    """Folder of the optional package; None where it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    return None if spec is None else pathlib.Path(spec.submodule_search_locations[0])


def shipped_folder_of(path):
    """Folder with machine code of the functions of a file of this package; None if no package brings any."""
    folder = shipped_folder()
    return None if folder is None else folder / pathlib.Path(path).relative_to(ROOT).parent


def shipped_key(key):
    """Key of machine code for every processor, from the key for this one."""
    signature, (triple, *_), *hashes = key
    # Numba's name of a processor without special instructions, and its features.
    return (signature, (triple, "generic", ""), *hashes)
