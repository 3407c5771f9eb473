"""Bars appear after two seconds, never before; a run over many items says how long it takes, with a bar or without."""

import logging
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pymc as pm
import pytest

import pymc_nrm as nrm
import pymc_nrm.common.progress as module
from pymc_nrm.common.progress import elapsed, end_elapsed, progress, tracked
from pymc_nrm.run import arguments
from pymc_nrm.run.chains import progress_log
from pymc_nrm.run.chains.progress_log import Watch, tell_of_run, watched
from tests.helpers import mixture_of


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(progress_log.time, "monotonic", lambda: now.seconds)
    return now


def lines_of(caplog):
    return [record.message for record in caplog.records if record.name == "pymc.nrm_progress"]


def run(watcher, clock, seconds, chains=(0,)):
    for passed in seconds:
        clock.seconds += passed
        for chain in chains:
            watcher(trace=None, draw=SimpleNamespace(chain=chain))


ITEMS = "z has 30,000 items: a draw takes"


@pytest.mark.parametrize(
    ("n_draws", "says_lines", "seconds", "chains", "expected"),
    [
        (100, False, [500.0, *[2.0] * 99], (0,), [f"{ITEMS} 2 s, the remaining 95 of the run about 3 min."]),
        # The first two lie at the same time, so that five draws span four intervals of 2 s on average.
        (200, False, [4.0] * 100, (0, 1), [f"{ITEMS} 4 s, the remaining 195 of the run about 6 min."]),
        (100, True, [1.0] * 100, (0,), ["38 of 100 draws; about 62 s left.", "69 of 100 draws; about 31 s left."]),
        (100, True, [0.01] * 100, (0,), []),
    ],
    ids=["without the first draw", "chains at a time", "a line every half minute", "quick draws"],
)
def test_what_is_said(clock, caplog, n_draws, says_lines, seconds, chains, expected):
    caplog.set_level(logging.INFO)
    run(Watch(None, "z has 30,000 items", n_draws, lines=says_lines), clock, seconds, chains)
    found = lines_of(caplog)
    assert (found[-2:] if says_lines else found) == expected


SHORT = "z has 30 items: a draw takes"


@pytest.mark.parametrize(
    ("n_draws", "seconds", "chains", "expected"),
    [
        (2000, [0.05] * 100, (0, 1), [f"{SHORT} 50 ms, the remaining 1,897 of the run about 47 s."]),
        (500, [0.05] * 500, (0,), []),
        # Draws of a run that is resumed take no time, and a draw may take longer later.
        (4000, [0.0] * 1000 + [0.05] * 60, (0,), [f"{SHORT} 50 ms, the remaining 2,949 of the run about 2 min."]),
        (1000, [0.02] * 200 + [0.2] * 400, (0,), [f"{SHORT} 200 ms, the remaining 768 of the run about 3 min."]),
        # Long draws are told after some seconds, not after ten.
        (20, [60.0] + [20.0] * 19, (0,), [f"{SHORT} 20 s, the remaining 15 of the run about 5 min."]),
    ],
    ids=["chains at a time", "half a minute", "resumed", "slower later", "long draws"],
)
def test_a_run_of_more_than_half_a_minute_gets_one_line(clock, caplog, n_draws, seconds, chains, expected):
    caplog.set_level(logging.INFO)
    watcher = Watch(None, "z has 30 items", n_draws, lines=False, least=progress_log.SECONDS_WORTH_A_LINE)
    run(watcher, clock, seconds, chains)
    assert lines_of(caplog) == expected


@pytest.mark.slow
def test_one_line_for_a_run_on_several_cores(monkeypatch, caplog):
    monkeypatch.setattr(progress_log, "SECONDS_WORTH_A_LINE", 0.0)
    monkeypatch.setattr(progress_log, "_BEFORE_ESTIMATE", ((10, 0.0),))
    monkeypatch.setattr(progress_log, "_SECONDS_APART", 0.0)
    caplog.set_level(logging.INFO)
    model = mixture_of(nrm.PoissonGamma(1.0, 1.0), np.arange(4))
    options = {"model": model, "draws": 30, "tune": 10, "chains": 2, "progressbar": False, "random_seed": 1}
    nrm.sample(cores=2, **options)
    before, line = lines_of(caplog)
    assert before == "Sampling z (4 items): 2 chains of 10 tuning and 30 posterior draws."
    assert "z has 4 items: a draw takes" in line and "the remaining 69 " in line
    caplog.clear()
    nrm.sample(cores=1, quiet=True, **options)
    assert lines_of(caplog) == []


def test_a_run_over_many_items_is_watched(monkeypatch, caplog):
    monkeypatch.setattr(progress_log, "MANY_ITEMS", 3)
    caplog.set_level(logging.INFO)
    seen = []
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 8, 9])
        assert watched(model, 1, {"callback": 3, "quiet": True}).__class__ is Watch
        options = {"step": nrm.steps.MarginalGibbs([z]), "chains": 1, "cores": 1, "progressbar": False}
        nrm.sample(4, tune=2, callback=lambda trace, draw: seen.append(draw.draw_idx), **options)
    assert seen == [0, 1, 2, 3, 4, 5]
    [block] = lines_of(caplog)
    lines = block.split("\n")
    assert lines[0].startswith("Sampling z (4 items): 1 chain of 2 tuning and 4 posterior draws. Without initvals")
    assert lines[-1].startswith("With nrm.Chunks") and "docs/how-to/large-data.md" in lines[-1]
    assert len(lines) <= 4 and max(map(len, lines)) <= 100


@pytest.mark.parametrize(("most", "expected"), [(3, (250, 250)), (4, (1000, 1000))])
def test_many_items_get_fewer_draws_by_default(monkeypatch, caplog, most, expected):
    for place in (arguments, progress_log):
        monkeypatch.setattr(place, "MANY_ITEMS", most)
    caplog.set_level(logging.INFO)
    with pm.Model() as model:
        nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
    draws, kwargs = arguments.with_numbers_of_draws(model, None, {})
    assert (draws, kwargs.get("tune")) == expected
    assert arguments.with_numbers_of_draws(model, 7, {"tune": 8}) == (7, {"tune": 8})
    tell_of_run(model, draws, kwargs | {"chains": 2})
    [block] = lines_of(caplog)
    assert block.startswith(f"Sampling z (4 items): 2 chains of {draws:,} tuning and {draws:,} posterior draws")
    assert ("the default for more than 3 items" in " ".join(block.split())) == (most == 3)


def test_a_model_without_a_partition_keeps_its_callback():
    with pm.Model() as model:
        pm.Normal("x")
    assert watched(model, 1, {}) is None
    assert watched(model, 1, {"callback": print}) is print


def wait():
    time.sleep(0.5)


def wait_for_bar():
    """Wait until a thread shows a bar, which imports rich first."""
    end = time.monotonic() + 30.0
    while not n_bars() and time.monotonic() < end:
        time.sleep(0.05)


def n_bars():
    bars = [thread for thread in threading.enumerate() if type(thread).__name__ == "_RefreshThread"]
    return sum(not bar.done.is_set() for bar in bars)


@pytest.mark.parametrize(
    ("seconds", "options", "is_shown"), [(2.0, {}, False), (0.0, {}, True), (0.0, {"progressbar": False}, False)]
)
def test_a_bar_is_shown_of_what_lasts_unless_it_is_not_wanted(seconds, options, is_shown, monkeypatch, capsys):
    monkeypatch.setattr(module, "SECONDS_BEFORE_BAR", seconds)
    with progress("Counting", 4, **options) as advance:
        wait_for_bar() if is_shown else wait()
        for _ in range(3):
            advance()
    out, said = capsys.readouterr()
    assert out == "" and (said == "") == (not is_shown)
    assert not is_shown or ("Counting" in said and "4 of 4" in said)


def test_progressbar_is_true_or_false():
    with pytest.raises(TypeError, match="progressbar must be True or False; got 'yes'"), progress("x", 1, "yes"):
        pass


def test_the_bar_goes_when_a_loop_fails(monkeypatch, capsys):
    monkeypatch.setattr(module, "SECONDS_BEFORE_BAR", 0.0)
    with pytest.raises(KeyboardInterrupt):
        for number in tracked(range(5), "Counting"):
            wait_for_bar()
            if number == 2:
                raise KeyboardInterrupt
    assert "2 of 5" in capsys.readouterr().err
    # A second bar would raise, were the first one still there.
    for number in tracked(range(3), "Again"):
        wait_for_bar()
        assert number < 3
    assert "Again" in capsys.readouterr().err


def test_no_bar_is_left_by_an_interrupt_at_its_start(monkeypatch):
    start = module._thread.start_new_thread

    def interrupted(*arguments):
        start(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "SECONDS_BEFORE_BAR", 0.1)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(module._thread, "start_new_thread", interrupted)
        list(tracked(range(5), "Counting"))
    wait()
    assert not n_bars()


@pytest.mark.parametrize("is_terminal", [True, False])
def test_seconds_pass_on_a_terminal_only(monkeypatch, capsys, is_terminal):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("rich.console.Console.is_terminal", is_terminal)
    with elapsed("Waiting"):
        wait()
        with elapsed("Working"):
            wait()
            end_elapsed()
            wait()
    out, said = capsys.readouterr()
    assert out == ""
    assert ("Waiting" in said) == ("Working" in said) == is_terminal
    assert "Waiting" not in said[said.find("Working") :]


def test_a_notebook_without_widgets_has_no_bars(monkeypatch, capsys):
    import rich.console

    monkeypatch.setattr(module, "SECONDS_BEFORE_BAR", 0.0)
    monkeypatch.setattr(rich.console, "_is_jupyter", lambda: True)
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    with elapsed("Compiling"), progress("Counting", 4) as advance:
        wait()
        advance()
    assert capsys.readouterr() == ("", "")


def test_a_run_without_matplotlib_has_no_bar(monkeypatch, caplog):
    """PyMC's bar imports matplotlib, which PyMC does not require."""
    assert arguments.with_possible_bar({"tune": 5}, quiet=False) == {"tune": 5}
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with caplog.at_level(logging.INFO):
        assert arguments.with_possible_bar({"tune": 5}, quiet=False) == {"tune": 5, "progressbar": False}
    assert "No progress bar: PyMC draws it with matplotlib, which is not installed." in caplog.text


def test_steps_that_ask_for_more_tuning_get_it():
    """``default_tune_steps`` of steps, which PyMC has from 6.4 on."""
    with pm.Model() as model:
        nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
        y = pm.Poisson("y", 3.0)
        step = pm.Metropolis([y])
    for asked, expected in ((None, 1000), (500, 1000), (3000, 3000)):
        step.default_tune_steps = asked
        for given in (step, [step]):
            assert arguments.with_numbers_of_draws(model, None, {"step": given})[1]["tune"] == expected
    assert arguments.with_numbers_of_draws(model, None, {"step": step, "tune": 7})[1]["tune"] == 7
