"""Hyperparameters, counts and values whose digits cancel, and log densities that are no numbers, which end a run."""

import math
from fractions import Fraction

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pymc.exceptions import SamplingError
from pymc.sampling.parallel import ParallelSamplingError
from scipy import sparse
from scipy.special import gammainc

import pymc_nrm as nrm
from pymc_nrm import families as f
from pymc_nrm.families import base
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import complete
from pymc_nrm.families.conjugate import log_marginal, parameters_size
from pymc_nrm.families.fast import log_predictive_without
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.kernels.special import draw_categorical, draw_index
from pymc_nrm.measures.base import log_eppf, symbolic_log_eppf
from pymc_nrm.moves.gibbs import draw_column
from pymc_nrm.moves.split_merge import accept, choose_side, empty_tally
from pymc_nrm.steps.target import check_against_graph, graph_log_likelihood
from pymc_nrm.testing import exact_posterior, kernel_inputs
from pymc_nrm.testing.family_kernels import draw_pairs, panel_values
from tests.helpers import assert_law, log_density, mixture_of, refused
from tests.tools.attack.reference import LOG_MARGINALS, log, log_factorials

RNG = np.random.default_rng(3)
REAL, COUNTS, BITS = RNG.normal(size=(6, 3)), RNG.poisson(9.0, size=(6, 3)), RNG.integers(0, 2, size=(6, 3))
OUTLIER = np.array([[0, 0, 0]] * 5 + [[1, 1, 1]])
CASES = [
    *((f.NormalGamma(0.3, 1.0, a, a), REAL) for a in (1e2, 1e4, 1e6, 1e8)),
    *((f.NormalWishart(0.3, 1.0, a * (np.eye(3) + 0.5), a), REAL) for a in (1e2, 1e4, 1e6, 1e8)),
    *((f.NormalGamma(m, [10.0, 1e300, 1e-300], 2.0, 1.0), REAL) for m in (1e20, -1e139)),
    *((f.NormalWishart(m, k, np.eye(1), 3.0), REAL[:, :1]) for m, k in ((1e20, 1.0), (-1e139, 1e300))),
    *((f.NormalWishart(m, k, np.eye(3), 5.0), REAL) for m, k in ((1e8, 10.0), (1e10, 0.01), (-1e139, 1e-300))),
    *((f.PoissonGamma(9.0 * a, a), COUNTS) for a in (1e2, 1e6, 1e10, 1e17, 1e60)),
    *((f.PoissonGamma(9.0, a), COUNTS) for a in (1e-300, 1e10)),
    *((f.BernoulliBeta(a, 2.0 * a), BITS) for a in (1e2, 1e6, 1e10, 1e17)),
    *((f.CategoricalDirichlet(a), BITS) for a in (1e2, 1e6, 1e10, 1e17)),
    *((f.MultinomialDirichlet(a), COUNTS) for a in (1e2, 1e6, 1e10, 1e17, 1e300)),
    *((f.CategoricalDirichlet(a), OUTLIER) for a in (1e-60, 1e-200, 1e-300)),
    (f.CategoricalDirichlet(np.repeat([[1e-90], [1e-250], [1.0]], 2, axis=1)), OUTLIER),
    (f.BernoulliBeta([1e-90, 1e-250, 1.0], 1.0), OUTLIER),
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


@pytest.mark.every(3)
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


def check_prior_mean(family):
    full = broadcast_hyperparameters(family, *BITS.shape)
    data = base.prepare_data(full, np.zeros(BITS.shape))
    base.check_resolution(base.localise(full, data), data, "X")


test_prior_means_too_far_from_the_data = refused(
    check_prior_mean,
    (f.NormalGamma([0.0, -1e141, 0.0], 1.0, 2.0, 1.0), "NormalGamma must be within 1e.140 of .* 0 of feature 1"),
    (WISHART, "NormalWishart must be within 2.2e.10 of the median 0 of feature 0"),
    (WISHART._replace(mu=[0, 0, 1e12], kappa=1e300), "NormalWishart must be within 8.2e.09 .* 0 of feature 2"),
    (WISHART._replace(kappa=1e-300), "NormalWishart must be within 1e.140 of the median 0 of feature 0"),
    match="^mu of {}: .*; got (1e.300|1e.12|-1e.141)$",
)


@pytest.mark.parametrize("alpha", [1e17, 1e300, 1.7e308])
@pytest.mark.parametrize("counts", [[1], [1] * 5, [2], [4, 1]])
@pytest.mark.parametrize("sigma", [0.5, 0.01])
def test_partitions_under_a_large_total_mass(alpha, counts, sigma):
    """As alpha grows, the probability tends to ``alpha^(k - n) prod_c (1 - sigma)_(n_c - 1)``: items are alone."""
    measure = nrm.NormalizedInverseGaussian(alpha) if sigma == 0.5 else nrm.NormalizedGeneralizedGamma(alpha, sigma)
    limit = (len(counts) - sum(counts)) * math.log(alpha)
    limit += sum(math.log(i - sigma) for m in counts for i in range(1, m))
    symbolic = symbolic_log_eppf(type(measure)(*map(pt.as_tensor, np.array(measure))), pt.as_tensor(counts))
    assert [log_eppf(measure, np.array(counts)), float(symbolic.eval())] == pytest.approx([limit] * 2, abs=1e-9)


X = np.random.default_rng(1).normal(size=12)
normal = nrm.NormalGamma(mu=0.0, kappa=1.0, alpha=2.0, beta=1.0)


def make_model(family=normal, data=X, measure=None, second=None):
    with mixture_of(family, data, measure) as model:
        if second is not None:
            nrm.Mixture("y", model["z"], second, observed=data)
    return model


def sample(model, n_draws=3, chains=1, cores=1, **kwargs):
    with model:
        step = nrm.steps.MarginalGibbs([model["z"]])
        options = {"step": step, "random_seed": 1, "quiet": True, "progressbar": False}
        return nrm.sample(n_draws, tune=0, chains=chains, cores=cores, **options, **kwargs)


# Its alpha + beta overflows.
huge, binary = nrm.BernoulliBeta(1e308, 1e308), (X > 0).astype(int)


BETA = "'x'.*BernoulliBeta.alpha=.*beta="


test_what_ends_a_run_is_named = refused(
    lambda arguments, options: sample(make_model(*arguments), **options),
    ((huge, binary), {"initvals": {"z": np.zeros(12, dtype=int)}}, SamplingError, f"'z'.*where a chain starts.*{BETA}"),
    ((huge, binary), {"chains": 2, "cores": 2}, ParallelSamplingError, "Chain . failed with: .*'z'.*Mixture 'x'.*Bern"),
    ((normal, 1e120 * X), {}, ValueError, "data of 'x': item .* times the width .* larger beta"),
    ((normal._replace(beta=1e-300), X), {}, ValueError, "data of 'x': item .* times the width .* larger beta"),
)


def test_only_the_mixture_at_fault_is_named():
    model = make_model(data=binary, second=huge)
    with pytest.raises(SamplingError) as caught:
        sample(model)
    assert "Mixture 'y'" in str(caught.value) and "Mixture 'x'" not in str(caught.value)


class Jump(pm.step_methods.arraystep.ArrayStep):
    """Sets a hyperparameter to a value that no kernel can do with, at the third draw."""

    name = "jump"
    stats_dtypes_shapes = {}

    def __init__(self, vars, model):
        [value] = [model.rvs_to_values[var] for var in vars]
        super().__init__([value], [])
        self.count = 0

    def astep(self, q0):
        self.count += 1
        q0.data[:] = 800.0 if self.count == 3 else 0.0
        return q0, [{}]


def test_later():
    with pm.Model() as model:
        spread = pm.HalfNormal("spread")
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=12)
        nrm.Mixture("x", z, normal._replace(mu=spread), observed=X)
        steps = [Jump([spread], model), nrm.steps.MarginalGibbs([z])]
        with pytest.raises(SamplingError, match="not finite in draw 3.*mu=inf|not finite in draw 3.*mu=2.*e.3"):
            nrm.sample(5, tune=0, chains=1, cores=1, step=steps, random_seed=1, quiet=True, progressbar=False)


# Weights without a law


@pytest.mark.parametrize("bad", [[-np.inf, -np.inf, -np.inf], [np.nan, 0, 0], [0, np.nan, 0], [np.inf, 0, 0]])
def test_weights_without_a_law(bad):
    rng = np.random.default_rng(1)
    values = np.append(bad, np.full(13, -np.inf))
    for likely in range(3):
        with pytest.raises(ValueError, match="weights"):
            draw_column(rng, values.copy(), 3, likely)
    with pytest.raises(ValueError, match="weights"):
        draw_categorical(rng, values[:3])
    # Proposals without a law stay in range.
    assert draw_index(rng, np.array(bad)) in (0, 1, 2)


@pytest.mark.parametrize("merging", [False, True])
def test_a_split_or_merge_without_a_law_is_rejected(merging):
    rng, tally = np.random.default_rng(1), empty_tally()
    side, log_q = choose_side(rng, np.nan, 1 if merging else -1)
    assert side in (0, 1)
    assert not accept(rng, tally, merging, log_q)
    assert tally.proposed.tolist() == [not merging, merging]
    assert tally.n_ratios[0] == 0


# Kernels against the graph


WORDS = np.arange(12).reshape(4, 3)
FAMILIES = [(normal, X), *((nrm.MultinomialDirichlet(0.5), data) for data in (WORDS, sparse.csr_array(WORDS)))]


@pytest.mark.parametrize(("family", "data"), FAMILIES, ids=lambda value: type(value).__name__)
def test_graph_and_kernels_agree(family, data):
    n = data.shape[0]
    labels = np.arange(n) % 2
    rows = data if sparse.issparse(data) or data.ndim == 2 else data[:, None]
    full = broadcast_hyperparameters(complete(family, rows), *rows.shape)
    full = type(family)(*[np.asarray(value) for value in full])
    local, prepared = kernel_inputs(family, data)
    exact = log_density(local, prepared, labels)
    assert graph_log_likelihood(full, data, labels) == pytest.approx(exact, rel=1e-10)
    check_against_graph("z", [("x", full, data, slice(None))], labels, exact)
    for other in (exact + 0.01, math.nan, -math.inf):
        with pytest.raises(SamplingError, match="by the graph.*by the kernels.*Mixture 'x'"):
            check_against_graph("z", [("x", full, data, slice(None))], labels, other)


VAGUE = {
    "NormalGamma": f.NormalGamma(0.0, 0.1, 1e-3, 1e-3),
    "NormalRegression": f.NormalRegression(np.c_[np.ones(5), np.arange(5.0)], [0.0, 0.0], 0.1 * np.eye(2), 1e-3, 1e-3),
}
FIVE = np.array([-1.5, -1.2, 0.1, 1.3, 1.6])


@pytest.mark.parametrize("name", VAGUE)
def test_variances_of_vague_priors_are_finite(name):
    """Half of these variances are above the largest double."""
    family, _ = kernel_inputs(VAGUE[name], FIVE[:, None])
    rows, values = np.zeros((2000, parameters_size(family))), np.zeros((4000, 1))
    draw_pairs.__wrapped__(np.random.default_rng(1), family, np.zeros(base.statistics_size(family)), rows, values)
    assert np.isfinite(rows).all() and np.isfinite(values).all()
    share, expected = (rows[:, -1] == 1e300).mean(), gammainc(1e-3, 1e-303)
    assert abs(share - expected) < 4.5 * math.sqrt(expected * (1.0 - expected) / 2000)


@pytest.mark.slow
@pytest.mark.parametrize("name", VAGUE)
def test_slice_sampler_has_the_law_of_vague_priors(name):
    model = mixture_of(VAGUE[name], FIVE)
    options = {"chains": 4, "cores": 1, "random_seed": 1, "quiet": True}
    idata = nrm.sample(4000, tune=100, step=nrm.steps.SliceSampler([model["z"]], model=model), model=model, **options)
    assert_law(idata["posterior"]["z"].values, *exact_posterior(nrm.DirichletProcess(1.0), VAGUE[name], FIVE[:, None]))


def test_counts_beyond_whole_numbers_are_not_drawn():
    model = mixture_of(f.PoissonGamma(1e30, 1.0), [0, 1, 2])
    with pytest.raises(ValueError, match="a drawn rate of PoissonGamma is above 9e18"):
        pm.draw(model["x"], random_seed=1)
