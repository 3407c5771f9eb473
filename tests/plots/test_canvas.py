"""What all plots share, and that pictures are imported late."""

import inspect
import re

import numpy as np
import pytest
import xarray as xr
from plot_cases import TRUE, make_data, make_draws, make_nested_draws, make_slot_draws

from pymc_nrm import plots
from pymc_nrm.measures import DirichletProcess, NormalizedInverseGaussian
from pymc_nrm.plots.canvas import Canvas
from pymc_nrm.plots.cluster_parameters import plot_cluster_parameters
from pymc_nrm.plots.cluster_sizes import plot_cluster_sizes
from pymc_nrm.plots.clusters import plot_clusters
from pymc_nrm.plots.distance import plot_distance
from pymc_nrm.plots.n_clusters import plot_n_clusters
from pymc_nrm.plots.nodes_by_level import plot_nodes_by_level
from pymc_nrm.plots.partition_trace import plot_partition_trace
from pymc_nrm.plots.prior_partition import plot_prior_partition
from pymc_nrm.plots.similarity import plot_similarity
from pymc_nrm.plots.tree import plot_tree
from pymc_nrm.plots.visuals import bars, integer_ticks, points_dataset, whiskers

azp = pytest.importorskip("arviz_plots")

PRIORS = {"DP": DirichletProcess(1.0), "NIG": NormalizedInverseGaussian(0.2)}
PLOTS = {
    "n_clusters": lambda **kwargs: plot_n_clusters(make_draws(), **kwargs),
    "cluster_parameters": lambda **kwargs: plot_cluster_parameters(make_slot_draws(), estimate=TRUE, **kwargs),
    "cluster_sizes": lambda **kwargs: plot_cluster_sizes(make_draws(), **kwargs),
    "partition_trace": lambda **kwargs: plot_partition_trace(make_draws(), **kwargs),
    "similarity": lambda **kwargs: plot_similarity(make_draws(), order="dendrogram", **kwargs),
    "similarity_of_level": lambda **kwargs: plot_similarity(make_nested_draws(), level=2, **kwargs),
    "nodes_by_level": lambda **kwargs: plot_nodes_by_level(
        make_nested_draws(), prior=make_nested_draws(seed=2), by_chain=True, **kwargs
    ),
    "tree": lambda **kwargs: plot_tree(make_nested_draws(), **kwargs),
    "tree_of_classes": lambda **kwargs: plot_tree(
        make_nested_draws(), composition=TRUE, images={0: np.eye(3)}, **kwargs
    ),
    "distance": lambda **kwargs: plot_distance(make_draws(), TRUE, **kwargs),
    "prior_partition": lambda **kwargs: plot_prior_partition(PRIORS, 9, n_draws=10, random_seed=1, **kwargs),
    "clusters": lambda **kwargs: plot_clusters(None, make_data(2), estimate=TRUE, uncertainty=False, **kwargs),
}


@pytest.mark.parametrize("plot", PLOTS.values(), ids=PLOTS)
def test_every_visual_can_be_left_out(plot):
    drawn = plot(backend="none")
    assert isinstance(drawn, azp.PlotCollection)
    names = set(drawn.viz.children) - {"plot", "row_index", "col_index"}
    assert {"xlabel", "ylabel"} <= names
    for name in names:
        without = plot(backend="none", visuals={name: False}).viz.children
        assert name not in without
    assert not names & set(plot(backend="none", visuals=dict.fromkeys(names, False)).viz.children)
    with pytest.raises(ValueError, match="visuals must be among .*; got nonsense"):
        plot(backend="none", visuals={"nonsense": False})


@pytest.mark.parametrize("name", plots.__all__)
def test_options_are_those_of_all_plots(name):
    plot = getattr(plots, name)
    parameters, text = inspect.signature(plot).parameters, plot.__doc__
    assert list(parameters)[-4:] == ["plot_collection", "backend", "visuals", "pc_kwargs"]
    assert all(f"\n{parameter} : " in text or f", {parameter}" in text for parameter in list(parameters)[1:-1])
    assert "\n**pc_kwargs\n" in text and "**options" not in text and "If arviz-plots is not installed." in text
    listed = re.findall(r"^    \* (.*) -> ", text, re.MULTILINE)
    assert ", ".join(listed).split(", ") == list(plot.visuals)


@pytest.mark.parametrize("plot", [PLOTS["n_clusters"], PLOTS["cluster_sizes"], PLOTS["similarity"]])
def test_into_a_plot_collection_of_the_caller(plot):
    whole = azp.PlotCollection.grid(xr.Dataset({"z": 0.0}), backend="none")
    assert plot(plot_collection=whole) is whole
    assert whole.viz["plot"].item()
    with pytest.raises(ValueError, match="plot_collection must be None .* got figure_kwargs"):
        plot(plot_collection=whole, figure_kwargs={})
    with pytest.raises(ValueError, match="backend must be that of plot_collection, none; got matplotlib"):
        plot(plot_collection=whole, backend="matplotlib")


def test_arguments_of_the_caller_come_first():
    pc = plot_n_clusters(make_draws(), backend="none", visuals={"bars": {"color": "red"}, "xlabel": {"text": "K"}})
    assert {bar["facecolor"] for bar in pc.viz["bars"]["z"].values} == {"red"}
    assert pc.viz["xlabel"]["z"].item()["string"] == "K"
    canvas = Canvas(plot_n_clusters, {"visuals": {"prior": True}, "backend": "none"})
    assert canvas.wants("prior") and canvas.arguments("prior", width=1) == {"width": 1}


def test_size_of_the_figure():
    pc = plot_n_clusters(make_draws(), backend="none", figure_kwargs={"figsize": (300, 200), "figsize_units": "dots"})
    assert pc.viz["figure"].item()["figsize"] == (300, 200)


def test_bars_and_whiskers():
    target = []
    da = xr.DataArray([0.5, 0.25], dims="k", coords={"k": [3, 7]})
    drawn = bars(da, target, width=0.5)
    assert [(float(bar["l_e"][0]), float(bar["r_e"][0]), float(bar["y"][0])) for bar in drawn] == [
        (2.75, 3.25, 0.5),
        (6.75, 7.25, 0.25),
    ]
    line = whiskers(points_dataset("z", x=[1, 2], y_bottom=0, y_top=[3, 4])["z"], target)
    np.testing.assert_array_equal(line["x"], [1, 1, np.nan, 2, 2, np.nan])
    np.testing.assert_array_equal(line["y"], [0, 3, np.nan, 0, 4, np.nan])


def test_integer_ticks(rng):
    for _ in range(200):
        low, high = np.sort(rng.integers(0, 10 ** rng.integers(1, 6), size=2))
        ticks = integer_ticks(low, high)
        assert len(ticks) <= 12 and (ticks >= low).all() and (ticks <= high).all()
        if high > low + 2:
            assert len(ticks) >= 2 or high - low < 12
        assert len(set(np.diff(ticks))) <= 1
