"""The exact distribution of hidden states, against customers seated one by one and sums over all tables."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.measures import DirichletProcess, PitmanYorProcess
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.states.partitions.sums import mean_tables, tables_from_degrees, tables_given_labels
from pymc_nrm.states.partitions.tables import log_states, log_states_with_gradient
from pymc_nrm.states.partitions.totals import log_states_of_totals, totals_given_labels
from pymc_nrm.states.partitions.urns import draw_states
from pymc_nrm.states.partitions.weights import draw_state_weights, draw_weights_above
from pymc_nrm.testing import all_partitions
from tests.helpers import assert_law, assert_means, label_counts, seeded
from tests.states.reference import (
    log_states_without_cutoff,
    one_start,
    prior_of,
    random_setting,
    tables_of_labels,
    transitions_of,
)

# Concentration and discount of the common weights.
TOPS = {"Dirichlet": (1.3, 0.0), "Pitman-Yor": (0.7, 0.4), "negative concentration": (-0.3, 0.6)}
# Items at which further sequences start.
SEQUENCES = {"one": [], "two": [2], "three": [1, 3]}
FIELDS = ("gamma", "discount", "alpha", "kappa")


def log_probability(labels, prior):
    return log_states(*transitions_of(labels, prior.starts), prior)


@kernel
def states_of(rng, prior, labels):
    none = np.zeros((1, 0), dtype=np.int64)
    for i in range(labels.shape[0]):
        draw_states(rng, 0, none, np.ones(1), prior.starts, prior, labels[i], np.empty((0, 1)))


@kernel
def weights_of(rng, counts, n_states, prior, weights):
    for i in range(weights.shape[0]):
        draw_state_weights(rng, counts, n_states, prior, weights[i])


@pytest.mark.parametrize("kappa", [0.0, 2.5])
@pytest.mark.parametrize("top", TOPS)
@pytest.mark.parametrize("sequences", SEQUENCES)
def test_probabilities_are_sums_over_all_tables(sequences, top, kappa):
    gamma, discount = TOPS[top]
    prior = prior_of(gamma, discount, 1.7, kappa, one_start(5, *SEQUENCES[sequences]))
    values = all_partitions(5)
    probabilities = np.exp([log_probability(labels, prior) for labels in values])
    expected = [sum(tables_of_labels(labels.tolist(), prior).values()) for labels in values]
    np.testing.assert_allclose(probabilities, expected, rtol=1e-13)
    assert probabilities.sum() == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("top", TOPS)
def test_probabilities_of_more_labels_sum_to_one(top):
    gamma, discount = TOPS[top]
    for kappa, others in ((0.0, [3]), (4.0, []), (4.0, [2, 4])):
        prior = prior_of(gamma, discount, 0.6, kappa, one_start(7, *others))
        total = sum(math.exp(log_probability(labels, prior)) for labels in all_partitions(7))
        assert total == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("discount", [0.0, 0.3])
def test_sequences_of_one_item_are_items_of_the_measure(discount):
    """First states come from the common weights, whose distribution as alpha tends to infinity is the measure's."""
    prior = prior_of(1.5, discount, 1e12, 3.0, np.ones(6))
    measure = PitmanYorProcess(discount, 1.5) if discount else DirichletProcess(1.5)
    for labels in ([0, 0, 0, 0, 0, 0], [0, 1, 0, 2, 2, 0], [0, 1, 2, 3, 4, 5]):
        expected = log_eppf(measure, label_counts(labels))
        assert log_probability(labels, prior) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("largest", "n_settings"), [(200, 25), pytest.param(1000, 300, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_cutting_off_changes_nothing(largest, n_settings):
    rng = seeded("cutoff", largest)
    for _ in range(n_settings):
        labels, prior = random_setting(rng, largest)
        counts, n_states = transitions_of(labels, prior.starts)
        expected = log_states_without_cutoff(counts, n_states, prior)
        assert log_states(counts, n_states, prior) == pytest.approx(expected, rel=1e-12, abs=1e-11), prior


def test_degrees_that_do_not_suffice_are_doubled(rng):
    widened = 0
    for _ in range(20):
        labels, prior = random_setting(rng, 200)
        counts, n_states = transitions_of(labels, prior.starts)
        means = np.empty(n_states)
        mean_tables(counts, n_states, prior, means)
        few = tables_from_degrees(counts, n_states, prior, means, np.ones(n_states, dtype=np.int64))
        enough = tables_given_labels(counts, n_states, prior)
        values = [tables.log_factor + tables.suffix_scale[0] + np.log(tables.suffix[0, 0]) for tables in (few, enough)]
        assert values[0] == pytest.approx(values[1], rel=1e-13)
        widened += (few.degree > 1).sum()
    assert widened > 40


@pytest.mark.slow
def test_first_degrees_that_do_not_suffice_are_doubled():
    """If nearly all self-transitions are by sticky mass, labels say little about the common weights, and numbers of
    tables vary more than the first degrees allow.
    """
    prior = prior_of(0.01, 0.0, 2e4, 2e5, one_start(12_000))
    counts, n_states = transitions_of(np.arange(12_000) // 3000 % 2, prior.starts)
    assert tables_given_labels(counts, n_states, prior).degree.max() > 1000
    expected = log_states_without_cutoff(counts, n_states, prior)
    assert log_states(counts, n_states, prior) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(
    ("largest", "n_settings"), [(200, 40), pytest.param(1000, 1000, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_totals_give_probabilities_at_other_gamma_and_alpha(largest, n_settings):
    """From near values to those at which cut-offs of the first ones do not hold."""
    rng = seeded("totals", largest)
    for i in range(n_settings):
        labels, prior = random_setting(rng, largest)
        counts, n_states = transitions_of(labels, prior.starts)
        factors = np.exp(rng.normal(0.0, (0.5, 5.0, 30.0)[i % 3], size=2))
        other = prior._replace(gamma=prior.gamma * factors[0], alpha=prior.alpha * factors[1])
        totals = totals_given_labels(counts, n_states, prior)
        expected = (
            log_states_without_cutoff(counts, n_states, other) if i % 3 < 2 else log_states(counts, n_states, other)
        )
        assert log_states_of_totals(totals, counts, n_states, other) == pytest.approx(expected, rel=1e-11, abs=1e-9)
        if i % 3 == 0:
            assert log_states_of_totals(totals, counts, n_states, prior) == pytest.approx(
                log_states(counts, n_states, prior), rel=1e-12, abs=1e-10
            )


@pytest.mark.parametrize("alpha", [0.5, 5.0, 500.0])
def test_totals_do_not_use_numbers_of_tables_that_do_not_suffice(alpha):
    prior = prior_of(1.0, 0.0, 0.05, 5.0, one_start(400))
    counts, n_states = transitions_of(np.arange(400) // 20 % 4, prior.starts)
    totals, other = totals_given_labels(counts, n_states, prior), prior._replace(alpha=alpha)
    expected = log_states_without_cutoff(counts, n_states, other)
    assert log_states_of_totals(totals, counts, n_states, other) == pytest.approx(expected, rel=1e-12)


SIZES = (2.3e-308, 1e-100, 1e-10, 1.0, 1e10, 1e100, 1e290)


@pytest.mark.parametrize("discount", [0.0, 0.5, 1.0 - 1e-16])
def test_extreme_hyperparameters_have_their_probabilities(discount):
    counts, n_states = transitions_of([0, 0, 1, 1, 0, 2, 2, 1], one_start(8, 5))
    for gamma in SIZES:
        for alpha in SIZES:
            for kappa in (0.0, *SIZES):
                prior = prior_of(gamma, discount, alpha, kappa, one_start(8, 5))
                if max(gamma / alpha, 1.0) * max(1.0, gamma) > 1e300:
                    continue
                expected = log_states_without_cutoff(counts, n_states, prior)
                assert log_states(counts, n_states, prior) == pytest.approx(expected, rel=1e-9, abs=1e-9), prior


def test_hyperparameters_out_of_range_have_no_probability():
    counts, n_states = transitions_of([0, 1, 1], one_start(3))
    prior = prior_of(1.0, 0.2, 1.0, 1.0, one_start(3))
    wrong = {"gamma": (-0.2, math.inf, math.nan), "discount": (-0.3, -1.0, 1.0, math.nan), "alpha": (0.0, math.nan)}
    for name, values in (wrong | {"kappa": (-1.0, math.inf, math.nan)}).items():
        for value in values:
            gradient = np.empty(4)
            assert math.isnan(log_states_with_gradient(counts, n_states, prior._replace(**{name: value}), gradient))
            assert math.isnan(log_states(counts, n_states, prior._replace(**{name: value})))


@pytest.mark.parametrize(
    ("largest", "n_settings"), [(60, 25), pytest.param(400, 100, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_gradient_is_the_limit_of_differences(largest, n_settings):
    rng = seeded("gradient", largest)
    for _ in range(n_settings):
        labels, prior = random_setting(rng, largest)
        counts, n_states = transitions_of(labels, prior.starts)
        gradient = np.empty(4)
        value = log_states_with_gradient(counts, n_states, prior, gradient)
        assert value == log_states(counts, n_states, prior)
        for place, name in enumerate(FIELDS):
            x = getattr(prior, name)
            if x == 0.0:
                continue
            step = 1e-4 * (x * (1.0 - x) if name == "discount" else x)
            ends = [prior._replace(**{name: x + k * step}) for k in (-2, -1, 1, 2)]
            at = [log_states_without_cutoff(counts, n_states, end) for end in ends]
            slope = (at[0] - 8.0 * at[1] + 8.0 * at[2] - at[3]) / (12.0 * step)
            # Differences lose digits of the value.
            error = 1e-12 * (1.0 + abs(value)) / step
            assert abs(gradient[place] - slope) < 1e-6 * abs(slope) + 10.0 * error, (name, prior)


def test_gradient_where_kappa_and_discount_are_zero():
    """The derivatives are one-sided: values at the boundary are possible."""
    labels = [0, 0, 0, 1, 1, 0, 0, 2, 2, 2]
    prior = prior_of(1.3, 0.0, 1.7, 0.0, one_start(10, 4))
    counts, n_states = transitions_of(labels, prior.starts)
    gradient = np.empty(4)
    value = log_states_with_gradient(counts, n_states, prior, gradient)
    for place, name in ((1, "discount"), (3, "kappa")):
        first, second = (log_states(counts, n_states, prior._replace(**{name: step})) for step in (1e-6, 2e-6))
        assert gradient[place] == pytest.approx((4.0 * first - second - 3.0 * value) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("kappa", [0.0, 2.5])
@pytest.mark.parametrize("top", TOPS)
def test_forward_draws_have_these_probabilities(top, kappa, rng):
    gamma, discount = TOPS[top]
    prior = prior_of(gamma, discount, 1.7, kappa, one_start(5, 3))
    labels = np.empty((100_000, 5), dtype=np.int64)
    states_of(rng, prior, labels)
    values = all_partitions(5)
    probabilities = np.exp([log_probability(value, prior) for value in values])
    assert_law(labels.reshape(4, -1, 5), values, probabilities)


def test_forward_draws_of_many_states(rng):
    """Space for states is doubled; at these hyperparameters almost every item has a state of its own."""
    prior = prior_of(1e6, 0.0, 1e6, 0.0, one_start(100))
    labels = np.empty((10, 100), dtype=np.int64)
    states_of(rng, prior, labels)
    assert (labels.max(axis=1) > 90).all()
    assert all((np.unique(row) == np.arange(row.max() + 1)).all() for row in labels)


@pytest.mark.parametrize("kappa", [0.0, 2.5])
@pytest.mark.parametrize("top", TOPS)
def test_weights_given_labels_have_the_moments_of_all_tables(top, kappa, rng):
    gamma, discount = TOPS[top]
    labels, prior = [0, 0, 1, 1, 1, 0, 2], prior_of(gamma, discount, 1.7, kappa, one_start(7, 4))
    served, probabilities = zip(*tables_of_labels(labels, prior).items(), strict=True)
    shapes = np.column_stack([np.array(served) - discount, np.full(len(served), gamma + 3 * discount)])
    total, p = shapes.sum(axis=1, keepdims=True), np.array(probabilities) / sum(probabilities)
    weights = np.empty((200_000, 4))
    weights_of(rng, *transitions_of(labels, prior.starts), prior, weights)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    values, expected = {}, {}
    for k in range(4):
        values[f"mean {k}"], expected[f"mean {k}"] = weights[:, k], p @ (shapes / total)[:, k]
        square = shapes[:, k] * (shapes[:, k] + 1.0) / (total * (total + 1.0))[:, 0]
        values[f"square {k}"], expected[f"square {k}"] = weights[:, k] ** 2, p @ square
    pair = shapes[:, 0] * shapes[:, 1] / (total * (total + 1.0))[:, 0]
    values["product"], expected["product"] = weights[:, 0] * weights[:, 1], p @ pair
    assert_means({name: draws.reshape(4, -1) for name, draws in values.items()}, expected)


@pytest.mark.parametrize(
    "discount", [0.0, 0.6, *(pytest.param(discount, marks=pytest.mark.slow) for discount in (0.3, 0.8, 0.95))]
)
def test_weights_above_a_level_have_their_moments(discount, rng):
    """Sums over all states of a measure are means over the next state: E[sum f(w)] = E[f(X) / X]."""
    gamma, n_states, remainder, level = 2.0, 3, 0.7, 0.01
    prior = prior_of(gamma, discount, 1.0, 0.0, one_start(1))
    theta = gamma + n_states * discount
    powers = {"number": 0, "sum": 1, "squares": 2}
    values = {name: np.empty(8000) for name in powers}
    for i in range(8000):
        weights, tail = draw_weights_above(rng, n_states, remainder, prior, level)
        assert weights.sum() + tail == pytest.approx(remainder, rel=1e-12) and not (weights <= level).any()
        for name, power in powers.items():
            values[name][i] = (weights**power).sum()
    density = beta(1.0 - discount, theta + discount)
    expected = {
        name: quad(lambda x, k=k: (remainder * x) ** k / x * density.pdf(x), level / remainder, 1.0, limit=200)[0]
        for name, k in powers.items()
    }
    assert_means({name: draws.reshape(4, -1) for name, draws in values.items()}, expected)


@pytest.mark.parametrize("discount", [0.0, 0.6, 0.8, 0.95, 1.0 - 1e-16])
def test_weights_above_a_level_are_found_at_every_discount(discount, rng):
    """All sticks down to the level would be 10^8 at a discount of 0.8, and more than can be counted near 1."""
    for gamma in (0.01, 1.0, 300.0, 1e9):
        for level in (0.001, 0.5):
            prior = prior_of(gamma, discount, 1.0, 0.0, one_start(1))
            weights, tail = draw_weights_above(rng, 2, 0.9, prior, level)
            assert weights.sum() + tail == pytest.approx(0.9, rel=1e-12) and not (weights <= level).any()
