"""Slices of a density on the real line: the law of one transition, and starts that are improbable."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.stats import norm

import pymc_nrm as nrm
from pymc_nrm.families.learned.draws import slice_sample
from tests.helpers import assert_means


class Normal(NamedTuple):
    """The standard normal density."""

    unused: Any = 0.0

    def log_height(self, x):
        return -0.5 * x * x


@pytest.mark.parametrize("width", [0.2, 2.0])
def test_a_transition_from_an_exact_draw_is_reversible(width):
    # Most slices are longer than ten widths of 0.2.
    rng = np.random.default_rng(1)
    x = rng.normal(size=(4, 10_000))
    y = np.array([slice_sample(rng, Normal(), start, width) for start in x.ravel()]).reshape(x.shape)
    even = {"square": y**2, "fourth power": y**4, "distance": np.abs(y)}
    odd = {"value": y, "swap": x * y**2 - y * x**2, "swap of ranks": norm.cdf(y) * norm.cdf(x) ** 2}
    odd["swap of ranks"] = odd["swap of ranks"] - norm.cdf(x) * norm.cdf(y) ** 2
    expected = dict.fromkeys(odd, 0.0) | {"square": 1.0, "fourth power": 3.0, "distance": np.sqrt(2.0 / np.pi)}
    assert_means(odd | even, expected)


@pytest.mark.slow
def test_hyperparameters_do_not_run_away_from_an_improbable_start():
    # The law of a single cluster of as many features has its mass at an excess near 1000, and chains start at 7.
    with nrm.gaussian_mixture(np.random.default_rng(2).normal(size=(200, 30))) as model:
        step = nrm.steps.LearnedGibbs(n_sweeps=1, rng=3)
    start = model.initial_point(random_seed=1)
    found = [step.step(start)[0]["x_excess_log__"] for _ in range(40)]
    assert np.exp(max(found)) < 1e5
