"""Draws of a partition, made without sampling, and a smoke test on every backend that is installed."""

import importlib.util
import warnings

import numpy as np
import xarray as xr

TRUE = np.repeat([0, 1, 2, 3], [12, 8, 6, 1])
BACKENDS = ("matplotlib", "plotly", "bokeh")


def in_order(labels):
    """Labels renamed in order of appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype="int64")
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def make_draws(n_chains=2, n_draws=40, seed=1):
    rng = np.random.default_rng(seed)
    values = np.empty((n_chains, n_draws, len(TRUE)), dtype="int64")
    for chain in range(n_chains):
        for draw in range(n_draws):
            moved = rng.random(len(TRUE)) < 0.15
            values[chain, draw] = in_order(np.where(moved, rng.integers(6, size=len(TRUE)), TRUE))
    coords = {"chain": np.arange(n_chains), "draw": np.arange(n_draws), "item": [f"item {i}" for i in range(len(TRUE))]}
    return xr.DataArray(values, dims=("chain", "draw", "item"), coords=coords, name="z")


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


def result(draws):
    return xr.DataTree.from_dict({"posterior": xr.Dataset({"z": draws})})


def smoke(plot, *args, backends=BACKENDS, tmp_path=None, **kwargs):
    """Draw on all backends that are installed; with matplotlib, without a warning and with nothing cut off."""
    for backend in backends:
        if importlib.util.find_spec(backend) is None:
            continue
        if backend == "matplotlib":
            import matplotlib

            matplotlib.use("Agg")
        collection = plot(*args, backend=backend, **kwargs)
        if backend == "matplotlib":
            figure = collection.viz["figure"].item()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                figure.canvas.draw()
                check_inside(figure)
            matplotlib.pyplot.close(figure)


def check_inside(figure):
    """Check that no text is cut off."""
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    tolerance = 0.002
    assert box.x0 >= -tolerance and box.y0 >= -tolerance
    assert box.x1 <= width + tolerance and box.y1 <= height + tolerance
