"""Results of hidden states whose labels index parameters, against enumeration, and all functions of results."""

import functools
import itertools

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import stats

import pymc_nrm as nrm
from pymc_nrm.posterior.any_draws import draws_of
from pymc_nrm.states.partitions.slots import log_state_slots
from pymc_nrm.states.posterior.state_probabilities import draw_transitions, smooth
from tests.states.reference import one_start, prior_of
from tests.states.test_results import check_means

N, K, SD = 4, 3, 1.5
GAMMA, ALPHA, KAPPA = 1.1, 0.9, 1.5
LEVELS = np.array([-1.0, 0.5, 2.0])
Y = np.array([-0.8, 1.9, 0.9, 0.1])


def labelings(n=N):
    return np.array(list(itertools.product(range(K), repeat=n)))


def log_prior(labels, *others):
    prior = prior_of(GAMMA, -GAMMA / K, ALPHA, KAPPA, one_start(len(labels), *others))
    return log_state_slots(np.asarray(labels, dtype=np.int64), prior, K)


def make_model(y=Y, **arguments):
    """Three states of known levels, so that the posterior is that of the labels alone."""
    with pm.Model(coords={"day": range(len(y))}) as model:
        data, transitions = pm.Data("data", y, dims="day"), nrm.states.Transitions(ALPHA, KAPPA)
        z = nrm.states.HiddenStates(
            "z", nrm.DirichletProcess(GAMMA), transitions, dims="day", max_states=K, **arguments
        )
        pm.Normal("y", pm.math.stack(list(LEVELS))[z], SD, observed=data, dims="day")
    return model


@functools.cache
def log_joint(left_out=None):
    of_items = stats.norm.logpdf(Y[:, None], LEVELS, SD)
    of_items[[] if left_out is None else left_out] = 0.0
    return np.array([log_prior(labels) + of_items[np.arange(N), labels].sum() for labels in labelings()])


def result(labels):
    variable = xr.DataArray(np.asarray(labels)[None], dims=("chain", "draw", "day"))
    return xr.DataTree.from_dict({"posterior": xr.Dataset({"z": variable})})


def exact_draws(n_draws, seed):
    p = np.exp(log_joint() - np.logaddexp.reduce(log_joint()))
    return result(labelings()[np.random.default_rng(seed).choice(len(p), n_draws, p=p)])


def draws_given(labels):
    draws = draws_of(result([labels]), make_model(), "z")
    return draws, next(iter(draws))


def test_next_state():
    """Probabilities are ratios of probabilities of labels; there is no new state if all have times."""
    for labels in ([2, 2, 2, 2], [1, 0, 0, 1], [2, 0, 0, 1]):
        draws, draw = draws_given(labels)
        join = np.exp(draws.log_weights_of_new(draw)[0])
        ratios = [log_prior([*labels, k]) - log_prior(labels) for k in range(K)]
        np.testing.assert_allclose(join, np.exp(ratios), rtol=1e-10)
        assert len(np.unique(labels)) < K or draws.log_join(draw, 1)[0, -1] == -np.inf


@pytest.mark.parametrize("labels", [[1, 0, 0, 1], [2, 0, 0, 1]])
def test_states_of_two_steps(labels):
    draws, draw = draws_given(labels)
    rng, paths = np.random.default_rng(1), labelings(2)
    new = make_model()
    pm.set_data({"data": np.zeros(2)}, coords={"day": [4, 5]}, model=new)
    ahead = nrm.sample_new_labels(result([labels] * 2000), new, known=[], random_seed=2, progressbar=False)
    drawn = ahead["posterior"]["z"].values[0]
    exact = np.exp([log_prior([*labels, *path]) - log_prior(labels) for path in paths])
    check_means(np.array([(drawn == path).all(axis=1) for path in paths]).T, exact)
    assert draws.paths(draw, 2, 3, rng).shape == (3, 2)


def test_leave_one_out():
    """Harmonic means of the densities left out, over exact draws, are densities of a time given the others."""
    idata = exact_draws(2000, seed=3)
    nrm.compute_log_likelihood(idata, make_model(), progressbar=False)
    inverse = np.exp(-idata["log_likelihood"]["y"].values[0])
    total = np.logaddexp.reduce(log_joint())
    check_means(inverse, [np.exp(np.logaddexp.reduce(log_joint(left_out=item)) - total) for item in range(N)])


def test_transition_probabilities_and_smoothing():
    """Probabilities of the slots of all times, and of transitions between slots of a draw, against enumeration."""
    draws, rng = draws_of(exact_draws(2000, seed=4), make_model(), "z"), np.random.default_rng(4)
    p = np.exp(log_joint() - np.logaddexp.reduce(log_joint()))
    exact = [[p[labelings()[:, t] == k].sum() for k in range(K)] for t in range(N)]
    found = np.empty((len(draws), N, K))
    for draw in draws:
        probabilities, *_ = smooth(draws, draw, rng)
        own = list(dict.fromkeys(draw.value.tolist()))
        found[draw.index][:, [*own, *np.setdiff1d(np.arange(K), own)]] = probabilities
    check_means(found, exact)
    draws, draw = draws_given([2, 0, 0, 2])
    counts = draws.counts(draw)
    rows = [draw_transitions(rng, counts, draw.prior, draws.weights_of_all(draw, counts, rng)) for _ in range(2000)]
    ratios = [np.exp(log_prior([2, 0, 0, 2, k]) - log_prior([2, 0, 0, 2])) for k in (2, 0, 1)]
    check_means(np.array(rows)[:, 1, :K], ratios)
    matrix = nrm.states.transition_matrix(
        exact_draws(50, 5), make_model(), [0, 1, 1, 1], random_seed=1, progressbar=False
    )
    np.testing.assert_allclose(matrix["mean"].sum("next_state"), 1.0)


COUNTS = np.repeat([0, 9, 1], 8) + np.arange(24) % 3


@pytest.fixture(scope="module")
def sampled():
    with pm.Model(coords={"state": range(4), "day": range(24)}) as model:
        kappa, transitions = pm.Gamma("kappa", 2.0, 0.1), nrm.states.Transitions(1.0, 5.0)
        transitions = transitions._replace(kappa=kappa)
        z = nrm.states.HiddenStates("z", nrm.DirichletProcess(1.0), transitions, dims="day", max_states="state")
        rate = pm.Gamma("rate", 1.0, 0.3, dims="state")
        pm.Poisson("x", rate[z], observed=COUNTS, dims="day")
    return model, nrm.sample(60, tune=60, chains=2, model=model, random_seed=1, cores=1, quiet=True, progressbar=False)


def test_all_functions_of_results(sampled):
    model, idata = sampled
    estimate = nrm.point_estimate(idata, random_seed=1)
    assert estimate.labels.values[8] == estimate.labels.values[15] != estimate.labels.values[0]
    assert {"z[n_clusters]", "kappa"} <= set(nrm.summary(idata).index)
    assert nrm.similarity(idata).shape == (24, 24)
    smoothed = nrm.states.state_probabilities(idata, model, estimate, random_seed=1, progressbar=False)
    np.testing.assert_allclose(smoothed.probability.sum("state") + smoothed.other_probability, 1.0)
    assert (smoothed.labels == estimate.labels).mean() > 0.9
    assert nrm.states.transition_matrix(idata, model, estimate, progressbar=False)["mean"].notnull().all()
    assert nrm.states.state_durations(idata, estimate).duration.notnull().all()
    rates = nrm.stats.cluster_parameters(idata, estimate).rate.mean(("chain", "draw"))
    assert abs(float(rates.max()) - COUNTS[8:16].mean()) < 2.0
    nrm.compute_log_likelihood(idata, model, progressbar=False)
    assert idata["log_likelihood"]["x"].shape == (2, 60, 24)
    replicated = pm.sample_posterior_predictive(idata, model=model, progressbar=False)
    assert replicated["posterior_predictive"]["x"].shape == (2, 60, 24)
    nrm.states.plots.plot_state_sequence(idata, estimate, data=COUNTS)
    assert "3 regimes" in str(nrm.describe(idata, model, estimate))


def test_functions_that_need_mixtures_say_so(sampled):
    model, idata = sampled
    with pytest.raises(ValueError, match="model must have a Mixture.*sample_new_labels"):
        nrm.sample_posterior_predictive(idata, model)
    with pytest.raises(ValueError, match="model must have a Mixture.*sample_new_labels"):
        nrm.states.forecast_density(idata, model, [0, 1])
    with pytest.raises(ValueError, match="known must be \\[\\] for 'z', since states of times depend on each other"):
        nrm.sample_new_labels(idata, model)


def test_next_times_of_sequences_are_not_drawn_from_new_data():
    model = make_model(sequences=[0, 0, 1, 1])
    with pytest.raises(ValueError, match="sequences of 'z' belong to the old times"):
        nrm.sample_new_labels(result([[0, 0, 1, 1]]), model, known=[])


@pytest.mark.slow
def test_mixtures_over_slots_have_forecasts():
    with pm.Model() as model:
        z = nrm.states.HiddenStates("z", nrm.DirichletProcess(1.0), nrm.states.Transitions(1.0, 5.0), n=4, max_states=2)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9, 8])
    variable = xr.DataArray([[[1, 1, 0, 0], [0, 0, 0, 0]]], dims=("chain", "draw", "item"))
    idata = xr.DataTree.from_dict({"posterior": xr.Dataset({"z": variable})})
    ahead = nrm.states.forecast_density(idata, model, np.arange(1000), [1, 5], random_seed=1, progressbar=False)
    np.testing.assert_allclose(ahead.density.sum("point"), 1.0, rtol=1e-6)
    assert (ahead.new_state_probability.sel(draw=0) < 1e-200).all()
    with pytest.raises(ValueError, match="transition_matrix has these"):
        nrm.random_measure.sample_random_measure(idata, model)
    predicted = nrm.sample_posterior_predictive(idata, model, new_items=3, random_seed=1, progressbar=False)
    assert predicted["predictions"]["x"].shape == (1, 2, 3)
    nrm.compute_log_likelihood(idata, model, progressbar=False)
    assert np.isfinite(idata["log_likelihood"]["x"]).all()


def test_report_says_that_all_states_are_in_use():
    used = np.ones((2, 200), dtype=bool)
    names = {"n_clusters": 2 * used, "largest_cluster": 5 * used, "all_slots_used": used}
    tree = xr.DataTree(xr.Dataset({name: (("chain", "draw"), values) for name, values in names.items()}))
    tree["convergence"] = xr.DataTree(xr.Dataset(coords={"quantity": []}).assign(constant=("quantity", [])))
    marks = {"partition": "z", "sequence_starts": [0]}
    z = xr.DataArray(np.zeros((2, 200, 4), dtype=int), dims=("chain", "draw", "day"), attrs=marks)
    report = nrm.convergence_report(xr.DataTree.from_dict({"posterior": xr.Dataset({"z": z})}), {"z": tree})
    assert report.startswith("z used all 2 slots in 100% of draws: this is the posterior of a chain of 2 states.")
    assert "raise max_states" in " ".join(report.split())
