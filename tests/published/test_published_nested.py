"""The published sampler of nested partitions, which these tests must find wrong, and its corrected form."""

import warnings

import numpy as np
import pymc as pm
import pytest

import pymc_nrm as nrm
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.published.moves.huang_sweep import Repairs, published_sweep
from tests.helpers import distance_to_law, seeded
from tests.nested.enumerated_posterior import CHAINS, check_draws, inputs, law, posterior
from tests.nested.test_nested_model import X

PUBLISHED, CORRECTED = Repairs(), Repairs(True, True, True)
PublishedNestedGibbs = nrm.published.PublishedNestedGibbs
HDP = nrm.nested.HierarchicalDirichletProcess


@kernel
def published_chain(rng, values, levels, gammas, family, data, repairs, truncation, n_draws):
    draws = np.empty((n_draws, *values.shape), dtype=np.int64)
    for t in range(n_draws):
        values, _, _ = published_sweep(rng, values, levels, gammas, family, data, repairs, truncation)
        draws[t] = values
    return draws


def draw(family, case, repairs, truncation, n_draws):
    levels, gammas, n = law(case)
    start = np.zeros((n, 2 * len(gammas) - 1), dtype=np.int64)
    chains = [
        published_chain(rng, start, levels, gammas, *inputs(family, n), repairs, truncation, n_draws)
        for rng in seeded(family, case, *repairs).spawn(CHAINS)
    ]
    return np.array(chains)[:, 20:]


def paths_and_components(case):
    """A function of draws that gives the number of their paths and components, (chains, draws); the probabilities of
    all numbers, and their number of components.
    """
    values, index, p = posterior("BernoulliBeta", case)
    depth = values.shape[2] // 2
    kept, groups = np.unique(np.delete(values, np.arange(depth, 2 * depth), axis=2), axis=0, return_inverse=True)
    groups = groups.ravel()

    def groups_of(draws):
        rows = np.array([index[value.tobytes()] for value in draws.reshape(-1, *draws.shape[2:])])
        return groups[rows].reshape(draws.shape[:2])

    return groups_of, np.bincount(groups, weights=p), kept[:, :, -1].max(axis=1) + 1


def distance(draws, case):
    """:func:`distance_to_law` of paths and components."""
    groups_of, law, _ = paths_and_components(case)
    return distance_to_law(groups_of(draws)[..., None], np.arange(len(law))[:, None], law)


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
    check_draws(draws, *posterior(family, case)[1:])


@pytest.mark.slow
@pytest.mark.parametrize("error", Repairs._fields)
def test_each_error_alone_is_found(error):
    case = "3 items, depth 1"
    found, largest = distance(draw("BernoulliBeta", case, CORRECTED._replace(**{error: False}), np.inf, 10_000), case)
    assert found > 0.03
    assert largest > 1.2


def make_model(**random):
    """A model with parts that depend on a random variable."""
    with pm.Model() as model:
        given = {name: part(pm.Gamma("a", 2, 2)) for name, part in random.items()}
        weights = given.get("weights", HDP(0.8, 1.5))
        h = nrm.nested.NestedPartition("h", given.get("measure", nrm.DirichletProcess(0.7)), 2, weights, n=5)
        nrm.Mixture("x", h, given.get("family", nrm.BernoulliBeta(0.6, 0.6)), observed=X)
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


RANDOM = {
    "alpha of DirichletProcess of 'h'": {"measure": lambda a: nrm.DirichletProcess(a)},
    "gamma of HierarchicalDirichletProcess of 'h'": {"weights": lambda a: HDP(2.0 * a, 1.0)},
    "gamma_0 of HierarchicalDirichletProcess of 'h'": {"weights": lambda a: HDP(1.0, a)},
    "beta of BernoulliBeta of 'x'": {"family": lambda a: nrm.BernoulliBeta(1.0, a)},
}


@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("message", RANDOM)
@pytest.mark.filterwarnings("ignore:PublishedNestedGibbs does not leave")
def test_random_hyperparameters_are_refused(message, corrected):
    model = make_model(**RANDOM[message])
    message += " must be fixed for PublishedNestedGibbs; it depends on 'a'. Use NestedGibbs"
    with model, pytest.raises(ValueError, match=message):
        PublishedNestedGibbs([model["h"]], corrected=corrected)


@pytest.mark.filterwarnings("ignore:PublishedNestedGibbs does not leave")
def test_other_errors():
    with make_model() as model:
        t = nrm.nested.NestedPartition("t", nrm.DirichletProcess(0.7), 2, n=5)
        z = nrm.Partition("z", nrm.DirichletProcess(0.7), n=5)
        for variable, options, message in (
            *((model["h"], {"truncation": wrong}, "truncation must be") for wrong in (0.0, 1.5, "fine")),
            (model["h"], {"truncation": 0.1, "corrected": True}, "truncation must be None with corrected=True"),
            (t, {}, "with weights; 't' has none. Use NestedGibbs instead"),
            (z, {}, "'z' is not a NestedPartition, which PublishedNestedGibbs samples"),
        ):
            with pytest.raises((TypeError, ValueError), match=message):
                PublishedNestedGibbs([variable], **options)


def test_known_paths_are_refused():
    with pm.Model():
        weights = nrm.nested.HierarchicalDirichletProcess(1.0, 1.0)
        h = nrm.nested.NestedPartition("h", weights=weights, paths=["a", "b", "a"])
        nrm.Mixture("x", h, nrm.BernoulliBeta(1.0, 1.0), observed=[[0], [1], [1]])
        with pytest.raises(ValueError, match="random tree; 'h' has known paths"):
            nrm.published.PublishedNestedGibbs([h], corrected=True)
