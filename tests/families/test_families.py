"""Properties that every family must have, over the table of families."""

import numpy as np
import pytest
from attack.reference import LOG_MARGINALS

from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import prepare_data
from pymc_nrm.testing import check_family
from pymc_nrm.testing.family_kernels import marginal, sum_statistics


@pytest.mark.quick("PoissonGamma")
def test_the_functions_of_a_family_agree(compiled_case):
    check_family(compiled_case.family, compiled_case.X)


@pytest.mark.parametrize("n", [1, 3, 12])
def test_marginals_are_those_of_exact_arithmetic(case, n):
    exact = LOG_MARGINALS[type(case.full).__name__](case.full, case.dense[:n])
    found = marginal(case.local, sum_statistics(case.local, case.data, np.arange(n)))
    assert found == pytest.approx(exact, rel=1e-10)


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
