"""Labels that are partly known: every flat step has the law of all partitions that agree with them, by enumeration."""

import numpy as np
import pymc as pm
import pytest
from helpers import seeded
from laws import assert_law
from models import run

import pymc_nrm as nrm
from pymc_nrm.partitions.labels import label_counts
from pymc_nrm.testing import exact_posterior

KNOWN = np.array(["a", None, "b", "a", np.nan, "c", None], dtype=object)
STARTS = (np.array([0, 0, 1, 0, 0, 2, 0]), np.array([0, 1, 2, 0, 3, 4, 5]))
MEASURES = {"DP": nrm.DirichletProcess(1.3), "NGG": nrm.NormalizedGeneralizedGamma(1.0, 0.4)}
FAMILIES = {
    "normal": (
        nrm.NormalGamma(0.0, 0.3, 2.0, 1.0),
        np.array([[0.1, 1.0], [0.9, np.nan], [2.4, -1.0], [1.6, 0.2], [-1.0, 0.4], [0.6, 0.3], [1.9, 0.1]]),
    ),
    "categories": (nrm.CategoricalDirichlet(0.7), np.array([[0], [1], [2], [1], [0], [0], [2]])),
}
STEPS = {
    "tree": (nrm.TreeGuided, {}),
    "informed": (nrm.TreeGuided, {"moves": {"informed_split_merge": 6, "marginal_gibbs": 1}}),
    "split": (nrm.SplitMerge, {}),
    "scans": (nrm.SplitMerge, {"proposal": "restricted_gibbs", "n_scans": 1, "n_items": 1}),
    "gibbs": (nrm.MarginalGibbs, {}),
    "slice": (nrm.SliceSampler, {}),
}


def agrees(labels):
    """Whether a partition agrees with the known labels."""
    return (labels[0] == labels[3]) and len({labels[0], labels[2], labels[5]}) == 3


def posterior(measure, family):
    """Partitions that agree with the known labels, and their probabilities."""
    partitions, probabilities = exact_posterior(MEASURES[measure], *FAMILIES[family])
    kept = np.array([agrees(labels) for labels in partitions])
    return partitions[kept], probabilities[kept] / probabilities[kept].sum()


def make_model(measure, family):
    """A model with the known labels."""
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURES[measure], known=KNOWN)
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
    assert logp({"z": np.arange(7)}) == logp({"z": np.zeros(7, dtype=int)}) == -np.inf


@pytest.mark.parametrize("family", ["normal", pytest.param("categories", marks=pytest.mark.slow)])
@pytest.mark.parametrize("measure", [pytest.param("DP", marks=pytest.mark.slow), "NGG"])
@pytest.mark.parametrize("step", STEPS)
def test_step_has_the_posterior_law(step, measure, family):
    partitions, probabilities = posterior(measure, family)
    model = make_model(measure, family)
    step_class, options = STEPS[step]
    with model:
        sampler = step_class([model["z"]], rng=1, **options)
    labels, statistics = run(sampler, 7, seeded(step, measure, family), starts=STARTS)
    assert_law(labels, partitions, probabilities)
    for row, stats in zip(labels.reshape(-1, 7)[::50], statistics[::50], strict=True):
        shares = label_counts(row) / 7
        assert stats["entropy"] == pytest.approx(-(shares * np.log(shares)).sum(), abs=1e-9)
