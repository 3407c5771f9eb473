"""A point estimate whose clusters are fused where the draws do not hold them apart."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.checks import check_count
from pymc_nrm.stats.draws import item_coords, item_dimension, partition_draws, stack_draws
from pymc_nrm.stats.losses import check_estimate, complete_costs, draw_losses, summarise_losses
from pymc_nrm.stats.merging import (
    check_overlap,
    companion_shares,
    cut_fusions,
    expected_companions,
    fuse,
    overlap_matrix,
)
from pymc_nrm.stats.point_estimate import point_estimate

__all__ = ["fused_estimate"]

DEFAULT_OVERLAP = 0.05


def fused_estimate(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    estimate: Any = None,
    *,
    var_name: str | None = None,
    overlap: float | None = None,
    n_clusters: int | None = None,
    loss: str = "variation_of_information",
    random_seed: Any = None,
    progressbar: bool = True,
    **costs: Any,
) -> xr.Dataset:
    """Partition in which clusters of a point estimate that overlap are one, with the tree of all fusions.

    A cluster of a mixture is a component: a group that does not have the shape of the family takes several, and items
    at their common border change sides from draw to draw.  These changes are what is measured here.

    Parameters
    ----------
    idata : DataTree, Dataset or DataArray
        Draws of a partition.
    estimate : array_like of int, shape (n,), or Dataset, optional
        Labels of the components, or the result of :func:`~pymc_nrm.stats.point_estimate.point_estimate`; by default the
        point estimate with the arguments below.
    var_name : str, optional
        Name of the partition; by default the only one.
    overlap : float, optional
        Probability from which on clusters are fused, above 0 and at most 1; 0.05 by default.
    n_clusters : int, optional
        Fuse until this number of clusters is left, whatever their overlap, in place of ``overlap``.
    loss, random_seed, progressbar, **costs
        As for :func:`~pymc_nrm.stats.point_estimate.point_estimate`, used unless ``estimate`` is given; ``loss`` and
        its costs also define ``expected_loss``.

    Returns
    -------
    Dataset
        As from :func:`~pymc_nrm.stats.point_estimate.point_estimate`: ``labels`` and ``n_clusters`` after fusion,
        ``expected_loss`` over all draws and its ``mcse``.  ``probability``, dims (item, cluster), says how likely the
        companion of an item is in each cluster.

        Before fusion: ``component_labels`` of the items; ``component_overlap``, dims (component, component_other), from
        row to column; ``component_size``; ``component_cluster``, the label after fusion.

        The tree, along ``fusion``: ``fusion_first`` and ``fusion_second`` say what is fused, where numbers below the
        number of components m are components and m + t is what fusion t has made, as in SciPy; ``fusion_overlap`` is
        the overlap by which they were chosen.  It goes on to a single cluster; ``n_fusions`` of them were made.

        Attributes ``loss``, the costs, and ``overlap`` or ``n_clusters_wanted``.

    Raises
    ------
    TypeError
        If the loss has no such cost.
    ValueError
        If there is no such partition, the estimate has a different number of items, ``overlap`` or ``n_clusters`` is
        not allowed, or both are given.

    See Also
    --------
    pymc_nrm.point_estimate : The estimate before fusion.

    Notes
    -----
    The *companion* of an item is a random member of its cluster in a random draw, possibly the item itself.  The
    overlap of cluster A with cluster B is the posterior probability that the companion of a random item of A is in B,

        ``o(A, B) = 1/|A| E sum_k |k and A| |k and B| / |k|``,

    with k running over the clusters of a draw.  Given all other labels, an item leaves its cluster with the probability
    that its data are assigned elsewhere.  So this is the probability of misclassification by which Hennig (2010,
    "Methods for merging Gaussian mixture components", section 4.2, method DEMP) merges components, averaged over the
    posterior instead of estimated from one fit; it needs no densities, and so is there for every family.  It also
    counts draws in which A and B are one cluster.

    The pair with the largest ``max(o(A, B), o(B, A))`` is fused first; overlaps with the union follow by sums, and the
    next pair is chosen, until no overlap reaches the threshold.  Chains of overlapping components therefore become one
    cluster, however far apart their ends are.  Overlaps of later fusions may exceed those of earlier ones.

    Nothing depends on the names of labels, nor on the units of the data beyond what the draws do.  A fused cluster says
    nothing about the model: densities and predictions stay those of the components.

    The computation takes O(S (n + K m^2)) time for S draws with K clusters and m components.

    Examples
    --------
    Items 0 to 5 are two components that exchange items; item 6 and 7 keep to themselves.

    >>> labels = [[[0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1, 2, 2]]]
    >>> draws = xr.DataArray(labels, dims=("chain", "draw", "item"))
    >>> fused = fused_estimate(draws, random_seed=1)
    >>> fused.component_labels.values.tolist(), fused.labels.values.tolist()
    ([0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 0, 0, 0, 0, 1, 1])
    >>> fused.fusion_overlap.values.round(2).tolist()
    [0.17, 0.0]
    """
    costs = complete_costs(loss, costs)
    if overlap is not None and n_clusters is not None:
        raise ValueError(f"give either overlap or n_clusters, not both; got {overlap!r} and {n_clusters!r}")
    threshold = check_overlap(DEFAULT_OVERLAP if overlap is None else overlap)
    draws = partition_draws(idata, var_name)
    if n_clusters is not None:
        check_count("n_clusters", n_clusters, least=1)
    if estimate is None:
        estimate = point_estimate(draws, loss=loss, random_seed=random_seed, progressbar=progressbar, **costs)
    components = check_estimate(estimate, draws)
    partitions = stack_draws(draws)
    m = int(components.max()) + 1
    if n_clusters is not None and n_clusters > m:
        raise ValueError(f"n_clusters must be at most {m}, the number of components of the estimate; got {n_clusters}")
    companions = expected_companions(components, partitions)
    fusions = fuse(companions)
    cluster = cut_fusions(fusions, threshold, n_clusters)
    labels = cluster[components]
    dim, coords = item_dimension(draws), item_coords(draws)
    rule = {"overlap": threshold} if n_clusters is None else {"n_clusters_wanted": int(n_clusters)}
    result = summarise_losses(draw_losses(labels, draws, loss, costs), loss, costs).assign_attrs(rule)
    return result.assign_coords(coords).assign(
        labels=(dim, labels),
        n_clusters=int(labels.max()) + 1,
        probability=((dim, "cluster"), companion_shares(labels, partitions)),
        component_labels=(dim, components),
        component_size=("component", np.bincount(components)),
        component_cluster=("component", cluster),
        component_overlap=(("component", "component_other"), overlap_matrix(companions)),
        fusion_first=("fusion", fusions.first),
        fusion_second=("fusion", fusions.second),
        fusion_overlap=("fusion", fusions.overlap),
        n_fusions=m - int(cluster.max()) - 1,
    )
