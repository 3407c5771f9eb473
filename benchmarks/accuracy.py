"""CPU time to a given accuracy of the number of clusters and of the density, of the package and of other programs."""

import warnings
from functools import partial

import numpy as np
import xarray as xr
from common.data import plane
from common.part import Part, columns, rows_to_keep, skipping, spread
from common.pictures import COLORS, LINES, MARKERS, RED, legend, picture
from matplotlib.ticker import FuncFormatter, NullFormatter
from peers import pyrichlet_gibbs, scikit_learn, stick_breaking, stock_steps
from peers.stock_steps import ALPHA, FAMILY, N_COMPONENTS, NUTPIE

import pymc_nrm as nrm

TREE = "TreeGuided"
NUTS = "PyMC: NUTS, labels summed out"
LABELS = "PyMC: labels by Gibbs, NUTS"
PYRICHLET = "pyrichlet, slice sampler"
FITS = ("scikit-learn, variational", "scikit-learn, EM and BIC")
# Errors of the mean number of clusters, and root mean square errors of the log density.
GOALS = {"clusters": (1.0, 0.3), "density": (0.05, 0.02)}
TITLES = {"clusters": "mean number of clusters", "density": "log predictive density"}


def time_to(row, quantity, goal):
    """First CPU time from which the error stays at or below a goal, or None if there is none."""
    above = np.flatnonzero(np.array(row[quantity]) > goal)
    first = above[-1] + 1 if len(above) else 0
    return row["seconds"][first] if first < len(row["seconds"]) else None


def table(rows):
    text = (
        "1000 items in the plane in six overlapping clusters, DP(1), normal-Wishart base measure.  CPU seconds until "
        "the mean number of clusters (10.87) and the predictive density at 200 places are known to a given root mean "
        "square error, tuning included and compilation not, from the second half of the draws so far.  PyMC and nutpie "
        f"truncate the stick-breaking at {N_COMPONENTS} components.\n\n"
    )
    shown = {"Method": "method"}
    for quantity, goals in GOALS.items():
        for goal in goals:
            title = f"s to {goal:g}, {quantity}"
            shown[title] = lambda row, quantity=quantity, goal=goal: time_to(row, quantity, goal)
    shown["last error, clusters"] = lambda row: row["clusters"][-1]
    return text + columns(rows, shown | {"density": lambda row: row["density"][-1]})


def headline(rows):
    """The claim: how much sooner the default step is accurate than the best peer."""
    found = {row["method"]: row for row in rows}
    peers = [name for name in (NUTS, NUTPIE, LABELS, PYRICHLET) if name in found]
    if TREE not in found or not peers:
        return []
    parts = []
    for quantity, (goal, _) in GOALS.items():
        times = {name: time_to(found[name], quantity, goal) for name in peers}
        reached = {name: t for name, t in times.items() if t is not None}
        own = time_to(found[TREE], quantity, goal)
        best = min(reached, key=reached.get) if reached else None
        peer = f"{reached[best]:.2g} s ({best})" if best else "none in its time"
        parts.append(f"{TITLES[quantity]} within {goal:g}: {'never' if own is None else f'{own:.2g} s'}; {peer}")
    return [("CPU time to an accuracy, plane: tree-guided; best of other programs", "; ".join(parts), None, None)]


def pictures(rows, folder):
    name = "accuracy.png"
    with picture(folder / name, 1, 2, figsize=(10.5, 4.8)) as (figure, axes):
        for axis, quantity in zip(axes, GOALS, strict=True):
            axis.set(xscale="log", yscale="log", xlabel="CPU seconds", title=TITLES[quantity])
            for k, row in enumerate(rows):
                own, once = row["method"] == TREE, len(row["seconds"]) == 1
                style = {
                    "color": RED if own else COLORS[k % len(COLORS)],
                    "linestyle": "none" if once else LINES[k % 4],
                    "linewidth": 2.4 if own else 1.4,
                    "marker": MARKERS[k % len(MARKERS)],
                    "markersize": 8 if once else 4,
                    "markevery": None if once else (k % 3, 3),
                }
                axis.plot(row["seconds"], row[quantity], label=row["method"], **style)
            axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.yaxis.set_minor_formatter(NullFormatter())
            for goal in GOALS[quantity]:
                axis.axhline(goal, color="0.8", linewidth=0.8, zorder=0)
        axes[0].set_ylabel("root mean square error")
        legend(figure, axes[0], ncols=3)
    return {name: "Error of both estimates against CPU time; grey: the goals of the table."}


CLUSTERS = 10.87  # of 1000 items, from long runs of other exact samplers
PACKAGE = ("TreeGuided", "SplitMerge", "MarginalGibbs", "SliceSampler")
# Chains of each method, and CPU seconds of each.
FULL = dict.fromkeys(PACKAGE, (6, 10.0))
FULL |= {NUTS: (3, 60.0), NUTPIE: (3, 40.0), LABELS: (3, 40.0), PYRICHLET: (3, 40.0)}
QUICK = dict.fromkeys(PACKAGE, (2, 0.5))
N_TUNE, N_POINTS, MOST_DRAWS = 300, 200, 6000


def places_near(X):
    """Places at which densities are compared: items, moved at random."""
    rng = np.random.default_rng(3)
    return X[rng.integers(0, len(X), N_POINTS)] + rng.normal(size=(N_POINTS, X.shape[1]))


def chains_of_steps(X, test, name, n_chains, seconds):
    """Times, numbers of clusters, shape (draws,), and predictive densities, shape (draws, points), of each chain."""
    limits = {"tune": N_TUNE, "seconds": seconds, "tuning_seconds": seconds, "all_draws": True}
    model, chains, _ = stock_steps.chains_of(X, name, n_chains, **limits)
    for seed, chain in enumerate(chains):
        places = np.unique(np.linspace(0, len(chain.points) - 1, MOST_DRAWS).astype(int))
        points, times = [chain.points[place] for place in places], chain.seconds[places]
        labels = stock_steps.labels_of(X, model, points, seed)
        if name in PACKAGE:
            draws = xr.Dataset({"z": (("chain", "draw", "item"), labels[None])})
            density = nrm.predictive_density(draws, model, test).density.values[0]
            yield times, labels.max(axis=1) + 1.0, density
        else:
            yield times, n_clusters(labels), of_parameters(test, stock_steps.values_of(model, points))


def n_clusters(labels):
    return np.array([len(np.unique(row)) for row in labels], dtype=float)


def of_parameters(test, values):
    """Densities given weights and components of each draw."""
    found = [stick_breaking.parameters(point, FAMILY) for point in values]
    return np.array([np.exp(stick_breaking.log_joint_table(test, *p)).sum(axis=1) for p in found])


def pyrichlet_chains(X, test, name, n_chains, seconds):
    for seed in range(n_chains):
        yield pyrichlet_gibbs.follow(X, test, FAMILY, ALPHA, seconds=seconds, seed=seed + 1)


def checkpoints(seconds):
    """CPU times at which estimates are compared, three for each doubling."""
    return 0.01 * 2 ** np.arange(0, np.log2(seconds / 0.01) + 1e-9, 1 / 3)


def errors(chain, reference, times):
    """Errors of both estimates at each time, from the second half of the draws until then; nan before two draws."""
    found = np.full((len(times), 2), np.nan)
    seconds, clusters, density = chain
    for k, limit in enumerate(times):
        end = np.searchsorted(seconds, limit, side="right")
        if end >= 2:
            kept = slice(end // 2, end)
            with np.errstate(divide="ignore"):
                log_ratio = np.log(density[kept].mean(axis=0)) - np.log(reference)
            found[k] = abs(clusters[kept].mean() - CLUSTERS), np.sqrt(np.mean(log_ratio**2))
    return found


def row(name, chains, reference, seconds):
    times = checkpoints(seconds)
    found = np.array([errors(chain, reference, times) for chain in chains])
    kept = np.isfinite(found).all(axis=(0, 2))
    clusters, density = np.sqrt((found[:, kept] ** 2).mean(axis=0)).T
    values = {"seconds": times[kept].tolist(), "clusters": clusters.tolist(), "density": density.tolist()}
    draws = sum(len(chain[0]) for chain in chains)
    return {"set": "plane", "method": name, "chains": len(found), "draws": draws} | values


def fits(X, test, reference):
    """Rows of scikit-learn's fits: one time, one error of the density, and the number of components as it is."""
    same = {"n_components": N_COMPONENTS, "n_init": 1, "family": FAMILY, "alpha": ALPHA}
    calls = {
        FITS[0]: partial(scikit_learn.variational, X, test, **same),
        FITS[1]: partial(scikit_learn.em_with_bic, X, test, most=12, n_init=3),
    }
    for name, call in calls.items():
        found = [call(seed=seed) for seed in range(3)]
        log_p = [fit["log_p"] for fit in found]
        yield {
            "set": "plane",
            "method": name,
            "chains": len(found),
            "seconds": [spread([fit["seconds"] for fit in found])["median"]],
            "clusters": [float(np.sqrt(np.mean([(fit["clusters"] - CLUSTERS) ** 2 for fit in found])))],
            "density": [float(np.sqrt(np.mean([(p - np.log(reference)) ** 2 for p in log_p])))],
        }


def measure(quick, note, methods=None):
    warnings.filterwarnings("ignore", category=UserWarning)
    limits = {name: limit for name, limit in (QUICK if quick else FULL).items() if not methods or name in methods}
    rows = rows_to_keep("accuracy", quick, note, None, methods)
    X = plane()
    test = places_near(X)
    long = list(chains_of_steps(X, test, "TreeGuided", 2 if quick else 4, 1.0 if quick else 40.0))
    reference = np.mean([density[len(density) // 10 :].mean(axis=0) for _, _, density in long], axis=0)
    for name, (n_chains, seconds) in limits.items():
        with skipping(name, note):
            follow = pyrichlet_chains if name == PYRICHLET else chains_of_steps
            chains = list(follow(X, test, name, n_chains, seconds))
            rows.append(row(name, chains, reference, seconds))
            print(f"{name}: {rows[-1]['clusters'][-1]:.3g}, {rows[-1]['density'][-1]:.3g}", flush=True)
    if not quick and (not methods or set(methods) & set(FITS)):
        with skipping("scikit-learn", note):
            rows += fits(X, test, reference)
    return sorted(rows, key=lambda row: METHODS.index(row["method"]))


METHODS = [*FULL, *FITS]
MEANING = (
    "The package is accurate several times sooner than the best peer; fits of scikit-learn stay as wrong as they are."
)
PART = Part(
    "accuracy",
    measure,
    table,
    pictures,
    headline,
    {"methods": METHODS},
    MEANING,
    peers=("pymc", "nutpie", "pyrichlet", "scikit-learn"),
)
