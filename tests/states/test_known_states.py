"""Hidden states of which some are known, against enumeration of all labels that agree with them."""

import logging

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.posterior.any_draws import draws_of
from pymc_nrm.testing import all_partitions
from tests.cases import SMALL
from tests.helpers import assert_law, log_density, refused, result_of, seeded
from tests.states.enumerated_states import CASES, N, inputs, log_prior, posterior

CHAINS = 2
# Known labels of five times: two that share a state and one that does not, one alone, neighbours, ends.
KNOWN = {
    "apart": ["b", None, "a", None, "b"],
    "one": [-1, -1, -1, 7, -1],
    "neighbours": [None, "x", "x", "y", None],
    "ends": [1.0, np.nan, np.nan, np.nan, 2.0],
}
FAMILY = "NormalGamma, missing"


def agrees(labels, known):
    """Whether known times share a state if and only if their labels are equal."""
    is_known = [k for k, label in enumerate(known) if label is not None and label == label and label != -1]
    pairs = [(i, j) for i in is_known for j in is_known]
    return all((labels[i] == labels[j]) == (known[i] == known[j]) for i, j in pairs)


def model_of(case, known, family=FAMILY):
    case, (row, X) = CASES[case], SMALL[family][:2]
    sequences = None if case.first == (0,) else np.cumsum(case.starts(N))
    measure = nrm.PitmanYorProcess(case.discount, case.gamma) if case.discount else nrm.DirichletProcess(case.gamma)
    with pm.Model(coords={"time": range(N)}) as model:
        transitions = nrm.states.Transitions(case.alpha, case.kappa)
        z = nrm.states.HiddenStates("z", measure, transitions, dims="time", sequences=sequences, known=known)
        nrm.Mixture("x", z, row, observed=X)
    return model


def law(case, known, family=FAMILY):
    partitions, p = posterior(case, family)
    possible = np.array([agrees(labels, known) for labels in partitions])
    return partitions[possible], p[possible] / p[possible].sum()


def run(model, n_draws, *names, **options):
    """Labels of chains from the default start, (CHAINS, n_draws, N)."""
    with model:
        step = nrm.states.StateSampler([model["z"]], rng=1, **options)
    chains = []
    for rng in seeded(*map(str, names)).spawn(CHAINS):
        step.setup_chain(rng, 0, n_draws)
        point, labels = model.initial_point(), []
        for _ in range(n_draws):
            point, _ = step.step(point)
            labels.append(point["z"])
        chains.append(labels)
    return np.array(chains)


@pytest.mark.parametrize("known", KNOWN)
def test_density_is_the_one_of_all_labels_or_nothing(known):
    """Of values in order of appearance; hyperparameters learn from known labels."""
    for case in ("sticky", "discount"):
        model = model_of(case, KNOWN[known])
        logp = model.compile_logp(vars=[model["z"]], mode="FAST_COMPILE")
        for labels in all_partitions(N):
            expected = log_prior(labels, CASES[case].prior()) if agrees(labels, KNOWN[known]) else -np.inf
            assert float(logp({"z": labels})) == pytest.approx(expected, rel=1e-10)
        assert not np.isfinite(logp({"z": np.array([1, 0, 2, 0, 1])}))
        assert agrees(model.initial_point()["z"], KNOWN[known])


@pytest.mark.quick("apart-two sequences")
@pytest.mark.parametrize("case", ["sticky", "two sequences", "discount", "no kappa"])
@pytest.mark.parametrize("known", KNOWN)
def test_step_has_the_posterior(known, case):
    labels = run(model_of(case, KNOWN[known]), 3000, known, case)
    assert_law(labels, *law(case, KNOWN[known]))


OPTIONS = {
    "single times": {"n_blocked": 0, "blocks": False},
    "blocks": {"n_blocked": 0, "n_single": 1},
    "blocked": {"blocks": False, "n_single": 1, "level": 0.05},
}


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS)
def test_each_move_has_the_posterior(options):
    labels = run(model_of("two sequences", KNOWN["neighbours"]), 8000, options, **OPTIONS[options])
    assert_law(labels, *law("two sequences", KNOWN["neighbours"]))
    labels = run(model_of("sticky", KNOWN["one"], "NormalWishart"), 8000, options, **OPTIONS[options])
    assert_law(labels, *law("sticky", KNOWN["one"], "NormalWishart"))


@pytest.mark.slow
def test_hyperparameters_learn_from_known_labels():
    """Against enumeration over labels and a grid of gamma."""
    known, family = KNOWN["apart"], FAMILY
    with pm.Model():
        gamma = pm.Gamma("gamma", 2, 1)
        z = nrm.states.HiddenStates("z", nrm.DirichletProcess(gamma), nrm.states.Transitions(0.9, 1.8), known=known)
        nrm.Mixture("x", z, SMALL[family].family, observed=SMALL[family].X)
        idata = nrm.sample(4000, tune=500, chains=2, cores=1, random_seed=1, quiet=True, progressbar=False)
    grid = np.linspace(0.005, 15, 600)
    partitions = [labels for labels in all_partitions(N) if agrees(labels, known)]
    likelihood = np.array([log_density(*inputs(family), labels) for labels in partitions])
    log_p = np.array(
        [
            np.logaddexp.reduce(
                [log_prior(labels, CASES["sticky"]._replace(gamma=value).prior()) for labels in partitions] + likelihood
            )
            for value in grid
        ]
    )
    p = np.exp(log_p - log_p.max()) * grid * np.exp(-grid)
    p /= p.sum()
    mean, draws = p @ grid, idata.posterior["gamma"].values
    error = np.sqrt(p @ (grid - mean) ** 2 / (draws.size / 8))
    assert abs(draws.mean() - mean) < 4.5 * error


def test_known_times_keep_their_state_in_results():
    known, labels = KNOWN["neighbours"], np.array([0, 1, 1, 2, 2])
    model = model_of("sticky", known)
    idata = result_of(z=np.tile(labels, (1, 200, 1)))
    smoothed = nrm.states.state_probabilities(idata, model, labels, random_seed=1, progressbar=False).probability
    np.testing.assert_allclose(smoothed.values[[1, 2, 3], [1, 1, 2]], 1.0)
    assert smoothed.values[4, 2] < 1.0 and smoothed.values[0, 0] < 1.0
    # A time that shares its label is told by the other one, and a single one is in no state of another label.
    draws = draws_of(idata, model, "z")
    [draw, *_] = draws
    join = np.exp(draws.log_join_others(draw))
    np.testing.assert_allclose(join.sum(axis=1), 1.0)
    np.testing.assert_array_equal(join[[1, 2]] > 0, [[False, True, False, False]] * 2)
    np.testing.assert_array_equal(join[3] > 0, [True, False, True, True])
    assert (join[[0, 4]] > 0).sum() >= 7


def test_leaving_a_time_out_is_conditional_on_known_labels():
    """The probabilities of its states are those of all labels that agree, given the weights of the states."""
    known, labels = KNOWN["one"], np.array([0, 0, 1, 2, 1])
    idata = result_of(z=np.tile(labels, (1, 1, 1)))
    free, given = (draws_of(idata, model_of("sticky", one), "z") for one in (None, known))
    [first], [second] = free, given
    np.testing.assert_allclose(free.log_join_others(first), given.log_join_others(second))


def test_all_known_states_are_observed(caplog):
    with caplog.at_level(logging.INFO), pm.Model() as model:
        nrm.states.HiddenStates("z", nrm.DirichletProcess(1.0), nrm.states.Transitions(1.0), known=list("aabab"))
    assert [rv.name for rv in model.observed_RVs] == ["z"]
    assert "All 5 labels of HiddenStates 'z' are known, 2 states: it is observed, and not sampled." in caplog.text


def test_forward_draws_are_refused():
    model = model_of("sticky", KNOWN["apart"])
    assert "z ~ HiddenStates[DirichletProcess]" in model.str_repr()
    with pytest.raises(NotImplementedError, match="hidden states of which some are known have no forward draws"):
        pm.draw(model["z"], mode="FAST_COMPILE")


@pytest.mark.slow
def test_a_run_starts_from_known_labels_and_reports_them():
    series = np.r_[np.zeros(20), np.full(20, 6.0), np.zeros(20)] + np.random.default_rng(1).normal(size=60)
    known = np.full(60, None, dtype=object)
    known[[3, 45]], known[25] = "low", "high"
    with pm.Model(coords={"day": range(60)}) as model:
        transitions = nrm.states.Transitions(pm.Gamma("alpha", 2, 1), pm.Gamma("kappa", 2, 0.1))
        z = nrm.states.HiddenStates(
            "z", nrm.DirichletProcess(pm.Gamma("gamma", 2, 1)), transitions, dims="day", known=known
        )
        nrm.Mixture("x", z, nrm.NormalGamma.learned("x", series), observed=series)
        idata = nrm.sample(100, tune=100, chains=2, cores=1, random_seed=1, quiet=True, progressbar=False)
    draws = idata.posterior["z"].values
    assert (draws[..., 3] == draws[..., 45]).all() and (draws[..., 3] != draws[..., 25]).all()
    assert (draws[..., 10:15] == draws[..., [3]]).mean() > 0.9
    assert "60 times" in nrm.describe(idata, model).to_text()
    assert isinstance(nrm.compute_log_likelihood(idata, model, extend_inferencedata=False), xr.Dataset | xr.DataArray)


test_wrong_known_labels = refused(
    lambda options: nrm.states.HiddenStates("z", nrm.DirichletProcess(1.0), nrm.states.Transitions(1.0), **options),
    ({"known": ["a", None], "n": 3}, "known of HiddenStates 'z' must have one row for each of the 3 items; got 2"),
    ({"known": ["a", None], "sequences": [1, 1, 2]}, "one label for each of the 3 items of sequences; got 2"),
    ({"known": ["a", None, "b"], "initval": [0, 0, 0]}, "known labels 'b' and 'a', and the labels 0 and 0"),
    ({"known": ["a", None, "b"], "max_states": 3}, "known of HiddenStates 'z' must be None with max_states; a term"),
    ({"known": [[1, 2]]}, "must have shape"),
    within=pm.Model,
)
