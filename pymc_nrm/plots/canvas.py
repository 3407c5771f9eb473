"""What all plots share: a PlotCollection, the requested visuals, colours."""

import importlib
import importlib.util
from collections.abc import Mapping

import numpy as np
import xarray as xr

__all__ = [
    "CLUSTER_COLORS",
    "GREY",
    "MARKERS",
    "SMALL_CLUSTER_COLORS",
    "Canvas",
    "backend_marker",
    "import_arviz_plots",
]

# Eight of Paul Tol's "muted" colours, which people with colour vision deficiency can tell apart, even as thin lines.
CLUSTER_COLORS = ("#332288", "#cc6677", "#117733", "#88ccee", "#882255", "#999933", "#44aa99", "#aa4499")
# For clusters after the eighth, which are small: such that no two of sixteen look alike.
SMALL_CLUSTER_COLORS = ("#ee7733", "#0077bb", "#ddcc77", "#7f4f24", "#f7a8c4", "#000000", "#66cc33", "#b58df0")
GREY = "#8c8c8c"
# Markers of clusters, which survive printing without colours.
MARKERS = ("o", "s", "^", "D")
MARKER_NAMES = {
    "plotly": {"o": "circle", "s": "square", "^": "triangle-up", "D": "diamond", "x": "x-thin-open"},
    "bokeh": {"o": "circle", "s": "square", "^": "triangle", "D": "diamond", "x": "x"},
}


BACKENDS = ("matplotlib", "plotly", "bokeh", "none")


def _missing(plot, library):
    extra = f"arviz-plots[{library}]" if library in ("plotly", "bokeh") else "pymc-nrm[plots]"
    return f'{plot} requires {library}, which is not installed. Install it with `pip install "{extra}"`'


def import_arviz_plots(plot):
    """The module arviz_plots."""
    try:
        return importlib.import_module("arviz_plots")
    except ImportError as error:
        raise ImportError(_missing(plot, "arviz-plots")) from error


def backend_marker(marker, backend):
    """Name in a backend of a marker of matplotlib."""
    return MARKER_NAMES.get(backend, {}).get(marker, marker)


def check_names(names, n):
    """Check the argument ``names`` of a plot: None, or one name for each of n items."""
    if names is None:
        return
    if isinstance(names, str) or not hasattr(names, "__len__") or len(names) != n:
        got = len(names) if hasattr(names, "__len__") and not isinstance(names, str) else repr(names)
        raise ValueError(f"names must have one entry for each of the {n} items; got {got}")


class Canvas:
    """A PlotCollection on which a function draws those of its visuals that the caller wants."""

    def __init__(self, plot, known, visuals, plot_collection, backend, backends=None):
        self._requested = {} if visuals is None else visuals
        if not isinstance(self._requested, Mapping):
            raise TypeError(f"visuals must be a mapping of names to arguments; got {visuals!r}")
        unknown = sorted(set(self._requested) - set(known))
        if unknown:
            raise ValueError(f"visuals must be among {', '.join(known)}; got {', '.join(unknown)}")
        self._known = known
        self._arviz_plots = import_arviz_plots(plot)
        self.visuals = self._arviz_plots.visuals
        self.collection = plot_collection
        if plot_collection is not None:
            if not isinstance(plot_collection, self._arviz_plots.PlotCollection):
                raise TypeError(f"plot_collection must be a PlotCollection; got {plot_collection!r}")
            if backend not in (None, plot_collection.backend):
                raise ValueError(f"backend must be that of plot_collection, {plot_collection.backend}; got {backend}")
            self.backend = plot_collection.backend
        elif backend is None:
            from arviz_base import rcParams

            self.backend = rcParams["plot.backend"]
            # arviz-base falls back on "none" if no plotting library is installed.
            if self.backend == "none" and importlib.util.find_spec("matplotlib") is None:
                raise ImportError(_missing(plot, "matplotlib") + ' or give backend="none"')
        else:
            self.backend = backend
            if backend not in BACKENDS:
                raise ValueError(f"backend must be one of {', '.join(BACKENDS)}; got {backend!r}")
            if backend != "none" and importlib.util.find_spec(backend) is None:
                raise ImportError(_missing(plot, backend))
        if backends is not None and self.backend not in backends:
            raise ValueError(f"{plot} can be drawn on the backends {', '.join(backends)}; got {self.backend}")

    @property
    def module(self):
        """Functions of the backend."""
        return importlib.import_module(f"arviz_plots.backend.{self.backend}")

    def create(self, data, pc_kwargs, *, width=1.5, height=3, **layout):
        """Make the PlotCollection, unless the caller gave one."""
        if self.collection is not None:
            if pc_kwargs:
                given = ", ".join(sorted(pc_kwargs))
                raise ValueError(f"plot_collection must be None with arguments for a new one; got {given}")
            return
        figure_kwargs = layout.pop("figure_kwargs", {}) | dict(pc_kwargs.get("figure_kwargs", {}))
        figure_kwargs["figsize"] = self.module.scale_fig_size(
            figure_kwargs.get("figsize"), rows=height, cols=width, figsize_units=figure_kwargs.get("figsize_units")
        )
        figure_kwargs["figsize_units"] = "dots"
        if self.backend == "matplotlib":
            figure_kwargs.setdefault("layout", "constrained")  # others cut off long names
        arguments = layout | dict(pc_kwargs) | {"figure_kwargs": figure_kwargs}
        method = "wrap" if "col_wrap" in arguments else "grid"
        self.collection = getattr(self._arviz_plots.PlotCollection, method)(data, backend=self.backend, **arguments)

    def wants(self, name):
        """Whether to draw a visual."""
        return self._requested.get(name, True) is not False

    def arguments(self, name, **defaults):
        """Arguments of a visual: the defaults, overridden by those of the caller."""
        requested = self._requested.get(name, {})
        return defaults | ({} if requested in (True, False) else dict(requested))

    def draw(self, function, name, data, *, aes=(), coords=None, store=True, artist_dims=None, **defaults):
        """Draw a visual, if it is wanted."""
        if not self.wants(name):
            return
        self.collection.map(
            function,
            name,
            data=data,
            coords=coords,
            ignore_aes=self.collection.aes_set - set(aes),
            store_artist=store,
            artist_dims=artist_dims,
            **self.arguments(name, **defaults),
        )

    def set(self, function, data, *, coords=None, **arguments):
        """Set limits, scales or ticks of the plots of the data."""
        self.collection.map(function, data=data, coords=coords, ignore_aes="all", store_artist=False, **arguments)

    def label(self, name, text, data, *, coords=None, **defaults):
        """Write the name of an axis; the visual is called ``xlabel`` or ``ylabel``, or begins with either and ``_``."""
        axis = {"xlabel": "labelled_x", "ylabel": "labelled_y"}[name.split("_")[0]]
        self.draw(getattr(self.visuals, axis), name, data, coords=coords, text=text, **defaults)

    def legend(self, labels, properties, *, title=None, **defaults):
        """Draw a legend beside the plots, if it is wanted."""
        if not self.wants("legend") or not labels:
            return
        if self.backend == "matplotlib":
            defaults = {"frameon": False} | defaults
        else:  # their legends show only lines, at a fixed place
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
        """Align the names of the axes of plots that are above each other."""
        if self.backend == "matplotlib":
            self.collection.viz["figure"].item().align_labels()

    def dashes(self, k=1):
        """Name of the k-th line style of the backend; 0 is solid."""
        return self.module.get_default_aes("linestyle", k + 1)[k]
