"""What all plots share, and that pictures are imported late."""

import inspect
import re
import warnings

import numpy as np
import plot_cases
import pytest
import xarray as xr

from pymc_nrm import plots
from pymc_nrm.measures import DirichletProcess
from pymc_nrm.plots import plot_n_clusters
from pymc_nrm.plots.canvas import Canvas

azp = pytest.importorskip("arviz_plots")
plt, plotly = ("matplotlib",), ("matplotlib", "plotly")
RNG = np.random.default_rng(4)
PALE, GAINS = np.linspace(0, 1, plot_cases.N), np.linspace(0, 1, 23)
LONG_NAMES = ["a long name"] * 12
HELD_OUT = xr.DataArray(-np.ones((2, 9)), dims=("n_components", "item"), coords={"n_components": [1, 2]})


def draws_and_truth():
    return plot_cases.make_draws(), plot_cases.TRUE


def nested():
    return (plot_cases.make_nested_draws(),)


def make_curves():
    values = np.sort(RNG.normal(size=(2, 5, 8, 3)), axis=3)
    coords = {"probability": [0.1, 0.5, 0.9], "time": ("new_item", np.linspace(-1, 1, 8))}
    return xr.Dataset({"quantile": (("chain", "draw", "new_item", "probability"), values)}, coords)


# Pictures by what follows plot_ in the name of the function: arguments, options, and backends if not all.
PICTURES = {
    "n_clusters": (lambda: (plot_cases.make_draws(),), {"prior": np.full(10, 0.1), "by_chain": True}),
    "cluster_parameters": (lambda: (plot_cases.make_slot_draws(),), {"estimate": plot_cases.TRUE}),
    "cluster_sizes": (lambda: (plot_cases.make_draws(),), {}),
    "cluster_sizes_1": (lambda: (plot_cases.make_draws(),), {"log": True}),
    "partition_trace": (lambda: (plot_cases.make_draws(),), {}),
    "similarity": (lambda: (plot_cases.make_draws(),), {"order": "dendrogram"}, plt),
    "similarity_1": (lambda: (plot_cases.make_draws(),), {"estimate": plot_cases.TRUE}, plt),
    "similarity_2": (nested, {"level": 2}, plt),
    "nodes_by_level": (nested, {"prior": plot_cases.make_nested_draws(seed=2), "by_chain": True}),
    "tree": (nested, {}, plt),
    "tree_1": (nested, {"composition": plot_cases.TRUE, "images": {0: np.eye(3)}}, plt),
    "distance": (draws_and_truth, {}),
    "prior_partition": (lambda: (plot_cases.PRIORS, 30), {"n_draws": 20, "random_seed": 1}),
    "prior_partition_1": (lambda: (DirichletProcess(0.5), 1), {"n_draws": 20, "random_seed": 1}),
    "prior_partition_2": (lambda: (plot_cases.PRIORS, 500), {"n_draws": 20, "max_rank": 30, "random_seed": 1}),
    "clusters": (lambda: (None, plot_cases.make_data(2)), {"estimate": plot_cases.TRUE, "uncertainty": False}, plotly),
    "clusters_1": (lambda: (None, plot_cases.make_data(1)), {"estimate": plot_cases.TRUE, "uncertainty": PALE}, plotly),
    "clusters_3": (lambda: (None, plot_cases.make_data(3)), {"estimate": plot_cases.TRUE, "uncertainty": PALE}, plotly),
    "category_shares": (lambda: (None, plot_cases.make_categories()), {"estimate": plot_cases.TRUE}),
    "credible_ball": (lambda: (plot_cases.make_ball(),), {}, plt),
    "credible_ball_1": (lambda: (plot_cases.make_ball(), plot_cases.make_data(1)), {}),
    "credible_ball_2": (lambda: (plot_cases.make_ball(), plot_cases.make_data(2)), {}),
    "point_estimates": (lambda: (plot_cases.make_estimates(),), {}, plt),
    "point_estimates_2": (lambda: (plot_cases.make_estimates(), plot_cases.make_data(2)), {}),
    "density": (lambda: (plot_cases.normal_density(1),), {"data": RNG.normal(size=(100, 1))}),
    "density_2": (lambda: (plot_cases.normal_density(2),), {"data": RNG.normal(size=(100, 2))}),
    "conditional_density": (lambda: (make_curves(),), {"data": RNG.normal(size=(30, 2))}),
    "held_out_density": (lambda: (HELD_OUT,), {}),
    "dendrogram": (lambda: (plot_cases.clustered(3),), {"names": LONG_NAMES, "probabilities": True}),
    "dendrogram_1": (lambda: (plot_cases.clustered(3),), {"names": LONG_NAMES, "gains": GAINS}, plotly),
}


def plot_of(picture):
    return getattr(plots, "plot_" + re.sub("_[0-9]$", "", picture))


def drawn(picture, **kwargs):
    make, options, *_ = PICTURES[picture]
    return plot_of(picture)(*make(), **options, **kwargs)


@pytest.mark.parametrize("name", plots.__all__)
def test_options_are_those_of_all_plots(name):
    plot = getattr(plots, name)
    parameters, text = inspect.signature(plot).parameters, plot.__doc__
    assert list(parameters)[-4:] == ["plot_collection", "backend", "visuals", "pc_kwargs"]
    assert all(f"\n{parameter} : " in text or f", {parameter}" in text for parameter in list(parameters)[1:-1])
    assert "\n**pc_kwargs\n" in text and "**options" not in text and "If arviz-plots is not installed." in text
    listed = re.findall(r"^    \* (.*) -> ", text, re.MULTILINE)
    assert ", ".join(listed).split(", ") == list(plot.visuals)


@pytest.mark.quick("partition_trace", "cluster_parameters")
@pytest.mark.parametrize("picture", [name for name in PICTURES if not re.match("(prior_partition|similarity)_", name)])
def test_every_visual_can_be_left_out(picture):
    whole = drawn(picture, backend="none")
    assert isinstance(whole, azp.PlotCollection)
    names = set(whole.viz.children) - {"plot", "row_index", "col_index"}
    assert "ylabel" in names and names <= set(plot_of(picture).visuals)
    for name in names:
        assert name not in drawn(picture, backend="none", visuals={name: False}).viz.children
    assert not names & set(drawn(picture, backend="none", visuals=dict.fromkeys(names, False)).viz.children)
    with pytest.raises(ValueError, match="visuals must be among .*; got nonsense"):
        drawn(picture, backend="none", visuals={"nonsense": False})


@pytest.mark.parametrize("picture", ["n_clusters", "cluster_sizes", "similarity", "dendrogram"])
def test_into_a_plot_collection_of_the_caller(picture):
    whole = azp.PlotCollection.grid(xr.Dataset({"dendrogram" if picture == "dendrogram" else "z": 0.0}), backend="none")
    assert drawn(picture, plot_collection=whole) is whole
    assert whole.viz["plot"].item()
    with pytest.raises(ValueError, match="plot_collection must be None .* got figure_kwargs"):
        drawn(picture, plot_collection=whole, figure_kwargs={})
    with pytest.raises(ValueError, match="backend must be that of plot_collection, none; got matplotlib"):
        drawn(picture, plot_collection=whole, backend="matplotlib")


def test_arguments_of_the_caller_come_first():
    pc = plot_n_clusters(
        plot_cases.make_draws(), backend="none", visuals={"bars": {"color": "red"}, "xlabel": {"text": "K"}}
    )
    assert {bar["facecolor"] for bar in pc.viz["bars"]["z"].values} == {"red"}
    assert pc.viz["xlabel"]["z"].item()["string"] == "K"
    canvas = Canvas(plot_n_clusters, {"visuals": {"prior": True}, "backend": "none"})
    assert canvas.wants("prior") and canvas.arguments("prior", width=1) == {"width": 1}


@pytest.mark.parametrize(
    "backend", ["matplotlib", *(pytest.param(name, marks=pytest.mark.slow) for name in ("plotly", "bokeh"))]
)
@pytest.mark.parametrize("name", PICTURES)
def test_picture(name, backend):
    """Drawn with matplotlib without a warning, nothing is cut off; other backends are refused where they cannot."""
    pytest.importorskip(backend)
    _, _, *backends = PICTURES[name]
    if backends and backend not in backends[0]:
        with pytest.raises(ValueError, match=f"can be drawn on the backends .*; got {backend}"):
            drawn(name, backend=backend)
        return
    if backend == "matplotlib":
        import matplotlib

        matplotlib.use("Agg")
    figure = drawn(name, backend=backend).viz["figure"].item()
    if backend == "matplotlib":
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            figure.canvas.draw()
            check_inside(figure)
        matplotlib.pyplot.close(figure)


def check_inside(figure):
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    tolerance = 0.002
    assert box.x0 >= -tolerance and box.y0 >= -tolerance
    assert box.x1 <= width + tolerance and box.y1 <= height + tolerance
