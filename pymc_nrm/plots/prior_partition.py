"""Picture of the laws of a partition under several priors, before there are data."""

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_count, random_generator
from pymc_nrm.elicitation.elicit import ElicitedPrior
from pymc_nrm.elicitation.laws import equal_tailed_interval, mean_and_sd
from pymc_nrm.elicitation.prior_laws import drawn_measures, mean_pmf, sorted_sizes
from pymc_nrm.plots.canvas import CLUSTER_COLORS, Canvas
from pymc_nrm.plots.visuals import bars, integer_ticks, set_yticks, whiskers

if TYPE_CHECKING:
    from arviz_plots.plot_collection import PlotCollection

__all__ = ["plot_prior_partition"]

VISUALS = (
    "bars",
    "mean",
    "interval",
    "inner_interval",
    "median",
    "title",
    "xlabel",
    "ylabel",
    "xlabel_sizes",
    "ylabel_sizes",
    "legend",
)
LAWS = ["number", "sizes"]
NUMBER, SIZES = ({"law": law} for law in LAWS)
PROBABILITIES = {"interval": (0.05, 0.95), "inner_interval": (0.25, 0.75)}
# Numbers of clusters are shown without this probability at either end of any prior.
TAIL = 0.005
# Height on a log scale of clusters that a partition does not have.
NONE = 0.5
# Longer names of measures take several lines.
WIDEST_NAME = 30


def plot_prior_partition(
    measures: Any,
    n: int,
    *,
    n_draws: int = 1000,
    max_rank: int = 12,
    random_seed: Any = None,
    plot_collection: "PlotCollection | None" = None,
    backend: str | None = None,
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs: Any,
) -> "PlotCollection":
    """Plot what measures say about n items: the law of the number of clusters, and of the sizes of the largest ones.

    Parameters
    ----------
    measures : Measure or ElicitedPrior, or mapping of {str : Measure or ElicitedPrior}
        A column each, under its name.  Fields of measures are numbers, or distributions such as
        ``pm.Gamma.dist(2, 1)``, or random variables of a model.
    n : int
        Number of items.
    n_draws : int
        Number of partitions that are drawn for the sizes.
    max_rank : int
        Sizes are those of the largest cluster, of the second largest, up to this one.
    random_seed : int, numpy.random.Generator, optional
    plot_collection : PlotCollection, optional
        Where to draw; by default a new one.
    backend : {"matplotlib", "bokeh", "plotly", "none"}, optional
        By default that of `plot_collection`, or else ``arviz_base.rcParams["plot.backend"]``.
    visuals : mapping of {str : mapping or False}, optional
        Arguments of each visual, or False to leave it out:

        * bars -> ``hist`` of the backend, once for each bar; also ``width``
        * mean -> :func:`arviz_plots.visuals.vline`
        * interval, inner_interval -> ``line`` of the backend
        * median -> :func:`arviz_plots.visuals.scatter_xy`
        * title -> :func:`arviz_plots.visuals.labelled_title`
        * xlabel, ylabel, xlabel_sizes, ylabel_sizes -> :func:`arviz_plots.visuals.labelled_x`, ``labelled_y``
        * legend -> ``legend`` of the backend
    **pc_kwargs
        Passed to :meth:`arviz_plots.PlotCollection.grid`.

    Returns
    -------
    PlotCollection
        With dimensions ``measure`` and ``law``; bars are in ``.viz["bars"]``.

    Raises
    ------
    ImportError
        If arviz-plots is not installed.
    TypeError, ValueError
        If an argument is of the wrong kind or out of range, a hyperparameter is not allowed, or a visual is unknown.

    Notes
    -----
    The law of the number of clusters is exact, that of an elicited prior included; with other distributions in the
    measure, it is the mean of the exact laws under 400 draws of the hyperparameters.  Sizes are those of partitions
    drawn from the prior: medians, and intervals with equal tails and probabilities of 0.5 and 0.9.  A cluster that a
    partition lacks counts as one of size 0.

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
    canvas = Canvas("plot_prior_partition", VISUALS, visuals, plot_collection, backend)
    laws, sizes = {}, {}
    for name, prior in measures.items():
        elicited = isinstance(prior, ElicitedPrior)
        drawn = drawn_measures(prior.measure if elicited else prior, n_draws, rng)
        laws[name] = prior.pmf if elicited else mean_pmf(drawn, n)
        sizes[name] = sorted_sizes(drawn, n, max_rank, rng)

    names = list(measures)
    columns = xr.Dataset({"prior": (("measure", "law"), np.zeros((len(names), 2)))}, {"measure": names, "law": LAWS})
    canvas.create(
        columns,
        pc_kwargs,
        width=0.25 + 0.75 * len(names),
        height=3.4,
        rows=["law"],
        cols=["measure"],
        figure_kwargs={"sharex": "row", "sharey": "row"},
    )
    _draw_numbers(canvas, laws, n)
    _draw_sizes(canvas, sizes, n)
    canvas.align_labels()
    return canvas.collection


def _named(measures, n):
    """Priors by their names, in a new dict."""
    if isinstance(measures, ElicitedPrior):
        measures = {type(measures.measure).__name__: measures}
    if hasattr(measures, "hyperparameters"):
        measures = {type(measures).__name__: measures}
    if not isinstance(measures, Mapping) or not measures:
        raise TypeError(f"measures must be a measure or a mapping of names to measures; got {measures!r}")
    for name, prior in measures.items():
        given = f"{name!r}: {prior!r}"
        if isinstance(prior, ElicitedPrior):
            if prior.n != n:
                raise ValueError(f"n must be {prior.n}, for which a prior was elicited; got n = {n} and {given}")
        elif not isinstance(name, str) or isinstance(prior, type) or not hasattr(prior, "hyperparameters"):
            raise TypeError(f"measures must map names to measures such as DirichletProcess(1.0); got {given}")
    return dict(measures)


def _draw_numbers(canvas, laws, n):
    """The upper row: laws of the number of clusters."""
    ends = [equal_tailed_interval(law, 1.0 - 2.0 * TAIL) for law in laws.values()]
    numbers = np.arange(min(low for low, _ in ends), max(high for _, high in ends) + 1)
    shown = np.stack([np.pad(law, (0, max(numbers[-1] - len(law), 0)))[numbers - 1] for law in laws.values()])
    names = list(laws)
    data = xr.Dataset({"prior": (("measure", "n_clusters"), shown)}, {"measure": names, "n_clusters": numbers})
    canvas.draw(bars, "bars", data, coords=NUMBER, artist_dims={"bar": len(numbers)}, color=CLUSTER_COLORS[3])
    moments = {name: mean_and_sd(law) for name, law in laws.items()}
    means = xr.Dataset({"prior": ("measure", [mean for mean, _ in moments.values()])}, {"measure": names})
    style = {"color": CLUSTER_COLORS[0], "width": 1.5}
    # By default matplotlib would draw it behind the bars.
    front = {"zorder": 3} if canvas.backend == "matplotlib" else {}
    canvas.draw(canvas.visuals.vline, "mean", means, coords=NUMBER, linestyle=canvas.dashes(), **style, **front)

    def title(da, target, **kwargs):
        name = da["measure"].item()
        mean, sd = moments[name]
        text = f"{textwrap.fill(name, WIDEST_NAME)}\nmean {mean:.3g}, sd {sd:.3g}"
        return canvas.visuals.labelled_title(da, target, **{"text": text, **kwargs})

    canvas.draw(title, "title", means, coords=NUMBER)
    canvas.label("xlabel", f"number of clusters of {n} items", means, coords=NUMBER)
    canvas.label("ylabel", "probability", means, coords=NUMBER | {"measure": names[0]})
    ticks = integer_ticks(numbers[0], numbers[-1], most=9)
    canvas.set(canvas.visuals.set_xticks, means, coords=NUMBER, values=ticks, labels=[str(tick) for tick in ticks])
    canvas.set(canvas.visuals.set_xlim, means, coords=NUMBER, limits=(numbers[0] - 0.7, numbers[-1] + 0.7))
    canvas.set(canvas.visuals.set_ylim, means, coords=NUMBER, limits=(0.0, 1.06 * shown.max()))


def _draw_sizes(canvas, sizes, n):
    """The lower row: sizes of the largest clusters, on a log scale."""
    names, ranks = list(sizes), np.arange(1, next(iter(sizes.values())).shape[1] + 1)

    def quantile(p):
        heights = [np.quantile(drawn, p, axis=0, method="inverted_cdf") for drawn in sizes.values()]
        return np.maximum(np.stack(heights), NONE)

    def points(**heights):
        axes = np.stack([np.broadcast_to(ranks, (len(names), len(ranks))), *heights.values()], axis=1)
        coords = {"measure": names, "plot_axis": ["x", *heights]}
        return xr.Dataset({"prior": (("measure", "plot_axis", "point"), axes)}, coords)

    color = CLUSTER_COLORS[0]
    styles = {
        "interval": {"color": color, "width": 1.2},
        "inner_interval": {"color": color, "width": 4.0, "alpha": 0.45},
    }
    for name, (low, high) in PROBABILITIES.items():
        ends = points(y_bottom=quantile(low), y_top=quantile(high))
        canvas.draw(whiskers, name, ends, coords=SIZES, **styles[name])
    dots = points(y=quantile(0.5))
    style = {"facecolor": "white", "edgecolor": color, "size": 24, "width": 1.3}
    canvas.draw(canvas.visuals.scatter_xy, "median", dots, coords=SIZES, **style)
    canvas.label("xlabel_sizes", "rank of the cluster by size", dots, coords=SIZES)
    canvas.label("ylabel_sizes", f"size (items, of {n})", dots, coords=SIZES | {"measure": names[0]})
    marker = {"marker": "o", "linestyle": "none", "markerfacecolor": "white"}
    canvas.legend(
        ["mean number", "median size", "50 % interval", "90 % interval"],
        [
            {"color": color, "width": 1.5, "linestyle": canvas.dashes()},
            {"color": color, **marker},
            styles["inner_interval"],
            styles["interval"],
        ],
        loc="outside lower center",
        ncols=4,
    )
    ticks = integer_ticks(1, ranks[-1], most=9)
    canvas.set(canvas.visuals.set_xticks, dots, coords=SIZES, values=ticks, labels=[str(tick) for tick in ticks])
    canvas.set(canvas.visuals.set_xlim, dots, coords=SIZES, limits=(0.4, ranks[-1] + 0.6))
    canvas.set(canvas.visuals.set_yscale, dots, coords=SIZES, scale="log")
    canvas.set(canvas.visuals.set_ylim, dots, coords=SIZES, limits=(0.8 * NONE, 1.25 * n))
    powers = [10**power * digit for power in range(1 + int(np.log10(n))) for digit in (1, 2, 5)]
    ticks = [tick for tick in powers if tick <= 1.25 * n]
    ticks = ticks if len(ticks) <= 8 else [tick for tick in ticks if str(tick)[0] == "1"]
    canvas.set(set_yticks, dots, coords=SIZES, values=[NONE, *ticks], labels=["0", *map(str, ticks)])
