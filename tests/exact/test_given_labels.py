"""Labels that are partly known, and items that always share a cluster: steps have the laws that enumeration gives."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.testing import exact_posterior
from tests.exact.models import run
from tests.helpers import assert_law, label_counts, mixture_of, refused, seeded

GIVEN = {
    "known": np.array(["a", None, "b", "a", np.nan, "c", None], dtype=object),
    "together": ["a", "b", "c", "b", "d", "a", "b"],
}
# Options of the partition, by the kind of what is given.
GIVEN["only_known"] = GIVEN["known"]
AGREE = {
    "known": lambda labels: labels[0] == labels[3] and len({labels[0], labels[2], labels[5]}) == 3,
    "only_known": lambda labels: AGREE["known"](labels) and labels.max() == 2,
    "together": lambda labels: labels[0] == labels[5] and labels[1] == labels[3] == labels[6],
}
UNITS = {"known": np.arange(7), "only_known": np.arange(7), "together": np.array([0, 1, 2, 4])}
STARTS = {
    "known": (np.array([0, 0, 1, 0, 0, 2, 0]), np.array([0, 1, 2, 0, 3, 4, 5])),
    "only_known": (np.array([0, 0, 1, 0, 0, 2, 0]), np.array([0, 1, 1, 0, 2, 2, 1])),
    "together": (np.zeros(7, dtype=int), np.array([0, 1, 2, 1, 3, 0, 1])),
}
MEASURES = {"DP": nrm.DirichletProcess(1.3), "NGG": nrm.NormalizedGeneralizedGamma(1.0, 0.4)}
FAMILIES = {
    "normal": (
        nrm.NormalGamma(0.0, 0.3, 2.0, 1.0),
        np.array([[0.1, 1.0], [0.9, np.nan], [2.4, -1.0], [1.6, 0.2], [-1.0, 0.4], [0.6, 0.3], [1.9, 0.1]]),
    ),
    "categories": (nrm.CategoricalDirichlet(0.7), np.array([[0], [1], [2], [1], [0], [0], [2]])),
}
STEPS = {
    "tree": (nrm.steps.TreeGuided, {}),
    "informed": (nrm.steps.TreeGuided, {"moves": {"informed_split_merge": 6, "marginal_gibbs": 1}}),
    "split": (nrm.steps.SplitMerge, {}),
    "scans": (nrm.steps.SplitMerge, {"proposal": "restricted_gibbs", "n_scans": 1, "n_items": 1}),
    "gibbs": (nrm.steps.MarginalGibbs, {}),
    "slice": (nrm.steps.SliceSampler, {}),
}


def posterior(kind, measure, family):
    """Partitions that agree with the given labels, and their probabilities; the prior is that of units of items."""
    partitions, probabilities = exact_posterior(MEASURES[measure], *FAMILIES[family])
    kept = np.array([AGREE[kind](labels) for labels in partitions])
    partitions, p = partitions[kept], probabilities[kept]
    for k, labels in enumerate(partitions):
        of_units, of_items = label_counts(labels[UNITS[kind]]), label_counts(labels)
        p[k] *= np.exp(log_eppf(MEASURES[measure], of_units) - log_eppf(MEASURES[measure], of_items))
    return partitions, p / p.sum()


def options_of(kind):
    return {"known": GIVEN[kind], "only_known": True} if kind == "only_known" else {kind: GIVEN[kind]}


def make_model(kind, measure, family):
    return mixture_of(*FAMILIES[family], MEASURES[measure], **options_of(kind))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("kind", GIVEN)
def test_log_probability_of_the_model_is_the_enumerated_one(kind, measure, family):
    partitions, probabilities = posterior(kind, measure, family)
    logp = make_model(kind, measure, family).compile_logp()
    log_p = np.array([logp({"z": labels}) for labels in partitions])
    np.testing.assert_allclose(np.exp(log_p - np.logaddexp.reduce(log_p)), probabilities, rtol=1e-8)
    assert logp({"z": np.arange(7)}) == -np.inf
    assert kind == "together" or logp({"z": np.zeros(7, dtype=int)}) == -np.inf


@pytest.mark.quick("known-gibbs-NGG-normal", "together-gibbs-NGG-normal")
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", GIVEN)
def test_step_has_the_posterior_law(kind, step, measure, family):
    partitions, probabilities = posterior(kind, measure, family)
    model = make_model(kind, measure, family)
    step_class, options = STEPS[step]
    with model:
        sampler = step_class([model["z"]], rng=1, **options)
    labels, statistics = run(sampler, 7, seeded(step, measure, family), starts=STARTS[kind])
    assert_law(labels, partitions, probabilities)
    for row, stats in zip(labels.reshape(-1, 7)[::50], statistics[::50], strict=True):
        shares = label_counts(row) / 7
        assert stats["entropy"] == pytest.approx(-(shares * np.log(shares)).sum(), abs=1e-9)


@pytest.mark.parametrize(
    ("kind", "labels", "counts"),
    [("known", [0, 0, 1, 0, 2, 3, 1], [3, 2, 1, 1]), ("together", [0, 1, 0, 1, 2, 0, 1], [2, 1, 1])],
)
def test_hyperparameters_learn_from_units(kind, labels, counts):
    """The density at a partition is that of all items, or of all groups, for every alpha, with no further factor."""
    with pm.Model() as model:
        alpha = pm.Gamma("alpha", 2, 1)
        nrm.Partition("z", nrm.DirichletProcess(alpha), **{kind: GIVEN[kind]})
    for log_alpha in (-1.0, 0.7):
        point = {"alpha_log__": np.array(log_alpha), "z": np.array(labels)}
        expected = log_eppf(nrm.DirichletProcess(np.exp(log_alpha)), np.array(counts))
        assert model.point_logps(point, round_vals=12)["z"] == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.parametrize("kind", GIVEN)
def test_samples_of_recipes_keep_what_is_given(kind):
    X = np.where(np.arange(40) // 2 % 2, 4.0, -4.0)[:, None] + np.random.default_rng(1).normal(size=(40, 2))
    if kind == "together":
        model = nrm.gaussian_mixture(X, together=np.arange(40) // 2, covariance="diagonal")
    else:
        df = pd.DataFrame(X, columns=["a", "b"]).assign(kind=np.where(np.arange(40) < 24, np.arange(40) % 3, np.nan))
        only_known = kind == "only_known"
        model = nrm.mixture_model(df, known="kind", only_known=only_known, covariance="diagonal")
        assert model.coords["numeric_feature"] == ("a", "b")
    idata = nrm.sample(30, tune=20, chains=2, cores=1, random_seed=2, quiet=True, progressbar=False, model=model)
    assert "z[n_clusters]" in nrm.summary(idata).index
    estimate = nrm.point_estimate(idata, random_seed=1)["labels"].values
    for labels in (idata.posterior["z"].values, estimate):
        if kind == "together":
            np.testing.assert_array_equal(labels[..., ::2], labels[..., 1::2])
        else:
            assert all((labels[..., k:24:3] == labels[..., k, None]).all() for k in range(3))
            assert kind == "known" or (labels.max(axis=-1) == 2).all()


test_wrong_labels = refused(
    lambda options: nrm.Partition("z", nrm.DirichletProcess(1.0), **options),
    ({"known": [1, 1, -1], "n": 4}, ValueError, "known of .* must have one row for each of the 4 items"),
    ({"known": [1.5, 1, None]}, TypeError, "known of .* must be whole numbers or strings; got 1.5"),
    ({"known": [[1, 1, 2]]}, ValueError, r"known of .* must have shape \(n,\).*got shape \(1, 3\)"),
    ({"known": [1, 1, 2], "max_clusters": 3}, ValueError, "max_clusters and known of Partition 'z'"),
    ({"known": [1, 1, 2], "together": [1, 1, 2]}, ValueError, "together and known of Partition 'z'"),
    ({"known": ["a", None, "b"], "initval": [0, 1, 0]}, ValueError, "initval of .* known labels 'b' and 'a', and"),
    ({"known": ["a", "a", None], "observed": [0, 1, 1]}, ValueError, "observed of .* labels 'a' and 'a', and .* 0"),
    ({"known": [1, 1, None], "only_known": 1}, TypeError, "only_known of Partition 'z' must be True or False; got 1"),
    ({"n": 3, "only_known": True}, ValueError, "only_known of Partition 'z' must be False unless known"),
    (
        {"known": [None, -1], "only_known": True},
        ValueError,
        "known of Partition 'z' must have a known label with only_known=True; got none",
    ),
    (
        {"known": ["a", None, "b"], "only_known": True, "initval": [0, 1, 2]},
        ValueError,
        r"initval of .* every item into the cluster of a known label, since only_known=True; items \[1\] are in other",
    ),
    ({"together": [1, 1, 2], "n": 4}, ValueError, "together of .* must have one row for each of the 4 items"),
    ({"together": [1, None, 2]}, ValueError, "together of .* must have no missing labels"),
    ({"together": [1.5, 1, 2]}, TypeError, "together of .* must be whole numbers or strings"),
    ({"together": [1, 1, 2], "max_clusters": 3}, ValueError, "max_clusters and together of Partition 'z'"),
    ({"together": [1, 1, 2], "initval": [0, 1, 1]}, ValueError, "initval of .* one label for each group"),
    ({"together": [1, 1, 2], "observed": [0, 1, 1]}, ValueError, "observed of .* one label for each group"),
    within=pm.Model,
)


@pytest.mark.parametrize(("n_known", "options"), [(3, {}), (4, {}), (0, {}), (3, {"only_known": True})])
def test_few_known_labels_are_told(n_known, options, caplog, unbroken):
    caplog.set_level("INFO")
    X, known = np.random.default_rng(1).normal(size=(16, 1)), np.where(np.arange(16) < n_known, "a", None)
    nrm.gaussian_mixture(X, known=known, **options)
    expected = "3 of 16 items have a known label; the others may form clusters of their own. only_known=True puts every"
    assert any(expected in record.message for record in caplog.records) == (n_known == 3 and not options)


def test_columns_that_are_not_there():
    with pytest.raises(ValueError, match=r"known must be .*\['a'\]; got 'species'"):
        nrm.mixture_model(pd.DataFrame({"a": [1.0, 2.5]}), known="species")


@pytest.mark.parametrize("known", [[-1, -1, -1], [None, np.nan, pd.NA], np.ma.masked_all(3)])
def test_no_label_may_be_known(known):
    z = nrm.Partition.dist(nrm.DirichletProcess(1.0), known=known)
    assert float(pm.logp(z, [0, 1, 0]).eval()) == pytest.approx(log_eppf(nrm.DirichletProcess(1.0), np.array([2, 1])))


def beside_a_likelihood(options):
    z = nrm.Partition("z", nrm.DirichletProcess(1.0), **options)
    pm.Normal("y", z, 1.0, observed=np.zeros(3))
    nrm.steps.MarginalGibbs([z])


test_nothing_but_mixtures_may_use_the_labels = refused(
    beside_a_likelihood,
    ({"known": [1, 1, None]}, "some of whose labels are known: use a Mixture"),
    ({"together": [1, 1, 2]}, "some of whose items stay together: use a Mixture"),
    within=pm.Model,
)


def test_labels_lose_spaces_and_numbers_are_not_their_text():
    df = pd.DataFrame({"x": np.arange(8.0) ** 2, "k": ["a", "a ", " b", None, "", "b", "-1", "a"]})
    kind = nrm.mixture_model(df, known="k", kinds={"x": "numeric"})["z"].owner.op.kind
    assert kind.names == ("a", "b") and kind.known.tolist() == [0, 0, 1, -1, -1, 1, -1, 0]
    with pytest.raises(ValueError, match="a number and its text as different labels; got '1' and 1"):
        nrm.mixture_model(df.assign(k=["1", 1, "2", None] * 2), known="k", kinds={"x": "numeric"})
