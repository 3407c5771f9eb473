"""Messages about hyperparameters that are not allowed."""

import numpy as np
import pytensor.tensor as pt
import pytest

from pymc_nrm.measures import (
    DirichletProcess,
    MixtureOfFiniteMixtures,
    NormalizedGeneralizedGamma,
    NormalizedInverseGaussian,
    PitmanYorProcess,
)
from pymc_nrm.measures.base import check_measure_hyperparameters


@pytest.mark.parametrize(
    "kind",
    [
        DirichletProcess,
        NormalizedInverseGaussian,
        NormalizedGeneralizedGamma,
        PitmanYorProcess,
        MixtureOfFiniteMixtures,
    ],
)
def test_defaults_are_allowed_and_described(kind):
    check_measure_hyperparameters(kind())
    assert set(kind.hyperparameters) == set(kind._fields)


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.25), np.array(0.1), pt.dscalar("alpha")])
def test_numbers_and_scalar_tensors_are_allowed(value):
    check_measure_hyperparameters(DirichletProcess(value))


@pytest.mark.parametrize("values", [(0.5, -0.499), (0.0, 1), (pt.dscalar("d"), -0.5), (0.5, pt.dscalar("t"))])
def test_concentrations_above_minus_the_discount_are_allowed(values):
    check_measure_hyperparameters(PitmanYorProcess(*values))


@pytest.mark.parametrize(
    "measure, message",
    [
        (DirichletProcess(0.0), "alpha of DirichletProcess must be finite and above 0; got 0.0"),
        (DirichletProcess(np.inf), "alpha of DirichletProcess must be finite and above 0; got inf"),
        (NormalizedInverseGaussian(np.nan), "alpha of NormalizedInverseGaussian must be finite and above 0"),
        (NormalizedInverseGaussian("one"), "alpha of NormalizedInverseGaussian must be .* got text such as 'one'"),
        (NormalizedGeneralizedGamma(1.0, 1.0), r"sigma of NormalizedGeneralizedGamma .* in \[0, 1\); got 1.0"),
        (NormalizedGeneralizedGamma(1.0, -0.1), r"sigma of NormalizedGeneralizedGamma .* in \[0, 1\); got -0.1"),
        (PitmanYorProcess(1.0, 1.0), r"discount of PitmanYorProcess must be in \[0, 1\); got 1.0"),
        (PitmanYorProcess(-0.1, 1.0), r"discount of PitmanYorProcess must be in \[0, 1\); got -0.1"),
        (PitmanYorProcess(0.3, -0.3), "concentration .* must be finite and greater than -discount = -0.3; got -0.3"),
        (PitmanYorProcess(0.0, 0.0), "concentration .* must be finite and greater than -discount = 0; got 0.0"),
        (PitmanYorProcess(0.0, np.inf), "concentration .* must be finite and greater than -discount = 0; got inf"),
        (PitmanYorProcess(0.3, np.nan), "concentration .* must be finite and greater than -discount = -0.3; got nan"),
        (PitmanYorProcess(pt.constant(0.3), pt.constant(-0.5)), "greater than -discount = -0.3; got -0.5"),
        (PitmanYorProcess(pt.dscalar("d"), -1.0), "concentration .* finite and greater than -discount; got -1.0"),
        (PitmanYorProcess(0.3, None), "concentration .* must be finite and greater than -discount; got None"),
        (MixtureOfFiniteMixtures(0.0), r"gamma of MixtureOfFiniteMixtures .* above 0 and at most 1e\+08; got 0.0"),
        (MixtureOfFiniteMixtures(2e8), r"gamma of MixtureOfFiniteMixtures .* at most 1e\+08; got 2e\+08|200000000"),
        (MixtureOfFiniteMixtures(1.0, -1.0), "rate of MixtureOfFiniteMixtures .* at most 100000; got -1.0"),
        (MixtureOfFiniteMixtures(1.0, 1e6), "rate of MixtureOfFiniteMixtures .* at most 100000; got 1000000.0"),
        (MixtureOfFiniteMixtures(1.0, np.nan), "rate of MixtureOfFiniteMixtures .* at most 100000; got nan"),
        (DirichletProcess([1.0, 2.0]), r"alpha of DirichletProcess must be a scalar; got shape \(2,\)"),
        (DirichletProcess(pt.dvector("alpha")), "alpha of DirichletProcess must be a scalar; got alpha"),
    ],
)
def test_other_values_are_refused(measure, message):
    with pytest.raises(ValueError, match=message):
        check_measure_hyperparameters(measure)
