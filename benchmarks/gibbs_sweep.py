"""Gibbs sweeps of the kernels and of a C++ program, side by side on the same data.

Run with ``python benchmarks/gibbs_sweep.py [FOLDER]``.  The folder holds ``cgibbs.cpp``, a marginal Gibbs sampler of a
Dirichlet process mixture of Gaussians in the plane, and its data ``x1000.csv``.
"""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common.machine import describe

import pymc_nrm as nrm
from pymc_nrm.families.base import broadcast_hyperparameters, localise, prepare_data
from pymc_nrm.generic import kernel
from pymc_nrm.measures.base import weights
from pymc_nrm.partitions import build_state
from pymc_nrm.samplers.marginal_gibbs import gibbs_sweep, random_items

N_REPEATS, N_SWEEPS, N_BURN = 7, 5000, 1000


@kernel
def run_sweeps(rng, labels, table, family, data, n_sweeps):
    """Numbers of clusters after each sweep, from one cluster at the start."""
    state = build_state(labels, family, data)
    n_clusters = np.empty(n_sweeps)
    n = labels.shape[0]
    for sweep in range(n_sweeps):
        state, _ = gibbs_sweep(rng, state, table, family, data, random_items(rng, n, n))
        n_clusters[sweep] = state.size[0]
    return n_clusters


def kernels(path):
    X = np.loadtxt(path, delimiter=",", skiprows=1)
    family = broadcast_hyperparameters(nrm.NormalWishart(mu=0, kappa=0.1, Psi=5 * np.eye(2), nu=8), *X.shape)
    data = prepare_data(family, X)
    family = localise(family, data)
    # The weights of a Dirichlet process do not depend on u, but for a factor that cancels in a sweep.
    table = weights(nrm.DirichletProcess(1.0), len(X), 0.0)
    labels = np.zeros(len(X), dtype=np.int64)
    run_sweeps(np.random.default_rng(0), labels, table, family, data, 2)

    def measure(seed):
        start = time.perf_counter()
        n_clusters = run_sweeps(np.random.default_rng(seed), labels, table, family, data, N_SWEEPS)
        return (time.perf_counter() - start) / N_SWEEPS * 1000, n_clusters[N_BURN:].mean()

    return measure


def program(source, path, folder):
    binary = Path(folder) / "cgibbs"
    subprocess.run(["g++", "-O3", "-march=native", "-ffast-math", "-w", str(source), "-o", str(binary)], check=True)

    def measure(seed):
        command = [str(binary), str(path), str(N_SWEEPS), str(N_BURN), str(seed)]
        report = subprocess.run(command, check=True, capture_output=True, text=True).stderr
        return tuple(
            float(number) for number in re.search(r"([\d.]+) s/1000 sweeps\s+E\[K\]=([\d.]+)", report).groups()
        )

    return measure


def main():
    default = Path(__file__).resolve().parents[2] / "shared" / "bench"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    source, path = folder / "cgibbs.cpp", folder / "x1000.csv"
    if not (source.exists() and path.exists()):
        print(f"Skipped: no cgibbs.cpp and x1000.csv in {folder}; give their folder as argument.")
        return
    print(describe())
    with tempfile.TemporaryDirectory() as temporary:
        contenders = {"kernels": kernels(path), "C++": program(source, path, temporary)}
        results = {name: [] for name in contenders}
        for repeat in range(N_REPEATS):
            order = list(contenders) if repeat % 2 == 0 else list(contenders)[::-1]
            for name in order:
                results[name].append(contenders[name](repeat + 1))
    medians = {}
    for name, rows in results.items():
        times, n_clusters = np.array(rows).T
        medians[name] = np.median(times)
        error = n_clusters.std(ddof=1) / np.sqrt(N_REPEATS)
        print(
            f"{name:8} {medians[name]:.3f} s per 1000 sweeps (median of {N_REPEATS}; {times.min():.3f} to "
            f"{times.max():.3f}), mean number of clusters {n_clusters.mean():.2f} +- {error:.2f}"
        )
    print(f"ratio    {medians['kernels'] / medians['C++']:.2f}")


if __name__ == "__main__":
    main()
