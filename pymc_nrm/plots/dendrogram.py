"""Plot of a tree over the items, with the clusters at its cut."""

from typing import Any

import numpy as np
import scipy
import xarray as xr

from pymc_nrm.common.checks import check_flag
from pymc_nrm.plots.canvas import BACKENDS, LINE, SCATTER, Canvas, PlotCollection, check_names, options_of_plots
from pymc_nrm.plots.visuals import CLUSTER_COLORS, GREY, backend_of

ABOVE_COLOR = GREY
MAX_NAMES = 50
# Widths show classes of merge probabilities; d = 1 has probability 1/2.
CLASS_EDGES = (0.05, 0.5, 0.95)
CLASS_WIDTHS = (0.6, 1.2, 2.2, 3.6)
CLASS_NAMES = ("below 0.05", "0.05 to 0.5", "0.5 to 0.95", "0.95 and above")
GAIN_COLOR = "#d55e00"
GAIN_AREA = 160.0


def branch_coordinates(dendrogram):
    """Coordinates of the branches of a dendrogram: a bracket with four corners for every merge.

    Leaves are at 0, ..., n - 1 in the order of the tree, and inner nodes halfway between their children. ``corners``
    has x and y of the foot, top, top and foot of each row of the linkage matrix.  ``cluster`` has the label of the
    items below, or -1 for several. Shapes: returns ``corners`` (n - 1, 2, 4), ``cluster`` (n - 1,).
    """
    linkage = dendrogram.to_linkage()
    n = len(linkage) + 1
    x = np.empty(2 * n - 1)
    x[dendrogram.tree.order] = np.arange(n)
    y = np.concatenate([np.zeros(n), linkage[:, 2]])
    cluster = np.concatenate([dendrogram.labels, np.full(n - 1, -1)])
    children = linkage[:, :2].astype("int64")
    for v, (a, b) in enumerate(children.tolist(), start=n):  # children come before their parents
        x[v] = (x[a] + x[b]) / 2
        if cluster[a] == cluster[b]:
            cluster[v] = cluster[a]
    children = np.take_along_axis(children, np.argsort(x[children], axis=1), axis=1)
    a, b, top = *children.T, y[n:]
    corners = np.stack([np.stack([x[a], x[a], x[b], x[b]], axis=1), np.stack([y[a], top, top, y[b]], axis=1)], axis=1)
    return corners, cluster[n:]


def merge_nodes(dendrogram):
    """Node of the tree for each row of ``dendrogram.to_linkage()``, shape (n - 1,)."""
    children = dendrogram.to_linkage()[:, 0].astype("int64")
    n = len(children) + 1
    node = np.concatenate([np.arange(n), np.empty(n - 1, dtype="int64")])
    for v, child in enumerate(children, start=n):
        node[v] = dendrogram.tree.parent[node[child]]
    return node[n:]


def line_kinds(cluster, width_class):
    """Kinds of lines, and the kind of each merge; -1, above the cut, precedes the colours of the cycle."""
    group = np.where(cluster < 0, -1, cluster % len(CLUSTER_COLORS))
    return np.unique(np.stack([group, width_class], axis=1), axis=0, return_inverse=True)


def branches(da, target, *, colors=CLUSTER_COLORS, above_color=ABOVE_COLOR, width=1.5, widths=None, **kwargs):
    """Draw the brackets of a dendrogram, one line with gaps for each colour and width."""
    present, kind = line_kinds(da["cluster"].values, da["width_class"].values)
    lines = np.empty(len(present), dtype=object)
    for k, (group, width_class) in enumerate(present):
        corners = da.values[kind == k]
        x, y = np.pad(corners, [(0, 0), (0, 0), (0, 1)], constant_values=np.nan).transpose(1, 0, 2).reshape(2, -1)
        color = above_color if group < 0 else colors[group % len(colors)]
        line_width = width if widths is None else widths[width_class]
        lines[k] = backend_of(target).line(x, y, target, color=color, width=line_width, **kwargs)
    return lines


@options_of_plots(
    {
        "branches": f"{LINE}; also ``colors``, the cycle, ``above_color`` and, with `probabilities`, ``widths``",
        "gains": SCATTER,
        "cut": ":func:`arviz_plots.visuals.hline`",
        "cut_label": ":func:`arviz_plots.visuals.annotate_xy`",
        "ylabel": ":func:`arviz_plots.visuals.labelled_y`",
        "leaves": ":func:`arviz_plots.visuals.set_xticks`",
        "legend": "``legend`` of the backend, for `probabilities` and `gains`",
    }
)
def plot_dendrogram(
    dendrogram: Any, *, names: Any = None, probabilities: bool = False, gains: Any = None, **options: Any
) -> PlotCollection:
    """Plot a dendrogram with branches coloured by cluster.

    Branches within cluster k have colour k of a cycle of eight colour-blind-safe colours; branches above the cut are
    grey.  A dashed line marks the cut, d = 1.

    Parameters
    ----------
    dendrogram : Dendrogram
        Returned by :func:`~pymc_nrm.trees.bhc` or :func:`~pymc_nrm.trees.ibhc`.
    names : sequence of str, shape (n,), optional
        Names of the items, written below the leaves if there are at most 50 items.  By default leaves have no names.
    probabilities : bool
        Whether the width of branches shows the probability of their merge, in four classes.  It is ``1 / (1 + d)``, the
        share of the node's potential in which its items form one cluster (Heller & Ghahramani 2005, equation 3).
    gains : array_like, shape (2n - 1,), optional
        A number of at least 0 for each node of the tree, such as ``node_gains`` of
        :func:`~pymc_nrm.trees.alternative_trees`, which show where the hierarchy is uncertain.  The areas of marks at
        merges are proportional to gains; gains of items are not drawn.

    Returns
    -------
    PlotCollection
        Lines are in ``.viz["branches"]``, one for each colour, or colour and class of probabilities.

    Raises
    ------
    ValueError
        If the number of names is not the number of items, `gains` is not as described above, or a visual is unknown.

    See Also
    --------
    pymc_nrm.trees.Dendrogram.to_linkage : Heights of the merges.

    Notes
    -----
    Bokeh cannot draw `gains`, since it draws all points in one size.

    Heights are from :meth:`~pymc_nrm.trees.Dendrogram.to_linkage`, since log d itself may be negative and need not
    grow towards the root.  Trees may have any depth.

    Examples
    --------
    >>> from pymc_nrm.families import NormalGamma
    >>> from pymc_nrm.measures import DirichletProcess
    >>> from pymc_nrm.plots import plot_dendrogram
    >>> from pymc_nrm.trees import bhc
    >>> family = NormalGamma(mu=5.0, kappa=0.01, alpha=2.0, beta=0.1)
    >>> result = bhc([0.0, 9.0, 0.3, 9.1], family, DirichletProcess(1.0), random_seed=1)
    >>> pc = plot_dendrogram(result, names=["a", "b", "c", "d"], backend="none")
    >>> [line["color"] for line in pc.viz["branches"]["dendrogram"].values]
    ['#8c8c8c', '#332288', '#cc6677']

    Thicker branches, without the line that marks the cut:

    >>> pc = plot_dendrogram(
    ...     result, backend="none", visuals={"branches": {"width": 3}, "cut": False, "cut_label": False}
    ... )
    >>> pc.viz["branches"]["dendrogram"].values[0]["width"]
    3
    """
    if not hasattr(dendrogram, "tree"):
        raise TypeError(f"dendrogram must be a Dendrogram, from bhc or ibhc; got {type(dendrogram).__name__}")
    check_flag("probabilities", probabilities)
    n = len(dendrogram.labels)
    check_names(names, n)
    gains = None if gains is None else _checked_gains(gains, n)
    # Bokeh draws all points in one size.
    canvas = Canvas(plot_dendrogram, options, BACKENDS if gains is None else ("matplotlib", "plotly", "none"))

    corners, cluster = branch_coordinates(dendrogram)
    nodes, cut = merge_nodes(dendrogram), dendrogram.cut_height
    width_class = np.zeros(n - 1, dtype="int64")
    if probabilities:
        width_class = np.digitize(scipy.special.expit(-dendrogram.dissimilarity[nodes]), CLASS_EDGES)
    data = xr.Dataset(
        {"dendrogram": (("merge", "plot_axis", "corner"), corners)},
        coords={"plot_axis": ["x", "y"], "cluster": ("merge", cluster), "width_class": ("merge", width_class)},
    )
    canvas.create(data, width=1.5, height=3)
    artists = {"line": len(line_kinds(cluster, width_class)[0])}
    widths = {"widths": CLASS_WIDTHS} if probabilities else {"width": 1.5 if n <= 4 * MAX_NAMES else 0.8}
    canvas.draw(branches, "branches", artist_dims=artists, **widths)
    if probabilities and n > 1:
        shown = canvas.arguments("branches", **widths)["widths"]
        canvas.entries = [
            (f"merge probability {CLASS_NAMES[k]}", {"color": "black", "width": shown[k]})
            for k in np.unique(width_class)[::-1]
        ]
    if gains is not None and (gains[n:] > 0).any():
        gain = gains[nodes]
        marked = gain > 0
        middle, top = corners[marked, 0].mean(axis=1), corners[marked, 1].max(axis=1)
        style = {"facecolor": GAIN_COLOR, "edgecolor": "white", "alpha": 0.8, "width": 0.5}
        text, area = f"gain (largest: {gain.max():.3g})", GAIN_AREA * gain[marked] / gain.max()
        canvas.draw("scatter_xy", "gains", {"x": middle, "y": top}, entry=text, size=area, **style)
    # Leave room for the text at the cut on the right, where no branch can cross it.
    left, right = -0.02 * n - 0.5, 1.08 * n - 0.5
    cut_data = xr.Dataset({"dendrogram": cut})
    canvas.draw("hline", "cut", cut_data, color="black", linestyle=canvas.dashes(), width=1.0)
    place = {"x": right, "y": cut, "horizontal_align": "right", "vertical_align": "bottom"}
    canvas.draw("annotate_xy", "cut_label", cut_data, text="d = 1 ", color="black", **place)
    canvas.label("ylabel", "height, asinh(log d) made monotone", cut_data)
    shown = names is not None and n <= MAX_NAMES
    ticks = (np.arange(n), [str(names[i]) for i in dendrogram.tree.order]) if shown else ([], [])
    canvas.ticks("set_xticks", "leaves", *ticks, data=cut_data, rotation=90)
    canvas.legend(loc="outside upper center", ncols=2)
    highest = max(cut, corners[:, 1].max(initial=0.0))
    canvas.axes(cut_data, xlim=(left, right), ylim=(0.0, 1.05 * highest))
    return canvas.collection


def _checked_gains(gains, n):
    values = np.asarray(gains, dtype="float64")
    if values.shape != (2 * n - 1,) or not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError(
            f"gains must be {2 * n - 1} finite numbers of at least 0, one for each node; got shape {values.shape}"
        )
    return values
