"""Plot of the distribution of the number of clusters."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_flag
from pymc_nrm.plots.canvas import Canvas
from pymc_nrm.plots.cluster_axes import number_axis
from pymc_nrm.plots.cluster_points import prior_draws
from pymc_nrm.plots.options import BARS, LABELS, LEGEND, LINE, SCATTER, PlotCollection, options_of_plots
from pymc_nrm.plots.visuals import CLUSTER_COLORS, CROSS, PRIOR_COLOR, bars, hollow, whiskers
from pymc_nrm.recipes.elicitation import ElicitedPrior
from pymc_nrm.stats.convergence import sampling_diagnostic
from pymc_nrm.stats.draws import partition_draws

# The prior is shown without this probability at either end.
TAIL = 0.005


@options_of_plots({"bars": BARS, "error": LINE, "prior, chains": SCATTER, **LABELS, **LEGEND})
def plot_n_clusters(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    *,
    var_name: str | None = None,
    prior: Any = None,
    by_chain: bool = False,
    **options: Any,
) -> PlotCollection:
    """Plot the posterior distribution of the number of clusters, with Monte Carlo errors and the prior.

    Parameters
    ----------
    %(draws)s
    %(var_name)s
    prior : ElicitedPrior, array_like, shape (K,), or DataTree, Dataset or DataArray, optional
        From :func:`~pymc_nrm.elicit`, probabilities of 1, ..., K clusters, or prior draws of the partition.  Of a
        DataTree, the group ``prior`` is used, as from :func:`pymc.sample_prior_predictive`, or its posterior if there
        is none.
    by_chain : bool
        Whether to mark the relative frequencies in each chain, which should agree.

    Returns
    -------
    PlotCollection
        Bars are in ``.viz["bars"]``.

    Raises
    ------
    ValueError
        If there is no such partition, `prior` is not a distribution or is for another number of items, or a visual is
        unknown.

    Notes
    -----
    Error bars extend by two Monte Carlo standard errors to either side, from the effective sample size of the indicator
    of each number of clusters; there are none with fewer than four draws per chain.  Numbers that are absent from the
    posterior draws are shown unless they are in the last 0.5 % of the prior at either end.

    Examples
    --------
    >>> import xarray as xr
    >>> from pymc_nrm.plots import plot_n_clusters
    >>> draws = xr.DataArray([[[0, 0, 1], [0, 1, 2], [0, 0, 1], [0, 1, 1]]], dims=("chain", "draw", "item"), name="z")
    >>> pc = plot_n_clusters(draws, prior=[0.2, 0.5, 0.3], backend="none")
    >>> [float(bar["y"][0]) for bar in pc.viz["bars"]["z"].values]
    [0.0, 0.75, 0.25]
    """
    check_flag("by_chain", by_chain)
    canvas = Canvas(plot_n_clusters, options)
    draws = partition_draws(idata, var_name)
    name, n = draws.name or "partition", draws.shape[2]
    prior = None if prior is None else prior_probabilities(prior, var_name or draws.name, n)
    counts = draws.values.max(axis=2) + 1
    numbers = shown_numbers(counts, prior)
    indicators = (counts[:, :, None] == numbers).astype("float64")
    probability, error = indicators.mean(axis=(0, 1)), sampling_diagnostic("mcse", indicators, method="mean")
    heights = [probability + 2 * np.nan_to_num(error)]

    canvas.create(xr.Dataset({name: ("n_clusters", probability)}, {"n_clusters": numbers}))
    artists = {"bar": len(numbers)}
    canvas.draw(bars, "bars", entry="posterior", artist_dims=artists, color=CLUSTER_COLORS[3])
    if np.isfinite(error).any():
        ends = {"x": numbers, "y_bottom": np.maximum(probability - 2 * error, 0.0), "y_top": probability + 2 * error}
        canvas.draw(whiskers, "error", ends, entry="± 2 Monte Carlo standard errors", color="black", width=1.2)
    if by_chain:
        each = indicators.mean(axis=1)
        x, y = (values[:, probability > 0].ravel() for values in np.broadcast_arrays(numbers, each))
        canvas.draw("scatter_xy", "chains", {"x": x, "y": y}, entry="each chain", **CROSS)
        heights.append(each)
    if prior is not None:
        points = {"x": numbers, "y": prior[numbers - 1]}
        canvas.draw("scatter_xy", "prior", points, entry="prior", **hollow(PRIOR_COLOR, size=28, width=1.5))
        heights.append(points["y"])
    canvas.labels(f"number of clusters of the {n} items", "probability")
    if len(canvas.entries) > 1:
        canvas.legend(loc="outside upper center", ncols=len(canvas.entries))
    number_axis(canvas, numbers, max(height.max() for height in heights))
    return canvas.collection


def prior_probabilities(prior, var_name, n):
    """Probabilities of 1, ..., n clusters, shape (n,), as given or from draws."""
    if isinstance(prior, ElicitedPrior):
        if prior.n != n:
            raise ValueError(f"prior must be elicited for the {n} items of the draws; got {prior}")
        return np.pad(prior.pmf, (0, n))[:n]
    if isinstance(prior, xr.DataTree | xr.Dataset | xr.DataArray):
        draws = prior_draws(prior, partition_draws, var_name)
        if draws.shape[2] != n:
            raise ValueError(f"prior must have draws of partitions of {n} items; got {draws.shape[2]}")
        return np.bincount(draws.values.max(axis=2).ravel(), minlength=n) / (draws.shape[0] * draws.shape[1])
    try:
        probabilities = np.asarray(prior, dtype="float64")
    except (TypeError, ValueError):
        raise ValueError(f"prior must hold probabilities or draws; got {type(prior).__name__}") from None
    if probabilities.ndim != 1 or not 1 <= len(probabilities) <= n:
        raise ValueError(
            f"prior must have one dimension and at most {n} probabilities, of 1, ..., {n} clusters; "
            f"got shape {probabilities.shape}"
        )
    if not (probabilities >= 0).all() or abs(probabilities.sum() - 1.0) > 1e-3:
        raise ValueError(f"prior must have probabilities with sum 1; the sum is {probabilities.sum():g}")
    return np.pad(probabilities, (0, n - len(probabilities)))


def shown_numbers(counts, prior):
    """Consecutive numbers of clusters that cover the draws and the middle of the prior."""
    low, high = counts.min(), counts.max()
    if prior is not None:
        below = np.cumsum(prior)
        low = min(low, 1 + np.searchsorted(below, TAIL))
        high = max(high, 1 + np.searchsorted(below, (1 - TAIL) * below[-1]))
    return np.arange(low, high + 1)
