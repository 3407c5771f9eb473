"""NUTS of nutpie, for a given number of CPU seconds."""

import time

import numpy as np


def compiled(model):
    """Compile the model with nutpie; return it and the seconds this took, including first evaluations."""
    import nutpie

    start = time.perf_counter()
    program = nutpie.compile_pymc_model(model)
    nutpie.sample(program, draws=2, tune=2, chains=1, cores=1, seed=1, progress_bar=False)
    return program, time.perf_counter() - start


def _trace(program, tune, seconds, seed):
    """The trace of one chain that is stopped after a number of CPU seconds, and the seconds that it took."""
    import nutpie

    begin = time.process_time()
    options = {"chains": 1, "cores": 1, "seed": seed, "progress_bar": False, "save_warmup": True}
    sampler = nutpie.sample(program, draws=100_000, tune=tune, blocking=False, **options)
    while time.process_time() - begin < seconds:
        time.sleep(0.1)
    return sampler.abort(), time.process_time() - begin


def _points(draws):
    """Values of the random variables for each draw of the only chain."""
    values = {name: array.values[0] for name, array in draws.data_vars.items()}
    return [{name: x[s] for name, x in values.items()} for s in range(draws.sizes["draw"])]


def _has_draws(trace):
    return "posterior" in trace.children and trace.posterior.sizes["draw"] > 0


def run(program, *, tune, seconds, seed):
    """Draws of one chain that is stopped after a number of CPU seconds, including tuning."""
    trace, elapsed = _trace(program, tune, seconds, seed)
    steps = float(trace.warmup_sample_stats.n_steps.sum())
    n_tune = trace.warmup_sample_stats.sizes["draw"]
    if not _has_draws(trace):
        return [], 0.0, elapsed, n_tune, 0
    share = steps / (steps + float(trace.sample_stats.n_steps.sum()))
    divergences = int(np.sum(trace.sample_stats.diverging.values))
    return _points(trace.posterior), elapsed * (1 - share), elapsed * share, n_tune, divergences


def follow(program, *, tune, seconds, seed):
    """All draws of one chain, those of tuning included, and the CPU seconds to each by its leapfrog steps."""
    trace, elapsed = _trace(program, tune, seconds, seed)
    points = _points(trace.warmup_posterior)
    steps = trace.warmup_sample_stats.n_steps.values[0].astype(float)
    if _has_draws(trace):
        points += _points(trace.posterior)
        steps = np.concatenate([steps, trace.sample_stats.n_steps.values[0]])
    return points, elapsed * np.cumsum(steps) / steps.sum()
