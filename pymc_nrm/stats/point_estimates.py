"""A few partitions that stand for a posterior with several modes, each with its share of the draws."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_count, check_flag, check_number, random_generator
from pymc_nrm.common.progress import progress
from pymc_nrm.common.result_names import added_names, result_dataset
from pymc_nrm.stats.draws import item_coords, item_dimension, partition_draws, stack_draws
from pymc_nrm.stats.losses import check_loss, chosen_loss, draw_losses, mean_and_error, pair_losses
from pymc_nrm.stats.point_estimate import (
    check_max_clusters,
    evenly_spaced,
    limit_of_clusters,
    mean_losses,
    minimise,
    point_estimate,
    with_values_only,
)

# The first partitions, some more than are wanted, are chosen among so many draws; searches have so many starts.
N_SPARE, N_CANDIDATES, N_RESTARTS = 2, 300, 4
MAX_SWEEPS, MAX_ZEALOUS = 100, 10
# Means of losses that differ by less are equal.
TOLERANCE = 1e-9
# Largest share of the draws of two modes that lie between them.
MOST_UNDECIDED = 0.1


def point_estimates(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    n: int = 3,
    *,
    var_name: str | None = None,
    min_share: float = 0.05,
    loss: str | None = None,
    max_clusters: int | str | None = "draws",
    max_draws: int | None = 1000,
    keep_empty_items: bool = False,
    random_seed: Any = None,
    progressbar: bool = True,
    **costs: Any,
) -> xr.Dataset:
    """Partitions that stand for the modes of a posterior, at most n, with the share of the draws nearest to each.

    A single point estimate may lie between two modes, where there are no draws, or leave one out.

    Parameters
    ----------
    %(draws)s
    n : int
        Largest number of partitions.  There are fewer if draws have fewer modes that are apart, see Notes.
    %(var_name)s
    min_share : float
        Share of the draws that the search uses below which a partition does not stand for a mode, at least 0.
    loss : str, optional
        Distance of partitions, as for :func:`~pymc_nrm.stats.point_estimate.point_estimate`, with the same default.
    max_clusters : int or "draws", optional
        Largest number of clusters of each partition: by default as many as 95 % of its draws have at most; None sets no
        limit.
    max_draws : int, optional
        How many draws the search uses, evenly spaced in every chain; None for all.
    keep_empty_items : bool
        Whether items without any known value are in the estimates too, as for
        :func:`~pymc_nrm.stats.point_estimate.point_estimate`.
    random_seed : int, Generator or None
        Seed of the search.  The same seed gives the same partitions.
    progressbar : bool
        Whether to show a bar if a search takes longer than two seconds.
    **costs
        Further arguments of the loss: ``base``, or ``cost_false_join`` and ``cost_false_split``.

    Returns
    -------
    Dataset
        Along ``clustering``, the largest share first: ``labels``, also along the dimension of the items;
        ``n_clusters``; ``share``, the share of all draws that are nearer to it than to the others, with its Monte Carlo
        standard error ``share_mcse``, and ``chain_share``, also along ``chain``; ``expected_loss``, the mean loss of
        these draws.  ``distance``, dims (clustering, clustering_other), is the loss between two of them.  Attributes
        ``loss``, the costs, and ``n_draws_searched``.

    Raises
    ------
    TypeError
        If the loss has no such cost.
    ValueError
        If there is no such partition, the loss is unknown, or ``n`` or ``min_share`` is not allowed.

    Notes
    -----
    The partitions c_1, ..., c_k are to make the mean over draws of ``min_j loss(c_j, draw)`` small: with shares as
    weights, they are then close to the posterior in the Wasserstein distance (WASABI: Balocchi & Wade 2025,
    "Understanding uncertainty in Bayesian cluster analysis", arXiv:2506.16295).  The search begins with n + 2 draws
    that are chosen one by one.  Then draws go to the nearest partition, and each partition becomes the point estimate
    of its draws, by the search of :func:`~pymc_nrm.stats.point_estimate.point_estimate`, until the mean no longer
    falls.

    Two partitions at distance D stand for two modes if each has at least ``min_share`` of the draws, and

    * D is at least the mean distance of their draws to the nearer one, and
    * at most a tenth of these draws lie between them: for such draws the two distances differ by less than half of what
      they differ by on average.  Of two halves of one mode many draws lie near the cut, 22 % of a normal distribution.

    While a pair is closer than this, or there are more than n partitions, the draws of the closest pair get one
    partition, and the search continues.  A single partition is the result of
    :func:`~pymc_nrm.stats.point_estimate.point_estimate` with the same seed.

    Shares are probabilities only as far as chains go from mode to mode: compare ``chain_share`` and ``share_mcse``.
    Chains that each stay in a mode tell nothing of its probability.

    For 342 items and 1000 draws the search takes seven times as long as the search for a single estimate.

    Examples
    --------
    >>> import pymc_nrm as nrm
    >>> labels = [[[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 2, 3]]]
    >>> draws = xr.DataArray(labels, dims=("chain", "draw", "item"))
    >>> modes = nrm.point_estimates(draws, random_seed=1)
    >>> modes.labels.values.tolist(), modes.share.values.tolist()
    ([[0, 0, 1, 1], [0, 1, 2, 3]], [0.75, 0.25])
    """
    if loss is not None:
        check_loss(loss, costs)
    check_count("n", n, 1)
    check_number("min_share", min_share, lambda share: 0 <= share < 1, "at least 0 and below 1")
    check_max_clusters(max_clusters)
    check_count("max_draws", max_draws, 1, optional=True)
    check_flag("keep_empty_items", keep_empty_items)
    draws = partition_draws(idata, var_name)
    if not keep_empty_items:
        draws = with_values_only(draws)
    loss, costs = chosen_loss(loss, costs, draws)
    rng = random_generator(random_seed)
    options = {"loss": loss, "max_clusters": max_clusters, "max_draws": max_draws, "keep_empty_items": True}
    single = point_estimate(draws, random_seed=rng, progressbar=progressbar, **options, **costs)
    chosen = single["labels"].values[None]
    if n > 1:
        partitions = stack_draws(evenly_spaced(draws, max_draws))
        with progress("Searching modes", int(n) + N_SPARE, progressbar) as advance:
            modes = _modes(partitions, int(n), min_share, max_clusters, loss, costs, rng, advance)
        chosen = modes if len(modes) > 1 else chosen

    losses = np.stack([draw_losses(labels, draws, loss, costs).values for labels in chosen])
    nearest = losses.argmin(axis=0)
    members = nearest == np.arange(len(chosen))[:, None, None]
    order = np.argsort(-members.sum(axis=(1, 2)), kind="stable")
    chosen, losses, members = chosen[order], losses[order], members[order]
    compact = chosen.astype(np.int32)
    share = [mean_and_error(is_member.astype("float64")) for is_member in members]
    dim, coords = item_dimension(draws), item_coords(draws)
    along, other_dim = added_names({dim, *coords}, "clustering", "clustering_other")
    return result_dataset(
        {
            "labels": ((along, dim), chosen),
            "n_clusters": (along, chosen.max(axis=1) + 1),
            "share": (along, [mean for mean, _ in share]),
            "share_mcse": (along, [error for _, error in share]),
            "chain_share": ((along, "chain"), members.mean(axis=2)),
            "expected_loss": (
                along,
                [loss_[is_member].mean() for loss_, is_member in zip(losses, members, strict=True)],
            ),
            "distance": ((along, other_dim), _losses(compact, compact, loss, costs)),
        },
        coords=coords | ({"chain": draws["chain"]} if "chain" in draws.coords else {}),
        attrs={"loss": loss, **costs, "n_draws_searched": single.attrs["n_draws_searched"]},
    )


def _losses(centers, draws, loss, costs):
    """Losses of partitions (k, n) and draws (S, n), shape (k, S)."""
    return np.stack([pair_losses(center[None], draws, loss, costs) for center in centers])


def _modes(partitions, n, min_share, max_clusters, loss, costs, rng, advance):
    """At most n partitions that are apart. Shapes: ``partitions`` (S, n_items); returns (k, n_items)."""
    compact = partitions.astype(np.int32)
    n_clusters = compact.max(axis=1) + 1

    def estimate(members, center):
        """Point estimate of some draws, at least as good as a partition that is known and within the limit."""
        limit = limit_of_clusters(max_clusters, n_clusters[members], compact.shape[1])
        best, _ = minimise(partitions[members], loss, costs, (limit, MAX_SWEEPS, MAX_ZEALOUS), N_RESTARTS, rng)
        if center.max() >= limit:
            return best.astype(np.int32)
        both = np.stack([center, best]).astype(np.int32)
        return both[mean_losses(both, compact[members], loss, costs).argmin()]

    def assigned(centers):
        """Partitions that are nearest to any draw, and their losses."""
        losses = _losses(centers, compact, loss, costs)
        used = _cells(losses).any(axis=1)
        return centers[used], losses[used]

    kept = np.linspace(0, len(compact) - 1, min(len(compact), N_CANDIDATES)).round().astype(int)
    centers = compact[kept][_medoids(_losses(compact[kept], compact[kept], loss, costs), n + N_SPARE)]
    while True:
        advance()
        (centers, losses), gain = assigned(centers), np.inf
        while gain > TOLERANCE:
            before, cells = losses.min(axis=0).mean(), _cells(losses)
            better = [estimate(cell, center) for cell, center in zip(cells, centers, strict=True)]
            centers, losses = assigned(np.stack(better))
            gain = before - losses.min(axis=0).mean()
        pair = _too_close(losses, _losses(centers, centers, loss, costs), n, min_share)
        if pair is None:
            return centers.astype(np.int64)
        cells = _cells(losses)
        joined = estimate(cells[pair[0]] | cells[pair[1]], centers[pair[0]])
        centers = np.concatenate([np.delete(centers, pair, axis=0), joined[None]])


def _cells(losses):
    """Which draws are nearest to each partition, given the losses (k, S)."""
    return losses.argmin(axis=0) == np.arange(len(losses))[:, None]


def _too_close(losses, between, n, min_share):
    """Two partitions that one could replace, or None. Shapes: ``losses`` (k, S), ``between`` (k, k)."""
    cells = _cells(losses)
    least = int(cells.mean(axis=1).argmin())
    if cells[least].mean() < min_share:
        return [least, int(np.where(np.arange(len(cells)) == least, np.inf, between[least]).argmin())]
    pairs = [[a, b] for b in range(len(cells)) for a in range(b)]
    if not pairs:
        return None
    apart = [_separation(between[a, b], losses[[a, b]][:, cells[a] | cells[b]]) for a, b in pairs]
    return pairs[int(np.argmin(apart))] if min(apart) < 1.0 or len(cells) > n else None


def _medoids(distances, n):
    """At most n draws, one by one those that lower the mean distance to the nearest most; distances are (S, S)."""
    chosen, nearest = [], np.full(len(distances), np.inf)
    while len(chosen) < n and nearest.max() > 0:
        chosen.append(int(np.minimum(distances, nearest).mean(axis=1).argmin()))
        nearest = np.minimum(nearest, distances[chosen[-1]])
    return chosen


def _separation(distance, losses):
    """How far two partitions are apart, given the losses (2, S) of their draws; at least 1 means two modes."""
    least, differences = losses.min(axis=0).mean(), losses[1] - losses[0]
    first = differences > 0
    if distance == 0.0 or first.all() or not first.any():
        return 0.0
    typical = (differences[first].mean() - differences[~first].mean()) / 2
    undecided = (np.abs(differences) < typical / 2).mean()
    return min(MOST_UNDECIDED / max(undecided, 1e-300), distance / max(least, 1e-300))
