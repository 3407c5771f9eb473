"""Plot of the distributions of a partition under several priors, before seeing data."""

import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_count, random_generator
from pymc_nrm.plots.canvas import BARS, LABELS, LEGEND, LINE, SCATTER, VLINE, Canvas, PlotCollection, options_of_plots
from pymc_nrm.plots.cluster_axes import (
    draw_intervals,
    interval_tails,
    log_size_axis,
    number_axis,
    on_log_scale,
    rank_axis,
)
from pymc_nrm.plots.visuals import CLUSTER_COLORS, bars
from pymc_nrm.recipes.elicitation import ElicitedPrior
from pymc_nrm.recipes.elicitation_distributions import (
    drawn_measures,
    equal_tailed_interval,
    mean_and_sd,
    mean_pmf,
    sorted_sizes,
)

NUMBER, SIZES = {"law": "number"}, {"law": "sizes"}
# Numbers of clusters are shown without this probability in either tail of any prior.
TAIL = 0.005
# Longer names of measures take several lines.
WIDEST_NAME = 30


@options_of_plots(
    {
        "bars": BARS,
        "mean": VLINE,
        "interval, inner_interval": LINE,
        "median": SCATTER,
        "title": "``title`` of the backend",
        "xlabel_sizes, ylabel_sizes": "as xlabel and ylabel, below",
        **LABELS,
        **LEGEND,
    }
)
def plot_prior_partition(
    measures: Any, n: int, *, n_draws: int = 1000, max_rank: int = 12, random_seed: Any = None, **options: Any
) -> PlotCollection:
    """Plot the prior distributions of the number of clusters of n items, and of the sizes of the largest clusters.

    Parameters
    ----------
    measures : Measure or ElicitedPrior, or mapping of {str : Measure or ElicitedPrior}
        One column each, under its name.  Fields of measures are numbers, distributions such as
        ``pm.Exponential.dist(3)``, or random variables of a model.
    n : int
        Number of items.
    n_draws : int
        Number of partitions to draw for the sizes.
    max_rank : int
        Sizes are shown from the largest cluster to the cluster of this rank.
    random_seed : int, numpy.random.Generator, optional

    Returns
    -------
    PlotCollection
        With dimensions ``measure`` and ``law``; bars are in ``.viz["bars"]``.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range, a hyperparameter is not allowed, or a visual is unknown.

    Notes
    -----
    The distribution of the number of clusters is exact, also for an elicited prior.  If hyperparameters of a measure
    are distributions, it is the mean of the exact distributions under 400 draws of the hyperparameters.  Sizes are
    from partitions drawn from the prior: medians, and intervals with equal tails and probabilities of 0.5 and 0.9.  If
    a partition lacks a cluster of some rank, its size counts as 0.

    Examples
    --------
    >>> from pymc_nrm import DirichletProcess, NormalizedInverseGaussian
    >>> from pymc_nrm.plots import plot_prior_partition
    >>> measures = {"DP": DirichletProcess(1.0), "NIG": NormalizedInverseGaussian(0.1)}
    >>> pc = plot_prior_partition(measures, 3, random_seed=1, backend="none")
    >>> [float(bar["y"][0].round(4)) for bar in pc.viz["bars"]["prior"].sel(measure="DP").values]
    [0.3333, 0.5, 0.1667]
    """
    check_count("n", n, 1, 10**9)
    check_count("n_draws", n_draws, 10)
    check_count("max_rank", max_rank, 1)
    rng = random_generator(random_seed)
    measures = _named(measures, n)
    canvas = Canvas(plot_prior_partition, options)
    pmfs, sizes = {}, {}
    for name, prior in measures.items():
        elicited = isinstance(prior, ElicitedPrior)
        drawn = drawn_measures(prior.measure if elicited else prior, n_draws, rng)
        pmfs[name] = prior.pmf if elicited else mean_pmf(drawn, n)
        sizes[name] = sorted_sizes(drawn, n, max_rank, rng)

    coords = {"measure": list(measures), "law": ["number", "sizes"]}
    canvas.create(
        xr.Dataset({"prior": (tuple(coords), np.zeros((len(measures), 2)))}, coords),
        width=0.25 + 0.75 * len(measures),
        height=3.4,
        rows=["law"],
        cols=["measure"],
        figure_kwargs={"sharex": "row", "sharey": "row"},
    )
    _draw_numbers(canvas, pmfs, n)
    _draw_sizes(canvas, sizes, n)
    canvas.align_labels()
    return canvas.collection


def _named(measures, n):
    """Priors keyed by their names, in a new dict."""
    if isinstance(measures, ElicitedPrior):
        measures = {type(measures.measure).__name__: measures}
    if hasattr(measures, "hyperparameters"):
        measures = {type(measures).__name__: measures}
    if not isinstance(measures, Mapping) or not measures:
        raise TypeError(f"measures must be a measure or a mapping of names to measures; got {measures!r}")
    for name, prior in measures.items():
        shown = f"{name!r}: {prior!r}"
        if isinstance(prior, ElicitedPrior):
            if prior.n != n:
                raise ValueError(f"n must be {prior.n}, the n of the elicited prior; got n = {n} and {shown}")
        elif not isinstance(name, str) or isinstance(prior, type) or not hasattr(prior, "hyperparameters"):
            raise TypeError(f"measures must map names to measures such as DirichletProcess(1.0); got {shown}")
    return dict(measures)


def _draw_numbers(canvas, pmfs, n):
    """Draw the upper row: distributions of the number of clusters."""
    ends = [equal_tailed_interval(pmf, 1.0 - 2.0 * TAIL) for pmf in pmfs.values()]
    numbers = np.arange(min(low for low, _ in ends), max(high for _, high in ends) + 1)
    shown = np.stack([np.pad(pmf, (0, max(numbers[-1] - len(pmf), 0)))[numbers - 1] for pmf in pmfs.values()])
    names = list(pmfs)
    data = xr.Dataset({"prior": (("measure", "n_clusters"), shown)}, {"measure": names, "n_clusters": numbers})
    canvas.draw(bars, "bars", data, coords=NUMBER, artist_dims={"bar": len(numbers)}, color=CLUSTER_COLORS[3])
    moments = {name: mean_and_sd(pmf) for name, pmf in pmfs.items()}
    means = xr.Dataset({"prior": ("measure", [mean for mean, _ in moments.values()])}, {"measure": names})
    style = {
        "color": CLUSTER_COLORS[0],
        "width": 1.5,
        "linestyle": canvas.dashes(),
        **canvas.level(3),
    }  # before the bars
    canvas.draw("vline", "mean", means, coords=NUMBER, entry="mean number", **style)
    words = {name: f"mean {mean:.3g}, sd {sd:.3g}" for name, (mean, sd) in moments.items()}
    titles = {name: f"{textwrap.fill(name, WIDEST_NAME)}\n{text}" for name, text in words.items()}
    canvas.label("title", titles, means, coords=NUMBER, by=["measure"])
    canvas.label("xlabel", f"number of clusters of {n} items", means, coords=NUMBER)
    canvas.label("ylabel", "probability", means, coords=NUMBER | {"measure": names[0]})
    number_axis(canvas, numbers, shown.max(), means, NUMBER, most=9)


def _draw_sizes(canvas, sizes, n):
    """Draw the lower row: sizes of the largest clusters, on a log scale."""
    names, ranks = list(sizes), np.arange(1, next(iter(sizes.values())).shape[1] + 1)

    def points(**axes):
        shape = len(names), len(ranks)
        coordinates = np.stack([np.broadcast_to(values, shape) for values in axes.values()], axis=1)
        coords = {"measure": names, "plot_axis": list(axes)}
        return xr.Dataset({"prior": (("measure", "plot_axis", "point"), coordinates)}, coords)

    quantiles = [np.quantile(drawn, interval_tails(0.9), axis=0, method="inverted_cdf") for drawn in sizes.values()]
    quantiles = on_log_scale(np.stack(quantiles, axis=1))
    draw_intervals(canvas, quantiles, ranks, CLUSTER_COLORS[0], 0.9, points=points, coords=SIZES, median="median size")
    data = points(x=ranks)
    canvas.label("xlabel_sizes", "rank of the cluster by size", data, coords=SIZES)
    canvas.label("ylabel_sizes", f"size (items, of {n})", data, coords=SIZES | {"measure": names[0]})
    canvas.legend(loc="outside lower center", ncols=4)
    rank_axis(canvas, len(ranks), data, SIZES, most=9)
    log_size_axis(canvas, n, data, SIZES)
