"""Items with several rows of data or none: every flat step has the law that enumeration of partitions gives."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy import stats
from scipy.special import logsumexp

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.testing import all_partitions, kernel_inputs
from tests.exact.models import run
from tests.helpers import assert_law, canonical_labels, label_counts, log_density, seeded

MEASURE = nrm.NormalizedGeneralizedGamma(1.0, 0.4)
# Item 3 has no row, and item 1 one whose response is missing.
ITEMS = np.array([0, 2, 0, 1, 2, 1, 2])
W = np.column_stack([np.ones(7), [0.0, 0.5, 2.0, 1.0, 1.5, 3.0, 2.5]])
Y = np.array([0.1, -0.9, 2.3, 0.8, -2.0, np.nan, -2.2])
LINE = nrm.NormalRegression(W, [0.2, 0.5], 0.3 * np.eye(2), 2.5, 0.7)
COUNTS, COUNT_ITEMS = np.array([[1], [3], [9], [2], [4]]), [3, 0, 0, 2, 1]
FAMILIES = {
    "lines": [(LINE, Y, ITEMS)],
    "lines, counts and one row each": [
        (LINE, Y, ITEMS),
        (nrm.PoissonGamma(1.2, 0.4), COUNTS, COUNT_ITEMS),
        (nrm.NormalGamma(0.0, 0.3, 2.0, 1.0), np.array([0.4, -0.3, 1.6, 1.2]), None),
    ],
}
STEPS = {
    "tree": nrm.steps.TreeGuided,
    "split": nrm.steps.SplitMerge,
    "gibbs": nrm.steps.MarginalGibbs,
    "slice": nrm.steps.SliceSampler,
}
PARTITIONS = all_partitions(4)


def log_joint(families, partitions=PARTITIONS, measure=MEASURE):
    """Log joint densities of partitions of the items and of the data of all rows."""
    values = np.array([log_eppf(measure, label_counts(labels)) for labels in partitions])
    for family, X, items in families:
        local, data = kernel_inputs(family, X)
        values += [log_density(local, data, labels[slice(None) if items is None else items]) for labels in partitions]
    return values


def make_model(families, **options):
    """A model with mixtures x0, x1, ..."""
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURE, **({"n": 4} | options))
        for k, (family, X, items) in enumerate(families):
            nrm.Mixture(f"x{k}", z, family, observed=X, rows=items)
    return model


@pytest.mark.parametrize("families", FAMILIES)
def test_log_probability_of_the_model_is_the_enumerated_one(families):
    logp = make_model(FAMILIES[families]).compile_logp(mode="FAST_COMPILE")
    found = [logp({"z": labels}) for labels in PARTITIONS]
    np.testing.assert_allclose(found, log_joint(FAMILIES[families]), rtol=1e-9)
    assert logp({"z": np.array([0, 2, 1, 0])}) == -np.inf


@pytest.mark.slow
@pytest.mark.parametrize(("step", "families"), [*[(step, "lines") for step in STEPS], ("gibbs", list(FAMILIES)[1])])
def test_step_has_the_posterior_law(step, families):
    log_p = log_joint(FAMILIES[families])
    model = make_model(FAMILIES[families])
    with model:
        sampler = STEPS[step]([model["z"]], rng=1)
    labels, _ = run(sampler, 4, seeded(step, families))
    assert_law(labels, PARTITIONS, np.exp(log_p - logsumexp(log_p)))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"together": ["a", "b", "b", "c"]}, {"known": ["a", None, "b", None]}])
def test_kinds_of_partitions(options):
    """Rows of items that stay together, and of items whose labels are known."""
    model = make_model(FAMILIES["lines"], **options)
    logp = model.compile_logp(mode="FAST_COMPILE")
    log_p = np.array([logp({"z": labels}) for labels in PARTITIONS])
    with model:
        sampler = nrm.steps.MarginalGibbs([model["z"]], rng=1)
    kept = np.isfinite(log_p)
    labels, _ = run(sampler, 4, seeded(*options), starts=(PARTITIONS[kept][0], PARTITIONS[kept][-1]))
    assert_law(labels, PARTITIONS[kept], np.exp(log_p[kept] - logsumexp(log_p)))


@pytest.mark.slow
def test_slots():
    """Labels that index parameters as well."""
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURE, n=4, max_clusters=3)
        nrm.Mixture("x0", z, LINE, observed=Y, rows=ITEMS)
        pm.Poisson("count", pt.constant([0.5, 3.0, 1.0])[z], observed=[0, 4, 2, 1])
    logp = model.compile_logp(mode="FAST_COMPILE")
    slots = np.array(list(np.ndindex(3, 3, 3, 3)))
    log_p = np.array([logp({"z": one}) for one in slots])
    with model:
        sampler = nrm.steps.SlotGibbs([z], rng=1)
    labels, _ = run(sampler, 4, seeded("slots"), starts=(np.zeros(4, int), np.array([0, 1, 2, 0])))
    p = np.exp(log_p - logsumexp(log_p))
    partitions = {}
    for one, probability in zip(slots, p, strict=True):
        key = tuple(canonical_labels(one))
        partitions[key] = partitions.get(key, 0.0) + probability
    drawn = np.array([[canonical_labels(row) for row in chain] for chain in labels])
    assert_law(drawn, np.array(list(partitions)), np.array(list(partitions.values())))


NOISE, NOISY = 0.4, np.array([0.3, -0.2, 1.9, 2.4, -0.8])
NOISY_ITEMS, LATENT = [0, 0, 1, 1, 2], nrm.NormalGamma(0.2, 0.3, 2.0, 0.5)


def latent_model():
    """Rows of data that are latent, with a noisy observation of each."""
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURE, n=3)
        x = nrm.Mixture("x", z, LATENT, shape=(5, 1), rows=NOISY_ITEMS)
        pm.Normal("y", x[:, 0], NOISE, observed=NOISY)
    return model


def log_evidence_of_noisy(values):
    """Log density of noisy rows of one cluster: normal given its precision, which is integrated out numerically."""
    mu, kappa, alpha, beta = LATENT
    precision = np.exp(np.linspace(-12.0, 8.0, 4001))
    total = np.full(len(precision), np.log(20.0 / 4000))
    total += stats.gamma.logpdf(precision, alpha, scale=1.0 / beta) + np.log(precision)
    for k, one in enumerate(precision):
        covariance = (NOISE**2 + 1.0 / one) * np.eye(len(values)) + 1.0 / (kappa * one)
        total[k] += stats.multivariate_normal.logpdf(values, np.full(len(values), mu), covariance)
    return logsumexp(total)


def test_latent_rows_start_and_have_the_density_of_observed_ones():
    model, rng = latent_model(), np.random.default_rng(2)
    start = model.initial_point()
    assert start["x"].shape == (5, 1) and (start["x"] == LATENT.mu).all()
    logp = model.compile_logp(mode="FAST_COMPILE")
    for labels in all_partitions(3):
        x = rng.normal(size=(5, 1))
        expected = log_joint([(LATENT, x, np.array(NOISY_ITEMS))], [labels])[0]
        expected += stats.norm.logpdf(NOISY, x[:, 0], NOISE).sum()
        assert logp({"z": labels, "x": x}) == pytest.approx(expected, rel=1e-9)
    # Rows of an item share a cluster in forward draws.
    draws = pm.sample_prior_predictive(
        2000, model=model, var_names=["x"], random_seed=1, compile_kwargs={"mode": "FAST_COMPILE"}
    )
    x = np.arctan(draws.prior["x"].values[0, :, :, 0])
    of_item, of_others = np.corrcoef(x.T)[[0, 2], [1, 3]], np.corrcoef(x.T)[[0, 2], [4, 4]]
    assert (of_item > of_others + 0.1).all()


@pytest.mark.slow
def test_latent_rows_have_the_posterior_law():
    partitions = all_partitions(3)
    items = np.array(NOISY_ITEMS)
    log_p = [
        log_eppf(MEASURE, label_counts(labels))
        + sum(log_evidence_of_noisy(NOISY[labels[items] == k]) for k in range(labels.max() + 1))
        for labels in partitions
    ]
    idata = nrm.sample(2500, tune=500, chains=4, cores=1, model=latent_model(), random_seed=1, quiet=True)
    labels = idata["posterior"]["z"].values
    assert_law(labels, partitions, np.exp(log_p - logsumexp(log_p)))
