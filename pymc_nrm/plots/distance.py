"""Plot of the distances between posterior draws and a point estimate."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_probability
from pymc_nrm.plots.canvas import CLUSTER_COLORS, Canvas
from pymc_nrm.plots.estimates import distance_unit
from pymc_nrm.stats.draws import partition_draws
from pymc_nrm.stats.losses import check_estimate, complete_costs, draw_losses
from pymc_nrm.stats.point_estimate import point_estimate

if TYPE_CHECKING:
    from arviz_plots.plot_collection import PlotCollection

__all__ = ["plot_distance"]

VISUALS = ("histogram", "mean", "radius", "xlabel", "ylabel", "legend")
NAMES = {
    "variation_of_information": "variation of information to the estimate",
    "normalized_variation_of_information": "normalized variation of information to the estimate",
    "binder_loss": "Binder loss to the estimate",
    "one_minus_adjusted_rand": "1 - adjusted Rand index with the estimate",
}
MAX_BINS = 60


def plot_distance(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    estimate: Any = None,
    *,
    var_name: str | None = None,
    loss: str | None = None,
    costs: Any = None,
    probability: float = 0.95,
    plot_collection: "PlotCollection | None" = None,
    backend: str | None = None,
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs: Any,
) -> "PlotCollection":
    """Plot how far posterior draws are from a point estimate, with the radius of the credible ball.

    Parameters
    ----------
    idata : DataTree, Dataset or DataArray
        Draws of a partition.
    estimate : Dataset with variable ``labels``, DataArray or array_like, shape (n,), optional
        By default that of :func:`~pymc_nrm.stats.point_estimate` for the loss, with ``random_seed=0``.
    var_name : str, optional
        Name of the partition; by default the only one.
    loss : str, optional
        The distance: ``"variation_of_information"``, ``"normalized_variation_of_information"``, ``"binder_loss"`` or
        ``"one_minus_adjusted_rand"``, see :mod:`pymc_nrm.stats.losses`.  By default the loss and costs in the
        attributes of the estimate, or else the variation of information.
    costs : mapping, optional
        Further arguments of the loss.
    probability : float
        Posterior probability of the credible ball.
    plot_collection : PlotCollection, optional
        Where to draw; by default a new one.
    backend : {"matplotlib", "bokeh", "plotly", "none"}, optional
        By default that of `plot_collection`, or else ``arviz_base.rcParams["plot.backend"]``.
    visuals : mapping of {str : mapping or False}, optional
        Arguments of each visual, or False to leave it out:

        * histogram -> :func:`arviz_plots.visuals.hist`
        * mean, radius -> :func:`arviz_plots.visuals.vline`
        * xlabel, ylabel -> :func:`arviz_plots.visuals.labelled_x`, ``labelled_y``
        * legend -> ``legend`` of the backend
    **pc_kwargs
        Passed to :meth:`arviz_plots.PlotCollection.grid`.

    Returns
    -------
    PlotCollection

    Raises
    ------
    ImportError
        If arviz-plots is not installed.
    ValueError
        If there is no such partition, the estimate is of other items, or an argument is not one of those above.

    Notes
    -----
    The radius is the smallest one within which at least the given share of the draws lies (Wade & Ghahramani 2018,
    section 4).  The mean is the posterior expected loss.

    Examples
    --------
    >>> import xarray as xr
    >>> from pymc_nrm.plots import plot_distance
    >>> draws = xr.DataArray([[[0, 0, 1, 1], [0, 0, 0, 0]]], dims=("chain", "draw", "item"), name="z")
    >>> pc = plot_distance(draws, [0, 0, 1, 1], backend="none")
    >>> float(pc.viz["mean"]["z"].item()["x"]), float(pc.viz["radius"]["z"].item()["x"])
    (0.5, 1.0)
    """
    if costs is not None and not isinstance(costs, Mapping):
        raise TypeError(f"costs must be a mapping of arguments of the loss to numbers; got {costs!r}")
    attrs = getattr(estimate, "attrs", {})
    if loss is None:
        loss = attrs.get("loss", "variation_of_information")
        known = complete_costs(loss, {})
        costs = {name: value for name, value in attrs.items() if name in known} | dict(costs or {})
    costs = complete_costs(loss, dict(costs or {}))
    check_probability(probability)
    draws = partition_draws(idata, var_name)
    canvas = Canvas("plot_distance", VISUALS, visuals, plot_collection, backend)
    if estimate is None:
        estimate = point_estimate(draws, loss=loss, random_seed=0, **costs)
    distance = draw_losses(check_estimate(estimate, draws), draws, loss, costs).values.ravel()
    name = draws.name or "partition"
    # Rounding must not ask for one more draw than probability * S.
    needed = math.ceil(probability * len(distance) * (1 - 1e-12))
    radius = float(np.sort(distance)[needed - 1])
    bins = min(max(len(np.histogram_bin_edges(distance, "auto")) - 1, 10), MAX_BINS)
    top = max(float(distance.max()), 1e-12)
    density, edges = np.histogram(distance, bins, range=(min(float(distance.min()), 0.0), top), density=True)

    shape = {"histogram": density, "left_edges": edges[:-1], "right_edges": edges[1:]}
    data = xr.Dataset({name: (("plot_axis", "bin"), np.stack(list(shape.values())))}, coords={"plot_axis": list(shape)})
    mean, bound = xr.Dataset({name: float(distance.mean())}), xr.Dataset({name: radius})
    canvas.create(data, pc_kwargs, width=1.2, height=2.2)
    canvas.draw(canvas.visuals.hist, "histogram", data, color=CLUSTER_COLORS[3])
    styles = {
        "mean": {"color": CLUSTER_COLORS[0], "width": 1.5},
        "radius": {"color": "black", "width": 1.5, "linestyle": canvas.dashes()},
    }
    # By default matplotlib would draw them behind the histogram.
    front = {"zorder": 3} if canvas.backend == "matplotlib" else {}
    canvas.draw(canvas.visuals.vline, "mean", mean, **styles["mean"], **front)
    canvas.draw(canvas.visuals.vline, "radius", bound, **styles["radius"], **front)
    unit = distance_unit(costs)
    canvas.label("xlabel", f"{NAMES[loss]} ({unit})" if unit else NAMES[loss], data)
    canvas.label("ylabel", "posterior density", data)
    texts = {
        "mean": f"expected loss, {mean[name].item():.3g}",
        "radius": f"radius of the {100 * probability:.4g} % credible ball, {radius:.3g}",
    }
    shown = [key for key in styles if canvas.wants(key)]
    canvas.legend([texts[key] for key in shown], [styles[key] for key in shown], loc="outside upper center", ncols=2)
    canvas.set(canvas.visuals.set_xlim, data, limits=(min(edges[0], 0.0), 1.03 * top))
    canvas.set(canvas.visuals.set_ylim, data, limits=(0.0, 1.05 * density.max()))
    return canvas.collection
