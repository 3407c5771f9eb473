"""Expected depth of the lowest common node of pairs of items, and the dendrogram that follows from it."""

from typing import Any

import numpy as np
import scipy
import xarray as xr

from pymc_nrm.stats.nested.levels import levels, stack_levels
from pymc_nrm.stats.similarity import similarity_matrix, with_items

__all__ = ["common_depth", "common_depth_linkage"]


def common_depth(
    idata: xr.DataTree | xr.Dataset | xr.DataArray, *, var_name: str | None = None, progressbar: bool = True
) -> xr.DataArray:
    """Posterior expectation of the level of the lowest node that two items share.

    Parameters
    ----------
    %(nested_draws)s
    %(nested_name)s
    %(progressbar)s

    Returns
    -------
    DataArray
        Dimensions ``<item>`` and ``<item>_other``, both with the coordinates of the items.  From 0, if two items share
        the root only, to L, if they always share a leaf.

    Raises
    ------
    ValueError
        If there is no such nested partition.

    See Also
    --------
    pymc_nrm.similarity : The probability of sharing a node of one level, given ``levels(idata).sel(level=1)``.

    Notes
    -----
    It is the sum of the similarities of all levels: nodes are nested, so that two items share a node of each level down
    to that of the lowest one.

    Examples
    --------
    >>> paths = [[[0, 0], [0, 1], [1, 2]], [[0, 0], [0, 0], [0, 1]]]
    >>> h = xr.DataArray([paths], dims=("chain", "draw", "item", "level"))
    >>> common_depth(h).values.tolist()
    [[2.0, 1.5, 0.5], [1.5, 2.0, 0.5], [0.5, 0.5, 2.0]]
    """
    draws = levels(idata, var_name)
    rows = stack_levels(draws)
    total = sum(similarity_matrix(rows[:, level], progressbar=progressbar) for level in range(rows.shape[1]))
    return with_items(total, draws.isel(level=0, drop=True), name="common_depth")


def common_depth_linkage(depth: Any, n_levels: int | None = None) -> np.ndarray:
    """Average linkage of items on L minus the expected depth of their lowest common node.

    Parameters
    ----------
    depth : array_like, shape (n, n)
        Result of :func:`common_depth`.
    n_levels : int, optional
        The number of levels L; by default the largest entry.

    Returns
    -------
    ndarray, shape (n - 1, 4)
        Linkage matrix for :mod:`scipy.cluster.hierarchy`, with heights from 0 to L: a height of L - l is a mean level
        of l.

    Raises
    ------
    ValueError
        If the matrix is not square, has fewer than two items, or has entries above L or below 0.

    Examples
    --------
    >>> common_depth_linkage([[2.0, 1.5, 0.5], [1.5, 2.0, 0.5], [0.5, 0.5, 2.0]]).tolist()
    [[0.0, 1.0, 0.5, 2.0], [2.0, 3.0, 1.5, 3.0]]
    """
    matrix = np.asarray(depth, dtype="float64")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise ValueError(f"depth must be a square matrix of at least two items; got shape {matrix.shape}")
    most = float(matrix.max()) if n_levels is None else float(n_levels)
    if not ((matrix >= 0) & (matrix <= most + 1e-9)).all():
        raise ValueError(f"depth must be between 0 and {most:g}; got {matrix.min():g} to {matrix.max():g}")
    return scipy.cluster.hierarchy.average(np.maximum(most - matrix, 0.0)[np.triu_indices(len(matrix), 1)])
