"""The steps themselves, called on points of a PyMC model as ``pm.sample`` calls them."""

import numpy as np
import pymc as pm
import pytest
from cases import MEASURES, SAMPLERS, rows
from laws import assert_law, posterior
from models import check_step, make_model, run

from pymc_nrm.distributions.partition import Partition
from pymc_nrm.measures.base import log_eppf, log_joint_term, weights
from pymc_nrm.partitions.labels import all_partitions, label_counts
from pymc_nrm.steps.split_merge import SplitMerge

# Options of the fast tests; other options run the same kernels.
STEPS = ("gibbs", "sequential", "3 scans", "slice")

# Without data their kernels have to be compiled again.
MOVERS = ("sequential", "3 scans")


@pytest.mark.parametrize("sampler", rows(SAMPLERS, STEPS))
def test_step_has_the_posterior_law(sampler, measure):
    labels, statistics = check_step(measure, "NormalGamma, missing", sampler)
    n_clusters = [stats["n_clusters"] for stats in statistics]
    np.testing.assert_array_equal(n_clusters, labels.max(axis=-1).ravel() + 1)
    assert all(set(stats) == set(SAMPLERS[sampler].step.stats_dtypes_shapes) for stats in statistics)


def test_log_probability_of_the_model_is_the_enumerated_one(family, measure):
    model = make_model(measure, family)
    partitions, probabilities = posterior(measure, family)
    logp = model.compile_logp()
    log_p = np.array([logp({"z": labels}) for labels in partitions])
    np.testing.assert_allclose(np.exp(log_p - np.logaddexp.reduce(log_p)), probabilities, rtol=1e-8)


@pytest.mark.parametrize(
    "sampler", ["gibbs", "slice", *(pytest.param(name, marks=pytest.mark.slow) for name in MOVERS)]
)
def test_step_has_the_prior_law_without_data(sampler, measure):
    row = SAMPLERS[sampler]
    with pm.Model():
        z = Partition("z", MEASURES[measure], n=4)
        step = row.step([z], rng=1, **row.options)
    labels, _ = run(step, 4, np.random.default_rng(5))
    partitions = all_partitions(4)
    probabilities = np.exp([log_eppf(MEASURES[measure], label_counts(labels)) for labels in partitions])
    assert probabilities.sum() == pytest.approx(1.0)
    assert_law(labels, partitions, probabilities)


def test_log_joint_is_that_of_the_draw_and_its_u(measure):
    """``log p(X, partition, u) = log p(X | partition) + log p(partition, u)``, the first term by PyMC."""
    model = make_model(measure, "PoissonGamma")
    with model:
        step = SplitMerge([model["z"]], rng=1)
    log_likelihood = model.compile_logp(vars=model.observed_RVs)
    point = {"z": np.zeros(4, dtype=np.int64)}
    for _ in range(20):
        point, [stats] = step.step(point)
        log_u = np.log(stats["u"])
        log_p = log_likelihood(point) + log_joint_term(MEASURES[measure], 4, log_u)
        log_p += weights(MEASURES[measure], 4, log_u).moment[label_counts(point["z"])].sum()
        assert stats["log_joint"] == pytest.approx(log_p, rel=1e-10)
        shares = label_counts(point["z"]) / 4
        assert stats["entropy"] == pytest.approx(-(shares * np.log(shares)).sum(), abs=1e-12)
