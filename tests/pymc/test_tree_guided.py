"""The default step beyond its law: start, options, guide trees, going on after a stop, awkward data."""

import numpy as np
import pymc as pm
import pytest
from helpers import mixture_of

import pymc_nrm as nrm
from pymc_nrm.partitions.labels import is_canonical
from pymc_nrm.steps.tree_guided import count_learned, number_of_cycles, numbers_of_moves


def make_model(X, measure=None, **prior):
    return mixture_of(nrm.NormalGamma(mu=0.0, kappa=0.1, alpha=2.0, beta=1.0), X, measure, **prior)


def groups(n_groups=4, size=10, spread=0.3):
    rng = np.random.default_rng(4)
    return np.repeat(np.arange(n_groups) * 10.0, size) + rng.normal(0, spread, n_groups * size)


def make_step(model, **options):
    with model:
        return nrm.TreeGuided([model["z"]], rng=1, **options)


def run(step, point, n_draws):
    draws = []
    for _ in range(n_draws):
        point, [stats] = step.step(point)
        draws.append(point["z"])
    return np.array(draws), point, stats


def test_is_the_default_and_takes_options():
    options = {"chains": 1, "cores": 1, "random_seed": 1, "progressbar": False, "compute_convergence_checks": False}
    chosen = {"moves": {"informed_split_merge": 3, "tree_split_merge": 4}, "n_cycles": 2}
    with make_model(groups()):
        idata = pm.sample(20, tune=10, tree_guided=chosen, **options)
    stats = idata.sample_stats
    assert (stats["n_splits_proposed"] + stats["n_merges_proposed"] == 14).all()
    assert all(is_canonical(labels) for labels in idata.posterior["z"].values[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"moves": {"split": 1}}, "unknown name 'split'; allowed are"),
        ({"moves": {"tree_split_merge": -1}}, "tree_split_merge in moves .* -1"),
        ({"moves": {"subtree_gibbs": float("nan")}}, "subtree_gibbs in moves .* nan"),
        ({"moves": {"marginal_gibbs": 1.5}}, "marginal_gibbs in moves .* 1.5"),
        ({"moves": {"marginal_gibbs": 41}}, "marginal_gibbs in moves .* 41"),
        ({"moves": {"subtree_gibbs": 0, "marginal_gibbs": 0}}, "cannot be reached"),
        ({"n_trees": 0}, "n_trees .* 0"),
        ({"n_trees": None}, "n_trees .* None"),
        ({"n_cycles": 0}, "n_cycles .* 0"),
        ({"n_cycles": 1.5}, "n_cycles .* 1.5"),
        ({"moves": {"tree_split_merge": None}}, "tree_split_merge in moves .* None"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        make_step(make_model(groups()), **options)


def test_trees_are_frozen_and_informed_moves_end_after_tuning():
    step = make_step(make_model(groups()), n_cycles=1)
    step.setup_chain(np.random.default_rng(0), 20, 50)
    point, seen, n_proposed = {"z": np.zeros(40, dtype=np.int64)}, [], []
    for draw in range(40):
        if draw == 20:
            step.stop_tuning()
        _, point, stats = run(step, point, 1)
        seen.append(step.guides[0])
        n_proposed.append(int(stats["n_splits_proposed"] + stats["n_merges_proposed"]))
    assert len({id(guide) for guide in seen[:20]}) == 4
    assert len({id(guide) for guide in seen[10:]}) == 1
    assert n_proposed == [10] * 20 + [4] * 20


def test_chosen_numbers_of_moves_stay_after_tuning():
    chosen = {"informed_split_merge": 3, "tree_split_merge": 0.5}
    for tuning in (True, False):
        assert list(numbers_of_moves(40, chosen, tuning=tuning).values())[:3] == [3, 20, 5]


@pytest.mark.parametrize(
    ("n", "n_learned", "expected"),
    [(40, 0, 3), (569, 0, 1), (569, 468, 5), (33, 102, 3), (33, 301, 5), (2000, 201, 1), (10_000, 0, 1)],
)
def test_draws_of_many_hyperparameters_have_more_cycles(n, n_learned, expected):
    assert number_of_cycles(n, n_learned) == expected


def test_learned_numbers_are_those_that_families_depend_on():
    X = np.random.default_rng(1).normal(size=(20, 3))
    with pm.Model() as model:
        pm.Normal("of_nothing", shape=5)
        z = nrm.Partition("z", nrm.DirichletProcess(pm.Gamma("alpha", 1, 1)), n=20)
        latent = nrm.Mixture("latent", z, nrm.NormalGamma(0, pm.HalfNormal("kappa"), 2, 1), shape=(20, 2))
        learned = nrm.Mixture("x", z, nrm.NormalWishart.learned("x", X), observed=X)
    point = model.initial_point()
    # A share, kappa, an excess, three squared pivots and three numbers below them.
    assert [count_learned(model, [one], point) for one in (latent, learned)] == [1, 9]


def test_all_items_take_their_turn():
    step = make_step(make_model(groups()), moves={"marginal_gibbs": 15})
    step.setup_chain(np.random.default_rng(0), 0, 8)
    items = np.concatenate([step._next_items(step.rng, 40, 15) for _ in range(8)])
    for turn in items.reshape(3, 40):
        assert sorted(turn) == list(range(40))


@pytest.mark.parametrize(
    "X",
    [np.zeros(12), np.repeat([1.0, 5.0], 6), np.linspace(0, 1e6, 12), np.array([[0.0, 1.0]] * 6 + [[0.0, 3.0]] * 6)],
    ids=["equal", "duplicates", "far apart", "constant feature"],
)
@pytest.mark.parametrize("measure", [nrm.DirichletProcess(1.0), nrm.NormalizedGeneralizedGamma(1e-3, 0.9)])
def test_awkward_data(X, measure):
    step = make_step(make_model(X, measure=measure))
    for start in (np.zeros(12, dtype=np.int64), np.arange(12)):
        step.setup_chain(np.random.default_rng(0), 5, 20)
        draws, _, stats = run(step, {"z": start}, 25)
        assert all(is_canonical(labels) for labels in draws)
        assert np.isfinite(stats["log_joint"])
