"""``check_family`` names the function that is wrong: each case has one wrong function and is right otherwise."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.gradient import zero_grad

from pymc_nrm.families import base, components, conjugate, fast
from pymc_nrm.families.normal_gamma import NormalGamma
from pymc_nrm.families.poisson_gamma import PoissonGamma
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.testing import CheckError, check_family

COUNTS = np.array([[0, 3], [1, 4], [7, 0], [2, 12], [0, 0], [3, 5]])
POINTS = np.array([[0.3, 9.0], [1.2, np.nan], [-2.0, 8.5], [0.7, 9.9], [4.0, 11.0], [0.0, 10.0]])


def right(generic, family_class):
    return generic.dispatch(family_class)


def add_item(family, statistics, data, item, sign):
    right(base.add_item, PoissonGamma)(family, statistics, data, item, sign)
    if sign < 0.0:
        statistics[0] -= 1e-3


def add_item_with_hyperparameters(family, statistics, data, item, sign):
    right(base.add_item, PoissonGamma)(family, statistics, data, item, sign)
    statistics[0] += sign * family.alpha[0]


def update_cache(family, statistics, cache, data, item, sign):
    right(fast.update_cache, PoissonGamma)(family, statistics, cache, data, item, sign)
    cache[0] += 1e-4


def refresh_cache(family, statistics, cache):
    right(base.refresh_cache, PoissonGamma)(family, statistics, cache)
    cache[0] += 1e-4 * statistics[0]


def log_predictive(family, cache, data, item):
    return right(base.log_predictive, PoissonGamma)(family, cache, data, item) - 0.1


def log_marginal(family, statistics):
    return right(conjugate.log_marginal, PoissonGamma)(family, statistics) + 1e-3 * statistics[2]


def log_marginal_of_nothing(family, statistics):
    return right(conjugate.log_marginal, PoissonGamma)(family, statistics) + 1e-3


def log_likelihood(family, X, labels):
    return right(base.log_likelihood, PoissonGamma)(family, X, labels) + 1e-3


def log_likelihood_without_gradient(family, X, labels):
    constant = PoissonGamma(zero_grad(family.alpha), family.beta)
    return right(base.log_likelihood, PoissonGamma)(constant, X, labels)


def log_likelihood_with_nan(family, X, labels):
    # The value is right; the derivative of the square root at 0 is infinite, and that of the absolute value 0.
    corner = pt.sqrt(abs(family.alpha - np.array([1.5, 4.0]))).sum()
    return right(base.log_likelihood, PoissonGamma)(family, X, labels) + corner


def log_predictive_without(family, statistics, cache, data, item):
    return right(fast.log_predictive_without, PoissonGamma)(family, statistics, cache, data, item) + 1e-3


def log_predictive_without_value(family, statistics, cache, data, item):
    return math.nan


def panel_shape(family):
    return 1 + 3 * family.alpha.shape[0], 0, 0


def write_panel(family, cache, rows, lanes, column):
    rows[:, column] = cache


def add_log_predictives(family, rows, lanes, data, item, width, values):
    for k in range(width):
        values[k] += right(base.log_predictive, PoissonGamma)(family, rows[:, k], data, item) + 1e-3


def update_panel(family, cache, rows, lanes, column, data, item):
    rows[0, column] = cache[0]


def draw_parameters(family, statistics, rng, parameters):
    right(conjugate.draw_parameters, PoissonGamma)(family, statistics, rng, parameters)
    parameters[:] *= 1.3


def draw_item(family, parameters, rng, item, values):
    right(conjugate.draw_item, PoissonGamma)(family, parameters, rng, item, values)
    values[0] += rng.random() < 0.3


def parameters_size(family):
    return family.alpha.shape[0] + 1


def write_component(family, parameters, panel, column):
    right(components.write_component, PoissonGamma)(family, 1.1 * parameters, panel, column)


def component_mean(family, parameters):
    return parameters["rate"] + 0.5


def component_cdf(family, parameters, feature, x):
    return right(components.component_cdf, PoissonGamma)(family, parameters, feature, x - 1.0)


# Wrong implementations, and what the message must begin with.
WRONG = [
    ([(base.add_item, add_item)], "add_item of Wrong is wrong: with 1 items removed again"),
    ([(base.add_item, add_item_with_hyperparameters)], "add_item of Wrong is wrong: with other hyperparameters"),
    ([(fast.update_cache, update_cache)], "update_cache of Wrong is wrong: with all items added one by one"),
    ([(base.refresh_cache, refresh_cache)], "update_cache of Wrong is wrong"),
    ([(base.log_predictive, log_predictive)], "log_predictive of Wrong is wrong: the log density of the data in 1"),
    ([(conjugate.log_marginal, log_marginal)], "log_marginal of Wrong is wrong: the log density of the data in 1"),
    ([(conjugate.log_marginal, log_marginal_of_nothing)], "log_marginal of Wrong is wrong: of no data it is 0.001"),
    ([(base.log_likelihood, log_likelihood)], "log_likelihood of Wrong is wrong: the log density of the data in 1"),
    (
        [(base.log_likelihood, log_likelihood_without_gradient)],
        "log_likelihood of Wrong is wrong: its gradient in alpha along",
    ),
    (
        [(base.log_likelihood, log_likelihood_with_nan)],
        "log_likelihood of Wrong is wrong: its gradient in alpha is not finite",
    ),
    ([(fast.log_predictive_without, log_predictive_without)], "log_predictive_without of Wrong is wrong: for items"),
    ([(fast.log_predictive_without, log_predictive_without_value)], "log_predictive_without of Wrong .* nan for all"),
    (
        [
            (fast.panel_shape, panel_shape),
            (fast.write_panel, write_panel),
            (fast.add_log_predictives, add_log_predictives),
        ],
        "add_log_predictives of Wrong is wrong: for item 0",
    ),
    ([(fast.update_panel, update_panel)], "update_panel of Wrong is wrong: after item 0 has joined"),
    ([(conjugate.draw_parameters, draw_parameters)], "draw_parameters of Wrong is wrong: the density of an item"),
    ([(conjugate.draw_item, draw_item)], "draw_item of Wrong is wrong: draws of pairs"),
    ([(conjugate.parameters_size, parameters_size)], "parameters_size of Wrong is wrong: it is 3.0, not 2.0"),
    (
        [(components.write_component, write_component)],
        "write_component, add_component_densities or restore_parameters of Wrong is wrong: the density of an item",
    ),
    ([(components.component_mean, component_mean)], "component_mean of Wrong is wrong: a drawn item"),
    ([(components.component_cdf, component_cdf)], "component_cdf of Wrong is wrong: whether feature 0"),
]


def family_with(implementations, parent=PoissonGamma):
    class Wrong(parent):
        pass

    for generic, implementation in implementations:
        generic.register(Wrong)(implementation)
    return Wrong


@pytest.mark.parametrize("implementations, message", WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_a_wrong_function_is_named(implementations, message):
    family_class = family_with(implementations)
    with pytest.raises(CheckError, match=message):
        check_family(family_class([1.5, 4.0], 0.8), COUNTS, compiled=False)


def test_a_family_with_all_functions_of_another_passes():
    check_family(family_with([])([1.5, 4.0], 0.8), COUNTS, compiled=False)


def shifted(family, data, parameters):
    return right(conjugate.restore_parameters, NormalGamma)(family, data, parameters) + 0.5


def test_parameters_in_the_wrong_place_are_noticed():
    family_class = family_with([(conjugate.restore_parameters, shifted)], NormalGamma)
    with pytest.raises(CheckError, match="add_component_densities or restore_parameters of Wrong is wrong"):
        check_family(family_class(0.0, 0.3, 2.0, 1.0), POINTS, compiled=False)


def unnormalised_predictive(family, cache, data, item):
    return right(base.log_predictive, PoissonGamma)(family, cache, data, item) + 0.2


def unnormalised_marginal(family, statistics):
    return right(conjugate.log_marginal, PoissonGamma)(family, statistics) + 0.2 * statistics[2]


def unnormalised_likelihood(family, X, labels):
    return right(base.log_likelihood, PoissonGamma)(family, X, labels) + 0.2 * X.shape[0]


def test_a_factor_that_all_densities_share_is_noticed():
    wrong = [
        (base.log_predictive, unnormalised_predictive),
        (conjugate.log_marginal, unnormalised_marginal),
        (base.log_likelihood, unnormalised_likelihood),
        # Without the functions that would notice it first.
        (fast.log_predictive_without, right(fast.log_predictive_without, object)),
        (fast.panel_shape, right(fast.panel_shape, object)),
        (components.component_panel, right(components.component_panel, object)),
    ]
    with pytest.raises(CheckError, match="draw_item or log_predictive of Wrong is wrong: the share"):
        check_family(family_with(wrong)([1.5, 4.0], 0.8), COUNTS, compiled=False)


def test_a_factor_that_all_densities_of_real_numbers_share_is_noticed():
    def log_predictive(family, cache, data, item):
        return right(base.log_predictive, NormalGamma)(family, cache, data, item) + 0.3

    def log_likelihood(family, X, labels):
        return right(base.log_likelihood, NormalGamma)(family, X, labels) + 0.3 * X.shape[0]

    wrong = [
        (base.log_predictive, log_predictive),
        (base.log_likelihood, log_likelihood),
        (conjugate.log_marginal, right(conjugate.log_marginal, object)),
        (fast.log_predictive_without, right(fast.log_predictive_without, object)),
        (fast.panel_shape, right(fast.panel_shape, object)),
        (components.component_panel, right(components.component_panel, object)),
    ]
    with pytest.raises(CheckError, match="log_predictive of Wrong is wrong: its mass in a box"):
        check_family(family_with(wrong, NormalGamma)(0.0, 0.3, 2.0, 1.0), POINTS, compiled=False)


def test_whole_numbers_that_overflow_when_compiled_are_noticed():
    @kernel
    def right_marginal(family, statistics):
        return conjugate.log_marginal(PoissonGamma(family.alpha, family.beta), statistics)

    def log_marginal(family, statistics):
        factorial = 1
        for i in range(30):
            factorial *= i + 1
        # In 64 bits it is negative.
        return right_marginal(family, statistics) + (0.0 if factorial < 0 else 1e-3)

    family_class = family_with([(conjugate.log_marginal, log_marginal)])
    with pytest.raises(CheckError, match="log_marginal of Wrong is wrong: compiled, unlike in Python, it is"):
        check_family(family_class([1.5, 4.0], 0.8), COUNTS)


def test_a_family_without_a_required_function_is_refused():
    @base.conjugate_family(
        hyperparameters={"rate": base.Hyperparameter(("d",), "positive")}, continuous=True, missing_allowed=False
    )
    class Waiting(NamedTuple):
        rate: Any = 1.0

    with pytest.raises(NotImplementedError, match="Waiting has no prepare_data and no statistics_size.*check_family"):
        check_family(Waiting(), COUNTS)


def test_few_items_are_refused():
    with pytest.raises(ValueError, match="X must have at least 4 items; got 3"):
        check_family(PoissonGamma(), COUNTS[:3])
