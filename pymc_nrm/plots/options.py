"""The options of all plots, and the text about them, written once."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pymc_nrm.common.docstrings import documented

if TYPE_CHECKING:
    from arviz_plots.plot_collection import PlotCollection
else:  # imported with the first plot
    PlotCollection = "PlotCollection"


BACKENDS = ("matplotlib", "bokeh", "plotly", "none")

# What draws visuals that many plots have.
BARS, LINE = "``hist`` of the backend, once for each bar; also ``width``", "``line`` of the backend"
SCATTER, LINE_XY = ":func:`arviz_plots.visuals.scatter_xy`", ":func:`arviz_plots.visuals.line_xy`"
HIST, VLINE = ":func:`arviz_plots.visuals.hist`", ":func:`arviz_plots.visuals.vline`"
OF_BACKEND, IMSHOW = "functions of the backend with these names", ":meth:`matplotlib.axes.Axes.imshow`"
LABELS = {"xlabel, ylabel": ":func:`arviz_plots.visuals.labelled_x`, ``labelled_y``"}
LEGEND = {"legend": "``legend`` of the backend"}

_TEXT = """\
plot_collection : PlotCollection, optional
    Where to draw; by default a new one.
backend : {{{backends}}}, optional
    By default that of `plot_collection`, or else ``arviz_base.rcParams["plot.backend"]``.
visuals : mapping of {{str : mapping or False}}, optional
    Arguments of each visual, or False to leave it out:

{visuals}
**pc_kwargs
    Passed to :meth:`arviz_plots.PlotCollection.{method}`.
"""
_ERRORS = """\
Raises
------
ImportError
    If arviz-plots is not installed.
"""
_CI_PROB = """\
ci_prob : float, optional
    Probability of the outer intervals, between 0.5 and 1; by default ``arviz_base.rcParams["stats.ci_prob"]``.
    The inner ones have probability 0.5.
"""
F = TypeVar("F")


def _options(
    *,
    plot_collection: "PlotCollection | None" = None,
    backend: str | None = None,
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs: Any,
): ...


def options_of_plots(
    visuals: Mapping[str, str], *, backends: Sequence[str] = BACKENDS, method: str = "grid"
) -> Callable[[F], F]:
    """Put the options of all plots in place of ``**options`` in the signature of a function, and into its docstring.

    ``visuals`` says what draws each of its visuals, or several whose names have a comma between them.
    """

    def document(function: F) -> F:
        listed = "\n".join(f"    * {names} -> {text}" for names, text in visuals.items())
        text = _TEXT.format(backends=", ".join(f'"{name}"' for name in backends), visuals=listed, method=method)
        doc = inspect.cleandoc(documented(function).__doc__).replace("\n\nReturns\n", f"\n{text}\nReturns\n")
        function.__doc__ = doc.replace("Raises\n------\n", _ERRORS).replace("\nci_prob\n", "\n" + _CI_PROB)
        own, shared = (inspect.signature(one).parameters.values() for one in (function, _options))
        kept = [one for one in own if one.kind is not inspect.Parameter.VAR_KEYWORD]
        function.__signature__ = inspect.signature(function).replace(parameters=[*kept, *shared])
        function.visuals = tuple(name for names in visuals for name in names.split(", "))
        function.backends = backends
        return function

    return document
