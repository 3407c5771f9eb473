"""Names that were given up say what took their place."""

import pytest

import pymc_nrm as nrm


@pytest.mark.parametrize(
    ("module", "before", "now"),
    [
        (nrm, "density", "predictive_density"),
        (nrm, "log_density", "log_predictive_density"),
        (nrm, "samplers", "steps"),
        (nrm, "predictions", "posterior"),
        (nrm, "priors", "the method learned of every family"),
        (nrm, "tree_families", "families.diffusion"),
        (nrm, "elicitation", "recipes.elicitation"),
        (nrm, "estimators", "recipes.estimator"),
        (nrm, "predict_labels", "cluster_probabilities"),
        (nrm, "sample_components", "sample_cluster_parameters"),
    ],
)
def test_old_name(module, before, now):
    with pytest.raises(AttributeError, match=f"{before} is {now} now"):
        getattr(module, before)


def test_unknown_name():
    with pytest.raises(AttributeError, match="module 'pymc_nrm' has no attribute 'unknown'"):
        nrm.unknown  # noqa: B018
