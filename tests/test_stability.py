"""The page on stability has every public name once."""

import importlib
import inspect
import pathlib
import re
from collections import Counter

import pytest

import pymc_nrm as nrm

EXTENSIONS = pathlib.Path(__file__).parents[1] / "docs" / "_extensions"


@pytest.fixture
def stability(monkeypatch):
    monkeypatch.syspath_prepend(EXTENSIONS)
    return importlib.import_module("stability")


def test_every_public_name_is_stable_or_provisional(stability):
    """Once: what is described in the reference, and modules at the top."""
    shown = Counter(re.findall(r"\[([\w.]+)\]\(/reference", stability.stable_table() + stability.provisional_table()))
    entries = stability.entries()
    assert shown == Counter(entry.name.removeprefix("pymc_nrm.") for entry in entries)
    assert set(shown.values()) == {1} and len(shown) > 250
    modules = set(re.findall(r"`nrm\.(\w+)`", stability.stable_table()))
    things = {id(entry.thing) for entry in entries}
    for name in nrm.__all__:
        thing = getattr(nrm, name)
        assert (name in modules) == inspect.ismodule(thing), name
        assert name in modules or id(thing) in things, name


def test_every_provisional_pattern_names_something(stability):
    names = [entry.name for entry in stability.entries()]
    for patterns, reason in stability.PROVISIONAL:
        assert reason.endswith(".")
        for pattern in patterns:
            assert any(stability.fnmatchcase(name, pattern) for name in names), pattern
