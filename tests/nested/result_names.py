"""Results of nested partitions by the dimension of the items."""

import functools

import pymc as pm

import pymc_nrm as nrm
from tests.tools.four_items import COUNTS, THINGS, new_items, tree_of


@functools.cache
def nested(items):
    with pm.Model(coords={items: THINGS}) as model:
        h = nrm.nested.NestedPartition("h", nrm.DirichletProcess(1.0), 2, dims=items)
        nrm.Mixture(
            "x", h, nrm.nested.NormalDiffusion(0.0, [1.0, 0.5, 0.3], [[1.0]], 4.0), observed=COUNTS[:, :1].astype(float)
        )
    return model


OF_ITEMS = {"clade_probability": lambda *at: nrm.nested.clade_probability(tree_of(*at), ["p", "q"])}
OF_NEW_ITEMS = {
    "cluster_probabilities, nested": lambda *at: nrm.cluster_probabilities(
        tree_of("thing").to_dataset(), nested("thing"), new_items(*at).astype(float), progressbar=False
    )
}
