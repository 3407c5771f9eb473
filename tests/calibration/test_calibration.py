"""Ranks of the truth among posterior draws are uniform, for every family and step, hyperpriors included."""

import functools

import numpy as np
import pytest

import pymc_nrm as nrm
from tests.calibration.chains import KEPT, Calibration
from tests.calibration.models import DENSITY_REGRESSION, FAMILIES, OF_WINGS, make_model
from tests.calibration.uniformity import band, distribution_function, p_value

REPLICATIONS = 300
LEVEL = 1e-4

# Every family with TreeGuided, and every other step with a family of its own: tests/exact has all pairs.
OTHER_STEPS = (nrm.steps.SplitMerge, nrm.steps.MarginalGibbs, nrm.steps.SliceSampler)
ROWS = [
    *[(kind, nrm.steps.TreeGuided) for kind in (*FAMILIES, DENSITY_REGRESSION)],
    *[(kind, step) for kind, (_, step, _) in OF_WINGS.items()],
    *zip(("NormalGamma", "NormalWishart", "PoissonGamma"), OTHER_STEPS, strict=True),
]


@functools.cache
def calibration(kind):
    return Calibration(make_model(kind), *(OF_WINGS[kind][2] if kind in OF_WINGS else []))


def p_values(kind, step):
    ranks, _ = calibration(kind).ranks(step, REPLICATIONS, seed=1)
    return {name: p_value(ranks[:, k], KEPT + 1) for k, name in enumerate(calibration(kind).names)}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "step"), ROWS)
def test_ranks_are_uniform(kind, step):
    found = p_values(kind, step)
    assert min(found.values()) > LEVEL, found


def test_uniform_ranks_stay_inside_the_band():
    rng = np.random.default_rng(1)
    share, lower, upper = band(REPLICATIONS, KEPT + 1)
    inside, small = [], []
    for _ in range(1000):
        ranks = rng.integers(0, KEPT + 1, size=REPLICATIONS)
        difference = distribution_function(ranks, KEPT + 1) / REPLICATIONS - share
        inside.append(((difference >= lower - 1e-9) & (difference <= upper + 1e-9)).all())
        small.append(p_value(ranks, KEPT + 1) < 0.05)
    assert abs(np.mean(inside) - 0.95) < 4.0 * np.sqrt(0.95 * 0.05 / 1000)
    assert abs(np.mean(small) - 0.05) < 4.0 * np.sqrt(0.95 * 0.05 / 1000)


def test_ranks_that_pile_up_are_found():
    ranks = np.random.default_rng(1).binomial(KEPT, 0.5, size=REPLICATIONS)
    assert p_value(ranks, KEPT + 1) < LEVEL
