"""How certain it is that each item belongs to its cluster in a point estimate."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.stats.contingency import order_by_cluster
from pymc_nrm.stats.draws import item_coords, item_dimension, partition_draws
from pymc_nrm.stats.point_estimate import labels_of_estimate

__all__ = ["assignment_uncertainty"]


@kernel
def companions(labels, draws):
    """Count the companions of each item, summed over draws. ``kept`` is the number of other members of the item's
    cluster in the estimate that share its cluster, summed over draws; ``accompanied`` the number of draws in which the
    item is not alone. Shapes: ``labels`` (n,), ``draws`` (S, n); returns ``kept`` (n,), ``accompanied`` (n,).
    """
    n_draws, n = draws.shape
    order, start = np.empty(n, dtype=np.int64), np.empty(labels.max() + 2, dtype=np.int64)
    order_by_cluster(labels, order, start)
    together, sizes = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    kept, accompanied = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for s in range(n_draws):
        check_signals()
        row = draws[s]
        for k in range(start.shape[0] - 1):
            for q in range(start[k], start[k + 1]):
                together[row[order[q]]] += 1
            for q in range(start[k], start[k + 1]):
                kept[order[q]] += together[row[order[q]]] - 1
            for q in range(start[k], start[k + 1]):
                together[row[order[q]]] = 0
        for i in range(n):
            sizes[row[i]] += 1
        for i in range(n):
            accompanied[i] += sizes[row[i]] > 1
        sizes[:] = 0
    return kept, accompanied


def assignment_uncertainty(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    estimate: Any = None,
    *,
    var_name: str | None = None,
    loss: str = "variation_of_information",
    random_seed: Any = None,
    progressbar: bool = True,
    **costs: Any,
) -> xr.DataArray:
    """How uncertain it is, for each item, that it belongs to its cluster in an estimate.

    Parameters
    ----------
    %(draws)s
    estimate : array_like of int, shape (n,), or Dataset, optional
        Labels, or the result of :func:`~pymc_nrm.stats.point_estimate.point_estimate`; by default the point estimate
        with the arguments below.
    %(var_name)s
    loss, random_seed, progressbar, **costs
        As for :func:`~pymc_nrm.stats.point_estimate.point_estimate`; used unless ``estimate`` is given.

    Returns
    -------
    DataArray
        Values from 0, certain, to 1, along the dimension of the items, with its coordinates.

    Raises
    ------
    ValueError
        If there is no such partition, or the estimate has a different number of items.

    Notes
    -----
    For item i in a cluster C of at least two members, the uncertainty is one minus the mean of p(i, j) over the other
    members j of C, where p(i, j) is the posterior probability that i and j share a cluster.  This is the expected share
    of its companions that the item loses.  For an item that is alone in the estimate, it is the posterior probability
    that the item has companions.  The computation takes O(n S) time for S draws, and 8 n S bytes.

    Examples
    --------
    >>> draws = xr.DataArray([[[0, 0, 1], [0, 0, 1], [0, 0, 0], [0, 1, 1]]], dims=("chain", "draw", "item"))
    >>> assignment_uncertainty(draws, [0, 0, 1]).values.tolist()
    [0.25, 0.25, 0.5]
    """
    draws = partition_draws(idata, var_name)
    options = {"loss": loss, "random_seed": random_seed, "progressbar": progressbar}
    labels = labels_of_estimate(estimate, draws, **options, **costs)
    partitions = draws.values.reshape(-1, draws.shape[2])
    kept, accompanied = companions(labels, partitions)
    others = np.bincount(labels)[labels] - 1
    values = np.where(others > 0, 1.0 - kept / (len(partitions) * np.maximum(others, 1)), accompanied / len(partitions))
    return xr.DataArray(values, dims=item_dimension(draws), coords=item_coords(draws), name="assignment_uncertainty")
