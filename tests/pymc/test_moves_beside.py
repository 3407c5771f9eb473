"""Another process compiles what depends on no family, once, while this one compiles the families of a model."""

import contextlib

import pytest

import pymc_nrm as nrm
from pymc_nrm import warm_up
from pymc_nrm.kernels import compilation, compile_times
from pymc_nrm.run import compile_moves, one_run, start_python
from pymc_nrm.run.compile_moves import with_moves_beside
from tests.helpers import learned_dirichlet_process, mixture_of

COUNTS = [0, 1, 8, 9]


@pytest.fixture
def started(monkeypatch, tmp_path):
    """Processes that were asked for; two cores, and a folder of machine code that is empty."""
    found = []

    class Process:
        def __init__(self, *command):
            found.append(command)

        def kill(self):
            pass

        wait = kill

    monkeypatch.setattr(compile_moves, "start_python", Process)
    monkeypatch.setattr(compile_moves, "usable_cores", lambda: 2)
    monkeypatch.setattr(compile_times, "cache_folder", lambda: tmp_path)
    return found


def begin(context):
    """Do what a compilation does that takes more than two seconds."""
    with context, contextlib.ExitStack() as stack:
        for _, start in compilation._work_beside:
            stack.enter_context(start())


def test_it_starts_once(started):
    for _ in range(3):
        begin(with_moves_beside({}))
    assert [command[-2:] for command in started] == [("pymc_nrm.warm_up", "moves")]


def test_it_starts_again_after_an_edit_of_a_move(started, monkeypatch):
    begin(with_moves_beside({}))
    monkeypatch.setattr(compile_moves, "fingerprint_of_files", lambda modules: "edited")
    begin(with_moves_beside({}))
    assert len(started) == 2


@pytest.mark.parametrize("arguments", [{"cores": 1}, {"step": "a step"}])
def test_only_for_the_default_step_on_two_cores(started, arguments):
    begin(with_moves_beside(arguments))
    assert not started


def test_not_on_one_core(started, monkeypatch):
    monkeypatch.setattr(compile_moves, "usable_cores", lambda: 1)
    begin(with_moves_beside({}))
    assert not started


def test_a_system_that_starts_no_process(started, monkeypatch):
    def fail(*arguments, **options):
        raise OSError

    monkeypatch.setattr(start_python.subprocess, "Popen", fail)
    monkeypatch.setattr(compile_moves, "start_python", start_python.start_python)
    with compile_moves._other_process() as has_started:
        assert not has_started


@pytest.mark.parametrize("measure", [None, learned_dirichlet_process])
def test_the_gradient_comes_first(started, monkeypatch, measure):
    """A model that NUTS samples uses the second core for its gradient."""
    asked = []
    monkeypatch.setattr(one_run, "with_moves_beside", lambda kwargs: asked.append(1) or contextlib.nullcontext())
    model = mixture_of(nrm.PoissonGamma(1.0, 1.0), COUNTS, measure)
    gradient = contextlib.nullcontext() if measure else None
    monkeypatch.setattr(one_run, "with_gradient_beside", lambda *arguments: gradient)
    nrm.sample(2, tune=2, chains=1, cores=1, model=model, progressbar=False, random_seed=1)
    assert bool(asked) is (measure is None)


def test_parts_of_what_it_compiles_run():
    lines = []
    assert warm_up.warm_up(warm_up.moves, lines.append) > 0.0
    assert [line.split("s  ")[-1] for line in lines[:-1]] == ["TreeGuided", "point estimates"]


@pytest.mark.slow
def test_all_parts_run():
    lines = []
    warm_up.warm_up(show=lines.append)
    assert len(lines) == len(list(warm_up.parts())) + 1
