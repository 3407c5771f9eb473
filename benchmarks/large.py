"""Large data: seconds per draw, growth of guide trees, memory, and what a run gains over its start.

Every run is a separate process.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
from common.data import gaussian_clusters
from common.part import Part, columns, groups
from common.processes import call, resident
from scipy.stats import multivariate_normal

# For each name: items, features, true clusters, their typical distance in standard deviations, CPU seconds of a run.
FULL = {"1,000,000 x 2": (1_000_000, 2, 50, 60.0, 15), "200,000 x 10": (200_000, 10, 30, 12.0, 15)}
QUICK = {"100,000 x 2": (100_000, 2, 50, 60.0, 0.5), "20,000 x 10": (20_000, 10, 30, 12.0, 0.5)}
METHODS = ("Gibbs on a tenth", "split-merge", "tree-guided")
# The start clusters this many items incrementally, and puts each of the others into the nearest cluster.
N_START = 5000


def peak_megabytes():
    """Largest resident memory of this process so far, or None if the system does not tell."""
    found = resident()
    return found and found / 2**20


def family_of(nrm, d):
    """A family whose typical clusters have variance 1 and are far apart."""
    return nrm.NormalWishart(np.zeros(d), 0.001, (d + 6.0) * np.eye(d), d + 6.0)


def start_labels(X, seed=1):
    """Clusters of a random part of the items; all others join the cluster with the largest Gaussian density."""
    import pymc_nrm as nrm

    rng = np.random.default_rng(seed)
    part = rng.permutation(len(X))[: min(N_START, len(X))]
    d = X.shape[1]
    found = nrm.trees.ibhc(X[part], family_of(nrm, d), nrm.DirichletProcess(1.0), random_seed=seed).labels
    scores = []
    for k in np.flatnonzero(np.bincount(found) > 2 * d):
        items = X[part[found == k]]
        normal = multivariate_normal(items.mean(axis=0), np.cov(items.T) + 1e-6 * np.eye(d))
        scores.append(np.log(len(items)) + normal.logpdf(X))
    return np.argmax(scores, axis=0)


def make_start(n, d, n_clusters, separation, path):
    """Store the start of a set, in a separate process."""
    X, _ = gaussian_clusters(n, d, n_clusters, separation=separation)
    start_labels(X[:100])  # compiles
    start = time.process_time()
    labels = start_labels(X)
    seconds = time.process_time() - start
    np.save(path, labels)
    return {"seconds": seconds, "clusters": len(np.unique(labels)), "peak": peak_megabytes()}


def _step(nrm, method, z, n):
    if method == "Gibbs on a tenth":
        return nrm.steps.MarginalGibbs([z], n_items=n // 10)
    if method == "split-merge":
        return nrm.steps.SplitMerge([z], n_moves=2, n_items=n // 100)
    return nrm.steps.TreeGuided([z], n_trees=1, moves={"marginal_gibbs": 0.1})


def run(n, d, n_clusters, separation, method, seconds, path):
    """One chain of one method with compact labels and a progress bar, stopped after a number of CPU seconds."""
    from common.data import dirichlet_process

    import pymc_nrm as nrm

    X, truth = gaussian_clusters(n, d, n_clusters, separation=separation)
    family = family_of(nrm, d)
    clock = []

    def sample(items, draws, limit):
        clock.clear()

        def look(trace, draw):
            clock.append(time.process_time())
            if clock[-1] - clock[0] > limit and len(clock) > 3:
                raise KeyboardInterrupt

        with dirichlet_process(X[:items], family, initval=np.load(path)[:items]) as model:
            step = _step(nrm, method, model["z"], items)
            start = time.process_time()
            options = {"label_storage": "compact", "callback": look, "random_seed": 1}
            idata = nrm.sample(draws, tune=0, chains=1, cores=1, step=[step], **options)
        return idata, start

    sample(1000, 3, 60)  # compiles, and loads what PyMC loads late
    before = peak_megabytes()
    idata, start = sample(n, 1000, seconds)
    stats, labels = idata.sample_stats, idata.posterior["z"].values[0]
    n_draws = len(labels)
    steady = np.diff(clock[:n_draws])
    row = {"draws": n_draws, "first": clock[0] - start, "per_draw": float(np.median(steady))}
    row |= {"least": float(steady.min()), "most": float(steady.max())}
    row |= {"clusters": stats["n_clusters"].values[0, -1:].tolist()}
    row |= {
        "moved": float(stats["n_moved"].values[0].mean()),
        "rand": float(nrm.stats.adjusted_rand(truth, labels[-1])),
    }
    row |= {"after_sampling": time.process_time() - clock[-1], "labels_megabytes": labels.nbytes / 2**20}
    return row | {
        "observed_megabytes": idata["observed_data"].nbytes / 2**20,
        "before": before,
        "peak": peak_megabytes(),
    }


def measure(quick, note):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (n, d, n_clusters, separation, seconds) in (QUICK if quick else FULL).items():
            size = {"n": n, "d": d, "n_clusters": n_clusters, "separation": separation}
            size["path"] = str(Path(folder) / f"start{n}.npy")
            start = call(make_start, **size)
            rows.append({"set": name, "method": "start"} | size | {"path": ""} | start)
            print(f"{name}: start in {start['seconds']:.1f} s", flush=True)
            for method in METHODS[::2] if quick else METHODS:
                row = call(run, method=method, seconds=seconds, **size)
                rows.append({"set": name, "method": method} | size | {"path": ""} | row)
                print(f"{name}, {method}: {per_draw(row)} s per draw", flush=True)
    return rows


def table(rows):
    text = (
        "Gaussian clusters of general shape, DP(1), one chain from the nearest cluster of every item in an incremental "
        f"clustering of {N_START:,}.  CPU seconds; the first draw contains the growth of the guide tree.\n\n"
    )
    shown = {
        "Set": "set",
        "Method": "method",
        "first draw, s": "first",
        "per draw, s": per_draw,
        "clusters at the end": lambda row: row["clusters"][-1],
        "adjusted Rand index": lambda row: f"{row['rand']:.4f}",
        "peak, MB": "peak",
    }
    return text + columns([row for row in rows if row["method"] != "start"], shown)


def per_draw(row):
    return f"{row['per_draw']:.3f} ({row['least']:.3f} to {row['most']:.3f})"


def headline(rows):
    lines = []
    for name, here in groups([row for row in rows if row["method"] != "start"], "set").items():
        measured = ", ".join(f"{row['method']} {row['per_draw']:.3f} s" for row in here)
        peak = max(row["peak"] for row in here) / 1024
        lines.append((f"A draw of {name} items", f"{measured}; peak {peak:.2f} GB", None, None))
    return lines


MEANING = (
    "A million items fit into 1.2 GB and take tenths of a second per draw; moves along the tree find more clusters, "
    "and a guide tree takes half a minute."
)
PART = Part("large", measure, table, headline=headline, meaning=MEANING)
