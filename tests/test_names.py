"""Names that were given up say what took their place."""

import pytest

import pymc_nrm as nrm

OLD = {
    "density": "predictive_density",
    "log_density": "log_predictive_density",
    "samplers": "steps",
    "predictions": "posterior",
    "priors": "the method learned of every family",
    "tree_families": "families.diffusion",
    "elicitation": "recipes.elicitation",
    "estimators": "recipes.estimator",
    "predict_labels": "cluster_probabilities",
    "sample_components": "sample_cluster_parameters",
}


@pytest.mark.parametrize("name", OLD)
def test_old_name(name):
    with pytest.raises(AttributeError, match=f"{name} is {OLD[name]} now"):
        getattr(nrm, name)


def test_unknown_name():
    with pytest.raises(AttributeError, match="module 'pymc_nrm' has no attribute 'unknown'"):
        nrm.unknown  # noqa: B018
