"""Picture of a tree over the items and of the clusters it is cut into."""

import importlib

import numpy as np

__all__ = ["plot_dendrogram"]

# Eight of Paul Tol's "muted" colours, which people with colour vision deficiency can tell apart, also as thin lines.
CLUSTER_COLORS = ("#332288", "#cc6677", "#117733", "#88ccee", "#882255", "#999933", "#44aa99", "#aa4499")
ABOVE_COLOR = "#8c8c8c"
MAX_NAMES = 50
VISUALS = ("branches", "cut", "cut_label", "ylabel", "leaves")


def branch_coordinates(dendrogram):
    """Where the branches of a dendrogram are drawn: a bracket with four corners for every merge.

    Leaves stand at 0, ..., n - 1 in the order of the tree, other nodes in the middle between their children.

    Parameters
    ----------
    dendrogram : Dendrogram

    Returns
    -------
    corners : ndarray, shape (n - 1, 2, 4)
        x and y of the foot, top, top and foot of each row of ``dendrogram.to_linkage()``, from left to right.
    cluster : ndarray of int64, shape (n - 1,)
        Label of the items below the merge, -1 where they are not all of one cluster.
    """
    linkage = dendrogram.to_linkage()
    n = len(linkage) + 1
    x = np.empty(2 * n - 1)
    x[dendrogram.tree.order] = np.arange(n)
    y = np.concatenate([np.zeros(n), linkage[:, 2]])
    cluster = np.concatenate([dendrogram.labels, np.full(n - 1, -1)])
    children = linkage[:, :2].astype("int64")
    for v, (a, b) in enumerate(children.tolist(), start=n):  # children come before their parents
        x[v] = (x[a] + x[b]) / 2
        if cluster[a] == cluster[b]:
            cluster[v] = cluster[a]
    children = np.take_along_axis(children, np.argsort(x[children], axis=1), axis=1)
    a, b, top = *children.T, y[n:]
    corners = np.stack([np.stack([x[a], x[a], x[b], x[b]], axis=1), np.stack([y[a], top, top, y[b]], axis=1)], axis=1)
    return corners, cluster[n:]


def color_groups(cluster):
    """Which colour of the cycle each merge has; -1, before all others, above the cut."""
    return np.where(cluster < 0, -1, cluster % len(CLUSTER_COLORS))


def branches(da, target, *, colors=CLUSTER_COLORS, above_color=ABOVE_COLOR, **kwargs):
    """Visual: the brackets of a dendrogram, one line with gaps for each colour.

    Parameters
    ----------
    da : DataArray
        Dimensions ``merge``, ``plot_axis`` (x, y) and ``corner``; coordinate ``cluster`` along ``merge``.
    target : object
        Plot of any backend.
    colors : sequence of str
        Colours of clusters.
    above_color : str
        Colour of branches above the cut.
    **kwargs
        Passed to the backend's ``line``.

    Returns
    -------
    ndarray of object
        The lines.
    """
    from arviz_plots.plot_collection import backend_from_object

    backend = backend_from_object(target)
    groups = color_groups(da["cluster"].values)
    present = np.unique(groups)
    lines = np.empty(len(present), dtype=object)
    for k, group in enumerate(present):
        corners = da.values[groups == group]
        x, y = np.pad(corners, [(0, 0), (0, 0), (0, 1)], constant_values=np.nan).transpose(1, 0, 2).reshape(2, -1)
        color = above_color if group < 0 else colors[group % len(colors)]
        lines[k] = backend.line(x, y, target, color=color, **kwargs)
    return lines


def _import_arviz_plots():
    try:
        return importlib.import_module("arviz_plots")
    except ImportError as error:
        raise ImportError(
            "plot_dendrogram requires arviz-plots, which is not installed. "
            'Install it with `pip install "pymc-nrm[plots]"`.'
        ) from error


def plot_dendrogram(dendrogram, *, names=None, plot_collection=None, backend=None, visuals=None, **pc_kwargs):
    """Plot a dendrogram with branches coloured by cluster.

    Branches within cluster k have colour k of a cycle of eight that is safe for colour blindness; branches above the
    cut are grey.  A dashed line marks the cut, d = 1.

    Parameters
    ----------
    dendrogram : Dendrogram
        What :func:`~pymc_nrm.trees.bhc` and :func:`~pymc_nrm.trees.ibhc` return.
    names : sequence of str, shape (n,), optional
        Names of the items, written below the leaves if there are at most 50.  By default leaves are not labelled.
    plot_collection : PlotCollection, optional
        Where to draw; by default a new one.
    backend : {"matplotlib", "bokeh", "plotly", "none"}, optional
        By default that of `plot_collection`, or else ``arviz_base.rcParams["plot.backend"]``.
    visuals : mapping of {str : mapping or False}, optional
        Arguments of each visual, or False to leave it out:

        * branches -> ``line`` of the backend; also ``colors``, the cycle, and ``above_color``
        * cut -> :func:`arviz_plots.visuals.hline`
        * cut_label -> :func:`arviz_plots.visuals.annotate_xy`
        * ylabel -> :func:`arviz_plots.visuals.labelled_y`
        * leaves -> :func:`arviz_plots.visuals.set_xticks`
    **pc_kwargs
        Passed to :meth:`arviz_plots.PlotCollection.grid`.

    Returns
    -------
    PlotCollection
        Lines are in ``.viz["branches"]``, one for each colour.

    Raises
    ------
    ImportError
        If arviz-plots is not installed; it comes with ``pip install "pymc-nrm[plots]"``.
    ValueError
        If the number of names is not that of items, or a visual is unknown.

    See Also
    --------
    pymc_nrm.trees.Dendrogram.to_linkage : The heights.

    Notes
    -----
    Heights are those of :meth:`~pymc_nrm.trees.Dendrogram.to_linkage`: log d itself may be negative and need not grow
    towards the root.  There is no recursion, so that trees may be of any depth.

    Examples
    --------
    >>> from pymc_nrm.families import NormalGamma
    >>> from pymc_nrm.measures import DirichletProcess
    >>> from pymc_nrm.plots import plot_dendrogram
    >>> from pymc_nrm.trees import bhc
    >>> family = NormalGamma(mu=5.0, kappa=0.01, alpha=2.0, beta=0.1)
    >>> result = bhc([0.0, 9.0, 0.3, 9.1], family, DirichletProcess(1.0), random_seed=1)
    >>> pc = plot_dendrogram(result, names=["a", "b", "c", "d"], backend="none")
    >>> [line["color"] for line in pc.viz["branches"]["dendrogram"].values]
    ['#8c8c8c', '#332288', '#cc6677']

    Thicker branches, without the line that marks the cut:

    >>> pc = plot_dendrogram(
    ...     result, backend="none", visuals={"branches": {"width": 3}, "cut": False, "cut_label": False}
    ... )
    >>> pc.viz["branches"]["dendrogram"].values[0]["width"]
    3
    """
    n = len(dendrogram.labels)
    if names is not None and len(names) != n:
        raise ValueError(f"names must have one entry for each of the {n} items; got {len(names)}")
    visuals = {} if visuals is None else visuals
    unknown = sorted(set(visuals) - set(VISUALS))
    if unknown:
        raise ValueError(f"visuals must be among {', '.join(VISUALS)}; got {', '.join(unknown)}")
    azp = _import_arviz_plots()
    import xarray as xr
    from arviz_base import rcParams

    corners, cluster = branch_coordinates(dendrogram)
    cut = dendrogram.cut_height
    data = xr.Dataset(
        {"dendrogram": (("merge", "plot_axis", "corner"), corners)},
        coords={"plot_axis": ["x", "y"], "cluster": ("merge", cluster)},
    )
    cut_data = xr.Dataset({"dendrogram": cut})

    if plot_collection is None:
        backend = rcParams["plot.backend"] if backend is None else backend
        module = importlib.import_module(f"arviz_plots.backend.{backend}")
        figure_kwargs = dict(pc_kwargs.pop("figure_kwargs", {}))
        figure_kwargs["figsize"] = module.scale_fig_size(
            figure_kwargs.get("figsize"), rows=3, cols=1.5, figsize_units=figure_kwargs.get("figsize_units")
        )
        figure_kwargs["figsize_units"] = "dots"
        if backend == "matplotlib":
            figure_kwargs.setdefault("layout", "constrained")  # else long names are cut off
        plot_collection = azp.PlotCollection.grid(data, backend=backend, figure_kwargs=figure_kwargs, **pc_kwargs)

    def draw(function, name, data=cut_data, store_artist=True, artist_dims=None, **defaults):
        kwargs = visuals.get(name, {})
        if kwargs is not False:
            kwargs = defaults | ({} if kwargs is True else dict(kwargs))
            how = {"ignore_aes": "all", "store_artist": store_artist, "artist_dims": artist_dims}
            plot_collection.map(function, name, data=data, **how, **kwargs)

    # Room on the right for the name of the cut, where no branch can cross it.
    left, right = -0.02 * n - 0.5, 1.08 * n - 0.5
    colors = {"color": len(np.unique(color_groups(cluster)))}
    draw(branches, "branches", data, artist_dims=colors, width=1.5 if n <= 4 * MAX_NAMES else 0.8)
    draw(azp.visuals.hline, "cut", color="black", linestyle=_dashes(plot_collection), width=1.0)
    draw(
        azp.visuals.annotate_xy,
        "cut_label",
        text="d = 1 ",
        x=right,
        y=cut,
        horizontal_align="right",
        vertical_align="bottom",
        color="black",
    )
    draw(azp.visuals.labelled_y, "ylabel", text="height, asinh(log d) made monotone")
    show_names = names is not None and n <= MAX_NAMES
    ticks = np.arange(n) if show_names else []
    labels = [str(names[i]) for i in dendrogram.tree.order] if show_names else []
    store = plot_collection.backend == "none"  # other backends return nothing or a list of unknown length
    draw(azp.visuals.set_xticks, "leaves", store_artist=store, values=ticks, labels=labels, rotation=90)
    for function, limits in [
        (azp.visuals.set_xlim, (left, right)),
        (azp.visuals.set_ylim, (0.0, 1.05 * max(cut, corners[:, 1].max(initial=0.0)))),
    ]:
        plot_collection.map(function, data=cut_data, ignore_aes="all", store_artist=False, limits=limits)
    return plot_collection


def _dashes(plot_collection):
    module = importlib.import_module(f"arviz_plots.backend.{plot_collection.backend}")
    return module.get_default_aes("linestyle", 2)[1]
