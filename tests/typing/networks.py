"""Networks and two-way tables: models, the step, results and the picture."""

from typing import assert_type

import numpy as np
import pandas as pd
import pymc as pm
import scipy.sparse
import xarray as xr
from arviz_plots.plot_collection import PlotCollection
from pytensor.tensor.variable import TensorVariable

import pymc_nrm as nrm

A = np.kron(np.eye(2, dtype=int), np.ones((3, 3), dtype=int))

with pm.Model() as model:
    z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=6)
    assert_type(nrm.networks.BlockModel("ties", z, nrm.BernoulliBeta(1.0, 1.0), observed=A), TensorVariable)
    nrm.networks.BlockModel("sparse", z, nrm.PoissonGamma(1.0, 1.0), observed=scipy.sparse.csr_array(A), directed=True)
    nrm.networks.BlockModel("counts", z, nrm.PoissonGamma(1.0, 1.0), observed=A, degree_corrected=1.0)
    step = nrm.networks.BlockSampler([z], n_moves=2, n_tree_moves=2, n_trees=1, n_items=6)
    idata = nrm.sample(5, tune=5, chains=1, step=[step], random_seed=1, quiet=True)

assert_type(nrm.networks.block_models(model), list)
assert_type(nrm.networks.block_data(model, "ties"), nrm.networks.BlockData)
estimate = nrm.point_estimate(idata, random_seed=1, progressbar=False)
parameters = nrm.networks.block_parameters(idata, model, estimate, var_name="ties", progressbar=False)
assert_type(parameters, xr.Dataset)
assert_type(nrm.networks.pair_probabilities(idata, model, [[0, 1]], var_name="ties", progressbar=False), xr.Dataset)
assert_type(nrm.networks.plots.plot_blocks(idata, model, estimate, var_name="ties", backend="none"), PlotCollection)

friends = pd.DataFrame(A, list("abcdef"), list("abcdef"))
assert_type(
    nrm.networks.network_model(friends, attributes=pd.DataFrame({"age": [5, 5, 7, 5, 8, 9]}, list("abcdef"))), pm.Model
)
assert_type(nrm.networks.two_way_model(friends.iloc[:4]), pm.Model)
