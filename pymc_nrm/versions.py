"""Versions of what the package runs with, for a report of a problem: ``python -m pymc_nrm.versions`` prints them."""

import os
import platform
from importlib import metadata

from pymc_nrm.kernels.kernel_cache import cache_folder
from pymc_nrm.kernels.part_compiler import CACHE, lacking_names

__all__ = ["show_versions"]

# Names for readers, and names of distributions.
_REQUIRED = {
    "PyMC": "pymc",
    "PyTensor": "pytensor",
    "numba": "numba",
    "NumPy": "numpy",
    "SciPy": "scipy",
    "ArviZ": "arviz",
    "xarray": "xarray",
    "pandas": "pandas",
}
_OPTIONAL = {
    "arviz-plots": "arviz-plots",
    "matplotlib": "matplotlib",
    "scikit-learn": "scikit-learn",
    "zarr": "zarr",
    "Dask": "dask",
    "nutpie": "nutpie",
}


def show_versions() -> None:
    """Print the versions and the machine that a report of a problem needs.

    They are the versions of this package, of Python and of the packages that it uses, the platform, the number of
    CPUs, and whether and where compiled kernels are kept. A package that is absent is "not installed". Nothing is sent;
    the path may contain the name of a user.

    Examples
    --------
    >>> import pymc_nrm as nrm
    >>> nrm.show_versions()  # doctest: +ELLIPSIS
    pymc_nrm      ...
    Python        ...
    kernel cache  ...
    """
    rows = {
        "pymc_nrm": _version("pymc-nrm"),
        "Python": f"{platform.python_version()}, {platform.python_implementation()}",
        "platform": platform.platform(),
        "CPUs": str(os.cpu_count()),
        **{name: _version(distribution) for name, distribution in (_REQUIRED | _OPTIONAL).items()},
        "kernel cache": _kernel_cache(),
    }
    width = max(map(len, rows))
    print(*(f"{name:{width}}  {text}" for name, text in rows.items()), sep="\n")


def _version(distribution):
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


def _kernel_cache():
    """Whether compiled kernels are kept, and where; each file of the package has a folder of its own."""
    missing = lacking_names(CACHE)
    if missing:
        return f"off, since this version of numba lacks {', '.join(missing)}"
    folder = cache_folder()
    if folder is None:
        return "not writable; set NUMBA_CACHE_DIR to a writable folder"
    return f"writable, {folder}"


if __name__ == "__main__":
    show_versions()
