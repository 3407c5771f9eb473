"""Items that always share a cluster: every flat step has the law that enumeration of the partitions of groups gives."""

import numpy as np
import pymc as pm
import pytest
from helpers import seeded
from laws import assert_law
from models import run

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.partitions.labels import all_partitions, label_counts
from pymc_nrm.testing import exact_posterior

GROUPS = ["a", "b", "c", "b", "d", "a", "b"]
NUMBERS = np.array([0, 1, 2, 1, 3, 0, 1])
MEASURES = {"DP": nrm.DirichletProcess(1.3), "NGG": nrm.NormalizedGeneralizedGamma(1.0, 0.4)}
FAMILIES = {
    "normal": (
        nrm.NormalGamma(0.0, 0.3, 2.0, 1.0),
        np.array([[0.1, 1.0], [0.9, np.nan], [2.4, -1.0], [1.6, 0.2], [-1.0, 0.4], [0.6, 0.3], [1.9, 0.1]]),
    ),
    "categories": (nrm.CategoricalDirichlet(0.7), np.array([[0], [1], [2], [1], [0], [0], [2]])),
}
STEPS = {
    "tree": nrm.TreeGuided,
    "split": nrm.SplitMerge,
    "gibbs": nrm.MarginalGibbs,
    "slice": nrm.SliceSampler,
}


def posterior(measure, family):
    """Partitions of the items that keep groups together, and their probabilities."""
    partitions, probabilities = exact_posterior(MEASURES[measure], *FAMILIES[family])
    of_groups = all_partitions(NUMBERS.max() + 1)
    found = {tuple(labels): probability for labels, probability in zip(partitions, probabilities, strict=True)}
    log_p = [
        np.log(found[tuple(labels[NUMBERS])])
        - log_eppf(MEASURES[measure], label_counts(labels[NUMBERS]))
        + log_eppf(MEASURES[measure], label_counts(labels))
        for labels in of_groups
    ]
    p = np.exp(log_p - np.max(log_p))
    return of_groups[:, NUMBERS], p / p.sum()


def make_model(measure, family):
    """A model with the groups."""
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURES[measure], together=GROUPS)
        nrm.Mixture("x", z, FAMILIES[family][0], observed=FAMILIES[family][1])
    return model


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("measure", MEASURES)
def test_log_probability_of_the_model_is_the_enumerated_one(measure, family):
    model = make_model(measure, family)
    partitions, probabilities = posterior(measure, family)
    logp = model.compile_logp()
    log_p = np.array([logp({"z": labels}) for labels in partitions])
    np.testing.assert_allclose(np.exp(log_p - np.logaddexp.reduce(log_p)), probabilities, rtol=1e-8)
    assert logp({"z": np.arange(7)}) == -np.inf


@pytest.mark.quick("gibbs-NGG-normal")
@pytest.mark.parametrize("family", ["normal", pytest.param("categories", marks=pytest.mark.slow)])
@pytest.mark.parametrize("measure", [pytest.param("DP", marks=pytest.mark.slow), "NGG"])
@pytest.mark.parametrize("step", STEPS)
def test_step_has_the_posterior_law(step, measure, family):
    partitions, probabilities = posterior(measure, family)
    model = make_model(measure, family)
    with model:
        sampler = STEPS[step]([model["z"]], rng=1)
    labels, statistics = run(sampler, 7, seeded(step, measure, family), starts=(0 * NUMBERS, NUMBERS))
    assert_law(labels, partitions, probabilities)
    for row, stats in zip(labels.reshape(-1, 7)[::50], statistics[::50], strict=True):
        shares = label_counts(row) / 7
        assert stats["entropy"] == pytest.approx(-(shares * np.log(shares)).sum(), abs=1e-9)


def test_hyperparameters_are_those_of_the_groups():
    """The density at a partition is that of its groups for every value of alpha, with no further factor."""
    with pm.Model() as model:
        alpha = pm.Gamma("alpha", 2, 1)
        nrm.Partition("z", nrm.DirichletProcess(alpha), together=GROUPS)
    for log_alpha in (-1.0, 0.7):
        point = {"alpha_log__": np.array(log_alpha), "z": np.array([0, 1, 0, 1, 2, 0, 1])}
        expected = log_eppf(nrm.DirichletProcess(np.exp(log_alpha)), np.array([2, 1, 1]))
        assert model.point_logps(point, round_vals=12)["z"] == pytest.approx(expected)


@pytest.mark.slow
def test_samples_summaries_and_recipes():
    rng = np.random.default_rng(1)
    person = np.repeat(np.arange(20), 2)
    X = np.where(person % 2, 4.0, -4.0)[:, None] + rng.normal(size=(40, 2))
    model = nrm.gaussian_mixture(X, together=person, covariance="diagonal")
    idata = nrm.sample(
        30, tune=20, chains=2, cores=1, random_seed=2, model=model, progressbar=False, quiet=True,
        compute_convergence_checks=False,
    )  # fmt: skip
    draws = idata.posterior["z"].values
    np.testing.assert_array_equal(draws[..., ::2], draws[..., 1::2])
    assert "z[n_clusters]" in nrm.summary(idata).index
    labels = nrm.point_estimate(idata, random_seed=1)["labels"].values
    assert (labels[::2] == labels[1::2]).all()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"together": [1, 1, 2], "n": 4}, ValueError, "together of .* must have one row for each of the 4 items"),
        ({"together": [1, None, 2]}, ValueError, "together of .* must have no missing labels"),
        ({"together": [1.5, 1, 2]}, TypeError, "together of .* must be whole numbers or strings"),
        ({"together": [1, 1, 2], "max_clusters": 3}, ValueError, "max_clusters and together of Partition 'z'"),
        ({"together": [1, 1, 2], "initval": [0, 1, 1]}, ValueError, "initval of .* one label for each group"),
        ({"together": [1, 1, 2], "observed": [0, 1, 1]}, ValueError, "observed of .* one label for each group"),
    ],
)
def test_wrong_groups(options, error, message):
    with pm.Model(), pytest.raises(error, match=message):
        nrm.Partition("z", nrm.DirichletProcess(1.0), **options)


def test_nothing_but_mixtures_may_use_the_labels():
    with pm.Model():
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), together=[1, 1, 2])
        pm.Normal("y", z, 1.0, observed=np.zeros(3))
        with pytest.raises(ValueError, match="some of whose items stay together: use a Mixture"):
            nrm.MarginalGibbs([z])
