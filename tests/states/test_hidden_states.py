"""Hidden states as a variable of a PyMC model: its arguments, log-probability and gradients, and the other steps."""

import pickle

import cloudpickle
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest

import pymc_nrm as nrm
from pymc_nrm.common.marks import STARTS
from pymc_nrm.models.learned_priors import LearnedProcess, learned_priors
from pymc_nrm.models.rvs import kind_of
from pymc_nrm.states.partitions.chain import LogStates
from pymc_nrm.states.partitions.tables import log_states
from tests.helpers import refused
from tests.states.reference import one_start, prior_of, transitions_of

DIRICHLET = nrm.DirichletProcess(1.3)
TRANSITIONS = nrm.states.Transitions(1.7, 2.5)
STATES = np.array([0, 0, 1, 1, 0, 0, 2])
PATIENTS = ["a", "a", "a", "b", "b", "c", "c"]
COUNTS = np.array([0, 1, 9, 8, 0, 2, 30])


def model_of(family=None, data=COUNTS, **arguments):
    """Hidden states z with random hyperparameters and, with a family, their data x."""
    with pm.Model() as model:
        gamma, alpha, kappa = (pm.Gamma(name, 2.0, 1.0) for name in ("gamma", "alpha", "kappa"))
        arguments = arguments or {"n": len(data)}
        z = nrm.states.HiddenStates("z", nrm.DirichletProcess(gamma), nrm.states.Transitions(alpha, kappa), **arguments)
        if family is not None:
            nrm.Mixture("x", z, family() if callable(family) else family, observed=data)
    return model


def by_polynomials(gamma, discount, alpha, kappa, counts, n_states):
    """Symbolic log-probability: sums over all tables, with rising factorials multiplied out."""

    def product(first, second):
        total = [0.0] * (len(first) + len(second) - 1)
        for i, a in enumerate(first):
            for j, b in enumerate(second):
                total[i + j] = total[i + j] + a * b
        return total

    sums = [pt.constant(1.0)]
    for k in range(n_states):
        powers = [pt.constant(1.0)]
        for j in range(n_states + 1):
            for i in range(counts[j, k]):
                powers = product(powers, [(kappa if j == k + 1 else 0.0) + i, alpha])
        rising = [0.0, pt.constant(1.0)]
        for m in range(2, len(powers)):
            rising.append(rising[-1] * (m - 1.0 - discount))
        sums = product(sums, [a * b for a, b in zip(powers, rising, strict=True)])
    value = 0.0
    for total in range(n_states, len(sums)):
        value += sums[total] / pt.prod([gamma + i for i in range(1, total)] or [1.0])
    value = pt.log(value) + sum(pt.log(gamma + i * discount) for i in range(1, n_states))
    for j in range(n_states + 1):
        for i in range(counts[j].sum()):
            value -= pt.log(alpha + (kappa if j > 0 else 0.0) + i)
    return value


@pytest.mark.parametrize("mode", ["FAST_COMPILE", pytest.param("NUMBA", marks=pytest.mark.slow)])
def test_gradient_is_that_of_the_sum_over_tables(mode):
    starts = one_start(7, 3, 5)
    counts, n_states = transitions_of(STATES, starts)
    parameters = [pt.dscalar(name) for name in ("gamma", "discount", "alpha", "kappa")]
    labels, n, is_start = pt.constant(STATES), pt.constant(7), pt.constant(starts.astype("int64"))
    graphs = [LogStates()(labels, n, is_start, *parameters)[0], by_polynomials(*parameters, counts, n_states)]
    both = [[graph, *pt.grad(graph, parameters)] for graph in graphs]
    own, expected = (pytensor.function(parameters, outputs, mode=mode) for outputs in both)
    for values in ((1.3, 0.4, 1.7, 2.5), (0.2, 0.0, 0.1, 30.0), (-0.2, 0.7, 9.0, 0.3)):
        np.testing.assert_allclose(own(*values), expected(*values), rtol=1e-10)


@pytest.mark.parametrize("mode", ["FAST_COMPILE", pytest.param("NUMBA", marks=pytest.mark.slow)])
def test_density_and_gradient_of_a_model(mode):
    model = model_of(sequences=PATIENTS)
    value, gradient = model.compile_logp(mode=mode), model.compile_dlogp(mode=mode)
    point = {"gamma_log__": 0.3, "alpha_log__": -0.4, "kappa_log__": 1.1, "z": STATES}
    point = {name: np.asarray(entry) for name, entry in point.items()}
    prior = prior_of(*np.exp([0.3]), 0.0, *np.exp([-0.4, 1.1]), one_start(7, 3, 5))
    terms = model.point_logps(point, round_vals=12)
    assert terms["z"] == pytest.approx(log_states(*transitions_of(STATES, prior.starts), prior))
    for place, name in enumerate(("gamma_log__", "alpha_log__", "kappa_log__")):
        low, high = ({**point, name: point[name] + step} for step in (-1e-5, 1e-5))
        assert gradient(point)[place] == pytest.approx((value(high) - value(low)) / 2e-5, rel=1e-6)
    for wrong in (STATES + 1, 2 - STATES, STATES - 1, STATES * 10**12):
        point["z"] = wrong
        assert value(point) == -np.inf and np.isfinite(gradient(point)).all()


def test_other_numbers_of_labels_have_no_probability():
    labels, starts = pt.lvector("labels"), pt.constant(one_start(7, 3).astype("int64"))
    value = pytensor.function([labels], LogStates()(labels, 7, starts, 1.3, 0.0, 1.7, 2.5)[0], mode="FAST_COMPILE")
    assert np.isfinite(value(STATES))
    assert value(STATES[:6]) == value(np.append(STATES, 0)) == value(STATES[:0]) == -np.inf


def test_hyperparameters_out_of_range_are_named():
    alpha = pt.dscalar("alpha")
    density = pm.logp(nrm.states.HiddenStates.dist(DIRICHLET, nrm.states.Transitions(alpha), n=3), np.array([0, 0, 1]))
    evaluate = pytensor.function([alpha], density, mode="FAST_COMPILE")
    assert np.isfinite(evaluate(2.0))
    with pytest.raises(pm.logprob.utils.ParameterValueError, match="alpha finite and above 0"):
        evaluate(-1.0)


def test_there_are_no_second_derivatives():
    alpha = pt.dscalar("alpha")
    density = pm.logp(nrm.states.HiddenStates.dist(DIRICHLET, nrm.states.Transitions(alpha), n=3), np.array([0, 0, 1]))
    with pytest.raises(NotImplementedError, match="HiddenStates has no second derivatives"):
        pt.grad(pt.grad(density, alpha), alpha)


def states(measure=DIRICHLET, transitions=TRANSITIONS, **arguments):
    with pm.Model(coords={"day": range(4)}):
        return nrm.states.HiddenStates("z", measure, transitions, **arguments)


ELICITED = nrm.elicit(nrm.DirichletProcess, n=10, n_clusters=3.0)

test_wrong_arguments_are_refused = refused(
    states,
    (nrm.NormalizedInverseGaussian(1.0), TypeError, "measure of HiddenStates 'z' must be DirichletProcess"),
    (nrm.DirichletProcess, TypeError, "measure must have its hyperparameters"),
    (1.0, TypeError, "must be DirichletProcess\\(...\\) or PitmanYorProcess\\(...\\).*; got 1.0"),
    (ELICITED, TypeError, "number of states of a chain is not the number of clusters"),
    (nrm.DirichletProcess(-1.0), "alpha of DirichletProcess must be finite and above 0; got -1.0"),
)

test_wrong_transitions_are_refused = refused(
    lambda transitions: states(transitions=transitions, n=4),
    (nrm.states.Transitions, TypeError, "transitions of HiddenStates 'z' must be Transitions\\(alpha, kappa\\)"),
    (2.0, TypeError, "must be Transitions\\(alpha, kappa\\); got 2.0"),
    (nrm.states.Transitions(0.0), "alpha of Transitions must be finite and above 0; got 0.0"),
    (nrm.states.Transitions(1.0, -1.0), "kappa of Transitions must be finite and at least 0; got -1.0"),
    (nrm.states.Transitions([1.0, 2.0]), "alpha of Transitions must be a scalar; got shape \\(2,\\)"),
)

test_wrong_options_are_refused = refused(
    lambda arguments: states(**arguments),
    ({}, "n of HiddenStates 'z', the number of items, must be given"),
    ({"n": 0}, "n of HiddenStates 'z' must be a whole number between 1 and"),
    ({"n": 5, "sequences": list("aabb")}, "sequences of HiddenStates 'z' must have one row for each of the 5 items"),
    ({"dims": "day", "sequences": list("aab")}, "must have one row for each of the 4 items; got 3 rows"),
    ({"sequences": list("aabba")}, "must keep the rows of a sequence together; 'a' returns at row 4"),
    ({"sequences": ["a", "new", "new"]}, "must have no sequence named 'new'"),
    ({"sequences": [1, 2, 1]}, "must keep the rows of a sequence together; 1 returns at row 2"),
    ({"sequences": ["a", None]}, "sequences of HiddenStates 'z' must have no missing labels; got 1 missing of 2"),
    ({"sequences": [["a", "b"]]}, "must have shape \\(n,\\), one label for each item; got shape \\(1, 2\\)"),
    ({"sequences": "ab"}, "must have shape \\(n,\\), one label for each item; got shape \\(\\)"),
    ({"sequences": []}, "with at least one item"),
    ({"sequences": [1.5, 2.0]}, TypeError, "must be whole numbers or strings; got 1.5"),
    ({"n": 3, "initval": [0, 1]}, "initval of HiddenStates 'z' must hold one label for each of 3 items; got 2"),
    ({"n": 3, "observed": [0, 1]}, "observed of HiddenStates 'z' must hold one label for each of 3 items; got 2"),
    ({"n": 3, "max_clusters": 3}, "max_clusters is not an argument of HiddenStates 'z': max_states makes labels"),
    ({"n": 3, "together": [0, 0, 1]}, "together is not an argument of HiddenStates 'z': items that are together"),
    ({"n": 3, "chunks": COUNTS}, "chunks is not an argument of HiddenStates 'z': rows in chunks have no order"),
    ({"n": 3, "shape": 3}, "HiddenStates does not take shape; got 3"),
)


def test_labels_of_users_are_renamed():
    with pm.Model() as model:
        nrm.states.HiddenStates("z", DIRICHLET, TRANSITIONS, n=4, initval=[7, 7, 2, 7])
        nrm.states.HiddenStates("known", DIRICHLET, TRANSITIONS, sequences=[4, 4, 2, 2], observed=[5, 3, 3, 5])
    assert model.initial_point()["z"].tolist() == [0, 0, 1, 0]
    prior = prior_of(1.3, 0.0, 1.7, 2.5, one_start(4, 2))
    expected = log_states(*transitions_of([0, 1, 1, 0], prior.starts), prior)
    assert model.point_logps(model.initial_point(), round_vals=12)["known"] == pytest.approx(expected)


def test_kinds_with_other_sequences_differ():
    first, second = (
        kind_of(nrm.states.HiddenStates.dist(nrm.DirichletProcess(1.0), TRANSITIONS, sequences=sequences))
        for sequences in (["b", "b", "a", "a"], [1, 2, 2, 2])
    )
    assert first != second


def test_start_is_one_state_and_sequences_are_marked():
    model = model_of(sequences=PATIENTS)
    assert model.initial_point()["z"].tolist() == [0] * 7
    kind = kind_of(model["z"])
    assert kind.marks()[STARTS] == [0, 3, 5] and kind.names == ("a", "b", "c")
    assert kind_of(model_of(n=7)["z"]).marks()[STARTS] == [0]


def test_copies_draw_the_same():
    model = model_of(sequences=PATIENTS)
    copied = cloudpickle.loads(cloudpickle.dumps(model))
    draws = [pm.draw(each["z"], 3, random_seed=2) for each in (model, copied)]
    np.testing.assert_array_equal(*draws)
    variable = nrm.states.HiddenStates.dist(DIRICHLET, TRANSITIONS, n=3)
    assert kind_of(pickle.loads(pickle.dumps(variable))) == kind_of(variable)


def test_prior_predictive_has_states_and_data():
    with model_of(nrm.PoissonGamma(1.0, 0.1)):
        prior = pm.sample_prior_predictive(20, random_seed=1)
    labels = prior.prior["z"].values[0]
    assert labels.shape == (20, 7) and (labels[:, 0] == 0).all()
    np.testing.assert_array_equal(prior.prior["z_n_clusters"].values[0], labels.max(axis=1) + 1)
    assert prior.prior_predictive["x"].shape == (1, 20, 7)


def test_number_of_items_follows_data():
    with pm.Model() as model:
        X = pm.Data("X", COUNTS)
        z = nrm.states.HiddenStates("z", DIRICHLET, TRANSITIONS, n=X.shape[0])
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=X)
        pm.set_data({"X": COUNTS[:4]})
    point = model.initial_point()
    assert point["z"].tolist() == [0] * 4 and np.isfinite(model.compile_logp()(point))
    assert pm.draw(z, random_seed=1).shape == (4,)


def test_number_of_items_is_fixed_with_sequences():
    with pm.Model(coords={"day": range(7)}) as model:
        X = pm.Data("X", COUNTS, dims="day")
        z = nrm.states.HiddenStates("z", DIRICHLET, TRANSITIONS, dims="day", sequences=PATIENTS)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=X, dims="day")
        pm.set_data({"X": COUNTS[:4]}, coords={"day": range(4)})
        with pytest.raises(ValueError, match="one row for each item"):
            pm.draw(z, random_seed=1)
        assert model.compile_logp()(model.initial_point()) == -np.inf
        with pytest.raises(ValueError, match="HiddenStates 'z' must stay 7, the number of rows of sequences"):
            nrm.states.StateSampler([z])


OTHERS = (
    nrm.steps.TreeGuided,
    nrm.steps.SplitMerge,
    nrm.steps.MarginalGibbs,
    nrm.steps.SliceSampler,
    nrm.steps.SlotGibbs,
)


@pytest.mark.parametrize("step", [*OTHERS, nrm.steps.ChunkedSampler], ids=lambda step: step.__name__)
def test_steps_for_other_kinds_refuse_hidden_states(step):
    model = model_of(nrm.PoissonGamma(1.0, 0.5))
    assert step.competence(model["z"], False) == 0
    with model, pytest.raises((TypeError, ValueError), match="^vars "):
        step([model["z"]])


def test_steps_for_labels_do_not_propose_states():
    with model_of() as model, pytest.raises(ValueError, match="StateSampler for hidden states"):
        pm.Metropolis([model["z"]]).step(model.initial_point())


def test_concentration_of_states_is_not_drawn_from_their_sizes():
    """Sizes of states are no sizes of clusters of the measure; hyperparameters of the family depend on states alone."""
    model = model_of(lambda: nrm.PoissonGamma.learned("x", COUNTS[:, None]), data=COUNTS[:, None])
    found = learned_priors(model)
    assert not any(isinstance(prior, LearnedProcess) for prior in found)
    assert sum(getattr(prior, "mixture", None) is model["x"] for prior in found) == 1


def test_missing_gibbs_draws_entries_given_states():
    X = np.array([[0.0, 1.0], [0.5, np.nan], [8.0, 9.0], [9.0, np.nan]])
    family = nrm.NormalWishart(mu=[4, 4], kappa=0.1, Psi=np.eye(2), nu=8)
    with model_of(family, X, n=4, initval=[0, 0, 1, 1]) as model:
        step = nrm.steps.MissingGibbs(model["x_missing"])
        point = model.initial_point()
        step.setup_chain(np.random.default_rng(1), 0, 20) if hasattr(step, "setup_chain") else None
        drawn = [step.step(point)[0] for _ in range(20)]
    assert all((after["z"] == point["z"]).all() for after in drawn)
    assert len({float(after["x_missing"][0]) for after in drawn}) > 10
