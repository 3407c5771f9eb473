"""Point estimates of nested partitions, and consensus trees: clades and how often they occur."""

import math
from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_count, check_flag, check_number, random_generator
from pymc_nrm.common.progress import progress
from pymc_nrm.nested.stats.item_tree import ItemTree, make_tree
from pymc_nrm.nested.stats.nested_search import NestedSearch
from pymc_nrm.stats.levels import levels, stack_levels
from pymc_nrm.stats.losses import check_loss, draw_losses, mean_and_error, summarise_losses
from pymc_nrm.stats.point_estimate import (
    N_REFERENCES,
    check_max_clusters,
    evenly_spaced,
    limit_of_clusters,
    make_tables,
    mean_losses,
)
from pymc_nrm.stats.similarity import select_items


class CladeTable:
    """The different clades of draws but the set of all items, which is the root of every draw."""

    # The key of a clade is the sum modulo 2^64 of random numbers of its items: two of a million different clades share
    # one with probability 3e-8.

    def __init__(self, labels):
        self.labels = labels
        n_draws, n_levels, n = labels.shape
        item_keys = np.random.default_rng(0).integers(2**64, size=n, dtype=np.uint64)
        nodes = []
        for draw in labels:
            above = np.full(n, item_keys.sum())
            for row in draw:
                keys = np.zeros(row.max() + 1, dtype=np.uint64)
                np.add.at(keys, row, item_keys)
                # Labels are in order of appearance.
                first = np.flatnonzero(np.diff(np.maximum.accumulate(row), prepend=-1))
                # A node with the same items as its parent is the same clade.
                kept = np.flatnonzero(keys != above[first])
                nodes.append((keys[kept], np.bincount(row)[kept], np.full(len(kept), len(nodes)), first[kept]))
                above = keys[row]
        keys, sizes, self._rows, self._first_items = map(np.concatenate, zip(*nodes, strict=True))
        _, self._node, self.clade, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        self.draw = self._rows // n_levels
        self.probability, self.size = counts / n_draws, sizes[self._node]

    def items(self, clade):
        """Positions of the items of a clade."""
        node = self._node[clade]
        draw, level = divmod(int(self._rows[node]), self.labels.shape[1])
        row = self.labels[draw, level]
        return np.flatnonzero(row == row[self._first_items[node]])


def has_clade(labels, some):
    """Whether a set of items is a node at some level, in each draw. Shapes: ``labels`` (S, L, n); returns (S,)."""
    if len(some) == labels.shape[2]:
        return np.ones(len(labels), dtype=bool)
    node_labels = labels[:, :, some[0], None]
    together = (labels[:, :, some] == node_labels).all(axis=2)
    return (together & ((labels == node_labels).sum(axis=2) == len(some))).any(axis=1)


def clade_probability(
    idata: xr.DataTree | xr.Dataset | xr.DataArray, items: Any, *, var_name: str | None = None
) -> xr.Dataset:
    """Posterior probability that given items, and no others, are a node at some level.

    Parameters
    ----------
    %(nested_draws)s
    items : sequence
        Items, as coordinate values of their dimension (positions, if it has no coordinates).
    %(nested_name)s

    Returns
    -------
    Dataset
        ``probability`` and its Monte Carlo standard error ``mcse`` (NaN with fewer than four draws per chain).

    Raises
    ------
    ValueError
        If there is no such nested partition, or `items` is empty or holds unknown items or one item twice.

    Examples
    --------
    >>> paths = [[[0, 0], [0, 1], [1, 2]], [[0, 0], [0, 0], [1, 1]], [[0, 0], [1, 1], [0, 0]], [[0, 0], [0, 0], [1, 1]]]
    >>> h = xr.DataArray([paths], dims=("chain", "draw", "animal", "level"), coords={"animal": ["cat", "dog", "ant"]})
    >>> float(clade_probability(h, ["cat", "dog"]).probability)
    0.75
    """
    draws = levels(idata, var_name)
    n = draws.shape[3]
    positions = draws.isel({"chain": [0], "draw": [0], draws.dims[2]: 0}, drop=True).copy(data=np.arange(n)[None, None])
    some = select_items(positions, items).values.ravel()
    if len(np.unique(some)) < len(some):
        raise ValueError(f"items must be different; got {len(some)} items, {len(np.unique(some))} of them different")
    mean, error = mean_and_error(has_clade(stack_levels(draws), some).reshape(draws.shape[:2]).astype("float64"))
    return xr.Dataset({"probability": mean, "mcse": error})


def consensus_tree(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    *,
    var_name: str | None = None,
    probability: float = 0.5,
    single_items: bool = False,
) -> ItemTree:
    """Majority-rule consensus tree: all clades that more than half of the draws have.

    A clade is a set of items that is a node, at whatever level.  Two clades of probability above 1/2 share a draw, so
    that they are disjoint or one holds the other: all of them together are one tree, in which a node may have any
    number of children.  Where the draws do not agree, it has no nodes.

    Parameters
    ----------
    %(nested_draws)s
    %(nested_name)s
    probability : float
        Clades must have a larger probability; from 1/2 to less than 1.
    single_items : bool
        Whether an item is a node if it is one by itself in enough draws.

    Returns
    -------
    ItemTree
        With the posterior probability of each node.  The level of a node is the number of nodes above it, which may
        differ from its levels in the draws.

    Raises
    ------
    TypeError
        If `single_items` is not True or False.
    ValueError
        If there is no such nested partition, or the probability is out of range.

    See Also
    --------
    pymc_nrm.nested.nested_point_estimate : A tree with the levels of the draws.
    pymc_nrm.nested.plots.plot_tree : Its picture.

    Notes
    -----
    Margush & McMorris (1981), "Consensus n-trees".  With ``probability=0.5`` the tree has the least expected number of
    clades that are in one tree only, the symmetric difference of Robinson & Foulds (1981), among all trees.

    Examples
    --------
    >>> paths = [[[0, 0], [0, 1], [1, 2]], [[0, 0], [0, 0], [1, 1]], [[0, 0], [1, 1], [0, 0]]]
    >>> h = xr.DataArray([paths], dims=("chain", "draw", "animal", "level"), coords={"animal": ["cat", "dog", "ant"]})
    >>> print(consensus_tree(h))
    3 items, directly: ant
    └── 0.67  cat, dog
    """
    probability = check_number("probability", probability, lambda x: 0.5 <= x < 1, "from 0.5 to less than 1")
    check_flag("single_items", single_items)
    draws = levels(idata, var_name)
    labels = stack_levels(draws)
    table = CladeTable(labels)
    kept = np.flatnonzero((table.probability > probability) & (single_items | (table.size > 1)))
    sets = [np.arange(labels.shape[2]), *(table.items(clade) for clade in kept)]
    probabilities = np.concatenate([[1.0], table.probability[kept]])
    return make_tree(sets, probabilities, item_names(draws), labels.shape[2], method="majority_rule", least=probability)


def maximum_clade_credibility(
    idata: xr.DataTree | xr.Dataset | xr.DataArray, *, var_name: str | None = None, score: str = "sum"
) -> ItemTree:
    """Draw whose clades have the largest posterior probabilities.

    Parameters
    ----------
    %(nested_draws)s
    %(nested_name)s
    score : {"sum", "product"}
        What to maximise over draws, of the probabilities p of the clades of the draw: the sum of p - 1/2, or the
        product of p.

    Returns
    -------
    ItemTree
        With the posterior probability of each node and the levels of the draw; the entry ``draw`` of its
        ``information`` is the number of the draw, counted over all chains.

    Raises
    ------
    ValueError
        If there is no such nested partition, or the score is unknown.

    Notes
    -----
    In phylogenetics trees are binary and have equally many clades, so that the product is a fair score (Heled &
    Bouckaert 2013, "Looking for trees in the forest").  Nested partitions have any number of nodes, and every further
    node makes the product smaller: it prefers draws with few nodes, however wrong.  The sum has its maximum at the
    draw with the least expected symmetric difference (Robinson & Foulds 1981).

    Examples
    --------
    >>> paths = [[[0, 0], [0, 1], [1, 2]], [[0, 0], [0, 0], [1, 1]], [[0, 0], [1, 1], [0, 0]]]
    >>> h = xr.DataArray([paths], dims=("chain", "draw", "animal", "level"), coords={"animal": ["cat", "dog", "ant"]})
    >>> print(maximum_clade_credibility(h))
    3 items
    ├── 0.67  2 items
    │   ├── 0.33  cat
    │   └── 0.67  dog
    └── 0.67  ant
    """
    if not isinstance(score, str) or score not in ("sum", "product"):
        raise ValueError(f"score must be sum or product; got {score!r}")
    draws = levels(idata, var_name)
    labels = stack_levels(draws)
    table = CladeTable(labels)
    value = table.probability - 0.5 if score == "sum" else np.log(table.probability)
    # Rounding makes equal scores equal, so that the first of several draws is taken.
    scores = np.bincount(table.draw, weights=value[table.clade], minlength=len(labels)).round(9)
    best = int(scores.argmax())
    return chain_tree(labels[best], labels, item_names(draws), method=f"maximum_clade_credibility, {score}", draw=best)


def chain_tree(rows, labels, names, **information):
    """Tree of nested partitions (L, n), with the probabilities of its nodes among draws (S, L, n)."""
    tree = ItemTree.from_levels(rows, names)
    probabilities = np.array([has_clade(labels, tree.positions(node)).mean() for node in range(tree.n_nodes)])
    return ItemTree(tree.parent, tree.level, tree.node_of_item, probabilities, tree.names, information)


def item_names(draws: Any):
    """Names of the items of :func:`~pymc_nrm.stats.levels.levels`: their coordinate, or 0, 1, ...."""
    return draws[draws.dims[3]].values


# Losses whose expectation is a sum of costs over clusters and cells of contingency tables.
LOSSES = ("variation_of_information", "binder_loss")


def nested_point_estimate(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    *,
    var_name: str | None = None,
    loss: str = "variation_of_information",
    max_clusters: int | str | None = "draws",
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
    max_clusters : int or "draws", optional
        Largest number of nodes of each level.  By default as many as 95 % of the draws have at most at that level; None
        sets no limit.
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
        ``expected_loss``, the sum over levels, and lists of length L: ``expected_loss_by_level``, its standard errors
        ``mcse_by_level``, and the limits ``max_clusters_by_level``.

    Raises
    ------
    ValueError
        If there is no such nested partition, the loss is not one of those above, or a limit is not a whole number of at
        least 1.

    See Also
    --------
    pymc_nrm.nested.consensus_tree : Only what more than half of the draws have.

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
    loss, costs = check_loss(loss, {}, LOSSES)
    check_max_clusters(max_clusters)
    check_count("n_restarts", n_restarts, 1)
    check_count("max_sweeps", max_sweeps, 1)
    check_count("max_draws", max_draws, 1, optional=True)
    draws = levels(idata, var_name)
    rng = random_generator(random_seed)
    searched = stack_levels(evenly_spaced(draws, max_draws))
    n_nodes = stack_levels(draws).max(axis=2) + 1
    limits = [limit_of_clusters(max_clusters, of_level, searched.shape[2]) for of_level in n_nodes.T]
    with progress("Searching the point estimate", int(n_restarts) + 1, progressbar) as advance:
        best = minimise_nested(searched, loss, costs, limits, int(n_restarts), int(max_sweeps), rng, advance)
    by_level = [
        summarise_losses(draw_losses(row, draws.isel({draws.dims[2]: level}), loss, costs), loss, costs)
        for level, row in enumerate(best)
    ]
    expected = [float(estimate.expected_loss) for estimate in by_level]
    return chain_tree(
        best,
        stack_levels(draws),
        item_names(draws),
        method="nested_point_estimate",
        loss=loss,
        expected_loss=math.fsum(expected),
        expected_loss_by_level=expected,
        mcse_by_level=[float(estimate.mcse) for estimate in by_level],
        max_clusters_by_level=limits,
    )


def minimise_nested(labels, loss, costs, limits, n_restarts, max_sweeps, rng, advance=lambda: None):
    """Labels (L, n) with the least expected loss for draws (S, L, n) that local searches from the best draws find, or
    from a single node if no draw has at most ``limits`` (L,) nodes at the levels.
    """
    within = (labels.max(axis=2) < limits).all(axis=1)
    references = np.sort(rng.choice(len(labels), min(N_REFERENCES, len(labels)), replace=False))
    losses = chain_losses(labels, labels[references], loss, costs)
    order = np.argsort(losses, kind="stable")
    starts = list({labels[s].tobytes(): labels[s] for s in order[within[order]]}.values())[:n_restarts]
    starts = starts or [np.zeros_like(labels[0])]
    advance()
    tables = [make_tables(labels[:, level], loss, costs) for level in range(labels.shape[1])]
    minima = []
    for start in starts:
        search = NestedSearch(tables, start, limits)
        search.improve(rng, max_sweeps)
        minima.append(search.labels())
        advance()
    return minima[int(chain_losses(np.stack(minima), labels, loss, costs).argmin())]


def chain_losses(chains, draws, loss, costs):
    """Expected sum over levels of the losses of nested partitions (m, L, n) for draws (S, L, n), shape (m,)."""
    chains, draws = chains.astype(np.int32), draws.astype(np.int32)
    return sum(mean_losses(chains[:, level], draws[:, level], loss, costs) for level in range(draws.shape[1]))
