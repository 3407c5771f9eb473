"""Rows that the tests of a wing add to tables of other tests."""

import importlib
import pathlib

from pymc_nrm.kernels.layers import WINGS

TESTS = pathlib.Path(__file__).resolve().parents[1]


def rows_of_wings(table, file="rows"):
    """Rows of a table by their names, from a file in the tests of each wing."""
    rows = {}
    for wing in WINGS:
        if (TESTS / wing / f"{file}.py").exists():
            rows |= getattr(importlib.import_module(f"tests.{wing}.{file}"), table, {})
    return rows
