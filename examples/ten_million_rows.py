"""Ten million rows on a Dask cluster.

A table of ten million rows lies in forty Parquet files.  It has five columns and a mixture of ten Gaussian clusters.
Two workers of a local Dask cluster may use 2 GB each; on several machines the same program takes the address of their
scheduler.  ``Chunks`` reads the files by tasks and never gathers them: a pass over the rows sends parameters to the
workers, and they send back sums.  One exact chain runs over all rows, and ``label_rows`` then writes the most probable
cluster of every row and its probability into a Zarr group.  The data are simulated, so the truth is known.

The picture shows all rows in the plane of the first two columns on the left, brighter where there are more, with the
covariance of every cluster of the estimate (two standard deviations).  On the right is the memory of the two workers
together, from the first look at the files to the labels of all rows.  It grows with every pass, since Dask keeps how
the labels came about; after 200 passes that is forgotten.

It needs ``dask[dataframe]``, ``distributed``, ``pyarrow`` and ``zarr``.

Run with ``python examples/ten_million_rows.py [FILE.png]``.
"""

import sys
import tempfile

import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster
from distributed.diagnostics import MemorySampler
from matplotlib.patches import Ellipse

import pymc_nrm as nrm

N_FILES, ROWS_PER_FILE, N_CLUSTERS = 40, 250_000, 10
N_WORKERS, GB_PER_WORKER = 2, 2
COLUMNS = ["a", "b", "c", "d", "e"]
RANGES = [[-16, 16], [-16, 16]]


def simulate(part):
    """One file's worth of rows, with the cluster of each."""
    rng = np.random.default_rng(1)
    means = rng.uniform(-10, 10, (N_CLUSTERS, len(COLUMNS)))
    factors = np.eye(len(COLUMNS)) + rng.normal(0, 0.4, (N_CLUSTERS, len(COLUMNS), len(COLUMNS)))
    shares = rng.dirichlet(np.full(N_CLUSTERS, 3.0))
    rng = np.random.default_rng([2, part])
    cluster = rng.choice(N_CLUSTERS, ROWS_PER_FILE, p=shares).astype("int8")
    noise = rng.normal(size=(ROWS_PER_FILE, len(COLUMNS)))
    values = means[cluster] + np.einsum("nij,nj->ni", factors[cluster], noise)
    return pd.DataFrame(values, columns=COLUMNS).assign(cluster=cluster)


def counts_in_plane(values):
    """Numbers of rows in a grid over the first two columns, in a row of their own."""
    counts, _, _ = np.histogram2d(values["a"], values["b"], bins=300, range=RANGES)
    return pd.DataFrame({"counts": [counts]})


def fit(table, client, folder):
    """Labels of followed rows in the estimate, and labels of all rows."""
    rows = nrm.Chunks(table[COLUMNS], client=client)
    model = nrm.gaussian_mixture(rows)
    idata = nrm.sample(10, tune=10, chains=1, model=model, random_seed=1, compute_convergence_checks=False)
    estimate = nrm.point_estimate(idata, random_seed=1)
    labelled = nrm.label_rows(idata, model, estimate=estimate, path=f"{folder}/labels.zarr", n_draws=10, random_seed=1)
    return rows, estimate.labels.values, labelled


def plot(rows, counts, labels, memory, path):
    followed = rows.followed_values
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
    extent = [*RANGES[0], *RANGES[1]]
    left.imshow(np.log10(counts.T + 1), origin="lower", extent=extent, cmap="cividis", aspect="auto")
    for _, own in followed.groupby(labels):
        if len(own) < 0.001 * len(followed):
            continue
        variances, axes = np.linalg.eigh(np.cov(own[["a", "b"]].T))
        width, height = 4 * np.sqrt(variances[::-1])
        angle = np.degrees(np.arctan2(*axes[::-1, 1]))
        center = own[["a", "b"]].mean().to_numpy()
        left.add_patch(Ellipse(center, width, height, angle=angle, fill=False, color="white", lw=1.5))
    title = f"{rows.n:,} rows and the clusters of the estimate"
    left.set(xlabel="column a", ylabel="column b", title=title)
    right.plot(memory.index.total_seconds(), memory.iloc[:, 0] / 1e9, color="#332288")
    right.axhline(N_WORKERS * GB_PER_WORKER, color="#882255", ls="--")
    right.annotate("limit", (0, N_WORKERS * GB_PER_WORKER), (4, -4), textcoords="offset points", va="top")
    right.set(xlabel="seconds", ylabel="memory of the workers, GB", title="Memory", ylim=(0, None))
    figure.savefig(path, dpi=80)


def main(path):
    options = {"n_workers": N_WORKERS, "threads_per_worker": 1, "memory_limit": f"{GB_PER_WORKER}GB"}
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(dashboard_address=None, **options) as cluster,
        Client(cluster) as client,
    ):
        dd.from_map(simulate, range(N_FILES)).to_parquet(f"{folder}/rows")
        table, memory = dd.read_parquet(f"{folder}/rows"), MemorySampler()
        with memory.sample("workers", interval=1):
            rows, labels, labelled = fit(table, client, folder)
        counts = table.map_partitions(counts_in_plane, meta={"counts": object}).compute()["counts"].sum()
        rand = nrm.stats.adjusted_rand(table["cluster"].compute().to_numpy(), labelled["labels"].values)
        print(f"{rows}: {labels.max() + 1} clusters in the estimate, adjusted Rand index of all rows {rand:.3f}")
    plot(rows, counts, labels, memory.to_pandas(align=True), path)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "ten_million_rows.png")
