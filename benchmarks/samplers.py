"""Samplers of a partition side by side: log joint density against CPU time, and effective sample sizes per second.

Run with ``python benchmarks/samplers.py toy`` (or ``10k``, ``documents``, or ``FILE.npz`` with a SciPy sparse matrix of
word counts), and optionally ``--seconds``, ``--start one|chosen`` and ``--picture FILE.png``.  The toy and 10k sets are
those of Lee & Choi (2015), read from ../shared where they are present; the documents are simulated at the size of their
corpus.  With ``--vary`` the published sampler runs with several numbers of global moves and levels instead, beside the
exact tree-guided sampler.  A biased sampler is marked as such: its effective sample size says nothing about the
posterior.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import arviz_stats
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import xarray as xr
from common.machine import describe
from scipy import sparse

import pymc_nrm as nrm

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"

# Colours that people with any colour vision tell apart (Okabe & Ito); line styles help further.
COLORS = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#0072B2", "#999999")
LINES = ("-", "--", "-.", ":")


def load(name):
    """Data, family, measure, and the margin in nats that counts as arrived."""
    if name == "toy":
        X = np.loadtxt(SHARED / "lee_choi_toy" / "X.txt")
        return X, nrm.NormalWishart.from_data(X), nrm.DirichletProcess(1.0), 5.0
    if name == "10k":
        X = np.loadtxt(SHARED / "lee_choi_10k" / "X.txt")
        return X, nrm.NormalWishart.from_data(X), nrm.NormalizedGeneralizedGamma(1.0, 0.5), 100.0
    X = simulated_corpus(np.random.default_rng(1)) if name == "documents" else sparse.load_npz(name)
    return X, nrm.MultinomialDirichlet(0.1), nrm.NormalizedGeneralizedGamma(1.0, 0.5), 100.0


def simulated_corpus(rng, n=1500, n_words=12_419, n_topics=60):
    """Documents of about 1300 words each from topics of unequal sizes, word frequencies falling like 1/rank."""
    base = 1.0 / np.arange(1, n_words + 1)
    topics = rng.gamma(0.2 + 50 * base / base.max(), size=(n_topics, n_words)) * base
    topics /= topics.sum(axis=1, keepdims=True)
    topic = rng.choice(n_topics, n, p=rng.dirichlet(np.full(n_topics, 0.5)))
    rows = [sparse.csr_matrix(rng.multinomial(rng.poisson(1300), topics[t])) for t in topic]
    return sparse.vstack(rows).tocsr()


def samplers(n):
    """Names, step classes and options."""
    tenth = n // 10
    return {
        "Gibbs": (nrm.MarginalGibbs, {}),
        "Gibbs on a tenth": (nrm.MarginalGibbs, {"n_items": tenth}),
        "split-merge, sequential": (nrm.SplitMerge, {}),
        "split-merge, restricted Gibbs": (nrm.SplitMerge, {"proposal": "restricted_gibbs"}),
        "split-merge and Gibbs on a tenth": (nrm.SplitMerge, {"proposal": "restricted_gibbs", "n_items": tenth}),
        "published tree-guided (biased)": (nrm.PublishedTreeGuided, {}),
        "tree-guided": (nrm.TreeGuided, {}),
    }


def published_samplers(n):
    """The published sampler with several numbers of global moves G and levels D, and the exact one."""
    chosen = {
        f"published G={n_global} D={n_levels} (biased)": {"n_global": n_global, "n_levels": n_levels}
        for n_global in (5, 20, 80)
        for n_levels in (0, 2, 4)
    }
    steps = {name: (nrm.PublishedTreeGuided, options) for name, options in chosen.items()}
    return steps | {"tree-guided": (nrm.TreeGuided, {})}


def run(model, step_class, options, seconds, start, rng):
    """Times, log joint densities, numbers of clusters and mean log acceptance ratios of the draws of one chain."""
    with model, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the published sampler says that it is biased, as the label does
        step = step_class([model["z"]], rng=rng, **options)
    point = model.initial_point()
    # One draw compiles what the constructor has not, so that no sampler pays for that.
    step.setup_chain(np.random.default_rng(0), 0, 1)
    step.step(point)
    step.setup_chain(rng, 0, 1)
    step.may_choose_start = start == "chosen"
    rows, begin = [], time.process_time()
    while not rows or rows[-1][0] < seconds:
        point, [stats] = step.step(point)
        elapsed = time.process_time() - begin
        ratio = stats.get("log_acceptance_ratio", np.nan)
        rows.append((elapsed, stats["log_joint"], stats["n_clusters"], ratio))
        progress(elapsed, seconds, stats)
    print()
    return np.array(rows)


def progress(elapsed, seconds, stats):
    """Rewrite one line of a terminal about every second."""
    if sys.stdout.isatty() and int(4 * elapsed) % 4 == 0:
        print(
            f"\r  {min(elapsed, seconds):5.1f} of {seconds:.0f} s, log joint {stats['log_joint']:.1f}, "
            f"{stats['n_clusters']} clusters   ",
            end="",
            flush=True,
        )


def effective_per_second(rows):
    """Effective sample sizes per second of the log joint and of the number of clusters, over the second half."""
    half = rows[rows[:, 0] > rows[-1, 0] / 2]
    if len(half) < 20:
        return np.nan, np.nan
    data = xr.Dataset({name: (("chain", "draw"), half[None, :, k]) for k, name in ((1, "log_joint"), (2, "clusters"))})
    sizes = arviz_stats.ess(data)
    return tuple(float(sizes[name]) / (half[-1, 0] - half[0, 0]) for name in ("log_joint", "clusters"))


def table(results, margin):
    """One line per sampler.  Arrived: first within the margin of the mean of the unbiased sampler that ends highest."""
    unbiased = {name: rows for name, rows in results.items() if "biased" not in name}
    target = max(rows[len(rows) // 2 :, 1].mean() for rows in unbiased.values()) - margin
    titles = ("ms/draw", "arrived (s)", "clusters", "ESS/s log joint", "of clusters", "log ratio")
    print(f"{'sampler':<34}" + "".join(f"{title:>16}" for title in titles))
    for name, rows in results.items():
        arrived = rows[rows[:, 1] > target, 0]
        first = f"{arrived[0]:.2f}" if len(arrived) else "never"
        half = rows[len(rows) // 2 :]
        log_joint, clusters = effective_per_second(rows)
        ratio = np.nanmean(half[:, 3]) if np.isfinite(half[:, 3]).any() else np.nan
        numbers = (1e3 * rows[-1, 0] / len(rows), half[:, 2].mean(), log_joint, clusters, ratio)
        cells = [f"{number:.3g}" for number in numbers]
        print(f"{name:<34}" + "".join(f"{cell:>16}" for cell in (cells[0], first, *cells[1:])))


def picture(results, name, path):
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained", sharex=True)
    for k, (label, rows) in enumerate(results.items()):
        style = {"color": COLORS[k % len(COLORS)], "linestyle": LINES[(k // len(COLORS) + k) % len(LINES)]}
        if label == "tree-guided":
            style = {"color": "#D55E00", "linestyle": "-", "linewidth": 2.2}
        # Draws at 120 times in even steps of log time: a line, not a band.
        times = np.geomspace(rows[0, 0], rows[-1, 0], 120)
        rows = rows[np.unique(np.searchsorted(rows[:, 0], times).clip(max=len(rows) - 1))]
        left.plot(rows[:, 0], rows[:, 1], label=label, **style)
        right.plot(rows[:, 0], rows[:, 2], **style)
    left.set(xscale="log", xlabel="CPU time (s)", ylabel="log p(data, partition, u) (nats)")
    right.set(xlabel="CPU time (s)", ylabel="number of clusters")
    figure.suptitle(f"{name}: one chain of each sampler")
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="toy, 10k, documents or a file FILE.npz")
    parser.add_argument("--seconds", type=float, default=20.0, help="CPU seconds for each sampler")
    parser.add_argument(
        "--start", choices=("one", "chosen"), default="one", help="one cluster, or the sampler's choice"
    )
    parser.add_argument("--vary", action="store_true", help="vary global moves and levels of the published sampler")
    parser.add_argument("--only", default="", help="run only the samplers whose names contain this, several by commas")
    parser.add_argument("--picture", default=None, help="where to save the picture")
    arguments = parser.parse_args()
    if arguments.data in ("toy", "10k") and not SHARED.exists():
        sys.exit(f"{SHARED} is not here: the set {arguments.data} cannot be run")
    X, family, measure, margin = load(arguments.data)
    print(describe())
    print(f"{arguments.data}: {X.shape[0]} x {X.shape[1]}, {measure}, start: {arguments.start}")
    with pm.Model() as model:
        z = nrm.Partition("z", measure, n=X.shape[0])
        nrm.Mixture("x", z, family, observed=X)
    results = {}
    chosen = (published_samplers if arguments.vary else samplers)(X.shape[0])
    for name, (step_class, options) in chosen.items():
        if not any(part in name for part in arguments.only.split(",")):
            continue
        print(f"running {name} ...", flush=True)
        results[name] = run(model, step_class, options, arguments.seconds, arguments.start, np.random.default_rng(1))
    table(results, margin)
    path = arguments.picture or f"samplers_{Path(arguments.data).stem}.png"
    picture(results, arguments.data, path)
    print(f"Saved {path}")


if __name__ == "__main__":
    main()
