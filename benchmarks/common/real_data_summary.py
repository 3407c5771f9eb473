"""What tables and pictures of the part real_data show, computed from its rows."""

import numpy as np

OURS, FUSED = "pymc_nrm", "pymc_nrm, fused"
EM, VARIATIONAL = "GaussianMixture, BIC", "BayesianGaussianMixture"
PEERS = (EM, VARIATIONAL, "latent classes, BIC", "k-means, silhouette", "HDBSCAN", "HDBSCAN, 15")
# How far an adjusted Rand index may be behind the best of the peers.
BEHIND = 0.1
# Claims about means need so many sets, and a bin of probability so many pairs.
FEWEST_SETS, FEWEST_PAIRS = 12, 30


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


def behind(rows, method=OURS, margin=BEHIND):
    """Sets on which a method's adjusted Rand index is behind the best peer's by more than a margin."""
    lines = []
    for name, here in values(rows, "ari").items():
        peers = {peer: value for peer, value in here.items() if peer in PEERS}
        if method in here and peers:
            best = max(peers, key=peers.get)
            if here[method] < peers[best] - margin:
                lines.append((name, here[method], peers[best], best))
    return lines


def reliability_curves(rows, methods=(OURS, EM, VARIATIONAL)):
    """Mean probability and share of pairs of one class in ten bins, averaged over the sets that all methods have."""
    found = values(rows, "reliability")
    complete = [here for here in found.values() if all(method in here for method in methods)]
    curves = {}
    for method in methods if complete else ():
        bins = {}
        for here in complete:
            for line in here[method]:
                if line["pairs"] >= FEWEST_PAIRS:
                    place = min(int(line["probability"] * 10 + 1e-9), 9)
                    bins.setdefault(place, []).append((line["probability"], line["share"]))
        curves[method] = {place: np.mean(pairs, axis=0).tolist() for place, pairs in sorted(bins.items())}
    return curves, len(complete)
