"""Where the nodes of a tree over items stand in a picture."""

from typing import NamedTuple

import numpy as np


class TreeLayout(NamedTuple):
    """Coordinates of a tree from left to right."""

    # Items of each row, from top to bottom.
    rows: list
    # x, y: Coordinates of the nodes: their level, and the middle of what hangs on them; shape (m,).
    x: np.ndarray
    y: np.ndarray
    # X of the right ends of the rows.
    bottom: float
    # Line with gaps through all nodes; shape (2, P).
    branches: np.ndarray
    # Line with gaps from nodes to the right ends of their rows; shape (2, Q).
    items: np.ndarray


def tree_layout(tree, collapse=False):
    """Place the nodes of a tree: children from top to bottom, the largest first, then items in no child, each in a row
    of its own or all in one.
    """
    own = [tree.own_items(node) for node in range(tree.n_nodes)]
    own = [[some] * (len(some) > 0) if collapse else list(some[:, None]) for some in own]
    size = tree.size
    children = [sorted(tree.children(node).tolist(), key=lambda k: -size[k]) for node in range(tree.n_nodes)]
    rows, first, pending = [], np.zeros(tree.n_nodes, dtype="int64"), [0]
    while pending:
        node = pending.pop()
        if node < 0:
            first[-node - 1] = len(rows)
            rows += own[-node - 1]
        else:
            pending += [-node - 1, *reversed(children[node])]
    x, y = tree.level.astype("float64"), np.empty(tree.n_nodes)
    bottom = x.max() + 1.0
    gap = [np.nan, np.nan]
    branches, items = [], []
    for node in range(tree.n_nodes - 1, -1, -1):  # children come after their parents
        below = [y[child] for child in children[node]]
        ends = range(first[node], first[node] + len(own[node]))
        heights = [*below, *ends]
        y[node] = (min(heights) + max(heights)) / 2
        for child, height in zip(children[node], below, strict=True):
            branches += [(x[node], height), (x[child], height), gap]
        if len(heights) > 1:
            branches += [(x[node], min(heights)), (x[node], max(heights)), gap]
        for height in ends:
            items += [(x[node], height), (bottom, height), gap]
    lines = [np.reshape(points, (-1, 2)).T.astype("float64") for points in (branches, items)]
    return TreeLayout(rows, x, y, bottom, *lines)
