"""Chains of a step object from chosen labels, for a number of CPU seconds, that record what is compared."""

import time
import warnings
from typing import NamedTuple

import numpy as np

WARM_ITEMS = 30


class Chain(NamedTuple):
    """Draws of a chain.

    ``seconds`` are CPU seconds from its start to the end of each draw, without the time for recording; ``together``
    says whether pairs of items share a cluster; ``kept`` are the labels of at most 400 draws; ``labels`` are those of
    the last draw.
    """

    seconds: np.ndarray
    log_joint: np.ndarray
    n_clusters: np.ndarray
    log_ratio: np.ndarray
    together: np.ndarray
    kept: np.ndarray
    labels: np.ndarray


def make_step(data, model, step_class, options):
    """Make a step for a set, and compile all its kernels."""
    # One draw compiles what the constructor has not.  It uses few items, since a draw of all may take long.
    n = min(WARM_ITEMS, data.X.shape[0])
    small = _step(data.model(n), step_class, options(n))
    small.setup_chain(np.random.default_rng(0), 1, 1)
    small.step({"z": np.arange(n) // 2})
    return _step(model, step_class, options(data.X.shape[0]))


def _step(model, step_class, options):
    with model, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # every figure says beside it that the sampler is biased
        return step_class([model["z"]], rng=0, **options)


def tune(step, labels, n_draws, seed, *, seconds=np.inf):
    """Start a chain and make tuning draws, during which a step adapts; return the labels of the last one."""
    step.setup_chain(np.random.default_rng(seed), n_draws, 1)
    point, end = {"z": labels}, time.process_time() + seconds
    for _ in range(n_draws):
        point, _ = step.step(point)
        if time.process_time() > end:
            break
    step.stop_tuning()
    return point["z"]


def start(step, seed, n_tune=1000):
    """Start a chain with tuning, as users do."""
    step.setup_chain(np.random.default_rng(seed), n_tune, 1)


def run(step, labels, seconds, *, pairs=None, keep=False, arrived=None):
    """Make draws from given labels for a number of CPU seconds."""
    pairs = np.empty((0, 2), dtype=np.int64) if pairs is None else pairs
    point, elapsed, end, distance = {"z": labels}, 0.0, seconds, 1
    rows, together, kept = [], [], []
    while not rows or elapsed < end:
        begin = time.process_time()
        point, [stats] = step.step(point)
        elapsed += time.process_time() - begin
        rows.append((elapsed, stats["log_joint"], stats["n_clusters"], stats.get("log_acceptance_ratio", np.nan)))
        z = point["z"]
        together.append(z[pairs[:, 0]] == z[pairs[:, 1]])
        if keep and len(rows) % distance == 0:
            kept.append(z.astype(np.int32))
            if len(kept) > 400:
                kept, distance = kept[::2], 2 * distance
        if arrived is not None and end == seconds and stats["log_joint"] >= arrived:
            end = min(seconds, max(0.5, 3.0 * elapsed))
    return Chain(*np.array(rows).T, np.array(together), np.array(kept), z)


def arrival_time(chain, log_joint):
    """First time at which the log joint density is reached, or None."""
    reached = np.flatnonzero(chain.log_joint >= log_joint)
    return float(chain.seconds[reached[0]]) if len(reached) else None


def thin(chain, n_points=120):
    """Times, log joint densities and numbers of clusters, evenly spaced in log time, as lists for a picture."""
    times = np.geomspace(chain.seconds[0], chain.seconds[-1], n_points)
    chosen = np.unique(np.searchsorted(chain.seconds, times).clip(max=len(chain.seconds) - 1))
    return {
        "seconds": chain.seconds[chosen].round(5).tolist(),
        "log_joint": chain.log_joint[chosen].round(2).tolist(),
        "n_clusters": chain.n_clusters[chosen].astype(int).tolist(),
    }
