"""NUTS of nutpie, for a given number of CPU seconds."""

import time

import numpy as np


def compiled(model):
    """Compile the model with nutpie; return it and the seconds this took, including first evaluations.

    Raises
    ------
    ImportError
        If nutpie is not installed.
    """
    import nutpie

    start = time.perf_counter()
    program = nutpie.compile_pymc_model(model)
    nutpie.sample(program, draws=2, tune=2, chains=1, cores=1, seed=1, progress_bar=False)
    return program, time.perf_counter() - start


def run(program, *, tune, seconds, seed):
    """Draws of one chain that is stopped after a number of CPU seconds, including tuning.

    Returns
    -------
    points : list of dict
        Values of the random variables for each draw after tuning; empty if tuning did not end.
    seconds, tuning_seconds : float
        CPU seconds, split between draws and tuning in proportion to the numbers of leapfrog steps.
    n_tune, n_divergences : int
    """
    import nutpie

    begin = time.process_time()
    options = {"chains": 1, "cores": 1, "seed": seed, "progress_bar": False, "save_warmup": True}
    sampler = nutpie.sample(program, draws=100_000, tune=tune, blocking=False, **options)
    while time.process_time() - begin < seconds:
        time.sleep(0.1)
    trace = sampler.abort()
    elapsed = time.process_time() - begin
    steps = float(trace.warmup_sample_stats.n_steps.sum())
    n_tune = trace.warmup_sample_stats.sizes["draw"]
    if "posterior" not in trace.children or trace.posterior.sizes["draw"] == 0:
        return [], 0.0, elapsed, n_tune, 0
    share = steps / (steps + float(trace.sample_stats.n_steps.sum()))
    values = {name: array.values[0] for name, array in trace.posterior.data_vars.items()}
    points = [{name: x[s] for name, x in values.items()} for s in range(trace.posterior.sizes["draw"])]
    divergences = int(np.sum(trace.sample_stats.diverging.values))
    return points, elapsed * (1 - share), elapsed * share, n_tune, divergences
