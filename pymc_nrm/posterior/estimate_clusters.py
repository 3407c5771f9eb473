"""Clusters of new items in a point estimate of the old ones."""

import numpy as np
import xarray as xr

from pymc_nrm.posterior.tables import log_sum_rows
from pymc_nrm.stats.contingency import contingency_table
from pymc_nrm.stats.losses import read_estimate


def probabilities_of_clusters(draws, X_new, estimate, progressbar):
    """Probabilities of the clusters of an estimate for new items, see :func:`~pymc_nrm.cluster_probabilities`."""
    items = draws.new_items(X_new)
    labels, names = estimate_labels(draws.default_estimate() if estimate is None else estimate, draws.n_old_items)
    total = 0.0
    for draw, table in items.tables("Predicting clusters", progressbar):
        joined = np.exp(table - log_sum_rows(table)[:, None])
        total += joined @ shares(items.places(draw), table.shape[1], labels, len(names))
    total = total / len(draws)
    return xr.Dataset(
        {
            "probability": ((items.dim, "cluster"), total[:, :-1]),
            "new_cluster_probability": ((items.dim,), total[:, -1]),
            "labels": ((items.dim,), np.append(names, -1)[np.argmax(total, axis=1)]),
        },
        coords={**items.coords, "cluster": names},
    )


def shares(places, n_places, labels, n_labels):
    """Shares of the labels among the items of each place, shape (n_places, n_labels + 1). The last column is that of a
    new cluster, to which places without items belong.
    """
    cells = contingency_table(places, labels, n_places, n_labels + 1)
    cells[cells.sum(axis=1) == 0, -1] = 1
    return cells / cells.sum(axis=1, keepdims=True)


def estimate_labels(estimate, n_items):
    """Labels 0, 1, ... of the items in the estimate, and the names of its clusters in this order."""
    labels, names = read_estimate(estimate, n=n_items)
    if (names < 0).any():
        raise ValueError(f"estimate must have labels of at least 0, since -1 means a new cluster; got {names.min()}")
    return labels, names
