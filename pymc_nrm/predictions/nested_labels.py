"""Paths of new items in an estimate of a tree."""

import numpy as np
import xarray as xr

from pymc_nrm.partitions.nested import Nested
from pymc_nrm.predictions.new_items import NewItems
from pymc_nrm.predictions.tables import log_sum_rows
from pymc_nrm.stats.nested.item_tree import ItemTree
from pymc_nrm.stats.nested.nested_point_estimate import nested_point_estimate

__all__ = ["predict_nested_labels"]


def predict_nested_labels(draws, X_new, estimate, progressbar):
    """Probabilities of the nodes of an estimate for new items, see :func:`~pymc_nrm.predictions.predict_labels`.
    Shapes: ``estimate`` (n, depth).
    """
    paths = _estimate_paths(estimate, draws)
    depth = paths.shape[1]
    items = NewItems(draws, X_new)
    totals, new = [0.0] * depth, 0.0
    for draw, table in items.tables("Predicting labels", progressbar):
        joined = np.exp(table - log_sum_rows(table)[:, None])
        places = draw.places
        for level in range(1, depth + 1):
            # Places above this level have no node of it.
            first = places.start[level]
            n_labels = paths[:, level - 1].max() + 1
            cells = (places.nodes[:, level:] - first) * n_labels + paths[:, level - 1, None]
            members = np.bincount(cells.ravel(), minlength=(len(places.counts) - first) * n_labels)
            shares = members.reshape(-1, n_labels) / places.counts[first:, None]
            totals[level - 1] = totals[level - 1] + joined[:, first:] @ shares
        new = new + np.column_stack([joined[:, :first].sum(axis=1) for first in places.start[1:-1]])
    probabilities = [total / len(draws) for total in totals]
    new = new / len(draws)
    padded = np.zeros((len(new), depth, max(level.shape[1] for level in probabilities)))
    for level, own in enumerate(probabilities):
        padded[:, level, : own.shape[1]] = own
    return xr.Dataset(
        {
            "probability": ((items.dim, "level", "cluster"), padded),
            "new_cluster_probability": ((items.dim, "level"), new),
            "labels": ((items.dim, "level"), _best_paths(paths, probabilities, new)),
        },
        coords={**items.coords, "level": np.arange(1, depth + 1), "cluster": np.arange(padded.shape[2])},
    )


def _best_paths(paths, probabilities, new):
    """From the root down, the most probable child of the node above, or -1 for a new one and all below it. Shapes:
    ``paths`` (n, depth), ``probabilities`` (m, n_nodes), ``new`` (m, depth); returns (m, depth).
    """
    labels = np.full(new.shape, -1, dtype="int64")
    for item in range(len(labels)):
        for level, own in enumerate(probabilities):
            if level == 0:
                children, opens = np.arange(own.shape[1]), new[item, 0]
            else:
                node = labels[item, level - 1]
                children = np.unique(paths[paths[:, level - 1] == node, level])
                opens = probabilities[level - 1][item, node] - own[item, children].sum()
            best = children[np.argmax(own[item, children])]
            if own[item, best] < opens:
                break
            labels[item, level] = best
    return labels


def _estimate_paths(estimate, draws):
    """Paths of the items in the estimate, shape (n, depth), each level labelled in order of appearance."""
    depth, n = draws.depth, draws.n_items
    if estimate is None:
        if draws.is_observed:
            return next(iter(draws)).paths
        draws_of_paths = draws.posterior[draws.partition].isel({draws.column_dim: slice(0, depth)})
        estimate = nested_point_estimate(draws_of_paths, random_seed=0)
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
