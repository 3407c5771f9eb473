"""Runs of a default number of draws are extended while more are needed, and have the draws of a long run."""

import logging

import numpy as np
import pytest

import pymc_nrm as nrm
from pymc_nrm.run import arguments, extend
from pymc_nrm.run.checkpoints.chain_files import ChainFiles
from pymc_nrm.run.checkpoints.step import CheckpointedStep
from pymc_nrm.run.convergence_report import Convergence
from tests.tools.same_results import assert_same

OPTIONS = {"tune": 20, "chains": 2, "cores": 1, "random_seed": 3, "progressbar": False}


@pytest.fixture
def needs(monkeypatch):
    """Runs of 30 draws by default, and reports that ask for these numbers, one after the other, and then for none."""
    numbers = []
    monkeypatch.setattr(arguments, "DRAWS", 30)

    def convergence(idata, diagnostics, nuts):
        needed = numbers.pop(0) if numbers else None
        return Convergence("too short" if needed else "", needed)

    monkeypatch.setattr("pymc_nrm.run.one_run.convergence", convergence)
    return numbers


@pytest.mark.quick("asked2-300")
@pytest.mark.parametrize(("asked", "made"), [([], 30), ([36], 41), ([70, 290, 300], 300), ([301], 30)])
def test_draws_are_those_of_a_long_run(asked, made, needs, fixed, caplog):
    """15 % more than asked for, rounded up to two digits, and at most ten times as many as by default."""
    needs += asked
    with caplog.at_level(logging.INFO):
        idata = nrm.sample(**OPTIONS, **fixed)
    assert_same(idata, nrm.sample(made, **OPTIONS, **fixed))
    assert caplog.text.count("extending them to") == len(asked[:2]) - (asked == [301])


def test_what_is_not_extended(needs, fixed, tmp_path):
    options = OPTIONS | fixed | {"quiet": True}
    for argument in ({"draws": 30}, {"compute_convergence_checks": False}, {"checkpoint": tmp_path / "run"}):
        needs[:] = [60]
        assert nrm.sample(**options, **argument).posterior.sizes["draw"] == 30
    needs[:] = [30]
    assert nrm.sample(**options, thin=3).posterior.sizes["draw"] == 110 // 3, "the report counts kept draws"
    needs[:] = [60]
    assert len(nrm.sample(**options, return_inferencedata=False)) == 30


@pytest.mark.quick("place1", "place2")
@pytest.mark.parametrize("place", [(0, 10), (0, 60), (1, 10), (1, 60)])
def test_interrupts_keep_the_draws_before_them(place, needs, fixed):
    """Whether the second run is stopped among draws that it repeats or among new ones; PyMC then begins chain 1."""
    needs += [60]
    calls = []

    def stop(trace, draw):
        calls.append(1)
        if len(calls) > 100 and (draw.chain, draw.draw_idx) == place:
            raise KeyboardInterrupt

    idata = nrm.sample(**OPTIONS, **fixed, callback=stop)
    expected = nrm.sample(30, **OPTIONS, **fixed)
    n_draws = 41 if place[1] == 60 else 30
    assert idata.posterior.sizes == {**expected.posterior.sizes, "draw": n_draws}
    assert np.array_equal(idata.posterior["z"][:, :30], expected.posterior["z"])


def test_errors_keep_the_draws_before_them(needs, fixed, caplog):
    needs += [60]

    def fail(trace, draw):
        if draw.draw_idx == 60:
            raise ConnectionError("the callback cannot be reached")

    assert nrm.sample(**OPTIONS, **fixed, callback=fail).posterior.sizes["draw"] == 30
    assert "could not be extended, and their first draws are kept: ConnectionError: the callback" in caplog.text


def without_a_temporary_folder(monkeypatch):
    def fail(**arguments):
        raise FileNotFoundError("no usable temporary directory")

    monkeypatch.setattr(extend.tempfile, "TemporaryDirectory", fail)


def with_a_step_without_state(monkeypatch):
    monkeypatch.setattr("pymc_nrm.run.checkpoints.step.steps_without_state", lambda step: ["Foreign"])
    monkeypatch.setattr(CheckpointedStep, "step", None)


def with_many_labels(monkeypatch):
    monkeypatch.setattr(extend, "_MOST_LABELS", 6 * 59)


@pytest.mark.parametrize("change", [without_a_temporary_folder, with_a_step_without_state, with_many_labels])
def test_runs_that_cannot_be_extended(change, needs, fixed, monkeypatch):
    needs += [60]
    change(monkeypatch)
    assert nrm.sample(**OPTIONS, **fixed).posterior.sizes["draw"] == 30


def test_a_full_disk_only_means_that_draws_are_made_again(needs, fixed, monkeypatch):
    def fail(*arguments):
        raise OSError("No space left on device")

    monkeypatch.setattr(ChainFiles, "commit", fail)
    needs += [40]
    assert_same(nrm.sample(**OPTIONS, **fixed), nrm.sample(46, **OPTIONS, **fixed))


def test_many_items_are_not_extended(fixed, monkeypatch):
    assert extend.can_extend(fixed["model"], {})
    assert not extend.can_extend(fixed["model"], {"nuts_sampler_kwargs": {}})
    monkeypatch.setattr(extend, "MANY_ITEMS", 5)
    assert not extend.can_extend(fixed["model"], {})
