"""Networks as kernels read them: statistics of pairs of nodes, in lists of the neighbours of each node.

The pair of nodes i and j has one row of statistics as seen from i, and one as seen from j: first the statistics of
undirected networks, the same in both, then of directed networks, of the ties from the node in the first place.  Pairs
that are in no list have the default row.  Nodes of kernels may be groups of items that stay together: pairs within a
group are its own row.
"""

from typing import Any, NamedTuple

import numpy as np


class Pairs(NamedTuple):
    """Rows of pairs of nodes; a row has the statistics of all networks, undirected ones first."""

    # Node i has neighbours ``other[start[i] : start[i + 1]]``; int64 of shape (n + 1,) and (n_entries,).
    start: Any
    other: Any
    # Rows of each entry as seen from the node and from its neighbour, minus the default; int64 of shape (n_entries,).
    out: Any
    into: Any
    # Shape (n_rows, size).
    rows: Any
    # Row of a pair of items that are no neighbours, shape (size,).
    default: Any
    # Row of the pairs within each node, shape (n, size).
    loops: Any
    # Number of items of each node, float64 of shape (n,).
    sizes: Any
    # Number of statistics of undirected networks.
    n_undirected: Any


class Layer(NamedTuple):
    """A network: data of its pairs, and a row of statistics for each value, for none observed, and for each loop."""

    pairs: Any
    # Shape (n_values + 1, size); the last row is 0.
    rows: Any
    # Shape (n, size).
    loops: Any


def neighbours(layers, n, groups=None):
    """Lists of neighbours of networks of n items; ``groups`` has the node of each item, in order of appearance."""
    layers = sorted(layers, key=lambda layer: layer.pairs.directed)
    n_undirected = sum(layer.rows.shape[1] for layer in layers if not layer.pairs.directed)
    default = np.concatenate([layer.rows[layer.pairs.default] for layer in layers])
    loops = np.concatenate([layer.loops for layer in layers], axis=1)
    keys, codes = _joined_codes(layers, n)
    codes, rows = _joined_rows(layers, codes)
    # Each pair is in the lists of both nodes.
    reverse = np.searchsorted(keys, (keys % n) * n + keys // n)
    i, j, out, into = keys // n, keys % n, codes, codes[reverse]
    rows, weights = rows - default, np.ones(n)
    if groups is not None:
        i, j, out, into, rows, loops, weights = _grouped(groups, i, j, out, rows, default, loops, n_undirected)
    start = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=len(weights)))])
    arrays = [np.ascontiguousarray(array, dtype=np.int64) for array in (start, j, out, into)]
    floats = [np.ascontiguousarray(array, dtype=np.float64) for array in (rows, default, loops, weights)]
    return Pairs(*arrays, *floats, int(n_undirected))


def _joined_codes(layers, n):
    """Numbers i n + j of pairs, in order, that are neighbours in any network, and their rows in each (n_pairs, k)."""
    places = []
    for layer in layers:
        entries = layer.pairs.codes.tocoo()
        places.append((entries.row.astype(np.int64) * n + entries.col, entries.data - 1))
    all_keys = np.concatenate([keys for keys, _ in places])
    if any(layer.pairs.directed for layer in layers):
        all_keys = np.concatenate([all_keys, (all_keys % n) * n + all_keys // n])
    keys = np.unique(all_keys)
    codes = np.empty((len(keys), len(layers)), dtype=np.int64)
    for k, (layer, (pair_keys, values)) in enumerate(zip(layers, places, strict=True)):
        # Without a default value the last row, of 0, stands for pairs that were not observed.
        codes[:, k] = layer.pairs.default % len(layer.rows)
        codes[np.searchsorted(keys, pair_keys), k] = values
    return keys, codes


def _joined_rows(layers, codes):
    """One number for each different combination of rows, and the combined rows."""
    joined, rows = codes[:, 0], layers[0].rows
    for k, layer in enumerate(layers[1:], start=1):
        used, joined = np.unique(joined * len(layer.rows) + codes[:, k], return_inverse=True)
        rows = np.concatenate([rows[used // len(layer.rows)], layer.rows[used % len(layer.rows)]], axis=1)
    return joined, rows


def _grouped(groups, i, j, out, rows, default, loops, n_undirected):
    """Pairs of groups: sums over pairs of items; pairs within a group are added to its loops."""
    n_groups, size = int(groups.max()) + 1, len(default)
    weights = np.bincount(groups, minlength=n_groups).astype("float64")
    first, second = groups[i], groups[j]
    totals = np.zeros((n_groups, size))
    np.add.at(totals, groups, loops)
    # Undirected pairs once, directed pairs in both directions.
    within = first == second
    counted = within & (i < j)
    np.add.at(totals[:, :n_undirected], first[counted], rows[out[counted], :n_undirected])
    np.add.at(totals[:, n_undirected:], first[within], rows[out[within], n_undirected:])
    n_pairs = weights * (weights - 1.0)
    totals += np.where(np.arange(size) < n_undirected, 0.5, 1.0) * n_pairs[:, None] * default
    keys, joined = np.unique(first[~within] * n_groups + second[~within], return_inverse=True)
    sums = np.zeros((len(keys), size))
    np.add.at(sums, joined, rows[out[~within]])
    reverse = np.searchsorted(keys, (keys % n_groups) * n_groups + keys // n_groups)
    return keys // n_groups, keys % n_groups, np.arange(len(keys)), reverse, sums, totals, weights
