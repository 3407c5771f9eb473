"""With weights, which components are near each other says nothing about the tree."""

import numpy as np
import pymc as pm
import pytest

import pymc_nrm as nrm
from pymc_nrm.testing import mean_and_error

CLUSTER = np.repeat([0, 1, 2], 3)
NEAR, FAR = np.ix_(CLUSTER == 0, CLUSTER == 1), np.ix_(CLUSTER == 0, CLUSTER == 2)
DEPTH, CHAINS, DRAWS = 2, 4, 1500


def draws_of(model, name):
    """Values after each draw of the step, shape (chains, draws, n, columns)."""
    with model:
        step = nrm.NestedGibbs([model[name]], rng=1)
    draws = []
    for rng in np.random.default_rng(20200207).spawn(CHAINS):
        step.setup_chain(rng, 0, DRAWS)
        point = model.initial_point()
        for _ in range(DRAWS):
            point, _ = step.step(point)
            draws.append(point[name])
    return np.array(draws).reshape(CHAINS, DRAWS, *draws[0].shape)[:, 100:]


def shares(paths):
    """Whether near pairs and far pairs share a node, on average over pairs, by draw and level."""
    together = paths[..., :, None, :] == paths[..., None, :, :]
    return [together[..., *pairs, :].mean(axis=(2, 3)) for pairs in (NEAR, FAR)]


@pytest.mark.slow
def test_with_weights_near_components_are_as_far_as_others():
    kinds = np.zeros((3, 16))
    kinds[1, :5], kinds[2] = 1, 1
    weights = nrm.HierarchicalDirichletProcess(1.15, 1.0)
    with pm.Model() as model:
        h = nrm.NestedPartition("h", nrm.DirichletProcess(0.5), DEPTH, weights, n=9)
        nrm.Mixture("x", h, nrm.BernoulliBeta(0.2, 0.2), observed=kinds[CLUSTER])
    draws = draws_of(model, "h")
    near, far = shares(draws[..., :DEPTH])
    # The proposition holds given the components.
    known = (draws[..., -1] == CLUSTER).all(axis=-1)[..., None]
    assert known.mean() > 0.5
    mean, error, _ = mean_and_error(np.where(known, near - far, 0.0))
    assert (error > 0.0).all() and (error < 0.03).all()
    assert (np.abs(mean) < 4.5 * error).all()
