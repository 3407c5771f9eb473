"""CPU time to a given accuracy of the number of clusters and of the density, of the package and of other programs.

``python benchmarks/accuracy.py [--quick] [--output FOLDER] [--methods NAME ...]``.
"""

import warnings
from functools import partial

import common  # noqa: F401
import numpy as np
from common.accuracy_report import FITS, LABELS, NUTPIE, NUTS, PYRICHLET, headline, pictures, table
from common.chains import first_draw, run_chain
from common.data import plane
from common.part import Part, rows_to_keep, skipping, spread
from common.predictive import densities
from peers import nutpie_chain, pyrichlet_gibbs, scikit_learn, stick_breaking
from peers.stock_steps import ALPHA, FAMILY, N_COMPONENTS, draw_labels, labels_of, marginal_model, model_and_step

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
    model, step, starts = model_and_step(X, name, n_chains)
    state = step.sampling_state
    first_draw(step, starts[0])
    limits = {"tune": N_TUNE, "seconds": seconds, "tuning_seconds": seconds, "all_draws": True}
    for seed, start in enumerate(starts):
        chain = run_chain(step, state, start, np.random.default_rng(seed + 1), **limits)
        places = np.unique(np.linspace(0, len(chain.points) - 1, MOST_DRAWS).astype(int))
        points, times = [chain.points[place] for place in places], chain.seconds[places]
        labels = labels_of(X, model, points, seed)
        if name in PACKAGE:
            yield times, labels.max(axis=1) + 1.0, densities(FAMILY, ALPHA, X, labels, test)
        else:
            yield times, n_clusters(labels), of_parameters(test, stick_breaking.values_of(model, points))


def n_clusters(labels):
    return np.array([len(np.unique(row)) for row in labels], dtype=float)


def of_parameters(test, values):
    """Densities given weights and components of each draw."""
    found = [stick_breaking.parameters(point, FAMILY) for point in values]
    return np.array([np.exp(stick_breaking.log_joint_table(test, *p)).sum(axis=1) for p in found])


def nutpie_chains(X, test, name, n_chains, seconds):
    program, _ = nutpie_chain.compiled(marginal_model(X))
    for seed in range(n_chains):
        points, times = nutpie_chain.follow(program, tune=N_TUNE, seconds=seconds, seed=seed + 1)
        places = np.unique(np.linspace(0, len(points) - 1, MOST_DRAWS).astype(int))
        points = [points[place] for place in places]
        yield times[places], n_clusters(draw_labels(X, points, seed)), of_parameters(test, points)


def pyrichlet_chains(X, test, name, n_chains, seconds):
    for seed in range(n_chains):
        yield pyrichlet_gibbs.follow(X, test, FAMILY, ALPHA, seconds=seconds, seed=seed + 1)


PEERS = {NUTPIE: nutpie_chains, PYRICHLET: pyrichlet_chains}


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
            chains = list(PEERS.get(name, chains_of_steps)(X, test, name, n_chains, seconds))
            rows.append(row(name, chains, reference, seconds))
            print(f"{name}: {rows[-1]['clusters'][-1]:.3g}, {rows[-1]['density'][-1]:.3g}", flush=True)
    if not quick and (not methods or set(methods) & set(FITS)):
        with skipping("scikit-learn", note):
            rows += fits(X, test, reference)
    return sorted(rows, key=lambda row: METHODS.index(row["method"]))


METHODS = [*FULL, *FITS]
PART = Part("accuracy", measure, table, pictures, headline, {"methods": METHODS})

if __name__ == "__main__":
    PART.main()
