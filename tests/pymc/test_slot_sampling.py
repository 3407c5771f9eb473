"""Runs of models whose labels index parameters: seeds, processes, checkpoints, other data, other implementations."""

import pickle
import subprocess
import sys

import cloudpickle
import numpy as np
import pymc as pm
import pytest
from same_results import assert_same

import pymc_nrm as nrm
from pymc_nrm.models.marginal_likelihood import MarginalLikelihood
from pymc_nrm.models.marked_labels import OfOwnStep
from pymc_nrm.steps.slots.nuts import MODELS_WITH_SLOT_NUTS

CHEAP = {"compile_kwargs": {"mode": "FAST_COMPILE"}}
OPTIONS = {"tune": 8, "chains": 2, "random_seed": 5, "quiet": True, "progressbar": False, **CHEAP}
SUBJECT = np.array([0, 0, 1, 1, 2, 2, 3, 3, 3])
X = np.linspace(-1, 1, 9)


def make_model(n=4, K=5):
    with pm.Model(coords={"cluster": range(K)}) as model:
        subject, x = pm.Data("subject", SUBJECT), pm.Data("x", X)
        alpha = pm.Gamma("alpha", 2, 2)
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), n=n, max_clusters="cluster")
        tau = pm.HalfNormal("tau", 1)
        slope = pm.Normal("slope", 0, tau, dims="cluster")
        pm.Normal("y", slope[z][subject] * x, 0.5, observed=np.array([2, 1, -1, 0, 1, 1, 0, -2, 1]) * X, shape=x.shape)
    return model


@pytest.fixture(scope="module")
def reference():
    return nrm.sample(20, model=make_model(), cores=1, **OPTIONS)


@pytest.mark.slow
def test_unpickled_steps_are_known():
    """So that workers of a client warn of nothing."""
    step = cloudpickle.loads(cloudpickle.dumps(nrm.SlotNUTS(model=make_model())))
    assert step._model in MODELS_WITH_SLOT_NUTS


@pytest.mark.slow
@pytest.mark.parametrize(
    "op", [OfOwnStep("z"), MarginalLikelihood(nrm.PoissonGamma, np.ndarray)], ids=lambda op: type(op).__name__
)
def test_unpickled_operations_are_compiled(op):
    """In a process that is not forked; PyTensor would call them as Python functions, which is slow, and warn."""
    module = f"sys.modules[{type(op).__module__!r}]"
    code = f"import sys, pickle; pickle.load(sys.stdin.buffer); print({module}._register_numba.cache_info())"
    found = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(op), capture_output=True)
    assert b"currsize=1" in found.stdout, found.stderr.decode()


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on(reference, tmp_path):
    def stop(trace, draw):
        if draw.chain == 1 and draw.draw_idx == 22:
            raise KeyboardInterrupt

    settings = {"checkpoint": tmp_path / "run", "seconds_between_checkpoints": 0}
    part = nrm.sample(20, model=make_model(), cores=1, callback=stop, **settings, **OPTIONS)
    assert part.posterior.sizes["chain"] * part.posterior.sizes["draw"] < 40
    assert_same(reference, nrm.resume(tmp_path / "run", model=make_model(), cores=1, quiet=True))


def test_options_of_nuts_reach_its_step():
    idata = nrm.sample(3, model=make_model(), cores=1, target_accept=0.95, nuts={"max_treedepth": 2}, **OPTIONS)
    assert int(idata.sample_stats["tree_depth"].max()) <= 2
    with pytest.raises(ValueError, match="target_accept was given twice"):
        nrm.sample(3, model=make_model(), target_accept=0.95, nuts={"target_accept": 0.9}, **OPTIONS)


def test_other_rows_of_the_same_items():
    model = make_model()
    rng = np.random.default_rng(1)
    with model:
        step = pm.step_methods.CompoundStep([nrm.SlotNUTS(), nrm.SlotGibbs([model["z"]])])
    other = np.array([0, 1, 2, 3, 3, 2, 1, 0, 0])
    model.set_data("subject", other)
    step.setup_chain(rng, 5, 5)
    point, stats = step.step(model.initial_point())
    observed = np.array([2, 1, -1, 0, 1, 1, 0, -2, 1]) * X
    mean = point["slope"][point["z"]][other] * X
    expected = (-0.5 * ((observed - mean) / 0.5) ** 2 - np.log(0.5 * np.sqrt(2 * np.pi))).sum()
    table = step.methods[1].table
    assert table.values(point, point["z"]).sum() == pytest.approx(expected)
    assert np.isfinite(stats[1]["log_joint"])
