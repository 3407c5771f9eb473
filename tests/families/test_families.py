"""Properties that every family must have, over the table of families."""

import numpy as np
import pytest

from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import prepare_data, statistics_size
from pymc_nrm.families.conjugate import (
    draw_item,
    draw_parameters,
    parameter_shapes,
    parameters_size,
    restore_parameters,
)
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.testing import check_family
from pymc_nrm.testing.family_kernels import fresh_predictives, marginal, sum_statistics

# Seeds are fixed, so a z-score does not vary; with new seeds one in 70,000 would exceed this.
Z_MAX = 4.5


@kernel
def draw_many_parameters(family, statistics, rng, n_draws):
    parameters = np.zeros((n_draws, parameters_size(family)))
    for draw in range(n_draws):
        draw_parameters(family, statistics, rng, parameters[draw])
    return parameters


@kernel
def draw_many_items(family, parameters, rng, values):
    for draw in range(values.shape[0]):
        draw_item(family, parameters, rng, 0, values[draw])


def test_the_functions_of_a_family_agree(compiled_case):
    check_family(compiled_case.family, compiled_case.X)


def no_statistics(case):
    return np.zeros(statistics_size(case.full))


def all_statistics(case):
    return sum_statistics(case.local, case.data, np.arange(len(case.dense)))


def named(case, parameters):
    """Rows of parameters as a dict of arrays, in the coordinates of the user."""
    rows = restore_parameters(case.local, case.data, parameters)
    arrays, start = {}, 0
    for name, shape in parameter_shapes(case.local).items():
        size = int(np.prod(shape))
        arrays[name] = rows[:, start : start + size].reshape(-1, *shape)
        start += size
    assert start == rows.shape[1]
    return arrays


def z_score(samples, expected):
    return (samples.mean(axis=0) - expected) / (samples.std(axis=0) / np.sqrt(len(samples)) + 1e-12)


def test_marginal_is_the_prior_mean_of_the_likelihood(case):
    # Use three items: with more, the likelihood has too heavy a tail under the prior for an average.
    items = np.arange(3)
    rng = np.random.default_rng(5)
    prior = named(case, draw_many_parameters(case.local, no_statistics(case), rng, 100_000))
    log_ratio = case.row.log_density(prior, case.dense[items]).sum(axis=1)
    log_ratio -= marginal(case.local, sum_statistics(case.local, case.data, items))
    assert abs(z_score(np.exp(log_ratio), 1.0)) < Z_MAX


def test_posterior_means_of_parameters(case):
    posterior = named(case, draw_many_parameters(case.local, all_statistics(case), np.random.default_rng(7), 20_000))
    expected = case.row.posterior_mean(case.full, case.dense)
    assert posterior.keys() == expected.keys()
    for name, samples in posterior.items():
        assert np.abs(z_score(samples, expected[name])).max() < Z_MAX, name


def test_moments_of_drawn_items(case):
    rng = np.random.default_rng(8)
    row = draw_many_parameters(case.local, all_statistics(case), rng, 1)
    values = np.zeros((20_000, case.dense.shape[1]))
    draw_many_items(case.local, row[0], rng, values)
    parameters = {name: array[0] for name, array in named(case, row).items()}
    mean, variance = case.row.item_moments(parameters, case.full)
    center = getattr(case.data, "center", 0.0)
    assert np.abs(z_score(values + center, mean)).max() < Z_MAX
    assert np.abs(z_score((values + center - mean) ** 2, variance)).max() < Z_MAX


@pytest.mark.parametrize("n_items", [0, 6])
def test_predictive_density_adds_up_to_one(case, n_items):
    points, weights = case.row.support(case.dense)
    data = prepare_data(case.full, points)
    if hasattr(data, "center"):
        data = case.data._replace(values=points - case.data.center)
    statistics = sum_statistics(case.local, case.data, np.arange(n_items))
    total = np.exp(fresh_predictives(case.local, statistics, data, len(points))) @ weights
    assert total == pytest.approx(1.0, abs=1e-7)


def test_bad_data_are_refused(case):
    for X, message in case.row.bad:
        with pytest.raises(ValueError, match=message):
            prepare_data(case.family, X)


def test_broadcasting_gives_full_shapes_and_leaves_them_alone(case):
    sizes = dict(zip("nd", case.dense.shape, strict=True))
    for name, value in case.full._asdict().items():
        core = case.full.hyperparameters[name].core
        assert np.ndim(value) == len(core)
        assert all(size == sizes.get(axis, size) for axis, size in zip(core, np.shape(value), strict=True))
        if "l" not in core:
            np.testing.assert_array_equal(value, np.broadcast_to(getattr(case.family, name), np.shape(value)))
    again = broadcast_hyperparameters(case.full, *case.dense.shape)
    for field, repeated in zip(case.full, again, strict=True):
        np.testing.assert_array_equal(field, repeated)
