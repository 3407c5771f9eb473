"""What all plots share, that pictures are imported late, and wrong arguments, whose message names them."""

import functools
import inspect
import re
import warnings

import numpy as np
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm import plots
from pymc_nrm.kernels.layers import WINGS
from pymc_nrm.plots import plot_n_clusters
from pymc_nrm.plots.canvas import Canvas
from tests.helpers import refused
from tests.plots import plot_cases
from tests.tools.wings import rows_of_wings

azp = pytest.importorskip("arviz_plots")
plt, plotly = ("matplotlib",), ("matplotlib", "plotly")
RNG = np.random.default_rng(4)
PALE, GAINS = np.linspace(0, 1, plot_cases.N), np.linspace(0, 1, 23)
LONG_NAMES = ["a long name"] * 12
HELD_OUT = xr.DataArray(-np.ones((2, 9)), dims=("n_directions", "item"), coords={"n_directions": [1, 2]})


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
    "distance": (draws_and_truth, {}),
    "prior_partition": (lambda: (plot_cases.PRIORS, 30), {"n_draws": 20, "random_seed": 1}),
    "prior_partition_1": (lambda: (nrm.DirichletProcess(0.5), 1), {"n_draws": 20, "random_seed": 1}),
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
} | rows_of_wings("PICTURES", "pictures")


# The modules of plots of the core and of all wings.
PLOTS = [plots, *filter(None, [getattr(getattr(nrm, wing), "plots", None) for wing in WINGS])]
ALL = [name for module in PLOTS for name in module.__all__]


def plot_named(name):
    return next(getattr(module, name) for module in PLOTS if name in module.__all__)


def plot_of(picture):
    return plot_named("plot_" + re.sub("_[0-9]$", "", picture))


def drawn(picture, **kwargs):
    make, options, *_ = PICTURES[picture]
    return plot_of(picture)(*make(), **options, **kwargs)


@pytest.mark.parametrize("name", ALL)
def test_options_are_those_of_all_plots(name):
    plot = plot_named(name)
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
    with pytest.raises(ValueError, match="backend must be .* none; got matplotlib"):
        drawn(picture, plot_collection=whole, backend="matplotlib")


def test_arguments_of_the_caller_come_first():
    pc = plot_n_clusters(
        plot_cases.make_draws(), backend="none", visuals={"bars": {"color": "red"}, "xlabel": {"text": "K"}}
    )
    assert {bar["facecolor"] for bar in pc.viz["bars"]["z"].values} == {"red"}
    assert pc.viz["xlabel"]["z"].item()["string"] == "K"
    canvas = Canvas(plot_n_clusters, {"visuals": {"prior": True}, "backend": "none"})
    assert canvas.wants("prior") and canvas.arguments("prior", width=1) == {"width": 1}


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "backend", ["matplotlib", *(pytest.param(name, marks=pytest.mark.slow) for name in ("plotly", "bokeh"))]
)
@pytest.mark.parametrize("name", PICTURES)
def test_picture(name, backend):
    """Drawn with matplotlib without a warning, nothing is cut off; other backends are refused where they cannot."""
    pytest.importorskip(backend)
    _, _, *backends = PICTURES[name]
    if backends and backend not in backends[0]:
        with pytest.raises(ValueError, match=f"requires one of the backends .*; got {backend}"):
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


DRAWS, NESTED, DP = plot_cases.make_draws(), plot_cases.make_nested_draws(), nrm.DirichletProcess(1.0)
X, BALL, IMAGES = plot_cases.make_data(7), plot_cases.make_ball(), np.ones((plot_cases.N, 2, 3))
DENSITY = plot_cases.normal_density(2)
MANY = plot_cases.make_slot_draws()["posterior"].to_dataset()
MANY["many"] = (("chain", "draw", "slot", "term"), np.zeros((2, 40, 12, 31)))
TOO_MANY_ITEMS = xr.DataArray(np.zeros((1, 1, 5001), dtype=int), dims=("chain", "draw", "i"))
SURE = {"estimate": plot_cases.TRUE, "uncertainty": False}


@functools.cache
def dendrogram():
    return (plot_cases.clustered(3),)


def elicited():
    return {"elicited": nrm.elicit(nrm.DirichletProcess, 9, 3)}, 8


# What follows plot_ in the name of the function, its arguments or what makes them, and the error.
ERRORS = [
    ("n_clusters", (DRAWS,), {"prior": [0.5, 0.6]}, "sum 1; the sum is 1.1"),
    ("n_clusters", (DRAWS,), {"prior": [1.5, -0.5]}, "sum 1"),
    ("n_clusters", (DRAWS,), {"prior": np.full(plot_cases.N + 1, 1 / (plot_cases.N + 1))}, f"at most {plot_cases.N}"),
    ("n_clusters", (DRAWS,), {"prior": "flat"}, "probabilities or draws; got str"),
    ("n_clusters", (DRAWS,), {"prior": DRAWS.isel(item=slice(5))}, f"partitions of {plot_cases.N} items; got 5"),
    ("cluster_parameters", (MANY,), {"min_size": 13, "estimate": plot_cases.TRUE}, "min_size must be at most .*, 12"),
    ("cluster_parameters", (MANY,), {"var_names": "many", "estimate": plot_cases.TRUE}, "name at most 30 parameters"),
    ("cluster_sizes", (DRAWS,), {"max_rank": 0}, "max_rank must be"),
    ("cluster_sizes", (DRAWS,), {"max_rank": 1.5}, "max_rank must be"),
    ("cluster_sizes", (DRAWS,), {"max_rank": True}, "max_rank must be"),
    ("cluster_sizes", (DRAWS,), {"ci_prob": 0.3}, "between 0.5 and 1; got 0.3"),
    ("held_out_density", (BALL,), {}, "held_out must be a DataArray, from held_out_density; got Dataset"),
    ("held_out_density", (DRAWS,), {}, "held_out must have the dims n_directions and item; got"),
    ("similarity", (DRAWS,), {"order": "size"}, "order must be estimate or dendrogram; got 'size'"),
    ("similarity", (TOO_MANY_ITEMS,), {}, "at most 5000 items .* got 5001"),
    ("similarity", (DRAWS,), {"names": ["a"]}, "names must have one entry for each of the 27 items; got 1"),
    ("similarity", (DRAWS,), {"estimate": plot_cases.TRUE[:-1]}, "estimate"),
    ("similarity", (NESTED,), {"level": 3}, "level must be a whole number between 1 and 2; got 3"),
    ("similarity", (NESTED,), {}, "h is a nested partition: consensus_tree"),
    ("distance", (DRAWS, plot_cases.TRUE), {"loss": "euclid"}, "loss must be one of"),
    ("distance", (DRAWS, plot_cases.TRUE), {"ci_prob": 95}, "ci_prob must be between 0 and 1; got 95"),
    ("clusters", (None, X), SURE | {"features": list(range(7))}, "features must be at most 6 columns of X; got 7"),
    ("clusters", (None, X), {"estimate": plot_cases.TRUE}, "idata must be given"),
    ("clusters", (DRAWS, X[:5]), {"estimate": plot_cases.TRUE}, "one row for each of the 27 items"),
    ("clusters", (None, X[:, :2]), SURE | {"uncertainty": np.full(plot_cases.N, 2.0)}, "uncertainty must be"),
    ("credible_ball", (BALL.drop_vars("horizontal"),), {}, "lacks horizontal"),
    ("credible_ball", (BALL, X[:, :3]), {}, "one or two features; got 3"),
    ("density", (DENSITY.isel(point=slice(5)),), {}, "rectangular grid"),
    ("density", (DENSITY,), {"data": np.zeros(4)}, "data must have 2 features"),
    ("density", (DENSITY.assign_coords(x_2=("point", DENSITY["x_0"].values)),), {}, "one or two features; got 3"),
    ("density", (xr.Dataset(),), {}, "variable density"),
    ("dendrogram", dendrogram, {"names": ["a", "b"]}, "names must have .* each of the 12 items; got 2"),
    ("dendrogram", dendrogram, {"gains": GAINS[:-1]}, "gains must be 23 finite numbers of at least 0"),
    ("dendrogram", dendrogram, {"gains": -GAINS}, "gains must be 23 finite numbers of at least 0"),
    ("dendrogram", dendrogram, {"gains": np.full(23, np.inf)}, "gains must be 23 finite numbers of at least 0"),
    ("prior_partition", ({}, 9), {}, "measures must be a measure or a mapping of names to measures; got {}"),
    ("prior_partition", ([DP], 9), {}, "measures must be a measure or a mapping"),
    (
        "prior_partition",
        ({"DP": nrm.DirichletProcess}, 9),
        {},
        "must map names to measures such as .*; got 'DP': <class",
    ),
    ("prior_partition", ({1: DP}, 9), {}, "measures must map names to measures"),
    ("prior_partition", (nrm.DirichletProcess(0.0), 9), {}, "alpha of .* must be finite and above 0; got 0.0"),
    ("prior_partition", (DP, 9), {"n_draws": 1}, "n_draws must be a whole number of at least 10; got 1"),
    ("prior_partition", (DP, 9), {"max_rank": 0}, "max_rank must be a whole number of at least 1; got 0"),
    ("prior_partition", (DP, 9), {"random_seed": "x"}, "random_seed must be None, a whole number"),
    ("prior_partition", elicited, {}, "n must be 9, .* n = 8 and 'elicited'"),
    ("nodes_by_level", (NESTED,), {"prior": DRAWS.expand_dims("level")}, "2 levels of 27 items; got 1 levels of 27"),
    *rows_of_wings("WRONG_PICTURES", "pictures").values(),
]


test_wrong_arguments = refused(
    lambda name, args, kwargs: plot_named(f"plot_{name}")(
        *(args() if callable(args) else args), backend="none", **kwargs
    ),
    *ERRORS,
    error=(TypeError, ValueError),
)
