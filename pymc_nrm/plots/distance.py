"""Plot of the distances between posterior draws and a point estimate."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import interval_probability
from pymc_nrm.plots.canvas import HIST, LABELS, LEGEND, VLINE, Canvas, PlotCollection, options_of_plots
from pymc_nrm.plots.cluster_points import distance_unit
from pymc_nrm.plots.visuals import CLUSTER_COLORS, bins_dataset
from pymc_nrm.stats.draws import partition_draws
from pymc_nrm.stats.losses import check_loss, default_loss, draw_losses
from pymc_nrm.stats.point_estimate import chosen_estimate, compared_draws
from pymc_nrm.stats.uncertainty import ball_radius

NAMES = {
    "variation_of_information": "variation of information to the estimate",
    "normalized_variation_of_information": "normalized variation of information to the estimate",
    "binder_loss": "Binder loss to the estimate",
    "one_minus_adjusted_rand": "1 - adjusted Rand index with the estimate",
}
MAX_BINS = 60


@options_of_plots({"histogram": HIST, "mean, radius": VLINE, **LABELS, **LEGEND})
def plot_distance(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    estimate: Any = None,
    *,
    var_name: str | None = None,
    loss: str | None = None,
    costs: Any = None,
    ci_prob: float | None = None,
    **options: Any,
) -> PlotCollection:
    """Plot the distances between posterior draws and a point estimate, with the radius of the credible ball.

    Parameters
    ----------
    %(draws)s
    estimate : Dataset with variable ``labels``, DataArray or array_like, shape (n,), optional
        By default from :func:`~pymc_nrm.stats.point_estimate` for the loss, with ``random_seed=0``.
    %(var_name)s
    loss : str, optional
        The distance: ``"variation_of_information"``, ``"normalized_variation_of_information"``, ``"binder_loss"`` or
        ``"one_minus_adjusted_rand"``, see :mod:`pymc_nrm.stats.losses`.  By default the loss and costs in the
        attributes of the estimate, or else the default of :func:`~pymc_nrm.stats.point_estimate`.
    costs : mapping, optional
        Other arguments of the loss.
    ci_prob : float, optional
        Posterior probability of the credible ball; by default ``arviz_base.rcParams["stats.ci_prob"]``.

    Returns
    -------
    PlotCollection

    Raises
    ------
    ValueError
        If there is no such partition, the estimate has other items, or an argument is not one of those listed.

    Notes
    -----
    The radius is the smallest distance within which at least the given share of the draws lies (Wade & Ghahramani 2018,
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
    costs, draws = dict(costs or {}), compared_draws(partition_draws(idata, var_name), estimate)
    if loss is None:
        attrs = getattr(estimate, "attrs", {})
        loss = attrs.get("loss", default_loss(draws))
        _, cost_names = check_loss(loss, {})
        costs = {name: value for name, value in attrs.items() if name in cost_names} | costs
    loss, costs = check_loss(loss, costs)
    ci_prob = interval_probability(ci_prob)
    canvas = Canvas(plot_distance, options)
    labels, _ = chosen_estimate(estimate, draws, loss=loss, random_seed=0, **costs)
    distance = draw_losses(labels, draws, loss, costs).values.ravel()
    mean, radius = float(distance.mean()), ball_radius(distance, ci_prob)
    bins = min(max(len(np.histogram_bin_edges(distance, "auto")) - 1, 10), MAX_BINS)
    top = max(float(distance.max()), 1e-12)
    density, edges = np.histogram(distance, bins, range=(min(float(distance.min()), 0.0), top), density=True)

    name = draws.name or "partition"
    canvas.create(bins_dataset(name, density, edges))
    canvas.draw("hist", "histogram", color=CLUSTER_COLORS[3])
    lines = {
        "mean": (mean, f"expected loss, {mean:.3g}", {"color": CLUSTER_COLORS[0]}),
        "radius": (
            radius,
            f"radius of the {100 * ci_prob:.4g} % credible ball, {radius:.3g}",
            {"color": "black", "linestyle": canvas.dashes()},
        ),
    }
    for visual, (place, text, style) in lines.items():  # in front of the histogram
        canvas.draw("vline", visual, xr.Dataset({name: place}), entry=text, width=1.5, **style, **canvas.level(3))
    unit = distance_unit(costs)
    canvas.labels(f"{NAMES[loss]} ({unit})" if unit else NAMES[loss], "posterior density")
    canvas.legend(loc="outside upper center", ncols=2)
    canvas.axes(xlim=(min(edges[0], 0.0), 1.03 * top), ylim=(0.0, 1.05 * density.max()))
    return canvas.collection
