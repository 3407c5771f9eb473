"""Densities of new items and of items left out, and clusters of new ones, against sums over partitions of all items."""

from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytest
from scipy import sparse
from scipy.special import logsumexp

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.testing import all_partitions, kernel_inputs
from tests.helpers import canonical_labels, label_counts, log_density, mixture_of
from tests.predictions import prediction_cases as cases
from tests.predictions.prediction_cases import CASES, FAST, LINE, MEASURES, OF_AGE, OF_W, PLANE, draws_of, make_model


class Part(NamedTuple):
    """Data of one mixture, of items of the model and of new ones."""

    family: Any
    X: Any
    # The item of each row.
    items: Any


class Items(NamedTuple):
    """Mixtures by name, and what makes the model of the first n items for a measure."""

    n: int
    parts: dict
    make: Any
    # Names of data of new items that are given, in the model or of mixtures.
    given: dict = {}
    # An argument of the partition, and what it says of every item.
    option: Any = None
    said: tuple = ()


def agrees(option, labels, said):
    """Whether a partition agrees with what is said: items that stay together, or known labels."""
    pairs = [(i, j) for i in range(len(said)) for j in range(i) if None not in (said[i], said[j])]
    same = all(labels[i] == labels[j] for i, j in pairs if said[i] == said[j])
    apart = option == "together" or all(labels[i] != labels[j] for i, j in pairs if said[i] != said[j])
    if option != "only_known":
        return same and apart
    # A new item, which comes last, may be in a new cluster.
    known = [label for label, name in zip(labels, said, strict=True) if name is not None]
    return same and apart and np.isin(labels[:6], known).all()


def law(case, measure, items, hidden=None):
    """All partitions of some items, and the log joint density with their data, but those of one that are not given."""
    items, said = list(items), [case.said[item] for item in items] if case.option else []
    # Items that stay together are one for the measure.
    units = np.unique(said, return_index=True)[1] if case.option == "together" else range(len(items))
    partitions = [labels for labels in all_partitions(len(items)) if agrees(case.option, labels, said)]
    log_p = [log_eppf(measure, label_counts(canonical_labels(labels[np.sort(units)]))) for labels in partitions]
    for name, (family, X, of_rows) in case.parts.items():
        kept = np.isin(of_rows, [item for item in items if item != hidden or name in case.given])
        if hasattr(family, "covariates"):
            family = family._replace(covariates=family.covariates[kept])
        inputs, places = kernel_inputs(family, X[kept]), [items.index(item) for item in of_rows[kept]]
        log_p = [p + log_density(*inputs, labels[places]) for p, labels in zip(log_p, partitions, strict=True)]
    return np.array(partitions), np.array(log_p)


def without(partitions, place):
    """Partitions of the other items."""
    return np.array([canonical_labels(np.delete(labels, place)) for labels in partitions])


def log_densities(case, measure, items, item, draws):
    """Log density of the data of an item given those of the others, and their clusters in each draw."""
    partitions, log_p = law(case, measure, items)
    log_hidden, rest = law(case, measure, items, item)[1], without(partitions, items.index(item))
    same = [(rest == labels).all(axis=1) for labels in draws]
    return [logsumexp(log_p[rows]) - logsumexp(log_hidden[rows]) for rows in same]


def of_case(name):
    family, X, new = CASES[name]
    both = sparse.vstack([X, new]).tocsr() if sparse.issparse(X) else np.concatenate([X, new])
    part = Part(family, both, np.arange(both.shape[0]))
    return Items(X.shape[0], {"x": part}, lambda measure: make_model(measure, CASES[name]))


TWO = {
    "x": Part(nrm.NormalGamma(0.0, 0.3, 2.5, 0.8), np.array([-0.4, np.nan, 1.5, 0.3, 2.0]), np.arange(5)),
    "y": Part(nrm.PoissonGamma(1.0, 0.5), np.array([[3], [0], [9], [1], [7]]), np.arange(5)),
}


def two_mixtures(measure):
    with pm.Model() as model:
        z = nrm.Partition("z", measure, n=3)
        for name, (family, X, _) in TWO.items():
            nrm.Mixture(name, z, family, observed=X[:3])
    return model


NORMAL = Part(nrm.NormalGamma(0.0, 0.3, 2.0, 1.0), np.array([0.1, 2.2, 1.4, 0.5, -1.2, -0.3, 1.1]), np.arange(7))
SAID = {"together": (*"abcbda", "new"), "known": ("a", None, "b", "a", "c", None, None)}
SAID["only_known"] = SAID["known"]


def constrained(option):
    def make(measure):
        said = list(SAID[option][:6])
        options = {"known": said, "only_known": True} if option == "only_known" else {option: said}
        return mixture_of(NORMAL.family, NORMAL.X[:6], measure, **options)

    return Items(6, {"x": NORMAL}, make, option=option, said=SAID[option])


def rows(*columns):
    return np.column_stack(np.broadcast_arrays(1.0, *columns))


W, TIMES = np.append(cases.W, [0.7, 3.2]), np.append(cases.TIME, [0.5, 3.0])
AGES, VISITS, NEW = np.append(cases.AGE, [0.3, 1.2]), np.append(cases.PATIENTS, [4, 5]), [1.4, -1.2]
OF_CURVE = {
    "w": Part(OF_W, W, np.arange(7)),
    "y": Part(LINE._replace(covariates=rows(W)), np.append(cases.Y, NEW), np.arange(7)),
}
OF_VISITS = {
    "age": Part(OF_AGE, AGES, np.arange(6)),
    "y": Part(PLANE._replace(covariates=rows(AGES[VISITS], TIMES)), np.append(cases.RESPONSE, NEW), VISITS),
}
ALL = {
    **{name: of_case(name) for name in CASES},
    "two mixtures": Items(3, TWO, two_mixtures),
    "one of two": Items(3, TWO | {"y": Part(TWO["y"].family, TWO["y"].X[:3], np.arange(3))}, two_mixtures),
    **{option: constrained(option) for option in SAID},
    "a curve": Items(5, OF_CURVE, cases.joint_model, given={"w": W[5:]}),
    "visits": Items(4, OF_VISITS, cases.visits_model, given={"age": AGES[4:], "time": TIMES[5:]}),
}
SLOW = [
    pytest.param(name, marks=() if name in (*FAST, *SAID, "two mixtures", "one of two") else pytest.mark.slow)
    for name in ALL
]


def model_and_draws(case, measure):
    """Model, some of the partitions of its items, and a result that has them as draws."""
    partitions = law(case, measure, range(case.n))[0]
    partitions = partitions[:: 1 + len(partitions) // 20]
    return case.make(measure), partitions, draws_of(partitions)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("name", SLOW)
def test_density_of_new_items(name, measure):
    case, measure = ALL[name], MEASURES[measure]
    model, draws, idata = model_and_draws(case, measure)
    new = {name: part.X[part.items >= case.n] for name, part in case.parts.items() if name not in case.given}
    # Data of mixtures may be omitted.
    new = {name: X for name, X in new.items() if X.shape[0]}
    options = {"given": case.given} if case.given else {}
    one_by_one = [idata.isel(draw=[s], missing_dims="ignore") for s in range(len(draws))]
    found = np.array([nrm.log_predictive_density(one, model, new, **options) for one in one_by_one])
    log_weights = np.zeros(found.shape)
    of_given = case._replace(parts={name: part for name, part in case.parts.items() if name in case.given}, given={})
    for k in range(found.shape[1]):
        items = [*range(case.n), case.n + k]
        expected = log_densities(case, measure, items, items[-1], draws)
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-9, atol=1e-9)
        if case.given:
            log_weights[:, k] = log_densities(of_given, measure, items, items[-1], draws)
    # The law of an item of which some data are given as new weighs draws by their density.
    mean = nrm.log_predictive_density(idata, model, new, **options)
    np.testing.assert_allclose(mean, logsumexp(found + log_weights, axis=0) - logsumexp(log_weights, axis=0), rtol=1e-9)
    if len(new) == 1:
        [(name, X)] = new.items()
        on_grid = nrm.predictive_density(idata, model, X, var_name=name, **options)
        density = on_grid.density.values[0]
        if case.given:
            np.testing.assert_allclose(on_grid.log_density_of_given.values[0], log_weights, atol=1e-9)
            density = np.diagonal(density, axis1=1, axis2=2)
        np.testing.assert_allclose(np.log(density), found, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("name", SLOW)
def test_items_left_out(name, measure):
    """With all their data, but what is said of them stays: a known label, or others that share the cluster."""
    case, measure = ALL[name]._replace(given={}), MEASURES[measure]
    model, draws, idata = model_and_draws(case, measure)
    options = {"var_name": "z"} if len(case.parts) > 1 else {}
    found = nrm.compute_log_likelihood(idata, model, extend_inferencedata=False, **options)
    [values] = found.data_vars.values()
    for item in range(case.n):
        expected = log_densities(case, measure, list(range(case.n)), item, without(draws, item))
        np.testing.assert_allclose(values[0, :, item], expected, rtol=1e-9, atol=1e-9)
    if len(case.parts) > 1:
        with pytest.raises(ValueError, match=r"shares partition 'z' with .*var_name='z'"):
            nrm.compute_log_likelihood(idata, model, var_name=next(iter(case.parts)))


MATES = ("NormalGamma, missing", "PoissonGamma", "CategoricalDirichlet", "MultinomialDirichlet, sparse")


@pytest.mark.parametrize("name", [row for row in SLOW if row.values[0] in MATES])
def test_clusters_of_new_items_are_those_of_a_random_mate(name):
    case, measure, estimate = ALL[name], MEASURES["NGG"], np.array([0, 1, 1, 0])
    draws = all_partitions(4)[[0, 3, 3, 9, 14]]
    new = case.parts["x"].X[case.n :]
    predicted = nrm.cluster_probabilities(draws_of(draws), case.make(measure), new, estimate)
    for k in range(new.shape[0]):
        longer, log_p = law(case, measure, [*range(4), 4 + k])
        expected = np.zeros(3)
        for labels in draws:
            places = np.flatnonzero((longer[:, :4] == labels).all(axis=1))
            p = np.exp(log_p[places] - logsumexp(log_p[places])) / len(draws)
            for place, probability in zip(places, p, strict=True):
                mates = estimate[longer[place, :4] == longer[place, 4]]
                expected += probability * np.bincount(mates if len(mates) else [2], minlength=3) / max(len(mates), 1)
        np.testing.assert_allclose(predicted.probability[k], expected[:2], atol=1e-10)
        assert predicted.new_cluster_probability[k].item() == pytest.approx(expected[2])
        assert predicted.labels[k] == (0, 1, -1)[np.argmax(expected)]
