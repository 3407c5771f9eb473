"""Rows that stand for several observations: the law of the same rows repeated and kept together."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pymc.exceptions import SamplingError
from scipy.special import logsumexp

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.models.marginal_likelihood import without_marginal_likelihood
from pymc_nrm.testing import all_partitions, kernel_inputs
from tests.cases import SMALL
from tests.exact.models import run
from tests.helpers import assert_law, label_counts, log_density, refused, seeded

MEASURE = nrm.NormalizedGeneralizedGamma(1.0, 0.4)
COUNTS = np.array([1, 3, 2, 1, 40])
STEPS = {
    "tree": nrm.steps.TreeGuided,
    "split": nrm.steps.SplitMerge,
    "gibbs": nrm.steps.MarginalGibbs,
    "slice": nrm.steps.SliceSampler,
}
# Families whose counts are enumerated with every step; others with one step only.
KINDS_OF_STATISTICS = (
    "NormalGamma, missing",
    "BernoulliBeta, missing",
    "CategoricalDirichlet, missing",
    "PoissonGamma, missing",
    "NormalWishart",
    "two families",
)


def case(name):
    """Families and data of a case, lists, and the numbers of observations of its rows."""
    families, data = SMALL[name]
    if not isinstance(families, list):
        families, data = [families], [data]
    return families, data, COUNTS[: data[0].shape[0]]


def repeated(family, X, counts):
    """Family and data with a row for each observation."""
    rows, changed = np.repeat(np.arange(len(counts)), counts), {}
    for name, spec in family.hyperparameters.items():
        value = getattr(family, name)
        if "n" in spec.core and value is not None and np.ndim(value) == len(spec.core):
            changed[name] = np.asarray(value)[rows]
    return family._replace(**changed), X[rows]


def counted_model(families, data, counts, **options):
    """Mixtures with counts, but the second one, whose rows are observed once."""
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURE, **({"n": len(counts)} | options))
        for k, (family, X) in enumerate(zip(families, data, strict=True)):
            nrm.Mixture(f"x{k}", z, family, observed=X, counts=counts if k == 0 else None)
    return model


def repeated_model(families, data, counts):
    """The same rows repeated, and kept together; the second mixture has one row for each group."""
    groups = np.repeat(np.arange(len(counts)), counts)
    first, (family, X) = np.flatnonzero(np.diff(groups, prepend=-1)), repeated(families[0], data[0], counts)
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURE, together=groups)
        nrm.Mixture("x0", z, family, observed=X)
        for k, (family, X) in enumerate(zip(families[1:], data[1:], strict=True), 1):
            nrm.Mixture(f"x{k}", z, family, observed=X, rows=first)
    return model, groups


def enumerated(name):
    """All partitions of the rows and their log joint densities, from the kernels of a family of single rows."""
    families, data, counts = case(name)
    partitions = all_partitions(len(counts))
    log_p = np.array([log_eppf(MEASURE, label_counts(labels)) for labels in partitions])
    for k, (family, X) in enumerate(zip(families, data, strict=True)):
        rows = np.arange(len(counts)) if k else np.repeat(np.arange(len(counts)), counts)
        local, prepared = kernel_inputs(*((family, X) if k else repeated(family, X, counts)))
        log_p += [log_density(local, prepared, labels[rows]) for labels in partitions]
    return partitions, log_p


def test_density_is_that_of_rows_repeated_together(family):
    partitions, expected = enumerated(family)
    logp = counted_model(*case(family)).compile_logp(mode="FAST_COMPILE")
    np.testing.assert_allclose([logp({"z": labels}) for labels in partitions], expected, rtol=1e-10)
    model, groups = repeated_model(*case(family))
    together = model.compile_logp(mode="FAST_COMPILE")
    some = [0, len(partitions) // 2, len(partitions) - 1]
    np.testing.assert_allclose([together({"z": partitions[k][groups]}) for k in some], expected[some], rtol=1e-10)


def test_density_of_the_symbolic_graph(family):
    partitions, expected = enumerated(family)
    with without_marginal_likelihood():
        logp = counted_model(*case(family)).compile_logp(mode="FAST_COMPILE")
    np.testing.assert_allclose([logp({"z": labels}) for labels in partitions[::5]], expected[::5], rtol=1e-10)


def hyperparameters(observed, **options):
    with pm.Model() as model:
        mu, beta = pm.Normal("mu", 0.0, 2.0, shape=2), pm.LogNormal("beta", 0.0, 1.0)
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), **options.pop("partition"))
        nrm.Mixture("x", z, nrm.NormalGamma(mu, 0.4, 2.0, beta), observed=observed, **options)
    return model


@pytest.mark.parametrize("kind", ["dlogp", pytest.param("d2logp", marks=pytest.mark.slow)])
def test_gradient_is_that_of_rows_repeated(kind):
    X, counts = np.array([[0.2, 1.0], [1.9, np.nan], [-0.6, 3.0]]), [4, 1, 2]
    groups = np.repeat(np.arange(3), counts)
    labels, point = np.array([0, 1, 0]), {"mu": np.array([0.3, -0.4]), "beta_log__": np.array(0.2)}
    one = hyperparameters(X, counts=counts, partition={"n": 3})
    other = hyperparameters(X[groups], partition={"together": groups})
    values = [
        getattr(model, f"compile_{kind}")([model["mu"], model["beta"]], mode="FAST_COMPILE")({"z": z, **point})
        for model, z in ((one, labels), (other, labels[groups]))
    ]
    np.testing.assert_allclose(*values, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", KINDS_OF_STATISTICS)
def test_step_has_the_posterior_law(name, step):
    check(name, step)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SMALL if name not in KINDS_OF_STATISTICS])
def test_gibbs_has_the_posterior_law(name):
    check(name, "gibbs")


def check(name, step):
    partitions, log_p = enumerated(name)
    model = counted_model(*case(name))
    with model:
        sampler = STEPS[step]([model["z"]], rng=1)
    n = partitions.shape[1]
    labels, _ = run(sampler, n, seeded("counts", step, name))
    assert_law(labels, partitions, np.exp(log_p - logsumexp(log_p)))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"together": ["a", "b", "b", "c", "d"]}, {"known": ["a", None, "b", None, None]}])
def test_kinds_of_partitions(options):
    partitions, log_p = enumerated("NormalGamma, missing")
    model = counted_model(*case("NormalGamma, missing"), **options)
    logp = model.compile_logp(mode="FAST_COMPILE")
    found = np.array([logp({"z": labels}) for labels in partitions])
    kept = np.isfinite(found)
    if "known" in options:
        np.testing.assert_allclose(found[kept], log_p[kept], rtol=1e-10)
    with model:
        sampler = nrm.steps.MarginalGibbs([model["z"]], rng=1)
    starts = (partitions[kept][0], partitions[kept][-1])
    labels, _ = run(sampler, 5, seeded(*options), starts=starts)
    assert_law(labels, partitions[kept], np.exp(found[kept] - logsumexp(found)))


def test_single_observations_change_nothing():
    families, data, _ = case("NormalGamma, missing")
    ones, plain = (counted_model(families, data, one) for one in (np.ones(5, dtype=int), COUNTS))
    with pm.Model() as without:
        z = nrm.Partition("z", MEASURE, n=5)
        nrm.Mixture("x0", z, families[0], observed=data[0])
    labels = np.array([0, 1, 0, 2, 1])
    values = [model.compile_logp(mode="FAST_COMPILE")({"z": labels}) for model in (ones, without, plain)]
    assert values[0] == pytest.approx(values[1], rel=1e-12) and abs(values[2] - values[1]) > 1.0


@pytest.mark.parametrize("step", [nrm.steps.MarginalGibbs, pytest.param(nrm.steps.TreeGuided, marks=pytest.mark.slow)])
def test_comparison_with_the_model_stops_a_wrong_count(step, monkeypatch):
    from pymc_nrm.models import parts

    own = parts.counted_rows
    monkeypatch.setattr(parts, "counted_rows", lambda rows, counts: own(rows, counts + (np.arange(len(counts)) == 1)))
    model = counted_model(*case("NormalGamma, missing"))
    with pytest.raises(SamplingError, match="posterior|log density"):
        nrm.sample(2, tune=0, chains=1, cores=1, model=model, step=[step([model["z"]], model=model)], quiet=True)


def make(options):
    with pm.Model():
        z = nrm.Partition("z", MEASURE, n=3)
        nrm.Mixture("x", z, options.pop("family", nrm.PoissonGamma(1.0, 1.0)), **({"observed": [1, 4, 2]} | options))


WISHART = nrm.NormalWishart([0.0, 0.0], 1.0, np.eye(2), 4.0)
test_counts_that_are_refused = refused(
    make,
    ({"counts": [1, 2]}, r"a number for each of the 3 items .* got shape \(2,\)"),
    ({"counts": [1.5, 1, 1]}, "whole numbers.* got 1.5 in row 0.* survey"),
    ({"counts": [1, np.nan, 1]}, "whole numbers.* got nan in row 1"),
    ({"counts": [1, 2, 0]}, "at least 1; got 0 in row 2. Leave out such rows"),
    ({"counts": [1, 2, -3]}, "at least 1; got -3 in row 2"),
    ({"counts": [1, 1, 2], "rows": [0, 1, 2]}, "must be None if rows is given"),
    ({"counts": [1, 1, 2], "observed": None, "shape": (3, 1)}, "without observed data"),
    ({"counts": ["a", "b", "c"]}, TypeError, "text"),
    ({"counts": pt.constant([1, 1, 2])}, TypeError, "must be an array with the number of observations"),
    (
        {"counts": [1, 2, 1], "family": WISHART, "observed": [[1.0, np.nan], [0.0, 2.0], [1.0, 1.5]]},
        "must be None if data have NaN; NormalWishart draws missing values",
    ),
)


def test_forward_draws_are_refused():
    model = counted_model(*case("PoissonGamma, missing"))
    with pytest.raises((NotImplementedError, TypeError), match="counts has no forward draws"):
        pm.sample_prior_predictive(2, model=model, random_seed=1, compile_kwargs={"mode": "FAST_COMPILE"})


def test_data_of_another_length_are_refused():
    with pm.Model() as model:
        X = pm.Data("X", np.array([1.0, 4.0, 2.0]))
        z = nrm.Partition("z", MEASURE, n=X.shape[0])
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=X, counts=[1, 5, 2])
    logp = model.compile_logp(mode="FAST_COMPILE")
    assert np.isfinite(logp({"z": np.array([0, 1, 0])}))
    pm.set_data({"X": np.array([1.0, 4.0, 2.0, 7.0])}, model=model)
    with pytest.raises(ValueError, match="one row for each entry of counts"):
        logp({"z": np.array([0, 1, 0, 0])})
    with pytest.raises(ValueError, match="4 rows and 3 counts"):
        nrm.sample(2, tune=0, chains=1, cores=1, model=model, quiet=True)
