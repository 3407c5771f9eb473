"""100,000 rows: agreement with the true clusters and held-out density, at equal time, against scikit-learn given K.

Every run is a separate process.
"""

import time

import numpy as np
from common.data import gaussian_clusters
from common.part import Part, columns, groups
from common.processes import call
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

# For each name: rows, columns, true clusters, their typical distance in standard deviations, draws of tuning and draws.
FULL = {
    "100,000 x 3, apart": (100_000, 3, 6, 10.0, 50, 50),
    "100,000 x 5, apart": (100_000, 5, 20, 12.0, 50, 50),
    "100,000 x 3, overlapping": (100_000, 3, 6, 5.0, 50, 50),
}
QUICK = {"30,000 x 3": (30_000, 3, 6, 5.0, 10, 10)}
PEERS = ("MiniBatchKMeans", "BayesianGaussianMixture")
N_TEST = 10_000


def _data(n, d, n_clusters, separation):
    X, truth = gaussian_clusters(n + N_TEST, d, n_clusters, separation=separation)
    return X[:n], truth[:n], X[n:]


def run_ours(tune, draws, **size):
    """One chain of the model of the recipe, from nothing to the labels of the estimate."""
    import pymc_nrm as nrm

    X, truth, test = _data(**size)
    options = {"chains": 1, "cores": 1, "random_seed": 1, "quiet": True}
    nrm.sample(2, tune=2, model=nrm.gaussian_mixture(X[:20_100]), **options)  # compiles
    begun = time.process_time()
    model = nrm.gaussian_mixture(X)
    idata = nrm.sample(draws, tune=tune, model=model, label_storage="compact", **options)
    sampled = time.process_time()
    estimate = nrm.point_estimate(idata, random_seed=1, progressbar=False)
    row = {"seconds": time.process_time() - begun, "sampling": sampled - begun, "clusters": int(estimate.n_clusters)}
    row["rand"] = float(nrm.stats.adjusted_rand(truth, estimate.labels.values))
    return row | {"density": float(nrm.log_predictive_density(idata, model, test, progressbar=False).mean())}


def run_in_chunks(sweeps, **size):
    """One chain over rows in chunks, from nothing to the most probable cluster of the last draw for each row."""
    import pymc_nrm as nrm

    X, truth, test = _data(**size)
    options = {"tune": sweeps, "chains": 1, "random_seed": 1, "quiet": True}
    nrm.sample(2, model=nrm.gaussian_mixture(nrm.Chunks(X[:1000], n_threads=1)), **(options | {"tune": 2}))  # compiles
    begun = time.process_time()
    model = nrm.gaussian_mixture(nrm.Chunks(X, n_threads=1))
    idata = nrm.sample(sweeps, model=model, **options)
    sampled = time.process_time()
    last = idata.posterior["z"].values[0, -1]
    labels = nrm.label_rows(idata, model, estimate=last, progressbar=False).labels.values
    row = {"seconds": time.process_time() - begun, "sampling": sampled - begun, "clusters": len(np.unique(labels))}
    row["rand"] = float(nrm.stats.adjusted_rand(truth, labels))
    return row | {"density": float(nrm.log_predictive_density(idata, model, test, progressbar=False).mean())}


def run_peer(peer, seconds, **size):
    """The best of as many starts of a program of scikit-learn as take so many seconds; K is given."""
    from peers.scikit_learn import student_mixture
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.mixture import BayesianGaussianMixture

    import pymc_nrm as nrm

    X, truth, test = _data(**size)
    k, best, least, n_starts, begun = size["n_clusters"], None, np.inf, 0, time.process_time()
    while n_starts == 0 or (time.process_time() - begun) * (n_starts + 1) / n_starts < seconds:
        n_starts += 1
        if peer == "MiniBatchKMeans":
            found = MiniBatchKMeans(k, n_init=1, random_state=n_starts).fit(X)
            loss = found.inertia_
        else:
            found = BayesianGaussianMixture(n_components=k, max_iter=5, warm_start=True, random_state=n_starts)
            # As many iterations as there is time for.
            while not getattr(found, "converged_", False) and time.process_time() - begun < seconds:
                found.fit(X)
            loss = -found.lower_bound_
        if loss < least:
            best, least = found, loss
    labels = best.predict(X)
    row = {"seconds": time.process_time() - begun, "starts": n_starts, "clusters": len(np.unique(labels))}
    if peer == "MiniBatchKMeans":
        # A normal law for each of its clusters.
        parts = [np.log(np.mean(labels == c)) + _normal(X[labels == c]).logpdf(test) for c in np.unique(labels)]
        log_p = logsumexp(parts, axis=0)
    else:
        log_p = student_mixture(best, test)
    return row | {"rand": float(nrm.stats.adjusted_rand(truth, labels)), "density": float(log_p.mean())}


def _normal(X):
    return multivariate_normal(X.mean(axis=0), np.cov(X.T), allow_singular=True)


def measure(quick, note):
    rows = []
    for name, (n, d, n_clusters, separation, tune, draws) in (QUICK if quick else FULL).items():
        size = {"n": n, "d": d, "n_clusters": n_clusters, "separation": separation}
        ours = call(run_ours, tune=tune, draws=draws, **size)
        rows.append({"set": name, "method": "gaussian_mixture"} | size | {"tune": tune, "draws": draws} | ours)
        print(rows[-1], flush=True)
        in_chunks = call(run_in_chunks, sweeps=2 * draws, **size)
        rows.append({"set": name, "method": "rows in chunks"} | size | {"draws": 2 * draws} | in_chunks)
        print(rows[-1], flush=True)
        for peer in PEERS:
            rows.append(
                {"set": name, "method": peer} | size | call(run_peer, peer=peer, seconds=ours["seconds"], **size)
            )
            print(rows[-1], flush=True)
    return rows


def table(rows):
    shown = {
        "Set: true clusters": lambda row: f"{row['set']}: {row['n_clusters']}",
        "Method": "method",
        "clusters": "clusters",
        "CPU s": "seconds",
        "adjusted Rand index": lambda row: f"{row['rand']:.3f}",
        "held-out log density": lambda row: f"{row['density']:.4f}",
    }
    return (
        "Gaussian clusters of general shape.  One chain of `gaussian_mixture(X)`, from nothing to the labels of "
        "`point_estimate`, and one over rows in chunks, until each row has its most probable cluster of the last "
        "draw.  scikit-learn is told the number of clusters, and has the best of as many starts as fit into the same "
        f"CPU seconds.  Densities are of {N_TEST:,} other rows.\n\n{columns(rows, shown)}"
    )


def headline(rows):
    lines = []
    for what, key in (("Adjusted Rand index", "rand"), ("Held-out log density", "density")):
        ours, best, met = [], [], []
        for here in groups(rows, "set").values():
            found = {row["method"]: row[key] for row in here}
            others = max(found[peer] for peer in PEERS if peer in found)
            ours.append(f"{found['gaussian_mixture']:.3f}")
            best.append(f"{others:.3f}")
            met.append(found["gaussian_mixture"] > others - 5e-4)
        measured = f"{', '.join(ours)}; scikit-learn given K {', '.join(best)}"
        lines.append((f"{what} at equal time, {len(met)} sets", measured, "at least theirs", all(met)))
    return lines


MEANING = (
    "Densities are those of the best peer, which is told K.  The point estimate joins clusters that overlap, also from "
    "the true labels (`NOTES.md`)."
)
PART = Part("equal_time", measure, table, headline=headline, meaning=MEANING, peers=("scikit-learn",))
