"""An elicited prior stands wherever a measure does, and what is no measure gets an error that says what is meant."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import pymc_nrm as nrm

N = 20
X = np.random.default_rng(1).normal(size=(N, 2))


@pytest.fixture(scope="module")
def prior():
    return nrm.elicit(nrm.DirichletProcess, N, 4, sd=2, hyperprior="alpha")


def in_a_model(variable, measure, **options):
    with pm.Model() as model:
        variable("z", measure, n=N, **options)
    return model


BUILDS = {
    "model": lambda measure: in_a_model(nrm.Partition, measure),
    "tree": lambda measure: in_a_model(nrm.NestedPartition, measure, depth=2),
    "matrix": lambda measure: nrm.gaussian_mixture(X, measure=measure),
    "table": lambda measure: nrm.mixture_model(pd.DataFrame(X, columns=["a", "b"]), measure=measure),
}


@pytest.mark.parametrize("name", BUILDS)
def test_elicited_priors_stand_for_measures(name, prior):
    model = BUILDS[name](prior)
    alpha = model["alpha"]
    assert model.free_RVs[:2] == [alpha, model["z"]]
    shape, rate = prior.hyperprior
    np.testing.assert_allclose([value.eval() for value in alpha.owner.inputs[2:]], [shape, 1 / rate])
    # The same prior serves another model.
    BUILDS[name](prior)
    fixed = BUILDS[name](nrm.elicit(nrm.DirichletProcess, N, 4))
    assert "alpha" not in fixed.named_vars


@pytest.mark.parametrize("name", BUILDS)
def test_classes_of_measures_are_refused(name):
    with pytest.raises(TypeError, match=r"measure must have its hyperparameters, as in DirichletProcess\(alpha=...\)"):
        BUILDS[name](nrm.DirichletProcess)


def test_elicited_priors_in_the_plot_of_the_number_of_clusters(prior):
    from pymc_nrm.plots.n_clusters import prior_probabilities

    shown = prior_probabilities(prior, "z", N)
    assert shown.shape == (N,)
    assert shown @ np.arange(1, N + 1) == pytest.approx(4)
    with pytest.raises(ValueError, match="prior must be elicited for the 30 items"):
        prior_probabilities(prior, "z", 30)
