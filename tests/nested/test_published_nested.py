"""The published sampler of nested partitions, which these tests must find wrong, and its corrected form."""

import functools
import warnings

import numpy as np
import pymc as pm
import pytest
from enumerated_posterior import CHAINS, assert_law, draw_chain, inputs, law, posterior
from helpers import seeded
from test_nested_model import X

import pymc_nrm as nrm
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.moves.nested.sweep import Sweep
from pymc_nrm.partitions.nested_laws.levels import Levels
from pymc_nrm.published.huang.published_sweep import Repairs, published_sweep
from pymc_nrm.testing import kernel_inputs, largest_z, mean_and_error, total_variation, z_scores

PUBLISHED, CORRECTED = Repairs(), Repairs(True, True, True)
PublishedNestedGibbs = nrm.published.PublishedNestedGibbs


@kernel
def published_chain(rng, values, levels, gammas, family, data, repairs, truncation, n_draws):
    """Values after each sweep."""
    draws = np.empty((n_draws, *values.shape), dtype=np.int64)
    for t in range(n_draws):
        values, _, _ = published_sweep(rng, values, levels, gammas, family, data, repairs, truncation)
        draws[t] = values
    return draws


@functools.cache
def paths_and_components(case):
    """Group of each value by its paths and components, and the probabilities of the groups."""
    values, _, p = posterior("BernoulliBeta", case)
    depth = values.shape[2] // 2
    kept = np.delete(values, np.arange(depth, 2 * depth), axis=2)
    groups = np.unique(kept, axis=0, return_inverse=True)[1].ravel()
    return groups, np.bincount(groups, weights=p)


def draw(family, case, repairs, truncation, n_draws):
    levels, gammas, n = law(case)
    start = np.zeros((n, 2 * len(gammas) - 1), dtype=np.int64)
    chains = [
        published_chain(rng, start, levels, gammas, *inputs(family, n), repairs, truncation, n_draws)
        for rng in seeded(family, case, *repairs).spawn(CHAINS)
    ]
    return np.array(chains)[:, 20:]


def distance(draws, case):
    """Total variation of paths and components to the posterior, and the largest z-score relative to its limit."""
    groups, p = paths_and_components(case)
    _, index, _ = posterior("BernoulliBeta", case)
    rows = np.array([index[value.tobytes()] for value in draws.reshape(-1, *draws.shape[2:])])
    found = groups[rows].reshape(draws.shape[:2])
    scores = z_scores(found[..., None], np.arange(len(p))[:, None], p)
    largest = np.abs(scores).max() / largest_z(found.shape, scores.size)
    return total_variation(np.bincount(found.ravel(), minlength=len(p)) / found.size, p), largest


SMALL = [f"{n} items, depth {depth}" for n in (3, 4) for depth in (1, 2)]


@pytest.mark.slow
@pytest.mark.parametrize("case", SMALL)
def test_published_chain_is_found_wrong(case):
    """The check that the corrected sampler passes has power: the published sampler fails it."""
    found, largest = distance(draw("BernoulliBeta", case, PUBLISHED, 0.01, 10_000), case)
    assert found > 0.04
    assert largest > 1.2


@pytest.mark.slow
@pytest.mark.parametrize("case", [*SMALL, "3 items, depth 2, discounts"])
@pytest.mark.parametrize("family", ["BernoulliBeta", "NormalWishart"])
def test_corrected_chain_has_the_posterior_law(case, family):
    draws = draw(family, case, CORRECTED, np.inf, 12_000 if case[0] == "3" else 60_000)
    assert_law(draws, *posterior(family, case)[1:])


@pytest.mark.slow
@pytest.mark.parametrize("error", Repairs._fields)
def test_each_error_alone_is_found(error):
    case = "3 items, depth 1"
    found, largest = distance(draw("BernoulliBeta", case, CORRECTED._replace(**{error: False}), np.inf, 10_000), case)
    assert found > 0.03
    assert largest > 1.2


def quantities(draws):
    """Numbers of components and of nodes of both levels, shape (chains, draws, 3)."""
    return draws[..., [-1, 0, 1]].max(axis=2) + 1


@pytest.mark.slow
def test_corrected_chain_agrees_with_that_of_nested_gibbs():
    """Ten items are too many for enumeration; the two samplers share no moves."""
    rng = np.random.default_rng(20200207)
    rows = rng.integers(0, 2, size=(10, 6))
    own, data = kernel_inputs(nrm.BernoulliBeta(0.6, 0.6), rows)
    laws, gammas = Levels(np.full(2, 0.3), np.zeros(2)), np.array([1.0, 1.15, 1.15])
    start = np.zeros((10, 5), dtype=np.int64)
    given = (start, laws, gammas, own, data)
    exact = np.array([draw_chain(one, *given, Sweep(), 5_000) for one in rng.spawn(CHAINS)])
    corrected, published = (
        np.array([published_chain(one, *given, repairs, truncation, 8_000) for one in rng.spawn(CHAINS)])
        for repairs, truncation in [(CORRECTED, np.inf), (PUBLISHED, 0.01)]
    )
    mean, error, _ = mean_and_error(quantities(exact[:, 100:]))
    for draws, agrees in [(corrected, True), (published, False)]:
        other, other_error, _ = mean_and_error(quantities(draws[:, 500:]))
        scores = (other - mean) / np.hypot(error, other_error)
        assert (np.abs(scores).max() < 4.5) == agrees, scores


def make_model(measure=None, weights=None, family=None):
    with pm.Model() as model:
        measure = nrm.DirichletProcess(0.7) if measure is None else measure()
        weights = nrm.HierarchicalDirichletProcess(0.8, 1.5) if weights is None else weights()
        h = nrm.NestedPartition("h", measure, 2, weights, n=5)
        nrm.Mixture("x", h, nrm.BernoulliBeta(0.6, 0.6) if family is None else family(), observed=X)
    return model


@pytest.mark.slow
@pytest.mark.parametrize("corrected", [False, True])
def test_step(corrected):
    model = make_model()
    with model, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        step = PublishedNestedGibbs([model["h"]], rng=1, corrected=corrected)
    messages = [str(warning.message) for warning in caught]
    assert any("does not leave the posterior invariant" in message for message in messages) != corrected
    log_p = model.compile_logp()
    point = model.initial_point()
    step.setup_chain(np.random.default_rng(1), 0, 20)
    n_accepted = 0
    for _ in range(20):
        point, [stats] = step.step(point)
        assert stats["log_joint"] == pytest.approx(log_p(point), abs=1e-9)
        assert stats["n_components"] == point["h"][:, -1].max() + 1
        assert set(stats) == set(PublishedNestedGibbs.stats_dtypes_shapes)
        n_accepted += stats["n_paths_accepted"]
    assert 0 < n_accepted < 100


@pytest.mark.slow
def test_it_is_no_default_and_samples_without_data():
    with pm.Model():
        weights = nrm.HierarchicalDirichletProcess(0.8, 1.5)
        h = nrm.NestedPartition("h", nrm.DirichletProcess(0.7), 2, weights, n=3)
        idata = nrm.sample(5, tune=2, chains=1, cores=1, random_seed=1, quiet=True)
        assert "n_paths_accepted" not in idata.sample_stats
        step = PublishedNestedGibbs([h], corrected=True)
        idata = nrm.sample(5, tune=2, chains=1, cores=1, random_seed=1, quiet=True, step=[step])
    assert idata.posterior["h"].shape == (1, 5, 3, 5)
    assert "n_paths_accepted" in idata.sample_stats


RANDOM = {
    "alpha of DirichletProcess of 'h'": {"measure": lambda: nrm.DirichletProcess(pm.Gamma("a", 2, 2))},
    "gamma of HierarchicalDirichletProcess of 'h'": {
        "weights": lambda: nrm.HierarchicalDirichletProcess(2.0 * pm.Gamma("a", 2, 2), 1.0)
    },
    "gamma_0 of HierarchicalDirichletProcess of 'h'": {
        "weights": lambda: nrm.HierarchicalDirichletProcess(1.0, pm.Gamma("a", 2, 2))
    },
    "beta of BernoulliBeta of 'x'": {"family": lambda: nrm.BernoulliBeta(1.0, pm.Gamma("a", 2, 2))},
}


@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("message", RANDOM)
@pytest.mark.filterwarnings("ignore:PublishedNestedGibbs does not leave")
def test_random_hyperparameters_are_refused(message, corrected):
    model = make_model(**RANDOM[message])
    message += " must be fixed for PublishedNestedGibbs; it depends on 'a'. NestedGibbs takes"
    with model, pytest.raises(ValueError, match=message):
        PublishedNestedGibbs([model["h"]], corrected=corrected)


@pytest.mark.filterwarnings("ignore:PublishedNestedGibbs does not leave")
def test_other_errors():
    model = make_model()
    for truncation in (0.0, 1.5, "fine"):
        with model, pytest.raises((TypeError, ValueError), match="truncation must be"):
            PublishedNestedGibbs([model["h"]], truncation=truncation)
    with model, pytest.raises(ValueError, match="truncation must be None with corrected=True"):
        PublishedNestedGibbs([model["h"]], truncation=0.1, corrected=True)
    with pm.Model():
        t = nrm.NestedPartition("t", nrm.DirichletProcess(0.7), 2, n=5)
        z = nrm.Partition("z", nrm.DirichletProcess(0.7), n=5)
        with pytest.raises(ValueError, match="with weights; 't' has none. NestedGibbs samples it"):
            PublishedNestedGibbs([t])
        with pytest.raises(TypeError, match="'z' is not a NestedPartition, which PublishedNestedGibbs samples"):
            PublishedNestedGibbs([z])
