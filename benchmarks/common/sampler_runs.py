"""Runs of samplers on one set, as rows of figures: a reference, chains from bad starts, and stationary chains."""

import time
import warnings
from typing import NamedTuple

import numpy as np
from arviz_stats.base import array_stats

import pymc_nrm as nrm
from common.functionals import uncertain_pairs
from common.part import spread

TREE, SEQUENTIAL = "tree-guided", "split-merge, sequential"
# The first draw, which compiles, uses so many items; an effective sample size is estimated from so many draws or more.
WARM_ITEMS, FEWEST_DRAWS = 30, 50


class Sampler(NamedTuple):
    """A step class, its options given the number of items, and whether it is exact."""

    step_class: type
    options: object = lambda n: {}
    exact: bool = True


class Chain(NamedTuple):
    """Draws of a chain, with CPU seconds from its start to the end of each, without the time for recording."""

    seconds: np.ndarray
    log_joint: np.ndarray
    n_clusters: np.ndarray
    log_ratio: np.ndarray
    together: np.ndarray  # whether pairs of items share a cluster
    kept: np.ndarray  # labels of at most 400 draws
    labels: np.ndarray  # those of the last draw


def make_step(data, model, step_class, options):
    """Make a step for a set, and compile all its kernels."""
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


def thin(chain, n_points=120):
    """Times, log joint densities and numbers of clusters, evenly spaced in log time, as lists for a picture."""
    times = np.geomspace(chain.seconds[0], chain.seconds[-1], n_points)
    chosen = np.unique(np.searchsorted(chain.seconds, times).clip(max=len(chain.seconds) - 1))
    return {
        "seconds": chain.seconds[chosen].round(5).tolist(),
        "log_joint": chain.log_joint[chosen].round(2).tolist(),
        "n_clusters": chain.n_clusters[chosen].astype(int).tolist(),
    }


def effective(values):
    """Effective sample size of a mean, from split chains."""
    if values.shape[1] < FEWEST_DRAWS:
        return np.nan
    if values.min() == values.max():
        return 0.0
    return float(array_stats.ess(values, method="mean"))


def mean_and_error(chains):
    """Mean of the draws of several chains, its Monte Carlo standard error, and the effective sample size."""
    shortest = min(len(chain) for chain in chains)
    size = effective(np.array([chain[:shortest] for chain in chains], dtype=float))
    everything = np.concatenate(chains)
    error = everything.std() / np.sqrt(size) if size > 0 else np.nan
    return float(everything.mean()), float(error), size


def frequencies(chains):
    """Relative frequencies of the values in several chains, as a dict."""
    values, counts = np.unique(np.concatenate(chains).astype(int), return_counts=True)
    return dict(zip(values.tolist(), (counts / counts.sum()).tolist(), strict=True))


def pooled(laws, sizes):
    """Mixture of distributions, weighted by effective sample sizes."""
    share = np.array(sizes) / sum(sizes)
    values = sorted(set().union(*laws))
    return {value: float(sum(w * law.get(value, 0.0) for w, law in zip(share, laws, strict=True))) for value in values}


def total_variation(law, reference):
    """Total variation distance, where all values that are absent from the reference count as one value."""
    rest = 1.0 - sum(reference.values())
    rest_of_law = sum(p for value, p in law.items() if value not in reference)
    return 0.5 * (abs(rest - rest_of_law) + sum(abs(law.get(value, 0.0) - p) for value, p in reference.items()))


def expected_variation(reference, size):
    """Approximate total variation distance of a correct sampler with this effective sample size."""
    p = np.array([*reference.values(), max(0.0, 1.0 - sum(reference.values()))])
    return float(0.5 * np.sqrt(2.0 * p * (1.0 - p) / (np.pi * size)).sum()) if size > 0 else np.nan


def measure_set(set_name, data, samplers, note):
    """Rows of one set: the reference, then every sampler from bad starts and stationary."""
    model = data.model()
    needed = {TREE: Sampler(nrm.steps.TreeGuided)} | samplers
    if two_references(data):
        needed = {SEQUENTIAL: Sampler(nrm.steps.SplitMerge)} | needed
    steps = {name: make_step(data, model, step_class, options) for name, (step_class, options, _) in needed.items()}
    reference, good, pairs = reference_run(data, model, steps)
    if len(pairs) < 50:
        note(f"{set_name}: {len(pairs)} pairs of items are uncertain, instead of 50")
    rows = [{"kind": "reference", "set": set_name, "title": data.title, **reference}]
    for name, sampler in samplers.items():
        print(f"{set_name}: {name}", flush=True)
        labelled = {"set": set_name, "sampler": name, "exact": sampler.exact}
        rows += [labelled | row for row in bad_starts(data, steps[name], reference["log_joint"] - data.margin)]
        rows.append(labelled | stationary(data, steps[name], name == TREE, good, pairs, reference))
    return rows


def two_references(data):
    """Whether to pool long runs of two exact samplers, since nothing better is known and both mix."""
    return data.known is None and data.n_chains > 1


def reference_run(data, model, steps):
    """What is known about the posterior, the last labels of a long tree-guided run, and pairs of items to watch."""
    n = data.X.shape[0]
    labels = tune(steps[TREE], model.initial_point()["z"], data.tune, 100)
    chains = {TREE: run(steps[TREE], labels, data.reference, keep=True)}
    if two_references(data):
        labels = tune(steps[SEQUENTIAL], chains[TREE].labels, data.tune, 101)
        chains[SEQUENTIAL] = run(steps[SEQUENTIAL], labels, data.reference, keep=True)
    means, errors, sizes = np.array([mean_and_error([chain.n_clusters]) for chain in chains.values()]).T
    found = {"n": n, "d": data.X.shape[1], "margin": data.margin, "n_chains": data.n_chains, "tune": data.tune}
    found |= {"seconds_bad": data.bad, "seconds_good": data.good}
    found["log_joint"] = float(
        np.mean([np.mean(chain.log_joint[len(chain.log_joint) // 2 :]) for chain in chains.values()])
    )
    found["disagreement"] = float(np.diff(means)[0] / np.hypot(*errors)) if len(chains) == 2 else None
    if data.known:
        law = data.known["probabilities"]
        found |= {"source": "known", "mean": data.known["mean"], "error": data.known["error"]}
    else:
        sizes = np.nan_to_num(sizes, nan=1.0).clip(1.0)
        law = pooled([frequencies([chain.n_clusters]) for chain in chains.values()], sizes)
        mean = sum(value * p for value, p in law.items())
        deviation = np.sqrt(sum((value - mean) ** 2 * p for value, p in law.items()))
        found |= {"source": " and ".join(chains), "mean": mean}
        # A long run that never leaves one number of clusters gives no estimate of its error.
        found["error"] = float(deviation / np.sqrt(sizes.sum())) or None
    found |= {"values": list(law), "probabilities": list(law.values())}
    kept = np.concatenate([chain.kept for chain in chains.values()])
    pairs = uncertain_pairs(kept, 50, np.random.default_rng(1), least=0.05, n_candidates=200_000)
    return found, chains[TREE].labels, pairs


def bad_starts(data, step, log_joint):
    """Rows of times to stationarity and traces, from a single cluster and from singletons."""
    n = data.X.shape[0]
    starts = {"one": np.zeros(n, dtype=np.int64)} | ({"alone": np.arange(n)} if data.alone else {})
    rows = []
    for place, labels in starts.items():
        times = []
        for seed in range(data.n_chains):
            step.setup_chain(np.random.default_rng(seed + 1), 1000, 1)  # in tuning, as a user's step is
            chain = run(step, labels, data.bad, arrived=log_joint)
            reached = np.flatnonzero(chain.log_joint >= log_joint)
            times.append(float(chain.seconds[reached[0]]) if len(reached) else None)
            if seed == 0:
                rows.append({"kind": "trace", "start": place, **thin(chain)})
        rows.append({"kind": "arrival", "start": place, "times": times, "allowed": data.bad})
    return rows


def stationary(data, step, adapts, good, pairs, reference):
    """A row of effective sample sizes per second, with the distribution of the number of clusters and the reference."""
    chains = []
    for seed in range(data.n_chains):
        labels = tune(step, good, data.tune, seed + 11, seconds=np.inf if adapts else data.good / 4)
        chains.append(run(step, labels, data.good, pairs=pairs))
    mean, error, size = mean_and_error([chain.n_clusters for chain in chains])
    law = dict(zip(reference["values"], reference["probabilities"], strict=True))
    draws, seconds = (sum(values) for values in zip(*((len(c.seconds), c.seconds[-1]) for c in chains), strict=True))
    ratios = np.concatenate([chain.log_ratio for chain in chains])
    ratios = ratios[np.isfinite(ratios)]
    found = {"kind": "stationary", "draws": draws, "milliseconds": 1e3 * seconds / draws, "mean": mean, "error": error}
    found["z"] = (mean - reference["mean"]) / np.hypot(error, reference["error"] or 0.0)
    found["variation"] = total_variation(frequencies([chain.n_clusters for chain in chains]), law)
    found["expected_variation"] = expected_variation(law, size)
    found["log_ratio"] = float(ratios.mean()) if len(ratios) else None
    rates = {name: [] for name in ("clusters", "log_joint", "pairs", "worst_pair")}
    for chain in chains:
        of_pairs = [effective(together[None].astype(float)) for together in chain.together.T] or [np.nan]
        sizes = (effective(chain.n_clusters[None]), effective(chain.log_joint[None]), np.median(of_pairs))
        for name, size in zip(rates, (*sizes, np.min(of_pairs)), strict=True):
            rates[name].append(float(size / chain.seconds[-1]))
    for name, values in rates.items():
        if np.isfinite(values).all():
            found |= {f"{name}_{key}": value for key, value in spread(values).items()}
    return {key: None if isinstance(value, float) and not np.isfinite(value) else value for key, value in found.items()}
