"""The fast paths of a family change nothing but speed: without them, defaults give the same densities."""

import numpy as np
import pytest

import pymc_nrm as nrm
from pymc_nrm.families.conjugate import draw_parameters, parameters_size
from pymc_nrm.families.fast import fast_paths
from pymc_nrm.families.needs import COMPONENT_PANEL, PREDICTIVE
from pymc_nrm.kernels.generic import lacking
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.testing import check_family
from pymc_nrm.testing.family_kernels import fresh_predictives, panel_log_densities, sum_statistics
from tests.families.test_wrappers import FUNCTIONS


def without_fast_paths(family):
    """The family with the defaults of what its fast paths define."""

    class Plain(type(family)):
        pass

    for name in methods_of(type(family).fast_paths):
        FUNCTIONS[name].register(Plain)(FUNCTIONS[name].dispatch(object))
    return Plain(*family)


def methods_of(cls):
    return [name for name in vars(cls) if not name.startswith("__")]


@pytest.fixture
def plain(case):
    if not hasattr(type(case.local), "fast_paths"):
        pytest.skip("the family has no fast paths")
    return without_fast_paths(case.local)


def test_a_definition_alone_is_enough_for_samplers(plain):
    assert lacking(type(plain), [*PREDICTIVE, *COMPONENT_PANEL]) == []
    assert set(methods_of(type(plain).fast_paths)) <= set(FUNCTIONS)


@pytest.mark.every(2)
def test_predictive_densities_are_those_of_the_fast_paths(case, plain):
    n = len(case.dense)
    for size in (0, 1, n):
        statistics = sum_statistics.__wrapped__(case.local, case.data, np.arange(size))
        values = [fresh_predictives.__wrapped__(one, statistics, case.data, n) for one in (case.local, plain)]
        np.testing.assert_allclose(*values, rtol=1e-9, atol=1e-9)


@pytest.mark.every(2)
def test_densities_given_parameters_are_those_of_the_fast_paths(case, plain):
    rng, rows = np.random.default_rng(1), np.zeros((LANES, parameters_size(case.local)))
    for k in range(LANES):
        statistics = sum_statistics.__wrapped__(case.local, case.data, np.arange(k % 7))
        draw_parameters(case.local, statistics, rng, rows[k])
    values = [panel_log_densities.__wrapped__(one, rows, case.data, len(case.dense)) for one in (case.local, plain)]
    np.testing.assert_allclose(*values, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_a_definition_alone_passes_the_check(case, plain):
    check_family(type(plain)(*case.family), case.X)


def test_fast_paths_replace_no_method():
    with pytest.raises(TypeError, match="NormalGamma has a method log_marginal already"):

        @fast_paths(nrm.NormalGamma)
        class Another:
            def log_marginal(self, statistics):
                return 0.0
