"""Visuals that arviz-plots lacks; like its own, they are called with a DataArray and a plot."""

import numpy as np
import xarray as xr

__all__ = ["IMAGE_BACKENDS", "bars", "color_bar", "image", "integer_ticks", "points_dataset", "set_yticks", "whiskers"]

IMAGE_BACKENDS = ("matplotlib", "none")


def _backend(target):
    from arviz_plots.plot_collection import backend_from_object

    return backend_from_object(target)


def points_dataset(name, **axes):
    """Coordinates of points in the form that visuals take: one variable with dimensions ``plot_axis`` and ``point``."""
    arrays = np.stack(np.broadcast_arrays(*(np.atleast_1d(np.asarray(values, "float64")) for values in axes.values())))
    return xr.Dataset({name: (("plot_axis", "point"), arrays)}, coords={"plot_axis": list(axes)})


def image(da, target, *, cmap="Greys", vmin=0.0, vmax=1.0, **kwargs):
    """A matrix as an image, with its first row at the top and entry (i, j) at x = j, y = i. Shapes: ``da`` (rows,
    columns).
    """
    kwargs = {"cmap": cmap, "vmin": vmin, "vmax": vmax, **kwargs}
    if isinstance(target, list):
        target.append({"function": "image", "image": da.values, **kwargs})
        return target[-1]
    return target.imshow(da.values, **{"aspect": "equal", "origin": "upper", **kwargs})


def color_bar(da, target, *, mappable, label, **kwargs):
    """The colour scale of an image, beside its plot."""
    if isinstance(target, list):
        target.append({"function": "color_bar", "label": label, **kwargs})
        return target[-1]
    return target.figure.colorbar(mappable, label=label, **{"ax": target, **kwargs})


def bars(da, target, *, width=0.8, **kwargs):
    """Bars of given heights with gaps between them."""
    backend = _backend(target)
    drawn = np.empty(da.size, dtype=object)
    for i, (middle, height) in enumerate(zip(da[da.dims[0]].values, da.values, strict=True)):
        edges = np.array([middle - width / 2]), np.array([middle + width / 2])
        drawn[i] = backend.hist(np.array([height]), *edges, target, **kwargs)
    return drawn


def whiskers(da, target, **kwargs):
    """Vertical lines between two heights, drawn as one line with gaps."""
    x, bottom, top = (da.sel(plot_axis=name).values for name in ("x", "y_bottom", "y_top"))
    gap = np.full(len(x), np.nan)
    x, y = np.stack([x, x, gap], axis=1).ravel(), np.stack([bottom, top, gap], axis=1).ravel()
    if hasattr(target, "add_line"):  # matplotlib by default draws wide lines beyond their ends
        kwargs.setdefault("solid_capstyle", "butt")
    return _backend(target).line(x, y, target, **kwargs)


def set_yticks(da, target, *, values, labels, **kwargs):
    """Set positions and names of the ticks of the y axis."""
    return _backend(target).yticks(values, labels, target, **kwargs)


def integer_ticks(low, high, most=12):
    """Whole numbers between two numbers as ticks, spaced by 1, 2 or 5 times a power of ten."""
    step = 1
    while np.floor(high / step) - np.ceil(low / step) + 1 > most:
        leading = int(str(step)[0])
        step = step * 5 // 2 if leading == 2 else step * 2
    return np.arange(int(np.ceil(low / step)), int(np.floor(high / step)) + 1) * step
