"""Rows that the tests of a wing add to tables of other tests."""

import functools
import importlib.util
import pathlib

from pymc_nrm.kernels.layers import WINGS

TESTS = pathlib.Path(__file__).resolve().parents[1]


def rows_of_wings(table, file="rows"):
    """Rows of a table by their names, from a file in the tests of each wing."""
    rows = {}
    for path in (TESTS / wing / f"{file}.py" for wing in WINGS):
        if path.exists():
            rows |= getattr(_module(path), table, {})
    return rows


@functools.cache
def _module(path):
    spec = importlib.util.spec_from_file_location(f"{path.stem}_of_{path.parent.name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
