"""The partition with the least posterior expected loss."""

import logging
import math
import zlib
from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_count, check_flag, random_generator
from pymc_nrm.common.progress import progress
from pymc_nrm.common.result_names import added_names, result_dataset
from pymc_nrm.common.wrapping import wrapped
from pymc_nrm.stats.contingency import as_labels, cell_sums
from pymc_nrm.stats.draws import draws_of_items, item_coords, item_dimension, partition_draws, stack_draws
from pymc_nrm.stats.losses import (
    check_loss,
    chosen_loss,
    draw_losses,
    loss_table,
    pair_losses,
    read_estimate,
    summarise_losses,
)
from pymc_nrm.stats.search import ADJUSTED_RAND, LINEAR, NORMALIZED_INFORMATION, DrawTables, search

# A child of PyMC's logger, which shows messages of level INFO.
_log = logging.getLogger("pymc.nrm_results")

# With more items than this, runs have fewer draws by default and say how long they take, and point estimates come from
# fewer searches.
MANY_ITEMS = 20_000
# Draws are first compared by their losses at N_REFERENCES random draws, or fewer if these hold more than N_FIRST_LABELS
# labels; those worse than the best partition by
# more than N_STANDARD_ERRORS standard errors are dropped.
N_REFERENCES, N_FEWEST_REFERENCES = 100, 10
N_STANDARD_ERRORS = 6
# With more than N_FIRST draws, restarts use N_FIRST random ones; the N_POLISHED best partitions found are then improved
# with more draws.
N_FIRST = 250
# Restarts and improvements use fewer draws if these hold more labels than this, but at least N_FEWEST.
N_FIRST_LABELS, N_POLISHED_LABELS = 2**21, 2**24
N_FEWEST = 50
N_POLISHED = 4
# Searches over many items end alike if nearly all items are in the same cluster in all draws.
N_RESTARTS, N_RESTARTS_OF_MANY = 16, 4
# By default an estimate has at most as many clusters as this share of the draws.
MOST_DRAWS = 0.95
# Steps of the progress bar while draws are compared.
N_REPORTS = 10


def point_estimate(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    *,
    var_name: str | None = None,
    loss: str | None = None,
    max_clusters: int | str | None = "draws",
    n_restarts: int | None = None,
    max_sweeps: int = 100,
    max_zealous: int = 10,
    max_draws: int | None = 1000,
    keep_empty_items: bool = False,
    random_seed: Any = None,
    progressbar: bool = True,
    **costs: Any,
) -> xr.Dataset:
    """Partition that minimises the posterior expected loss, by local search from several starts.

    Parameters
    ----------
    %(draws)s
    %(var_name)s
    loss : str, optional
        ``"variation_of_information"``, ``"normalized_variation_of_information"``, ``"binder_loss"`` or
        ``"one_minus_adjusted_rand"``, in short ``"VI"``, ``"NVI"``, ``"binder"`` or ``"omARI"``, see
        :mod:`pymc_nrm.stats.losses`.  The default is the variation of information; for a partition with ``log_weights``
        it is the normalized variation of information if most draws use all components, see Notes.
    max_clusters : int or "draws", optional
        Largest number of clusters of the estimate.  By default as many as 95 % of the draws have at most; None sets no
        limit.
    n_restarts : int, optional
        Number of searches, by default 16, or 4 with more than 20,000 items.  Every second one starts from a draw,
        beginning with the best; the others start from scratch.
    max_sweeps : int
        Largest number of sweeps over all items, after the start and after each round that dissolves clusters.
    max_zealous : int
        Largest number of rounds, in each search, that dissolve every cluster in turn and allocate its items again.
    max_draws : int, optional
        How many draws the search uses, evenly spaced in every chain; None for all.
    keep_empty_items : bool
        Whether items without any known value, such as people who were not asked, are in the estimate too.  By default
        they are left out, and the log says how many, see Notes.
    random_seed : int, Generator or None
        Seed of the search.  The same seed gives the same estimate.
    progressbar : bool
        Whether to show a bar if the search takes longer than two seconds.
    **costs
        Further arguments of the loss: ``base``, or ``cost_false_join`` and ``cost_false_split``.

    Returns
    -------
    Dataset
        ``labels``, along the dimension of the items and with its coordinates, of the items in the estimate; where items
        are left out and have no coordinates, these are positions.  ``expected_loss`` over all draws and its Monte Carlo
        standard error ``mcse``, see :func:`~pymc_nrm.stats.losses.expected_loss`; ``n_clusters``;
        ``restart_expected_loss``, along ``restart``, the loss that each search reached over the draws it used: if few
        reach the smallest value, raise ``n_restarts``.  Attributes ``loss``, the costs, ``n_draws_searched``, and
        ``max_clusters``, the limit in use, which is the number of items if there is none.

    Raises
    ------
    TypeError
        If the loss has no such cost.
    ValueError
        If there is no such partition, the loss is unknown, or a number is not a positive integer.

    Notes
    -----
    *Number of clusters.*  Where draws disagree about the company of an item, the loss can be smallest if it is alone,
    although it is alone in few draws.  Without a limit, the estimate may then have more clusters than any draw: 342
    under Binder's loss for 2700 voters whose draws have 19 to 27, and 258 of them of one voter.  With the limit of 27
    the loss is 0.0535 in place of 0.0517, which differ by less than the Monte Carlo standard error of 0.006.  Under the
    variation of information, which rarely reaches the limit, the largest difference on five data sets was 0.0007 bits
    of 1.48.

    *Fixed number of components.*  Where clusters overlap, the variation of information is often least if they are
    joined, although every draw has all of them.  Where the number of clusters is unknown, this keeps uncertain clusters
    out of the estimate; with ``log_weights`` it is fixed.  On 16 simulated data sets of three overlapping latent
    classes (300 to 600 rows, 6 to 12 binary items), the estimate has three clusters in 10 under the variation of
    information and in all 16 under its normalized form, as in the draws.  The mean adjusted Rand index with the true
    classes is 0.50 and 0.61; it is 0.60 for the EM algorithm.

    *Items without values.*  Labels of items whose values are all missing reflect the prior alone: in every draw they
    are spread over all clusters.  They would spoil the estimate, since losses count them like others: 320 of them among
    920 items make two clusters of three that are plain without them.  :func:`~pymc_nrm.sample` therefore records which
    items have values, as a coordinate of the partition; draws have all items.  An item also counts as one with values
    if its label is known, if an item that stays together with it has values, or if its weights are its own.
    :func:`~pymc_nrm.cluster_probabilities` of missing values gives the probabilities of clusters for items left out.

    *Search.*
    A search first allocates items one by one, in random order, each to the cluster that gives the least expected loss
    of the items allocated so far.  It then moves single items to their best cluster, or to a new one, until no move
    helps.  Finally it dissolves each cluster in turn, allocates its items again, and keeps the better partition (Dahl,
    Johnson & Mueller 2022, "Search algorithms and loss functions for Bayesian clustering", section 3).  A search finds
    a local minimum, hence the restarts.

    A thousand draws are enough for most purposes.  With 16,000 draws of 82 galaxies, the estimate from 1,000 of them
    has an expected loss of 1.824 bits instead of 1.822, with a Monte Carlo standard error of 0.008, and takes a tenth
    of the time.

    With more than 250 draws, searches use 250 of them at random, or fewer if there are more than 8,000 items; further
    searches with all draws, or fewer if there are more than 16,000 items, then start from the best four partitions, or
    with more than 20,000 items from the best one.

    No draw that the search uses, with at most ``max_clusters`` clusters, is better than the estimate: better ones
    become starts of further searches.  With more than 100 draws, a draw is compared over all draws only if it is not
    worse by six standard errors over 100 random ones, or fewer if there are more than 20,000 items.

    One sweep takes O(n S K) time for n items, S draws and K clusters of the estimate.  Memory is 4 n S bytes, and 8
    bytes for each pair of a cluster of a draw and a cluster of the estimate.

    Examples
    --------
    >>> labels = [[[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 2, 2]]]
    >>> draws = xr.DataArray(labels, dims=("chain", "draw", "item"))
    >>> estimate = point_estimate(draws, random_seed=1)
    >>> estimate.labels.values.tolist(), int(estimate.n_clusters)
    ([0, 0, 1, 1], 2)
    """
    if loss is not None:
        check_loss(loss, costs)
    check_count("n_restarts", n_restarts, 1, optional=True)
    check_count("max_sweeps", max_sweeps, 1)
    check_count("max_zealous", max_zealous, 0)
    check_max_clusters(max_clusters)
    check_count("max_draws", max_draws, 1, optional=True)
    check_flag("keep_empty_items", keep_empty_items)
    draws = partition_draws(idata, var_name)
    if not keep_empty_items:
        draws = with_values_only(draws)
    loss, costs = chosen_loss(loss, costs, draws)
    partitions = stack_draws(evenly_spaced(draws, max_draws))
    rng = random_generator(random_seed)
    limit = limit_of_clusters(max_clusters, draws.max(item_dimension(draws)).values + 1, partitions.shape[1])
    limits = (limit, int(max_sweeps), int(max_zealous))
    if n_restarts is None:
        n_restarts = N_RESTARTS if partitions.shape[1] <= MANY_ITEMS else N_RESTARTS_OF_MANY
    n_steps = N_REPORTS + int(n_restarts) + (N_POLISHED if len(partitions) > n_first(partitions) else 0)
    with progress("Searching the point estimate", n_steps, progressbar) as advance:
        labels, restart_losses = minimise(partitions, loss, costs, limits, int(n_restarts), rng, advance)

    losses, coords = summarise_losses(draw_losses(labels, draws, loss, costs), loss, costs), item_coords(draws)
    dim = item_dimension(draws)
    [restart] = added_names({dim, *coords}, "restart")
    variables = {
        **losses.data_vars,
        "labels": (dim, labels),
        "n_clusters": int(labels.max()) + 1,
        "restart_expected_loss": (restart, restart_losses),
    }
    return result_dataset(
        variables, coords, {**losses.attrs, "n_draws_searched": len(partitions), "max_clusters": limit}
    )


def with_values_only(draws):
    """Draws of the items that have values, and a line in the log of how many are left out."""
    kept = draws_of_items(draws)
    n, n_kept = (of.sizes[item_dimension(draws)] for of in (draws, kept))
    if n_kept < n:
        _log.info(wrapped(f"{left_out_words(n - n_kept)}; keep_empty_items=True keeps them"))
    return kept


def compared_draws(draws, estimate):
    """Draws of the items that an estimate has, by default of those with values, which the log says."""
    return with_values_only(draws) if estimate is None else draws_of_items(draws, estimate)


def left_out_words(n, word="items"):
    """How many items an estimate leaves out."""
    subject = f"{n:,} {word} have" if n > 1 else f"1 {word[:-1]} has"
    return f"{subject} no values and {'are' if n > 1 else 'is'} left out of the estimate"


def check_max_clusters(max_clusters):
    """Raise an error unless this is a number of clusters, ``"draws"`` or None."""
    if isinstance(max_clusters, str) and max_clusters != "draws":
        raise ValueError(f"max_clusters must be a whole number of at least 1, 'draws' or None; got {max_clusters!r}")
    if max_clusters != "draws":
        check_count("max_clusters", max_clusters, 1, optional=True)


def limit_of_clusters(max_clusters, n_clusters, n):
    """Largest number of clusters of an estimate of n items, given the argument and the numbers of the draws."""
    if max_clusters == "draws":
        return int(np.quantile(n_clusters, MOST_DRAWS, method="inverted_cdf"))
    return n if max_clusters is None else int(max_clusters)


def chosen_estimate(estimate, draws, **options):
    """:func:`read_estimate` of an estimate, by default of the point estimate with the options."""
    return read_estimate(point_estimate(draws, **options) if estimate is None else estimate, draws)


def draws_of_estimate(draws, estimate):
    """Draws of the items that an estimate has: of a fused estimate the draws that it has fused, of others all."""
    draws = draws_of_items(draws, estimate)
    if not isinstance(estimate, xr.Dataset) or "draw_fusion" not in estimate:
        return draws
    fusion = estimate["draw_fusion"].values
    used = evenly_spaced(draws, fusion.shape[0] * fusion.shape[1])
    is_fused = fusion.shape[:2] == (used.sizes["chain"], used.sizes["draw"])
    if not is_fused or estimate.attrs.get("draws_used") != fingerprint(used):
        raise ValueError(
            "estimate has fused the clusters of other draws, such as those before a run was resumed or thinned: "
            "nrm.fused_estimate(idata, model) fuses the clusters of these draws, and estimate['labels'] compares these "
            "draws as they are"
        )
    return used.copy(data=np.take_along_axis(fusion, used.values, axis=2))


def fingerprint(draws):
    """A number that tells draws of a partition from others."""
    return zlib.crc32(np.ascontiguousarray(draws.values, dtype=np.int32).tobytes())


def evenly_spaced(draws, max_draws):
    """Select at most ``max_draws`` draws, the same ones of every chain and at least one; None selects all."""
    n_chains, n_draws = draws.sizes["chain"], draws.sizes["draw"]
    if max_draws is None or n_chains * n_draws <= max_draws:
        return draws
    kept = np.linspace(0, n_draws - 1, max(max_draws // n_chains, 1)).round().astype(int)
    return draws.isel(draw=kept)


def minimise(partitions, loss, costs, limits, n_restarts, rng, advance=lambda: None):
    """Find the best partition (n,) for draws (S, n), and the expected loss that each restart reached, (n_restarts,)."""
    compact = partitions.astype(np.int32)
    allowed = np.sort(np.unique(compact, axis=0, return_index=True)[1])
    allowed = allowed[compact[allowed].max(axis=1) < limits[0]]
    n_references = min(N_REFERENCES, max(N_FIRST_LABELS // compact.shape[1], N_FEWEST_REFERENCES), len(compact))
    references = np.sort(rng.choice(len(compact), n_references, replace=False))
    reference_losses = np.zeros((len(allowed), len(references)))
    for part in np.array_split(np.arange(len(allowed)), N_REPORTS):
        for k in part:
            t = allowed[k]
            reference_losses[k] = pair_losses(compact[t : t + 1], compact[references], loss, costs)
        advance()
    starts = _starts(partitions[allowed], reference_losses.mean(axis=1), n_restarts)
    many = _some_draws(rng, partitions, max(N_POLISHED_LABELS // partitions.shape[1], N_FEWEST))
    tables = make_tables(many, loss, costs)
    if len(compact) <= n_first(partitions):
        minima = _run_all(rng, starts, tables, limits, advance)
        losses = mean_losses(minima, compact, loss, costs)
    else:
        few = make_tables(_some_draws(rng, partitions, n_first(partitions)), loss, costs)
        minima = _run_all(rng, starts, few, limits, advance)
        order = np.argsort(mean_losses(minima, compact, loss, costs), kind="stable")
        n_polished = N_POLISHED if partitions.shape[1] <= MANY_ITEMS else 1
        for labels in list({labels.tobytes(): labels.copy() for labels in minima[order]}.values())[:n_polished]:
            minima[(minima == labels).all(axis=1)] = _run(rng, labels.astype(np.int64), tables, limits)
            advance()
        losses = mean_losses(minima, compact, loss, costs)
    best, least = minima[losses.argmin()], losses.min()

    # Draws that may still be better than the best partition found.
    differences = reference_losses - pair_losses(best[None], compact[references], loss, costs)
    errors = differences.std(axis=1) / math.sqrt(len(references)) if len(references) < len(compact) else 0.0
    for t in allowed[differences.mean(axis=1) - N_STANDARD_ERRORS * errors <= 0]:
        if mean_losses(compact[t : t + 1], compact, loss, costs)[0] < least - 1e-12:
            both = np.stack([compact[t], _run(rng, partitions[t], tables, limits)])
            values = mean_losses(both, compact, loss, costs)
            best, least = both[values.argmin()], values.min()
    return best.astype(np.int64), losses


def n_first(partitions):
    """How many of the draws (S, n) restarts use."""
    return min(N_FIRST, max(N_FIRST_LABELS // partitions.shape[1], N_FEWEST))


def _some_draws(rng, partitions, n_draws):
    """A random subset of the draws (S, n), in their order, or all if there are fewer."""
    if len(partitions) <= n_draws:
        return partitions
    return partitions[np.sort(rng.choice(len(partitions), n_draws, replace=False))]


def mean_losses(estimates, draws, loss, costs):
    """Expected loss of each row of ``estimates`` (m, n), int32 like the draws (S, n)."""
    return np.array([pair_losses(labels[None], draws, loss, costs).mean() for labels in estimates])


def _run_all(rng, starts, tables, limits, advance):
    minima = []
    for start in starts:
        minima.append(_run(rng, start, tables, limits))
        advance()
    return np.stack(minima)


def _run(rng, start, tables, limits):
    return as_labels("labels", search(rng, start, tables, *limits))[0]


def _starts(partitions, losses, n_restarts):
    """Labels to start from: the best draws in even rows, -1 in odd rows and once no draws are left."""
    starts = np.full((n_restarts, partitions.shape[1]), -1)
    best = partitions[np.argsort(losses, kind="stable")[: (n_restarts + 1) // 2]]
    starts[: 2 * len(best) : 2] = best
    return starts


def make_tables(partitions, loss, costs):
    """Make tables of partitions (S, n) for an empty candidate; their scale is ``n`` times the expected loss."""
    n = partitions.shape[1]
    scale = 2.0 / max(n - 1, 1) if loss in ("binder_loss", "one_minus_adjusted_rand") else 1.0
    cost_join = costs.get("cost_false_join", 1.0)
    both = cost_join + costs.get("cost_false_split", 1.0)
    ratios = {"normalized_variation_of_information": NORMALIZED_INFORMATION, "one_minus_adjusted_rand": ADJUSTED_RAND}
    n_clusters = partitions.max(axis=1) + 1
    rows = partitions + (np.cumsum(n_clusters) - n_clusters)[:, None]
    n_rows = int(n_clusters.sum())
    table = loss_table(n + 1, loss, costs)
    # Rounded so that its differences are exact in half the memory: their sums take most of the time.
    table = np.cumsum(np.diff(table, prepend=0.0).astype(np.float32), dtype="float64")
    compact = partitions.astype(np.int32)
    margins = np.ascontiguousarray(cell_sums(compact[:1], compact, table)[:, 2])
    return DrawTables(
        rows=np.ascontiguousarray(rows.T, dtype=np.int32),
        counts=np.zeros((n_rows, 0), dtype=np.int32),
        gains=np.zeros((n_rows, 0), dtype=np.float32),
        cells=np.zeros(len(partitions)),
        margins=margins,
        table=table,
        coefficients=(scale * cost_join, -scale * both),
        ratio=ratios.get(loss, LINEAR),
    )
