"""Plot of trajectories, thin, in the colours of their groups, with the curves of the groups."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from pymc_nrm.common.checks import check_count, interval_probability
from pymc_nrm.growth.posterior.trajectory_groups import trajectory_groups
from pymc_nrm.plots.canvas import LABELS, LEGEND, LINE, LINE_XY, Canvas, PlotCollection, options_of_plots
from pymc_nrm.plots.time_axis import time_axis
from pymc_nrm.plots.visuals import GREY, band, cluster_style, points_dataset

MAX_GROUPS = 8


@options_of_plots(
    {
        "trajectories": f"{LINE}, once for each group",
        "band": "``fill_between_y`` of the backend, once for each group",
        "curve": f"{LINE_XY}, once for each group",
        "xticks": ":func:`arviz_plots.visuals.set_xticks`",
        **LABELS,
        **LEGEND,
    }
)
def plot_trajectories(
    idata: xr.DataTree | xr.Dataset,
    model: Any,
    estimate: Any = None,
    *,
    max_lines: int = 300,
    var_name: str | None = None,
    ci_prob: Any = None,
    **options: Any,
) -> PlotCollection:
    """Plot trajectories as thin lines in the colours of their groups, and the curves of the groups with bands.

    Parameters
    ----------
    %(idata)s
    %(model)s
    estimate : array_like of int, shape (n,), DataArray or Dataset, optional
        Groups of the subjects; by default those of :func:`~pymc_nrm.point_estimate` with seed 0.
    max_lines : int
        At most so many trajectories are shown, evenly spaced among all.
    var_name : str, optional
        Name of the mixture of trajectories; by default the only one.
    ci_prob : float, optional
        Probability of the bands, with equal tails; by default ``arviz_base.rcParams["stats.ci_prob"]``.

    Returns
    -------
    PlotCollection

    Raises
    ------
    ValueError
        If the model has no mixture of trajectories, see :func:`~pymc_nrm.describe`, the estimate
        has a different number of items, or an argument is out of range.

    Notes
    -----
    Lines of groups are posterior means of the mean curve of their members, and bands are pointwise: they say how well
    a curve is known, while the thin lines say how far subjects are from it.  Groups after the eighth are grey and have
    no curve.

    Examples
    --------
    >>> import pandas as pd
    >>> import pymc_nrm as nrm
    >>> from pymc_nrm.growth.plots import plot_trajectories
    >>> df = pd.DataFrame({"id": [1, 1, 2, 2, 3, 3], "day": 3 * [0, 1], "y": [5.0, 6.1, 5.2, 6.0, 8.0, 7.4]})
    >>> model = nrm.growth.growth_mixture(df, subject="id", time="day", target="y", degree=1)
    >>> constants = {"trajectory_ratio": 0.1, "trajectory_share": 0.01, "trajectory_kappa": 0.01, "trajectory_g": 1e4}
    >>> constants |= {"trajectory_excess": 10.0, "alpha": 1.0}
    >>> draws = {name: (("chain", "draw"), [[value] * 9]) for name, value in constants.items()}
    >>> draws["z"] = (("chain", "draw", "subject"), [[[0, 0, 1]] * 9])
    >>> pc = plot_trajectories(xr.Dataset(draws), model, backend="none")
    >>> pc.viz["legend"]["entries"].item()["labels"]
    ['group 0: 2 subjects', 'group 1: 1 subject']
    """
    canvas = Canvas(plot_trajectories, options)
    ci_prob = interval_probability(ci_prob)
    check_count("max_lines", max_lines, 0)
    groups = trajectory_groups(idata, model, estimate, var_name)
    sizes = np.bincount(groups.labels)
    order = np.argsort(-sizes, kind="stable")
    dim, n = groups.dim, len(groups.labels)
    shown = np.zeros(n, dtype=bool)
    shown[np.unique(np.linspace(0, n - 1, min(max_lines, n)).astype(int))] = max_lines > 0
    low, high = np.quantile(groups.curves, [(1 - ci_prob) / 2, (1 + ci_prob) / 2], axis=0)
    middle, times, ticks = groups.curves.mean(axis=0), groups.times, _date_ticks(groups)
    canvas.create(points_dataset("curve", x=times, y=middle[order[0]]), height=2.6, width=1.8)
    opacity = float(np.clip(12 / np.sqrt(max(shown.sum(), 1)), 0.15, 0.6))
    styles = [cluster_style(place)[0] if place < MAX_GROUPS else GREY for place in range(len(order))]
    for place in reversed(range(len(order))):
        members = np.flatnonzero((groups.labels == order[place]) & shown)
        if len(members):
            x, y = _lines(groups.time[members], groups.values[members])
            canvas.draw(
                "line_xy",
                "trajectories",
                {"x": x, "y": y},
                color=styles[place],
                alpha=opacity,
                width=0.7,
                store=place == 0,
                **canvas.level(1),
            )
    for place in reversed(range(min(len(order), MAX_GROUPS))):
        k, color = order[place], styles[place]
        ends = {"x": times, "y_bottom": low[k], "y_top": high[k]}
        canvas.draw(band, "band", ends, color=color, alpha=0.3, store=place == 0, **canvas.level(2))
        line = {"x": times, "y": middle[k]}
        canvas.draw("line_xy", "curve", line, color=color, width=2.4, store=place == 0, **canvas.level(3))
    for place in range(min(len(order), MAX_GROUPS)):
        size = int(sizes[order[place]])
        text = f"group {groups.names[order[place]]}: {size:,} {dim}{'s' * (size > 1)}"
        canvas.entries.append((text, {"width": 3, "color": styles[place]}))
    n_remaining = sizes[order[MAX_GROUPS:]].sum()
    if n_remaining:
        canvas.entries.append(
            (f"{n_remaining:,} in {len(order) - MAX_GROUPS} more groups", {"width": 3, "color": GREY})
        )
    if ticks is not None:
        canvas.ticks("set_xticks", "xticks", *ticks)
    growth = groups.growth
    x_label = "time" if growth is None else str(growth.time) if ticks is not None else growth.time_label
    canvas.labels(x_label, groups.mixture.name if growth is None else str(growth.target))
    canvas.legend(loc="outside upper center", ncols=4)
    return canvas.collection


def _lines(time, values):
    """Coordinates of one line with gaps between items; visits without a response do not interrupt it."""
    present = ~np.isnan(values)
    x, y = np.where(present, time, np.inf), np.where(present, values, np.inf)
    x, y = (np.insert(array, array.shape[1], np.nan, axis=1).ravel() for array in (x, y))
    return x[x != np.inf], y[y != np.inf]


def _date_ticks(groups):
    """Positions and texts of ticks if times are dates, otherwise None."""
    growth = groups.growth
    if growth is None or growth.start is None or growth.unit == "seconds":
        return None
    dates = growth.start + pd.to_timedelta(groups.times * growth.divisor, unit="D")
    positions, ticks = time_axis(dates.to_numpy(), 1)
    return groups.times[0] + (ticks[0] - positions[0]) / growth.divisor, ticks[1]
