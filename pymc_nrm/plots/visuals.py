"""Visuals that arviz-plots lacks; like its own, each takes a DataArray and a plot.

On the backend "none", a plot is a list of records of what was drawn.
"""

import numpy as np
import xarray as xr

IMAGE_BACKENDS = ("matplotlib", "none")
# Eight of Paul Tol's "muted" colours, distinguishable with colour vision deficiency, even as thin lines.
CLUSTER_COLORS = ("#332288", "#cc6677", "#117733", "#88ccee", "#882255", "#999933", "#44aa99", "#aa4499")
# For clusters after the eighth, which are small: chosen such that all sixteen colours differ visibly.
SMALL_CLUSTER_COLORS = ("#ee7733", "#0077bb", "#ddcc77", "#7f4f24", "#f7a8c4", "#000000", "#66cc33", "#b58df0")
GREY, PRIOR_COLOR = "#8c8c8c", "#b35806"
# Markers of clusters, which stay visible in prints without colours.
MARKERS = ("o", "s", "^", "D")
MARKER_NAMES = {
    "plotly": {"o": "circle", "s": "square", "^": "triangle-up", "D": "diamond", "x": "x-thin-open"},
    "bokeh": {"o": "circle", "s": "square", "^": "triangle", "D": "diamond", "x": "x"},
}
# Points of single chains.
CROSS = {"color": "black", "marker": "x", "size": 25, "width": 1}


def hollow(color, size=24, width=1.3):
    """Style of points with a white interior."""
    return {"facecolor": "white", "edgecolor": color, "size": size, "width": width}


def backend_marker(marker, backend):
    """Name of a matplotlib marker in another backend."""
    return MARKER_NAMES.get(backend, {}).get(marker, marker)


def cluster_style(k):
    """Colour and marker of the k-th cluster; the first 16 colours differ, and the first 32 pairs differ."""
    colors = CLUSTER_COLORS + SMALL_CLUSTER_COLORS
    return colors[k % len(colors)], MARKERS[(k + k // len(colors)) % len(MARKERS)]


def legend_key(style):
    """Legend properties of points (if the style has a size), lines (a width), or areas."""
    if "size" not in style:
        color = style.get("color", style.get("facecolor"))
        kept = {name: style[name] for name in ("width", "alpha", "linestyle") if name in style}
        return {"width": 6} | kept | {"color": color}
    key = {"marker": style.get("marker", "o"), "linestyle": "none"}
    if style.get("facecolor") == "white":
        return key | {"color": style["edgecolor"], "markerfacecolor": "white"}
    return key | {"color": style.get("facecolor", style.get("color"))}


def backend_of(target):
    """Module of backend functions for a plot."""
    from arviz_plots.plot_collection import backend_from_object

    return backend_from_object(target)


def recorded(target, function, **arguments):
    """Record of a visual on the backend "none"."""
    target.append({"function": function, **arguments})
    return target[-1]


def points_dataset(name, **axes):
    """Coordinates of points in the form that visuals take: a variable with dimensions ``plot_axis`` and ``point``."""
    arrays = np.stack(np.broadcast_arrays(*(np.atleast_1d(np.asarray(values, "float64")) for values in axes.values())))
    return xr.Dataset({name: (("plot_axis", "point"), arrays)}, coords={"plot_axis": list(axes)})


def bins_dataset(name, heights, edges):
    """A histogram in the form that visuals take."""
    axes = {"histogram": heights, "left_edges": edges[:-1], "right_edges": edges[1:]}
    return points_dataset(name, **axes)


def with_gaps(*corners):
    """Join one coordinate of several lines to one line with gaps, given the coordinates of their first corners, ..."""
    return np.stack([*np.broadcast_arrays(*corners), np.full(np.shape(corners[0]), np.nan)], axis=-1).ravel()


def image(da, target, *, cmap="Greys", vmin=0.0, vmax=1.0, **kwargs):
    """Draw a matrix as an image, with the first row at the top and entry (i, j) at x = j, y = i."""
    kwargs = {"cmap": cmap, "vmin": vmin, "vmax": vmax, **kwargs}
    if isinstance(target, list):
        return recorded(target, "image", image=da.values, **kwargs)
    return target.imshow(da.values, **{"aspect": "equal", "origin": "upper", **kwargs})


def color_bar(da, target, *, mappable, label, **kwargs):
    """Draw the colour scale of an image beside its plot."""
    if isinstance(target, list):
        return recorded(target, "color_bar", label=label, **kwargs)
    return target.figure.colorbar(mappable, label=label, **{"ax": target, **kwargs})


def bars(da, target, *, width=0.8, **kwargs):
    """Draw bars of given heights with gaps between them."""
    draw, middles = backend_of(target).hist, da[da.dims[0]].values[:, None]
    each = zip(da.values[:, None], middles - width / 2, middles + width / 2, strict=True)
    return np.fromiter((draw(*bar, target, **kwargs) for bar in each), object)


def whiskers(da, target, **kwargs):
    """Draw vertical lines between two heights, as one line with gaps."""
    x, bottom, top = (da.sel(plot_axis=name).values for name in ("x", "y_bottom", "y_top"))
    if hasattr(target, "add_line"):  # matplotlib by default draws wide lines beyond their ends
        kwargs.setdefault("solid_capstyle", "butt")
    return backend_of(target).line(with_gaps(x, x), with_gaps(bottom, top), target, **kwargs)


def band(da, target, **kwargs):
    """Draw the area between two curves, from x, y_bottom and y_top along ``plot_axis``."""
    x, low, high = (da.sel(plot_axis=name).values for name in ("x", "y_bottom", "y_top"))
    return backend_of(target).fill_between_y(x, low, high, target, **kwargs)


def contour(da, target, *, levels, color, **kwargs):
    """Draw contours of a table over its coordinates ``x`` and ``y``, with a colour for each level."""
    draw, arrays = backend_of(target).contour, (da["x"].values, da["y"].values, da.values)
    if isinstance(target, list) or hasattr(target, "add_line"):
        return draw(*arrays, target, levels=levels, color=color, **kwargs)
    for level, line_color in zip(levels, color, strict=True):  # other backends take only one colour
        draw(*arrays, target, levels=[level], color=line_color, **kwargs)
    return None


def grouped_lines(da, target, *, styles, **kwargs):
    """Draw one line for each cluster, in its colour; the result is None for a cluster without a line."""
    drawn = np.empty(len(styles), dtype=object)
    for k, (x, y) in enumerate(da.transpose("cluster", "plot_axis", "corner").values):
        if np.isfinite(x).any():
            drawn[k] = backend_of(target).line(x, y, target, **{"color": styles[k], **kwargs})
    return drawn


def panel_text(da, target, *, texts, dims, kind, text=None, **kwargs):
    """Write an axis label or the title of one of several plots, looked up by its coordinates."""
    key = tuple(da[dim].item() for dim in dims)
    own_text = texts.get(key if len(dims) > 1 else key[0])
    return None if own_text is None else getattr(backend_of(target), kind)(text or own_text, target, **kwargs)


def set_yticks(da, target, *, values, labels, **kwargs):
    """Set positions and labels of the ticks of the y axis."""
    return backend_of(target).yticks(values, labels, target, **kwargs)


def integer_ticks(low, high, most=12):
    """Whole numbers between two numbers as ticks, spaced by 1, 2 or 5 times a power of ten."""
    step = 1
    while np.floor(high / step) - np.ceil(low / step) + 1 > most:
        leading = int(str(step)[0])
        step = step * 5 // 2 if leading == 2 else step * 2
    return np.arange(int(np.ceil(low / step)), int(np.floor(high / step)) + 1) * step


def texts(da, target, *, labels, **kwargs):
    """Write one text at each point."""
    draw, places = backend_of(target).text, zip(*da.values, labels, strict=True)
    return np.fromiter((draw(x, y, label, target, **kwargs) for x, y, label in places), object)


def colored_texts(da, target, *, labels, colors, **kwargs):
    """Write one text in its colour at each point."""
    draw, places = backend_of(target).text, zip(*da.values, labels, colors, strict=True)
    drawn = np.empty(len(labels), dtype=object)
    for k, (x, y, label, color) in enumerate(places):
        drawn[k] = draw(x, y, label, target, **{"color": color, **kwargs})
    return drawn


def only_below(da, target):
    """Keep only the x axis of the frame of a matplotlib plot."""
    if not isinstance(target, list):
        target.spines[["left", "top", "right"]].set_visible(False)
        target.set_yticks([])


def right_names(da, target, *, values, labels, **kwargs):
    """Write names at the right end of the y axis, without ticks."""
    if isinstance(target, list):
        return recorded(target, "right_names", values=values, labels=labels, **kwargs)
    target.yaxis.tick_right()
    target.tick_params(axis="y", length=0)
    target.set_yticks(values)
    return target.set_yticklabels(labels, **kwargs)


def pies(da, target, *, shares, sizes, colors, **kwargs):
    """Draw a pie at each point. Shapes: ``shares`` (m, K), ``sizes`` (m,); returns (m,)."""
    points = da.values.T
    drawn = np.empty(len(points), dtype=object)
    for k, (x, y) in enumerate(points):
        if isinstance(target, list):
            drawn[k] = recorded(target, "pie", x=x, y=y, shares=shares[k], size=sizes[k], **kwargs)
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
    """Draw an image at each point. Shapes: ``images`` (height, width) or (height, width, channels)."""
    drawn = np.empty(len(images), dtype=object)
    for k, ((x, y), pixels) in enumerate(zip(da.values.T, images, strict=True)):
        if isinstance(target, list):
            drawn[k] = recorded(target, "node_image", x=x, y=y, image=pixels, **kwargs)
            continue
        from matplotlib.offsetbox import AnnotationBbox, OffsetImage

        inner = OffsetImage(pixels, zoom=width / max(np.shape(pixels)[:2]), **kwargs)
        drawn[k] = AnnotationBbox(inner, (x, y), pad=0.1, bboxprops={"linewidth": 0.6, "edgecolor": "#4d4d4d"})
        target.add_artist(drawn[k])
    return drawn
