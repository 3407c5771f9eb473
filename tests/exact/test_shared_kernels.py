"""Draws of kernels that see families behind addresses equal the draws of the same kernels compiled for each family."""

import numpy as np
import pymc as pm
import pytest

import pymc_nrm as nrm
from pymc_nrm.families.erased.shared_kernel import SharedKernel
from pymc_nrm.kernels.generic import Kernel
from tests.cases import FAMILIES
from tests.helpers import mixture_of
from tests.tools.wings import rows_of_wings

STEPS = (nrm.steps.TreeGuided, nrm.steps.SplitMerge, nrm.steps.MarginalGibbs, nrm.steps.SliceSampler)
N_DRAWS = 60
FEW = np.random.default_rng(3).normal(size=(30, 2)) + np.repeat([[0.0], [3.0]], 15, axis=0)
GAPS = np.where(np.random.default_rng(4).random(FEW.shape) < 0.1, np.nan, FEW)
NORMAL = nrm.NormalWishart(mu=[1.0, 1.0], kappa=0.1, Psi=np.eye(2), nu=4.0)
KNOWN = np.where(np.arange(30) % 10 == 0, np.arange(30) // 15, -1)


def family_model(name):
    case = FAMILIES[name].large or FAMILIES[name].small
    X = case.X(np.random.default_rng(5)) if callable(case.X) else case.X
    if not isinstance(X, list) and X.ndim == 2 and X.shape[1] == 1:
        X = X[:, 0]
    if isinstance(case.family, list):
        case = dict(zip("ab", case.family, strict=True)), dict(zip("ab", X, strict=True))
        return mixture_of(*case)
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=X.shape[0])
        nrm.Mixture("x", z, case.family, observed=X)
    return model


def three_families():
    families = {"a": NORMAL, "b": nrm.CategoricalDirichlet(1.0, n_levels=2), "c": nrm.PoissonGamma(1.0, 0.5)}
    counts = np.random.default_rng(6).poisson(2.0, size=(30, 2))
    return mixture_of(families, {"a": FEW, "b": counts % 2, "c": counts})


def weighted():
    with pm.Model() as model:
        z = nrm.Partition("z", log_weights=np.log([0.5, 0.3, 0.2]), n=30)
        nrm.Mixture("x", z, NORMAL, observed=FEW)
    return model


MODELS = {
    "together": (lambda: mixture_of(NORMAL, FEW, together=np.arange(30) // 2), STEPS),
    "known": (lambda: mixture_of(NORMAL, FEW, known=KNOWN), STEPS),
    "only known": (lambda: mixture_of(NORMAL, FEW, known=KNOWN, only_known=True), STEPS),
    "three families": (three_families, STEPS),
    "gaps": (lambda: mixture_of(NORMAL, GAPS), (nrm.steps.MissingGibbs,)),
    "weighted": (weighted, (nrm.steps.WeightedGibbs,)),
} | rows_of_wings("SHARED")
ROWS = [(name, step) for name in FAMILIES for step in STEPS]
ROWS += [(name, step) for name, (_, steps) in MODELS.items() for step in steps]


def draws(model, step_class):
    """Labels, and log joint densities or missing entries."""
    has_gaps = step_class is nrm.steps.MissingGibbs
    with model:
        step = step_class([model["x_missing" if has_gaps else "z"]], rng=np.random.default_rng(8))
    point, found = model.initial_point(), []
    if has_gaps:
        # The step leaves a default start to the step of the partition.
        point["z"] = np.arange(30) // 15
    for _ in range(N_DRAWS):
        point, [stats] = step.step(point)
        found.append((point["z"].copy(), point["x_missing"].copy() if has_gaps else stats["log_joint"]))
    return map(np.array, zip(*found, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "step"), ROWS)
def test_draws_are_equal(name, step, monkeypatch):
    make = MODELS[name][0] if name in MODELS else lambda: family_model(name)
    labels, values = draws(make(), step)
    monkeypatch.setattr(SharedKernel, "passed", Kernel.passed)
    expected_labels, expected = draws(make(), step)
    np.testing.assert_array_equal(labels, expected_labels)
    # Three families are added in another order.
    np.testing.assert_allclose(values, expected, rtol=1e-13 if name == "three families" else 0.0)
    assert len(np.unique(labels, axis=0)) > 1
