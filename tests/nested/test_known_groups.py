"""Models with known groups: what is refused, sampling with NUTS, summaries of components, and predictions."""

import functools

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from enumeration import all_values

import pymc_nrm as nrm
from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.partitions.nested_laws.known_paths import KnownPaths, canonical_paths
from pymc_nrm.partitions.nested_laws.prior import log_nested_prior
from pymc_nrm.testing import kernel_inputs, mean_and_error

X = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 0, 0]])
GROUPS = ["b", "a", "b", "c", "a"]
NESTED = [["a", 0], ["a", 1], ["b", 0]]
GAMMAS = np.array([1.5, 0.4, 0.9])
FAMILY = nrm.BernoulliBeta(0.6, 0.6)
OPTIONS = {"draws": 100, "tune": 100, "chains": 2, "cores": 1, "random_seed": 1, "progressbar": False}


def make_model(groups=GROUPS, **kwargs):
    with pm.Model(coords={"item": range(len(groups))}) as model:
        weights = nrm.HierarchicalDirichletProcess(pm.Gamma("gamma", 2, 2), pm.Gamma("gamma_0", 2, 2))
        h = nrm.NestedPartition("h", weights=weights, paths=groups, dims="item", **kwargs)
        nrm.Mixture("x", h, FAMILY, observed=X[: len(groups)])
    return model


def fixed_model(groups, rows):
    with pm.Model() as model:
        depth = np.ndim(groups)
        h = nrm.NestedPartition("h", weights=nrm.HierarchicalDirichletProcess(GAMMAS[1 : depth + 1], 1.5), paths=groups)
        nrm.Mixture("x", h, FAMILY, observed=rows)
    return model


def log_prior(groups, value):
    paths, _ = canonical_paths("groups", groups)
    return log_nested_prior(KnownPaths(paths), GAMMAS[: paths.shape[1] + 1].copy(), value)


def log_joint(groups, value, rows):
    """Log joint density of tables and data."""
    own, data = kernel_inputs(FAMILY, rows)
    total = log_prior(groups, value)
    for label in set(value[:, -1]):
        row = np.zeros(statistics_size(own))
        for item in np.flatnonzero(value[:, -1] == label):
            add_item(own, row, data, item, 1.0)
        total += log_marginal(own, row)
    return total


@functools.cache
def every_value(n, depth):
    return all_values(n, depth, True)


def values_of(groups):
    paths, _ = canonical_paths("groups", groups)
    values = every_value(*paths.shape)
    return values[(values[:, :, : paths.shape[1]] == paths).all(axis=(1, 2))]


def extensions(groups, value, new_group):
    """Groups with one more item, and all values that agree with a value of the others."""
    longer = [*groups, new_group]
    values = values_of(longer)
    return longer, values[(values[:, :-1] == value).all(axis=(1, 2))]


def posterior(values):
    return xr.Dataset({"h": (("chain", "draw", "item", "h_column"), np.asarray(values)[None])})


CASES = {
    "one level": (["a", "a", "b"], ["b", "z"]),
    "two levels": (NESTED, [["a", 1], ["a", 7], ["z", 0]]),
}


@pytest.fixture(scope="module")
def idata():
    with make_model():
        return nrm.sample(**OPTIONS)


def test_sampling_keeps_the_groups(idata):
    h = idata.posterior["h"]
    assert h.shape == (2, 100, 5, 3)
    assert (h[..., 0] == [0, 1, 0, 2, 1]).all()
    np.testing.assert_array_equal(h[..., -1].max("item") + 1, idata.posterior["h_n_components"])
    assert len(np.unique(h[..., -1].values.reshape(-1, 5), axis=0)) > 5
    tree = nrm.consensus_tree(idata)
    assert tree.labels(1).tolist() == [0, 1, 0, 2, 1]


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
    assert replicated.posterior_predictive["x"].shape == (2, 100, 5, 3)


@pytest.mark.slow
def test_results_of_pymc(idata):
    with make_model():
        found = pm.sample(**OPTIONS, compute_convergence_checks=False, quiet=True)
    np.testing.assert_array_equal(found.posterior["h"], idata.posterior["h"])
    found["posterior"]["h_components"] = nrm.component_draws(found)
    np.testing.assert_array_equal(nrm.similarity(found), nrm.similarity(idata))


@pytest.mark.slow
@pytest.mark.parametrize("storage", ["compact", "none"])
def test_storage(idata, storage):
    with make_model():
        found = nrm.sample(**OPTIONS, quiet=True, label_storage=storage)
    assert ("h_components" in found.posterior) == (storage == "compact")
    if storage == "compact":
        assert found.posterior["h_components"].dtype.itemsize == 1
        np.testing.assert_array_equal(found.posterior["h_components"], idata.posterior["h_components"])


def test_log_joint_is_that_of_the_model():
    model = make_model()
    with model:
        step = nrm.NestedGibbs([model["h"]], rng=1)
    point, log_p = model.initial_point(), model.compile_logp([model["h"], model["x"]])
    step.setup_chain(np.random.default_rng(1), 0, 20)
    for _ in range(20):
        point, [stats] = step.step(point)
        assert stats["log_joint"] == pytest.approx(log_p(point), abs=1e-9)


def test_alone_it_samples_its_prior():
    with pm.Model() as model:
        h = nrm.NestedPartition("h", weights=nrm.HierarchicalDirichletProcess(0.4, 1.5), paths=["a", "b", "a"], n=3)
        step = nrm.NestedGibbs([h], rng=1)
    step.setup_chain(np.random.default_rng(1), 0, 4000)
    point, draws = model.initial_point(), []
    for _ in range(4000):
        point, _ = step.step(point)
        draws.append(point["h"])
    values = values_of(["a", "b", "a"])
    p = np.exp([log_prior(["a", "b", "a"], value) for value in values])
    mean, error, _ = mean_and_error((np.array(draws)[:, None] == values).all(axis=(2, 3))[None])
    assert (np.abs(mean - p) < 5 * error).all()


def test_starts():
    start = [[0, 0, 0], [1, 1, 1], [0, 2, 1], [2, 3, 0], [1, 1, 1]]
    model = make_model(initval=start)
    assert model.initial_point()["h"].tolist() == start
    assert np.isfinite(model.compile_logp()(model.initial_point()))
    with pytest.raises(ValueError, match=r"initvals\['h'\] must have the known tree"), make_model():
        nrm.sample(**OPTIONS, quiet=True, initvals={"h": [[0], [0], [0], [0], [1]]})


def test_one_item():
    model = make_model(groups=[["a", 3]])
    with model:
        step = nrm.NestedGibbs([model["h"]], rng=1)
    point, [stats] = step.step(model.initial_point())
    assert (point["h"] == 0).all()
    assert (stats["n_nodes"], stats["n_components"]) == (2, 1)


def test_known_tables():
    groups, value, rows = ["a", "a", "b"], np.array([[0, 0, 0], [0, 1, 1], [1, 2, 1]]), X[:3]
    with pm.Model() as model:
        weights = nrm.HierarchicalDirichletProcess(pm.Gamma("gamma", 2, 2), 1.5)
        h = nrm.NestedPartition("h", weights=weights, paths=groups, observed=value)
        nrm.Mixture("x", h, FAMILY, observed=rows)
    draws = xr.Dataset({"gamma": (("chain", "draw"), [[0.4]])})
    expected = nrm.log_predictive_density(posterior([value]), fixed_model(groups, rows), X[3:], new_paths=["b", "c"])
    np.testing.assert_allclose(
        nrm.log_predictive_density(draws, model, X[3:], new_paths=["b", "c"]), expected, rtol=1e-12
    )
    assert nrm.cluster_probabilities(draws, model, X[3:], new_paths=["b"]).probability.shape == (2, 2)


WEIGHTS = nrm.HierarchicalDirichletProcess(1.0, 1.0)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"measure": nrm.DirichletProcess(1.0)}, ValueError, "measure of NestedPartition 'h' must be left out"),
        ({"depth": 1}, ValueError, "depth of NestedPartition 'h' must be left out where paths .*; got 1"),
        ({"weights": None}, ValueError, r"weights of NestedPartition 'h' must be HierarchicalDirichletProcess\(...\)"),
        ({"weights": 2.0}, TypeError, "weights .* must be HierarchicalDirichletProcess"),
        ({"weights": nrm.HierarchicalDirichletProcess([1.0, 1.0], 1.0)}, ValueError, r"shape \(1,\); got shape \(2,\)"),
        ({"n": 4}, ValueError, "paths of NestedPartition 'h' must have one row for each of the 4 items; got 5 rows"),
        ({"dims": "animal"}, ValueError, "paths of NestedPartition 'h' must have one row for each of the 3 items"),
        ({"paths": ["a", None, "b"]}, ValueError, "paths of NestedPartition 'h' must have no missing labels; 1 of 3"),
        ({"initval": [[0], [0], [0], [0], [1]]}, ValueError, "initval .* must have the known tree, that of paths"),
        ({"observed": [[0], [0], [0], [0], [1]]}, ValueError, "observed .* must have the known tree, that of paths"),
        ({"paths": None, "depth": 2}, TypeError, "measure of a NestedPartition must be DirichletProcess"),
        ({"paths": None}, ValueError, "depth of NestedPartition 'h' must be a whole number"),
    ],
)
def test_errors(arguments, kind, message):
    given = {"paths": GROUPS, "weights": WEIGHTS} | arguments
    with pm.Model(coords={"animal": range(3)}), pytest.raises(kind, match=message):
        nrm.NestedPartition("h", **({"n": 5} if given["paths"] is None else {}), **given)


def test_what_is_refused_elsewhere():
    with make_model() as model:
        with pytest.raises(ValueError, match="must be a NestedPartition with a random tree; that of 'h' is known"):
            nrm.published.PublishedNestedGibbs([model["h"]], corrected=True)
        with pytest.raises(TypeError, match="must be a NestedPartition without weights"):
            nrm.Mixture("y", model["h"], nrm.NormalDiffusion(np.zeros(3), 1.0, np.eye(3), 5.0), observed=X)
    with pytest.raises(ValueError, match="n of a NestedPartition|one row for each of the 4 items"):
        nrm.NestedPartition.dist(weights=WEIGHTS, paths=GROUPS, n=4)


@pytest.mark.parametrize("case", CASES)
def test_density_in_a_group_is_the_ratio_of_joint_laws(case):
    groups, new_groups = CASES[case]
    values, rows = values_of(groups)[::7], X[:3]
    model, draws = fixed_model(groups, rows), posterior(values)
    for group in new_groups:
        for row in X[2:4]:
            expected = []
            for value in values:
                longer, further = extensions(groups, value, group)
                joint = [log_joint(longer, one, np.vstack([rows, row])) for one in further]
                expected.append(np.logaddexp.reduce(joint) - log_joint(groups, value, rows))
            found = nrm.predictive_density(draws, model, row[None], new_paths=[group])
            np.testing.assert_allclose(np.log(found.density.values.ravel()), expected, rtol=1e-10)
            log_p = nrm.log_predictive_density(draws, model, row[None], new_paths=[group])
            np.testing.assert_allclose(log_p, np.logaddexp.reduce(expected) - np.log(len(values)), rtol=1e-10)
        is_new = []
        for value in values:
            longer, further = extensions(groups, value, group)
            opens = further[:, -1, -1] > value[:, -1].max()
            p = np.exp([log_prior(longer, one) for one in further])
            is_new.append(p[opens].sum() / p.sum())
        np.testing.assert_allclose(found.new_cluster_weight.values.ravel(), is_new, rtol=1e-10)
    both = nrm.log_predictive_density(draws, model, X[2:4], new_paths=new_groups[:2])
    alone = [
        nrm.log_predictive_density(draws, model, X[2 + k : 3 + k], new_paths=new_groups[k : k + 1]) for k in range(2)
    ]
    np.testing.assert_allclose(both, np.concatenate(alone), rtol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_items_are_left_out_in_their_groups(case):
    groups, _ = CASES[case]
    values, rows = values_of(groups)[::5], X[:3]
    draws = xr.DataTree.from_dict({"posterior": posterior(values)})
    found = nrm.compute_log_likelihood(draws, fixed_model(groups, rows))["log_likelihood"]["x"][0]
    for value, log_likelihood in zip(values, found.values, strict=True):
        for item in range(3):
            others = [k for k in range(3) if k != item]
            kept = np.column_stack([canonical_paths("labels", column[others])[0] for column in value.T])
            own = [groups[k] for k in others]
            longer, further = extensions(own, kept, groups[item])
            joint = [log_joint(longer, one, rows[[*others, item]]) for one in further]
            expected = np.logaddexp.reduce(joint) - log_joint(own, kept, rows[others])
            assert log_likelihood[item] == pytest.approx(expected, rel=1e-10)


def test_components_of_new_items():
    groups, new_groups = CASES["two levels"]
    value, rows = values_of(groups)[-1], X[:3]
    model, draws = fixed_model(groups, rows), posterior([value])
    n_components = value[:, -1].max() + 1
    predicted = nrm.cluster_probabilities(draws, model, X[2:5], estimate=value[:, -1], new_paths=new_groups)
    for k, group in enumerate(new_groups):
        longer, further = extensions(groups, value, group)
        p = np.exp([log_joint(longer, one, np.vstack([rows, X[2 + k]])) for one in further])
        expected = np.bincount(further[:, -1, -1], p, minlength=n_components + 1) / p.sum()
        np.testing.assert_allclose(predicted.probability[k], expected[:-1], rtol=1e-10)
        assert predicted.new_cluster_probability[k] == pytest.approx(expected[-1], rel=1e-10)
    assert nrm.cluster_probabilities(draws, model, X[2:5], new_paths=[["a", 1]]).probability.sizes["new_item"] == 3


def test_new_items_are_drawn_in_their_groups():
    groups, _ = CASES["one level"]
    value, n_draws = values_of(groups)[3], 4000
    model, draws = fixed_model(groups, X[:3]), posterior([value] * n_draws)
    drawn = nrm.sample_posterior_predictive(draws, model, new_items=1, new_paths=["z"], random_seed=1)
    assert drawn["posterior_predictive"]["x"].shape == (1, n_draws, 3, 3)
    new = drawn["predictions"]["h"].values[0, :, 0]
    longer, further = extensions(groups, value, "z")
    p = np.exp([log_prior(longer, one) for one in further])
    p /= p.sum()
    counts = (new[:, None] == further[:, -1]).all(axis=2).sum(axis=0)
    assert counts.sum() == n_draws
    assert (np.abs(counts / n_draws - p) < 4.5 * np.sqrt(p * (1 - p) / n_draws)).all()
    several = nrm.sample_posterior_predictive(draws, model, new_items=2, new_paths=["b", "z"], random_seed=1)
    assert (several["predictions"]["h"].values[..., 0] == [1, 2]).all()
    nrm.sample_cluster_parameters(draws, model, random_seed=1)


def test_groups_of_new_items_are_needed():
    groups, _ = CASES["one level"]
    model, draws = fixed_model(groups, X[:3]), posterior(values_of(groups)[:2])
    for predict in (
        lambda **given: nrm.log_predictive_density(draws, model, X[2:5], **given),
        lambda **given: nrm.cluster_probabilities(draws, model, X[2:5], [0, 0, 0], **given),
        lambda **given: nrm.sample_posterior_predictive(draws, model, new_items=3, **given),
    ):
        with pytest.raises(ValueError, match="new_paths must have the groups of the new items"):
            predict()
        with pytest.raises(ValueError, match="one row for each of the 3 new items, or one row for all; got 2"):
            predict(new_paths=["a", "b"])
        with pytest.raises(ValueError, match=r"new_paths must have shape \(n,\) or \(n, 1\)"):
            predict(new_paths=[["a", "b"]])
        predict(new_paths=["a"])
    with pytest.raises(ValueError, match="new_paths must have one row, the group of the item; got 0 rows"):
        nrm.predictive_density(draws, model, X[2:4])
    with pytest.raises(ValueError, match="new_paths must be None unless there are new_items"):
        nrm.sample_posterior_predictive(draws, model, new_paths=["a"])
    with pm.Model() as flat:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
        nrm.Mixture("x", z, FAMILY, observed=X[:3])
    labels = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 1]]])})
    for predict in (nrm.log_predictive_density, nrm.predictive_density, nrm.cluster_probabilities):
        with pytest.raises(
            ValueError, match="new_paths must be None, since 'z' is no NestedPartition with known paths"
        ):
            predict(labels, flat, X[:1], new_paths=["a"])
