"""What published sub-cluster samplers sample: five items, whose 52 partitions are enumerated, and three components.

Run with ``python benchmarks/published_subclusters.py``, or with ``--draws 20000`` for a look; prints the tables of
``docs/explanation/sub-clusters.md``.
"""

import argparse

import numpy as np
from common.part import describe, markdown
from peers.subclusters import CHANG_FISHER, DPMM_JL, DPMM_SUBCLUSTERS, Rules, subcluster_chain

import pymc_nrm as nrm
from pymc_nrm.measures.base import weights
from pymc_nrm.testing import exact_posterior, kernel_inputs, mean_and_error, partition_frequencies, total_variation

MEASURE = nrm.DirichletProcess(1.0)
# Items, and the prior variance of their means.
SETS = {"A": ([-1.5, -1.2, 0.2, 1.3, 1.6], 4.0), "B": ([-4.0, -3.5, 0.0, 3.5, 4.2], 9.0)}
# Rules, length of the memory, exact Gibbs sweeps before each sweep.
PROGRAMS = {
    "exact Gibbs sweeps": (Rules(CHANG_FISHER, False), 0, 1),
    "Chang & Fisher": (Rules(CHANG_FISHER, False), 1, 0),
    "Chang & Fisher, always splittable": (Rules(CHANG_FISHER, True), 1, 0),
    "DPMM.jl": (Rules(DPMM_JL, False), 4, 0),
    "DPMMSubClusters.jl, burnout 20": (Rules(DPMM_SUBCLUSTERS, False), 20, 0),
    "DPMMSubClusters.jl, burnout 5": (Rules(DPMM_SUBCLUSTERS, False), 5, 0),
    "DPMMSubClusters.jl, burnout 1": (Rules(DPMM_SUBCLUSTERS, False), 1, 0),
}
PARTS = {
    "labels, with clusters dropped": (Rules(DPMM_SUBCLUSTERS, False, True, False, False), 1, 1),
    "splits along halves": (Rules(DPMM_SUBCLUSTERS, False, False, True, False), 1, 1),
    "merges of DPMMSubClusters.jl": (Rules(DPMM_SUBCLUSTERS, False, False, False, True), 1, 1),
    "random splits and merges of Chang & Fisher": (Rules(CHANG_FISHER, False, False, False, True), 1, 1),
}


def known_variance(prior_variance):
    """Normal items of variance 1, but for one part in three thousand."""
    return nrm.NormalGamma(mu=0.0, kappa=1.0 / prior_variance, alpha=1e7, beta=1e7)


def draw(X, prior_variance, row, n_draws, seed):
    family, data = kernel_inputs(known_variance(prior_variance), X)
    rules, length, n_gibbs = row
    table = weights(MEASURE, len(X), 0.0)
    start = np.zeros(len(X), dtype=np.int64)
    rng = np.random.default_rng(seed)
    return subcluster_chain(rng, start, table, family, data, rules, length, n_gibbs, n_draws)


def enumerated(rows, n_draws):
    lines = []
    for title, row in rows.items():
        cells = []
        for X, variance in SETS.values():
            partitions, exact = exact_posterior(MEASURE, known_variance(variance), np.array(X))
            draws = draw(np.array(X), variance, row, n_draws, 1)[n_draws // 100 :]
            found = partition_frequencies(draws, partitions)
            sizes = partitions.max(axis=1) + 1
            _, error, _ = mean_and_error(draws.max(axis=1)[None] + 1.0)
            cells += [f"{total_variation(found, exact):.3f}", f"{(found - exact) @ sizes:+.2f} ± {error:.2f}"]
        lines.append([title, *cells])
    print(markdown(["", *(title for name in SETS for title in (f"{name}: total variation", "error of E[K]"))], lines))


def components(n_draws):
    lines = []
    for n in (30, 300, 3000):
        rng = np.random.default_rng(n)
        X = rng.normal(np.array([-6.0, 0.0, 6.0])[np.arange(n) % 3], 1.0)
        lines.append([n])
        for row in PROGRAMS.values():
            draws = draw(X, 36.0, row, n_draws, 2)[n_draws // 4 :]
            mean, error, _ = mean_and_error(draws.max(axis=1)[None] + 1.0)
            lines[-1].append(f"{mean:.2f} ± {error:.2f}")
    print(markdown(["n", *PROGRAMS], lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2_000_000, help="sweeps for five items")
    options = parser.parse_args()
    print(describe())
    enumerated(PROGRAMS, options.draws)
    print("\nOne part before each exact Gibbs sweep:\n")
    enumerated(PARTS, options.draws)
    print("\nMean number of clusters, three components six standard deviations apart:")
    components(max(options.draws // 500, 200))


if __name__ == "__main__":
    main()
