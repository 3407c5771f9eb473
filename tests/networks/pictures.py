"""Pictures of networks and tables."""

import numpy as np
import pymc as pm
import xarray as xr

import pymc_nrm as nrm
from tests.plots.plot_cases import TRUE, N, make_draws


def make_network(names=False):
    """Draws and model of a network with two pairs that were not observed."""
    rng = np.random.default_rng(1)
    A = np.triu(rng.random((N, N)) < np.where(TRUE[:, None] == TRUE, 0.5, 0.1), 1).astype(float)
    A = A + A.T
    A[0, 1] = A[1, 0] = np.nan
    with pm.Model(coords={"item": [f"node {i}" for i in range(N)] if names else range(N)}) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="item")
        nrm.networks.BlockModel("ties", z, nrm.BernoulliBeta(1.0, 1.0), observed=A)
    draws = make_draws(n_draws=10).drop_vars("item")
    return draws.to_dataset().assign_coords(item=list(model.coords["item"])), model


def make_table():
    """Draws and model of a table of real numbers."""
    rng = np.random.default_rng(2)
    X = np.kron([[2.0, -1.0], [0.0, 3.0]], np.ones((5, 4))) + rng.normal(size=(10, 8))
    with pm.Model() as model:
        partitions = [nrm.Partition(name, nrm.DirichletProcess(1.0), n=n) for name, n in (("rows", 10), ("columns", 8))]
        nrm.networks.BlockModel("x", tuple(partitions), nrm.NormalGamma(0.0, 0.1, 2.0, 1.0), observed=X)
    draws = {"rows": (("chain", "draw", "row"), [[np.arange(10) // 5] * 5])}
    draws["columns"] = (("chain", "draw", "column"), [[np.arange(8) // 4] * 5])
    return xr.Dataset(draws), model


PLT = ("matplotlib",)
PICTURES = {
    "blocks": (make_network, {"estimate": TRUE}, PLT),
    "blocks_1": (make_table, {"intervals": False}, PLT),
    "blocks_2": (lambda: make_network(names=True), {"estimate": np.arange(N) % 9}, PLT),
}
