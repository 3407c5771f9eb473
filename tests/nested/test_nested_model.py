"""Models with nested partitions, their trees random or known groups: what is refused, draws, and sampling with NUTS."""

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.measures.prediction_rules import Levels
from pymc_nrm.models.default_start import is_default_start
from pymc_nrm.nested.partitions.nested_levels import KnownPaths, log_nested_prior, log_path_prior
from pymc_nrm.partitions.user_labels import canonical_paths
from pymc_nrm.testing import mean_and_error
from tests.helpers import refused
from tests.nested.enumerated_posterior import all_values, values_along

X = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 0, 0]])
Y = np.array([[0.0, 0.4], [0.3, 0.1], [4.0, 4.2], [4.4, 3.9], [9.1, 0.2]])


HDP = nrm.nested.HierarchicalDirichletProcess
GROUPS, GROUPS_OF_GROUPS = ["b", "a", "b", "c", "a"], [["a", 0], ["b", 0], ["a", 1], ["a", 0], ["b", 0]]


def make_model(kind, n=5, is_learned=True, **options):
    """A model of the first items, whose tree is random, known, or that of a tree family, with random concentrations."""

    def random(name, fixed):
        return pm.Gamma(name, 2, 2) if is_learned else fixed

    with pm.Model(coords={"item": range(n)}) as model:
        if kind == "tree family":
            h = nrm.nested.NestedPartition("h", nrm.DirichletProcess(random("alpha", 0.8)), 2, dims="item")
            family = nrm.nested.NormalDiffusion(Y.mean(axis=0), random("tau", 1.3), np.eye(2), 4.0)
            nrm.Mixture("x", h, family, observed=Y[:n])
            return model
        weights = HDP(random("gamma", [0.4, 0.9]), random("gamma_0", 1.5))
        if kind == "known paths":
            paths = (GROUPS if is_learned else GROUPS_OF_GROUPS)[:n]
            h = nrm.nested.NestedPartition("h", weights=weights, paths=paths, dims="item", **options)
        else:
            measure = (
                nrm.DirichletProcess(random("alpha", 0.8)) if is_learned else nrm.PitmanYorProcess([0.2, 0.3], 0.5)
            )
            h = nrm.nested.NestedPartition("h", measure, 2, weights, dims="item", **options)
        nrm.Mixture("x", h, nrm.BernoulliBeta(0.6, 0.6), observed=X[:n])
    return model


@pytest.mark.slow
def test_forward_draws():
    model = make_model("random paths")
    assert model.named_vars_to_dims["h"] == ("item", "h_column")
    assert list(model.coords["h_column"]) == ["level_1", "level_2", "table_2", "table_1", "table_0"]
    n_nodes, n_components, h = pm.draw([model["h_n_nodes"], model["h_n_components"], model["h"]], 5, random_seed=1)
    assert h.shape == (5, 5, 5)
    assert n_nodes.tolist() == (h[..., :2].max(axis=1) + 1).tolist()
    assert n_components.tolist() == (h[..., -1].max(axis=1) + 1).tolist()
    with model:
        prior = pm.sample_prior_predictive(3, random_seed=1)
    assert prior.prior_predictive["x"].shape == (1, 3, 5, 3)
    assert is_default_start(model.initial_point()["h"])
    assert pm.draw(make_model("tree family")["x"], random_seed=1).shape == (5, 2)


@pytest.mark.parametrize("columns", [[-1, 0], [1, 0], [0, 1], [0, 5]])
def test_paths_that_are_set_must_be_those_of_a_tree(columns):
    done = pm.do(make_model("tree family"), {"h": np.column_stack([np.zeros((5, 1), dtype=int) + c for c in columns])})
    with pytest.raises(ValueError, match=r"^labels 'h' of a NestedPartition must be nested, and each column numbered"):
        done.compile_logp(mode="FAST_COMPILE")(done.initial_point())
    with pytest.raises(ValueError, match=r"^labels of a NestedPartition must be nested"):
        pm.draw(done["x"], mode="FAST_COMPILE")


KINDS = ["random paths", "known paths", "tree family"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_log_joint_is_that_of_the_model(kind):
    model = make_model(kind, is_learned=False)
    with model:
        step = nrm.nested.NestedGibbs([model["h"]], rng=1, n_moves=2)
    log_p = model.compile_logp()
    point = model.initial_point()
    step.setup_chain(np.random.default_rng(1), 0, 20)
    for _ in range(20):
        point, [stats] = step.step(point)
        assert stats["log_joint"] == pytest.approx(log_p(point), abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("has_known_paths", [False, True])
def test_alone_it_samples_its_prior(has_known_paths):
    alpha, gammas, paths = np.array([0.7, 1.3]), np.array([1.5, 0.4]), np.array([[0], [1], [0]])
    with pm.Model() as model:
        if has_known_paths:
            weights = nrm.nested.HierarchicalDirichletProcess(0.4, 1.5)
            t = nrm.nested.NestedPartition("t", weights=weights, paths=["a", "b", "a"], n=3)
            values = values_along(paths)
            log_p = [log_nested_prior(KnownPaths(paths), gammas, value) for value in values]
        else:
            t = nrm.nested.NestedPartition("t", nrm.DirichletProcess(alpha), 2, n=3)
            values = all_values(3, 2, False)
            log_p = [log_path_prior(Levels(alpha, np.zeros(2)), value) for value in values]
        step = nrm.nested.NestedGibbs([t], rng=1)
    step.setup_chain(np.random.default_rng(1), 0, 4000)
    point, draws = model.initial_point(), []
    for _ in range(4000):
        point, _ = step.step(point)
        draws.append(point["t"])
    mean, error, _ = mean_and_error((np.array(draws)[:, None] == values).all(axis=(2, 3))[None])
    assert (np.abs(mean - np.exp(log_p)) < 5 * error).all()


@pytest.mark.quick("random paths")
@pytest.mark.parametrize("kind", KINDS)
def test_one_item(kind):
    model = make_model(kind, 1, is_learned=False)
    with model:
        step = nrm.nested.NestedGibbs([model["h"]], rng=1)
    point, [stats] = step.step(model.initial_point())
    assert (point["h"] == 0).all()
    assert stats["n_nodes"] == 2


@pytest.mark.slow
def test_starts_and_observed_trees():
    model = make_model("random paths", initval=[[7, 1], [7, 2], [7, 1], [3, 1], [3, 1]])
    start = model.initial_point()["h"]
    assert start[:, :2].tolist() == [[0, 0], [0, 1], [0, 0], [1, 2], [1, 2]]
    assert np.isfinite(model.compile_logp()(model.initial_point()))
    with pm.Model() as model:
        t = nrm.nested.NestedPartition("t", nrm.DirichletProcess(pm.Gamma("alpha", 2, 2)), 1, observed=[[0], [0], [5]])
        nrm.Mixture("y", t, nrm.nested.IndependentNormalDiffusion(0.0, 1.0, 2.0, 1.0), observed=Y[:3])
    assert model.rvs_to_values[t].eval().tolist() == [[0], [0], [1]]
    assert np.isfinite(model.compile_logp()(model.initial_point()))


TREE = {"measure": nrm.DirichletProcess(1.0), "depth": 2, "n": 3}
PATHS = {"paths": ["b", "a", "b", "c", "a"], "weights": nrm.nested.HierarchicalDirichletProcess(1.0, 1.0)}


test_errors = refused(
    lambda arguments: nrm.nested.NestedPartition("h", **(arguments if "paths" in arguments else TREE | arguments)),
    # With a random tree.
    ({"depth": 0}, ValueError, "depth of NestedPartition 'h' must be a whole number between 1 and 100; got 0"),
    ({"depth": 1.5}, ValueError, "depth of NestedPartition 'h' must be a whole number"),
    ({"measure": nrm.NormalizedInverseGaussian(1.0)}, TypeError, "must be DirichletProcess"),
    ({"measure": 0.3}, TypeError, "must be DirichletProcess"),
    ({"measure": nrm.DirichletProcess([0.3, 0.2, 0.1])}, ValueError, r"shape \(2,\); got shape \(3,\)"),
    ({"measure": nrm.DirichletProcess([0.3, -0.2])}, ValueError, r"above 0; got -0.2 at position \(1,\)"),
    ({"measure": nrm.PitmanYorProcess(0.5, [0.3, -0.6])}, ValueError, "concentration of PitmanYorProcess"),
    ({"weights": 1.0}, TypeError, r"weights .* must be HierarchicalDirichletProcess\(...\) or None; got 1.0"),
    ({"weights": nrm.nested.HierarchicalDirichletProcess(1.0, [1.0, 2.0])}, ValueError, "gamma_0 .* must be a scalar;"),
    ({"weights": nrm.nested.HierarchicalDirichletProcess(0.0, 1.0)}, ValueError, "gamma .* above 0; got 0.0"),
    ({"n": None}, ValueError, "n of NestedPartition 'h', the number of items, must be given"),
    ({"n": 0}, ValueError, "n of NestedPartition 'h'"),
    ({"shape": (3, 2)}, ValueError, "NestedPartition does not take shape"),
    ({"initval": [[0, 0, 0]] * 3}, ValueError, r"initval .* must have shape \(3, 2\); got shape \(3, 3\)"),
    (
        {"initval": [[0, 0, 0], [1, 0, 0], [1, 1, 0]], "weights": HDP(1.0, 1.0), "depth": 1},
        ValueError,
        "items that share table_1 must share level_1",
    ),
    ({"initval": [[0.5, 0], [0, 0], [0, 0]]}, ValueError, "initval .* whole numbers"),
    ({"measure": None}, TypeError, "measure of a NestedPartition must be DirichletProcess"),
    ({"depth": None}, ValueError, "depth of NestedPartition 'h' must be a whole number"),
    # With a known tree.
    (PATHS | {"measure": nrm.DirichletProcess(1.0)}, ValueError, "measure of NestedPartition 'h' must be omitted"),
    (PATHS | {"depth": 1}, ValueError, "depth of NestedPartition 'h' must be omitted if paths .*; got 1"),
    (PATHS | {"weights": None}, ValueError, r"weights of NestedPartition 'h' must be HierarchicalDirichletProcess"),
    (PATHS | {"weights": 2.0}, TypeError, "weights .* must be HierarchicalDirichletProcess"),
    (PATHS | {"weights": HDP([1.0, 1.0], 1.0)}, ValueError, r"shape \(1,\); got shape \(2,\)"),
    (PATHS | {"n": 4}, ValueError, "paths of .* 'h' must have one row for each of the 4 items; got 5 rows"),
    (PATHS | {"dims": "animal"}, ValueError, "paths of .* 'h' must have one row for each of the 3 items"),
    (
        PATHS | {"paths": ["a", None, "b"]},
        ValueError,
        "paths of .* 'h' must have no missing labels; got 1 missing of 3",
    ),
    (PATHS | {"initval": [[0]] * 4 + [[1]]}, ValueError, "initval .* must have the known tree of paths"),
    (PATHS | {"observed": [[0]] * 4 + [[1]]}, ValueError, "observed .* must have the known tree of paths"),
    within=lambda: pm.Model(coords={"animal": range(3)}),
)


def test_families_must_fit():
    diffusion = nrm.nested.NormalDiffusion(np.zeros(2), 1.0, np.eye(2), 4.0)
    wishart = nrm.NormalWishart(np.zeros(2), 1.0, np.eye(2), 4.0)
    with pm.Model():
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=5)
        t = nrm.nested.NestedPartition("t", nrm.DirichletProcess(1.0), 2, n=5)
        h = nrm.nested.NestedPartition(
            "h", nrm.DirichletProcess(1.0), 2, nrm.nested.HierarchicalDirichletProcess(1.0, 1.0), n=5
        )
        with pytest.raises(TypeError, match="must be a tree family .*'t' needs weights"):
            nrm.Mixture("a", t, wishart, observed=Y)
        for partition in (z, h):
            with pytest.raises(TypeError, match="must be a NestedPartition without weights"):
                nrm.Mixture("b", partition, diffusion, observed=Y)
        with pytest.raises(ValueError, match="one row for each of the 5 items"):
            nrm.Mixture("c", h, wishart, observed=Y[:4])
        with pytest.raises(ValueError, match="tau of NormalDiffusion"):
            nrm.Mixture("d", t, diffusion._replace(tau=[1.0, 2.0]), observed=Y)
        nrm.Mixture("e", t, diffusion, observed=Y)
        nrm.Mixture("f", t, diffusion, observed=Y)
        with pytest.raises(ValueError, match="at most one Mixture with a tree family"):
            nrm.nested.NestedGibbs([t])
        with pytest.raises(TypeError, match="'z' is not a NestedPartition"):
            nrm.nested.NestedGibbs([z])
        with pytest.raises(TypeError, match="'h' is not a Partition"):
            nrm.steps.MarginalGibbs([h])
        pm.Normal("other", h[:, 0].sum())
        with pytest.raises(ValueError, match="'other' must not depend on .*nested partition 'h'"):
            nrm.nested.NestedGibbs([h])


SHORT = {"draws": 50, "tune": 50, "chains": 2, "cores": 1, "random_seed": 1, "progressbar": False}


@pytest.fixture(scope="module")
def idata():
    with make_model("known paths"):
        return nrm.sample(**SHORT)


@pytest.mark.slow
def test_components_are_a_flat_partition(idata):
    components = idata.posterior["h_components"]
    np.testing.assert_array_equal(components, idata.posterior["h"][..., -1])
    xr.testing.assert_identical(components, nrm.stats.component_draws(idata))
    assert nrm.point_estimate(idata, random_seed=1).labels.dims == ("item",)
    assert nrm.similarity(idata).shape == (5, 5)
    assert set(idata["partition_stats"].children) == {"h", "h_components"}
    assert {"h_components[n_clusters]", "h_components[entropy]"} <= set(nrm.summary(idata).index)
    assert "h_components_n_clusters" in nrm.stats.without_labels(idata).posterior
    with make_model("known paths"):
        replicated = pm.sample_posterior_predictive(idata, random_seed=1, progressbar=False)
    assert replicated.posterior_predictive["x"].shape == (2, 50, 5, 3)


def test_starts():
    start = [[0, 0, 0], [1, 1, 1], [0, 2, 1], [2, 3, 0], [1, 1, 1]]
    model = make_model("known paths", initval=start)
    assert model.initial_point()["h"].tolist() == start
    assert np.isfinite(model.compile_logp()(model.initial_point()))
    with pytest.raises(ValueError, match=r"initvals\['h'\] must have the known tree"), make_model("known paths"):
        nrm.sample(**SHORT, quiet=True, initvals={"h": [[0], [0], [0], [0], [1]]})


@pytest.mark.slow
def test_known_tables():
    """Those of an observed variable predict as those of a draw."""
    groups, value, rows = ["a", "a", "b"], np.array([[0, 0, 0], [0, 1, 1], [1, 2, 1]]), X[:3]
    densities = []
    for gamma, observed in ((pm.Gamma, value), (lambda name, *_: 0.4, None)):
        with pm.Model() as model:
            weights = nrm.nested.HierarchicalDirichletProcess(gamma("gamma", 2, 2), 1.5)
            h = nrm.nested.NestedPartition("h", weights=weights, paths=groups, observed=observed)
            nrm.Mixture("x", h, nrm.BernoulliBeta(0.6, 0.6), observed=rows)
        draws = {"gamma": (("chain", "draw"), [[0.4]]), "h": (("chain", "draw", "item", "h_column"), value[None, None])}
        draws = xr.Dataset({name: draws[name] for name in (["h"] if observed is None else ["gamma"])})
        densities.append(nrm.log_predictive_density(draws, model, X[3:], new_paths=["b", "c"]))
        assert nrm.cluster_probabilities(draws, model, X[3:], new_paths=["b"]).probability.shape == (2, 2)
    np.testing.assert_allclose(*densities, rtol=1e-12)


def test_what_is_refused_elsewhere():
    with make_model("known paths") as model, pytest.raises(TypeError, match="a NestedPartition without weights"):
        nrm.Mixture("y", model["h"], nrm.nested.NormalDiffusion(np.zeros(3), 1.0, np.eye(3), 5.0), observed=X)
    with pytest.raises(ValueError, match="n of a NestedPartition|one row for each of the 4 items"):
        nrm.nested.NestedPartition.dist(weights=nrm.nested.HierarchicalDirichletProcess(1.0, 1.0), paths=GROUPS, n=4)


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
    (["a", None], ValueError, "paths must have no missing labels; got 1 missing of 2"),
    ([0.0, np.nan], ValueError, "got 1 missing of 2"),
    (pd.array([1, None], dtype="Int64"), ValueError, "got 1 missing of 2"),
    (np.ma.masked_array([1, 2], [False, True]), ValueError, "got 1 missing of 2"),
    ([0.5, 1.0], TypeError, "paths must be whole numbers or strings; got 0.5 of type float"),
    ([[0, 1], [0]], TypeError, r"got \[0, 1\] of type list"),
    ("abc", ValueError, r"paths must have shape \(n,\) or \(n, depth\), with at least one item; got shape \(\)"),
    ([], ValueError, "at least one item"),
    (np.zeros((2, 2, 2), dtype=int), ValueError, r"got shape \(2, 2, 2\)"),
    (pt.lvector("groups"), TypeError, "paths must be an array of known labels; got groups"),
)


@pytest.mark.parametrize("labels", [["a", "b"], [["a", "b", "c"]]])
def test_further_labels_have_as_many_levels(labels):
    _, nodes = canonical_paths("paths", [["a", "b"]])
    with pytest.raises(ValueError, match=r"new_paths must have shape \(n, 2\)"):
        canonical_paths("new_paths", labels, nodes)
