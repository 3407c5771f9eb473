"""Learned priors of tree families: what leaves them unchanged, and what they refuse."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import pymc_nrm as nrm

X = np.random.default_rng(1).normal(size=(12, 3)) @ [[2.0, 1.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 0.2]]
PATHS = np.array([[0, 0], [0, 0], [1, 1], [1, 2], [0, 3], [0, 0], [2, 4], [1, 1], [0, 3], [1, 2], [2, 4], [0, 5]])
FAMILIES = [nrm.NormalDiffusion, nrm.IndependentNormalDiffusion]


def log_density(family_class, X, seed):
    """Log-probability at a fixed tree, and at hyperparameters that depend on the seed alone."""
    with pm.Model() as model:
        t = nrm.NestedPartition("t", nrm.DirichletProcess(1.0), depth=2, n=len(X))
        nrm.Mixture("x", t, family_class.learned("x", X, depth=2), observed=X)
    point = dict(model.initial_point())
    rng = np.random.default_rng(seed)
    for name in point:
        point[name] = PATHS if name == "t" else rng.normal(0.5, 0.5, size=np.shape(point[name]))
    return model.compile_logp(mode="FAST_COMPILE")(point)


@pytest.mark.parametrize("family_class", FAMILIES)
def test_other_units_change_nothing(family_class):
    scale = np.array([1000.0, 1.0, 0.01])
    here = log_density(family_class, X, 1)
    there = log_density(family_class, X * scale + [5.0, -3.0, 1e4], 1)
    assert np.isfinite(here)
    np.testing.assert_allclose(there, here - len(X) * np.log(scale).sum(), atol=1e-5)


def test_names_and_coordinates():
    with pm.Model() as model:
        family = nrm.NormalDiffusion.learned("y", pd.DataFrame(X, columns=["a", "b", "c"]), depth=2)
    assert model.coords["y_level"] == ("level_1", "level_2")
    assert model.coords["y_feature"] == ("a", "b", "c")
    tau = pm.draw(family.tau, random_seed=1)
    assert tau.shape == (3,)
    np.testing.assert_allclose(tau[0], tau[1:].sum())


@pytest.mark.parametrize("family_class", FAMILIES)
def test_bad_input(family_class):
    with pm.Model():
        with pytest.raises(ValueError, match="depth must be a whole number"):
            family_class.learned("x", X, depth=0)
        with pytest.raises(ValueError, match=r"columns \[1\] are constant"):
            family_class.learned("y", np.column_stack([X[:, 0], np.ones(12)]), depth=2)
        with pytest.raises(ValueError, match="no NaN"):
            family_class.learned("z", np.where(X > 3.0, np.nan, X), depth=2)
