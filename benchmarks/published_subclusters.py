"""What published sub-cluster samplers sample: five items, whose 52 partitions are enumerated, and three components.

Run with ``python benchmarks/published_subclusters.py``, or with ``--draws 20000`` for a look; prints the tables of
``docs/explanation/sub-clusters.md``, and stores them in ``benchmarks/results/published_subclusters.json`` if there are
200,000 draws or more.
"""

import argparse
import json

import numpy as np
from common.noise import variation_of_noise
from common.part import RESULTS, describe, markdown
from peers.subclusters import CHANG_FISHER, DPMM_JL, DPMM_SUBCLUSTERS, Rules, subcluster_chain

import pymc_nrm as nrm
from pymc_nrm.measures.base import weights
from pymc_nrm.testing import exact_posterior, kernel_inputs, mean_and_error, total_variation

MEASURE = nrm.DirichletProcess(1.0)
# Draws from which on the tables are stored.
STORED = 200_000
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
    """Distances from the posterior of five items, with what noise alone gives."""
    found = []
    for title, row in rows.items():
        for name, (X, variance) in SETS.items():
            partitions, exact = exact_posterior(MEASURE, known_variance(variance), np.array(X))
            draws = draw(np.array(X), variance, row, n_draws, 1)[n_draws // 100 :]
            # Digits of the labels in base n name a partition.
            places = len(X) ** np.arange(len(X))
            order = np.argsort(partitions @ places)
            states = order[np.searchsorted((partitions @ places)[order], draws @ places)]
            share = np.bincount(states, minlength=len(exact)) / len(states)
            sizes = partitions.max(axis=1) + 1
            _, error, _ = mean_and_error(sizes[states][None].astype(float))
            found.append(
                {"rules": title, "set": name, "variation": total_variation(share, exact), "exact_K": exact @ sizes}
                | {"noise": variation_of_noise(states[None], len(exact))}
                | {"error_of_K": (share - exact) @ sizes, "error_of_K_mcse": float(error)}
            )
    cells = {title: [] for title in rows}
    for row in found:
        cells[row["rules"]] += [
            f"{row['variation']:.3f} ({row['noise']:.3f})",
            f"{row['error_of_K']:+.2f} ± {row['error_of_K_mcse']:.3f}",
        ]
    lines = [[title, *of_title] for title, of_title in cells.items()]
    titles = (title for name in SETS for title in (f"{name}: total variation (noise alone)", "error of E[K]"))
    print(markdown(["", *titles], lines), flush=True)
    return found


def components(n_draws):
    """Mean numbers of clusters of three components, for more and more items."""
    lines, found = [], []
    for n in (30, 300, 3000):
        rng = np.random.default_rng(n)
        X = rng.normal(np.array([-6.0, 0.0, 6.0])[np.arange(n) % 3], 1.0)
        lines.append([n])
        for title, row in PROGRAMS.items():
            draws = draw(X, 36.0, row, n_draws, 2)[n_draws // 4 :]
            mean, error, _ = mean_and_error(draws.max(axis=1)[None] + 1.0)
            lines[-1].append(f"{mean:.2f} ± {error:.2f}")
            found.append({"n": n, "rules": title, "K": float(mean), "K_mcse": float(error)})
    print(markdown(["n", *PROGRAMS], lines))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1_000_000, help="sweeps for five items")
    options = parser.parse_args()
    print(describe())
    found = {"machine": describe(), "draws": options.draws, "programs": enumerated(PROGRAMS, options.draws)}
    print("\nOne part before each exact Gibbs sweep:\n")
    found["parts"] = enumerated(PARTS, options.draws)
    print("\nMean number of clusters, three components six standard deviations apart:")
    found["components"] = components(2000 if options.draws >= STORED else 200)
    if options.draws >= STORED:
        (RESULTS / "published_subclusters.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
