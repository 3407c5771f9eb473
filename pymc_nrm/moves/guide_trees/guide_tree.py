"""Guide trees of the samplers: binary trees over all items that do not depend on the state of a chain."""

import warnings
from typing import Any

import numpy as np

from pymc_nrm.families.features import features
from pymc_nrm.families.no_data import NoRows
from pymc_nrm.moves.guide_trees.incremental import grow_forest
from pymc_nrm.moves.guide_trees.join_forest import join_forest
from pymc_nrm.moves.guide_trees.potentials import tree_potentials
from pymc_nrm.moves.guide_trees.tree import Tree, build_tree

# Subtree moves cost the depth of their leaves, so guide trees avoid chains at a smaller depth than clusterings do.
GUIDE_BALANCE_DEPTH = 16

# Ward linkage keeps all n (n - 1) / 2 distances, 100 MB for this many items.
MOST_WARD_ITEMS = 5_000


def guide_tree(
    rng: Any, weights: Any, family: Any, data: Any, kind: str = "ibhc", *, balance_depth: int = GUIDE_BALANCE_DEPTH
) -> Tree:
    """Build a guide tree from the data, pilot hyperparameters and its own randomness, and nothing else.

    Parameters
    ----------
    rng : numpy.random.Generator
    weights : Weights
        Tables given a pilot u, for all items.
    family, data : NamedTuple
        In the form that kernels take, with pilot hyperparameters.
    kind : {"ibhc", "ward"}
        ``"ibhc"`` is one pass of incremental Bayesian hierarchical clustering, whose roots are joined by greedy
        clustering.  ``"ward"`` is Ward linkage of the :func:`~pymc_nrm.families.features.features` of the items; its
        trees are shallower and ignore hyperparameters.  With more than 5000 items it links within the cells of
        k-means, then links the cells.
    balance_depth : int
        Depth below which an incremental tree avoids chains.

    Returns
    -------
    Tree
        Its ``log_dissimilarity`` is that under the pilot hyperparameters.

    Raises
    ------
    ValueError
        If the kind is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from pymc_nrm.families import NormalGamma
    >>> from pymc_nrm.measures import DirichletProcess
    >>> from pymc_nrm.measures.base import weights
    >>> from pymc_nrm.trees.inputs import family_and_data
    >>> family, data, n = family_and_data(NormalGamma(5.0, 0.01, 2.0, 0.1), [0.0, 9.0, 0.3, 9.1])
    >>> tree = guide_tree(np.random.default_rng(1), weights(DirichletProcess(1.0), n, 1.0), family, data, "ward")
    >>> tree.left[4:].tolist(), tree.right[4:].tolist()
    ([1, 0, 4], [3, 2, 5])
    """
    n = len(weights.moment) - 1
    if kind == "ibhc":
        forest = grow_forest(rng, weights, family, data, n, balance_depth)
        return join_forest(rng, forest, weights, family, data)
    if kind != "ward":
        raise ValueError(f'kind of a guide tree must be "ibhc" or "ward"; got {kind!r}')
    points = rng.normal(size=(n, 1)) if isinstance(data, NoRows) else features(data, rng)
    tree = build_tree(ward_merges(rng, points))
    return tree._replace(log_dissimilarity=tree_potentials(tree, weights, family, data).log_dissimilarity)


def ward_merges(rng, points):
    """Merges of Ward linkage; many points are linked within the cells of k-means, then the centres of the cells. They
    are numbered as in SciPy's linkage matrices. Shapes: ``points`` (n, k); returns (n - 1, 2).
    """
    n = len(points)
    if n <= MOST_WARD_ITEMS:
        return _ward(points)
    from scipy.cluster.vq import kmeans2  # slow to import

    n_cells = int(np.sqrt(n))
    sample = points[rng.choice(n, size=min(n, 20 * n_cells), replace=False)]
    with warnings.catch_warnings():
        # Empty cells do no harm.
        warnings.simplefilter("ignore", UserWarning)
        centres, _ = kmeans2(sample, sample[:n_cells], iter=10, minit="matrix", check_finite=False)
    cell = _nearest(points, centres)
    members = np.split(np.argsort(cell, kind="stable"), np.cumsum(np.bincount(cell, minlength=n_cells))[:-1])
    # Many equal points would share a cell, so link large cells in parts.
    parts = [m[i : i + MOST_WARD_ITEMS] for m in members for i in range(0, len(m), MOST_WARD_ITEMS)]
    merges, tops, next_node = [], np.empty(len(parts), dtype="int64"), n
    for k, part in enumerate(parts):
        rows = _ward(points[part])
        numbers = np.concatenate([part, next_node + np.arange(len(rows))])
        merges.append(numbers[rows])
        next_node += len(rows)
        tops[k] = numbers[-1]
    rows = _ward(np.array([points[part].mean(axis=0) for part in parts]))
    merges.append(np.concatenate([tops, next_node + np.arange(len(rows))])[rows])
    return np.concatenate(merges)


def _ward(points):
    if len(points) < 2:
        return np.zeros((0, 2), dtype="int64")
    from scipy.cluster.hierarchy import linkage  # slow to import

    return linkage(points, method="ward")[:, :2].astype("int64")


def _nearest(points, centres):
    """Nearest centre of every point, computed for some thousand points at a time."""
    squares = (centres**2).sum(axis=1)
    chunks = np.array_split(points, 1 + len(points) // 4096)
    return np.concatenate([(squares - 2.0 * chunk @ centres.T).argmin(axis=1) for chunk in chunks])
