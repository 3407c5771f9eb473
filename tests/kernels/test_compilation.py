"""The line about compilation appears when something is compiled for long, and only then."""

import contextlib
import logging

import pytest

from pymc_nrm.families import NormalGamma, PoissonGamma
from pymc_nrm.kernels import compilation
from pymc_nrm.kernels.compilation import announced_compilation, without_announcements
from pymc_nrm.kernels.generic import kernel, precompile


@pytest.fixture
def messages(caplog, monkeypatch):
    monkeypatch.setattr(compilation, "SECONDS_BEFORE_LINE", 0.0)
    caplog.set_level(logging.INFO, logger="pymc")
    monkeypatch.setattr(logging.getLogger("pymc"), "propagate", True)
    return lambda: [record.getMessage() for record in caplog.records]


@pytest.fixture
def compile_two():
    """Two functions that are compiled anew each time: they have no source file whose cache is used."""
    first, second = (kernel(eval("lambda x: x + 1.0")) for _ in range(2))

    def compile_them():
        precompile(first, 1.0)
        precompile(second, 1.0)

    return compile_them


def test_one_line_names_the_step_and_the_families_the_first_time(messages, compile_two):
    for _ in range(2):
        with announced_compilation("SplitMerge", [PoissonGamma, NormalGamma, NormalGamma]):
            compile_two()
    [line] = messages()
    assert line.startswith("Compiling SplitMerge for NormalGamma and PoissonGamma")


def test_quiet_runs_say_nothing(messages, compile_two):
    with without_announcements(), announced_compilation("SplitMerge", []):
        compile_two()
    assert messages() == []
    with without_announcements(quiet=False), announced_compilation("SplitMerge", []):
        precompile(kernel(eval("lambda x: x + 2.0")), 1.0)
        precompile(kernel(eval("lambda x: x + 3.0")), 1.0)
    assert len(messages()) == 1


@pytest.mark.parametrize(("progressbar", "has_seconds"), [(True, True), (False, False)])
def test_seconds_are_shown_where_bars_are(messages, compile_two, progressbar, has_seconds):
    titles = []

    @contextlib.contextmanager
    def note(title):
        titles.append(title)
        yield

    with without_announcements(False, progressbar), announced_compilation("SplitMerge", [PoissonGamma], note):
        compile_two()
    assert titles == ["Compiling SplitMerge for PoissonGamma"] * has_seconds
