"""Lower bounds of the evidence from trees and alternative trees; greedy clustering of all items and of groups.

Run with ``python benchmarks/tree_bounds.py [FOLDER]``; FOLDER holds abalone.data and spambase.data (UCI, with a header
line) and 20news_w100.mat (S. Roweis).  Iris, wine and digits come with scikit-learn.  Missing data sets are named and
skipped.  Small sets are compared with the exact evidence and with collapsed variational inference.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import tree_bounds_figures as figures
from common.machine import describe
from tree_bounds_data import gaussians, real_sets, synthetic
from variational import collapsed, components

import pymc_nrm as nrm
from pymc_nrm.testing import log_evidence
from pymc_nrm.trees import (
    alternative_trees,
    bayes_kmeans_bhc,
    bhc,
    optimize_hyperparameters,
    predictive_log_density,
)

ROOT = Path(__file__).resolve().parents[1]
PRIORS = {
    "variational, stick-breaking": collapsed.StickBreaking,
    "variational, symmetric Dirichlet": collapsed.SymmetricDirichlet,
}
DP = nrm.DirichletProcess(1.0)
TRUNCATION = 20


def small_sets(n_draws, images):
    """Bounds and predictive densities of 3 to 9 binary items, compared with the exact ones."""
    sizes, n_new = np.arange(3, 10), 10
    family = nrm.BernoulliBeta(1.0, 1.0)
    bounds, predictions = {}, {}
    for name in ("I", "II", "III"):
        rng = np.random.default_rng(1)
        methods = ["tree", "alternative trees", *PRIORS]
        bound = {method: np.zeros((len(sizes), n_draws)) for method in methods}
        prediction = {method: np.zeros((len(sizes), n_draws)) for method in methods if method != "alternative trees"}
        for a, n in enumerate(sizes):
            for b in range(n_draws):
                X, new = np.split(synthetic(name, n + n_new, rng), [n])
                exact = log_evidence(X, family, DP)
                exact_new = np.array([log_evidence(np.vstack([X, x]), family, DP) - exact for x in new])
                tree = bhc(X, family, DP, u=1.0)
                bound["tree"][a, b] = tree.log_evidence - exact
                bound["alternative trees"][a, b] = alternative_trees(tree, X, family, DP).log_bound - exact
                found = predictive_log_density(tree, X, new, family, DP)
                prediction["tree"][a, b] = (found - exact_new).mean()
                for method, prior in PRIORS.items():
                    parts = components.Bernoulli(X, family), prior(1.0)
                    log_bound, R = collapsed.best_fit(*parts, TRUNCATION, rng, 3)
                    bound[method][a, b] = log_bound - exact
                    found = collapsed.predictive_log_density(*parts, R, new)
                    prediction[method][a, b] = (found - exact_new).mean()
        bounds[name], predictions[name] = bound, prediction
        print(f"\nset {name}: mean log bound - log evidence, for {sizes.tolist()} items")
        for method, values in bound.items():
            print(f"  {method:<34}" + "".join(f"{value:8.2f}" for value in values.mean(axis=1)))
        gain = (bound["alternative trees"] - bound["tree"]).mean(axis=1)
        print(f"  {'gain of alternative trees':<34}" + "".join(f"{value:8.2f}" for value in gain))
        print("  mean predictive log density of a new item - exact")
        for method, values in prediction.items():
            print(f"  {method:<34}" + "".join(f"{value:8.3f}" for value in values.mean(axis=1)))
    figures.gaps(bounds, sizes, "log bound - log evidence", images / "bounds_synthetic.png")
    figures.gaps(predictions, sizes, "predictive log density - exact", images / "bounds_predictive.png")


def timed(function, *arguments, **options):
    start = time.perf_counter()
    result = function(*arguments, **options)
    return result, time.perf_counter() - start


def real_data(folder, most, images):
    """Bounds, numbers of clusters, times, and predictive densities of a held-out fifth."""
    rng = np.random.default_rng(1)
    found, absent = real_sets(folder, most, rng)
    for name in absent:
        print(f"left out: {name}")
    gains = {}
    measures = {"DP(1)": DP, "NGG(1, 0.5)": nrm.NormalizedGeneralizedGamma(1.0, 0.5)}
    titles = ("log bound", "gain", "clusters", "seconds", "held out")
    print(f"\n{'set':<20}{'n':>5}{'d':>4} {'measure':<12}{'method':<34}" + "".join(f"{t:>11}" for t in titles))
    for name, (X, make_family) in found.items():
        order = rng.permutation(len(X))
        test, train = X[order[: len(X) // 5]], X[order[len(X) // 5 :]]
        family = make_family(train)
        for label, measure in measures.items():
            first = f"{name:<20}{len(train):>5}{X.shape[1]:>4} {label:<12}"
            for algorithm in (bhc, bayes_kmeans_bhc):
                # The first call compiles the kernels.
                algorithm(train[:20], family, measure, random_seed=1)
                tree, seconds = timed(algorithm, train, family, measure, random_seed=1)
                better = alternative_trees(tree, train, family, measure)
                held_out = predictive_log_density(tree, train, test, family, measure).mean()
                numbers = f"{tree.log_evidence:11.1f}{better.log_gain:11.3f}{tree.n_clusters:11d}"
                print(f"{first}{algorithm.__name__:<34}{numbers}{seconds:11.3f}{held_out:11.3f}", flush=True)
                if algorithm is bhc and measure is DP:
                    gains[name] = tree.tree.size[len(train) :], better.node_gains[len(train) :]
        first = f"{name:<20}{len(train):>5}{X.shape[1]:>4} {'DP(1)':<12}"
        others(first, train, test, family, np.random.default_rng(1))
    if gains:
        figures.node_gains(gains, images / "bounds_gains.png")


def others(first, train, test, family, rng):
    """Other methods on the same data; scikit-learn's has no comparable bound."""
    if isinstance(family, nrm.BernoulliBeta):
        for method, prior in PRIORS.items():
            parts = components.Bernoulli(train, family), prior(1.0)
            (log_bound, R), seconds = timed(collapsed.fit, *parts, TRUNCATION, rng, n_sweeps=30)
            held_out = collapsed.predictive_log_density(*parts, R, test).mean()
            used = len(np.unique(R.argmax(axis=1)))
            print(f"{first}{method:<34}{log_bound:11.1f}{'':11}{used:11d}{seconds:11.3f}{held_out:11.3f}", flush=True)
        return
    options = {"algorithm": bayes_kmeans_bhc, "n_rounds": 8, "random_seed": 1}
    best, seconds = timed(optimize_hyperparameters, train, family, DP, **options)
    held_out = predictive_log_density(best.dendrogram, train, test, best.family, best.measure).mean()
    numbers = f"{best.log_bounds[-1]:11.1f}{'':11}{best.dendrogram.n_clusters:11d}{seconds:11.3f}{held_out:11.3f}"
    print(f"{first}{'groups, optimised':<34}{numbers}", flush=True)
    try:
        from sklearn.mixture import BayesianGaussianMixture
    except ImportError:
        print(f"{first}scikit-learn is not installed")
        return
    model = BayesianGaussianMixture(
        n_components=TRUNCATION, weight_concentration_prior=1.0, max_iter=500, random_state=1, n_init=3
    )
    _, seconds = timed(model.fit, train)
    used = len(np.unique(model.predict(train)))
    method = "BayesianGaussianMixture"
    print(f"{first}{method:<34}{'':22}{used:11d}{seconds:11.3f}{model.score(test):11.3f}", flush=True)


def greedy_against_groups(images):
    """Time and bound against the number of items, for round clusters in the plane and two families.

    One family knows the scale of clusters.  The other takes everything from the data and expects wide clusters.
    """
    sizes = np.array([250, 500, 1000, 2000, 4000])
    families = {"known scale": lambda X: nrm.NormalGamma(X.mean(axis=0), 0.01, 2.0, 1.0)}
    families["from_data"] = nrm.NormalGamma.from_data
    algorithms = {"bhc": (bhc, 1), "bayes_kmeans_bhc": (bayes_kmeans_bhc, 5)}
    seconds = {name: np.zeros(len(sizes)) for name in algorithms}
    excess = {label: np.zeros(len(sizes)) for label in families}
    print(f"\n{'items':>6} {'family':<14}{'method':<20}{'seconds':>10}{'log bound':>12}{'clusters':>10}")
    for k, n in enumerate(sizes):
        X = gaussians(n, np.random.default_rng(1))
        for label, make_family in families.items():
            family, bounds = make_family(X), {}
            for name, (algorithm, n_runs) in algorithms.items():
                algorithm(X[:20], family, DP, random_seed=1)
                trees, times = zip(
                    *[timed(algorithm, X, family, DP, random_seed=seed) for seed in range(n_runs)], strict=True
                )
                bounds[name] = np.median([tree.log_evidence for tree in trees])
                if label == "known scale":
                    seconds[name][k] = np.median(times)
                clusters = int(np.median([tree.n_clusters for tree in trees]))
                numbers = f"{np.median(times):10.3f}{bounds[name]:12.1f}{clusters:10d}"
                print(f"{n:6d} {label:<14}{name:<20}{numbers}", flush=True)
            excess[label][k] = 100 * (bounds["bayes_kmeans_bhc"] / bounds["bhc"] - 1)
    figures.groups(sizes, seconds, {label: -values for label, values in excess.items()}, images / "bounds_groups.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="folder of abalone.data, spambase.data, 20news_w100.mat")
    parser.add_argument("--images", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--most", type=int, default=2000, help="largest number of items of a set")
    parser.add_argument("--draws", type=int, default=20, help="data sets for each number of items")
    parser.add_argument("--part", choices=("all", "small", "groups", "real"), default="all")
    arguments = parser.parse_args()
    print(describe())
    if arguments.part in ("all", "small"):
        small_sets(arguments.draws, arguments.images)
    if arguments.part in ("all", "groups"):
        greedy_against_groups(arguments.images)
    if arguments.part in ("all", "real"):
        real_data(arguments.folder, arguments.most, arguments.images)


if __name__ == "__main__":
    main()
