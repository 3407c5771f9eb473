"""Loops of kernels end for every argument, and draws after a bounded number of proposals have the same distribution."""

import math
from typing import NamedTuple

import numpy as np
import pymc as pm
import pytest

import pymc_nrm as nrm
from pymc_nrm.families.learned.draws import slice_sample
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.measures.base import draw_partition
from pymc_nrm.measures.gibbs_type import draw_cluster
from pymc_nrm.measures.jumps import draw_largest_log_jumps, log_tail_inverse
from pymc_nrm.measures.log_concave import draw_log_concave
from pymc_nrm.measures.quadrature import log_integral
from tests.helpers import mixture_of

pytestmark = pytest.mark.usefixtures("returns")

NO_NUMBERS = [math.nan, math.inf, -math.inf]
WILD = [*NO_NUMBERS, 0.0, -1.0, 1e300, -1e300, 2.3e-308]


class Flat(NamedTuple):
    """Log density that is a constant."""

    value: float

    def log_height(self, x):
        return self.value

    def log_density(self, x):
        return self.value

    def log_density_derivative(self, x):
        return self.value


@pytest.mark.parametrize("height", [*NO_NUMBERS, 0.0])
def test_slices_end(height):
    rng = np.random.default_rng(1)
    for x in [0.0, 1.0, -1e300, 1e308, *NO_NUMBERS]:
        for width in (1.0, 1e300, math.inf, math.nan):
            y = slice_sample(rng, Flat(height), x, width)
            if math.isnan(height) and math.isfinite(x) and math.isfinite(width):
                assert y == x


@pytest.mark.parametrize("slope", WILD)
def test_log_concave_draws_end(slope):
    with pytest.raises(ValueError, match="draw_log_concave"):
        draw_log_concave(np.random.default_rng(1), Flat(slope))


@kernel
def draw_clusters(rng, labels, counts, sigma, chosen):
    for k in range(chosen.shape[0]):
        chosen[k] = draw_cluster(rng, labels, counts, labels.shape[0], sigma)


@pytest.mark.parametrize("sigma", [0.0, 0.5, 0.99, 1 - 1e-4, 1 - 1e-9, 1 - 2.0**-53])
def test_cluster_of_an_item_given_sigma(sigma):
    labels = np.array([0, 1, 1, 2, 3, 3, 3])
    counts = np.bincount(labels)
    chosen = np.empty(20_000, dtype=int)
    draw_clusters(np.random.default_rng(2), labels, counts, sigma, chosen)
    p = (counts - sigma) / (counts - sigma).sum()
    deviation = np.sqrt(len(chosen) * p * (1 - p))
    assert (np.abs(np.bincount(chosen, minlength=4) - len(chosen) * p) <= 4.5 * deviation + 1e-3).all()
    # Single items alone, as many as there are.
    draw_clusters(np.random.default_rng(2), np.arange(4), np.ones(4, dtype=int), sigma, chosen)
    assert (np.abs(np.bincount(chosen, minlength=4) - 5000) < 4.5 * math.sqrt(3750)).all()


@pytest.mark.parametrize("sigma", [1.0, 2.0, *NO_NUMBERS])
def test_draws_of_clusters_end(sigma):
    chosen = np.empty(10, dtype=int)
    draw_clusters(np.random.default_rng(2), np.arange(3), np.ones(3, dtype=int), sigma, chosen)
    assert set(chosen) <= {0, 1, 2}


@pytest.mark.slow
def test_forward_draws_end_with_sigma_close_to_one():
    rng = np.random.default_rng(1)
    for sigma in (1 - 1e-15, 1 - 2.0**-53):
        for measure in (nrm.NormalizedGeneralizedGamma(1.0, sigma), nrm.PitmanYorProcess(1.0, sigma)):
            assert draw_partition(measure, 1000, rng).max() <= 999


def test_quadrature_and_jumps_end():
    rng = np.random.default_rng(1)
    for alpha in WILD:
        for sigma in [*WILD, 0.5, 1 - 2.0**-53]:
            log_integral(10.0, 2.0, alpha, sigma)
            draw_largest_log_jumps(rng, alpha, sigma, 0.0, 1e-3, 100)
            log_tail_inverse(sigma, alpha, math.inf)


@pytest.mark.parametrize("family", [nrm.PoissonGamma, nrm.BernoulliBeta])
def test_log_density_outside_the_support_is_zero(family):
    model = mixture_of(lambda: family(pm.Normal("a", 1.0, 1.0), 1.0), [[0], [1], [1], [0]])
    log_density, gradient, point = model.compile_logp(), model.compile_dlogp(), model.initial_point()
    for value in [0.0, -0.5, -1.0, -3.7, -1e7, -1e17, -1e300, *NO_NUMBERS]:
        point["a"] = np.array(value)
        assert not log_density(point) > -math.inf
        if math.isfinite(value):
            assert log_density(point) == -math.inf
        gradient(point)
