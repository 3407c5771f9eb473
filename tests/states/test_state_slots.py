"""The distribution of hidden states whose labels index parameters, against integrals over their weights."""

import itertools
import math

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.special import gammaln, roots_sh_jacobi

import pymc_nrm as nrm
from pymc_nrm.common.marks import STARTS
from pymc_nrm.models.rvs import kind_of
from pymc_nrm.states.partitions.slots import log_state_slots
from pymc_nrm.states.partitions.tables import log_states
from tests.helpers import refused, seeded
from tests.states.reference import log_states_without_cutoff, one_start, prior_of, random_setting, transitions_of

N = 5


def labelings(n_slots, n=N):
    return np.array(list(itertools.product(range(n_slots), repeat=n)))


def weights_and_shares(gamma, n_slots):
    """Nodes of the weights of two or three states and their probabilities, exact for polynomials of degree 19."""

    def beta(a, b):
        x, weights = roots_sh_jacobi(10, a + b - 1.0, a)
        return x, weights / weights.sum()

    x, p = beta(gamma / n_slots, gamma * (n_slots - 1) / n_slots)
    if n_slots == 2:
        return np.column_stack([x, 1.0 - x]), p
    y, q = beta(gamma / 3, gamma / 3)
    first, second = np.meshgrid(x, y, indexing="ij")
    nodes = np.stack([first, (1.0 - first) * second, (1.0 - first) * (1.0 - second)], axis=-1)
    return nodes.reshape(-1, 3), np.outer(p, q).ravel()


def probability(labels, n_slots, gamma, alpha, kappa, starts):
    """Probability of labels: rows integrated out given weights, then weights by quadrature."""
    nodes, shares = weights_and_shares(gamma, n_slots)
    counts = np.zeros((n_slots + 1, n_slots))
    for t, label in enumerate(labels):
        counts[0 if starts[t] else labels[t - 1] + 1, label] += 1
    total = np.ones(len(nodes))
    for j, row in enumerate(counts):
        shapes = alpha * nodes + (kappa * (np.arange(n_slots) == j - 1) if j else 0.0)
        for m in range(int(row.sum())):
            total /= shapes.sum(axis=1) + m
        for k in range(n_slots):
            for m in range(int(row[k])):
                total *= shapes[:, k] + m
    return (shares * total).sum()


@pytest.mark.parametrize("kappa", [0.0, 2.5])
@pytest.mark.parametrize("others", [[], [3]])
@pytest.mark.parametrize("n_slots", [2, 3])
def test_probabilities_are_integrals_over_weights(n_slots, others, kappa):
    starts, values = one_start(N, *others), labelings(n_slots)
    for gamma in (0.3, 2.0, 40.0):
        prior = prior_of(gamma, -gamma / n_slots, 1.7, kappa, starts)
        found = np.exp([log_state_slots(labels, prior, n_slots) for labels in values])
        expected = [probability(labels, n_slots, gamma, 1.7, kappa, starts) for labels in values]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert found.sum() == pytest.approx(1.0, rel=1e-12)


def test_cutting_off_changes_nothing():
    rng = seeded("cutoff of slots")
    for _ in range(25):
        labels, prior = random_setting(rng, 200)
        counts, n_states = transitions_of(labels, prior.starts)
        prior = prior._replace(discount=-prior.gamma / (n_states + int(rng.integers(5))))
        expected = log_states_without_cutoff(counts, n_states, prior)
        assert log_states(counts, n_states, prior) == pytest.approx(expected, rel=1e-12, abs=1e-11), prior


def test_many_slots_have_the_limit_without_slots():
    n_slots, labels = 10**6, np.array([7, 7, 3, 3, 7, 99])
    ordered = np.array([0, 0, 1, 1, 0, 2])
    for gamma, kappa in ((0.4, 0.0), (3.0, 8.0)):
        slots = prior_of(gamma, -gamma / n_slots, 1.7, kappa, one_start(6, 4))
        share = gammaln(n_slots - 2) - gammaln(n_slots + 1)
        limit = log_states(*transitions_of(ordered, slots.starts), slots._replace(discount=0.0))
        assert log_state_slots(labels, slots, n_slots) - share == pytest.approx(limit, abs=1e-5)


def model_of(max_states=4, n=6, **arguments):
    with pm.Model() as model:
        gamma, alpha, kappa = (pm.Gamma(name, 2.0, 1.0) for name in ("gamma", "alpha", "kappa"))
        measure, transitions = nrm.DirichletProcess(gamma), nrm.states.Transitions(alpha, kappa)
        nrm.states.HiddenStates("z", measure, transitions, n=n, max_states=max_states, **arguments)
    return model


@pytest.mark.parametrize("labels", [[2, 2, 0, 0, 2, 3], [1, 1, 1, 1, 1, 1], [3, 2, 1, 0, 0, 1]])
@pytest.mark.parametrize("mode", ["FAST_COMPILE", pytest.param("NUMBA", marks=pytest.mark.slow)])
def test_density_and_gradient_of_a_model(mode, labels):
    model = model_of(sequences=[8, 8, 8, 1, 1, 1])
    value, gradient = model.compile_logp(mode=mode), model.compile_dlogp(mode=mode)
    logs = {"gamma": 0.3, "alpha": -0.4, "kappa": 1.1}
    point = {f"{name}_log__": np.asarray(entry) for name, entry in logs.items()} | {"z": np.array(labels)}
    gamma = math.exp(0.3)
    prior = prior_of(gamma, -gamma / 4, *np.exp([-0.4, 1.1]), one_start(6, 3))
    expected = log_state_slots(point["z"], prior, 4)
    assert model.point_logps(point, round_vals=12)["z"] == pytest.approx(expected)
    for place, name in enumerate(f"{name}_log__" for name in logs):
        low, high = ({**point, name: point[name] + step} for step in (-1e-5, 1e-5))
        assert gradient(point)[place] == pytest.approx((value(high) - value(low)) / 2e-5, rel=1e-6)
    for wrong in (point["z"] + 4, point["z"] - 4):
        assert value({**point, "z": wrong}) == -np.inf and np.isfinite(gradient({**point, "z": wrong})).all()


def test_extreme_concentrations_have_finite_probabilities():
    value, labels = pt.dvector("values"), np.array([0, 0, 2, 2, 1, 1])
    measure, transitions = nrm.DirichletProcess(value[0]), nrm.states.Transitions(value[1], value[2])
    variable = nrm.states.HiddenStates.dist(measure, transitions, n=6, max_states=3)
    density = pm.logp(variable, labels)
    both = pytensor.function([value], [density, pt.grad(density, value)], mode="FAST_COMPILE")
    for gamma, alpha, kappa in itertools.product((1e-100, 1e-8, 1e8, 1e100), (1e-8, 1e8), (1e-8, 1e8)):
        assert all(np.isfinite(part).all() for part in both([gamma, alpha, kappa]))


def test_number_of_slots_may_be_a_dimension_and_labels_stay_slots():
    with pm.Model(coords={"state": range(3), "day": range(4)}) as model:
        z = nrm.states.HiddenStates(
            "z",
            nrm.DirichletProcess(1.0),
            nrm.states.Transitions(1.0),
            dims="day",
            max_states="state",
            sequences=["b", "b", "a", "a"],
            initval=[2, 2, 0, 2],
        )
    kind = kind_of(z)
    assert kind.max_clusters == 3 and kind.marks()[STARTS] == [0, 2]
    assert model.initial_point()["z"].tolist() == [2, 2, 0, 2]
    assert pm.draw(model["z_n_clusters"], 20, random_seed=1).max() <= 3


def states(measure=None, **arguments):
    with pm.Model(coords={"state": range(3)}) as model:
        nrm.states.HiddenStates(
            "z", measure or nrm.DirichletProcess(1.0), nrm.states.Transitions(1.0), n=4, **arguments
        )
    return model


test_wrong_numbers_of_states_are_refused = refused(
    lambda arguments: states(**arguments),
    ({"max_states": 0}, "max_states of HiddenStates 'z' must be a whole number between 1 and"),
    ({"max_states": 2.5}, "max_states of HiddenStates 'z' must be a whole number between 1 and"),
    ({"max_states": "regime"}, "max_states of HiddenStates 'z' must be a whole number or a dimension of the model"),
    ({"max_clusters": 3}, "max_clusters is not an argument of HiddenStates 'z': max_states makes labels indices"),
    (
        {"max_states": 3, "measure": nrm.PitmanYorProcess(0.2, 1.0)},
        TypeError,
        "measure of HiddenStates 'z' must be DirichletProcess\\(...\\) with max_states",
    ),
    ({"max_states": 3, "initval": [0, 1, 2, 3]}, "initval of HiddenStates 'z' must be whole numbers from 0 to 2"),
)
