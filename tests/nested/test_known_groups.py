"""Known groups: their labels, what models refuse, sampling with NUTS, and summaries of components."""

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from helpers import refused

import pymc_nrm as nrm
from pymc_nrm.partitions.nested_levels import canonical_paths

X = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 0, 0]])
GROUPS = ["b", "a", "b", "c", "a"]
FAMILY = nrm.BernoulliBeta(0.6, 0.6)
OPTIONS = {"draws": 50, "tune": 50, "chains": 2, "cores": 1, "random_seed": 1, "progressbar": False}


def make_model(groups=GROUPS, **kwargs):
    with pm.Model(coords={"item": range(len(groups))}) as model:
        weights = nrm.HierarchicalDirichletProcess(pm.Gamma("gamma", 2, 2), pm.Gamma("gamma_0", 2, 2))
        h = nrm.NestedPartition("h", weights=weights, paths=groups, dims="item", **kwargs)
        nrm.Mixture("x", h, FAMILY, observed=X[: len(groups)])
    return model


@pytest.fixture(scope="module")
def idata():
    with make_model():
        return nrm.sample(**OPTIONS)


@pytest.mark.slow
def test_components_are_a_flat_partition(idata):
    components = idata.posterior["h_components"]
    np.testing.assert_array_equal(components, idata.posterior["h"][..., -1])
    xr.testing.assert_identical(components, nrm.component_draws(idata))
    assert nrm.point_estimate(idata, random_seed=1).labels.dims == ("item",)
    assert nrm.similarity(idata).shape == (5, 5)
    assert set(idata["partition_stats"].children) == {"h", "h_components"}
    assert {"h_components[n_clusters]", "h_components[entropy]"} <= set(nrm.summary(idata).index)
    assert "h_components_n_clusters" in nrm.without_labels(idata).posterior
    with make_model():
        replicated = pm.sample_posterior_predictive(idata, random_seed=1, progressbar=False)
    assert replicated.posterior_predictive["x"].shape == (2, 50, 5, 3)


def test_starts():
    start = [[0, 0, 0], [1, 1, 1], [0, 2, 1], [2, 3, 0], [1, 1, 1]]
    model = make_model(initval=start)
    assert model.initial_point()["h"].tolist() == start
    assert np.isfinite(model.compile_logp()(model.initial_point()))
    with pytest.raises(ValueError, match=r"initvals\['h'\] must have the known tree"), make_model():
        nrm.sample(**OPTIONS, quiet=True, initvals={"h": [[0], [0], [0], [0], [1]]})


@pytest.mark.slow
def test_known_tables():
    """Those of an observed variable predict as those of a draw."""
    groups, value, rows = ["a", "a", "b"], np.array([[0, 0, 0], [0, 1, 1], [1, 2, 1]]), X[:3]
    densities = []
    for gamma, observed in ((pm.Gamma, value), (lambda name, *_: 0.4, None)):
        with pm.Model() as model:
            weights = nrm.HierarchicalDirichletProcess(gamma("gamma", 2, 2), 1.5)
            h = nrm.NestedPartition("h", weights=weights, paths=groups, observed=observed)
            nrm.Mixture("x", h, FAMILY, observed=rows)
        draws = {"gamma": (("chain", "draw"), [[0.4]]), "h": (("chain", "draw", "item", "h_column"), value[None, None])}
        draws = xr.Dataset({name: draws[name] for name in (["h"] if observed is None else ["gamma"])})
        densities.append(nrm.log_predictive_density(draws, model, X[3:], new_paths=["b", "c"]))
        assert nrm.cluster_probabilities(draws, model, X[3:], new_paths=["b"]).probability.shape == (2, 2)
    np.testing.assert_allclose(*densities, rtol=1e-12)


def test_what_is_refused_elsewhere():
    with make_model() as model:
        with pytest.raises(ValueError, match="must be a NestedPartition with a random tree; that of 'h' is known"):
            nrm.published.PublishedNestedGibbs([model["h"]], corrected=True)
        with pytest.raises(TypeError, match="must be a NestedPartition without weights"):
            nrm.Mixture("y", model["h"], nrm.NormalDiffusion(np.zeros(3), 1.0, np.eye(3), 5.0), observed=X)
    with pytest.raises(ValueError, match="n of a NestedPartition|one row for each of the 4 items"):
        nrm.NestedPartition.dist(weights=nrm.HierarchicalDirichletProcess(1.0, 1.0), paths=GROUPS, n=4)


def test_labels_of_groups():
    names = [["b", 7], ["a", 7], ["b", 3], ["a", 7]]
    expected = [[0, 0], [1, 1], [0, 2], [1, 1]]
    table = pd.DataFrame(names, columns=["site", "plot"]).astype({"site": "category"})
    for labels in (names, np.array(names), table):
        paths, nodes = canonical_paths("paths", labels)
        assert paths.tolist() == expected
        assert [[parent for parent, _ in level] for level in nodes] == [[0, 0], [0, 1, 0]]
    one, nodes = canonical_paths("paths", table["site"])
    assert one.tolist() == [[0], [1], [0], [1]]
    assert nodes == (((0, "b"), (0, "a")),)
    assert canonical_paths("paths", [True, False, True])[0].tolist() == [[0], [1], [0]]
    assert canonical_paths("paths", np.array([2.0, 5.0]))[0].tolist() == [[0], [1]]
    assert canonical_paths("new_paths", ["c", "a", "c"], nodes)[0].tolist() == [[2], [1], [2]]


test_wrong_labels_of_groups = refused(
    lambda labels: canonical_paths("paths", labels),
    (["a", None], ValueError, "paths must have no missing labels; 1 of 2 are missing"),
    ([0.0, np.nan], ValueError, "1 of 2 are missing"),
    (pd.array([1, None], dtype="Int64"), ValueError, "1 of 2 are missing"),
    (np.ma.masked_array([1, 2], [False, True]), ValueError, "1 of 2 are missing"),
    ([0.5, 1.0], TypeError, "paths must be whole numbers or strings; got 0.5 of type float"),
    ([[0, 1], [0]], TypeError, r"got \[0, 1\] of type list"),
    ("abc", ValueError, r"paths must have shape \(n,\) or \(n, depth\), with at least one item; got shape \(\)"),
    ([], ValueError, "at least one item"),
    (np.zeros((2, 2, 2), dtype=int), ValueError, r"got shape \(2, 2, 2\)"),
    (pt.lvector("groups"), TypeError, "paths must be an array of labels, which are known; got groups"),
)


@pytest.mark.parametrize("labels", [["a", "b"], [["a", "b", "c"]]])
def test_further_labels_have_as_many_levels(labels):
    _, nodes = canonical_paths("paths", [["a", "b"]])
    with pytest.raises(ValueError, match=r"new_paths must have shape \(n, 2\)"):
        canonical_paths("new_paths", labels, nodes)
