"""Identical seeds give identical draws, however the chains are run, stopped and continued."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pymc as pm
import pytensor
import pytest

import pymc_nrm as nrm
from pymc_nrm.kernels.compilation import same_bits_in_every_process
from pymc_nrm.run import arguments
from tests.helpers import mixture_of
from tests.tools.wings import rows_of_wings

X = np.array([[0.0, 0.4], [1.1, 1.9], [0.7, 0.6], [-1.6, 1.2], [2.2, 2.4]])


def make_model():
    family = nrm.NormalGamma(0.0, 0.3, 2.0, 1.0)
    return mixture_of(family, X, lambda: nrm.NormalizedGeneralizedGamma(pm.Gamma("alpha", 2, 1), 0.3))


# Source of models of wings, of a measure and of data X with 20 rows.
OF_WINGS = rows_of_wings("SOURCES")
SCRIPT = """
    import os, pathlib, signal, sys
    import numpy as np
    import pymc as pm
    import pymc_nrm as nrm

    def kill(trace, draw):
        if draw.draw_idx == stop:
            os.kill(os.getpid(), signal.SIGKILL)

    if __name__ == "__main__":
        kind, cores, context, stop, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5:]
        X, of_wings = np.random.default_rng(1).normal(size=(20, 2)), {of_wings}
        with pm.Model():
            measure = nrm.DirichletProcess(pm.Gamma("alpha", 2, 2))
            if kind in of_wings:
                exec(of_wings[kind])
            elif kind == "slots":
                z = nrm.Partition("z", measure, n=20, max_clusters=5)
                mu, tau, sd = pm.Normal("mu", shape=(5, 2)), pm.HalfNormal("tau"), pm.HalfNormal("sd", shape=2)
                pm.Normal("x", mu[z] * tau / (tau + 1.0), sd, observed=X)
            else:
                z = nrm.Partition("z", measure, n=4)
                nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 8, 9])
            options = {"cores": cores, "mp_ctx": context, "progressbar": False, "quiet": True}
            if folder:
                options |= {"callback": kill, "seconds_between_checkpoints": 0}
            if folder and pathlib.Path(*folder).exists():
                draws = nrm.resume(*folder, **options)
            else:
                options |= {"tune": 30, "chains": 2, "random_seed": 3, "compute_convergence_checks": False}
                draws = nrm.sample(30, **options, **({"checkpoint": folder[0]} if folder else {}))
        assert (draws.posterior["z"][0] != draws.posterior["z"][1]).any()
        print(draws.posterior["z"].values.ravel().tolist(), draws.posterior["alpha"].values.sum().hex())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "starts"),
    [
        ("flat", ((1, "fork"), (2, "fork"), (2, "spawn"), (2, "forkserver"))),
        ("slots", ((1, "fork"), (1, "fork"), (2, "spawn"))),
        *((kind, ((1, "fork"), (1, "fork"), (2, "spawn"))) for kind in OF_WINGS),
    ],
)
def test_every_way_to_start_processes(tmp_path, kind, starts):
    """With PyTensor's fast mathematics, the first of them, which compiles, differed from the others, which load."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT).replace("{of_wings}", repr(OF_WINGS)))
    paths = [str(pathlib.Path(nrm.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    flags = ",".join(filter(None, [os.environ.get("PYTENSOR_FLAGS"), f"base_compiledir={tmp_path}"]))
    folders = {"PYTHONPATH": os.pathsep.join(paths), "PYTENSOR_FLAGS": flags, "NUMBA_CACHE_DIR": str(tmp_path)}

    def run(cores, context, stop=-1, *folder):
        command = [sys.executable, script, kind, str(cores), context, str(stop), *folder]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | folders)
        assert done.returncode == (0 if stop < 0 else -signal.SIGKILL), done.stderr
        return done.stdout

    outputs = [run(*start) for start in starts]
    if kind == "flat":
        # The folder of a run that was killed is understood by every process that makes the same model.
        for start, stop in zip(starts[1:], (12, 30, 45), strict=True):
            run(*start, stop, tmp_path / "run")
        outputs.append(run(2, "spawn", -1, tmp_path / "run"))
    assert len(set(outputs)) == 1, outputs


def test_fast_mathematics_is_off_until_the_last_run_ends():
    """The end of one run switched it on for the others."""
    before = pytensor.config.numba__fastmath, os.environ.get("PYTENSOR_FLAGS")
    first, second = same_bits_in_every_process(), same_bits_in_every_process()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not pytensor.config.numba__fastmath and os.environ["PYTENSOR_FLAGS"].endswith("numba__fastmath=False")
    second.__exit__(None, None, None)
    assert (pytensor.config.numba__fastmath, os.environ.get("PYTENSOR_FLAGS")) == before and before[0]


@pytest.mark.parametrize(
    "method", [nrm.steps.TreeGuided, nrm.steps.SplitMerge, nrm.steps.MarginalGibbs, nrm.steps.SliceSampler]
)
def test_sampling_state_continues_a_chain(method):
    def run(step, point, n_draws):
        draws = []
        for _ in range(n_draws):
            point, [stats] = step.step(point)
            draws.append((*point["z"], stats["u"], stats["log_joint"]))
        return point, draws

    def make_step():
        model = make_model()
        with model:
            step = method([model["z"]], rng=1)
        step.setup_chain(np.random.default_rng(2), 10, 20)
        return step, model.initial_point()

    step, point = make_step()
    _, uninterrupted = run(step, point, 20)
    step, point = make_step()
    point, first = run(step, point, 8)
    state = step.sampling_state
    run(step, point, 5)
    other, _ = make_step()
    other.setup_chain(np.random.default_rng(99), 10, 20)
    other.sampling_state = state
    _, second = run(other, point, 12)
    np.testing.assert_array_equal(first + second, uninterrupted)


@pytest.mark.parametrize(
    ("given", "cores"),
    [({"chains": 4}, 3), ({"chains": 2}, 2), ({"chains": 4, "cores": 1}, 1), ({"chains": 2, "cores": 8}, 8)],
    ids=str,
)
def test_as_many_chains_at_a_time_as_processors(monkeypatch, given, cores):
    monkeypatch.setattr(arguments, "usable_cores", lambda: 3)
    assert arguments.on_usable_cores(given) == given | {"cores": cores}
