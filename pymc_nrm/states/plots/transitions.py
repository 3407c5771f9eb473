"""Plot of the transition probabilities of hidden states."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.plots.canvas import IMSHOW, OF_BACKEND, Canvas, PlotCollection, options_of_plots
from pymc_nrm.plots.visuals import IMAGE_BACKENDS, colored_texts, image, points_dataset, set_yticks

# Entries above the second have a dark background.
_MOST_TEXTS, _DARK = 12, 0.25


@options_of_plots(
    {
        "image": IMSHOW,
        "numbers": "``text`` of the backend, once for each entry",
        "xticks, yticks": ":func:`arviz_plots.visuals.set_xticks`, and the same for y",
        "xlabel, ylabel": OF_BACKEND,
    },
    backends=IMAGE_BACKENDS,
)
def plot_transitions(matrix: xr.Dataset, **options: Any) -> PlotCollection:
    r"""Plot transition probabilities of hidden states as a matrix, with their intervals.

    Parameters
    ----------
    matrix : Dataset
        Result of :func:`~pymc_nrm.states.transition_matrix`.

    Returns
    -------
    PlotCollection
        The image is in ``.viz["image"]``.

    Raises
    ------
    ValueError
        If ``matrix`` lacks means or intervals, or the backend cannot draw images.

    Notes
    -----
    Shades of grey are square roots of probabilities, so that small ones differ visibly; numbers are means and, below
    them, the intervals, for at most 12 states.

    Examples
    --------
    >>> import xarray as xr
    >>> from pymc_nrm.states.plots import plot_transitions
    >>> dims = ("state", "next_state")
    >>> matrix = xr.Dataset(
    ...     {"mean": (dims, [[0.9, 0.1]]), "low": (dims, [[0.8, 0.0]]), "high": (dims, [[1.0, 0.2]])},
    ...     {"state": [0], "next_state": [0, -1]},
    ... )
    >>> pc = plot_transitions(matrix, backend="none")
    >>> [text["string"] for text in pc.viz["numbers"]["mean"].values]
    ['0.90\n0.80 to 1.00', '0.10\n0.00 to 0.20']
    """
    if not isinstance(matrix, xr.Dataset) or not {"mean", "low", "high"} <= set(matrix.data_vars):
        raise ValueError(f"matrix must be a Dataset from transition_matrix; got {type(matrix).__name__}")
    canvas = Canvas(plot_transitions, options)
    dims = ("state", "next_state")
    mean, low, high = (matrix[name].transpose(*dims).values for name in ("mean", "low", "high"))
    n_rows, n_columns = mean.shape
    shown = n_rows <= _MOST_TEXTS
    size = float(np.clip(0.42 * n_columns, 1.1, 2.6)) if shown else 1.6
    canvas.create(xr.Dataset({"mean": (("row", "column"), np.sqrt(mean))}), width=0.75 * size, height=1.6 * size)
    canvas.draw(image, "image", aspect="auto")
    if shown:
        y, x = (places.ravel() for places in np.indices(mean.shape))
        labels = [
            "" if np.isnan(p) else f"{p:.2f}\n{a:.2f} to {b:.2f}"
            for p, a, b in zip(mean.ravel(), low.ravel(), high.ravel(), strict=True)
        ]
        colors = ["white" if p > _DARK else "black" for p in mean.ravel()]
        style = {"size": 8, "vertical_align": "center", "horizontal_align": "center"}
        points = points_dataset("mean", x=x, y=y)
        canvas.draw(
            colored_texts, "numbers", points, artist_dims={"entry": len(labels)}, labels=labels, colors=colors, **style
        )
    names = ["other" if name == -1 else str(name) for name in matrix["next_state"].values]
    canvas.ticks("set_xticks", "xticks", np.arange(n_columns), names)
    canvas.ticks(set_yticks, "yticks", np.arange(n_rows), [str(name) for name in matrix["state"].values])
    canvas.label("xlabel", "next state")
    canvas.label("ylabel", "state")
    canvas.axes(xlim=(-0.5, n_columns - 0.5), ylim=(n_rows - 0.5, -0.5))
    return canvas.collection
