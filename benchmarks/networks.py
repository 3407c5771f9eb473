"""Block models: noise and planted blocks, prediction of held-out pairs, sweeps of large networks."""

import logging
import time
import warnings

import numpy as np
import pymc as pm
import scipy
from common.part import Part, columns, groups, rows_to_keep, skipping, where

import pymc_nrm as nrm
from pymc_nrm.stats import adjusted_rand

# Networks without blocks, and their goal: the share of those that are cut.
SIZES, DENSITIES, N_SETS, MOST_CUT = (20, 50, 100), (0.05, 0.2, 0.5), 10, 0.1
# Nodes, blocks, and probabilities within and between them, of planted blocks.
PLANTED = ((50, 2, 0.4, 0.1), (100, 4, 0.3, 0.05), (200, 5, 0.2, 0.04))
# Nodes, ties, clusters, and goals in seconds for a sweep.
SWEEPS = ((1_000, 10_000, 20, 0.04), (10_000, 100_000, 50, 3.0))
# A data set, and the number of times that a tenth of its pairs is held out.
HELD_OUT, N_SPLITS = 0.1, 10
SHORT = {"draws": 500, "tune": 300, "chains": 2, "cores": 1, "quiet": True, "progressbar": False}


def random_network(rng, n, probabilities, labels=None):
    """Ties that are 0 or 1, with probabilities (K, K) between clusters."""
    labels = np.zeros(n, dtype=int) if labels is None else labels
    A = (rng.random((n, n)) < np.asarray(probabilities)[np.ix_(labels, labels)]).astype(float)
    return np.triu(A, 1) + np.triu(A, 1).T


def described(A, seed):
    """Labels of an estimate with all defaults, its blocks of at least 2 nodes and 2 %, and the number in draws."""
    model = nrm.networks.network_model(A)
    idata = nrm.sample(model=model, random_seed=seed, **SHORT)
    labels = nrm.point_estimate(idata, random_seed=0, progressbar=False)["labels"].values
    sizes = np.bincount(labels)
    n_clusters = float(idata["posterior"]["z_n_clusters"].mean())
    return labels, int((sizes >= max(2, 0.02 * len(labels))).sum()), n_clusters


def measure_noise(quick):
    for n in SIZES[:2] if quick else SIZES:
        for density in DENSITIES:
            found = []
            for seed in range(2 if quick else N_SETS):
                A = random_network(np.random.default_rng([n, seed, int(100 * density)]), n, [[density]])
                found.append(described(A, seed)[1:])
            blocks, clusters = np.array(found).T
            row = {"set": "noise", "n": n, "density": density, "n_sets": len(found)}
            yield row | {"cut": float((blocks > 1).mean()), "clusters": float(clusters.mean())}


def measure_planted(quick):
    for n, k, within, between in PLANTED[:1] if quick else PLANTED:
        labels, found = np.arange(n) % k, []
        for seed in range(2 if quick else N_SETS):
            probabilities = between + (within - between) * np.eye(k)
            A = random_network(np.random.default_rng([n, k, seed]), n, probabilities, labels)
            found.append((adjusted_rand(described(A, seed)[0], labels), _spectral_index(A, labels, k)))
        ours, spectral = np.array(found).T
        row = {"set": "planted", "n": n, "k": k, "within": within, "between": between}
        yield row | {"index": float(ours.mean()), "spectral": float(spectral.mean())}


def _spectral_index(A, labels, k):
    try:
        from sklearn.cluster import SpectralClustering
    except ImportError:
        return np.nan
    model = SpectralClustering(k, affinity="precomputed", random_state=0, assign_labels="cluster_qr")
    return adjusted_rand(model.fit_predict(A + 1e-6), labels)


def networks():
    """Undirected networks of networkx as arrays, by name."""
    import networkx as nx

    return {
        "karate": nx.to_numpy_array(nx.karate_club_graph(), weight=None),
        "Les Miserables": nx.to_numpy_array(nx.les_miserables_graph(), weight=None),
        "Davis, both": nx.to_numpy_array(nx.davis_southern_women_graph(), weight=None),
        "Florentine": nx.to_numpy_array(nx.florentine_families_graph(), weight=None),
        "four blocks": random_network(np.random.default_rng(1), 120, 0.03 + 0.27 * np.eye(4), np.arange(120) % 4),
    }


def hold_out(A, rng):
    """The network with a tenth of the ties, and as large a share of the other pairs, missing; these pairs."""
    first, second = np.triu_indices(len(A), 1)
    ties = A[first, second] > 0
    chosen = np.zeros(len(first), dtype=bool)
    for own in (np.flatnonzero(ties), np.flatnonzero(~ties)):
        chosen[rng.choice(own, max(1, round(HELD_OUT * len(own))), replace=False)] = True
    i, j = first[chosen], second[chosen]
    known = A.astype(float)
    known[i, j] = known[j, i] = np.nan
    return known, i, j


def area(score, is_tie):
    """Area under the ROC curve."""
    differences = score[is_tie][:, None] - score[~is_tie]
    return float(((differences > 0) + 0.5 * (differences == 0)).mean())


def by_blocks(known, i, j, seed):
    model = nrm.networks.network_model(known)
    idata = nrm.sample(model=model, random_seed=seed, **SHORT)
    pairs = np.column_stack([i, j])
    found = nrm.networks.pair_probabilities(idata, model, pairs, random_seed=seed, progressbar=False)
    return found["tie_probability"].values


def by_labels(known, labels, i, j):
    """Shares of ties between the clusters of labels, with one tie and one other pair added to each block."""
    k = labels.max() + 1
    indicators = np.eye(k)[labels]
    seen = ~np.isnan(known)
    np.fill_diagonal(seen, False)
    ties, pairs = (indicators.T @ one @ indicators for one in (np.nan_to_num(known) * seen, seen.astype(float)))
    return ((ties + 1.0) / (pairs + 2.0))[labels[i], labels[j]]


def by_spectral(known, i, j, seed):
    """Spectral clustering into the number of clusters with the largest gap of eigenvalues of the Laplacian."""
    from sklearn.cluster import SpectralClustering

    A = np.nan_to_num(known)
    roots = 1.0 / np.sqrt(A.sum(axis=1) + A.sum() / len(A))
    values = np.sort(np.linalg.eigvalsh(roots[:, None] * A * roots))[::-1][:11]
    k = int(np.argmax(values[1:-1] - values[2:])) + 2
    model = SpectralClustering(k, affinity="precomputed", random_state=seed, assign_labels="cluster_qr")
    return by_labels(known, model.fit_predict(A + 1e-6), i, j)


def by_leiden(known, i, j, seed):
    import igraph
    import leidenalg

    graph = igraph.Graph.Adjacency((np.nan_to_num(known) > 0).tolist(), mode="undirected")
    found = leidenalg.find_partition(graph, leidenalg.ModularityVertexPartition, seed=seed)
    return by_labels(known, np.array(found.membership), i, j)


def by_degrees(known, i, j, seed):
    """Products of degrees, preferential attachment, for comparison."""
    degrees = np.nansum(known, axis=1)
    return degrees[i] * degrees[j]


METHODS = {
    "block model": by_blocks,
    "spectral": by_spectral,
    "Leiden": by_leiden,
    "product of degrees": by_degrees,
}


def measure_held_out(quick, note):
    for name, A in networks().items():
        for split in range(2 if quick else N_SPLITS):
            known, i, j = hold_out(A, np.random.default_rng([1, split]))
            for method, predict in METHODS.items():
                with skipping(method, note):
                    before = time.process_time()
                    score = predict(known, i, j, split)
                    row = {"set": "held out", "network": name, "n": len(A), "split": split, "method": method}
                    yield row | {"auc": area(score, A[i, j] > 0), "cpu": time.process_time() - before}


def sparse_network(rng, n, n_ties, k, share_within=0.8):
    """A network of about so many ties, most of them within k clusters."""
    labels = rng.integers(k, size=n)
    members = [np.flatnonzero(labels == cluster) for cluster in range(k)]
    within = rng.random(n_ties) < share_within
    first = rng.integers(n, size=n_ties)
    second = rng.integers(n, size=n_ties)
    second[within] = [rng.choice(members[labels[node]]) for node in first[within]]
    kept = first != second
    A = scipy.sparse.coo_array((np.ones(kept.sum()), (first[kept], second[kept])), shape=(n, n)).tocsr()
    A = A + A.T
    A.data[:] = 1.0
    return A, labels


def measure_sweeps(quick):
    """CPU seconds of a sweep of Gibbs updates, from the labels with which the network was made."""
    for n, n_ties, k, goal in SWEEPS[:1] if quick else SWEEPS:
        A, labels = sparse_network(np.random.default_rng(2), n, n_ties, k)
        with pm.Model() as model:
            z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=n, initval=labels)
            nrm.networks.BlockModel("ties", z, nrm.BernoulliBeta(1.0, 1.0), observed=A, directed=False)
            step = nrm.networks.BlockSampler([z], n_moves=0, n_tree_moves=0)
        point = model.initial_point()
        point, _ = step.step(point)
        times = []
        for _ in range(3 if quick else 7):
            before = time.process_time()
            point, _ = step.step(point)
            times.append(time.process_time() - before)
        yield {"set": "sweep", "n": n, "ties": n_ties, "k": k, "cpu": float(np.median(times)), "goal": goal}


def measure_starts(quick):
    """Log joint densities that chains reach from one cluster and from singletons, on networks of 10 blocks."""
    n, k = (300, 5) if quick else (1000, 10)
    for seed in range(1 if quick else 3):
        rng = np.random.default_rng([3, seed])
        A, labels = sparse_network(rng, n, 10 * n, k)
        row = {"set": "starts", "n": n, "k": k, "seed": seed}
        for start, initial in (("one", np.zeros(n, dtype=int)), ("singletons", np.arange(n))):
            with pm.Model():
                z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=n, initval=initial)
                nrm.networks.BlockModel("ties", z, nrm.BernoulliBeta(1.0, 1.0), observed=A, directed=False)
                before = time.process_time()
                idata = nrm.sample(
                    draws=200, tune=100, chains=1, cores=1, random_seed=seed, quiet=True, progressbar=False
                )
            row[f"cpu_{start}"] = time.process_time() - before
            row[start] = float(idata["sample_stats"]["log_joint"].values[0, -100:].mean())
            row[f"sd_{start}"] = float(idata["sample_stats"]["log_joint"].values[0, -100:].std())
            row[f"index_{start}"] = adjusted_rand(idata["posterior"]["z"].values[0, -1], labels)
        yield row


SETS = {
    "noise": lambda quick, note: measure_noise(quick),
    "planted": lambda quick, note: measure_planted(quick),
    "sweep": lambda quick, note: measure_sweeps(quick),
    "starts": lambda quick, note: measure_starts(quick),
    "held out": measure_held_out,
}


def measure(quick, note, sets=None):
    warnings.filterwarnings("ignore", category=UserWarning)
    logging.getLogger("pymc").setLevel(logging.ERROR)
    rows = rows_to_keep("networks", quick, note, sets)
    # Kernels are compiled and loaded.
    described(random_network(np.random.default_rng(0), 20, [[0.3]]), 0)
    for name in sets or SETS:
        with skipping(name, note):
            for row in SETS[name](quick, note):
                rows.append(row)
                print(row, flush=True)
    return rows


def table(rows):
    noise = where(rows, set="noise")
    shown = {"nodes": "n", "density": "density", "networks": "n_sets", "cut": "cut", "clusters in draws": "clusters"}
    parts = [
        "Erdős-Rényi networks with all defaults: *cut* is the share in which the estimate has several blocks of at "
        f"least two nodes and 2 %.\n\n{columns(noise, shown)}"
    ]
    planted = where(rows, set="planted")
    shown = {"nodes": "n", "blocks": "k", "p within": "within", "p between": "between"}
    shown |= {"index": "index", "spectral, given the number": lambda row: row["spectral"]}
    parts.append(f"Planted blocks: adjusted Rand index of the estimate.\n\n{columns(planted, shown)}")
    lines = []
    for (name, n), own in groups(where(rows, set="held out"), "network", "n").items():
        line = {"network": name, "n": n}
        for method, found in groups(own, "method").items():
            line[method] = f"{np.mean([row['auc'] for row in found]):.3f}"
        lines.append(line)
    shown = {"network": "network", "nodes": "n"} | {m: lambda row, m=m: row.get(m) for m in METHODS}
    parts.append(
        f"A tenth of the ties and of the other pairs held out, {N_SPLITS} times: area under the ROC curve. Spectral "
        "clustering and Leiden, which cannot leave pairs out, take them for no ties, and predict by shares of ties "
        f"between their clusters.\n\n{columns(lines, shown)}"
    )
    shown = {"nodes": "n", "ties": "ties", "clusters": "k", "CPU s": "cpu", "goal": "goal"}
    parts.append(f"A sweep of Gibbs updates.\n\n{columns(where(rows, set='sweep'), shown)}")
    shown = {"nodes": "n", "blocks": "k", "from one cluster": "one", "from singletons": "singletons"}
    shown |= {"sd": "sd_one", "index, one": "index_one", "index, singletons": "index_singletons"}
    shown |= {"CPU s, one": "cpu_one", "CPU s, singletons": "cpu_singletons"}
    parts.append(
        "Mean log joint density of the last 100 of 200 draws after 100, from two starts.\n\n"
        f"{columns(where(rows, set='starts'), shown)}"
    )
    return "\n".join(parts)


def headline(rows):
    claims = []
    noise = where(rows, set="noise")
    if noise:
        cut = max(row["cut"] for row in noise)
        claims.append(("Networks without blocks that are cut", f"{cut:.2g}", f"at most {MOST_CUT}", cut <= MOST_CUT))
    for row in where(rows, set="sweep"):
        what = f"Sweep of {row['n']:,} nodes, {row['ties']:,} ties, {row['k']} clusters"
        claims.append((what, f"{row['cpu']:.3g} CPU s", f"at most {row['goal']} CPU s", row["cpu"] <= row["goal"]))
    for row in where(rows, set="starts"):
        apart = abs(row["one"] - row["singletons"])
        claims.append(
            (
                f"Log joint densities from two starts, network {row['seed'] + 1}",
                f"{apart:.3g} apart",
                "at most 10",
                apart <= 10,
            )
        )
    return claims


MEANING = (
    "Defaults cut none of 90 networks without blocks, and find planted blocks at least as well as spectral clustering "
    "that is given their number. Held-out pairs are predicted best on three of five networks; on 15 families, and "
    "where blocks are planted, methods are alike."
)
PEERS = ("scikit-learn", "leidenalg", "networkx")
PART = Part("networks", measure, table, headline=headline, options={"sets": list(SETS)}, meaning=MEANING, peers=PEERS)
