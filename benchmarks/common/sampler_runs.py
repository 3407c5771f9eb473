"""Runs of samplers on one set, as rows of figures: a reference, chains from bad starts, and stationary chains."""

from typing import NamedTuple

import numpy as np

import pymc_nrm as nrm
from common.part import spread
from common.sampler_chains import arrival_time, make_step, run, start, thin, tune
from common.sampler_efficiency import (
    effective,
    expected_variation,
    frequencies,
    mean_and_error,
    pooled,
    total_variation,
    uncertain_pairs,
)

TREE, SEQUENTIAL = "tree-guided", "split-merge, sequential"


class Sampler(NamedTuple):
    """A step class, its options given the number of items, and whether it is exact."""

    step_class: type
    options: object = lambda n: {}
    exact: bool = True


def measure_set(set_name, data, samplers, note):
    """Rows of one set: the reference, then every sampler from bad starts and stationary."""
    model = data.model()
    needed = {TREE: Sampler(nrm.TreeGuided)} | samplers
    if two_references(data):
        needed = {SEQUENTIAL: Sampler(nrm.SplitMerge)} | needed
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
    found = {
        "n": n,
        "d": data.X.shape[1],
        "margin": data.margin,
        "n_chains": data.n_chains,
        "seconds_bad": data.bad,
        "seconds_good": data.good,
        "tune": data.tune,
        "log_joint": float(np.mean([chain.log_joint[len(chain.log_joint) // 2 :].mean() for chain in chains.values()])),
        "disagreement": float(np.diff(means)[0] / np.hypot(*errors)) if len(chains) == 2 else None,
    }
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
    return found, chains[TREE].labels, uncertain_pairs(kept)


def bad_starts(data, step, log_joint):
    """Rows of times to stationarity and traces, from a single cluster and from singletons."""
    n = data.X.shape[0]
    starts = {"one": np.zeros(n, dtype=np.int64)} | ({"alone": np.arange(n)} if data.alone else {})
    rows = []
    for place, labels in starts.items():
        times = []
        for seed in range(data.n_chains):
            start(step, seed + 1)
            chain = run(step, labels, data.bad, arrived=log_joint)
            times.append(arrival_time(chain, log_joint))
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
    found = {
        "kind": "stationary",
        "draws": sum(len(chain.seconds) for chain in chains),
        "milliseconds": 1e3 * sum(chain.seconds[-1] for chain in chains) / sum(len(chain.seconds) for chain in chains),
        "mean": mean,
        "error": error,
        "z": (mean - reference["mean"]) / np.hypot(error, reference["error"] or 0.0),
        "variation": total_variation(frequencies([chain.n_clusters for chain in chains]), law),
        "expected_variation": expected_variation(law, size),
        "log_ratio": float(np.nanmean(ratios)) if len(ratios := _finite(chains)) else None,
    }
    for name, rates in _rates(chains).items():
        if np.isfinite(rates).all():
            found |= {f"{name}_{key}": value for key, value in spread(rates).items()}
    return {key: None if isinstance(value, float) and not np.isfinite(value) else value for key, value in found.items()}


def _finite(chains):
    ratios = np.concatenate([chain.log_ratio for chain in chains])
    return ratios[np.isfinite(ratios)]


def _rates(chains):
    """Effective sample sizes per CPU second: for each quantity a list with one number per chain."""
    rates = {"clusters": [], "log_joint": [], "pairs": [], "worst_pair": []}
    for chain in chains:
        sizes = [effective(together[None].astype(float)) for together in chain.together.T] or [np.nan]
        for name, size in (
            ("clusters", effective(chain.n_clusters[None])),
            ("log_joint", effective(chain.log_joint[None])),
            ("pairs", np.median(sizes)),
            ("worst_pair", np.min(sizes)),
        ):
            rates[name].append(float(size / chain.seconds[-1]))
    return rates
