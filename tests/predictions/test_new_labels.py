"""Labels of further items before their data are seen, against ratios of partition probabilities and closed forms."""

from itertools import product

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy.special import poch

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from tests.cases import MEASURES
from tests.helpers import refused, result_of, seeded

SPECIES = ["oak", "oak", "elm", "oak", "ash"]


def observed(measure, labels, **options):
    with pm.Model() as model:
        nrm.Partition("z", measure, observed=labels, **options)
    return model


def constant_draws(n, **further):
    """Draws of a model without sampled variables that its new labels depend on."""
    return result_of(unused=np.zeros((1, n)), **further)


def drawn(idata, model, new_items, seed):
    result = nrm.sample_new_labels(idata, model, new_items=new_items, random_seed=seed, progressbar=False)
    return result["predictions"]["z"].values[0], result["predictions"]["z_n_new_clusters"].values[0]


def law(measure, sizes, n_new):
    """Possible labels of new items, with their probabilities given clusters of some sizes."""
    k, p = len(sizes), {}
    for labels in product(range(k + n_new), repeat=n_new):
        new = [label for label in labels if label >= k]
        if list(dict.fromkeys(new)) == list(range(k, k + len(set(new)))):
            counts = np.bincount(labels, minlength=k) + np.append(sizes, np.zeros(max(max(labels) + 1 - k, 0), int))
            p[labels] = np.exp(log_eppf(measure, counts) - log_eppf(measure, np.array(sizes)))
    return p


@pytest.mark.parametrize("name", MEASURES)
def test_labels_of_new_items_have_the_law_of_the_urn(name):
    n, measure = 3000, MEASURES[name]
    labels, n_new_clusters = drawn(constant_draws(n), observed(measure, SPECIES), 3, seeded(name))
    p = law(measure, [3, 1, 1], 3)
    assert sum(p.values()) == pytest.approx(1.0, abs=1e-6)
    assert {tuple(row) for row in labels.tolist()} <= set(p)
    for row, probability in p.items():
        share = (labels == row).all(axis=1).mean()
        assert abs(share - probability) <= 4.5 * np.sqrt(probability * (1 - probability) / n) + 1e-9, (row, share)
    np.testing.assert_array_equal(n_new_clusters, np.maximum(labels.max(axis=1) - 2, 0))


def numbers_of_new_species(sigma, theta, n, k, m):
    """Probabilities of 0, ..., m new species among m items, by the rule of the Pitman-Yor process, item by item."""
    p = np.zeros(m + 1)
    p[0] = 1.0
    for item in range(m):
        opens = (theta + sigma * (k + np.arange(m + 1))) / (theta + n + item)
        p = p * (1 - opens) + np.append(0.0, (p * opens)[:-1])
    return p


@pytest.mark.parametrize(("sigma", "theta"), [(0.4, 3.0), (0.0, 2.0), (0.7, -0.2)])
def test_new_species_of_the_pitman_yor_process(sigma, theta):
    """Their number, and its mean by the formula of Favaro, Lijoi, Mena & Prünster (2009)."""
    n_draws, m, n, k = 1500, 25, 5, 3
    p = numbers_of_new_species(sigma, theta, n, k, m)
    mean = p @ np.arange(m + 1)
    if sigma > 0:
        formula = (k + theta / sigma) * (poch(theta + n + sigma, m) / poch(theta + n, m) - 1)
        assert mean == pytest.approx(formula, rel=1e-10)
    measure = nrm.PitmanYorProcess(discount=sigma, concentration=theta)
    _, found = drawn(constant_draws(n_draws), observed(measure, SPECIES), m, seeded("species", sigma))
    shares = np.bincount(found, minlength=m + 1) / n_draws
    assert (abs(shares - p) <= 4.5 * np.sqrt(p * (1 - p) / n_draws) + 1e-3).all()
    error = np.sqrt((p @ np.arange(m + 1) ** 2 - mean**2) / n_draws)
    assert abs(found.mean() - mean) <= 4.5 * error


def test_every_draw_has_hyperparameters_and_clusters_of_its_own():
    """Alternating draws of a sampled partition; a concentration near 0 or very large."""
    with pm.Model(coords={"tree": list("abc")}) as model:
        alpha = pm.Gamma("alpha", 1, 1)
        nrm.Partition("z", nrm.DirichletProcess(alpha), dims="tree")
    z = xr.DataArray([[[0, 0, 0], [0, 1, 2]]], dims=("chain", "draw", "tree"), coords={"tree": list("abc")})
    posterior = xr.Dataset({"z": z, "alpha": (("chain", "draw"), [[1e-9, 1e9]])})
    result = nrm.sample_new_labels(posterior, model, new_items=4, random_seed=1, progressbar=False)["predictions"]
    assert result["z"].dims == ("chain", "draw", "new_tree")
    assert result["z"].values.tolist() == [[[0, 0, 0, 0], [3, 4, 5, 6]]]
    assert result["z_n_new_clusters"].values.tolist() == [[0, 4]]


@pytest.mark.parametrize(
    ("options", "sizes"),
    [({"together": [1, 1, 2, 1, 3]}, [1, 1, 1]), ({"known": ["a", "a", None, "a", "b"]}, [3, 1, 1])],
)
def test_groups_count_once_and_known_items_each(options, sizes):
    n, measure = 3000, MEASURES["PY"]
    with pm.Model() as model:
        nrm.Partition("z", measure, **options)
    idata = constant_draws(n, z=np.tile([0, 0, 1, 0, 2], (1, n, 1)))
    labels, _ = drawn(idata, model, 2, seeded(*options))
    for row, p in law(measure, sizes, 2).items():
        assert abs((labels == row).all(axis=1).mean() - p) <= 4.5 * np.sqrt(p * (1 - p) / n) + 1e-9


def slots():
    with pm.Model() as model:
        nrm.Partition("z", nrm.DirichletProcess(1.0), n=5, max_clusters=4)
    return model


test_what_is_refused = refused(
    lambda model, options: nrm.sample_new_labels(
        constant_draws(2, z=np.zeros((1, 2, 5), int)), model(), progressbar=False, **options
    ),
    (
        lambda: observed(MEASURES["DP"], SPECIES),
        {"new_items": 0},
        "new_items must be a whole number of at least 1; got 0",
    ),
    (lambda: observed(MEASURES["DP"], SPECIES), {}, "new_items must be given, .* since 'z' has no slots"),
    (
        lambda: observed(MEASURES["DP"], SPECIES),
        {"new_items": 2, "known": ["y"]},
        "known must be None or .. with new_items",
    ),
    (slots, {"new_items": 2}, "new_items must be None for Partition 'z', whose labels index parameters"),
)
