"""Chains of PyMC steps that run for a number of CPU seconds."""

import math
import time
from typing import NamedTuple

import numpy as np


class Chain(NamedTuple):
    """Draws of one chain after tuning, or all of them; stats are those after tuning."""

    points: list
    seconds: np.ndarray  # CPU seconds from the end of tuning to each draw, or from the start of the chain
    tuning_seconds: float
    n_tune: int
    stats: list


def run_chain(step, state, point, rng, *, tune, seconds, tuning_seconds=np.inf, all_draws=False):
    """Run a step as ``pm.sample`` does, which takes no limits in CPU seconds. Kernels must be compiled beforehand."""
    step.sampling_state = state
    step.setup_chain(rng, tune, 1)
    step.tune = tune > 0
    if hasattr(step, "reset_tuning"):
        step.reset_tuning()
    points, times, stats, begin = [], [], [], time.process_time()
    while len(times) < tune and (not times or times[-1] < tuning_seconds):
        point, _ = step.step(point)
        points.append(point)
        times.append(time.process_time() - begin)
    step.stop_tuning()
    n_tune, end_of_tuning = len(times), time.process_time() - begin
    if not all_draws:
        points, times, begin = [], [], time.process_time()
    while not times or times[-1] < seconds:
        point, stat = step.step(point)
        times.append(time.process_time() - begin)
        points.append(point)
        stats.append(stat)
    return Chain(points, np.array(times), end_of_tuning, n_tune, stats)


def first_draw(step, point):
    """Compile what the constructor of a step has not, by a draw of another chain."""
    step.setup_chain(np.random.default_rng(0), 0, 1)
    step.step(point)


def run_chains(make, *, first_seed=1, **limits):
    """The model of ``make()``, which returns it with a step and starts; its chains, of which each runs when it is asked
    for; and wall seconds until the first draw of another chain, which compiles.
    """
    begin = time.perf_counter()
    model, step, starts = make()
    state = step.sampling_state
    first_draw(step, starts[0])
    compilation = time.perf_counter() - begin
    seeds = enumerate(starts, first_seed)
    chains = (run_chain(step, state, start, np.random.default_rng(seed), **limits) for seed, start in seeds)
    return model, chains, compilation


def time_draws(step, point, target, repeats=3):
    """CPU seconds per draw: several means over as many draws as fill a time; all kernels must be compiled before."""
    start = time.process_time()
    point, stats = step.step(point)
    n_draws = max(2, math.ceil(target / (time.process_time() - start)))
    times = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(n_draws):
            point, stats = step.step(point)
        times.append((time.process_time() - start) / n_draws)
    return times, stats
