"""A bar appears after two seconds, and never before; seconds of a wait are shown on a terminal."""

import time

import pytest

import pymc_nrm.common.progress as module
from pymc_nrm.common.progress import elapsed, end_elapsed, progress, tracked


def wait():
    time.sleep(0.5)


def test_nothing_is_shown_of_what_is_short(capsys):
    with progress("Counting", 3) as advance:
        for _ in range(3):
            advance()
    assert capsys.readouterr() == ("", "")


def test_a_bar_is_shown_of_what_lasts(monkeypatch, capsys):
    monkeypatch.setattr(module, "SECONDS_BEFORE_BAR", 0.0)
    with progress("Counting", 4) as advance:
        wait()
        for _ in range(3):
            advance()
    out, said = capsys.readouterr()
    assert out == ""
    assert "Counting" in said and "4 of 4" in said


def test_no_bar_on_demand(monkeypatch, capsys):
    monkeypatch.setattr(module, "SECONDS_BEFORE_BAR", 0.0)
    with progress("Counting", 4, progressbar=False) as advance:
        wait()
        advance()
    assert capsys.readouterr() == ("", "")
    with pytest.raises(TypeError, match="progressbar must be True or False; got 'yes'"), progress("x", 1, "yes"):
        pass


def test_the_bar_goes_when_a_loop_fails(monkeypatch, capsys):
    monkeypatch.setattr(module, "SECONDS_BEFORE_BAR", 0.0)
    with pytest.raises(KeyboardInterrupt), tracked(range(5), "Counting") as numbers:
        for number in numbers:
            wait()
            if number == 2:
                raise KeyboardInterrupt
    assert "2 of 5" in capsys.readouterr().err
    # A second bar would raise, were the first one still there.
    with tracked(range(3), "Again") as numbers:
        wait()
        assert list(numbers) == [0, 1, 2]
    assert "Again" in capsys.readouterr().err


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
