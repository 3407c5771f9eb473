"""Plot of a tree over items, such as an estimate from draws of a nested partition."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_flag
from pymc_nrm.nested.stats.item_tree import ItemTree
from pymc_nrm.nested.stats.nested_point_estimate import consensus_tree
from pymc_nrm.plots.canvas import LABELS, LINE_XY, SCATTER, Canvas, PlotCollection, check_names, options_of_plots
from pymc_nrm.plots.visuals import CLUSTER_COLORS, IMAGE_BACKENDS, node_images, only_below, pies, right_names, texts

MAX_NAMES = 80
# A row for several items shows at most this many names.
MAX_SHOWN = 3
BRANCH_COLOR, ITEM_COLOR = "#4d4d4d", "#c4c4c4"
# Area of the root in square points, and the smallest area of a node.
ROOT_AREA, LEAST_AREA = 700.0, 10.0


class TreeLayout(NamedTuple):
    """Coordinates of a tree from left to right."""

    # Items of each row, from top to bottom.
    rows: list
    # x, y: Coordinates of the nodes: their level, and the middle of their descendants; shape (m,).
    x: np.ndarray
    y: np.ndarray
    # X of the right ends of the rows.
    bottom: float
    # Line with gaps through all nodes; shape (2, P).
    branches: np.ndarray
    # Line with gaps from nodes to the right ends of their rows; shape (2, Q).
    items: np.ndarray


def tree_layout(tree, collapse=False):
    """Place the nodes of a tree: children from top to bottom, the largest first, then items in no child, each in its
    own row or all in one.
    """
    own_items = [tree.own_items(node) for node in range(tree.n_nodes)]
    own_items = [[some] * (len(some) > 0) if collapse else list(some[:, None]) for some in own_items]
    size = tree.size
    children = [sorted(tree.children(node).tolist(), key=lambda k: -size[k]) for node in range(tree.n_nodes)]
    rows, first, pending = [], np.zeros(tree.n_nodes, dtype="int64"), [0]
    while pending:
        node = pending.pop()
        if node < 0:
            first[-node - 1] = len(rows)
            rows += own_items[-node - 1]
        else:
            pending += [-node - 1, *reversed(children[node])]
    x, y = tree.level.astype("float64"), np.empty(tree.n_nodes)
    bottom = x.max() + 1.0
    gap = [np.nan, np.nan]
    branches, items = [], []
    for node in range(tree.n_nodes - 1, -1, -1):  # children come after their parents
        below = [y[child] for child in children[node]]
        ends = range(first[node], first[node] + len(own_items[node]))
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


@options_of_plots(
    {
        "branches, items": LINE_XY,
        "nodes": SCATTER,
        "composition": ":meth:`matplotlib.axes.Axes.scatter`; also ``colors``",
        "images": ":class:`matplotlib.offsetbox.OffsetImage`; also ``width``, in points",
        "probabilities": "``text`` of the backend",
        "names": ":meth:`matplotlib.axes.Axes.set_yticklabels`",
        **LABELS,
        "legend": "``legend`` of the backend, for classes",
    },
    backends=IMAGE_BACKENDS,
)
def plot_tree(
    tree: ItemTree | xr.DataTree | xr.Dataset | xr.DataArray,
    *,
    var_name: str | None = None,
    names: Any = None,
    composition: Any = None,
    images: Any = None,
    collapse: bool = False,
    **options: Any,
) -> PlotCollection:
    """Plot a tree over items from left to right: nodes with their posterior probabilities, and items as leaves.

    The area of a node is proportional to its number of items, and the number beside it is the posterior probability
    that its items form a node.  Items in no child of a node are lines from the node to their names.

    Parameters
    ----------
    tree : ItemTree, DataTree, Dataset or DataArray
        A tree, or draws of a nested partition, whose :func:`~pymc_nrm.nested.consensus_tree` is drawn.
    var_name : str, optional
        Name of the nested partition in draws; by default the only one.
    names : sequence of str, shape (n,), optional
        Names of the items, shown if there are at most 80 rows; by default from the tree.
    composition : array_like, shape (n,) or (n, K), optional
        Composition of nodes, drawn as pies: a class of each item, such as its component in an estimate, or shares of
        at most eight classes.  In a DataArray of shares, the coordinate of the second dimension names the classes.
    images : mapping of {int : array_like} or array_like, shape (n, height, width), optional
        Images keyed by nodes, or one image per item, whose mean is drawn at every node with at least two items.  A last
        axis may hold colours.
    collapse : bool
        Whether all items in no child of a node share one row, labelled with the most frequent names and their counts.
        Otherwise each item has a row.

    Returns
    -------
    PlotCollection
        Nodes are in ``.viz["nodes"]``, or ``.viz["composition"]``.

    Raises
    ------
    TypeError
        If `collapse` is not True or False.
    ValueError
        If there is no such nested partition, `names`, `composition` or `images` do not fit the tree, a visual is
        unknown, or the backend is not matplotlib.

    See Also
    --------
    pymc_nrm.nested.consensus_tree, pymc_nrm.nested.nested_point_estimate, pymc_nrm.nested.maximum_clade_credibility

    Examples
    --------
    >>> from pymc_nrm.nested.plots import plot_tree
    >>> from pymc_nrm.nested import ItemTree
    >>> tree = ItemTree.from_levels([[0, 0, 0, 1], [0, 0, 1, 2]], names=["cat", "dog", "trout", "ant"])
    >>> pc = plot_tree(tree, backend="none")
    >>> pc.viz["names"]["tree"].item()["labels"]
    ['cat', 'dog', 'trout', 'ant']
    """
    if not isinstance(tree, ItemTree):
        tree = consensus_tree(tree, var_name=var_name)
    elif var_name is not None:
        raise ValueError(f"var_name must be None with a tree; got {var_name!r}")
    check_flag("collapse", collapse)
    check_names(names, tree.n_items)
    shares, classes = (None, []) if composition is None else composition_of(composition, tree)
    pictures = {} if images is None else images_of(images, tree)
    canvas = Canvas(plot_tree, options)

    layout = tree_layout(tree, collapse)
    n_rows = len(layout.rows)
    # Images need more room than names.
    row_height = 0.21 if collapse and pictures else 0.115
    height = 2.2 + row_height * (n_rows if n_rows <= MAX_NAMES else 0.6 * MAX_NAMES)
    canvas.create(xr.Dataset({"tree": 0.0}), width=1.35, height=height)
    wide = n_rows <= 3 * MAX_NAMES
    for name, lines, color, width in (
        ("items", layout.items, ITEM_COLOR, 0.9 if wide else 0.4),
        ("branches", layout.branches, BRANCH_COLOR, 1.2 if wide else 0.7),
    ):
        if lines.size:
            canvas.draw("line_xy", name, dict(zip("xy", lines, strict=True)), color=color, width=width)

    def at(nodes):
        return {"x": layout.x[nodes], "y": layout.y[nodes]}

    area = np.maximum(ROOT_AREA * tree.size / tree.n_items, LEAST_AREA)
    drawn = ~np.isin(np.arange(tree.n_nodes), list(pictures))
    if shares is None:
        style = {"facecolor": CLUSTER_COLORS[0], "edgecolor": "white", "width": 0.6}
        canvas.draw("scatter_xy", "nodes", at(drawn), size=area[drawn], zorder=3, **style)
    else:
        colors = canvas.arguments("composition", colors=CLUSTER_COLORS)["colors"]
        style = {"shares": shares[drawn], "sizes": area[drawn], "colors": colors, "linewidths": 0.0, "zorder": 3}
        canvas.draw(pies, "composition", at(drawn), artist_dims={"node": int(drawn.sum())}, **style)
        point = {"marker": "o", "linestyle": "none"}
        canvas.entries = [(name, {"color": color, **point}) for name, color in zip(classes, colors, strict=False)]
        canvas.legend(loc="outside upper center", ncols=min(len(classes), 5))
    if pictures:
        nodes = np.array(sorted(pictures))
        style = {"images": [pictures[node] for node in nodes], "width": 26.0, "cmap": "Greys"}
        canvas.draw(node_images, "images", at(nodes), artist_dims={"node": len(nodes)}, **style)
    labelled = np.flatnonzero(np.isfinite(tree.probability) & (tree.size > 1) & (np.arange(tree.n_nodes) > 0))
    if len(labelled):
        # Above the branch, left of the node: the radius of a node is at most a sixth of a level.
        radius = 0.14 if pictures else np.sqrt(area[labelled] / area.max()) * 0.17
        places = {"x": layout.x[labelled] - radius - 0.02, "y": layout.y[labelled] - 0.12}
        style = {"horizontal_align": "right", "vertical_align": "bottom", "size": 7.5, "color": "black"}
        labels = [f"{p:.2f}" for p in tree.probability[labelled]]
        canvas.draw(texts, "probabilities", places, artist_dims={"node": len(labels)}, labels=labels, **style)
    written = [str(name) for name in (tree.names if names is None else names)]
    rows = [summarise_names([written[i] for i in row]) for row in layout.rows]
    canvas.set(only_below)
    ticks = (np.arange(n_rows), rows) if n_rows <= MAX_NAMES else ([], [])
    canvas.ticks(right_names, "names", *ticks, fontsize=9 if n_rows <= 40 else 7)
    meanings = [] if pictures and not drawn[1:].any() else ["area of a node: number of items"]
    if len(labelled) and canvas.wants("probabilities"):
        meanings.append("number: posterior probability of a node")
    canvas.labels(f"level ({', '.join(meanings)})" if meanings else "level", f"{tree.n_items} items")
    levels, limits = np.arange(int(layout.bottom)), (-0.35, layout.bottom)
    canvas.axes(xticks=levels, xlim=limits, ylim=(n_rows - 0.4, -0.6))
    return canvas.collection


def summarise_names(names):
    """Text with the most frequent names, and their counts if any name repeats."""
    counts = Counter(names).most_common()
    repeated = counts[0][1] > 1
    text = ", ".join(f"{name} ({count})" if repeated else name for name, count in counts[:MAX_SHOWN])
    n_more = sum(count for _, count in counts[MAX_SHOWN:])
    return f"{text} and {n_more} more" if n_more else text


def composition_of(composition, tree):
    """Shares of classes in each node, shape (m, K), and names of the classes."""
    values = np.asarray(composition)
    if values.ndim not in (1, 2) or len(values) != tree.n_items:
        raise ValueError(
            f"composition must have shape ({tree.n_items},) or ({tree.n_items}, K); got shape {values.shape}"
        )
    if values.ndim == 1:
        names, inverse = np.unique(values, return_inverse=True)
        values, classes = np.eye(len(names))[inverse], [str(name) for name in names]
    else:
        values = values.astype("float64")
        if not (np.isfinite(values) & (values >= 0)).all() or not np.allclose(values.sum(axis=1), 1.0, atol=1e-6):
            raise ValueError("composition must have shares of at least 0 with sum 1 for each item")
        classes = [str(k) for k in range(values.shape[1])]
        if isinstance(composition, xr.DataArray) and composition.dims[1] in composition.coords:
            classes = [str(name) for name in composition[composition.dims[1]].values]
    if values.shape[1] > len(CLUSTER_COLORS):
        raise ValueError(f"composition must have at most {len(CLUSTER_COLORS)} classes; got {values.shape[1]}")
    return np.stack([values[tree.positions(node)].mean(axis=0) for node in range(tree.n_nodes)]), classes


def images_of(images, tree):
    """Images keyed by the numbers of their nodes."""
    if isinstance(images, Mapping):
        unknown = sorted(set(images) - set(range(tree.n_nodes)), key=str)
        if unknown:
            raise ValueError(f"images must be keyed by nodes from 0 to {tree.n_nodes - 1}; got {unknown[0]!r}")
        by_node = {int(node): np.asarray(image) for node, image in images.items()}
        wrong = [image.shape for image in by_node.values() if image.ndim not in (2, 3)]
        if wrong:
            raise ValueError(f"images must have two axes, or a third one for colours; got shape {wrong[0]}")
        return by_node
    values = np.asarray(images)
    if values.ndim not in (3, 4) or len(values) != tree.n_items:
        raise ValueError(f"images must have shape ({tree.n_items}, height, width); got shape {values.shape}")
    return {
        node: values[tree.positions(node)].mean(axis=0) for node in range(tree.n_nodes) if len(tree.positions(node)) > 1
    }
