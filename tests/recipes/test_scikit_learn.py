"""scikit-learn's own checks of the estimator, and its tools that take one."""

import numpy as np
import pytest

import pymc_nrm as nrm

pytest.importorskip("sklearn", minversion="1.6")
from sklearn.base import clone, is_clusterer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_clustering, parametrize_with_checks

# Few draws of a chain, for checks of the interface.
SMALL = {"draws": 20, "tune": 20, "chains": 1, "cores": 1, "sample_options": {"quiet": True}}
ESTIMATOR = nrm.MixtureEstimator(**SMALL, random_state=1)
X = np.random.default_rng(1).normal(np.repeat([0.0, 8.0], 12))[:, None]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Estimator MixtureEstimator does not inherit from")
@parametrize_with_checks([ESTIMATOR])
def test_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
def test_check_of_clusterers():
    """Above it is left out, since the class does not inherit from scikit-learn's mixin."""
    check_clustering("MixtureEstimator", clone(ESTIMATOR).set_params(draws=100, tune=100))


def test_clone_and_tags():
    copy = clone(ESTIMATOR)
    assert copy is not ESTIMATOR and copy.get_params() == ESTIMATOR.get_params()
    assert is_clusterer(copy)


@pytest.mark.slow
def test_pipelines_and_searches():
    scores = cross_val_score(make_pipeline(StandardScaler(), clone(ESTIMATOR)), X, cv=2)
    assert scores.shape == (2,) and np.isfinite(scores).all()
    grid = {"measure": [nrm.DirichletProcess(0.5), nrm.DirichletProcess(2.0)]}
    search = GridSearchCV(clone(ESTIMATOR), grid, cv=2).fit(X[::-1])
    assert search.best_params_["measure"] in grid["measure"]
    assert search.predict(X).shape == (24,)
