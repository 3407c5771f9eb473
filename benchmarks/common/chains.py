"""Chains of PyMC steps that run for a number of CPU seconds."""

import math
import time
from typing import NamedTuple

import numpy as np


class Chain(NamedTuple):
    """Draws of one chain.

    Parameters
    ----------
    points : list of dict
        One point of the model for each draw after tuning.
    seconds : ndarray, shape (n_draws,)
        CPU seconds from the end of tuning to each draw.
    tuning_seconds : float
    n_tune : int
        Number of tuning draws.
    stats : list
        Statistics of the step for each draw.
    """

    points: list
    seconds: np.ndarray
    tuning_seconds: float
    n_tune: int
    stats: list


def run_chain(step, state, point, rng, *, tune, seconds, tuning_seconds=np.inf):
    """Run a step as ``pm.sample`` does, but with limits in CPU seconds. ``pm.sample`` counts draws and takes no
    limit in seconds. All kernels must be compiled beforehand.
    """
    step.sampling_state = state
    step.setup_chain(rng, tune, 1)
    step.tune = tune > 0
    if hasattr(step, "reset_tuning"):
        step.reset_tuning()
    begin, n_tune = time.process_time(), 0
    while n_tune < tune and time.process_time() - begin < tuning_seconds:
        point, _ = step.step(point)
        n_tune += 1
    step.stop_tuning()
    begin, end_of_tuning = time.process_time(), time.process_time() - begin
    points, times, stats = [], [], []
    while not times or times[-1] < seconds:
        point, stat = step.step(point)
        times.append(time.process_time() - begin)
        points.append(point)
        stats.append(stat)
    return Chain(points, np.array(times), end_of_tuning, n_tune, stats)


def time_draws(step, point, target, repeats=3):
    """CPU seconds per draw: several means over as many draws as fill a time; all kernels must be compiled
    beforehand.
    """
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
