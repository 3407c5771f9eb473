"""Laws of partitions and hyperparameters that every measure must have."""

import math
import pickle

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy import stats

import pymc_nrm as nrm
from pymc_nrm.measures.base import (
    check_measure_hyperparameters,
    draw_log_auxiliary,
    draw_partition,
    log_eppf,
    log_joint_term,
    n_clusters_log_pmf,
    n_clusters_mean,
    symbolic_log_eppf,
    weights,
)
from pymc_nrm.measures.jumps import draw_jumps
from pymc_nrm.measures.mixture_of_finite_mixtures import LARGEST_GAMMA, LARGEST_RATE
from pymc_nrm.measures.quadrature import QuadratureNodes
from pymc_nrm.partitions.next_item import log_prediction_rule
from pymc_nrm.testing import all_partitions
from tests.helpers import label_counts, refused

ALPHAS = [1e-300, 1e-100, 1e-17, 1e-8, 0.3, 1e8]
SIGMAS = [0.0, 1e-300, 1e-100, 1e-12, 1e-4, 0.5, 1.0 - 1e-6, 1.0 - 2.0**-53]
GENERALIZED_GAMMA = [nrm.NormalizedGeneralizedGamma(alpha, sigma) for alpha in ALPHAS for sigma in SIGMAS]
PITMAN_YOR = [
    nrm.PitmanYorProcess(d, t)
    for d, t in [
        (0.0, 1e-17),
        (0.0, 1.5),
        (1e-300, 2.0),
        (1e-9, 2.0),
        (0.3, 1.0),
        (0.25, 0.0),
        (0.5, -0.3),
        (0.5, -0.5 + 2.0**-40),
        (0.6, -0.4),
        (0.9, -0.8),
        (0.7, 1e8),
        (1.0 - 2.0**-53, 3.0),
    ]
]
FINITE = [nrm.MixtureOfFiniteMixtures(g, rate) for g in (1e-6, 0.02, 1.0, 3.5, 1e3) for rate in (1e-8, 0.3, 5.0, 400.0)]
FINITE += [nrm.MixtureOfFiniteMixtures(g, rate) for g, rate in ((LARGEST_GAMMA, 5.0), (1e-300, 5.0), (1.0, 1e-300))]
# The sums have a hundred thousand terms.
LONG = [nrm.MixtureOfFiniteMixtures(gamma, LARGEST_RATE) for gamma in (1e-6, 1.0, 1e3)]
ROWS = [pytest.param(row, id=repr(row)) for row in [*GENERALIZED_GAMMA, *PITMAN_YOR, *FINITE]]
ROWS += [pytest.param(row, id=repr(row), marks=pytest.mark.slow) for row in LONG]


def log_extensions(measure, counts):
    """Log probabilities of a partition with one more item: in a new cluster, then in any cluster of each size."""
    extensions = [log_eppf(measure, np.array([*counts, 1]))]
    for m in set(counts):
        larger = counts.copy()
        larger[counts.index(m)] += 1
        extensions.append(math.log(counts.count(m)) + log_eppf(measure, np.array(larger)))
    return extensions


@pytest.mark.parametrize("measure", ROWS)
def test_probabilities_of_partitions_obey_the_addition_rule(measure):
    """A partition has the probability of all its extensions by one item together; shares of it are the next item's."""
    assert log_eppf(measure, np.array([1])) == pytest.approx(0.0, abs=1e-10)
    for counts in [[1], [2], [1, 1], [5, 1], [2, 2, 2], [1] * 6, [900, 90, 10], [1] * 100]:
        extensions = np.array(log_extensions(measure, counts))
        total = log_eppf(measure, np.array(counts))
        assert np.logaddexp.reduce(extensions) == pytest.approx(total, rel=1e-13, abs=1e-9), counts
        rule = log_prediction_rule(measure, np.array(counts))
        sizes = list(dict.fromkeys(counts))
        joined = [np.logaddexp.reduce(rule[:-1][np.array(counts) == m]) for m in set(sizes)]
        np.testing.assert_allclose([rule[-1], *joined], extensions - total, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("measure", ROWS)
def test_law_of_the_number_of_clusters(measure):
    exact = np.full(6, -np.inf)
    for counts in map(label_counts, all_partitions(6)):
        exact[len(counts) - 1] = np.logaddexp(exact[len(counts) - 1], log_eppf(measure, counts))
    np.testing.assert_allclose(n_clusters_log_pmf(measure, 6), exact, rtol=1e-12, atol=1e-9)
    assert n_clusters_mean(measure, 6) == pytest.approx(np.exp(exact) @ np.arange(1, 7), rel=1e-8)
    law = np.exp(n_clusters_log_pmf(measure, 300))
    assert law.sum() == pytest.approx(1.0, abs=1e-9)
    assert n_clusters_mean(measure, 300) == pytest.approx(law @ np.arange(1, 301), rel=1e-8)


@pytest.mark.every(3)
@pytest.mark.parametrize("measure", ROWS)
def test_forward_draws(measure):
    rng, n_draws = np.random.default_rng(3), 1000
    partitions = all_partitions(4)
    law = np.exp([log_eppf(measure, label_counts(labels)) for labels in partitions])
    draws = np.array([draw_partition(measure, 4, rng) for _ in range(n_draws)])
    found = (draws[:, None] == partitions).all(axis=2).sum(axis=0)
    assert found.sum() == n_draws
    law = np.minimum(law, 1.0)
    assert np.minimum(stats.binom.cdf(found, n_draws, law), stats.binom.sf(found - 1, n_draws, law)).min() > 1e-6


@pytest.mark.parametrize("alpha, sigma", [(1e-6, 0.0), (1e-6, 0.999), (1e6, 0.5), (1.0, 1.0 - 1e-9), (1e6, 1e-12)])
def test_extreme_hyperparameters(alpha, sigma):
    n = 3000
    labels = draw_partition(nrm.NormalizedGeneralizedGamma(alpha, sigma), n, np.random.default_rng(1))
    pmf = np.exp(n_clusters_log_pmf(nrm.NormalizedGeneralizedGamma(alpha, sigma), n))
    cdf = np.cumsum(pmf)
    k = labels.max() + 1
    assert cdf[k - 1] > 1e-6 and 1.0 - cdf[k - 1] + pmf[k - 1] > 1e-6


def test_inverse_gaussian_is_generalized_gamma_with_sigma_one_half():
    counts = np.array([5, 2, 2, 1])
    half = log_eppf(nrm.NormalizedGeneralizedGamma(0.7, 0.5), counts)
    assert log_eppf(nrm.NormalizedInverseGaussian(0.7), counts) == pytest.approx(half, abs=1e-12)


def test_second_derivatives_are_finite_and_right():
    alpha = pt.dscalar("alpha")
    value = symbolic_log_eppf(nrm.NormalizedGeneralizedGamma(alpha, 0.3), pt.as_tensor(np.array([5, 3, 1])))
    slope = pt.grad(value, alpha)
    first, second = (pytensor.function([alpha], f) for f in (slope, pt.grad(slope, alpha)))
    assert second(0.8) == pytest.approx((first(0.8 + 1e-5) - first(0.8 - 1e-5)) / 2e-5, rel=1e-6)


def test_graph_of_nodes_survives_pickling_and_runs_without_numba():
    op = pickle.loads(pickle.dumps(QuadratureNodes()))
    assert op == QuadratureNodes()
    outputs = op(10, 3, 0.7, 0.2)
    for python, compiled in zip(
        pytensor.function([], outputs, mode="FAST_COMPILE")(), pytensor.function([], outputs)(), strict=True
    ):
        np.testing.assert_allclose(python, compiled, rtol=1e-12)


KINDS = (
    *(nrm.DirichletProcess, nrm.NormalizedInverseGaussian, nrm.NormalizedGeneralizedGamma),
    *(nrm.PitmanYorProcess, nrm.MixtureOfFiniteMixtures),
)


@pytest.mark.parametrize("kind", KINDS)
def test_defaults_are_allowed_and_described(kind):
    check_measure_hyperparameters(kind())
    assert set(kind.hyperparameters) == set(kind._fields)


def test_numbers_and_scalar_tensors_are_allowed():
    for value in (1, 0.5, np.float32(0.25), np.array(0.1), pt.dscalar("alpha")):
        check_measure_hyperparameters(nrm.DirichletProcess(value))
    for values in ((0.5, -0.499), (0.0, 1), (pt.dscalar("d"), -0.5), (0.5, pt.dscalar("t"))):
        check_measure_hyperparameters(nrm.PitmanYorProcess(*values))


test_other_values_are_refused = refused(
    check_measure_hyperparameters,
    (nrm.DirichletProcess(0.0), "alpha of DirichletProcess must be finite and above 0; got 0.0"),
    (nrm.DirichletProcess(np.inf), "alpha of DirichletProcess must be finite and above 0; got inf"),
    (nrm.NormalizedInverseGaussian(np.nan), "alpha of NormalizedInverseGaussian must be finite and above 0"),
    (nrm.DirichletProcess(None), "alpha of DirichletProcess must be finite and above 0; got None"),
    (nrm.DirichletProcess(True), "alpha of DirichletProcess must be finite and above 0; got True"),
    (nrm.DirichletProcess(5e-324), "must be .* above 0; got 5e-324, below the smallest normal double"),
    (nrm.NormalizedInverseGaussian("one"), "alpha of NormalizedInverseGaussian must be .* got text such as 'one'"),
    (nrm.NormalizedGeneralizedGamma(1.0, 1.0), r"sigma of NormalizedGeneralizedGamma .* in \[0, 1\); got 1.0"),
    (nrm.NormalizedGeneralizedGamma(1.0, -0.1), r"sigma of NormalizedGeneralizedGamma .* in \[0, 1\); got -0.1"),
    (nrm.PitmanYorProcess(1.0, 1.0), r"discount of PitmanYorProcess must be in \[0, 1\); got 1.0"),
    (nrm.PitmanYorProcess(-0.1, 1.0), r"discount of PitmanYorProcess must be in \[0, 1\); got -0.1"),
    (nrm.PitmanYorProcess(0.3, -0.3), "concentration .* finite and greater than -discount = -0.3; got -0.3"),
    (nrm.PitmanYorProcess(0.0, 0.0), "concentration .* must be finite and greater than -discount = 0; got 0.0"),
    (nrm.PitmanYorProcess(0.0, np.inf), "concentration .* must be finite and greater than -discount = 0; got inf"),
    (nrm.PitmanYorProcess(0.3, np.nan), "concentration .* finite and greater than -discount = -0.3; got nan"),
    (nrm.PitmanYorProcess(pt.constant(0.3), pt.constant(-0.5)), "greater than -discount = -0.3; got -0.5"),
    (nrm.PitmanYorProcess(pt.dscalar("d"), -1.0), "concentration .* finite and greater than -discount; got -1.0"),
    (nrm.PitmanYorProcess(0.3, None), "concentration .* must be finite and greater than -discount; got None"),
    (nrm.MixtureOfFiniteMixtures(0.0), r"gamma of MixtureOfFiniteMixtures .* above 0 and at most 1e\+08; got 0.0"),
    (nrm.MixtureOfFiniteMixtures(2e8), r"gamma of MixtureOfFiniteMixtures .* at most 1e\+08; got 2e\+08|200000000"),
    (nrm.MixtureOfFiniteMixtures(1.0, -1.0), "rate of MixtureOfFiniteMixtures .* at most 100000; got -1.0"),
    (nrm.MixtureOfFiniteMixtures(1.0, 1e6), "rate of MixtureOfFiniteMixtures .* at most 100000; got 1000000.0"),
    (nrm.MixtureOfFiniteMixtures(1.0, np.nan), "rate of MixtureOfFiniteMixtures .* at most 100000; got nan"),
    (nrm.DirichletProcess([1.0, 2.0]), r"alpha of DirichletProcess must be a scalar; got shape \(2,\)"),
    (nrm.DirichletProcess(pt.dvector("alpha")), "alpha of DirichletProcess must be a scalar; got alpha"),
)


@pytest.mark.parametrize("measure", GENERALIZED_GAMMA, ids=repr)
def test_weights_given_u_do_not_cancel(measure):
    rng = np.random.default_rng(4)
    alpha, sigma = measure
    for n_clusters in (1, 3, 50):
        log_u = draw_log_auxiliary(measure, 50, n_clusters, rng)
        table = weights(measure, 50, log_u)
        sizes = np.arange(1, 51)
        expected = np.log(sizes - sigma)
        np.testing.assert_allclose(table.join[1:], expected, rtol=1e-14, atol=1e-300)
        np.testing.assert_allclose(np.diff(table.moment), table.join[:-1], rtol=1e-12, atol=1e-12)
        if sigma == 0.0:
            assert table.join[0] == math.log(alpha)
        assert math.isfinite(log_joint_term(measure, 50, log_u) + table.moment[50])


@pytest.mark.parametrize("alpha", [1e-300, 1e-17])
@pytest.mark.parametrize("sigma, k", [(0.0, 3), (1e-300, 1), (1e-12, 2), (0.5, 1), (0.5, 20), (1.0 - 1e-6, 3)])
def test_u_has_its_limit_law(alpha, sigma, k):
    """As alpha tends to 0, psi(u) is gamma, of shape k where sigma is far above alpha and of shape 1 far below."""
    rng, measure = np.random.default_rng(5), nrm.NormalizedGeneralizedGamma(alpha, sigma)
    log_u = np.array([draw_log_auxiliary(measure, 30, k, rng) for _ in range(2000)])
    assert np.isfinite(log_u).all()
    if sigma > 1e4 * alpha:
        psi = np.exp(math.log(alpha) - math.log(sigma) + sigma * log_u)
    else:
        psi = alpha * (np.expm1(sigma * log_u) / sigma if sigma > 0.0 else log_u)
    assert stats.kstest(psi, stats.gamma(k if sigma > 1e4 * alpha else 1).cdf).pvalue > 1e-3


@pytest.mark.parametrize("measure", GENERALIZED_GAMMA, ids=repr)
def test_jumps_of_the_random_measure(measure):
    rng, counts = np.random.default_rng(6), np.array([30, 15, 5])
    drawn = draw_jumps(measure, counts, rng, 0.05, 20)
    assert np.isfinite(drawn.clusters).all() and np.isfinite(drawn.remaining).all()
    assert math.isfinite(drawn.log_tail_mass) and math.isfinite(drawn.log_u)
    if measure.alpha < 1e-7 and measure.sigma == 0.0:
        assert len(drawn.remaining) == 0


def test_shares_of_clusters_are_dirichlet_for_any_alpha():
    rng, counts = np.random.default_rng(7), np.array([30, 15, 5])
    shares = np.exp([draw_jumps(nrm.DirichletProcess(1e-17), counts, rng, 0.05, 1).clusters for _ in range(4000)])
    shares /= shares.sum(axis=1, keepdims=True)
    for share, count in zip(shares.T, counts, strict=True):
        assert stats.kstest(share, stats.beta(count, 50 - count).cdf).pvalue > 1e-3
