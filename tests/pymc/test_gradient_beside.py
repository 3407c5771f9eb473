"""Another process compiles the gradient that NUTS needs, while this one compiles kernels."""

import contextlib
import logging
import os
import pickle
import subprocess
import sys

import cloudpickle
import pymc as pm
import pytest

import pymc_nrm as nrm
from pymc_nrm.kernels import compilation
from pymc_nrm.run import compile_gradient
from pymc_nrm.run.compile_gradient import with_gradient_beside
from tests.helpers import learned_dirichlet_process, mixture_of

SAMPLE = """
import pymc as pm
import pymc_nrm as nrm
from pymc_nrm.kernels.generic import prepare_numba

with pm.Model() as model:
    alpha = pm.LogNormal("alpha", 0.0, 1.0)
    z = nrm.Partition("z", nrm.DirichletProcess(alpha), n=5)
    nrm.Mixture("x", z, nrm.PoissonGamma(pm.HalfNormal("a"), 1.0), observed=[0, 1, 1, 8, 9])
prepare_numba()
from numba.core import event

counts = []
with event.install_recorder("numba:compile") as recorder:

    def count(trace, draw):
        starts = [one.data["dispatcher"].py_func.__module__ for _, one in recorder.buffer if one.is_start]
        counts.append(sum(str(module).startswith("pytensor") for module in starts))

    options = {"tune": 0, "chains": 1, "cores": CORES, "random_seed": 1, "progressbar": False}
    nrm.sample(2, model=model, callback=count, **options)
print(counts[0])
"""


@pytest.fixture
def model():
    return mixture_of(nrm.PoissonGamma(1.0, 1.0), [0, 1, 8, 9], learned_dirichlet_process)


@pytest.fixture
def started(monkeypatch):
    """Models whose gradients other processes were asked for; two cores, and no process."""
    models = []

    @contextlib.contextmanager
    def start(model, names, options):
        models.append(model)
        yield True

    monkeypatch.setattr(compile_gradient, "_other_process", start)
    monkeypatch.setattr(compile_gradient, "usable_cores", lambda: 2)
    return models


def compile_for_long(monkeypatch):
    monkeypatch.setattr(compilation, "SECONDS_BEFORE_LINE", 0.0)
    monkeypatch.setattr(compilation, "keep_seconds", lambda title, seconds: None)
    from pymc_nrm.kernels.generic import kernel, precompile

    with compilation.announced_compilation("a step", []):
        for _ in range(3):
            precompile(kernel(eval("lambda x: x + 1.0")), 1.0)


def test_long_compilation_starts_it_once_and_says_so(model, started, monkeypatch, caplog):
    caplog.set_level(logging.INFO, logger="pymc")
    monkeypatch.setattr(logging.getLogger("pymc"), "propagate", True)
    with with_gradient_beside(model, {}):
        compile_for_long(monkeypatch)
        compile_for_long(monkeypatch)
    assert started == [model]
    lines = [record.getMessage() for record in caplog.records]
    assert ["the gradient for NUTS beside it" in line for line in lines] == [True, False]


@pytest.mark.parametrize(
    ("arguments", "n_cores", "expected"),
    [
        (lambda model: {}, 2, True),
        (lambda model: {}, 1, False),
        (lambda model: {"cores": 2}, 2, True),
        (lambda model: {"cores": 1}, 2, False),
        (lambda model: {"step": nrm.steps.MarginalGibbs([model["z"]])}, 2, True),
        (lambda model: {"step": [nrm.steps.MarginalGibbs([model["z"]]), pm.Slice([model["alpha"]])]}, 2, False),
        (None, 2, False),
    ],
)
def test_only_where_nuts_will_run_on_two_cores(model, started, monkeypatch, arguments, n_cores, expected):
    """And not for a model without continuous variables, the last one."""
    monkeypatch.setattr(compile_gradient, "usable_cores", lambda: n_cores)
    if arguments is None:
        model, arguments = mixture_of(nrm.PoissonGamma(1.0, 1.0), [0, 1, 8, 9]), lambda model: {}
    with model:
        given = arguments(model)
    with with_gradient_beside(model, given) or contextlib.nullcontext():
        compile_for_long(monkeypatch)
    assert started == [model] * expected


def test_a_model_that_cannot_be_pickled_is_left_to_the_chains(model, monkeypatch):
    def fail(_):
        raise pickle.PicklingError("no")

    monkeypatch.setattr(cloudpickle, "dumps", fail)
    with compile_gradient._other_process(model, [], {}) as has_started:
        assert not has_started


@pytest.mark.slow
@pytest.mark.parametrize(("cores", "is_loaded"), [(2, True), (1, False)])
def test_chains_load_what_it_compiled(tmp_path, cores, is_loaded):
    folders = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTENSOR_FLAGS": f"base_compiledir={tmp_path}/pytensor"}
    code = SAMPLE.replace("CORES", str(cores))
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | folders, capture_output=True, text=True, check=True
    )
    n_compiled = int(done.stdout.splitlines()[-1])
    # Up to the first draw: the gradient is 160 functions, everything else 20.
    assert n_compiled < 60 if is_loaded else n_compiled > 120
