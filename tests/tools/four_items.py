"""Draws of a partition of four items, with dimensions of any names."""

import numpy as np
import xarray as xr

LABELS = np.array([[[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 1, 2]], [[0, 0, 1, 1]] * 4])
ESTIMATE, COUNTS = np.array([0, 0, 1, 1]), np.array([[0, 1], [1, 0], [7, 2], [6, 9]])
THINGS = ["p", "q", "r", "s"]
QUIET = {"random_seed": 1, "progressbar": False}


def draws_of(items, further=None):
    """Draws of four items, with a further coordinate along them."""
    coords = {items: THINGS} | ({} if further is None else {further: (items, list("ABCD"))})
    return xr.Dataset({"z": (("chain", "draw", items), LABELS, {"sequence_starts": [0]})}, coords)


def tree_of(items, further=None):
    paths = np.stack([LABELS, np.broadcast_to(np.arange(4), LABELS.shape)], axis=-1)
    draws = draws_of(items, further)["z"]
    return xr.DataArray(paths, dims=(*draws.dims, "h_column"), coords=draws.coords, name="h").assign_attrs(
        nested_partition=2
    )


def new_items(items, further=None):
    """Data of two new items along a dimension."""
    coords = {items: ["u", "v"]} | ({} if further is None else {further: (items, ["A", "B"])})
    return xr.DataArray([1, 7], dims=items, coords=coords)
