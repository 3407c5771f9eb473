"""The steps themselves, called on points of a PyMC model as ``pm.sample`` calls them."""

import numpy as np
import pymc as pm
import pytest

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf, log_joint_term, weights
from pymc_nrm.moves import sampled_start
from pymc_nrm.moves.guide_trees import guide_tree
from pymc_nrm.testing import all_partitions, exact_posterior
from tests.cases import MEASURES, SAMPLERS, family_rows, rows
from tests.exact.laws import posterior
from tests.exact.models import check_step, make_model, run
from tests.helpers import assert_law, label_counts, mixture_of


@pytest.mark.quick("tree-NGG", "gibbs-NGG")
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_step_has_the_posterior_law(sampler, measure):
    step, options = SAMPLERS[sampler]
    labels, statistics = check_step(measure, "NormalGamma, missing", step, **options)
    n_clusters = [stats["n_clusters"] for stats in statistics]
    np.testing.assert_array_equal(n_clusters, labels.max(axis=-1).ravel() + 1)


@pytest.mark.slow
def test_law_with_guide_trees_and_starts_of_a_sample(monkeypatch):
    monkeypatch.setattr(guide_tree, "MOST_GUIDE_ITEMS", 4)
    monkeypatch.setattr(guide_tree, "GUIDE_SAMPLE", 3)
    monkeypatch.setattr(sampled_start, "START_SIZES", (2, 4))
    check_step("NGG", "NormalGamma, missing", SAMPLERS["tree"][0])


@pytest.mark.slow
def test_draws_with_an_outlier_have_the_posterior_law():
    X = np.append(np.random.default_rng(3).normal(size=12)[:5], 1e9)
    family = nrm.NormalGamma(mu=0.0, kappa=0.1, alpha=2.0, beta=1.0)
    with mixture_of(family, X) as model:
        step = SAMPLERS["gibbs"][0]([model["z"]], rng=1)
    labels, _ = run(step, len(X), np.random.default_rng(7), 10_000)
    assert_law(labels, *exact_posterior(nrm.DirichletProcess(1.0), family, X))


@pytest.mark.parametrize("sampler", ["sequential", "slice", "tree"])
@pytest.mark.parametrize("family", [row for row in family_rows(()) if row.values != ("NormalGamma, missing",)])
def test_step_has_the_posterior_law_of_every_other_family(sampler, family):
    step, options = SAMPLERS[sampler]
    check_step("NGG", family, step, **options)


@pytest.mark.quick("NormalGamma, missing-PY below 0")
def test_log_probability_of_the_model_is_the_enumerated_one(family, measure):
    model = make_model(measure, family)
    partitions, probabilities = posterior(measure, family)
    logp = model.compile_logp()
    log_p = np.array([logp({"z": labels}) for labels in partitions])
    np.testing.assert_allclose(np.exp(log_p - np.logaddexp.reduce(log_p)), probabilities, rtol=1e-8)


# Without data kernels have to be compiled again.
@pytest.mark.slow
@pytest.mark.parametrize("sampler", rows(("gibbs", "slice", "sequential", "3 scans", "tree"), ("gibbs",)))
@pytest.mark.parametrize("n", rows((1, 2, 4), (4,)))
def test_step_has_the_prior_law_without_data(sampler, n, measure):
    step_class, options = SAMPLERS[sampler]
    with pm.Model():
        z = nrm.Partition("z", MEASURES[measure], n=n)
        step = step_class([z], rng=1, **options)
    labels, _ = run(step, n, np.random.default_rng(5))
    partitions = all_partitions(n)
    probabilities = np.exp([log_eppf(MEASURES[measure], label_counts(labels)) for labels in partitions])
    assert probabilities.sum() == pytest.approx(1.0)
    if n > 1:
        assert_law(labels, partitions, probabilities)


def test_log_joint_is_that_of_the_draw_and_its_u(measure):
    """``log p(X, partition, u) = log p(X | partition) + log p(partition, u)``, the first term by PyMC."""
    model = make_model(measure, "NormalGamma, missing")
    with model:
        step = nrm.steps.SplitMerge([model["z"]], rng=1)
    log_likelihood = model.compile_logp(vars=model.observed_RVs)
    point = {"z": np.zeros(5, dtype=np.int64)}
    for _ in range(20):
        point, [stats] = step.step(point)
        log_u = np.log(stats["u"])
        log_p = log_likelihood(point) + log_joint_term(MEASURES[measure], 5, log_u)
        log_p += weights(MEASURES[measure], 5, log_u).moment[label_counts(point["z"])].sum()
        assert stats["log_joint"] == pytest.approx(log_p, rel=1e-10)
        shares = label_counts(point["z"]) / 5
        assert stats["entropy"] == pytest.approx(-(shares * np.log(shares)).sum(), abs=1e-12)


BULK = np.random.default_rng(3).normal(size=12)


@pytest.mark.slow
@pytest.mark.parametrize("distance", [1e8, 1e9])
@pytest.mark.parametrize("d", [1, 2])
def test_far_groups_are_never_mixed(distance, d):
    X = BULK[:, None] + np.zeros(d)
    X[:, -1] = BULK[::-1]
    X += distance * (np.arange(12) % 2)[:, None]
    family = nrm.NormalGamma(0.0, 0.1, 2.0, 1.0) if d == 1 else nrm.NormalWishart(np.zeros(2), 0.1, np.eye(2), 6.0)
    with mixture_of(family, X) as model:
        step = SAMPLERS["gibbs"][0]([model["z"]], rng=1)
    labels, statistics = run(step, 12, np.random.default_rng(7), 200)
    assert np.isfinite([stats["log_joint"] for stats in statistics]).all()
    settled = labels[:, 20:]
    for first in range(0, 12, 2):
        assert (settled[..., first, None] != settled[..., 1::2]).all()


def test_values_beyond_doubles_stop_the_step():
    model = mixture_of(nrm.NormalGamma(0.0, 0.1, 2.0, 1.0), np.append(BULK[:5], 1e12))
    with model, pytest.raises(ValueError, match=r"data of 'x': item 5, feature 0 .*1e\+12"):
        SAMPLERS["gibbs"][0]([model["z"]], rng=1)
