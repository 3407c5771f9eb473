"""Predictions of nested partitions against the joint law, summed over all paths and tables of a new item."""

import functools

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from pytensor.compile.mode import Mode

import pymc_nrm as nrm
from pymc_nrm.partitions.user_labels import canonical_paths
from tests.helpers import canonical_labels, mixture_of, refused
from tests.nested.enumerated_posterior import all_values, values_along

PLAIN = Mode(linker="py", optimizer="fast_compile")
B = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]])
Y = np.array([[0.0, 0.4], [1.3, 1.1], [2.0, -1.2], [-1.4, 0.9]])
PATTERNS = np.array([[(k >> j) & 1 for j in range(3)] for k in range(8)])
NEW = {"h": PATTERNS[[3, 4]], "t": np.array([[0.3, 0.2], [4.0, -5.0]])}
MEASURE = nrm.PitmanYorProcess([0.2, 0.3], [0.5, 0.9])
DIFFUSIONS = {
    "NormalDiffusion": nrm.nested.NormalDiffusion([0.5, 0.0], [3.0, 2.0, 0.7], [[1.5, 0.4], [0.4, 1.0]], 4.5),
    "IndependentNormalDiffusion": nrm.nested.IndependentNormalDiffusion(0.3, [3.0, 2.0, 0.7], [2.0, 3.0], [1.0, 0.6]),
}


# Groups of the first items, and groups that new items may have.
GROUPS = {
    "one level": (["a", "a", "b", "b"], ["b", "z"]),
    "two levels": ([["a", 0], ["a", 1], ["b", 0], ["a", 1]], [["a", 1], ["a", 7], ["z", 0]]),
}


def rows_of(*cases):
    """Cases as parameters of a test; kernels compile for each family, so all are slow but one of each kind."""
    slow = ("two mixtures", "IndependentNormalDiffusion")
    return [pytest.param(case, marks=[pytest.mark.slow] if case in slow else []) for case in cases]


CASES = rows_of("BernoulliBeta", "two mixtures", *GROUPS, *DIFFUSIONS)


def depth_of(case):
    return 1 if case == "one level" else 2


def add_partition(case, n_first, groups=(), **items):
    """The partition of the first n items, and of one more for each of the given groups if paths are known."""
    if case in DIFFUSIONS:
        return nrm.nested.NestedPartition("t", MEASURE, 2, **items)
    weights = nrm.nested.HierarchicalDirichletProcess([0.4, 0.9][: depth_of(case)], 1.5)
    if case in GROUPS:
        return nrm.nested.NestedPartition("t", weights=weights, paths=[*GROUPS[case][0][:n_first], *groups], **items)
    return nrm.nested.NestedPartition("t", MEASURE, 2, weights, **items)


def make_model(case, rows=None, n=3, groups=()):
    """Model of the first three items and of those with the given rows of data."""
    X = np.vstack([(Y if case in DIFFUSIONS else B)[:n], *([] if rows is None else [rows])])
    with pm.Model(coords={"item": range(len(X))}) as model:
        t = add_partition(case, n, groups, dims="item")
        if case in DIFFUSIONS:
            nrm.Mixture("x", t, DIFFUSIONS[case], observed=X)
        elif case == "two mixtures":
            nrm.Mixture("x", t, nrm.BernoulliBeta(0.6, [0.5, 0.8]), observed=X[:, :2])
            nrm.Mixture("y", t, nrm.BernoulliBeta(0.6, 0.6), observed=X[:, 2])
        else:
            nrm.Mixture("x", t, nrm.BernoulliBeta(0.6, [0.5, 0.8, 0.6]), observed=X)
    return model


def prior_of(case, n, groups=()):
    with pm.Model() as model:
        add_partition(case, n, groups, n=n + len(groups) if case in GROUPS else n)
    return model.compile_logp(mode=PLAIN)


def new_items(case):
    """Data of new items, and their groups or None."""
    X = NEW["t"] if case in DIFFUSIONS else NEW["h"]
    groups = GROUPS[case][1] if case in GROUPS else [None, None]
    return [(X[k % 2], group) for k, group in enumerate(groups)]


def given(case, items):
    X, groups = np.array([row for row, _ in items]), [group for _, group in items]
    data = {"x": X[:, :2], "y": X[:, 2]} if case == "two mixtures" else X
    return (data,), ({"new_paths": groups} if case in GROUPS else {})


def posterior(values):
    values = np.asarray(values)
    return xr.Dataset({"t": (("chain", "draw", "item", "t_column"), values[None])})


def values_of(case, n, groups=()):
    if case in GROUPS:
        return values_along(canonical_paths("groups", [*GROUPS[case][0][:n], *groups])[0])
    return all_values(n, 2, case not in DIFFUSIONS)


def some_values(case, n=3, n_draws=6):
    values = values_of(case, n)
    return values[np.linspace(0, len(values) - 1, n_draws).astype(int)]


def extensions(case, value, n_new=1, groups=()):
    """All values of further items that agree with a value; their groups are given if paths are known."""
    n = len(value)
    longer = values_of(case, n, groups) if case in GROUPS else values_of(case, n + n_new)
    return longer[(longer[:, :n] == value).all(axis=(1, 2))]


@functools.cache
def log_joint(case, new=None, n=3, group=None):
    rows = None if new is None else np.array(new)[None]
    groups = () if group is None else (list(group) if isinstance(group, tuple) else group,)
    function = make_model(case, rows, n, groups).compile_logp(mode=PLAIN)
    return lambda value: float(function({"t": value}))


def log_weights(case, value, row, group=None, n=3):
    """Extensions of a value by one item, and the logs of p(value, extension, x, row) / p(value, x)."""
    longer = extensions(case, value, groups=() if group is None else (group,))
    joint = log_joint(case, tuple(row), n, tuple(group) if isinstance(group, list) else group)
    return longer, np.array([joint(one) for one in longer]) - log_joint(case, None, n)(value)


def log_sum(log_p):
    return np.logaddexp.reduce(log_p)


@pytest.mark.quick("BernoulliBeta")
@pytest.mark.parametrize("case", CASES)
def test_density_is_the_ratio_of_joint_laws(case):
    values, items = some_values(case), new_items(case)
    expected = np.array([[log_sum(log_weights(case, value, *item)[1]) for item in items] for value in values])
    model, draws = make_model(case), posterior(values)
    X, options = given(case, items)
    log_p = nrm.log_predictive_density(draws, model, *X, **options)
    assert log_p.dims == ("new_item",)
    np.testing.assert_allclose(log_p, log_sum(expected) - np.log(len(values)), rtol=1e-10)
    for k in range(len(items)) if case != "two mixtures" else ():
        X, options = given(case, items[k : k + 1])
        found = nrm.predictive_density(draws, model, *X, **options)
        assert found.density.dims == ("chain", "draw", "point")
        np.testing.assert_allclose(np.log(found.density[0, :, 0]), expected[:, k], rtol=1e-10)


@pytest.mark.quick("BernoulliBeta")
@pytest.mark.parametrize("case", ["BernoulliBeta", *GROUPS, "NormalDiffusion"])
def test_weights_of_new_nodes(case):
    """They are ratios of the prior law: of new nodes by level or, where paths are known, of a new component."""
    for item in new_items(case) if case in GROUPS else new_items(case)[:1]:
        values, (X, options) = some_values(case), given(case, [item])
        groups = () if item[1] is None else (item[1],)
        log_p = prior_of(case, 3 if case in GROUPS else 4, groups)
        found = nrm.predictive_density(posterior(values), make_model(case), *X, **options)
        name, columns = ("new_cluster_weight", slice(-1, None)) if case in GROUPS else ("new_node_weight", slice(2))
        assert found[name].dims == ("chain", "draw", "level")[: 2 if case in GROUPS else 3]
        for value, weights in zip(values, found[name][0].values, strict=True):
            longer = extensions(case, value, groups=groups)
            p = np.exp([log_p({"t": one}) for one in longer])
            is_new = longer[:, -1, columns] > value[:, columns].max(axis=0)
            np.testing.assert_allclose(weights, np.squeeze(p @ is_new / p.sum()), rtol=1e-10)


def expected_nodes(value, longer, p, paths):
    """Probabilities of the nodes of an estimate from the definition: those of a random mate in the lowest old node."""
    total, new = np.zeros((2, 3)), np.zeros(2)
    for one, weight in zip(longer, p, strict=True):
        mates = np.arange(len(value))
        for level in range(2):
            closer = np.flatnonzero(value[:, level] == one[-1, level])
            if not len(closer):
                new[level:] += weight
                break
            mates = closer
        depth = level if not len(closer) else 2
        for level in range(depth):
            for mate in mates:
                total[level, paths[mate, level]] += weight / len(mates)
    return total, new


@pytest.mark.slow
@pytest.mark.parametrize("case", rows_of("BernoulliBeta", "two mixtures", *DIFFUSIONS))
def test_labels_are_those_of_a_random_mate(case):
    values, items = some_values(case), new_items(case)
    paths = np.array([[0, 0], [0, 1], [1, 2]])
    predicted = nrm.cluster_probabilities(posterior(values), make_model(case), *given(case, items)[0], paths)
    assert predicted.probability.dims == ("new_item", "level", "cluster")
    for item, (row, _) in enumerate(items):
        parts = []
        for value in values:
            longer, log_p = log_weights(case, value, row)
            parts.append(expected_nodes(value, longer, np.exp(log_p - log_sum(log_p)), paths))
        total, new = (np.mean(part, axis=0) for part in zip(*parts, strict=True))
        np.testing.assert_allclose(predicted.probability[item], total, rtol=1e-9)
        np.testing.assert_allclose(predicted.new_cluster_probability[item], new, rtol=1e-9)
        path = predicted.labels[item].values
        first = np.argmax([*total[0, :2], new[0]])
        assert path[0] == (-1 if first == 2 else first)
        if path[0] == 0:
            second = np.argmax([*total[1, :2], total[0, 0] - total[1, :2].sum()])
            assert path[1] == (-1 if second == 2 else second)


@pytest.mark.slow
@pytest.mark.parametrize("case", GROUPS)
def test_components_of_new_items_given_their_groups(case):
    value, items, model = some_values(case)[-1], new_items(case), make_model(case)
    n_components = value[:, -1].max() + 1
    X, options = given(case, items)
    predicted = nrm.cluster_probabilities(posterior([value]), model, *X, estimate=value[:, -1], **options)
    for k, item in enumerate(items):
        longer, log_p = log_weights(case, value, *item)
        p = np.exp(log_p - log_sum(log_p))
        expected = np.bincount(longer[:, -1, -1], p, minlength=n_components + 1)
        np.testing.assert_allclose(predicted.probability[k], expected[:-1], rtol=1e-9)
        assert predicted.new_cluster_probability[k] == pytest.approx(expected[-1], rel=1e-9)
    one_group = {"new_paths": options["new_paths"][:1]}
    assert nrm.cluster_probabilities(posterior([value]), model, *X, **one_group).probability.sizes["new_item"] == len(
        items
    )


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_leave_one_out(case):
    values = some_values(case, 4)
    model = make_model(case, n=4)
    idata = xr.DataTree.from_dict({"posterior": posterior(values)})
    found = nrm.compute_log_likelihood(idata, model)["log_likelihood"]
    found = found["t" if case == "two mixtures" else "x"].values[0]
    rows = (Y if case in DIFFUSIONS else B)[:4]
    group = GROUPS[case][0][3] if case in GROUPS else None
    # The joint law does not depend on the order of items: the last one is left out.
    expected = [log_sum(log_weights(case, value[:3], rows[3], group)[1]) for value in values]
    np.testing.assert_allclose(found[:, 3], expected, rtol=1e-10)
    assert np.isfinite(found).all()


@pytest.mark.slow
@pytest.mark.parametrize("case", ["BernoulliBeta", *GROUPS])
def test_leave_one_out_in_any_order(case):
    values, order = some_values(case, 4), np.array([2, 0, 3, 1])
    moved = np.array([[canonical_labels(column) for column in value[order].T] for value in values])
    plain = nrm.compute_log_likelihood(posterior(values), make_model(case, n=4), extend_inferencedata=False)
    with pm.Model() as model:
        groups = [GROUPS[case][0][k] for k in order] if case in GROUPS else ()
        t = add_partition(case, 0, groups, n=4)
        nrm.Mixture("x", t, nrm.BernoulliBeta(0.6, [0.5, 0.8, 0.6]), observed=B[order])
    other = nrm.compute_log_likelihood(posterior(moved.transpose(0, 2, 1)), model, extend_inferencedata=False)
    np.testing.assert_allclose(other["x"].values, plain["x"].values[..., order], rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["BernoulliBeta", "NormalDiffusion"])
def test_one_item_leaves_the_prior(case):
    n = 1
    model, value = make_model(case, n=1), values_of(case, 1)
    found = nrm.compute_log_likelihood(posterior(value), model, extend_inferencedata=False)["x"].item()
    assert found == pytest.approx(log_joint(case, None, n)(value[0]), rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("case", rows_of("BernoulliBeta", *GROUPS, "IndependentNormalDiffusion"))
def test_new_items_have_the_law_of_the_model(case):
    """Labels of two new items against ratios of the prior law."""
    value, n_draws = some_values(case, 2)[4], 8_000
    groups = GROUPS[case][1][-2:] if case in GROUPS else ()
    longer = extensions(case, value, 2, groups)
    log_p = prior_of(case, 2 if case in GROUPS else 4, groups)
    p = np.exp([log_p({"t": one}) for one in longer])
    p /= p.sum()
    draws, model = posterior(np.broadcast_to(value, (n_draws, *value.shape))), make_model(case, n=2)
    options = {"new_paths": groups} if groups else {}
    drawn = nrm.sample_posterior_predictive(draws, model, new_items=2, random_seed=1, **options)["predictions"]
    assert drawn["t"].dims == ("chain", "draw", "new_item", "t_column")
    index = {one[2:].tobytes(): k for k, one in enumerate(longer)}
    counts = np.bincount([index[one.tobytes()] for one in drawn["t"].values[0]], minlength=len(p))
    scores = (counts / n_draws - p) / np.sqrt(p * (1 - p) / n_draws)
    assert np.abs(scores[p * n_draws > 20]).max() < 4.5


@pytest.mark.slow
def test_data_of_new_items_have_the_predictive_law():
    case, n_draws = "BernoulliBeta", 8_000
    value = some_values(case)[3]
    draws = posterior(np.broadcast_to(value, (n_draws, *value.shape)))
    model = make_model(case)
    drawn = nrm.sample_posterior_predictive(draws, model, new_items=1, random_seed=2)
    p = nrm.predictive_density(posterior([value]), model, PATTERNS).density.values.ravel()
    assert p.sum() == pytest.approx(1.0)
    found = np.bincount(drawn["predictions"]["x"].values[0, :, 0] @ [1, 2, 4], minlength=8) / n_draws
    assert (np.abs(found - p) < 4.5 * np.sqrt(p * (1 - p) / n_draws)).all()
    assert drawn["posterior_predictive"]["x"].shape == (1, n_draws, 3, 3)


@pytest.mark.slow
@pytest.mark.parametrize("case", rows_of(*DIFFUSIONS))
def test_data_of_diffusions_have_the_predictive_law(case):
    """One feature: frequencies of intervals against integrals of the density."""
    X, n_draws = np.array([0.0, 3.0, 9.0]), 20_000
    family = {
        "NormalDiffusion": nrm.nested.NormalDiffusion(0.3, [3.0, 2.0, 0.7], [[1.5]], 4.5),
        "IndependentNormalDiffusion": nrm.nested.IndependentNormalDiffusion(0.3, [3.0, 2.0, 0.7], 2.0, 1.0),
    }[case]
    with pm.Model() as model:
        t = nrm.nested.NestedPartition("t", MEASURE, 2, n=3)
        nrm.Mixture("x", t, family, observed=X)
    value = np.array([[0, 0], [0, 1], [1, 2]])
    draws = posterior(np.broadcast_to(value, (n_draws, *value.shape)))
    drawn = nrm.sample_posterior_predictive(draws, model, new_items=1, random_seed=3)
    edges, step = np.linspace(-4, 14, 19), 0.01
    middles = np.arange(-4, 14, step) + step / 2
    density = nrm.predictive_density(posterior([value]), model, middles).density.values.ravel()
    p = density.reshape(18, -1).sum(axis=1) * step
    found = np.histogram(drawn["predictions"]["x"].values, edges)[0] / n_draws
    assert (np.abs(found - p) < 4.5 * np.sqrt(p / n_draws) + 1e-4).all()
    # Replications are centred at the posterior means of the leaves.
    means = 3.0 + 2.0 * (value[:, :1] == value[:, 0]) + 0.7 * (value[:, 1:] == value[:, 1])
    expected = 0.3 + means @ np.linalg.solve(means + np.eye(3), X - 0.3)
    replicated = drawn["posterior_predictive"]["x"].values[0]
    assert (np.abs(replicated.mean(axis=0) - expected) < 5 * replicated.std(axis=0) / np.sqrt(n_draws)).all()


@pytest.mark.parametrize("case", ["BernoulliBeta", "two levels"])
def test_components_of_a_nested_partition(case):
    values = some_values(case)
    found = nrm.sample_cluster_parameters(posterior(values), make_model(case), random_seed=1)
    assert (found["size"].sum("cluster") == 3).all()
    assert (found["size"] > 0).sum("cluster").values.ravel().tolist() == (values[:, :, -1].max(axis=1) + 1).tolist()


SMALL = nrm.nested.ItemTree.from_levels([[0, 1]])
ROWS = "a tree of 3 items and at most 2 levels; got 2 items and 1 levels"


test_what_is_refused = refused(
    lambda call: call(posterior(some_values("NormalDiffusion")), make_model("NormalDiffusion")),
    (nrm.sample_cluster_parameters, "NormalDiffusion has no .*, which sample_cluster_parameters needs"),
    (nrm.fused_estimate, "flat; got the NestedPartition 't'"),
    (nrm.random_measure.sample_random_measure, "flat; got the NestedPartition 't'"),
    (nrm.cluster_probabilities, "X_new must be given for the partition 't'"),
    (lambda d, m: nrm.cluster_probabilities(d, m, NEW["t"], [0, 0, 1]), r"shape \(3, 2\); got shape \(3,\)"),
    (
        lambda d, m: nrm.cluster_probabilities(d, m, NEW["t"], nrm.nested.consensus_tree(d["t"])),
        "got a consensus tree, whose levels are its own",
    ),
    (lambda d, m: nrm.cluster_probabilities(d, m, NEW["t"], SMALL), ROWS),
    (lambda d, m: nrm.log_predictive_density(d.isel(item=[0, 1]), m, NEW["t"]), r"shape \(3, 2\) for .* got int64"),
    (lambda d, m: nrm.log_predictive_density(d, m, [[1.0, 2.0, 3.0]]), "X_new of 'x' must have shape"),
    (lambda d, m: nrm.log_predictive_density(d, m, [[np.nan, 2.0]]), "X_new"),
    error=(ValueError, NotImplementedError),
)


@pytest.mark.slow
def test_groups_of_new_items_are_needed():
    model, draws = make_model("one level"), posterior(some_values("one level")[:2])
    for predict in (
        lambda **given: nrm.log_predictive_density(draws, model, B[1:4], **given),
        lambda **given: nrm.cluster_probabilities(draws, model, B[1:4], [0, 0, 0], **given),
        lambda **given: nrm.sample_posterior_predictive(draws, model, new_items=3, **given),
    ):
        with pytest.raises(ValueError, match="new_paths must have the groups of the new items"):
            predict()
        with pytest.raises(ValueError, match="one row for each of the 3 new items.*; got 2"):
            predict(new_paths=["a", "b"])
        with pytest.raises(ValueError, match=r"new_paths must have shape \(n,\) or \(n, 1\)"):
            predict(new_paths=[["a", "b"]])
        predict(new_paths=["a"])
    with pytest.raises(ValueError, match="new_paths must have one row.*; got 0 rows"):
        nrm.predictive_density(draws, model, B[2:4])
    with pytest.raises(ValueError, match="new_paths must be None unless there are new_items"):
        nrm.sample_posterior_predictive(draws, model, new_paths=["a"])
    flat = mixture_of(nrm.BernoulliBeta(0.6, 0.6), B[:3])
    labels = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 1]]])})
    for predict in (nrm.log_predictive_density, nrm.predictive_density, nrm.cluster_probabilities):
        with pytest.raises(ValueError, match="new_paths must be None, since 'z' is not a NestedPartition"):
            predict(labels, flat, B[:1], new_paths=["a"])
