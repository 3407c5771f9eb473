"""Hyperparameters so large that differences of gamma functions cancel, and counts and values beyond doubles."""

import math
from fractions import Fraction

import numpy as np
import pytensor.tensor as pt
import pytest
from attack.reference import LOG_MARGINALS, log, log_factorials

from pymc_nrm import families as f
from pymc_nrm.families import base
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.fast import log_predictive_without
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.measures import NormalizedGeneralizedGamma, NormalizedInverseGaussian
from pymc_nrm.measures.base import log_eppf, symbolic_log_eppf
from pymc_nrm.testing.family_kernels import panel_values

RNG = np.random.default_rng(3)
REAL, COUNTS, BITS = RNG.normal(size=(6, 3)), RNG.poisson(9.0, size=(6, 3)), RNG.integers(0, 2, size=(6, 3))
CASES = [
    *((f.NormalGamma(0.3, 1.0, a, a), REAL) for a in (1e2, 1e4, 1e6, 1e8)),
    *((f.NormalWishart(0.3, 1.0, a * (np.eye(3) + 0.5), a), REAL) for a in (1e2, 1e4, 1e6, 1e8)),
    *((f.NormalGamma(m, [10.0, 1e300, 1e-300], 2.0, 1.0), REAL) for m in (1e20, -1e139)),
    *((f.NormalWishart(m, k, np.eye(1), 3.0), REAL[:, :1]) for m, k in ((1e20, 1.0), (-1e139, 1e300))),
    *((f.NormalWishart(m, k, np.eye(3), 5.0), REAL) for m, k in ((1e8, 10.0), (1e10, 0.01), (-1e139, 1e-300))),
    *((f.PoissonGamma(9.0 * a, a), COUNTS) for a in (1e2, 1e6, 1e10, 1e17)),
    *((f.PoissonGamma(9.0, a), COUNTS) for a in (1e-300, 1e10)),
    *((f.BernoulliBeta(a, 2.0 * a), BITS) for a in (1e2, 1e6, 1e10, 1e17)),
    *((f.CategoricalDirichlet(a), BITS) for a in (1e2, 1e6, 1e10, 1e17)),
    *((f.MultinomialDirichlet(a), COUNTS) for a in (1e2, 1e6, 1e10, 1e17)),
]


@kernel
def chain(family, data, n):
    """Log marginal of all items, and the sums of the predictives of each given earlier ones and given all others."""
    statistics, cache = np.zeros(base.statistics_size(family)), np.zeros(base.cache_size(family))
    base.refresh_cache(family, statistics, cache)
    total = 0.0
    for item in range(n):
        total += base.log_predictive(family, cache, data, item)
        base.add_item(family, statistics, data, item, 1.0)
        base.refresh_cache(family, statistics, cache)
    return log_marginal(family, statistics), total, log_predictive_without(family, statistics, cache, data, n - 1)


@pytest.mark.parametrize(("family", "X"), CASES, ids=lambda value: str(value)[:60] if isinstance(value, tuple) else "")
def test_log_densities(family, X):
    full = broadcast_hyperparameters(base.complete(family, X), *X.shape)
    data = base.prepare_data(full, X)
    local = base.localise(full, data)
    base.check_resolution(local, data, "X")
    exact_of = LOG_MARGINALS[type(family).__name__]
    exact, last = exact_of(full, X), exact_of(full, X) - exact_of(full, X[:-1])
    marginal, total, without = chain(local, data, len(X))
    symbolic = base.log_likelihood(
        type(full)(*map(pt.as_tensor, full)), pt.as_tensor(X), pt.zeros(len(X), dtype="int64")
    )
    assert [marginal, total, float(symbolic.eval())] == pytest.approx([exact] * 3, rel=1e-12, abs=5e-7)
    assert np.isnan(without) or without == pytest.approx(last, rel=1e-12, abs=5e-7)


@pytest.mark.parametrize("alpha", [1e2, 1e14, 1e18, 1e25, 1e100])
@pytest.mark.parametrize("make_family", [f.MultinomialDirichlet, lambda alpha: f.PoissonGamma(alpha, alpha)])
def test_panels_of_counts(make_family, alpha):
    X = np.array([[30.0, 2.0, 1.0], [0.0, 90.0, 9.0], [3.0, 3.0, 3.0]])
    full = broadcast_hyperparameters(base.complete(make_family(alpha), X), *X.shape)
    data = base.prepare_data(full, X)
    empty = np.zeros((LANES, base.statistics_size(full)))
    for item in range(3):
        for panel, single in panel_values(base.localise(full, data), empty, np.zeros(LANES), data, item):
            assert panel == pytest.approx(single, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("large", [1e5, 1e7, 1e9])
@pytest.mark.parametrize("family", [f.MultinomialDirichlet([2.0, 4.0, 10.0]), f.PoissonGamma(2.0, [1e-9, 1.0, 1e3])])
def test_large_counts(family, large):
    """Rounding of the log factorials of the counts is all that is lost."""
    X = np.array([[large, large - 1.0, large - 7.0], [2.0, 1.0, 0.0], [large, 3.0, 0.0], [3.0, 2.0, 2.0]])
    full = broadcast_hyperparameters(base.complete(family, X), *X.shape)
    exact = LOG_MARGINALS[type(family).__name__](full, X)
    marginal, total, _ = chain(full, base.prepare_data(full, X), len(X))
    symbolic = base.log_likelihood(
        type(full)(*map(pt.as_tensor, full)), pt.as_tensor(X), pt.zeros(len(X), dtype="int64")
    )
    tolerance = 1e-9 + 2e-15 * float(log_factorials(X.sum(axis=1)))
    assert [marginal, total, float(symbolic.eval())] == pytest.approx([exact] * 3, rel=1e-15, abs=tolerance)


def test_the_reference_has_all_digits_where_log_factorials_cancel():
    """For whole alpha all gamma functions of one item are products of few factors."""
    m = 10**9
    exact = Fraction((m + 1) * 100 * math.factorial(15), math.prod(range(m + 4, m + 19)))
    family, X = f.MultinomialDirichlet(np.array([2.0, 4.0, 10.0])), np.array([[m, 2.0, 1.0]])
    assert LOG_MARGINALS["MultinomialDirichlet"](family, X) == pytest.approx(log(exact), rel=1e-14)


WISHART = f.NormalWishart(1e300, 1.0, np.eye(3), 5.0)


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (f.NormalGamma([0.0, -1e141, 0.0], 1.0, 2.0, 1.0), "NormalGamma must be within 1e.140 of .* 0 of feature 1"),
        (WISHART, "NormalWishart must be within 2.2e.10 of the median 0 of feature 0"),
        (WISHART._replace(mu=[0, 0, 1e12], kappa=1e300), "NormalWishart must be within 8.2e.09 .* 0 of feature 2"),
        (WISHART._replace(kappa=1e-300), "NormalWishart must be within 1e.140 of the median 0 of feature 0"),
    ],
)
def test_prior_means_too_far_from_the_data(family, message):
    full = broadcast_hyperparameters(family, *BITS.shape)
    data = base.prepare_data(full, np.zeros(BITS.shape))
    with pytest.raises(ValueError, match=f"^mu of {message}: doubles resolve no more; got (1e.300|1e.12|-1e.141)$"):
        base.check_resolution(base.localise(full, data), data, "X")


@pytest.mark.parametrize("alpha", [1e17, 1e300, 1.7e308])
@pytest.mark.parametrize("counts", [[1], [1] * 5, [2], [4, 1]])
@pytest.mark.parametrize("sigma", [0.5, 0.01])
def test_partitions_under_a_large_total_mass(alpha, counts, sigma):
    """As alpha grows, the probability tends to ``alpha^(k - n) prod_c (1 - sigma)_(n_c - 1)``: items are alone."""
    measure = NormalizedInverseGaussian(alpha) if sigma == 0.5 else NormalizedGeneralizedGamma(alpha, sigma)
    limit = (len(counts) - sum(counts)) * math.log(alpha)
    limit += sum(math.log(i - sigma) for m in counts for i in range(1, m))
    symbolic = symbolic_log_eppf(type(measure)(*map(pt.as_tensor, np.array(measure))), pt.as_tensor(counts))
    assert [log_eppf(measure, np.array(counts)), float(symbolic.eval())] == pytest.approx([limit] * 2, abs=1e-9)
