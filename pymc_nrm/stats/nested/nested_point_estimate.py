"""The nested partitions with the least posterior expected loss."""

import math
from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_count, random_generator
from pymc_nrm.common.progress import progress
from pymc_nrm.stats.losses import complete_costs, draw_losses, summarise_losses
from pymc_nrm.stats.nested.clades import chain_tree, item_names
from pymc_nrm.stats.nested.item_tree import ItemTree
from pymc_nrm.stats.nested.levels import levels, stack_levels
from pymc_nrm.stats.nested.nested_search import NestedSearch
from pymc_nrm.stats.point_estimate import N_REFERENCES, evenly_spaced, make_tables, mean_losses

# Losses whose expectation is a sum of costs over clusters and cells of contingency tables.
LOSSES = ("variation_of_information", "binder_loss")


def nested_point_estimate(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    *,
    var_name: str | None = None,
    loss: str = "variation_of_information",
    n_restarts: int = 4,
    max_sweeps: int = 20,
    max_draws: int | None = 500,
    random_seed: Any = None,
    progressbar: bool = True,
) -> ItemTree:
    """Nested partitions that minimise the posterior expectation of the sum of a loss over levels.

    Parameters
    ----------
    %(nested_draws)s
    %(nested_name)s
    loss : {"variation_of_information", "binder_loss"}
        See :mod:`pymc_nrm.stats.losses`.
    n_restarts : int
        Number of local searches: from the draws with the least expected loss.
    max_sweeps : int
        Limit of the sweeps over all nodes and items of a search.
    max_draws : int or None
        Number of evenly spaced draws that the search reads; None for all.  Losses and probabilities in the result are
        those over all draws.
    random_seed : int, Generator or None
        Seed of the orders in which nodes and items move.
    %(progressbar)s

    Returns
    -------
    ItemTree
        With the levels of the draws and the posterior probability of each node.  Its ``information`` has
        ``expected_loss``, the sum over levels, and ``expected_loss_by_level`` with its standard errors
        ``mcse_by_level``, lists of length L.

    Raises
    ------
    ValueError
        If there is no such nested partition, the loss is not one of those above, or a limit is not a whole number of at
        least 1.

    See Also
    --------
    pymc_nrm.stats.consensus_tree : Only what more than half of the draws have.

    Notes
    -----
    The sum over levels of a metric is a metric on nested partitions, and the estimate a Frechet median.  A search moves
    single items and whole nodes to the best path among all that keep the levels nested, until nothing moves; then it
    dissolves nodes and puts their parts back one by one.  A sweep takes O(n L S K) time for S draws and K nodes at a
    level.

    Examples
    --------
    >>> paths = [[[0, 0], [0, 1], [1, 2]], [[0, 0], [0, 0], [1, 1]], [[0, 0], [1, 1], [0, 0]]]
    >>> h = xr.DataArray([paths], dims=("chain", "draw", "item", "level"))
    >>> tree = nested_point_estimate(h, random_seed=1)
    >>> tree.labels(1).tolist(), round(tree.information["expected_loss"], 3)
    ([0, 0, 1], 0.889)
    """
    if not isinstance(loss, str) or loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(map(repr, LOSSES))}; got {loss!r}")
    check_count("n_restarts", n_restarts, 1)
    check_count("max_sweeps", max_sweeps, 1)
    check_count("max_draws", max_draws, 1, optional=True)
    draws = levels(idata, var_name)
    costs = complete_costs(loss, {})
    rng = random_generator(random_seed)
    searched = stack_levels(evenly_spaced(draws, max_draws))
    with progress("Searching the point estimate", int(n_restarts) + 1, progressbar) as advance:
        best = minimise_nested(searched, loss, costs, int(n_restarts), int(max_sweeps), rng, advance)
    by_level = [
        summarise_losses(draw_losses(row, draws.isel(level=level), loss, costs), loss, costs)
        for level, row in enumerate(best)
    ]
    expected = [float(one.expected_loss) for one in by_level]
    return chain_tree(
        best,
        stack_levels(draws),
        item_names(draws),
        method="nested_point_estimate",
        loss=loss,
        expected_loss=math.fsum(expected),
        expected_loss_by_level=expected,
        mcse_by_level=[float(one.mcse) for one in by_level],
    )


def minimise_nested(labels, loss, costs, n_restarts, max_sweeps, rng, advance=lambda: None):
    """Labels (L, n) with the least expected loss for draws (S, L, n) that local searches from the best draws find."""
    losses = chain_losses(labels, reference_draws(labels, rng), loss, costs)
    order = np.argsort(losses, kind="stable")
    starts = list({labels[s].tobytes(): labels[s] for s in order}.values())[:n_restarts]
    advance()
    tables = [make_tables(labels[:, level], loss, costs) for level in range(labels.shape[1])]
    found = []
    for start in starts:
        search = NestedSearch(tables, start)
        search.improve(rng, max_sweeps)
        found.append(search.labels())
        advance()
    return found[int(chain_losses(np.stack(found), labels, loss, costs).argmin())]


def reference_draws(labels, rng):
    """At most ``N_REFERENCES`` of the draws, at random."""
    return labels[np.sort(rng.choice(len(labels), min(N_REFERENCES, len(labels)), replace=False))]


def chain_losses(chains, draws, loss, costs):
    """Expected sum over levels of the losses of nested partitions (m, L, n) for draws (S, L, n), shape (m,)."""
    chains, draws = chains.astype(np.int32), draws.astype(np.int32)
    return sum(mean_losses(chains[:, level], draws[:, level], loss, costs) for level in range(draws.shape[1]))
