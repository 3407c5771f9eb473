"""Joint distribution tests of nested partitions: redrawing data between steps leaves the prior invariant."""

import numpy as np
import pymc as pm
import pytest

import pymc_nrm as nrm
from pymc_nrm.testing import geweke, largest_z
from pymc_nrm.testing.forward import _default_functionals
from tests.helpers import IgnoresData


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


MODELS = {
    "diffusion": (diffusion_model, "t", ["y within t, level_1", "y within t, level_2"]),
    "weights": (model_with_weights, "h", ["x within h, table_0"]),
    "known groups": (model_with_known_groups, "h", ["x within h, table_0"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_step_that_ignores_the_data_is_found(name):
    make_model, partition, expected = MODELS[name]
    model = make_model()
    with pm.do(model, {rv.name: 1.0 for rv in model.free_RVs if rv.ndim == 0}) as model:
        step = IgnoresData([model[partition]], pm.draw(model[partition], 4000, random_seed=2))
        scores = geweke(model, draws=1000, tune=0, chains=4, step=step, random_seed=1)
    limit = largest_z((4, 1000), len(scores))
    assert all(abs(scores.pop(title)) > limit for title in expected)
    assert max(abs(score) for title, score in scores.items() if " within " not in title) < limit


@pytest.mark.parametrize("name", MODELS)
def test_every_random_column_has_a_functional_of_pairs(name):
    make_model, partition, expected = MODELS[name]
    functionals = _default_functionals(make_model())
    columns = {title.split(": ")[1] for title in functionals if title.startswith(f"{partition}: ") and "," not in title}
    assert {title.split(", ")[1] for title in functionals if " within " in title} == columns
    assert set(expected) <= set(functionals)
