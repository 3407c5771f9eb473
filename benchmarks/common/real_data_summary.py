"""What tables and pictures of the part real_data show, computed from its rows."""

import numpy as np

OURS, FUSED = "pymc_nrm", "pymc_nrm, fused"
EM, VARIATIONAL = "GaussianMixture, BIC", "BayesianGaussianMixture"
PEERS = (EM, VARIATIONAL, "latent classes, BIC", "k-means, silhouette", "HDBSCAN", "HDBSCAN, 15")
# How far an adjusted Rand index may be behind the best of the peers, and what counts as equal held-out density.
BEHIND, EQUAL = 0.1, 0.02


def values(rows, key, names=None):
    """Values of a key by set and method, of sets of these names, as a dict of dicts without missing ones."""
    found = {}
    for row in rows:
        if row.get(key) is not None and (names is None or row["set"] in names):
            found.setdefault(row["set"], {})[row["method"]] = row[key]
    return found


def sets_of(rows, *kinds):
    """Names of the sets of some kinds, in the order of the rows."""
    return list(dict.fromkeys(row["set"] for row in rows if row["kind"] in kinds))


def averages(found, methods):
    """Mean of each method over the sets on which all of these methods were measured, and how many those are."""
    complete = [here for here in found.values() if all(method in here for method in methods)]
    if not complete:
        return {}, 0
    return {method: float(np.mean([here[method] for here in complete])) for method in methods}, len(complete)


def behind(rows, key="ari", margin=BEHIND):
    """Sets on which the package is behind the best peer by more than a margin: name, its value, best value, peer."""
    lines = []
    for name, here in values(rows, key).items():
        peers = {method: value for method, value in here.items() if method in PEERS}
        if OURS in here and peers:
            best = max(peers, key=peers.get)
            if here[OURS] < peers[best] - margin:
                lines.append((name, here[OURS], peers[best], best))
    return lines


def reliability_curve(rows, method):
    """Mean probability and share of pairs of one class in ten bins, averaged over sets: lists of pairs by bin."""
    bins = {}
    for row in rows:
        if row["method"] == method:
            for line in row.get("reliability") or []:
                place = min(int(line["probability"] * 10 + 1e-9), 9)
                if line["pairs"] >= 30:
                    bins.setdefault(place, []).append((line["probability"], line["share"]))
    return {place: np.mean(pairs, axis=0).tolist() for place, pairs in sorted(bins.items())}
