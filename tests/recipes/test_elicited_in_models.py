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


def in_a_model(measure):
    with pm.Model() as model:
        nrm.Partition("z", measure, n=N)
    return model


def in_a_tree(measure):
    with pm.Model() as model:
        nrm.NestedPartition("z", measure, depth=2, n=N)
    return model


BUILDS = {
    "model": in_a_model,
    "tree": in_a_tree,
    "matrix": lambda measure: nrm.gaussian_mixture(X, measure=measure),
    "table": lambda measure: nrm.mixture_model(pd.DataFrame(X, columns=["a", "b"]), measure=measure),
}


@pytest.mark.parametrize("name", BUILDS)
def test_elicited_priors_stand_for_measures(name, prior):
    model = BUILDS[name](prior)
    alpha = model["alpha"]
    assert model.free_RVs[:2] == [alpha, model["z"]]
    np.testing.assert_allclose(
        [value.eval() for value in alpha.owner.inputs[2:]], [prior.hyperprior[0], 1 / prior.hyperprior[1]]
    )
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


@pytest.mark.parametrize("arguments", [(), (pm.Model(),)])
def test_sample_without_a_model(arguments):
    with pytest.raises(TypeError, match="pass it as model="):
        nrm.sample(*arguments)


def test_numbers_that_no_machine_holds():
    with pm.Model():
        with pytest.raises(ValueError, match="depth of NestedPartition 't' must be a whole number between 1 and 100"):
            nrm.NestedPartition("t", nrm.DirichletProcess(1.0), depth=10**9, n=5)
        with pytest.raises(ValueError, match="max_clusters of Partition 'w' must be a whole number between 1 and"):
            nrm.Partition("w", nrm.DirichletProcess(1.0), n=5, max_clusters=10**12)
