"""Properties that every family must have, over the table of families."""

import numpy as np
import pytest
from attack.reference import LOG_MARGINALS
from posterior_means import POSTERIOR_MEANS

from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import prepare_data
from pymc_nrm.families.conjugate import draw_parameters, parameter_shapes, parameters_size, restore_parameters
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.testing import check_family
from pymc_nrm.testing.family_kernels import marginal, sum_statistics

# Seeds are fixed, so a z-score does not vary; with new seeds one in 70,000 would exceed this.
Z_MAX = 4.5


@kernel
def draw_many_parameters(family, statistics, rng, n_draws):
    parameters = np.zeros((n_draws, parameters_size(family)))
    for draw in range(n_draws):
        draw_parameters(family, statistics, rng, parameters[draw])
    return parameters


@pytest.mark.quick("PoissonGamma")
def test_the_functions_of_a_family_agree(compiled_case):
    check_family(compiled_case.family, compiled_case.X)


@pytest.mark.parametrize("n", [1, 3, 12])
def test_marginals_are_those_of_exact_arithmetic(case, n):
    exact = LOG_MARGINALS[type(case.full).__name__](case.full, case.dense[:n])
    found = marginal(case.local, sum_statistics(case.local, case.data, np.arange(n)))
    assert found == pytest.approx(exact, rel=1e-10)


def test_posterior_means_of_parameters(case):
    statistics = sum_statistics(case.local, case.data, np.arange(len(case.dense)))
    drawn = draw_many_parameters(case.local, statistics, np.random.default_rng(7), 20_000)
    rows = restore_parameters(case.local, case.data, drawn)
    expected = POSTERIOR_MEANS[type(case.full).__name__](case.full, case.dense)
    shapes = parameter_shapes(case.local)
    assert list(shapes) == list(expected)
    assert sum(int(np.prod(shape)) for shape in shapes.values()) == rows.shape[1]
    means = np.concatenate([np.ravel(expected[name] * np.ones(shape)) for name, shape in shapes.items()])
    errors = rows.std(axis=0) / np.sqrt(len(rows)) + 1e-12
    assert np.abs((rows.mean(axis=0) - means) / errors).max() < Z_MAX


def test_bad_data_are_refused(case):
    for X, message in case.row.bad:
        with pytest.raises(ValueError, match=f"{type(case.family).__name__}.*{message}"):
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
