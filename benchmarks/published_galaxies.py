"""What published sub-cluster samplers make of the 82 galaxies: the number of clusters, and who belongs together.

Run with ``python benchmarks/published_galaxies.py``; prints the table of ``docs/paper/published-samplers.md``, stores
it in ``benchmarks/results/published_galaxies.json`` and draws its picture into ``docs/paper/galaxies.png``.  For a
look, ``--draws 300`` only prints.
"""

import argparse
import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from common.part import RESULTS, describe, markdown
from peers.subclusters import subcluster_chain
from published_subclusters import PROGRAMS

import pymc_nrm as nrm
from pymc_nrm.measures.base import weights
from pymc_nrm.testing import kernel_inputs, mean_and_error

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "paper" / "galaxies.png"
DRAWS = 20_000
SHOWN = ("exact Gibbs sweeps", "Chang & Fisher", "DPMM.jl", "DPMMSubClusters.jl, burnout 20")
COLORS = ("black", "#0072B2", "#E69F00", "#009E73")


def chain(row, n_draws, seed):
    """Labels of the galaxies in every draw but the first fifth, from one cluster."""
    velocities = nrm.datasets.galaxies() / 1000
    family = nrm.NormalGamma(mu=velocities.mean(), kappa=0.03, alpha=3.0, beta=6.0)
    family, data = kernel_inputs(family, velocities)
    rules, length, n_gibbs = row
    table = weights(nrm.DirichletProcess(1.0), len(velocities), 0.0)
    start = np.zeros(len(velocities), dtype=np.int64)
    rng = np.random.default_rng(seed)
    return subcluster_chain(rng, start, table, family, data, rules, length, n_gibbs, n_draws)[n_draws // 5 :]


def together(draws):
    """Probability of each pair of galaxies to be in one cluster."""
    return np.mean([labels[:, None] == labels for labels in draws], axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=DRAWS)
    options = parser.parse_args()
    print(describe())
    lines, shares, exact, found = [], {}, None, []
    for title, row in PROGRAMS.items():
        chains = [chain(row, options.draws, seed) for seed in (1, 2)]
        counts = np.array([draws.max(axis=1) + 1 for draws in chains])
        mean, error, _ = mean_and_error(counts.astype(float))
        pairs = np.mean([together(draws) for draws in chains], axis=0)
        exact = pairs if exact is None else exact
        shares[title] = np.bincount(counts.ravel(), minlength=21)[:21] / counts.size
        lines.append([title, f"{mean:.2f} ± {error:.2f}", f"{np.abs(pairs - exact).max():.2f}"])
        print(lines[-1], flush=True)
        found.append(
            {"rules": title, "K": float(mean), "K_mcse": float(error)}
            | {"largest_difference": float(np.abs(pairs - exact).max()), "shares": shares[title].tolist()}
        )
    print(markdown(["rules of", "mean number of clusters", "largest difference of a pair"], lines))
    if options.draws < DRAWS:
        return
    stored = {"machine": describe(), "draws": options.draws, "rows": found}
    (RESULTS / "published_galaxies.json").write_text(json.dumps(stored, indent=1) + "\n")
    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    for title, color, marker in zip(SHOWN, COLORS, "os^D", strict=True):
        axes.plot(range(1, 16), shares[title][1:16], marker=marker, color=color, label=title)
    axes.set(xlabel="number of clusters", ylabel="share of draws", xticks=range(1, 16))
    axes.legend(frameon=False)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=100)


if __name__ == "__main__":
    main()
