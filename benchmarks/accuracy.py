"""CPU time to a given accuracy of the number of clusters and of the density, of the package and of other programs.

``python benchmarks/accuracy.py [--quick] [--output FOLDER] [--methods NAME ...]``.
"""

import common.one_core  # noqa: F401

# isort: split

import time
import warnings
from functools import partial

import numpy as np
import pymc as pm
from common.accuracy_report import FITS, LABELS, NUTPIE, NUTS, PYRICHLET, headline, pictures, table
from common.data import plane
from common.part import Part, rows_to_keep, spread
from common.predictive import densities
from common.stock_pymc_report import ALPHA, N_COMPONENTS
from peers import nutpie_chain, pyrichlet_gibbs, scikit_learn, stick_breaking
from pymc.step_methods import CompoundStep

import pymc_nrm as nrm

FAMILY = nrm.NormalWishart(mu=np.zeros(2), kappa=0.1, Psi=5.0 * np.eye(2), nu=8.0)
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


def follow(step, point, seed, seconds):
    """Points of a chain from its first draw, tuning included, and the CPU seconds to the end of each."""
    step.setup_chain(np.random.default_rng(seed), N_TUNE, 1)
    step.tune = True
    if hasattr(step, "reset_tuning"):
        step.reset_tuning()
    points, times, begin = [], [], time.process_time()
    while not times or times[-1] < seconds:
        if len(times) == N_TUNE:
            step.stop_tuning()
        point, _ = step.step(point)
        times.append(time.process_time() - begin)
        points.append(point)
    return points, np.array(times)


def evenly(points, times):
    """At most ``MOST_DRAWS`` draws, evenly spaced."""
    places = np.unique(np.linspace(0, len(points) - 1, MOST_DRAWS).astype(int))
    return [points[place] for place in places], times[places]


def package_chains(X, test, name, n_chains, seconds):
    """Times, numbers of clusters, shape (draws,), and predictive densities, shape (draws, points), of each chain."""
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(ALPHA), n=len(X))
        nrm.Mixture("x", z, FAMILY, observed=X)
        step = getattr(nrm, name)([z])
    start, state = model.initial_point(), step.sampling_state
    follow(step, start, 0, 0.0)
    for seed in range(n_chains):
        step.sampling_state = state
        points, times = evenly(*follow(step, start, seed + 1, seconds))
        labels = np.array([point["z"] for point in points])
        yield times, labels.max(axis=1) + 1.0, densities(FAMILY, ALPHA, X, labels, test)


def of_parameters(X, test, points, times, seed, labels=None):
    """The same from values of weights and parameters; labels are drawn where they are summed out."""
    rng = np.random.default_rng(seed)
    found = [stick_breaking.parameters(point, FAMILY) for point in points]
    if labels is None:
        labels = [stick_breaking.draw_labels(X, point, FAMILY, rng) for point in points]
    clusters = np.array([len(np.unique(row)) for row in labels], dtype=float)
    return times, clusters, np.array([np.exp(stick_breaking.log_joint_table(test, *p)).sum(axis=1) for p in found])


def nuts_chains(X, test, n_chains, seconds):
    model = stick_breaking.marginal_model(X, FAMILY, ALPHA, N_COMPONENTS)
    with model:
        starts, step = pm.init_nuts(chains=n_chains, random_seed=1, progressbar=False, quiet=True)
    state = step.sampling_state
    step.step(starts[0])
    for seed, start in enumerate(starts):
        step.sampling_state = state
        points, times = follow(step, start, seed + 1, seconds)
        yield of_parameters(X, test, stick_breaking.values_of(model, points), times, seed)


def nutpie_chains(X, test, n_chains, seconds):
    program, _ = nutpie_chain.compiled(stick_breaking.marginal_model(X, FAMILY, ALPHA, N_COMPONENTS))
    for seed in range(n_chains):
        points, times = nutpie_chain.follow(program, tune=N_TUNE, seconds=seconds, seed=seed + 1)
        yield of_parameters(X, test, points, times, seed)


def label_chains(X, test, n_chains, seconds):
    model = stick_breaking.label_model(X, FAMILY, ALPHA, N_COMPONENTS)
    with model:
        continuous = [variable for variable in model.free_RVs if variable.name != "labels"]
        step = CompoundStep([pm.NUTS(continuous), pm.CategoricalGibbsMetropolis([model["labels"]])])
    start, state = model.initial_point(), step.sampling_state
    step.step(start)
    for seed in range(n_chains):
        step.sampling_state = state
        labels = np.random.default_rng(seed).integers(0, N_COMPONENTS, len(X))
        points, times = follow(step, start | {"labels": labels}, seed + 1, seconds)
        labels = [point["labels"] for point in points]
        yield of_parameters(X, test, stick_breaking.values_of(model, points), times, seed, labels)


def pyrichlet_chains(X, test, n_chains, seconds):
    for seed in range(n_chains):
        yield pyrichlet_gibbs.follow(X, test, FAMILY, ALPHA, seconds=seconds, seed=seed + 1)


PEERS = {NUTS: nuts_chains, NUTPIE: nutpie_chains, LABELS: label_chains, PYRICHLET: pyrichlet_chains}


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
    return {
        "set": "plane",
        "method": name,
        "chains": len(found),
        "draws": sum(len(chain[0]) for chain in chains),
        "seconds": times[kept].tolist(),
        "clusters": clusters.tolist(),
        "density": density.tolist(),
    }


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
    rows = rows_to_keep("accuracy", quick, None, methods)
    X = plane()
    test = places_near(X)
    long = list(package_chains(X, test, "TreeGuided", 2 if quick else 4, 1.0 if quick else 40.0))
    reference = np.mean([density[len(density) // 10 :].mean(axis=0) for _, _, density in long], axis=0)
    for name, (n_chains, seconds) in limits.items():
        try:
            run = partial(package_chains, name=name) if name in PACKAGE else PEERS[name]
            chains = list(run(X, test, n_chains=n_chains, seconds=seconds))
        except ImportError as error:
            note(f"{name} skipped: not installed ({error.name})")
            continue
        rows.append(row(name, chains, reference, seconds))
        print(f"{name}: {rows[-1]['clusters'][-1]:.3g}, {rows[-1]['density'][-1]:.3g}", flush=True)
    if not quick and (not methods or set(methods) & set(FITS)):
        try:
            rows += fits(X, test, reference)
        except ImportError as error:
            note(f"scikit-learn skipped: not installed ({error.name})")
    order = [*FULL, *FITS]
    return sorted(rows, key=lambda row: order.index(row["method"]))


def add_arguments(parser):
    names = [*FULL, *FITS]
    parser.add_argument("--methods", nargs="+", metavar="NAME", choices=names, help="these only; other rows are kept")


PART = Part("accuracy", measure, table, pictures, add_arguments=add_arguments, headline=headline)

if __name__ == "__main__":
    PART.main()
