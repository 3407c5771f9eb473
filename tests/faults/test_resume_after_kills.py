"""Processes that are killed at random moments, until their run is done: the result is that of a run in peace."""

import multiprocessing
import os
import signal
import time

import numpy as np
import pymc as pm
import pytest

import pymc_nrm as nrm
from tests.tools.same_results import assert_same, stop_at, values_of
from tests.tools.wings import rows_of_wings

pytestmark = pytest.mark.slow

N_KILLS = int(os.environ.get("NRM_KILLS", "100"))
N_TUNE, N_DRAWS = 60, 60
SECONDS_PER_DRAW = 0.001
KEPT = {"label_storage": "compact", "thin": 3, "discard_tuned_samples": False, "var_names": ["z"]}
# Partitions of the steps of wings.
PARTITIONS = rows_of_wings("RESUMED")
KINDS = [
    (nrm.steps.TreeGuided, True, {"cores": 1}),
    (nrm.steps.MarginalGibbs, True, {"cores": 2}),
    (nrm.steps.TreeGuided, True, {"cores": 2} | KEPT),
    (nrm.steps.SplitMerge, False, {"cores": 1, "chains": 3, "label_storage": "none"}),
    *[(step, True, {"cores": 1}) for step in PARTITIONS],
]
INTERVALS = (0, 0.02, 0.1)


def make_run(step, with_nuts, options):
    with pm.Model() as model:
        alpha = pm.LogNormal("alpha", 0, 1) if with_nuts else 1.0
        z = PARTITIONS.get(step, nrm.Partition)("z", nrm.DirichletProcess(alpha), n=6)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 8, 9, 20, 22])
        steps = [pm.NUTS([alpha])] if with_nuts else []
        again = {"model": model, "step": [*steps, step([z])], "cores": options["cores"], "quiet": True}
    options = {"draws": N_DRAWS, "tune": N_TUNE, "chains": 2, "random_seed": 3} | options
    return options, again


def live(folder, options, again, seconds, started):
    """Begin a run or go on with it; a result is written if it is whole."""

    def callback(trace, draw):
        os.write(started, b".")
        time.sleep(SECONDS_PER_DRAW)

    again = again | {"callback": callback, "seconds_between_checkpoints": seconds}
    if (folder / "run").exists():
        idata = nrm.resume(folder / "run", **again)
    else:
        idata = nrm.sample(**{**options, **again}, checkpoint=folder / "run")
    arrays = values_of(idata)
    n_draws = N_DRAWS // options.get("thin", 1)
    if idata.posterior.sizes["chain"] == options["chains"] and idata.posterior.sizes["draw"] == n_draws:
        np.savez(folder / "new.npz", **arrays)
        os.replace(folder / "new.npz", folder / "result.npz")


def live_until_killed(rng, number, n_draws, *arguments):
    """Whether a life ended by the signal, which comes after a random time or a random number of draws."""
    reading, writing = os.pipe()
    process = multiprocessing.get_context("fork").Process(target=live, args=(*arguments, writing))
    process.start()
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        if rng.random() < 0.05:
            time.sleep(rng.uniform(0.0, 2.0))
        else:
            # So many draws, new ones or old ones, or the end of the process.
            pipe.read(int(rng.integers(1, 1.2 * n_draws)))
            time.sleep(rng.uniform(0.0, 0.01))
        if process.is_alive():
            os.kill(process.pid, number)
        process.join()
    assert process.exitcode in (0, -number) or number == signal.SIGINT
    return process.exitcode == -number


def test_kills_at_random_moments(tmp_path):
    rng = np.random.default_rng(5)
    runs = [make_run(*kind) for kind in KINDS]
    expected = [values_of(nrm.sample(**{**options, **again})) for options, again in runs]
    n_kills = n_interrupts = n_runs = 0
    while n_kills < N_KILLS:
        kind = n_runs % len(KINDS)
        folder = tmp_path / f"{n_runs}"
        folder.mkdir()
        n_draws = (N_TUNE + N_DRAWS) * runs[kind][0]["chains"]
        n_lives = 0
        while not (folder / "result.npz").exists():
            number = signal.SIGINT if rng.random() < 0.1 else signal.SIGKILL
            interval = INTERVALS[rng.integers(len(INTERVALS))]
            killed = live_until_killed(rng, number, n_draws, folder, *runs[kind], interval)
            n_kills += killed
            n_interrupts += number == signal.SIGINT
            n_lives += 1
            assert n_lives < 100
        with np.load(folder / "result.npz") as found:
            assert_same(dict(found), expected[kind])
        n_runs += 1
    print(f"{n_kills} kills and {n_interrupts} interruptions in {n_runs} runs, all of them identical")


def test_steps_of_pymc(tmp_path):
    """Step methods of other variables go on as well."""

    def make_model():
        with pm.Model() as model:
            z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
            nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 8, 9])
            rate = pm.Gamma("rate", 2, 1)
            binary = pm.Bernoulli("binary", 0.3, shape=3)
            category = pm.Categorical("category", [0.2, 0.3, 0.5], shape=2)
            count = pm.Poisson("count", rate, shape=2)
            level = pm.Normal("level", binary.sum() + category.sum(), 1)
            pm.Normal("y", level + count.sum(), 1, observed=[1.0, 2.0])
            step = [
                nrm.steps.MarginalGibbs([z]),
                pm.Slice([rate]),
                pm.Metropolis([count]),
                pm.BinaryGibbsMetropolis([binary]),
                pm.CategoricalGibbsMetropolis([category]),
                pm.NUTS([level]),
            ]
        return {"model": model, "step": step, "cores": 1, "quiet": True}

    options = {"draws": 200, "tune": 150, "chains": 1, "random_seed": 2}
    expected = nrm.sample(**options, **make_model())
    again = {"seconds_between_checkpoints": 0}
    with pytest.raises(KeyboardInterrupt, match="before its first draw; nrm.resume"):
        nrm.sample(**options, **again, **make_model(), checkpoint=tmp_path / "run", callback=stop_at(0, 130))
    assert_same(nrm.resume(tmp_path / "run", **make_model()), expected)
