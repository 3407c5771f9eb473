"""Wrong arguments of plots: the message names the argument."""

import functools

import numpy as np
import plot_cases
import pytest
import xarray as xr
from helpers import refused

from pymc_nrm import plots
from pymc_nrm.measures import DirichletProcess
from pymc_nrm.recipes.elicitation import elicit
from pymc_nrm.stats import nested_point_estimate

pytest.importorskip("arviz_plots")
DRAWS, NESTED, DP = plot_cases.make_draws(), plot_cases.make_nested_draws(), DirichletProcess(1.0)
X, BALL, IMAGES = plot_cases.make_data(7), plot_cases.make_ball(), np.ones((plot_cases.N, 2, 3))
DENSITY = plot_cases.normal_density(2)
MANY = plot_cases.make_slot_draws()["posterior"].to_dataset()
MANY["many"] = (("chain", "draw", "slot", "term"), np.zeros((2, 40, 12, 31)))
TOO_MANY_ITEMS = xr.DataArray(np.zeros((1, 1, 5001), dtype=int), dims=("chain", "draw", "i"))
GAINS = np.linspace(0.0, 1.0, 23)
SURE = {"estimate": plot_cases.TRUE, "uncertainty": False}


@functools.cache
def dendrogram():
    return (plot_cases.clustered(3),)


@functools.cache
def tree():
    return (nested_point_estimate(NESTED, random_seed=1),)


def elicited():
    return {"elicited": elicit(DirichletProcess, 9, 3)}, 8


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
    ("held_out_density", (DRAWS,), {}, "held_out must have the dims n_components and item; got"),
    ("similarity", (DRAWS,), {"order": "size"}, "order must be estimate or dendrogram; got 'size'"),
    ("similarity", (TOO_MANY_ITEMS,), {}, "at most 5000 items .* got 5001"),
    ("similarity", (DRAWS,), {"names": ["a"]}, "names must have one entry for each of the 27 items; got 1"),
    ("similarity", (DRAWS,), {"estimate": plot_cases.TRUE[:-1]}, "estimate"),
    ("similarity", (NESTED,), {"level": 3}, "level must be a whole number between 1 and 2; got 3"),
    ("similarity", (NESTED,), {}, "h is a nested partition: consensus_tree"),
    ("distance", (DRAWS, plot_cases.TRUE), {"loss": "euclid"}, "loss must be one of"),
    ("distance", (DRAWS, plot_cases.TRUE), {"probability": 95}, "probability must be between 0 and 1; got 95"),
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
    ("prior_partition", ({"DP": DirichletProcess}, 9), {}, "must map names to measures such as .*; got 'DP': <class"),
    ("prior_partition", ({1: DP}, 9), {}, "measures must map names to measures"),
    ("prior_partition", (DirichletProcess(0.0), 9), {}, "alpha of .* must be finite and above 0; got 0.0"),
    ("prior_partition", (DP, 9), {"n_draws": 1}, "n_draws must be a whole number of at least 10; got 1"),
    ("prior_partition", (DP, 9), {"max_rank": 0}, "max_rank must be a whole number of at least 1; got 0"),
    ("prior_partition", (DP, 9), {"random_seed": "x"}, "random_seed must be None, a whole number"),
    ("prior_partition", elicited, {}, "n must be 9, .* n = 8 and 'elicited'"),
    ("tree", tree, {"collapse": 1}, "collapse must be True or False; got 1"),
    ("tree", tree, {"composition": plot_cases.TRUE[1:]}, r"must have shape \(27,\) or \(27, K\); got shape \(26,\)"),
    ("tree", tree, {"composition": np.eye(4)[plot_cases.TRUE] * 2}, "must have shares of at least 0 whose sum is 1"),
    ("tree", tree, {"composition": np.arange(plot_cases.N)}, "composition must have at most 8 classes; got 27"),
    ("tree", tree, {"images": {99: IMAGES[0]}}, "images must be of nodes from 0 to .*; got 99"),
    ("tree", tree, {"images": IMAGES[1:]}, r"must have shape \(27, height, width\); got shape \(26, 2, 3\)"),
    ("tree", tree, {"images": {0: np.zeros(3)}}, r"images must have two axes, .*; got shape \(3,\)"),
    ("tree", tree, {"var_name": "h"}, "var_name must be None with a tree; got 'h'"),
    ("tree", tree, {"names": ["a", "b"]}, "names must have one entry for each of the 27 items; got 2"),
    ("nodes_by_level", (NESTED,), {"prior": DRAWS.expand_dims("level")}, "2 levels of 27 items; got 1 levels of 27"),
]


test_wrong_arguments = refused(
    lambda name, args, kwargs: getattr(plots, f"plot_{name}")(
        *(args() if callable(args) else args), backend="none", **kwargs
    ),
    *ERRORS,
    error=(TypeError, ValueError),
)
