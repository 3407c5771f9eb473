"""Labels of point estimates for plots: checked, in a common order, with colours."""

import numpy as np
import scipy
import xarray as xr

from pymc_nrm.stats.losses import check_estimate


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


def matched_labels(labels, reference):
    """Rename labels so that clusters get the name of the cluster of another partition that they overlap with. As many
    items as possible keep their label in `reference`.  Clusters without a match get the labels that follow, the largest
    first.
    """
    shape = int(labels.max()) + 1, int(reference.max()) + 1
    table = np.bincount(labels * shape[1] + reference, minlength=shape[0] * shape[1]).reshape(shape)
    rows, columns = scipy.optimize.linear_sum_assignment(-table)
    name = np.full(len(table), -1)
    overlapping = table[rows, columns] > 0
    name[rows[overlapping]] = columns[overlapping]
    rest = np.flatnonzero(name < 0)
    rest = rest[np.argsort(-table[rest].sum(axis=1), kind="stable")]
    name[rest] = table.shape[1] + np.arange(len(rest))
    return name[labels]


def prior_draws(prior, read, name):
    """Read prior draws: those of the group ``prior`` if there is one."""
    if isinstance(prior, xr.DataTree) and "prior" in prior.children:
        prior = prior["prior"].to_dataset()
    return read(prior, None if isinstance(prior, xr.DataArray) else name)
