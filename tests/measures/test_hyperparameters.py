"""Messages about hyperparameters that are not allowed."""

import numpy as np
import pytensor.tensor as pt
import pytest

import pymc_nrm as nrm
from pymc_nrm.measures.base import check_measure_hyperparameters

KINDS = (
    *(nrm.DirichletProcess, nrm.NormalizedInverseGaussian, nrm.NormalizedGeneralizedGamma),
    *(nrm.PitmanYorProcess, nrm.MixtureOfFiniteMixtures),
)


@pytest.mark.parametrize("kind", KINDS)
def test_defaults_are_allowed_and_described(kind):
    check_measure_hyperparameters(kind())
    assert set(kind.hyperparameters) == set(kind._fields)


def test_numbers_and_scalar_tensors_are_allowed():
    for value in (1, 0.5, np.float32(0.25), np.array(0.1), pt.dscalar("alpha")):
        check_measure_hyperparameters(nrm.DirichletProcess(value))
    for values in ((0.5, -0.499), (0.0, 1), (pt.dscalar("d"), -0.5), (0.5, pt.dscalar("t"))):
        check_measure_hyperparameters(nrm.PitmanYorProcess(*values))


@pytest.mark.parametrize(
    "measure, message",
    [
        (nrm.DirichletProcess(0.0), "alpha of DirichletProcess must be finite and above 0; got 0.0"),
        (nrm.DirichletProcess(np.inf), "alpha of DirichletProcess must be finite and above 0; got inf"),
        (nrm.NormalizedInverseGaussian(np.nan), "alpha of NormalizedInverseGaussian must be finite and above 0"),
        (nrm.DirichletProcess(None), "alpha of DirichletProcess must be finite and above 0; got None"),
        (nrm.DirichletProcess(True), "alpha of DirichletProcess must be finite and above 0; got True"),
        (nrm.DirichletProcess(5e-324), "must be .* above 0; got 5e-324, below the smallest normal double"),
        (nrm.NormalizedInverseGaussian("one"), "alpha of NormalizedInverseGaussian must be .* got text such as 'one'"),
        (nrm.NormalizedGeneralizedGamma(1.0, 1.0), r"sigma of NormalizedGeneralizedGamma .* in \[0, 1\); got 1.0"),
        (nrm.NormalizedGeneralizedGamma(1.0, -0.1), r"sigma of NormalizedGeneralizedGamma .* in \[0, 1\); got -0.1"),
        (nrm.PitmanYorProcess(1.0, 1.0), r"discount of PitmanYorProcess must be in \[0, 1\); got 1.0"),
        (nrm.PitmanYorProcess(-0.1, 1.0), r"discount of PitmanYorProcess must be in \[0, 1\); got -0.1"),
        (nrm.PitmanYorProcess(0.3, -0.3), "concentration .* finite and greater than -discount = -0.3; got -0.3"),
        (nrm.PitmanYorProcess(0.0, 0.0), "concentration .* must be finite and greater than -discount = 0; got 0.0"),
        (nrm.PitmanYorProcess(0.0, np.inf), "concentration .* must be finite and greater than -discount = 0; got inf"),
        (nrm.PitmanYorProcess(0.3, np.nan), "concentration .* finite and greater than -discount = -0.3; got nan"),
        (nrm.PitmanYorProcess(pt.constant(0.3), pt.constant(-0.5)), "greater than -discount = -0.3; got -0.5"),
        (nrm.PitmanYorProcess(pt.dscalar("d"), -1.0), "concentration .* finite and greater than -discount; got -1.0"),
        (nrm.PitmanYorProcess(0.3, None), "concentration .* must be finite and greater than -discount; got None"),
        (nrm.MixtureOfFiniteMixtures(0.0), r"gamma of MixtureOfFiniteMixtures .* above 0 and at most 1e\+08; got 0.0"),
        (nrm.MixtureOfFiniteMixtures(2e8), r"gamma of MixtureOfFiniteMixtures .* at most 1e\+08; got 2e\+08|200000000"),
        (nrm.MixtureOfFiniteMixtures(1.0, -1.0), "rate of MixtureOfFiniteMixtures .* at most 100000; got -1.0"),
        (nrm.MixtureOfFiniteMixtures(1.0, 1e6), "rate of MixtureOfFiniteMixtures .* at most 100000; got 1000000.0"),
        (nrm.MixtureOfFiniteMixtures(1.0, np.nan), "rate of MixtureOfFiniteMixtures .* at most 100000; got nan"),
        (nrm.DirichletProcess([1.0, 2.0]), r"alpha of DirichletProcess must be a scalar; got shape \(2,\)"),
        (nrm.DirichletProcess(pt.dvector("alpha")), "alpha of DirichletProcess must be a scalar; got alpha"),
    ],
)
def test_other_values_are_refused(measure, message):
    with pytest.raises(ValueError, match=message):
        check_measure_hyperparameters(measure)
