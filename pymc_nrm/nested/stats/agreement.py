"""How well clusterings and trees agree with a truth, level by level and as a whole."""

from typing import Any

import numpy as np
import scipy
import xarray as xr

from pymc_nrm.common.checks import check_count, random_generator
from pymc_nrm.nested.stats.item_tree import ItemTree
from pymc_nrm.stats.contingency import as_labels, contingency_table
from pymc_nrm.stats.levels import levels
from pymc_nrm.stats.losses import adjusted_rand


def purity(labels: Any, truth: Any) -> Any:
    """Share of the items that are in the most frequent class of their cluster.

    Parameters
    ----------
    %(labels_and_truth)s

    Returns
    -------
    float or ndarray, shape (S,)
        From 0 to 1.  Clusters of single items have purity 1: look at the number of clusters too.

    %(errors_of_labels)s

    Examples
    --------
    >>> purity([0, 0, 0, 1], [0, 0, 1, 1])
    0.75
    """
    return _of_rows(labels, truth, lambda table: table.max(axis=1).sum() / table.sum())


def f_measure(labels: Any, truth: Any) -> Any:
    """F-measure of each class with the cluster that fits it best, weighted by the sizes of the classes.

    Parameters
    ----------
    %(labels_and_truth)s

    Returns
    -------
    float or ndarray, shape (S,)
        From 0 to 1.  F of class j and cluster k is the harmonic mean of precision and recall, 2 n_jk / (n_j + n_k).

    %(errors_of_labels)s

    Notes
    -----
    Larsen & Aone (1999), "Fast and effective text mining using linear-time document clustering", section 3.

    Examples
    --------
    >>> f_measure([0, 0, 0, 1], [0, 0, 1, 1])
    0.7333333333333334
    """
    return _of_rows(labels, truth, _f_of_table)


def _f_of_table(table):
    clusters, classes = table.sum(axis=1, keepdims=True), table.sum(axis=0)
    return (classes / classes.sum() * (2 * table / (clusters + classes)).max(axis=0)).sum()


def normalized_mutual_information(labels: Any, truth: Any) -> Any:
    """Mutual information of two partitions, divided by the arithmetic mean of their entropies.

    Parameters
    ----------
    %(labels_and_truth)s

    Returns
    -------
    float or ndarray, shape (S,)
        From 0 to 1, and 1 for equal partitions.

    %(errors_of_labels)s

    Examples
    --------
    >>> normalized_mutual_information([0, 0, 1, 1], [5, 5, 2, 2]), normalized_mutual_information([0, 0], [0, 1])
    (1.0, 0.0)
    """
    return _of_rows(labels, truth, _information_of_table)


def _information_of_table(table):
    entropies = [_entropy(table.sum(axis=axis)) for axis in (0, 1)]
    mean = sum(entropies) / 2
    if mean == 0:  # both have one cluster
        return 1.0
    shared = sum(entropies) - _entropy(table)
    # The smallest positive mutual information of n items is of the order of 1 / n^2; less is a rounding error.
    return float(np.clip(shared / mean, 0.0, 1.0)) if shared > 1e-13 else 0.0


def _entropy(counts):
    return float(scipy.special.entr(counts / counts.sum()).sum())


def _of_rows(labels, truth, function):
    rows, classes = as_labels("labels", labels), as_labels("truth", truth)
    if len(classes) != 1 or np.ndim(truth) != 1 or classes.shape[1] != rows.shape[1]:
        raise ValueError(
            f"truth must have shape ({rows.shape[1]},), one class for each item; got shape {np.shape(truth)}"
        )
    values = np.array([function(contingency_table(row, classes[0])) for row in rows])
    return float(values[0]) if np.ndim(labels) == 1 else values


MEASURES = {
    "purity": purity,
    "normalized_mutual_information": normalized_mutual_information,
    "adjusted_rand": adjusted_rand,
    "f_measure": f_measure,
}


def level_agreement(found: Any, truth: Any) -> xr.Dataset:
    """Agreement of a tree, or of every draw of a nested partition, with a tree of true classes, level by level.

    Parameters
    ----------
    found : ItemTree, DataTree, Dataset, DataArray or array_like of int, shape (L, n)
        A tree; draws of a nested partition, as :func:`~pymc_nrm.stats.levels` reads them; or labels of each level.
    truth : ItemTree or array_like of int, shape (L, n)
        Classes at each level, the coarsest first.  Branches that end early keep their class at deeper levels.

    Returns
    -------
    Dataset
        Dimension ``level``, and ``chain`` and ``draw`` for draws: ``n_clusters``, ``purity``,
        ``normalized_mutual_information`` (arithmetic mean), ``adjusted_rand`` and ``f_measure``; and ``n_classes``.
        It has the levels that both have.

    Raises
    ------
    ValueError
        If the numbers of items differ.

    Examples
    --------
    >>> result = level_agreement([[0, 0, 0, 1], [0, 1, 1, 2]], [[0, 0, 1, 1], [0, 1, 2, 2]])
    >>> result.purity.values.tolist(), result.n_clusters.values.tolist()
    ([0.75, 0.75], [2, 3])
    """
    classes = _rows_of_tree(truth, "truth")
    if isinstance(found, xr.DataTree | xr.Dataset | xr.DataArray):
        draws = levels(found)
        labels, dims = draws.values, ("chain", "draw", "level")
        coords = {dim: draws[dim].values for dim in dims[:2] if dim in draws.coords}
    else:
        labels, dims, coords = _rows_of_tree(found, "found"), ("level",), {}
    n_levels = min(labels.shape[-2], len(classes))
    shape = (*labels.shape[:-2], n_levels)
    measures = {}
    for name, function in MEASURES.items():
        values = np.empty(shape)
        for level in range(n_levels):
            rows = labels[..., level, :].reshape(-1, labels.shape[-1])
            values[..., level] = np.reshape(function(rows, classes[level]), shape[:-1])
        measures[name] = (dims, values)
    return xr.Dataset(
        {"n_clusters": (dims, labels[..., :n_levels, :].max(axis=-1) + 1)}
        | measures
        | {"n_classes": ("level", classes[:n_levels].max(axis=1) + 1)},
        coords=coords | {"level": np.arange(1, n_levels + 1)},
    )


def _rows_of_tree(tree, name):
    """Labels of each level of a tree in order of appearance, shape (L, n)."""
    if isinstance(tree, ItemTree):
        return np.stack([tree.labels(level) for level in range(1, max(int(tree.level.max()), 1) + 1)])
    rows = np.asarray(tree)
    if rows.ndim != 2:
        raise ValueError(f"{name} must be an ItemTree or have shape (L, n); got shape {rows.shape}")
    return as_labels(name, rows).astype("int64")


def dendrogram_purity(tree: ItemTree, classes: Any) -> float:
    """Purity of the lowest common node of two items of the same class, on average over all such pairs.

    Parameters
    ----------
    tree : ItemTree
    classes : array_like of int, shape (n,)
        Class of each item.

    Returns
    -------
    float
        From 0 to 1, and 1 if every class is a node, or a union of children of its own; NaN if no two items share a
        class.

    Raises
    ------
    TypeError
        If `tree` is not an ItemTree.
    ValueError
        If the numbers of items differ.

    Notes
    -----
    Heller & Ghahramani (2005), "Bayesian hierarchical clustering", section 5.  The purity of a node for a pair is the
    share of the items of the node that are of the class of the pair.

    Examples
    --------
    >>> tree = ItemTree.from_levels([[0, 0, 0, 1], [0, 0, 1, 2]])
    >>> dendrogram_purity(tree, [0, 0, 1, 1])
    0.75
    """
    classes = _classes_of(tree, classes)
    counts = np.zeros((tree.n_nodes, int(classes.max()) + 1), dtype="int64")
    for node in range(tree.n_nodes):
        counts[node] = np.bincount(classes[tree.positions(node)], minlength=counts.shape[1])
    pairs = counts * (counts - 1) // 2
    lowest = pairs.copy()
    np.subtract.at(lowest, tree.parent[1:], pairs[1:])
    if pairs[0].sum() == 0:
        return float("nan")
    return float((lowest * counts / tree.size[:, None]).sum() / pairs[0].sum())


def triplet_accuracy(tree: ItemTree, truth: ItemTree, *, n_triplets: int = 100_000, random_seed: Any = None) -> float:
    """Share of the triplets of items in which tree and truth agree about which two belong together most closely.

    Parameters
    ----------
    tree, truth : ItemTree
        Trees of the same items.
    n_triplets : int
        Number of random triplets; all are taken if there are fewer.
    random_seed : int, Generator or None
        Seed of the choice of triplets.

    Returns
    -------
    float
        Among the triplets with a closest pair in the truth, the share for which the tree has the same
        one: triplets that the tree leaves open count as wrong.  NaN if the truth has no closest pairs.

    Raises
    ------
    TypeError
        If an argument is not an ItemTree.
    ValueError
        If the trees have different items, or `n_triplets` is not a whole number of at least 1.

    Examples
    --------
    >>> truth = ItemTree.from_levels([[0, 0, 1, 1]])
    >>> triplet_accuracy(ItemTree.from_levels([[0, 0, 1, 2]]), truth)
    0.5
    """
    _checked_tree("tree", tree)
    _checked_tree("truth", truth)
    check_count("n_triplets", n_triplets, 1)
    rng = random_generator(random_seed)
    if tree.n_items != truth.n_items or not np.array_equal(tree.names, truth.names):
        raise ValueError("truth must be a tree of the same items as tree, in the same order")
    n = tree.n_items
    triplets = _triplets(n, int(n_triplets), rng)
    closest = [_closest_pair(compared.common_depth(), triplets) for compared in (tree, truth)]
    is_resolved = closest[1] >= 0
    return float((closest[0] == closest[1])[is_resolved].mean()) if is_resolved.any() else float("nan")


def _triplets(n, n_triplets, rng):
    """Different items i < j < k, all or random ones, shape (T, 3)."""
    if n * (n - 1) * (n - 2) // 6 <= n_triplets:
        i, j, k = np.ogrid[:n, :n, :n]
        return np.argwhere((i < j) & (j < k))
    some = rng.integers(n, size=(2 * n_triplets, 3))
    some = np.sort(some, axis=1)
    return some[(some[:, 0] < some[:, 1]) & (some[:, 1] < some[:, 2])][:n_triplets]


def _closest_pair(depth, triplets):
    """Which item of each triplet is outside of the deepest common node, 0, 1 or 2; -1 if none is."""
    i, j, k = triplets.T
    depths = np.stack([depth[j, k], depth[i, k], depth[i, j]], axis=1)
    # Of three common nodes two are the same, and the third is it too or deeper.
    return np.where((depths == depths.max(axis=1, keepdims=True)).sum(axis=1) == 1, depths.argmax(axis=1), -1)


def _checked_tree(name, tree):
    if not isinstance(tree, ItemTree):
        raise TypeError(f"{name} must be an ItemTree; got {type(tree).__name__}")


def _classes_of(tree, classes):
    _checked_tree("tree", tree)
    rows = as_labels("classes", classes)
    if np.shape(classes) != (tree.n_items,):
        raise ValueError(f"classes must have shape ({tree.n_items},); got shape {np.shape(classes)}")
    return rows[0]
