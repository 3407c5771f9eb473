"""Draws of the random measure against predictive laws, in which the measure is integrated out."""

import math

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from scipy.special import gammaln

import pymc_nrm as nrm
from pymc_nrm.families.definitions.principal_normal_wishart import PrincipalNormalWishart
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.measures.jumps import draw_jumps
from pymc_nrm.partitions.next_item import log_prediction_rule
from tests.helpers import label_counts, learned_dirichlet_process, mixture_of
from tests.predictions.prediction_cases import CASES, draws_of, make_model

MEASURES = {
    "DP": nrm.DirichletProcess(0.8),
    "NIG": nrm.NormalizedInverseGaussian(0.3),
    "NGG": nrm.NormalizedGeneralizedGamma(0.6, 0.35),
    "PY": nrm.PitmanYorProcess(0.25, 0.6),
    "PY below 0": nrm.PitmanYorProcess(0.4, -0.2),
    "MFM": nrm.MixtureOfFiniteMixtures(0.8, 3.0),
}
LABELS = np.array([0, 0, 1, 0])
N_DRAWS = 2500


def z_scores(draws, expected):
    """Standardised differences of means over the first axis; at most about 4 when the means are right."""
    return (np.mean(draws, axis=0) - expected) / (np.std(draws, axis=0) / math.sqrt(len(draws)))


@pytest.fixture(scope="module", params=MEASURES)
def sampled(request):
    measure = MEASURES[request.param]
    model, idata = make_model(measure, CASES["PoissonGamma"]), draws_of(np.tile(LABELS, (N_DRAWS, 1)))
    options = {"tail_mass": 3e-3, "max_new_atoms": 100_000, "random_seed": 1}
    return measure, model, idata, nrm.random_measure.sample_random_measure(idata, model, **options)


def eppf_ratio(measure, *added):
    """Probability that further items join clusters in turn; cluster 2 is the first new one."""
    counts = label_counts(LABELS)
    larger = np.append(counts, 0)
    for cluster in added:
        larger[cluster] += 1
    return math.exp(log_eppf(measure, larger[larger > 0]) - log_eppf(measure, counts))


@pytest.mark.quick("NGG")
def test_weights_of_clusters_have_the_moments_of_partition_probabilities(sampled):
    """E[w_c] and E[w_c w_d] given the partition, u integrated out, are chances of the next items."""
    measure, _, _, draws = sampled
    w = np.stack([draws.weight.where(draws.label == c, 0).sum("atom").values[0] for c in (0, 1)], axis=1)
    expected = np.exp(log_prediction_rule(measure, label_counts(LABELS)))
    assert np.abs(z_scores(w, expected[:2])).max() < 4
    products = np.stack([w[:, 0] ** 2, w[:, 1] ** 2, w[:, 0] * w[:, 1]], axis=1)
    expected = [eppf_ratio(measure, 0, 0), eppf_ratio(measure, 1, 1), eppf_ratio(measure, 0, 1)]
    assert np.abs(z_scores(products, expected)).max() < 4


@pytest.mark.quick("NGG", "MFM")
def test_weights_of_new_atoms_have_the_moments_of_partition_probabilities(sampled):
    """The chances that the next item opens a cluster, and that two or three further items share one new cluster."""
    measure, _, _, draws = sampled
    new = draws.weight.where(draws.is_new, 0).values[0]
    sums = np.stack([(new**power).sum(axis=1) for power in (1, 2, 3)], axis=1)
    expected = [eppf_ratio(measure, *[2] * power) for power in (1, 2, 3)]
    # The atoms left out bias the first moment by a share of at most tail_mass.
    bias = np.array([3e-3, 0.0, 0.0])
    error = np.abs(sums.mean(axis=0) - expected) - bias
    assert (error < 4 * sums.std(axis=0) / math.sqrt(N_DRAWS)).all()


@pytest.mark.quick("NGG", "MFM")
def test_mean_density_is_the_predictive_density(sampled):
    _, model, idata, draws = sampled
    points = [[1, 4], [0, 0], [6, 1], [20, 0]]
    random = nrm.random_measure.measure_density(draws, model, points).density.values[0]
    expected = nrm.predictive_density(idata.isel(draw=slice(1)), model, points).density.values[0, 0]
    assert np.abs(z_scores(random, expected)).max() < 4
    assert random.std(axis=0).min() > 0


@pytest.mark.quick("NGG", "MFM")
def test_structure(sampled):
    measure, _, idata, draws = sampled
    weight, label = draws.weight.values[0], draws.label.values[0]
    np.testing.assert_allclose(weight.sum(axis=1), 1.0)
    assert (draws.is_new.values[0] == ((weight > 0) & (label < 0))).all()
    np.testing.assert_array_equal(np.sort(label[:, :2], axis=1), np.tile([0, 1], (N_DRAWS, 1)))
    assert (label[:, 2:] == -1).all()
    assert (weight[:, 0] > weight[:, 1]).all() and (np.diff(weight[:, 2:], axis=1) <= 0).all()
    # Of finitely many atoms none is left out.
    is_finite = isinstance(measure, nrm.MixtureOfFiniteMixtures)
    assert (draws.tail_mass.values <= 3e-3).all() and ((draws.tail_mass.values == 0) == is_finite).all()
    assert np.isnan(draws.rate.values[0]).any(axis=-1).tolist() == (weight == 0).tolist()
    assert draws.rate.dims == ("chain", "draw", "atom", "feature")
    assert draws.weight.dims == ("chain", "draw", "atom")
    xr.testing.assert_equal(draws.draw, idata["posterior"].draw)


@pytest.mark.quick("NGG", "MFM")
def test_atoms_of_clusters_are_drawn_given_their_items(sampled):
    _, _, _, draws = sampled
    rates = [draws.rate.where(draws.label == c).sum("atom").values[0] for c in (0, 1)]
    X, alpha = CASES["PoissonGamma"].X, np.array([1.2, 0.8])
    for c, rate in enumerate(rates):
        members = X[c == LABELS]
        shape, scale = alpha + members.sum(axis=0), 0.4 + len(members)
        assert np.abs(z_scores(rate, shape / scale)).max() < 4
        assert np.abs(z_scores(rate**2, shape * (shape + 1) / scale**2)).max() < 4
    # A draw whose clusters have nearly all of the mass may have no new atom.
    first_new = draws.rate.where(draws.is_new).isel(atom=2).values[0]
    first_new = first_new[np.isfinite(first_new).all(axis=1)]
    assert len(first_new) > 0.6 * N_DRAWS and np.abs(z_scores(first_new, alpha / 0.4)).max() < 4


def test_atoms_of_a_mixture_of_finite_mixtures_are_its_components():
    """Their number has the law of M given the partition, and only ``max_jumps`` leaves any out."""
    gamma, rate, counts, rng = 0.3, 4.0, np.array([5, 2]), np.random.default_rng(2)
    measure = nrm.MixtureOfFiniteMixtures(gamma, rate)
    empty = np.arange(60)
    shape = gamma * (2 + empty)
    log_law = empty * math.log(rate) - gammaln(empty + 1) + gammaln(shape) - gammaln(shape + 7)
    law = np.exp(log_law - np.logaddexp.reduce(log_law))
    drawn = [draw_jumps(measure, counts, rng, 1e-3, 1000) for _ in range(N_DRAWS)]
    found = np.bincount([len(jumps.remaining) for jumps in drawn], minlength=60) / N_DRAWS
    assert np.abs((found - law)[:8] / np.sqrt(law * (1 - law) / N_DRAWS)[:8]).max() < 4
    assert {jumps.log_tail_mass for jumps in drawn} == {-math.inf}
    first, second = (draw_jumps(measure, counts, np.random.default_rng(5), 1e-3, kept) for kept in (1000, 1))
    assert len(first.remaining) > 2 and len(second.remaining) == 1
    assert second.log_tail_mass == pytest.approx(np.logaddexp.reduce(first.remaining[1:]))


def few_measures(name, measure="NGG"):
    case = CASES[name]
    model, idata = make_model(MEASURES[measure], case), draws_of([LABELS, [0, 1, 2, 0], [0, 0, 0, 0]])
    return model, nrm.random_measure.sample_random_measure(idata, model, tail_mass=0.01, random_seed=2)


def test_density_distribution_function_and_mean_of_one_real_feature_agree():
    model, draws = few_measures("NormalGamma, vector")
    t = np.linspace(-9, 9, 20_001)
    grid = np.sinh(t)
    dx = np.cosh(t) * (t[1] - t[0])
    values = nrm.random_measure.measure_density(draws, model, grid).density.values[0]
    np.testing.assert_allclose(values @ dx, 1.0, atol=1e-3)
    cdf = nrm.random_measure.measure_cdf(draws, model, grid)
    assert cdf.cdf.dims == ("chain", "draw", "point") and cdf.point.values.tolist() == grid.tolist()
    np.testing.assert_allclose(np.cumsum(values * dx, axis=1), cdf.cdf.values[0], atol=2e-3)
    mean = nrm.random_measure.measure_mean(draws, model)["mean"]
    assert mean.dims == ("chain", "draw")
    np.testing.assert_allclose(values @ (grid * dx), mean.values[0], atol=0.02)


def test_density_distribution_function_and_mean_of_counts_agree():
    model, draws = few_measures("PoissonGamma")
    points = np.stack(np.meshgrid(np.arange(80), np.arange(80), indexing="ij"), axis=-1).reshape(-1, 2)
    p = nrm.random_measure.measure_density(draws, model, points).density.values[0].reshape(3, 80, 80)
    np.testing.assert_allclose(p.sum(axis=(1, 2)), 1.0, atol=1e-9)
    for feature, marginal in enumerate([p.sum(axis=2), p.sum(axis=1)]):
        cdf = nrm.random_measure.measure_cdf(draws, model, [-1.0, 0.0, 2.5, 79.0], feature=feature).cdf.values[0]
        sums = marginal.cumsum(axis=1)
        np.testing.assert_allclose(cdf, np.stack([0 * sums[:, 0], sums[:, 0], sums[:, 2], sums[:, -1]], axis=1))
        mean = nrm.random_measure.measure_mean(draws, model)["mean"].isel(feature=feature)
        np.testing.assert_allclose(marginal @ np.arange(80), mean.values[0])


def test_mixtures_over_one_partition_share_weights_for_one_seed():
    families, data = {"x": nrm.PoissonGamma(1.0, 0.5), "y": nrm.NormalGamma(0.0, 1.0, 2.0, 1.0)}, [1, 0, 9, 2]
    model = mixture_of(families, {"x": data, "y": data})
    idata = draws_of([LABELS, LABELS])
    x, again = (
        nrm.random_measure.sample_random_measure(idata, model, var_name="x", random_seed=seed) for seed in (7, 7)
    )
    y, other = (
        nrm.random_measure.sample_random_measure(idata, model, var_name="y", random_seed=seed) for seed in (7, 8)
    )
    xr.testing.assert_identical(x, again)
    xr.testing.assert_identical(x.weight, y.weight)
    assert not np.array_equal(y.log_u, other.log_u)
    assert list(x.data_vars)[-1] == "rate" and list(y.data_vars)[-2:] == ["mean", "variance"]


def test_items_that_stay_together_count_once():
    """A cluster of a group of four items, one of two groups, and a new one; the measure has three groups."""
    together, labels, measure = [0, 0, 0, 0, 1, 2], [0, 0, 0, 0, 1, 1], MEASURES["NGG"]
    with pm.Model() as model:
        z = nrm.Partition("z", measure, n=6, together=together)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9, 2, 20, 30])
    idata = draws_of([labels] * N_DRAWS)
    draws = nrm.random_measure.sample_random_measure(idata, model, tail_mass=3e-3, random_seed=1)
    w = np.stack([draws.weight.where(draws.label == c, 0).sum("atom").values[0] for c in (0, 1)], axis=1)
    expected = np.exp(log_prediction_rule(measure, np.array([1, 2])))
    assert np.abs(z_scores(w, expected[:2])).max() < 4
    random = nrm.random_measure.measure_density(draws, model, [1, 4, 25]).density.values[0]
    density = nrm.predictive_density(idata.isel(draw=slice(1)), model, [1, 4, 25]).density.values[0, 0]
    assert np.abs(z_scores(random, density)).max() < 4


def test_hyperparameters_of_the_measure_follow_the_draws():
    model = mixture_of(nrm.PoissonGamma(1.0, 0.5), [1, 0, 9, 2], learned_dirichlet_process)
    idata = draws_of([LABELS] * 400, alpha=np.repeat([0.1, 40.0], 200))
    draws = nrm.random_measure.sample_random_measure(idata, model, random_seed=1)
    new = draws.weight.where(draws.is_new, 0).sum("atom").values[0].reshape(2, 200)
    # The share of new atoms is Beta(alpha, n).
    for shares, value in zip(new, [0.1, 40.0], strict=True):
        assert abs(z_scores(shares, value / (value + 4))) < 4


def test_a_cap_on_atoms_is_reported():
    case = CASES["PoissonGamma"]
    model, idata = make_model(MEASURES["NIG"], case), draws_of([LABELS, LABELS])
    with pytest.warns(UserWarning, match=r"(?s)max_new_atoms=5 was reached in 2 of 2 draws.*not 0.001"):
        draws = nrm.random_measure.sample_random_measure(idata, model, max_new_atoms=5, random_seed=1)
    assert draws.sizes["atom"] == 7 and (draws.tail_mass > 1e-3).all()


def test_bad_arguments():
    words, of_words = few_measures("MultinomialDirichlet, sparse")
    model, draws = few_measures("PoissonGamma")
    of_y = "var_name must name a Mixture of the model, one of .'x'.; got 'y'"
    for function, error, message in [
        (
            lambda: nrm.random_measure.sample_random_measure(draws_of([LABELS]), model, tail_mass=0.0),
            ValueError,
            "tail_mass .*; got 0.0",
        ),
        (
            lambda: nrm.random_measure.sample_random_measure(draws_of([LABELS]), model, tail_mass=np.nan),
            ValueError,
            "0 and 1; got nan",
        ),
        (
            lambda: nrm.random_measure.sample_random_measure(draws_of([LABELS]), model, max_new_atoms=0),
            ValueError,
            "at least 1; got 0",
        ),
        (lambda: nrm.random_measure.sample_random_measure(draws_of([LABELS]), model, var_name="y"), ValueError, of_y),
        (
            lambda: nrm.random_measure.measure_mean(of_words, words),
            NotImplementedError,
            "no component_mean, which measure_mean needs",
        ),
        (
            lambda: nrm.random_measure.measure_cdf(of_words, words, [0.0]),
            NotImplementedError,
            "no component_cdf, which measure_cdf needs",
        ),
        (
            lambda: nrm.random_measure.measure_mean(draws_of([LABELS]), model),
            ValueError,
            "must come from sample_random_measure",
        ),
        (lambda: nrm.random_measure.measure_mean(draws.drop_vars("rate"), model), ValueError, "no draws of 'rate'"),
        (
            lambda: nrm.random_measure.measure_cdf(draws, model, [0.0], feature=2),
            ValueError,
            "feature must be .* between 0 and 1; got 2",
        ),
        (lambda: nrm.random_measure.measure_cdf(draws, model, [[0.0]]), ValueError, "grid must be a vector of numbers"),
        (lambda: nrm.random_measure.measure_density(draws, model, [[0.5, 1.0]]), ValueError, "whole numbers"),
    ]:
        with pytest.raises(error, match=message):
            function()


RNG = np.random.default_rng(3)
POSITIVE = np.column_stack([np.exp(RNG.normal(size=8)), 5 + RNG.normal(size=8)])
IN_TWO = np.tile([0, 0, 0, 0, 1, 1, 1, 1], (400, 1))
# Families whose density of an item reads a hyperparameter, or other units than its own.
WITH_UNITS = {
    "some logarithms": (nrm.families.LogNormalWishart([1.0, 0.0], [0.0, 5.0], 1.0, np.eye(2) * 3, 5.0), POSITIVE),
    "logarithms": (nrm.families.LogNormalGamma([1.0, 1.0], 0.0, 1.0, 3.0, 2.0), POSITIVE),
    "far from zero": (nrm.NormalWishart(np.full(2, 1000.0), 0.1, np.eye(2) * 3, 5.0), POSITIVE + 1000.0),
}


def measured(family, data, n_draws=400):
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=len(data))
        nrm.Mixture("x", z, family, observed=data)
    idata = xr.Dataset({"z": (("chain", "draw", "item"), IN_TWO[None, :n_draws])})
    return model, idata, nrm.random_measure.sample_random_measure(idata, model, random_seed=1)


@pytest.mark.parametrize("name", WITH_UNITS)
def test_densities_and_distribution_functions_in_the_units_of_columns(name):
    family, data = WITH_UNITS[name]
    model, idata, draws = measured(family, data)
    grid = data[:3]
    density = nrm.random_measure.measure_density(draws, model, grid).density.values[0]
    expected = nrm.predictive_density(idata, model, grid).density.values[0, 0]
    assert np.abs(z_scores(density, expected)).max() < 4
    # Half of a distribution function is below its median, and the mean of data is near the mean of the measure.
    middle = np.median(data[:, 1])
    cdf = nrm.random_measure.measure_cdf(draws, model, [middle], feature=1).cdf.mean().item()
    assert abs(cdf - 0.5) < 0.15
    mean = nrm.random_measure.measure_mean(draws, model)["mean"].median(("chain", "draw"))
    assert abs(mean.values[1] - data[:, 1].mean()) < 1.5


def test_measures_of_principal_families_have_means():
    data = np.random.default_rng(5).normal(size=(8, 3))
    with pm.Model():
        family = PrincipalNormalWishart.learned("x", data, 2)
    fixed = PrincipalNormalWishart(*(pm.draw(pt.as_tensor(field)) for field in family))
    model, _, draws = measured(fixed, data, 20)
    assert nrm.random_measure.measure_mean(draws, model)["mean"].shape == (1, 20, 3)
    with pytest.raises(NotImplementedError, match="predictive_density has its density"):
        nrm.random_measure.measure_density(draws, model, data[:2])


def test_grids_of_categories_are_text():
    table = pd.DataFrame({"a": list("xyxyxyzz"), "b": list("uvuvuvuv")})
    model, _, draws = measured(nrm.CategoricalDirichlet(1.0), table, 5)
    by_name = nrm.random_measure.measure_density(draws, model, pd.DataFrame({"a": ["x", "z"], "b": ["u", "v"]}))
    by_code = nrm.random_measure.measure_density(draws, model, [[0, 0], [2, 1]])
    np.testing.assert_array_equal(by_name.density, by_code.density)
