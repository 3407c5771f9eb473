"""Where the nodes of a tree over items stand in a picture, and visuals of nodes."""

from typing import NamedTuple

import numpy as np

__all__ = ["TreeLayout", "node_images", "only_below", "pies", "right_names", "texts", "tree_layout"]


class TreeLayout(NamedTuple):
    """Coordinates of a tree from left to right.

    Parameters
    ----------
    order : ndarray of int64, shape (n,)
        Items from top to bottom.
    x, y : ndarray, shape (m,)
        Coordinates of the nodes: their level, and the middle of what hangs on them.
    bottom : float
        x of the items.
    branches : ndarray, shape (2, P)
        Line with gaps through all nodes.
    items : ndarray, shape (2, Q)
        Line with gaps from nodes to their items.
    """

    order: np.ndarray
    x: np.ndarray
    y: np.ndarray
    bottom: float
    branches: np.ndarray
    items: np.ndarray


def tree_layout(tree):
    """Place the nodes of a tree: children from top to bottom, the largest first, then items in no child.

    Parameters
    ----------
    tree : ItemTree

    Returns
    -------
    TreeLayout

    Examples
    --------
    >>> from pymc_nrm.stats import ItemTree
    >>> layout = tree_layout(ItemTree.from_levels([[0, 1, 1, 2, 3]]))
    >>> layout.order.tolist(), layout.y.tolist()
    ([1, 2, 0, 3, 4], [2.25, 2.0, 0.5, 3.0, 4.0])
    """
    size = tree.size
    children = [sorted(tree.children(node).tolist(), key=lambda k: -size[k]) for node in range(tree.n_nodes)]
    own = [tree.own_items(node) for node in range(tree.n_nodes)]
    order, pending = [], [0]
    while pending:
        node = pending.pop()
        if node < 0:
            order += own[-node - 1].tolist()
        else:
            pending += [-node - 1, *reversed(children[node])]
    row = np.empty(tree.n_items)
    row[order] = np.arange(tree.n_items)
    x, y = tree.level.astype("float64"), np.empty(tree.n_nodes)
    bottom = x.max() + 1.0
    gap = [np.nan, np.nan]
    branches, items = [], []
    for node in range(tree.n_nodes - 1, -1, -1):  # children come after their parents
        below = [y[child] for child in children[node]]
        heights = [*below, *row[own[node]]]
        y[node] = (min(heights) + max(heights)) / 2
        for child, height in zip(children[node], below, strict=True):
            branches += [(x[node], height), (x[child], height), gap]
        if len(heights) > 1:
            branches += [(x[node], min(heights)), (x[node], max(heights)), gap]
        for height in row[own[node]]:
            items += [(x[node], height), (bottom, height), gap]
    shape = (-1, 2)
    return TreeLayout(
        np.array(order), x, y, bottom, np.reshape(branches, shape).T.astype("float64"), np.reshape(items, shape).T
    )


def texts(da, target, *, labels, **kwargs):
    """Visual: one text at each point.

    Parameters
    ----------
    da : DataArray
        It has the dimensions ``plot_axis`` (x, y) and ``point``.
    target : object
        Plot of any backend.
    labels : sequence of str
    **kwargs
        Passed to the backend's ``text``.

    Returns
    -------
    ndarray of object
        The texts.
    """
    from arviz_plots.plot_collection import backend_from_object

    backend = backend_from_object(target)
    drawn = np.empty(len(labels), dtype=object)
    for k, (x, y, label) in enumerate(zip(*da.values, labels, strict=True)):
        drawn[k] = backend.text(x, y, label, target, **kwargs)
    return drawn


def only_below(da, target):
    """Leave of the frame of a plot the x axis only; for matplotlib."""
    if not isinstance(target, list):
        target.spines[["left", "top", "right"]].set_visible(False)
        target.set_yticks([])


def right_names(da, target, *, values, labels, **kwargs):
    """Visual: names at the right end of the y axis, without ticks.

    Parameters
    ----------
    da : DataArray
        Not used.
    target : object
        Plot of the backends matplotlib or none.
    values, labels : sequence
    **kwargs
        Passed to :meth:`matplotlib.axes.Axes.set_yticklabels`.

    Returns
    -------
    object
        The names.
    """
    if isinstance(target, list):
        target.append({"function": "right_names", "values": values, "labels": labels, **kwargs})
        return target[-1]
    target.yaxis.tick_right()
    target.tick_params(axis="y", length=0)
    target.set_yticks(values)
    return target.set_yticklabels(labels, **kwargs)


def pies(da, target, *, shares, sizes, colors, **kwargs):
    """Visual: a pie at each point.

    Parameters
    ----------
    da : DataArray
        It has the dimensions ``plot_axis`` (x, y) and ``point``.
    target : object
        Plot of the backends matplotlib or none.
    shares : ndarray, shape (m, K)
        Shares of the slices, with sum 1.
    sizes : ndarray, shape (m,)
        Areas in square points, as those of :meth:`matplotlib.axes.Axes.scatter`.
    colors : sequence of str
    **kwargs
        Passed to :meth:`matplotlib.axes.Axes.scatter`.

    Returns
    -------
    ndarray of object, shape (m,)
        The slices of each pie.
    """
    points = da.values.T
    drawn = np.empty(len(points), dtype=object)
    for k, (x, y) in enumerate(points):
        if isinstance(target, list):
            target.append({"function": "pie", "x": x, "y": y, "shares": shares[k], "size": sizes[k], **kwargs})
            drawn[k] = target[-1]
            continue
        drawn[k], ends = [], np.concatenate([[0.0], np.cumsum(shares[k])])
        for slice_, color in enumerate(colors[: shares.shape[1]]):
            if ends[slice_ + 1] - ends[slice_] < 1e-9:
                continue
            angle = np.pi / 2 - 2 * np.pi * np.linspace(ends[slice_], ends[slice_ + 1], 64)
            corners = np.column_stack([np.cos(angle), np.sin(angle)])
            if shares[k, slice_] < 1 - 1e-9:
                corners = np.concatenate([[[0.0, 0.0]], corners])
            # Markers are scaled to their largest coordinate.
            area = sizes[k] * np.abs(corners).max() ** 2
            drawn[k].append(target.scatter([x], [y], marker=corners, s=area, color=color, **kwargs))
    return drawn


def node_images(da, target, *, images, width, **kwargs):
    """Visual: an image at each point.

    Parameters
    ----------
    da : DataArray
        It has the dimensions ``plot_axis`` (x, y) and ``point``.
    target : object
        Plot of the backends matplotlib or none.
    images : sequence of ndarray, shape (height, width) or (height, width, channels)
    width : float
        Longer side of an image in points.
    **kwargs
        Passed to :class:`matplotlib.offsetbox.OffsetImage`.

    Returns
    -------
    ndarray of object
        The images.
    """
    drawn = np.empty(len(images), dtype=object)
    for k, ((x, y), image) in enumerate(zip(da.values.T, images, strict=True)):
        if isinstance(target, list):
            target.append({"function": "node_image", "x": x, "y": y, "image": image, **kwargs})
            drawn[k] = target[-1]
            continue
        from matplotlib.offsetbox import AnnotationBbox, OffsetImage

        inner = OffsetImage(image, zoom=width / max(np.shape(image)[:2]), **kwargs)
        drawn[k] = AnnotationBbox(inner, (x, y), pad=0.1, bboxprops={"linewidth": 0.6, "edgecolor": "#4d4d4d"})
        target.add_artist(drawn[k])
    return drawn
