"""Paths of new items in an estimate of a tree."""

import numpy as np
import xarray as xr

from pymc_nrm.partitions.nested import Nested
from pymc_nrm.posterior.tables import log_sum_rows
from pymc_nrm.stats.nested.item_tree import ItemTree
from pymc_nrm.stats.nested.nested_point_estimate import nested_point_estimate


def probabilities_of_nodes(draws, X_new, estimate, progressbar):
    """Probabilities of the nodes of an estimate for new items, see :func:`~pymc_nrm.cluster_probabilities`."""
    paths = _estimate_paths(estimate, draws)
    depth, n_labels = paths.shape[1], int(paths.max()) + 1
    items = draws.new_items(X_new)
    total, new = 0.0, 0.0
    for draw, table in items.tables("Predicting clusters", progressbar):
        joined = np.exp(table - log_sum_rows(table)[:, None])
        places = draws.places(draw)
        by_level = []
        for level in range(1, depth + 1):
            # Places above this level have no node of it.
            first = places.start[level]
            cells = (places.nodes[:, level:] - first) * n_labels + paths[:, level - 1, None]
            members = np.bincount(cells.ravel(), minlength=(len(places.counts) - first) * n_labels)
            by_level.append(joined[:, first:] @ (members.reshape(-1, n_labels) / places.counts[first:, None]))
        total = total + np.stack(by_level, axis=1)
        new = new + np.column_stack([joined[:, :first].sum(axis=1) for first in places.start[1:-1]])
    total, new = total / len(draws), new / len(draws)
    return xr.Dataset(
        {
            "probability": ((items.dim, "level", "cluster"), total),
            "new_cluster_probability": ((items.dim, "level"), new),
            "labels": ((items.dim, "level"), _best_paths(paths, total, new)),
        },
        coords={**items.coords, "level": np.arange(1, depth + 1), "cluster": np.arange(n_labels)},
    )


def _best_paths(paths, probabilities, new):
    """From the root down, the most probable child of the node above, or -1 for a new one and all below it. Shapes:
    ``paths`` (n, depth), ``probabilities`` (m, depth, n_nodes), ``new`` (m, depth); returns (m, depth).
    """
    labels = np.full(new.shape, -1, dtype="int64")
    for item, by_level in enumerate(probabilities):
        inside, above = np.ones(len(paths), dtype=bool), 1.0
        for level, own in enumerate(by_level):
            children = np.unique(paths[inside, level])
            best = children[np.argmax(own[children])]
            if own[best] < above - own[children].sum():
                break
            labels[item, level], above = best, own[best]
            inside &= paths[:, level] == best
    return labels


def _estimate_paths(estimate, draws):
    """Paths of the items in the estimate, shape (n, depth), each level labelled in order of appearance."""
    depth, n = draws.kind.depth, draws.n_items
    if estimate is None:
        if draws.is_observed:
            return draws.paths(next(iter(draws)))
        stored = draws.posterior[draws.partition].isel({draws.dims[1]: slice(0, depth)})
        estimate = nested_point_estimate(stored, random_seed=0)
    if not isinstance(estimate, ItemTree):
        return Nested(depth).renamed(estimate, n, "estimate")
    if estimate.information.get("method") == "majority_rule":
        raise ValueError(
            "estimate must have the levels of the draws, as nested_point_estimate and maximum_clade_credibility have "
            "them; got a consensus tree, whose levels are its own"
        )
    deepest = int(estimate.level.max())
    if estimate.n_items != n or deepest > depth:
        raise ValueError(
            f"estimate must be a tree of {n} items and at most {depth} levels; got {estimate.n_items} items and "
            f"{deepest} levels"
        )
    return np.column_stack([estimate.labels(level) for level in range(1, depth + 1)])
