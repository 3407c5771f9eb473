"""Plot of the hidden states of a time series: bands of colour behind its data."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.result_names import added_dim
from pymc_nrm.common.wrapping import cut, percent
from pymc_nrm.plots.canvas import LEGEND, LINE_XY, OF_BACKEND, SCATTER, VLINE, Canvas, PlotCollection, options_of_plots
from pymc_nrm.plots.cluster_points import feature_matrix
from pymc_nrm.plots.time_axis import edges_of, time_axis
from pymc_nrm.plots.visuals import backend_of, cluster_style, recorded
from pymc_nrm.states.posterior.state_probabilities import state_probabilities
from pymc_nrm.states.recipes.rows_of_times import rows_of_times
from pymc_nrm.states.stats.state_durations import sequence_labels, sequence_starts
from pymc_nrm.stats.draws import partition_draws

MAX_COLUMNS, MAX_STATES = 6, 16
# Sequences that are named on the axis, at most, and characters of a name.
MAX_NAMES, _NAME = 12, 14
# Opacity of a state of probability one; opacities are rounded to so many steps, so that few bands are drawn.
_OPACITY, _STEPS = 0.45, 20
_LINE = "#262626"
# States without bands are in the legend if they have at least this share of the times.
_LEAST_SHARE = 0.005


@options_of_plots(
    {
        "bands": "``vspan`` of the backend, once for each band",
        "data": LINE_XY,
        "points": SCATTER,
        "starts": VLINE,
        "xticks": ":func:`arviz_plots.visuals.set_xticks`",
        "xlabel, ylabel": OF_BACKEND,
        **LEGEND,
    }
)
def plot_state_sequence(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    estimate: Any = None,
    *,
    data: Any = None,
    features: Any = None,
    var_name: str | None = None,
    **options: Any,
) -> PlotCollection:
    """Plot the most probable hidden state of each time as a band of colour behind the data, paler if less certain.

    Parameters
    ----------
    idata : DataTree, Dataset or DataArray
        Draws of hidden states, or of any partition whose items are in order of time.
    estimate : array_like of int, shape (n,), DataArray or Dataset, optional
        States of the times, or the result of :func:`~pymc_nrm.states.state_probabilities`; by default the states of
        :func:`~pymc_nrm.point_estimate` with seed 0.
    data : array_like, Series, DataFrame or DataArray, shape (n,) or (n, d), optional
        Data of the times, one panel for each column, at most 6.  A Series or DataFrame whose index, or a column, has
        all times is read at these, so that it may have another order or further rows, such as those before the first
        lag; of several sequences, if it also has their labels.  Without it, the panel shows the probability of the
        state that is the most probable one.
    features : sequence of int or str, optional
        Columns of ``data``, by position or name; by default the first 6 that hold numbers.
    %(var_name)s

    Returns
    -------
    PlotCollection
        It has a panel for each column, in its dimension ``column``.

    Raises
    ------
    ValueError
        If there is no such partition, the estimate or the data have a different number of items, the data have the
        times of several sequences in another order and no labels of these, or there are more than 6 columns.

    Notes
    -----
    Values between missing ones are points.  The opacity of a band is the probability of its state, by default the share
    of the draws that are in it, see :func:`~pymc_nrm.states.state_probabilities`.  Times that are most probably in a
    state outside of the estimate have no band.  The legend has the mean probability of each state over all times, as
    "% of times", and of all others together.  States have the colours of clusters of
    :func:`~pymc_nrm.plots.plot_clusters`; those after the 16th have no band.  The times of a single sequence are on
    the axis if they are dates or numbers; several sequences lie one after the other, with lines
    between them and, up to 12, their labels on the axis.

    Examples
    --------
    >>> import xarray as xr
    >>> from pymc_nrm.states.plots import plot_state_sequence
    >>> draws = xr.DataArray([[[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]]], dims=("chain", "draw", "time"), name="z")
    >>> pc = plot_state_sequence(draws, [0, 0, 1, 1], data=[0.1, -0.2, 5.0, 6.0], backend="none")
    >>> [(band["xmin"], band["xmax"], round(band["alpha"], 2)) for band in pc.viz["bands"]["data"].item()]
    [(-0.5, 0.5, 0.45), (0.5, 1.5, 0.29), (1.5, 3.5, 0.45)]
    """
    canvas = Canvas(plot_state_sequence, options)
    draws = partition_draws(idata, var_name)
    dim, starts = draws.dims[2], sequence_starts(draws)
    sequences = sequence_labels(draws, starts)
    smoothed = estimate
    if not (isinstance(estimate, xr.Dataset) and "other_probability" in estimate):
        smoothed = state_probabilities(draws, estimate=estimate)
    state = added_dim(smoothed["probability"], "state")
    table = smoothed["probability"].transpose(..., state).values
    if len(table) != len(starts):
        raise ValueError(f"estimate must have probabilities of {len(starts)} items; got {len(table)}")
    order = np.argsort(-table.sum(axis=0), kind="stable")
    table, names = table[:, order], smoothed[state].values[order]
    best, probability = table.argmax(axis=1), table.max(axis=1)
    best = np.where((smoothed["other_probability"].values > probability) | (best >= MAX_STATES), -1, best)
    if data is None:
        values, columns = probability[:, None], ["probability"]
    else:
        rows = rows_of_times(data, draws[dim].values, sequences)
        values, columns = feature_matrix(rows, len(starts), features)
        if features is not None and len(columns) > MAX_COLUMNS:
            raise ValueError(f"features must be at most {MAX_COLUMNS} columns; got {len(columns)}")
        values, columns = values[:, :MAX_COLUMNS], columns[:MAX_COLUMNS]
    positions, ticks = time_axis(draws[dim].values, int(starts.sum()))
    # Lines end where sequences do.
    breaks = np.flatnonzero(starts)[1:]
    if sequences is not None and len(breaks) < MAX_NAMES:
        ends = np.array([0, *breaks, len(starts)])
        ticks = (ends[1:] + ends[:-1] - 1) / 2, [cut(name, _NAME) for name in sequences[ends[:-1]]]
    lines = np.stack([np.insert([positions, column], breaks, np.nan, axis=1) for column in values.T])
    coords = {"column": columns, "plot_axis": ["x", "y"]}
    canvas.create(
        xr.Dataset({"data": (("column", "plot_axis", "point"), lines)}, coords),
        rows=["column"],
        height=0.7 + 1.3 * len(columns),
        width=2.4,
        figure_kwargs={"sharex": True},
    )
    edges = edges_of(positions)
    canvas.draw(_bands, "bands", bands=_runs(best, probability, starts), edges=edges, opacity=_OPACITY)
    for first in breaks:
        ends_here = xr.Dataset({"data": ("column", np.full(len(columns), edges[first]))}, {"column": columns})
        canvas.draw("vline", "starts", ends_here, color="black", width=1.5, store=first == breaks[-1])
    if (is_alone := _are_alone(lines)).any():
        points = xr.Dataset({"data": (("column", "plot_axis", "point"), np.where(is_alone, lines, np.nan))}, coords)
        canvas.draw("scatter_xy", "points", points, color=_LINE, width=0, size=12, **canvas.level(3))
    canvas.draw("line_xy", "data", color=_LINE, width=1.0 if len(starts) > 200 else 1.4, **canvas.level(3))
    shown = np.unique(best[best >= 0])
    for k in shown:
        key = {"width": 6, "color": cluster_style(k)[0], "alpha": _OPACITY}
        canvas.entries.append((f"state {names[k]}: {percent(table[:, k].mean())} of times", key))
    other_share = 1.0 - table[:, shown].mean(axis=0).sum()
    if other_share >= _LEAST_SHARE:
        canvas.entries.append((f"other states, white: {percent(other_share)}", {"width": 6, "color": "white"}))
    if ticks is not None:
        canvas.ticks("set_xticks", "xticks", *ticks)
    xlabel = f"{dim}, one sequence after the other" if len(breaks) else str(dim)
    canvas.label("xlabel", {columns[-1]: xlabel}, by=["column"])
    canvas.label("ylabel", dict(zip(columns, columns, strict=True)), by=["column"])
    canvas.axes(xlim=(edges[0], edges[-1]))
    canvas.legend(loc="outside upper center", ncols=4)
    return canvas.collection


def _are_alone(lines):
    """Values without a neighbour, which a line does not show. Shapes: lines (m, 2, n); returns (m, 1, n)."""
    is_known = np.pad(np.isfinite(lines[:, 1:]), ((0, 0), (0, 0), (1, 1)))
    return is_known[..., 1:-1] & ~is_known[..., :-2] & ~is_known[..., 2:]


def _runs(best, probability, starts):
    """Stretches of equal states and rounded probabilities: first and last item, state and probability."""
    rounded = np.round(probability * _STEPS) / _STEPS
    changes = starts.copy()
    changes[1:] |= (best[1:] != best[:-1]) | (rounded[1:] != rounded[:-1])
    first = np.flatnonzero(changes)
    last = np.append(first[1:], len(best))
    return [(a, b, best[a], rounded[a]) for a, b in zip(first, last, strict=True) if best[a] >= 0]


def _bands(da, target, *, bands, edges, opacity, **kwargs):
    """Draw bands of colour; see :func:`_runs`."""
    drawn = []
    for first, last, state, probability in bands:
        ends = {"xmin": float(edges[first]), "xmax": float(edges[last])}
        style = {"color": cluster_style(state)[0], "alpha": float(opacity * probability), **kwargs}
        if isinstance(target, list):
            drawn.append(recorded(target, "vspan", **ends, **style))
        elif hasattr(target, "add_line"):
            drawn.append(target.axvspan(ends["xmin"], ends["xmax"], linewidth=0, **style))
        else:
            drawn.append(backend_of(target).vspan(*ends.values(), target, **style))
    holder = np.empty((), dtype=object)
    holder[()] = drawn
    return holder
