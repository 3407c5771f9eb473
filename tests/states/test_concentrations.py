"""Concentrations of hidden states drawn by LearnedGibbs: their distribution given labels, and which it takes."""

import copy
import itertools

import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_nrm as nrm
from pymc_nrm.models.learned_priors import learned_priors
from pymc_nrm.states.models.learned import LearnedStates
from pymc_nrm.states.moves.hyperparameters import draw_concentrations_of_states
from pymc_nrm.states.partitions.prior import StatePrior
from tests.helpers import assert_means, seeded
from tests.states.enumerated_states import log_prior
from tests.states.test_state_slots import probability

LABELS = np.array([0, 0, 0, 1, 1, 0, 0, 0, 0, 2, 2, 1, 1, 1, 1])
STARTS = np.isin(np.arange(15), [0, 9])
GAMMAS = np.array([[3.0, 2.0], [2.0, 1.0], [2.0, 0.3]])


@pytest.mark.parametrize(
    ("fixed", "n_slots"),
    [((), None), ((2,), 3), *(pytest.param(*row, marks=pytest.mark.slow) for row in [((0, 2), None), ((), 4)])],
)
def test_draws_have_the_conditional_given_labels(fixed, n_slots):
    gammas, grid = GAMMAS.copy(), [np.linspace(-5.5, 4.0, 20)] * 3
    share = 0.0 if n_slots is None else -1.0 / n_slots
    prior = StatePrior(0.8, 0.8 * share, 1.3, 2.5, STARTS)
    for place in fixed:
        gammas[place, 0], grid[place] = 0.0, np.log([[0.8, 1.3, 2.5][place]])
    log_p = np.zeros([len(one) for one in grid])
    for place, values in enumerate(grid):
        if place not in fixed:
            shape, rate = GAMMAS[place]
            density = stats.gamma.logpdf(np.exp(values), shape, scale=1.0 / rate) + values
            log_p += np.expand_dims(density, [axis for axis in range(3) if axis != place])
    for index in itertools.product(*map(range, log_p.shape)):
        gamma, alpha, kappa = (np.exp(values[k]) for values, k in zip(grid, index, strict=True))
        log_p[index] += log_prior(LABELS, StatePrior(gamma, gamma * share, alpha, kappa, STARTS))
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    draws = []
    for rng in seeded("concentrations", *fixed, *([n_slots] if n_slots else [])).spawn(4):
        logs, chain = np.log([0.8, 1.3, 2.5]), []
        for _ in range(500):
            draw_concentrations_of_states(rng, LABELS, prior, gammas, logs, 1)
            chain.append(logs.copy())
        draws.append(chain)
    values, expected = {}, {}
    for place in set(range(3)) - set(fixed):
        marginal = p.sum(axis=tuple(axis for axis in range(3) if axis != place))
        for power in (1, 2):
            values[place, power] = np.array(draws)[:, :, place] ** power
            expected[place, power] = marginal @ grid[place] ** power
    assert_means(values, expected)


def test_a_new_gamma_of_slots_enters_the_draw_of_alpha():
    """The discount of K slots, -gamma / K, changes with gamma: a sweep is as one draw after the other."""
    for rng in seeded("sweep").spawn(20):
        again, prior = copy.deepcopy(rng), StatePrior(0.8, -0.8 / 3, 1.3, 2.5, STARTS)
        logs, in_turn = np.log([0.8, 1.3, 2.5]), np.log([0.8, 1.3, 2.5])
        draw_concentrations_of_states(rng, LABELS, prior, GAMMAS, logs, 1)
        for place in range(3):
            draw_concentrations_of_states(again, LABELS, prior, GAMMAS * (np.arange(3) == place)[:, None], in_turn, 1)
            gamma, alpha, kappa = np.exp(in_turn)
            prior = StatePrior(gamma, -gamma / 3, alpha, kappa, STARTS)
        np.testing.assert_allclose(logs, in_turn, rtol=1e-8)


def test_draws_have_the_conditional_given_slots():
    """Of the concentration of three slots, against integrals over their weights."""
    labels, starts, grid = np.array([2, 0, 0, 2, 0]), np.isin(np.arange(5), [0, 3]), np.linspace(-6.0, 4.0, 40)
    log_p = np.array([np.log(probability(labels, 3, gamma, 1.3, 2.5, starts)) for gamma in np.exp(grid)])
    log_p += stats.gamma.logpdf(np.exp(grid), *GAMMAS[0, :1], scale=1.0 / GAMMAS[0, 1]) + grid
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    with pm.Model() as model:
        transitions = nrm.states.Transitions(1.3, 2.5)
        measure = nrm.DirichletProcess(pm.Gamma("gamma", *GAMMAS[0]))
        z = nrm.states.HiddenStates("z", measure, transitions, n=5, sequences=[0, 0, 0, 1, 1], max_states=3)
        pm.Normal("y", pm.Normal("mean", 0, 1, shape=3)[z], 1.0, observed=np.zeros(5))
        step = nrm.steps.LearnedGibbs()
    assert [value.name for value in step.vars] == ["gamma_log__"]
    point, draws = model.initial_point() | {"z": labels}, np.empty((4, 500))
    for chain, rng in zip(draws, seeded("slots").spawn(4), strict=True):
        step.setup_chain(rng, 0, 500)
        for i in range(500):
            point, _ = step.step(point)
            chain[i] = point["gamma_log__"]
    assert_means({k: draws**k for k in (1, 2)}, {k: p @ grid**k for k in (1, 2)})


def fields_of(make, max_states=None):
    """Fields that LearnedGibbs draws in a model of hidden states with the measure and transitions that a function
    makes.
    """
    with pm.Model() as model:
        z = nrm.states.HiddenStates("z", *make(), n=4, max_states=max_states)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 8, 9])
    return [prior.fields for prior in learned_priors(model) if isinstance(prior, LearnedStates)]


def shared():
    both = pm.Gamma("both", 2, 1)
    return nrm.DirichletProcess(both), nrm.states.Transitions(both, pm.Gamma("kappa", 2, 1))


def read_elsewhere():
    alpha = pm.Gamma("alpha", 2, 1)
    pm.Normal("y", alpha, 1.0, observed=2.0)
    return nrm.DirichletProcess(pm.Exponential("gamma", 1.0)), nrm.states.Transitions(alpha, 1.0)


@pytest.mark.parametrize(
    ("make", "fields"),
    [
        (
            lambda: (
                nrm.DirichletProcess(pm.Gamma("gamma", 2, 1)),
                nrm.states.Transitions(pm.Exponential("alpha", 1.0), pm.Gamma("kappa", 2, 0.1)),
            ),
            [["gamma", "alpha", "kappa"]],
        ),
        (shared, [["kappa"]]),
        (read_elsewhere, [["gamma"]]),
        (
            lambda: (
                nrm.PitmanYorProcess(pm.Beta("discount", 1, 3), pm.Gamma("gamma", 2, 1)),
                nrm.states.Transitions(pm.LogNormal("alpha", 0, 1), pm.Gamma("kappa", 2, pm.Gamma("rate", 2, 1))),
            ),
            [],
        ),
        (lambda: (nrm.DirichletProcess(1.0), nrm.states.Transitions(1.0, 2.0)), []),
    ],
)
def test_which_concentrations_are_drawn(make, fields):
    assert fields_of(make) == fields
    if make is read_elsewhere or make is shared:
        assert fields_of(make, 5) == fields


@pytest.mark.slow
@pytest.mark.parametrize("max_states", [None, 4])
def test_sample_needs_no_nuts_for_concentrations(max_states):
    with pm.Model():
        transitions = nrm.states.Transitions(pm.Gamma("alpha", 2, 1), pm.Gamma("kappa", 2, 0.1))
        z = nrm.states.HiddenStates(
            "z", nrm.DirichletProcess(pm.Gamma("gamma", 2, 1)), transitions, n=6, max_states=max_states
        )
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 8, 9, 1, 0])
        idata = nrm.sample(50, tune=50, chains=1, random_seed=1, quiet=True)
    assert "tree_depth" not in idata.sample_stats
    assert all(len(np.unique(idata.posterior[name])) == 50 for name in ("gamma", "alpha", "kappa"))
