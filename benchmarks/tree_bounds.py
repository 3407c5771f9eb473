"""Lower bounds of the evidence from trees and alternative trees; greedy clustering of all items and of groups.

Run with ``python benchmarks/tree_bounds.py``; data sets that are not installed, or not in ``../shared/data``, are named
and skipped.  Small sets are compared with the exact evidence and with collapsed variational inference.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from common.part import describe
from common.pictures import BLACK, BLUE, GREEN, RED, legend, picture
from common.real_data_sets import load_all
from peers import collapsed, scikit_learn

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
STYLES = {
    "tree": {"color": BLACK, "marker": "o", "linestyle": "-"},
    "alternative trees": {"color": RED, "marker": "s", "linestyle": "-"},
    "variational, stick-breaking": {"color": BLUE, "marker": "^", "linestyle": "--"},
    "variational, symmetric Dirichlet": {"color": GREEN, "marker": "v", "linestyle": ":"},
}
DP = nrm.DirichletProcess(1.0)
TRUNCATION, N_FEATURES, DPI = 20, 8, 150
# Probability of a one in one of two clusters, of which the other has the complement: more and more structure.
CHANCES = {"I": 0.5, "II": 0.3, "III": 0.05}


def small_sets(n_draws, images):
    """Bounds and predictive densities of 3 to 9 binary items, compared with the exact ones."""
    sizes, n_new = np.arange(3, 10), 10
    family = nrm.BernoulliBeta(1.0, 1.0)
    bounds, predictions = {}, {}
    for name, low in CHANCES.items():
        rng = np.random.default_rng(1)
        bound = {method: np.zeros((len(sizes), n_draws)) for method in STYLES}
        prediction = {method: np.zeros((len(sizes), n_draws)) for method in STYLES if method != "alternative trees"}
        for place in np.ndindex(len(sizes), n_draws):
            n = sizes[place[0]]
            chance = np.where(rng.random((n + n_new, 1)) < 0.5, low, 1.0 - low)
            X, new = np.split((rng.random((n + n_new, N_FEATURES)) < chance).astype(float), [n])
            exact = log_evidence(X, family, DP)
            exact_new = np.array([log_evidence(np.vstack([X, x]), family, DP) - exact for x in new])
            tree = bhc(X, family, DP, u=1.0)
            bound["tree"][place] = tree.log_evidence - exact
            bound["alternative trees"][place] = alternative_trees(tree, X, family, DP).log_bound - exact
            prediction["tree"][place] = (predictive_log_density(tree, X, new, family, DP) - exact_new).mean()
            for method, prior in PRIORS.items():
                parts = collapsed.Bernoulli(X, family), prior(1.0)
                log_bound, R = collapsed.best_fit(*parts, TRUNCATION, rng, 3)
                bound[method][place] = log_bound - exact
                prediction[method][place] = (collapsed.predictive_log_density(*parts, R, new) - exact_new).mean()
        bounds[name], predictions[name] = bound, prediction
        print(f"\nset {name}: mean log bound - log evidence, for {sizes.tolist()} items")
        gain = {"gain of alternative trees": bound["alternative trees"] - bound["tree"]}
        print_means(bound | gain, "8.2f")
        print("  mean predictive log density of a new item - exact")
        print_means(prediction, "8.3f")
    gaps(bounds, sizes, "log bound - log evidence", images / "bounds_synthetic.png")
    gaps(predictions, sizes, "predictive log density - exact", images / "bounds_predictive.png")


def print_means(found, digits):
    for method, values in found.items():
        print(f"  {method:<34}" + "".join(f"{value:{digits}}" for value in values.mean(axis=1)))


def gaps(results, sizes, ylabel, path):
    """Mean differences from the exact value and standard errors; ``results[set][method]`` has shape (sizes, draws)."""
    with picture(path, 1, len(results), dpi=DPI, figsize=(10, 3.6), sharey=True) as (figure, axes):
        for axis, (name, methods) in zip(axes, results.items(), strict=True):
            for method, values in methods.items():
                error = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
                axis.errorbar(sizes, values.mean(axis=1), error, label=method, markersize=4, **STYLES[method])
            axis.axhline(0, color="grey", linewidth=0.8)
            axis.set(title=f"Set {name}", xlabel="items")
        axes[0].set_ylabel(ylabel)
        legend(figure, axes[0], ncols=4, fontsize=8)


def timed(function, *arguments, **options):
    start = time.perf_counter()
    result = function(*arguments, **options)
    return result, time.perf_counter() - start


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def bernoulli(X):
    """Beta(1/2, 1/2) for every feature."""
    return nrm.BernoulliBeta(0.5, 0.5)


# For each set how its features are changed, and the family given the training items.
SETS = {
    "iris": (standardised, nrm.NormalWishart.from_data),
    "wine": (standardised, nrm.NormalGamma.from_data),
    "digits, pixels": (lambda X: (X >= 8).astype(float), bernoulli),
    "abalone": (standardised, nrm.NormalWishart.from_data),
    "spam words": (np.asarray, bernoulli),
    "newsgroups": (np.asarray, bernoulli),
}


def print_row(first, log_bound, gain, n_clusters, seconds, held_out):
    numbers = (
        f"{value:11{digits}}" if value is not None else " " * 11
        for value, digits in zip(
            (log_bound, gain, n_clusters, seconds, held_out), (".1f", ".3f", "d", ".3f", ".3f"), strict=True
        )
    )
    print(first + "".join(numbers), flush=True)


def real_data(most, images):
    """Bounds, numbers of clusters, times, and predictive densities of a held-out fifth."""
    rng = np.random.default_rng(1)
    gains = {}
    measures = {"DP(1)": DP, "NGG(1, 0.5)": nrm.NormalizedGeneralizedGamma(1.0, 0.5)}
    titles = ("log bound", "gain", "clusters", "seconds", "held out")
    print(f"\n{'set':<20}{'n':>5}{'d':>4} {'measure':<12}{'method':<34}" + "".join(f"{t:>11}" for t in titles))
    for name, data in load_all(SETS, print).items():
        change, make_family = SETS[name]
        X = change(data.values)
        order = rng.permutation(len(X))[:most]
        test, train = X[order[: len(order) // 5]], X[order[len(order) // 5 :]]
        family = make_family(train)
        first = f"{name:<20}{len(train):>5}{X.shape[1]:>4} "
        for label, measure in measures.items():
            for algorithm in (bhc, bayes_kmeans_bhc):
                # The first call compiles the kernels.
                algorithm(train[:20], family, measure, random_seed=1)
                tree, seconds = timed(algorithm, train, family, measure, random_seed=1)
                better = alternative_trees(tree, train, family, measure)
                held_out = predictive_log_density(tree, train, test, family, measure).mean()
                numbers = tree.log_evidence, better.log_gain, tree.n_clusters, seconds, held_out
                print_row(f"{first}{label:<12}{algorithm.__name__:<34}", *numbers)
                if algorithm is bhc and measure is DP:
                    gains[name] = tree.tree.size[len(train) :], better.node_gains[len(train) :]
        for method, *numbers in others(train, test, family, np.random.default_rng(1)):
            print_row(f"{first}{'DP(1)':<12}{method:<34}", *numbers)
    if gains:
        node_gains(gains, images / "bounds_gains.png")


def others(train, test, family, rng):
    """Other methods on the same data: log bound, clusters, seconds, density; scikit-learn's bound is not comparable."""
    if isinstance(family, nrm.BernoulliBeta):
        for method, prior in PRIORS.items():
            parts = collapsed.Bernoulli(train, family), prior(1.0)
            (log_bound, R), seconds = timed(collapsed.fit, *parts, TRUNCATION, rng, n_sweeps=30)
            held_out = collapsed.predictive_log_density(*parts, R, test).mean()
            yield method, log_bound, None, len(np.unique(R.argmax(axis=1))), seconds, held_out
        return
    options = {"algorithm": bayes_kmeans_bhc, "n_rounds": 8, "random_seed": 1}
    best, seconds = timed(optimize_hyperparameters, train, family, DP, **options)
    held_out = predictive_log_density(best.dendrogram, train, test, best.family, best.measure).mean()
    yield "groups, optimised", best.log_bounds[-1], None, best.dendrogram.n_clusters, seconds, held_out
    options = {"weight_concentration_prior": 1.0, "n_components": TRUNCATION, "n_init": 3}
    model, seconds = scikit_learn.variational_fit(train, 1, **options)
    yield "BayesianGaussianMixture", None, None, len(np.unique(model.predict(train))), seconds, model.score(test)


def node_gains(gains, path):
    """Gains of single nodes against their sizes; ``gains[set]`` is a pair of arrays."""
    n_rows = -(-len(gains) // 3)
    shared = {"figsize": (9, 2.8 * n_rows), "sharey": True, "squeeze": False}
    with picture(path, n_rows, 3, dpi=DPI, **shared) as (figure, axes):
        for axis in axes.flat[len(gains) :]:
            axis.set_visible(False)
        for axis, (name, (size, gain)) in zip(axes.flat, gains.items(), strict=False):
            axis.scatter(size, np.maximum(gain, 1e-6), s=10, color=BLUE, alpha=0.5, linewidths=0)
            axis.set(xscale="log", yscale="log", title=name)
        figure.supxlabel("items below the node", fontsize=10)
        figure.supylabel("log gain of the bound (1e-6 or more)", fontsize=10)


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
        rng = np.random.default_rng(1)
        X = 10.0 * rng.normal(size=(10, 2))[rng.integers(10, size=n)] + rng.normal(size=(n, 2))
        for label, make_family in families.items():
            family, bounds = make_family(X), {}
            for name, (algorithm, n_runs) in algorithms.items():
                algorithm(X[:20], family, DP, random_seed=1)
                runs = [timed(algorithm, X, family, DP, random_seed=seed) for seed in range(n_runs)]
                bounds[name] = np.median([tree.log_evidence for tree, _ in runs])
                middle = np.median([time for _, time in runs])
                if label == "known scale":
                    seconds[name][k] = middle
                clusters = int(np.median([tree.n_clusters for tree, _ in runs]))
                print(f"{n:6d} {label:<14}{name:<20}{middle:10.3f}{bounds[name]:12.1f}{clusters:10d}", flush=True)
            excess[label][k] = 100 * (1 - bounds["bayes_kmeans_bhc"] / bounds["bhc"])
    groups_picture(sizes, seconds, excess, images / "bounds_groups.png")


def groups_picture(sizes, seconds, excess, path):
    """Times of greedy clustering of items and of groups, and by how many per cent the bound of groups is larger."""
    styles = [(BLACK, "o", "-"), (RED, "s", "--")]
    with picture(path, 1, 2, dpi=DPI, figsize=(9, 3.6)) as (_, (left, right)):
        for (name, values), (color, marker, line) in zip(seconds.items(), styles, strict=True):
            left.plot(sizes, values, color=color, marker=marker, linestyle=line, label=name)
        for (name, values), (_, marker, line) in zip(excess.items(), styles, strict=True):
            right.plot(sizes, values, color=BLUE, marker=marker, linestyle=line, label=f"family: {name}")
        right.axhline(0, color="grey", linewidth=0.8)
        left.set(yscale="log", ylabel="seconds")
        right.set(ylabel="log bound of groups\nabove that of bhc (%)")
        for axis in (left, right):
            axis.set(xscale="log", xlabel="items")
            axis.set_xticks(sizes, [f"{size:,}" for size in sizes], fontsize=9)
            axis.minorticks_off()
            axis.legend(frameon=False, fontsize=8)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--most", type=int, default=2000, help="largest number of items of a set")
    parser.add_argument("--draws", type=int, default=20, help="data sets for each number of items")
    parser.add_argument("--part", choices=("all", "small", "groups", "real"), default="all")
    options = parser.parse_args()
    print(describe())
    if options.part in ("all", "small"):
        small_sets(options.draws, options.images)
    if options.part in ("all", "groups"):
        greedy_against_groups(options.images)
    if options.part in ("all", "real"):
        real_data(options.most, options.images)


if __name__ == "__main__":
    main()
