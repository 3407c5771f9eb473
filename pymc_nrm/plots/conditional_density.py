"""Plot of the conditional distribution of a feature along a covariate."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import interval_probability
from pymc_nrm.common.result_names import added_dim
from pymc_nrm.plots.canvas import LABELS, LEGEND, LINE_XY, SCATTER, Canvas, PlotCollection, options_of_plots
from pymc_nrm.plots.cluster_points import feature_matrix
from pymc_nrm.plots.visuals import CLUSTER_COLORS, GREY, band, points_dataset

_OF_MEDIAN, _OF_OTHERS = CLUSTER_COLORS[0], "#2171b5"


@options_of_plots(
    {
        "points": SCATTER,
        "band": "``fill_between_y`` of the backend, once for each quantile",
        "quantile": LINE_XY,
        **LABELS,
        **LEGEND,
    }
)
def plot_conditional_density(
    curves: xr.Dataset, *, x: str | None = None, data: Any = None, ci_prob: Any = None, **options: Any
) -> PlotCollection:
    """Plot conditional quantiles of a feature along one covariate, with credible bands, over the data.

    Parameters
    ----------
    curves : Dataset
        Result of :func:`~pymc_nrm.conditional_quantiles` along one covariate, all others fixed.
    x : str, optional
        Covariate on the axis, a coordinate of the new items; by default the only one that varies.
    data : array_like or DataFrame, shape (n, 2), optional
        Covariate and feature of the items, shown as points.
    ci_prob : float, optional
        Probability of the bands, with equal tails; by default ``arviz_base.rcParams["stats.ci_prob"]``.

    Returns
    -------
    PlotCollection

    Raises
    ------
    ValueError
        If there are no quantiles, no covariate or several covariates vary, data do not have two columns, or an argument
        is out of range.

    Notes
    -----
    Lines are posterior means of the quantiles, and bands are pointwise.  The share of new items between two lines is
    the difference of their probabilities, whereas a band shows how well a line is known.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from pymc_nrm.plots import plot_conditional_density
    >>> values = np.array([[[[0.0, 1.0], [1.0, 3.0]], [[0.5, 2.0], [2.0, 3.0]]]])
    >>> curves = xr.Dataset(
    ...     {"quantile": (("chain", "draw", "new_item", "probability"), values)},
    ...     {"probability": [0.5, 0.9], "time": ("new_item", [0.0, 10.0])},
    ... )
    >>> pc = plot_conditional_density(curves, backend="none")
    >>> pc.viz["quantile"]["quantile"].item()["y"].tolist()
    [1.5, 3.0]
    """
    if not isinstance(curves, xr.Dataset) or "quantile" not in curves:
        raise ValueError(f"curves must be a Dataset with the variable quantile; got {type(curves).__name__}")
    canvas = Canvas(plot_conditional_density, options)
    ci_prob = interval_probability(ci_prob)
    array = curves["quantile"]
    x, at = _covariate(array, x)
    matrix = None if data is None else feature_matrix(data, len(data))[0]
    if matrix is not None and matrix.shape[1] != 2:
        raise ValueError(f"data must have two columns, covariate and feature; got {matrix.shape[1]}")
    place = np.argsort(at, kind="stable")
    probability = added_dim(array, "probability")
    values = array.transpose("chain", "draw", ..., probability).values
    values = values.reshape(-1, *values.shape[2:])[:, place]
    middle, probabilities = values.mean(axis=0), array[probability].values
    low, high = np.quantile(values, [(1 - ci_prob) / 2, (1 + ci_prob) / 2], axis=0)
    canvas.create(points_dataset("quantile", x=at[place], y=middle[:, 0]), height=2.4)
    if matrix is not None:
        size = float(np.clip(4000 / len(matrix), 4, 22))
        dots = {"x": matrix[:, 0], "y": matrix[:, 1]}
        canvas.draw("scatter_xy", "points", dots, entry=f"{len(matrix)} items", color=GREY, width=0, size=size)
    text = f"{100 * ci_prob:.4g} % intervals"
    for k, q in enumerate(probabilities):
        color, is_median = (_OF_MEDIAN, True) if q == 0.5 else (_OF_OTHERS, False)
        ends = {"x": at[place], "y_bottom": low[:, k], "y_top": high[:, k]}
        canvas.draw(band, "band", ends, entry=text if k == 0 else None, color=color, alpha=0.18)
        line = {"x": at[place], "y": middle[:, k]}
        style = {"color": color, "width": 2.0 if is_median else 1.2}
        if is_median or k == 0:
            style["entry"] = "median" if is_median else _words([p for p in probabilities if p != 0.5])
        canvas.draw("line_xy", "quantile", line, **style)
    canvas.labels(x, str(curves.attrs.get("variable", "y")))
    canvas.legend(loc="outside upper center", ncols=4)
    return canvas.collection


def _covariate(array, name):
    """Name and values of the covariate on the axis."""
    curve_dims = {"chain", "draw", added_dim(array, "probability")}
    dims = [dim for dim in array.dims if dim not in curve_dims]
    if len(dims) != 1 or not curve_dims <= set(array.dims):
        raise ValueError(f"curves must have the dims chain, draw, new item and probability; got {array.dims}")
    columns = {
        str(key): coordinate.values
        for key, coordinate in array.coords.items()
        if coordinate.dims == (dims[0],) and key != dims[0]
    }
    varying = [key for key, values in columns.items() if values.dtype.kind in "fiu" and len(np.unique(values)) > 1]
    if name is None and len(varying) == 1:
        [name] = varying
    if name not in columns:
        raise ValueError(f"x must be the covariate that varies along the curves, one of {varying}; got {name!r}")
    return name, columns[name].astype("float64")


def _words(probabilities):
    return "quantiles " + ", ".join(f"{100 * q:.4g}" for q in probabilities) + " %"
