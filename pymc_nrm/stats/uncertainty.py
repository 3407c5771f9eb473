"""How certain a point estimate is: credible balls and their bounds, and each item in its cluster."""

import math
from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import interval_probability
from pymc_nrm.common.result_names import added_names, result_dataset
from pymc_nrm.stats.draws import item_coords, item_dimension, partition_draws
from pymc_nrm.stats.losses import chosen_loss, draw_losses
from pymc_nrm.stats.point_estimate import chosen_estimate, compared_draws

# Distances that differ by less are equal up to rounding.
TOLERANCE = 1e-9


def credible_ball(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    estimate: Any = None,
    *,
    var_name: str | None = None,
    ci_prob: float | None = None,
    loss: str | None = None,
    random_seed: Any = None,
    progressbar: bool = True,
    **costs: Any,
) -> xr.Dataset:
    """Smallest ball of partitions around an estimate with a given posterior probability, and its bounds.

    Parameters
    ----------
    %(draws)s
    estimate : array_like of int, shape (n,), or Dataset, optional
        Centre: labels, or the result of :func:`~pymc_nrm.stats.point_estimate.point_estimate`; by default the point
        estimate under the same loss.
    %(var_name)s
    ci_prob : float, optional
        Posterior probability of the ball, between 0 and 1; by default ``arviz_base.rcParams["stats.ci_prob"]``.
    loss : str, optional
        Loss that measures the distance from the centre, its first argument; see :mod:`pymc_nrm.stats.losses`.  By
        default the loss of :func:`~pymc_nrm.stats.point_estimate.point_estimate`.
    random_seed : int, Generator or None
        Seed of the search for the centre, unless ``estimate`` is given.
    progressbar : bool
        Whether to show a progress bar if that search takes longer than two seconds.
    **costs
        Further arguments of the loss: ``base``, or ``cost_false_join`` and ``cost_false_split``.

    Returns
    -------
    Dataset
        ``center``, labels along the dimension of the items, and ``center_n_clusters``; ``radius``; ``share``, the
        share of draws in the ball, at least ``ci_prob``.  For each bound ``horizontal``, ``upper_vertical`` and
        ``lower_vertical``: its labels, ``<bound>_distance`` from the centre and ``<bound>_n_clusters``, along a
        dimension ``<bound>_tie``.  Its length is one unless several partitions tie; these are in order of their first
        draw.  Attributes ``ci_prob``, ``loss`` and the costs.

    Raises
    ------
    TypeError
        If the loss has no such cost.
    ValueError
        If there is no such partition, ``ci_prob`` is out of range, the loss is unknown, or the estimate has a
        different number of items.

    Notes
    -----
    Wade & Ghahramani (2018), "Bayesian cluster analysis: point estimation and credible balls", section 4.  The radius
    is the smallest r such that the share of draws at a distance of at most r is at least ``ci_prob``.  Bounds are
    draws within the ball: the horizontal ones are furthest from the centre; the upper vertical ones are furthest among
    those with the fewest clusters; the lower vertical ones are furthest among those with the most.  As extremes of the
    draws, they move outwards when draws are added.

    Binder's loss with unequal costs and one minus the adjusted Rand index are not metrics, but the set of draws with
    losses up to the radius is still defined.

    Examples
    --------
    >>> labels = [[[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 2, 2], [0, 1, 2, 3]]]
    >>> draws = xr.DataArray(labels, dims=("chain", "draw", "item"))
    >>> ball = credible_ball(draws, [0, 0, 1, 1], ci_prob=0.8)
    >>> float(ball.share), ball.lower_vertical.values.tolist(), ball.lower_vertical_n_clusters.values.tolist()
    (0.8, [[0, 1, 2, 3]], [4])
    """
    ci_prob = interval_probability(ci_prob)
    draws = compared_draws(partition_draws(idata, var_name), estimate)
    loss, costs = chosen_loss(loss, costs, draws)
    options = {"loss": loss, "random_seed": random_seed, "progressbar": progressbar}
    center, _ = chosen_estimate(estimate, draws, **options, **costs)
    distances = draw_losses(center, draws, loss, costs).values.ravel()
    partitions = draws.values.reshape(-1, draws.shape[2])

    radius = ball_radius(distances, ci_prob)
    inside = np.flatnonzero(distances <= radius + TOLERANCE)
    n_clusters = partitions[inside].max(axis=1) + 1
    bounds = {
        "horizontal": inside,
        "upper_vertical": inside[n_clusters == n_clusters.min()],
        "lower_vertical": inside[n_clusters == n_clusters.max()],
    }
    dim, coords = item_dimension(draws), item_coords(draws)
    variables = {
        "center": (dim, center),
        "center_n_clusters": int(center.max()) + 1,
        "radius": radius,
        "share": len(inside) / len(distances),
    }
    ties = added_names({dim, *coords}, *[f"{name}_tie" for name in bounds])
    for tie, (name, among) in zip(ties, bounds.items(), strict=True):
        furthest = among[distances[among] >= distances[among].max() - TOLERANCE]
        _, first = np.unique(partitions[furthest], axis=0, return_index=True)
        chosen = furthest[np.sort(first)]
        variables[name] = ((tie, dim), partitions[chosen])
        variables[f"{name}_distance"] = (tie, distances[chosen])
        variables[f"{name}_n_clusters"] = (tie, partitions[chosen].max(axis=1) + 1)
    return result_dataset(variables, coords, {"ci_prob": float(ci_prob), "loss": loss, **costs})


def ball_radius(distances, probability):
    """Smallest radius within which at least a share of the draws lies, given their distances, shape (S,)."""
    # Do not let rounding require one draw more than probability * S.
    needed = math.ceil(probability * len(distances) * (1 - 1e-12))
    return float(np.sort(distances)[max(needed, 1) - 1])


def companions(labels, draws):
    """Count the companions of each item, summed over draws. ``kept`` is the number of other members of the item's
    cluster in the estimate that share its cluster, summed over draws; ``accompanied`` the number of draws in which the
    item is not alone. Shapes: ``labels`` (n,), ``draws`` (S, n); returns ``kept`` (n,), ``accompanied`` (n,).
    """
    kept, accompanied = np.zeros((2, len(labels)), dtype=np.int64)
    for row in draws:
        _, cell, sizes = np.unique(labels * len(labels) + row, return_inverse=True, return_counts=True)
        kept += sizes[cell] - 1
        accompanied += np.bincount(row)[row] > 1
    return kept, accompanied


def assignment_uncertainty(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    estimate: Any = None,
    *,
    var_name: str | None = None,
    loss: str | None = None,
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
        Values from 0, certain, to 1, along the dimension of the items, with its coordinates, of the items of the
        estimate.

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
    draws = compared_draws(partition_draws(idata, var_name), estimate)
    options = {"loss": loss, "random_seed": random_seed, "progressbar": progressbar}
    labels, _ = chosen_estimate(estimate, draws, **options, **costs)
    partitions = draws.values.reshape(-1, draws.shape[2])
    kept, accompanied = companions(labels, partitions)
    n_companions = np.bincount(labels)[labels] - 1
    values = np.where(
        n_companions > 0, 1.0 - kept / (len(partitions) * np.maximum(n_companions, 1)), accompanied / len(partitions)
    )
    return xr.DataArray(values, dims=item_dimension(draws), coords=item_coords(draws), name="assignment_uncertainty")
