"""Faults of block models that a comparison with the model finds."""

import numpy as np
import pymc as pm

import pymc_nrm as nrm
from pymc_nrm.networks import BlockModel, BlockSampler
from pymc_nrm.networks.steps import block_target
from pymc_nrm.steps import target

A = np.array([[0, 1, 0, np.nan], [1, 0, 1, 1], [0, 1, 0, 0], [np.nan, 1, 0, 0]])


def network():
    z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
    BlockModel("ties", z, nrm.BernoulliBeta(0.3, 0.4), observed=A, directed=False)
    return [BlockSampler([z])]


def corrected():
    z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
    BlockModel(
        "ties", z, nrm.PoissonGamma(0.3, 0.4), observed=3 * np.nan_to_num(A), directed=False, degree_corrected=0.5
    )
    return [BlockSampler([z])]


def table():
    z, w = (nrm.Partition(name, nrm.DirichletProcess(1.0), n=4) for name in "zw")
    BlockModel("visits", (z, w), nrm.BernoulliBeta(0.3, 0.4), observed=A)
    return [BlockSampler([z]), BlockSampler([w])]


def network_and_potential():
    [step] = network()
    z = pm.modelcontext(None)["z"]
    pm.Potential("odd", (z * np.array([0.1, 0.9, -0.4, 0.3])).sum())
    return [BlockSampler([z])] if step else []


def with_gaps_as_values(patch):
    layer_of = block_target.layer_of

    def counted(*arguments):
        layer = layer_of(*arguments)
        layer.rows[-1] = layer.rows[0]
        return layer

    patch.setattr(block_target, "layer_of", counted)


def without_degrees(patch):
    patch.setattr(block_target, "degrees_of", lambda pairs: np.zeros((pairs.shape[0], 1)))


def without_check_of_uses(patch):
    patch.setattr(target, "check_uses", lambda *rest: None)


# What puts the fault back, a model, and the step that would sample another distribution.
COMPARED = {
    "gaps of networks": (with_gaps_as_values, network, "BlockSampler"),
    "gaps of tables": (with_gaps_as_values, table, "BlockSampler"),
    "degrees": (without_degrees, corrected, "BlockSampler"),
    "network and potential": (without_check_of_uses, network_and_potential, "BlockSampler"),
}
# Steps do not refuse these models without the fault.
SOUND = {"gaps of networks": None, "gaps of tables": None, "degrees": None}
