"""Colours, markers and how a legend shows them."""

# Eight of Paul Tol's "muted" colours, which people with colour vision deficiency can tell apart, even as thin lines.
CLUSTER_COLORS = ("#332288", "#cc6677", "#117733", "#88ccee", "#882255", "#999933", "#44aa99", "#aa4499")
# For clusters after the eighth, which are small: such that no two of sixteen look alike.
SMALL_CLUSTER_COLORS = ("#ee7733", "#0077bb", "#ddcc77", "#7f4f24", "#f7a8c4", "#000000", "#66cc33", "#b58df0")
GREY, PRIOR_COLOR = "#8c8c8c", "#b35806"
# Markers of clusters, which survive printing without colours.
MARKERS = ("o", "s", "^", "D")
MARKER_NAMES = {
    "plotly": {"o": "circle", "s": "square", "^": "triangle-up", "D": "diamond", "x": "x-thin-open"},
    "bokeh": {"o": "circle", "s": "square", "^": "triangle", "D": "diamond", "x": "x"},
}
# Points of single chains.
CROSS = {"color": "black", "marker": "x", "size": 25, "width": 1}


def hollow(color, size=24, width=1.3):
    """Style of points that are white within."""
    return {"facecolor": "white", "edgecolor": color, "size": size, "width": width}


def backend_marker(marker, backend):
    """Name in a backend of a marker of matplotlib."""
    return MARKER_NAMES.get(backend, {}).get(marker, marker)


def cluster_style(k):
    """Colour and marker of the k-th cluster; the first 16 differ in colour, and the first 32 in one of both."""
    colors = CLUSTER_COLORS + SMALL_CLUSTER_COLORS
    return colors[k % len(colors)], MARKERS[(k + k // len(colors)) % len(MARKERS)]


def legend_key(style):
    """Properties in a legend of points, which have a size, of lines, which have a width, or of an area."""
    if "size" not in style:
        color = style.get("color", style.get("facecolor"))
        kept = {name: style[name] for name in ("width", "alpha", "linestyle") if name in style}
        return {"width": 6} | kept | {"color": color}
    key = {"marker": style.get("marker", "o"), "linestyle": "none"}
    if style.get("facecolor") == "white":
        return key | {"color": style["edgecolor"], "markerfacecolor": "white"}
    return key | {"color": style.get("facecolor", style.get("color"))}
