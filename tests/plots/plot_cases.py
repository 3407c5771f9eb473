"""Draws, data and trees for plots, made without sampling."""

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.moves.guide_trees.tree import build_tree, cut_tree
from pymc_nrm.trees import Dendrogram
from tests.helpers import in_order

TRUE = np.repeat([0, 1, 2, 3], [12, 8, 6, 1])
N = len(TRUE)
PRIORS = {
    "DP": nrm.DirichletProcess(1),
    "DP, unknown alpha": nrm.DirichletProcess(pm.Gamma.dist(2, 1)),
    "NIG": nrm.NormalizedInverseGaussian(0.2),
}


def make_draws(n_chains=2, n_draws=40, seed=1):
    rng = np.random.default_rng(seed)
    values = np.empty((n_chains, n_draws, len(TRUE)), dtype="int64")
    for chain in range(n_chains):
        for draw in range(n_draws):
            moved = rng.random(len(TRUE)) < 0.15
            values[chain, draw] = in_order(np.where(moved, rng.integers(6, size=len(TRUE)), TRUE))
    coords = {"chain": np.arange(n_chains), "draw": np.arange(n_draws), "item": [f"item {i}" for i in range(len(TRUE))]}
    return xr.DataArray(values, dims=("chain", "draw", "item"), coords=coords, name="z")


def make_sequences():
    """Draws of hidden states of three sequences."""
    return make_draws().assign_attrs(sequence_starts=[0, 12, 20])


def make_categories():
    """A column with a gap, one of ten levels, and one of numbers."""
    kind = np.where(np.arange(N) % 3 == 0, "b", "a").astype(object)
    kind[1] = None
    levels = pd.Categorical([f"level {k}" for k in np.repeat(np.arange(10), 3)[:N]])
    return pd.DataFrame({"kind": kind, "level": levels, "number": np.arange(N)})


def make_nested_draws(n_chains=2, n_draws=40, seed=1):
    """Draws of a nested partition with two levels: the true clusters, and halves of them."""
    draws = make_draws(n_chains, n_draws, seed)
    halves = 2 * draws + (np.arange(len(TRUE)) % 2)
    attrs = {"nested_partition": 2}
    return xr.concat([draws, halves], "column").transpose(*draws.dims, "column").assign_attrs(attrs).rename("h")


def make_slot_draws(n_draws=40):
    """Draws of a partition into 12 slots, and of a slope and of two effects for each slot."""
    rng = np.random.default_rng(3)
    draws = make_draws(n_draws=n_draws)
    slots, shape = draws.copy(), draws.shape[:2]
    truth = {"slope": np.array([-1.0, 0.0, 2.0, 5.0]), "effect": np.array([[0.0, 10.0], [1, 30], [2, 20], [3, 0]])}
    spread = {"slope": 0.3, "effect": np.array([0.2, 4.0])}
    variables = {name: rng.normal(size=(*shape, 12, *value.shape[1:])) for name, value in truth.items()}
    for chain, draw in np.ndindex(shape):
        place = rng.permutation(12)
        slots.values[chain, draw] = place[draws.values[chain, draw]]
        for name, value in truth.items():
            for slot in range(draws.values[chain, draw].max() + 1):
                own = value[np.bincount(TRUE[draws.values[chain, draw] == slot]).argmax()]
                variables[name][chain, draw, place[slot]] = own + spread[name] * rng.normal(size=own.shape)
    slots.attrs["partition"] = "z"
    dims = {"slope": ("chain", "draw", "slot"), "effect": ("chain", "draw", "slot", "covariate")}
    data = {name: (dims[name], values, {"slots_of": "z"}) for name, values in variables.items()}
    posterior = xr.Dataset({"z": slots, **data}, coords={"covariate": ["age", "dose"]})
    return xr.DataTree.from_dict({"posterior": posterior})


def make_data(d):
    rng = np.random.default_rng(2)
    return rng.normal(size=(len(TRUE), d)) + 8.0 * rng.normal(size=(4, d))[TRUE]


def make_ball():
    coarse, fine = np.minimum(TRUE, 1), np.arange(N)
    return xr.Dataset(
        {
            "center": ("item", TRUE),
            "horizontal": (("horizontal_tie", "item"), np.stack([fine[::-1], TRUE])),
            "upper_vertical": (("upper_vertical_tie", "item"), coarse[None]),
            "lower_vertical": (("lower_vertical_tie", "item"), fine[None]),
            "upper_vertical_distance": ("upper_vertical_tie", [0.5]),
            "radius": 1.25,
        },
        attrs={"base": 2},
    )


def make_estimates():
    """Two partitions with their shares: the true one, and one in which an item of cluster 0 is in cluster 1."""
    moved = TRUE.copy()
    moved[0] = 1
    return xr.Dataset({"labels": (("clustering", "item"), [TRUE, moved]), "share": ("clustering", [0.7, 0.3])})


def normal_density(d, n_draws=50):
    rng = np.random.default_rng(4)
    shift = rng.normal(0.0, 0.1, n_draws)
    if d == 1:
        grid = np.linspace(-4, 4, 81)
        coords = {"point": grid}
        values = [np.exp(-0.5 * (grid - s) ** 2) / np.sqrt(2 * np.pi) for s in shift]
    else:
        x, y = (axis.ravel() for axis in np.meshgrid(np.linspace(-4, 4, 61), np.linspace(-5, 5, 71), indexing="ij"))
        coords = {"x_0": ("point", x), "x_1": ("point", y)}
        values = [np.exp(-0.5 * ((x - s) ** 2 + y**2)) / (2 * np.pi) for s in shift]
    values = np.reshape(values, (2, n_draws // 2, -1))
    return xr.Dataset({"density": (("chain", "draw", "point"), values)}, coords=coords, attrs={"kind": "density"})


def dendrogram_of(merges, log_d):
    tree = build_tree(merges, log_d)
    nothing = np.zeros(len(tree.parent))
    return Dendrogram(tree, cut_tree(tree), nothing, nothing, 0.0, 0.0)


def clustered(n_clusters):
    """A dendrogram whose clusters have four items each, at places that are mixed."""
    items = np.random.default_rng(3).permutation(4 * n_clusters).reshape(n_clusters, 4)
    merges, log_d, roots = [], [], []
    for first, *others in items:
        root = first
        for item in others:
            merges.append((root, item))
            root = len(items.ravel()) + len(merges) - 1
        roots.append(root)
        log_d += [-3.0, -2.0, -1.0]
    root = roots[0]
    for k, other in enumerate(roots[1:]):
        merges.append((root, other))
        root = len(items.ravel()) + len(merges) - 1
        log_d.append(1.0 + k)
    return dendrogram_of(merges, log_d)


def result(draws):
    return xr.DataTree.from_dict({"posterior": xr.Dataset({"z": draws})})
