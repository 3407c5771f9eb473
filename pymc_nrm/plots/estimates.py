"""Labels of point estimates for plots: checked, in a common order, with colours."""

import numpy as np
import xarray as xr

from pymc_nrm.plots.canvas import CLUSTER_COLORS, MARKERS, SMALL_CLUSTER_COLORS
from pymc_nrm.stats.losses import check_estimate

__all__ = [
    "by_size",
    "cluster_style",
    "contingency",
    "distance_unit",
    "estimate_labels",
    "label_numbers",
    "matched_labels",
]


def estimate_labels(estimate, n, draws=None):
    """Labels of a point estimate."""
    if draws is not None:
        estimate = check_estimate(estimate, draws)
    if isinstance(estimate, xr.Dataset):
        if "labels" not in estimate:
            raise ValueError(f"estimate must have the variable labels; got {', '.join(map(str, estimate.data_vars))}")
        estimate = estimate["labels"]
    labels = np.asarray(estimate)
    if labels.shape != (n,) or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(
            f"estimate must have one whole number for each of the {n} items; "
            f"got dtype {labels.dtype} and shape {labels.shape}"
        )
    return np.unique(labels, return_inverse=True)[1].astype("int64")


def distance_unit(attrs):
    """Unit of a loss, given its costs: bits, nats, or none."""
    return {2: "bits", np.e: "nats"}.get(attrs.get("base"), "")


def label_numbers(estimate):
    """The different labels of a point estimate, as given; label k of :func:`estimate_labels` is the k-th."""
    return np.unique(np.asarray(estimate["labels"] if isinstance(estimate, xr.Dataset) else estimate))


def by_size(labels):
    """Rename labels so that 0 is the largest cluster; clusters of equal size keep their order."""
    counts = np.bincount(labels)
    rank = np.empty_like(counts)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return rank[labels]


def contingency(a, b):
    """Numbers of items shared by every cluster of one partition and every cluster of another, shape (K_a, K_b)."""
    n_b = int(b.max()) + 1
    return np.bincount(a * n_b + b, minlength=(int(a.max()) + 1) * n_b).reshape(-1, n_b)


def matched_labels(labels, reference):
    """Rename labels so that clusters get the name of the cluster of another partition that they overlap with. As many
    items as possible keep their label in `reference`.  Clusters without a match get the labels that follow, the largest
    first.
    """
    table = contingency(labels, reference)
    from scipy.optimize import linear_sum_assignment  # slow to import

    rows, columns = linear_sum_assignment(-table)
    name = np.full(len(table), -1)
    overlapping = table[rows, columns] > 0
    name[rows[overlapping]] = columns[overlapping]
    rest = np.flatnonzero(name < 0)
    rest = rest[np.argsort(-table[rest].sum(axis=1), kind="stable")]
    name[rest] = table.shape[1] + np.arange(len(rest))
    return name[labels]


def cluster_style(k):
    """Colour and marker of the k-th cluster; the first 16 differ in colour, and the first 32 in one of both."""
    colors = CLUSTER_COLORS + SMALL_CLUSTER_COLORS
    return colors[k % len(colors)], MARKERS[(k + k // len(colors)) % len(MARKERS)]
