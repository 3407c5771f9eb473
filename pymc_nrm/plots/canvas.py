"""Parts that all plots share: options and their documentation, a PlotCollection, visuals, legends, axes."""

import importlib
import importlib.util
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import xarray as xr

from pymc_nrm.common.docstrings import documented
from pymc_nrm.plots.visuals import backend_marker, legend_key, panel_text, points_dataset, set_yticks

if TYPE_CHECKING:
    from arviz_plots.plot_collection import PlotCollection
else:  # imported with the first plot
    PlotCollection = "PlotCollection"

BACKENDS = ("matplotlib", "bokeh", "plotly", "none")

# Documentation of visuals that many plots have.
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
    By default the backend of `plot_collection`, or else ``arviz_base.rcParams["plot.backend"]``.
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
    """Put the options of all plots in place of ``**options`` in the signature and docstring of a function.

    ``visuals`` maps each visual, or several names separated by commas, to the function that draws it.
    """

    def document(function: F) -> F:
        listed = "\n".join(f"    * {names} -> {text}" for names, text in visuals.items())
        text = _TEXT.format(backends=", ".join(f'"{name}"' for name in backends), visuals=listed, method=method)
        doc = inspect.cleandoc(documented(function).__doc__).replace("\n\nReturns\n", f"\n{text}\nReturns\n")
        function.__doc__ = doc.replace("Raises\n------\n", _ERRORS).replace("\nci_prob\n", "\n" + _CI_PROB)
        specific, shared = (inspect.signature(source).parameters.values() for source in (function, _options))
        kept = [parameter for parameter in specific if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
        function.__signature__ = inspect.signature(function).replace(parameters=[*kept, *shared])
        function.visuals = tuple(name for names in visuals for name in names.split(", "))
        function.backends = backends
        return function

    return document


def _missing(plot, library):
    extra = f"arviz-plots[{library}]" if library in ("plotly", "bokeh") else "pymc-nrm[plots]"
    return f'{plot} requires {library}, which is not installed. Install it with `pip install "{extra}"`'


def check_names(names, n):
    """Check the argument ``names`` of a plot: None, or one name for each of n items."""
    if names is None:
        return
    counted = hasattr(names, "__len__") and not isinstance(names, str)
    if not counted or len(names) != n:
        got = len(names) if counted else repr(names)
        raise ValueError(f"names must have one entry for each of the {n} items; got {got}")


class Canvas:
    """A PlotCollection on which a plot draws the visuals that the caller wants.

    By default visuals use the data of :meth:`create`.  A dict stands for points of the variable in these data.
    """

    def __init__(self, plot, options, backends=None):
        options = dict(options)
        self.collection, backend, visuals = (
            options.pop(name, None) for name in ("plot_collection", "backend", "visuals")
        )
        self._pc_kwargs, self._requested = options, {} if visuals is None else visuals
        self.entries = []
        if not isinstance(self._requested, Mapping):
            raise TypeError(f"visuals must be a mapping of names to arguments; got {visuals!r}")
        unknown = sorted(set(self._requested) - set(plot.visuals))
        if unknown:
            raise ValueError(f"visuals must be among {', '.join(plot.visuals)}; got {', '.join(unknown)}")
        try:
            self._arviz_plots = importlib.import_module("arviz_plots")
        except ImportError as error:
            raise ImportError(_missing(plot.__name__, "arviz-plots")) from error
        self.visuals = self._arviz_plots.visuals
        self.backend = self._backend(plot.__name__, backend)
        backends = plot.backends if backends is None else backends
        if self.backend not in backends:
            raise ValueError(f"{plot.__name__} requires one of the backends {', '.join(backends)}; got {self.backend}")

    def _backend(self, plot, backend):
        """Return the name of the backend, after checking that it is installed."""
        if self.collection is not None:
            if not isinstance(self.collection, self._arviz_plots.PlotCollection):
                raise TypeError(f"plot_collection must be a PlotCollection; got {self.collection!r}")
            if backend not in (None, self.collection.backend):
                raise ValueError(
                    f"backend must be the backend of plot_collection, {self.collection.backend}; got {backend}"
                )
            return self.collection.backend
        if backend is None:
            from arviz_base import rcParams

            # arviz-base falls back to "none" if no plotting library is installed.
            if rcParams["plot.backend"] == "none" and importlib.util.find_spec("matplotlib") is None:
                raise ImportError(_missing(plot, "matplotlib") + ' or give backend="none"')
            return rcParams["plot.backend"]
        if backend not in BACKENDS:
            raise ValueError(f"backend must be one of {', '.join(BACKENDS)}; got {backend!r}")
        if backend != "none" and importlib.util.find_spec(backend) is None:
            raise ImportError(_missing(plot, backend))
        return backend

    @property
    def module(self):
        """Functions of the backend."""
        return importlib.import_module(f"arviz_plots.backend.{self.backend}")

    def create(self, data, *, width=1.2, height=2.2, **layout):
        """Create the PlotCollection of the data, unless the caller passed one."""
        self.data = data
        if self.collection is not None:
            if self._pc_kwargs:
                names = ", ".join(sorted(self._pc_kwargs))
                raise ValueError(f"plot_collection must be None to pass arguments of a new one; got {names}")
            return
        figure_kwargs = layout.pop("figure_kwargs", {}) | dict(self._pc_kwargs.get("figure_kwargs", {}))
        figure_kwargs["figsize"] = self.module.scale_fig_size(
            figure_kwargs.get("figsize"), rows=height, cols=width, figsize_units=figure_kwargs.get("figsize_units")
        )
        figure_kwargs["figsize_units"] = "dots"
        if self.backend == "matplotlib":
            figure_kwargs.setdefault("layout", "constrained")  # others cut off long names
        arguments = layout | self._pc_kwargs | {"figure_kwargs": figure_kwargs}
        method = "wrap" if "col_wrap" in arguments else "grid"
        self.collection = getattr(self._arviz_plots.PlotCollection, method)(data, backend=self.backend, **arguments)

    def _dataset(self, data):
        if data is None:
            return self.data
        return points_dataset(next(iter(self.data.data_vars)), **data) if isinstance(data, dict) else data

    def wants(self, name):
        """Whether to draw a visual."""
        return self._requested.get(name, True) is not False

    def arguments(self, name, **defaults):
        """Arguments of a visual: the defaults, overridden by the caller's."""
        requested = self._requested.get(name, {})
        return defaults | ({} if requested in (True, False) else dict(requested))

    def draw(
        self, function, name, data=None, *, aes=(), coords=None, store=True, artist_dims=None, entry=None, **defaults
    ):
        """Draw a visual, or the visual of arviz-plots with that name, if it is wanted; ``entry`` is its legend text."""
        if not self.wants(name):
            return
        arguments = self.arguments(name, **defaults)
        if entry is not None:
            self.entries.append((entry, legend_key(arguments)))
        if "marker" in arguments:
            arguments["marker"] = backend_marker(arguments["marker"], self.backend)
        self.collection.map(
            getattr(self.visuals, function) if isinstance(function, str) else function,
            name,
            data=self._dataset(data),
            coords=coords,
            ignore_aes=self.collection.aes_set - set(aes),
            store_artist=store,
            artist_dims=artist_dims,
            **arguments,
        )

    def ticks(self, function, name, values, labels, **defaults):
        """Draw the labels of ticks, if they are wanted."""
        store = self.backend == "none"  # other backends return nothing or a list of unknown length
        self.draw(function, name, store=store, values=values, labels=labels, **defaults)

    def label(self, name, text, data=None, *, coords=None, by=(), **defaults):
        """Write a title or an axis label; the name of the visual begins with ``title``, ``xlabel`` or ``ylabel``.

        With dimensions ``by``, the text of each plot is looked up by its coordinates.
        """
        kind = name.split("_")[0]
        if by:
            self.draw(panel_text, name, data, coords=coords, texts=text, dims=by, kind=kind, **defaults)
        else:
            self.draw(f"labelled_{kind[0]}", name, data, coords=coords, text=text, **defaults)

    def labels(self, x, y):
        """Write the labels of both axes."""
        self.label("xlabel", x)
        self.label("ylabel", y)

    def set(self, function, data=None, *, coords=None, **arguments):
        """Call a setter of the backend on the plots of the data."""
        function = getattr(self.visuals, function) if isinstance(function, str) else function
        data = self._dataset(data)
        self.collection.map(function, data=data, coords=coords, ignore_aes="all", store_artist=False, **arguments)

    def axes(self, data=None, *, coords=None, **settings):
        """Set ``xlim``, ``ylim``, ``yscale``, and ``xticks`` or ``yticks``, alone or with labels."""
        for name, value in settings.items():
            function = set_yticks if name == "yticks" else f"set_{name}"
            if name.endswith("ticks"):
                values, labels = value if isinstance(value, tuple) else (value, [str(tick) for tick in value])
                arguments = {"values": values, "labels": labels}
            else:
                arguments = {"scale" if name.endswith("scale") else "limits": value}
            self.set(function, data, coords=coords, **arguments)

    def legend(self, *, title=None, **defaults):
        """Draw the legend beside the plots, if it is wanted and has entries."""
        if not self.wants("legend") or not self.entries:
            return
        labels, properties = [label for label, _ in self.entries], [key for _, key in self.entries]
        if self.backend == "matplotlib":
            defaults = {"frameon": False} | defaults
        else:  # their legends show only lines, at a fixed position
            defaults = {}
            keys = ("color", "width")
            properties = [{key: entry[key] for key in keys if key in entry} for entry in properties]
        arguments = self.arguments("legend", **defaults)
        drawn = self.module.legend(
            self.collection, properties, labels, title=title, legend_dim=(), update_visuals=False, **arguments
        )
        entries = {"labels": labels, "properties": properties, "title": title} if drawn is None else drawn
        holder = np.empty((), dtype=object)
        holder[()] = entries
        self.collection.viz["legend"] = xr.DataTree(xr.Dataset({"entries": xr.DataArray(holder)}))

    def align_labels(self):
        """Align the axis labels of plots in one column."""
        if self.backend == "matplotlib":
            self.collection.viz["figure"].item().align_labels()

    def level(self, zorder):
        """Argument ``zorder`` for matplotlib, which does not draw visuals in the order of calls."""
        return {"zorder": zorder} if self.backend == "matplotlib" else {}

    def dashes(self):
        """Name of the first line style of the backend that is not solid."""
        return self.module.get_default_aes("linestyle", 2)[1]
