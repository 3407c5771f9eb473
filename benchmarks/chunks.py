"""Rows in chunks: from nothing to the log joint density of the truth, sweeps, threads.

Every run is a separate process.
"""

import time

import numpy as np
from common.data import gaussian_clusters
from common.part import Part, groups, markdown
from common.processes import call, resident
from large import family_of

# For each name: rows, columns, true clusters, their typical distance in standard deviations, sweeps.
FULL = {
    "1,000,000 x 5": (1_000_000, 5, 30, 20.0, 40),
    "1,000,000 x 5, overlapping": (1_000_000, 5, 30, 12.0, 40),
    "1,000,000 x 2": (1_000_000, 2, 6, 12.0, 40),
    "1,000,000 x 30": (1_000_000, 30, 6, 12.0, 5),
}
QUICK = {"20,000 x 5": (20_000, 5, 10, 12.0, 10)}


def joint(nrm, rows, preparation, sizes, statistics, measure):
    """Log density of partition and data, u integrated out."""
    from pymc_nrm.families.base import localise
    from pymc_nrm.families.conjugate import log_marginal
    from pymc_nrm.measures.base import log_eppf

    family = localise(preparation.family, preparation(rows.sample_values[:1]))
    return log_eppf(measure, sizes) + sum(log_marginal(family, row) for row in statistics)


def run(n, d, n_clusters, separation, sweeps, threads):
    """One chain; CPU and wall seconds of its start, of its sweeps, and until it is as dense as the truth."""
    import pymc as pm

    import pymc_nrm as nrm
    from pymc_nrm.moves.chunks.exact_sums import move_rows

    X, truth = gaussian_clusters(n, d, n_clusters, separation=separation)
    measure, family, clock = nrm.DirichletProcess(1.0), family_of(nrm, d), []

    def sample(values, draws):
        clock[:] = [(time.process_time(), time.perf_counter())]

        def look(trace, draw):
            clock.append((time.process_time(), time.perf_counter()))

        rows = nrm.Chunks(values, n_threads=threads)
        with pm.Model() as model:
            z = nrm.Partition("z", measure, chunks=rows)
            nrm.Mixture("x", z, family, observed=rows)
            idata = nrm.sample(draws, tune=0, chains=1, callback=look, random_seed=1, quiet=True)
        return rows, model, idata

    sample(X[:200], 2)  # compiles
    rows, model, idata = sample(X, sweeps)
    seconds = np.array(clock)
    measured = model["x"].owner.op.measured
    clusters = idata["clusters"].isel(chain=0)
    joints = []
    for sizes, statistics in zip(clusters["size"].values, clusters["x"].values, strict=True):
        k = np.count_nonzero(sizes)
        joints.append(joint(nrm, rows, measured.preparation, sizes[:k], statistics[:k], measure))
    preparation, quanta = measured.preparation, measured.quanta
    sizes_of_truth, sums = (
        np.zeros(n_clusters, dtype=np.int64),
        np.zeros((n_clusters, len(quanta.quantum)), dtype=np.int64),
    )
    labels, none = truth.astype(np.int32), np.full(n, -1, dtype=np.int32)
    move_rows(none, labels, preparation.family, preparation(X), quanta, sizes_of_truth, sums)
    of_truth = joint(nrm, rows, preparation, sizes_of_truth, sums * quanta.quantum, measure)
    reached = np.flatnonzero(np.array(joints) >= of_truth - 50.0)
    estimate = nrm.point_estimate(idata, random_seed=1, progressbar=False)
    begun = time.process_time()
    labels = nrm.label_rows(idata, model, estimate=estimate, n_draws=20, progressbar=False).labels.values
    steady = np.diff(seconds, axis=0)[2:]
    row = {"threads": threads, "start": (seconds[1] - seconds[0]).tolist(), "sweep": np.median(steady, axis=0).tolist()}
    row |= {"until_truth": (seconds[reached[0] + 1] - seconds[0]).tolist() if len(reached) else None}
    row |= {"clusters": int(np.count_nonzero(clusters["size"].values[-1] > 0.001 * n)), "joint": joints[-1] - of_truth}
    row |= {"rand": float(nrm.stats.adjusted_rand(truth, labels)), "labelling": time.process_time() - begun}
    return row | {"peak": resident() / 2**20}


def measure(quick, note, sets=None):
    rows = []
    for name, (n, d, n_clusters, separation, sweeps) in (QUICK if quick else FULL).items():
        if sets and name not in sets:
            continue
        size = {"n": n, "d": d, "n_clusters": n_clusters, "separation": separation}
        for threads in (1, 2):
            rows.append({"set": name} | size | call(run, sweeps=sweeps, threads=threads, **size))
            print(rows[-1], flush=True)
    return rows


def both(seconds):
    """CPU and wall seconds."""
    return None if seconds is None else f"{seconds[0]:.2f} / {seconds[1]:.2f}"


def table(rows):
    lines = []
    for name, here in groups(rows, "set").items():
        times = ["; ".join(both(row[key]) for row in here) for key in ("start", "sweep")]
        row = here[0]
        lines.append([name, *times, row["joint"], row["clusters"], f"{row['rand']:.4f}", max(r["peak"] for r in here)])
    titles = ["until the first draw, s", "per sweep, s", "log joint less that of the truth", "large clusters"]
    return (
        "Gaussian clusters of general shape, DP(1), one chain over `Chunks(X, n_threads=...)` with its own start.  "
        "*CPU / wall* seconds of a single run with one and two threads.  *Large clusters* have over a thousandth of "
        "the rows.\n\n" + markdown(["Set", *titles, "adjusted Rand index", "peak, MB"], lines)
    )


def headline(rows):
    seconds = ", ".join(f"{row['set']} {row['sweep'][1]:.2f} s" for row in rows if row["threads"] == 2)
    return [("A sweep of rows in chunks, two threads, by the clock", seconds, None, None)] if seconds else []


MEANING = (
    "The start finds the clusters of a million rows in seconds where they are apart.  Where they overlap, which of "
    "them it finds is chance.  A second thread halves the time of a sweep."
)
OPTIONS = {"sets": {name: name for name in FULL}}
PART = Part("chunks", measure, table, headline=headline, options=OPTIONS, meaning=MEANING)
