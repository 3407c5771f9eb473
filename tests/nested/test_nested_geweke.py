"""Joint distribution tests of nested partitions: redrawing data between steps leaves the prior invariant."""

import numpy as np
import pymc as pm
import pytest

import pymc_nrm as nrm
from pymc_nrm.testing import geweke, largest_z


def diffusion_model():
    """Diffusion down a tree of random shape, with steps of random size."""
    with pm.Model() as model:
        alpha, tau = pm.Gamma("alpha", 2, 2), pm.LogNormal("tau", 0, 0.5)
        t = nrm.nested.NestedPartition("t", nrm.DirichletProcess(alpha), 2, n=6)
        family = nrm.nested.NormalDiffusion([0.0, 1.0], tau * np.array([2.0, 1.0, 0.5]), np.eye(2), 5.0)
        nrm.Mixture("y", t, family, shape=(6, 2))
    return model


def model_with_weights():
    """The published model, with random concentrations of the tree and of the weights."""
    with pm.Model() as model:
        alpha, gamma, gamma_0 = pm.Gamma("alpha", 2, 2), pm.Gamma("gamma", 3, 3), pm.Gamma("gamma_0", 3, 2)
        weights = nrm.nested.HierarchicalDirichletProcess(gamma, gamma_0)
        h = nrm.nested.NestedPartition("h", nrm.DirichletProcess(alpha), 2, weights, n=6)
        nrm.Mixture("x", h, nrm.PoissonGamma(1.5, 0.5), shape=(6, 2))
    return model


def model_with_known_groups():
    """The hierarchical Dirichlet process over groups of groups, with random concentrations."""
    with pm.Model() as model:
        gamma, gamma_0 = pm.Gamma("gamma", 3, 3), pm.Gamma("gamma_0", 3, 2)
        weights = nrm.nested.HierarchicalDirichletProcess(gamma, gamma_0)
        groups = [["a", 0], ["a", 1], ["b", 0], ["a", 1], ["b", 0], ["b", 0]]
        h = nrm.nested.NestedPartition("h", weights=weights, paths=groups)
        nrm.Mixture("x", h, nrm.PoissonGamma(1.5, 0.5), shape=(6, 2))
    return model


@pytest.mark.slow
@pytest.mark.parametrize("make_model", [diffusion_model, model_with_weights, model_with_known_groups])
def test_nested_partition(make_model):
    scores = geweke(make_model(), draws=4000, tune=500, chains=4, random_seed=4)
    assert len(scores) > 8
    assert max(map(abs, scores.values())) < largest_z((4, 4000), len(scores)), scores
