"""Properties that every family must have, over the table of families, and products of families."""

from typing import NamedTuple

import numpy as np
import pytest

import pymc_nrm as nrm
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import localise, prepare_data
from pymc_nrm.families.conjugate import draw_parameters, parameters_size, restore_parameters
from pymc_nrm.families.fast import panel_shape
from pymc_nrm.families.product import Product, product, product_data
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.testing import check_family
from pymc_nrm.testing.family_kernels import marginal, panel_values, sum_statistics
from tests.tools.attack.reference import LOG_MARGINALS


@pytest.mark.quick("PoissonGamma")
def test_the_functions_of_a_family_agree(compiled_case):
    check_family(compiled_case.family, compiled_case.X)


@pytest.mark.every(2)
@pytest.mark.parametrize("n", [1, 3, 12])
def test_marginals_are_those_of_exact_arithmetic(case, n):
    exact = LOG_MARGINALS[type(case.full).__name__](case.full, case.dense[:n])
    found = marginal(case.local, sum_statistics(case.local, case.data, np.arange(n)))
    assert found == pytest.approx(exact, rel=1e-10)


def test_bad_data_are_refused(case):
    for X, message in case.row.refused:
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


@kernel
def draw(family, statistics, rng):
    parameters = np.zeros(parameters_size(family))
    draw_parameters(family, statistics, rng, parameters)
    return parameters


def summed(family, data):
    return sum_statistics(localise(family, data), data, np.arange(9))


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(1)
    data = [rng.normal(50, 1, size=(9, 2)), rng.integers(0, 2, size=(9, 3)), rng.poisson(3, size=(9, 1))]
    families = [nrm.NormalGamma(49.0, 0.1, 2.0, 1.0), nrm.BernoulliBeta(1.0, 2.0), nrm.PoissonGamma(1.0, 0.5)]
    full = [broadcast_hyperparameters(family, *X.shape) for family, X in zip(families, data, strict=True)]
    return full, [prepare_data(family, X) for family, X in zip(full, data, strict=True)], data


class WithoutPanel(NamedTuple):
    """A family that overrides nothing."""


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [[1, 3], [0, 1, 2, 3]])
def test_a_panel_is_that_of_each_part(chosen):
    rng = np.random.default_rng(3)
    data = [rng.normal(size=(9, 3)), rng.poisson(3, size=(9, 2)), rng.normal(size=(9, 2)), rng.integers(0, 2, (9, 4))]
    priors = [
        nrm.NormalWishart(0.0, 0.1, np.eye(3), 5.0),
        nrm.PoissonGamma(1.0, 0.5),
        nrm.NormalWishart(0.0, 0.3, np.eye(2), 4.0),
    ]
    families = [
        broadcast_hyperparameters(f, *X.shape) for f, X in zip([*priors, nrm.BernoulliBeta()], data, strict=True)
    ]
    families, data = [families[k] for k in chosen], [data[k] for k in chosen]
    prepared = [prepare_data(family, X) for family, X in zip(families, data, strict=True)]
    whole, whole_data = product(families), product_data(prepared)
    local, width = localise(whole, whole_data), 2 * LANES
    clusters = [rng.permutation(9)[: rng.integers(0, 9)] for _ in range(width)]
    statistics = np.array([sum_statistics(local, whole_data, items) for items in clusters])
    prior = rng.normal(size=width)
    for item in range(9):
        for panel, single in panel_values(local, statistics, prior, whole_data, item):
            np.testing.assert_allclose(panel, single, rtol=1e-10)
    assert panel_shape(Product(local, WithoutPanel())) == (0, 0, 0)


def test_parameters_are_drawn_and_restored_side_by_side(parts):
    families, data, _ = parts
    whole, whole_data = product(families), product_data(data)
    statistics = summed(whole, whole_data)
    parameters = draw(localise(whole, whole_data), statistics, np.random.default_rng(2))
    restored = restore_parameters(whole, whole_data, np.stack([parameters, parameters]))
    np.testing.assert_allclose(restored[1, :2], parameters[:2] + data[0].center)
    np.testing.assert_array_equal(restored[:, 2:], [parameters[2:]] * 2)
    assert abs(restored[0, 0] - 50) < 3


def test_one_family_is_its_own_product(parts):
    assert product(parts[0][:1]) is parts[0][0]
    with pytest.raises(ValueError, match="at least one"):
        product([])
