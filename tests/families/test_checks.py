"""The checks of families pass for those of the package, and name the function that is wrong."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.gradient import zero_grad

import pymc_nrm as nrm
from pymc_nrm.families import base, components, conjugate, fast
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.testing import CheckError, check_family
from tests.families.wrong_families import right, spoilt
from tests.helpers import refused

COUNTS = np.array([[0, 3], [1, 4], [7, 0], [2, 12], [0, 0], [3, 5]])
POINTS = np.array([[0.3, 9.0], [1.2, np.nan], [-2.0, 8.5], [0.7, 9.9], [4.0, 11.0], [0.0, 10.0]])
POISSON, NORMAL = nrm.PoissonGamma([1.5, 4.0], 0.8), nrm.NormalGamma(0.0, 0.3, 2.0, 1.0)


def bump(row, by):
    row[0] += by


def with_constant_alpha(value, family, X, labels):
    return right(base.log_likelihood)(nrm.PoissonGamma(zero_grad(family.alpha), family.beta), X, labels)


def with_corner(value, family, X, labels):
    # The value is right; the derivative of the square root at 0 is infinite, and that of the absolute value 0.
    return value + pt.sqrt(abs(family.alpha - np.array([1.5, 4.0]))).sum()


def of_smaller_rates(value, family, parameters, panel, column):
    right(components.write_component)(family, 1.1 * parameters, panel, column)


# A generic function, what is done to its result, and how the message about Wrong begins.
WRONG = [
    (base.add_item, lambda _, f, row, data, i, sign: bump(row, -1e-3 * (sign < 0.0)), "after removing 1 item the"),
    (base.add_item, lambda _, f, row, data, i, sign: bump(row, sign * f.alpha[0]), "with other hyperparameters"),
    (fast.update_cache, lambda _, f, row, cache, *rest: bump(cache, 1e-4), "with all items added one by one"),
    (base.log_predictive, lambda value, *_: value - 0.1, "the log density of the data in 1"),
    (conjugate.log_marginal, lambda value, f, row: value + 1e-3 * row[2], "the log density of the data in 1"),
    (conjugate.log_marginal, lambda value, *_: value + 1e-3, "of no data it is 0.001"),
    (base.log_likelihood, lambda value, *_: value + 1e-3, "the log density of the data in 1"),
    (base.log_likelihood, with_constant_alpha, "its gradient in alpha along"),
    (base.log_likelihood, with_corner, "its gradient in alpha is not finite"),
    (fast.log_predictive_without, lambda value, *_: value + 1e-3, "for items"),
    (fast.log_predictive_without, lambda *_: math.nan, ".* nan for every"),
    (fast.add_log_predictives, lambda _, f, rows, lanes, data, i, width, values: bump(values, 1e-3), "for item 0"),
    (fast.update_panel, lambda _, f, cache, rows, *rest: bump(rows[0], 1e-3), "after item 0 has joined"),
    (conjugate.draw_parameters, lambda _, f, s, rng, row: np.multiply(row, 1.3, out=row), "the density of an item"),
    (conjugate.draw_item, lambda _, f, p, rng, i, row: bump(row, rng.random() < 0.3), "draws of pairs"),
    (conjugate.parameters_size, lambda value, f: value + 1, "it is 3.0, not 2.0"),
    (components.write_component, of_smaller_rates, "the density of an item"),
    (components.component_mean, lambda value, *_: value + 0.5, "a drawn item"),
    (components.component_cdf, lambda value, *_: 0.5 * value, "whether feature 0"),
]
# Functions that are blamed together with others, or instead of the wrong one.
BLAMED = {components.write_component: "write_component, add_component_densities or restore_parameters"}


@pytest.mark.quick(
    "log_marginal: of no data it is 0.001",
    "log_likelihood: its gradient in alpha along",
    "update_cache: with all items added one by one",
    "draw_parameters: the density of an item",
)
@pytest.mark.parametrize(("generic", "change", "message"), WRONG, ids=[f"{row[0].__name__}: {row[2]}" for row in WRONG])
def test_a_wrong_function_is_named(generic, change, message):
    blamed = BLAMED.get(generic, generic.__name__)
    with pytest.raises(CheckError, match=f"^{blamed} of Wrong is wrong: {message}"):
        check_family(spoilt(POISSON, {generic: change}), COUNTS, compiled=False)


def test_a_wrong_cache_is_noticed_after_updates():
    change = {base.refresh_cache: lambda _, f, row, cache: bump(cache, 1e-4 * row[0])}
    family = nrm.NormalWishart(0.0, 0.3, np.eye(2), 4.0)
    with pytest.raises(CheckError, match="update_cache of Wrong is wrong"):
        check_family(spoilt(family, change), COUNTS, compiled=False)


@pytest.mark.slow
def test_parameters_in_the_wrong_place_are_noticed():
    change = {conjugate.restore_parameters: lambda value, *_: value + 0.5}
    with pytest.raises(CheckError, match="add_component_densities .* of Wrong is wrong"):
        check_family(spoilt(NORMAL, change), POINTS, compiled=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "X", "message"),
    [
        (POISSON, COUNTS, "draw_item or log_predictive of Wrong is wrong: the share"),
        (NORMAL, POINTS, "log_predictive of Wrong is wrong: the probability of a box"),
    ],
)
def test_a_factor_that_all_densities_share_is_noticed(family, X, message):
    changes = {
        base.log_predictive: lambda value, *_: value + 0.3,
        base.log_likelihood: lambda value, family, X, labels: value + 0.3 * X.shape[0],
        # Without the functions that would notice it first.
        conjugate.log_marginal: None,
        fast.log_predictive_without: None,
        fast.panel_shape: None,
        conjugate.log_density: None,
        components.component_panel: None,
    }
    with pytest.raises(CheckError, match=message):
        check_family(spoilt(family, changes), X, compiled=False)


@pytest.mark.slow
def test_whole_numbers_that_overflow_when_compiled_are_noticed():
    @kernel
    def right_marginal(family, statistics):
        return conjugate.log_marginal(nrm.PoissonGamma(family.alpha, family.beta), statistics)

    def log_marginal(family, statistics):
        factorial = 1
        for i in range(30):
            factorial *= i + 1
        # In 64 bits it is negative.
        return right_marginal(family, statistics) + (0.0 if factorial < 0 else 1e-3)

    family = spoilt(POISSON, {})
    type(family).log_marginal = log_marginal
    with pytest.raises(CheckError, match="log_marginal of Wrong is wrong: .*compiled"):
        check_family(family, COUNTS)


@pytest.mark.parametrize("wrong", [lambda total: total + 1.0, lambda total: np.full_like(total, total[0])])
def test_wrong_totals_are_noticed(wrong):
    """Multinomial draws of another total have the predictive distribution of their own total."""

    def draw_item(_, f, p, rng, item, row):
        conjugate.draw_item(nrm.MultinomialDirichlet(f.alpha, wrong(f.total)), p, rng, item, row)

    family = spoilt(nrm.MultinomialDirichlet(1.0), {conjugate.draw_item: draw_item})
    with pytest.raises(CheckError, match="draw_item of Wrong is wrong: .*the total of items"):
        check_family(family, COUNTS, compiled=False)


def test_missing_values_that_are_added_are_named():
    change = {base.add_item: lambda _, f, row, data, i, sign: bump(row, sign * data.values[i, 1])}
    with pytest.raises(
        CheckError, match="add_item of Wrong is wrong: .* NaN at position 0; with missing_allowed=True it"
    ):
        check_family(spoilt(NORMAL, change), POINTS, compiled=False)


def test_counts_that_are_called_continuous_are_noticed():
    family = spoilt(nrm.PoissonGamma(1.5, 0.8), {})
    type(family).continuous = True
    with pytest.raises(CheckError, match="continuous of Wrong is wrong: draw_item draws whole numbers .* feature 0;"):
        check_family(family, COUNTS[:, 0], compiled=False)


def test_densities_that_read_what_is_for_draws_alone_are_noticed():
    change = {base.log_predictive: lambda value, f, cache, data, i: value + 0.0 * f.total[i]}
    with pytest.raises(CheckError, match="log_predictive of Wrong is wrong: .*another total"):
        check_family(spoilt(nrm.MultinomialDirichlet(1.0), change), COUNTS, compiled=False)


def test_a_family_without_a_required_function_is_refused():
    @base.conjugate_family(
        hyperparameters={"rate": base.Hyperparameter(("d",), "positive")}, continuous=True, missing_allowed=False
    )
    class Waiting(NamedTuple):
        rate: Any = 1.0

    with pytest.raises(NotImplementedError, match="Waiting has no prepare_data and no statistics_size"):
        check_family(Waiting(), COUNTS)


def test_a_right_family_with_other_functions_passes():
    check_family(spoilt(POISSON, {}), COUNTS, compiled=False)


def test_items_that_are_all_different_pass():
    check_family(
        nrm.CategoricalDirichlet(1.0, 4), np.random.default_rng(1).integers(0, 4, size=(8, 12)), compiled=False
    )


test_bad_arguments = refused(
    lambda check, family, X, options: check(family, X, **options),
    (check_family, POISSON, COUNTS[:3], {}, ValueError, "X must have at least 4 items; got 3"),
)
