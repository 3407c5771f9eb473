"""Mixed tables of many rows: seconds from a DataFrame to a description, with and without rows in chunks.

Every run is a separate process.
"""

import os
import time
import warnings

import numpy as np
import pandas as pd
from common.log_lines import logged
from common.part import Part, columns
from common.processes import call, resident

TARGET = 120  # CPU seconds for 200,000 rows
STEPS = ("model", "draws", "description")
N_GROUPS = 6
FULL = {"chunks": (10_000, 30_000, 200_000), "plain": (10_000, 30_000)}
QUICK = {"chunks": (10_000,), "plain": (10_000,)}


def mixed_table(n, seed=0):
    """A table of ten columns in six groups, with gaps: measurements, text, truth values, counts, amounts, dates."""
    rng = np.random.default_rng(seed)
    k = rng.choice(N_GROUPS, n, p=[0.3, 0.25, 0.2, 0.12, 0.08, 0.05])
    center = np.random.default_rng(7).normal(scale=3.0, size=(N_GROUPS, 4))
    numbers = center[k] + rng.normal(size=(n, 4)) @ np.array(
        [[1, 0.6, 0, 0], [0, 0.8, 0, 0], [0, 0, 1, 0.3], [0, 0, 0, 0.9]]
    )
    regions = np.array(["north", "south", "east", "west", "abroad"])
    shares = np.random.default_rng(8).dirichlet(np.ones(5), N_GROUPS)
    df = pd.DataFrame(
        {
            "height": numbers[:, 0].round(2),
            "weight": numbers[:, 1],
            "income": numbers[:, 2],
            "score": numbers[:, 3],
            "region": regions[(rng.random(n)[:, None] > shares[k].cumsum(axis=1)).sum(axis=1).clip(max=4)],
            "answer": pd.Categorical(np.array(["yes", "no", "perhaps"])[(k + (rng.random(n) < 0.3)) % 3]),
            "member": rng.random(n) < 0.1 + 0.15 * k,
            "visits": rng.poisson(2.0 + 3.0 * (k % 3)),
            "spending": np.where(rng.random(n) < 0.5, 0.0, np.exp(0.5 * k + rng.normal(size=n))).round(2),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, n) + 100 * (k % 2), "D"),
        }
    )
    df.loc[rng.random(n) < 0.05, "income"] = np.nan
    df.loc[rng.random(n) < 0.05, "region"] = None
    return df, k


def describe(n, chunks, size):
    """CPU and wall seconds of each step, of a table that was described before with few rows."""
    import pymc_nrm as nrm

    rows, seconds = {}, []

    def lap(name):
        # Chains may run in processes of their own.
        now = time.process_time() + sum(os.times()[2:4]), time.perf_counter()
        if seconds:
            rows[name] = [now[0] - seconds[0], now[1] - seconds[1]]
        seconds[:] = now

    df, truth = mixed_table(n)
    kinds = {"visits": "count", "spending": "zero or positive"}
    lap(None)
    model = nrm.mixture_model(df, kinds=kinds, chunks=chunks)
    lap("model")
    times = []
    idata = nrm.sample(
        **size, model=model, random_seed=1, progressbar=False, callback=lambda **_: times.append(time.process_time())
    )
    lap("draws")
    description = nrm.describe(idata, model)
    lap("description")
    labels = description.estimate["labels"].values
    followed = idata.posterior["z_row"].values if chunks else slice(None)
    rows["rand"] = float(nrm.stats.adjusted_rand(truth[followed], labels))
    rows["clusters"] = int(labels.max()) + 1
    steady = np.diff(times)[len(times) // 2 :]
    # Without chunks, chains run in processes of their own, whose draws arrive in batches.
    rows["draw"] = float(np.median(steady)) if chunks and len(steady) else None
    return rows, description


def run(n, chunks, size):
    """One description of a table of n rows."""
    warnings.simplefilter("ignore")
    describe(300, chunks, {"draws": 5, "tune": 5, "chains": 1})  # compiles
    with logged() as lines:
        rows, _ = describe(n, chunks, size)
    rows["verdict"] = lines.verdict()
    return rows | {"peak": resident() / 2**20}


def measure(quick, note, sets=None):
    rows = []
    size = {"draws": 20, "tune": 20, "chains": 1} if quick else {"chains": 2}
    for name, numbers in (QUICK if quick else FULL).items():
        for n in numbers if not sets or name in sets else ():
            rows.append({"set": name, "n": n} | call(run, n=n, chunks=name == "chunks", size=size))
            print(rows[-1], flush=True)
    return rows


def cpu(row):
    return sum(row[step][0] for step in STEPS)


def table(rows):
    shown = {"Rows": lambda row: f"{row['n']:,}, {row['set']}", "CPU s": lambda row: f"{cpu(row):.0f}"}
    shown["s by the clock"] = lambda row: f"{sum(row[step][1] for step in STEPS):.0f}"
    for step in STEPS:
        shown[f"{step}, CPU s"] = lambda row, step=step: f"{row[step][0]:.0f}"
    shown |= {"a draw, CPU s": "draw", "adjusted Rand index": "rand", "clusters": "clusters"}
    shown |= {"peak, MB": lambda row: f"{row['peak']:.0f}", "chains": "verdict"}
    return (
        "Ten columns of measurements, text, truth values, counts, amounts and dates, with gaps, in six groups: "
        "`mixture_model`, `sample` (2 chains, default lengths), `describe`; kernels compiled.\n\n"
        + columns(rows, shown)
    )


def headline(rows):
    found = [row for row in rows if row["set"] == "chunks" and row["n"] == 200_000]
    claim = "200,000 mixed rows x 10, from a DataFrame to a description, CPU s"
    return [(claim, f"{cpu(row):.0f}", TARGET, cpu(row) <= TARGET) for row in found]


MEANING = (
    "From 30,000 rows on chunks take less time and memory; with default lengths chains agree for 10,000 rows without "
    "chunks alone, though the estimate finds the clusters of the data in all."
)
PART = Part("large_tables", measure, table, headline=headline, options={"sets": list(FULL)}, meaning=MEANING)
