"""Hidden states after sampling, against enumeration: forecasts, leave-one-out, transition probabilities, smoothing."""

import itertools
import pathlib
import re

import arviz_stats
import numpy as np
import pymc as pm
import pytest
from scipy.stats import multivariate_t, norm

import pymc_nrm as nrm
from pymc_nrm.posterior.any_draws import draws_of
from pymc_nrm.states.partitions.tables import log_states
from pymc_nrm.states.posterior.draws import log_weights_left_out
from pymc_nrm.states.posterior.smoothing import forward_backward
from pymc_nrm.states.posterior.state_probabilities import draw_transitions, smooth
from tests.helpers import all_partitions, canonical_labels
from tests.states import state_cases

# Largest z-score of a few hundred.
LARGEST = norm.isf(1e-5 / 2)


def draws_given(prior, labels, sequence=None):
    draws = draws_of(state_cases.result([labels]), state_cases.make_model(prior), "z", sequence=sequence)
    return draws, next(iter(draws))


def last_sequence(prior):
    return "b" if prior == "two sequences" else None


def check_means(values, expected):
    """Assert that means of independent rows of ``values`` (S, ...) are as expected, within Monte Carlo error."""
    error = values.std(axis=0) / np.sqrt(len(values))
    scores = np.abs(values.mean(axis=0) - expected) / np.maximum(error, 1e-12)
    assert scores[error > 1e-12].max() < LARGEST
    np.testing.assert_allclose(values.mean(axis=0)[error <= 1e-12], np.asarray(expected)[error <= 1e-12], atol=1e-12)


@pytest.mark.parametrize("prior", state_cases.PRIORS)
def test_next_state(prior):
    """Probabilities add up to one, and are ratios of probabilities of labels with the item where its sequence ends."""
    starts = state_cases.starts_of(state_cases.make_model(prior))
    for labels in all_partitions(4):
        for sequence, place in {last_sequence(prior): 4, **({"a": 3, "new": 4} if starts[3] else {})}.items():
            draws, draw = draws_given(prior, labels, sequence)
            join = np.exp(draws.log_join(draw, 1)[0])
            longer = np.insert(starts, place, sequence == "new")
            before = state_cases.log_prior(prior, labels, starts)
            ratios = [state_cases.log_prior(prior, np.insert(labels, place, k), longer) for k in range(len(join))]
            np.testing.assert_allclose(join, np.exp(np.array(ratios) - before), rtol=1e-10)
            assert abs(join.sum() - 1.0) < 1e-12


@pytest.mark.quick("Pitman-Yor")
@pytest.mark.parametrize("prior", state_cases.PRIORS)
def test_states_of_two_steps(prior):
    """Drawn paths and probabilities ahead, against all paths of two steps."""
    labels, rng, n = np.array([0, 1, 1, 0]), np.random.default_rng(1), 4000
    draws, draw = draws_given(prior, labels, last_sequence(prior))
    starts = np.append(state_cases.starts_of(draws.model), [False, False])
    before = state_cases.log_prior(prior, labels, starts[:4])
    paths = list(state_cases.paths_ahead(2, 2))
    exact = np.exp([state_cases.log_prior(prior, np.append(labels, path), starts) - before for path in paths])
    assert abs(exact.sum() - 1.0) < 1e-12
    drawn = np.array([draws.labels_with_new(draw, 2, rng)[4:] for _ in range(n)])
    check_means(np.array([(drawn == path).all(axis=1) for path in paths]).T, exact)
    ahead = np.array([draws.probabilities_ahead(draw, 2, 1, rng) for _ in range(n // 4)])
    second = [sum(p for path, p in zip(paths, exact, strict=True) if min(path[1], 2) == k) for k in range(3)]
    check_means(ahead, [np.exp(draws.log_join(draw, 1)[0]), second])


@pytest.mark.quick("two sequences")
@pytest.mark.parametrize("prior", state_cases.PRIORS)
def test_states_left_out(prior):
    """Weights given the labels of others, averaged over the label left out and weights of states, are exact."""
    rng, n, found = np.random.default_rng(2), 800, {}
    starts = state_cases.starts_of(state_cases.make_model(prior))
    for labels in all_partitions(4):
        draws, draw = draws_given(prior, labels)
        counts, p = draws.counts(draw), np.exp(state_cases.log_prior(prior, labels, starts))
        drawn = [draws.state_weights(draw, counts, rng) for _ in range(n)]
        rows = np.exp([log_weights_left_out(labels, draw.prior, counts, weights) for weights in drawn])
        for item in range(4):
            others = np.delete(labels, item)
            names = list(dict.fromkeys(others.tolist()))
            # Columns by a label of the others; a state that only the item has is none of them.
            columns = [names.index(k) if k in names else len(names) for k in range(rows.shape[2])]
            table = rows[:, item] @ np.eye(len(names) + 1)[columns]
            found.setdefault((item, *canonical_labels(others)), []).append((columns[labels[item]], p, table))
    for strata in found.values():
        exact, total = np.zeros(strata[0][2].shape[1]), sum(p for _, p, _ in strata)
        for column, p, _ in strata:
            exact[column] += p / total
        check_means(sum(p / total * table for _, p, table in strata), exact)


@pytest.mark.quick("two sequences")
@pytest.mark.parametrize("prior", ["sticky", "two sequences"])
def test_leave_one_out(prior):
    """Harmonic means of the densities left out, over exact draws, are densities of an item given the others."""
    idata, model = state_cases.exact_draws(prior, 1500, seed=3), state_cases.make_model(prior)
    nrm.compute_log_likelihood(idata, model, progressbar=False)
    inverse = np.exp(-idata["log_likelihood"]["x"].values[0])
    _, log_joint = state_cases.posterior(prior)
    exact = []
    for item in range(4):
        _, without = state_cases.posterior(prior, left_out=item)
        exact.append(np.exp(np.logaddexp.reduce(without) - np.logaddexp.reduce(log_joint)))
    check_means(inverse, exact)


def test_leave_one_out_with_a_gap(caplog):
    """Of six times, one of them without data and another one far from those beside it; ArviZ takes the others."""
    x = np.array([0.2, -0.4, 6.0, np.nan, 0.1, 5.5])
    with pm.Model() as model:
        z = nrm.states.HiddenStates("z", nrm.DirichletProcess(1.3), nrm.states.Transitions(0.8, 2.0), n=6)
        nrm.Mixture("x", z, nrm.NormalGamma(mu=0.0, kappa=0.2, alpha=2.0, beta=1.0), observed=x)

    def log_densities(left_out=None):
        starts, values = np.arange(6) == 0, np.where(np.arange(6) == left_out, np.nan, x)
        return [
            state_cases.log_prior("sticky", labels, starts)
            + sum(log_normal_marginal(values[labels == k]) for k in set(labels.tolist()))
            for labels in map(np.asarray, all_partitions(6))
        ]

    log_joint = np.array(log_densities())
    p = np.exp(log_joint - np.logaddexp.reduce(log_joint))
    idata = state_cases.result(np.array(all_partitions(6))[np.random.default_rng(3).choice(len(p), 2000, p=p)])
    caplog.set_level("INFO", "pymc.nrm_results")
    found = nrm.compute_log_likelihood(idata, model, progressbar=False)["log_likelihood"]["x"]
    items = found["item"].values.tolist()
    assert items == [0, 1, 2, 4, 5]
    assert "Left out of log_likelihood: 1 of 6 items without data, item 3." in caplog.text
    exact = [np.exp(np.logaddexp.reduce(log_densities(item)) - np.logaddexp.reduce(log_joint)) for item in items]
    check_means(np.exp(-found.values[0]), exact)
    loo = arviz_stats.loo(idata, pointwise=True)
    np.testing.assert_allclose(loo.elpd_i, -np.log(exact), atol=0.1)


def log_normal_marginal(x, mu=0.0, kappa=0.2, alpha=2.0, beta=1.0):
    """Log marginal likelihood of values, without NaN, of a normal distribution with a normal-gamma prior."""
    x = x[~np.isnan(x)]
    if not len(x):
        return 0.0
    cov = beta / alpha * (np.eye(len(x)) + 1.0 / kappa)
    return multivariate_t.logpdf(x, np.full(len(x), mu), cov, df=2.0 * alpha)


@pytest.mark.quick("sticky", "Pitman-Yor")
@pytest.mark.parametrize("prior", state_cases.PRIORS)
def test_transition_probabilities(prior):
    """Means of rows are ratios of probabilities of labels with one transition more."""
    draws, draw = draws_given(prior, np.array([0, 1, 1, 0]))
    counts, rng = draws.counts(draw), np.random.default_rng(4)
    rows = [draw_transitions(rng, counts, draw.prior, draws.state_weights(draw, counts, rng)) for _ in range(4000)]
    exact = np.empty((3, 3))
    for j, k in np.ndindex(3, 3):
        longer = np.pad(counts, (0, 1)) if k == 2 else counts.copy()
        longer[j, k] += 1
        exact[j, k] = np.exp(log_states(longer, longer.shape[1], draw.prior) - log_states(counts, 2, draw.prior))
    check_means(np.array(rows)[:, :, :3], exact)
    np.testing.assert_allclose(np.sum(rows, axis=2), 1.0)


def test_transition_matrix():
    """Rows are those of matched states, NaN where a draw lacks the state, and all other states come last."""
    model = state_cases.make_model("sticky")
    idata = state_cases.result([[0, 1, 1, 0]] * 1500 + [[0, 0, 0, 0]] * 500)
    matrix = nrm.states.transition_matrix(idata, model, [7, 5, 5, 7], random_seed=1, progressbar=False)
    assert matrix.state.values.tolist() == [7, 5] and matrix.next_state.values.tolist() == [7, 5, -1]
    assert matrix["probability"].values.tolist() == [1.0, 0.75]
    np.testing.assert_allclose(matrix["mean"].sum("next_state"), 1.0)
    assert ((matrix["low"] <= matrix["mean"]) & (matrix["mean"] <= matrix["high"])).all()
    assert matrix["mean"].sel(state=5, next_state=5) > 0.6


@pytest.mark.quick("two sequences", "large discount")
@pytest.mark.parametrize("prior", ["sticky", "two sequences", "Pitman-Yor", "large discount"])
def test_smoothed_states(prior):
    """Sums given weights and parameters leave the posterior unchanged: means over states before and after are equal."""
    n, rng = 800, np.random.default_rng(5)
    draws = draws_of(state_cases.exact_draws(prior, n, seed=6), state_cases.make_model(prior), "z")
    changes, rates = np.empty((n, 3, 4)), np.empty((n, 4))
    for draw in draws:
        probabilities, weights, parameters = smooth(draws, draw, rng)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        of_states = np.stack([weights[:-1], np.log(weights[:-1]), np.log(parameters[:, 0])])
        changes[draw.index] = of_states @ probabilities.T - of_states[:, draw.labels]
        rates[draw.index] = probabilities @ parameters[:, 0]
    check_means(changes, np.zeros((3, 4)))
    partitions, log_joint = state_cases.posterior(prior)
    p, exact = np.exp(log_joint - np.logaddexp.reduce(log_joint)), np.zeros(4)
    for labels, weight in zip(partitions, p, strict=True):
        together = labels[:, None] == labels
        exact += weight * (state_cases.SHAPE + together @ state_cases.X) / (state_cases.RATE + together.sum(axis=1))
    check_means(rates, exact)


@pytest.mark.parametrize("discount", [0.8, 0.95])
def test_functions_of_states_return_at_large_discounts(discount):
    with pm.Model() as model:
        z = nrm.states.HiddenStates("z", nrm.PitmanYorProcess(discount, 1.0), nrm.states.Transitions(1.0, 2.0), n=4)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=state_cases.X)
    idata, options = state_cases.result([[0, 0, 1, 0]] * 5), {"random_seed": 1, "progressbar": False}
    smoothed = nrm.states.state_probabilities(idata, model, [0, 0, 1, 0], **options)
    np.testing.assert_allclose(smoothed.probability.sum("state") + smoothed.other_probability, 1.0)
    matrix = nrm.states.transition_matrix(idata, model, [0, 0, 1, 0], **options)
    np.testing.assert_allclose(matrix["mean"].sum("next_state"), 1.0)
    ahead = nrm.states.forecast_density(idata, model, np.arange(2000), [1, 20], **options)
    np.testing.assert_allclose(ahead.density.sum("point"), 1.0, rtol=1e-6)


def test_forward_backward():
    """Against the sum over all paths, for two sequences."""
    rng = np.random.default_rng(7)
    log_densities, transitions = rng.normal(size=(5, 3)), rng.dirichlet(np.ones(3), 4)
    starts, total = np.array([True, False, False, True, False]), np.zeros((5, 3))
    for path in itertools.product(range(3), repeat=5):
        weight = np.exp(log_densities[np.arange(5), path].sum())
        for t in range(5):
            weight *= transitions[0 if starts[t] else path[t - 1] + 1, path[t]]
        total[np.arange(5), path] += weight
    probabilities = np.empty((5, 3))
    log_density = forward_backward(log_densities, transitions, starts, probabilities)
    np.testing.assert_allclose(probabilities, total / total.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(log_density, np.log(total[0].sum()), rtol=1e-12)


def test_runs_end_with_their_sequences():
    draws = state_cases.result([[0, 0, 0, 0, 1]])["posterior"]["z"].assign_attrs(sequence_starts=[0, 3])
    runs = nrm.states.state_durations(draws, [4, 4, 4, 4, 9])
    assert runs.state.values.tolist() == [4, 9] and runs.n_runs.values.tolist() == [2.0, 1.0]
    assert runs.duration.values.tolist() == [2.0, 1.0] and runs.duration_high.values.tolist() == [3.0, 1.0]


def test_smoother_of_statsmodels():
    """Two regimes of the federal funds rate at parameters near those that Stata estimates."""
    statsmodels = pytest.importorskip("statsmodels")
    from statsmodels.tsa.regime_switching.markov_regression import MarkovRegression

    # The series is written in a test of theirs, whose import would need their settings of pytest.
    file = pathlib.Path(statsmodels.__file__).parent / "tsa/regime_switching/tests/test_markov_regression.py"
    text = re.search(r"^fedfunds = \[(.*?)\]", file.read_text(), re.DOTALL | re.MULTILINE).group(1)
    rates = np.fromstring(text.replace("\n", ""), sep=",")
    parameters = np.array([0.982, 0.0495, 3.71, 9.557, 4.42])
    model = MarkovRegression(rates, k_regimes=2)
    expected = model.smooth(parameters)
    matrix = np.array([[0.982, 0.018], [0.0495, 0.9505]])
    start = np.linalg.matrix_power(matrix, 10_000)[0]
    log_densities = norm.logpdf(rates[:, None], parameters[2:4], np.sqrt(parameters[4]))
    starts, probabilities = np.arange(len(rates)) == 0, np.empty((len(rates), 2))
    log_density = forward_backward(log_densities, np.vstack([start, matrix]), starts, probabilities)
    np.testing.assert_allclose(probabilities, expected.smoothed_marginal_probabilities, atol=1e-8)
    np.testing.assert_allclose(log_density, expected.llf, rtol=1e-10)


def test_smoother_of_hmmlearn():
    hmm = pytest.importorskip("hmmlearn.hmm")
    rng, lengths = np.random.default_rng(8), [120, 80]
    model = hmm.GaussianHMM(3, covariance_type="diag")
    model.startprob_, model.transmat_ = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3)
    model.n_features, variances = 2, rng.gamma(2.0, size=(3, 2))
    model.means_, model.covars_ = rng.normal(size=(3, 2)), variances
    x = rng.normal(size=(200, 2))
    log_densities = norm.logpdf(x[:, None], model.means_, np.sqrt(variances)).sum(axis=2)
    starts, probabilities = np.isin(np.arange(200), [0, 120]), np.empty((200, 3))
    log_density = forward_backward(log_densities, np.vstack([model.startprob_, model.transmat_]), starts, probabilities)
    np.testing.assert_allclose(probabilities, model.predict_proba(x, lengths), atol=1e-8)
    np.testing.assert_allclose(log_density, model.score(x, lengths), rtol=1e-10)
