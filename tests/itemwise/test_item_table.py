"""Tables of log-probabilities: of every way to use labels as an index, after changes of data, of impossible values."""

import itertools

import cloudpickle
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import scipy.stats

import pymc_nrm as nrm
from pymc_nrm.models.itemwise.item_table import ItemTable
from tests.itemwise.distribution_cases import DISTRIBUTIONS
from tests.itemwise.itemwise_cases import (
    BINARY,
    CHEAP,
    COUNTS,
    EXAMPLES,
    SUBJECT,
    TIME,
    K,
    N,
    X,
    Y,
    model_of,
    normal,
    random_point,
)

SLOTS = np.arange(K)
LABELS = np.zeros(N, dtype="int64")


def partition(n=N, max_clusters=K):
    return nrm.Partition("z", nrm.DirichletProcess(1.0), n=n, max_clusters=max_clusters)


def table_of(build, **values):
    """Table and point of a model in which a function of labels adds variables with some values."""
    point = {"z": LABELS} | values
    model = model_of(build)
    return ItemTable(model, model["z"], K, point, CHEAP), point


def whole(table, point, n=N):
    values = np.empty((n, K))
    table.fill(point, SLOTS, SLOTS, values)
    return values


def test_compiled_as_by_default(rng):
    with pm.Model(coords={"cluster": range(K)}) as model:
        z = partition()
        slope, scale = pm.Normal("slope", dims="cluster"), pm.HalfNormal("scale", dims="cluster")
        shift = pm.Normal("shift")
        pm.StudentT("y", nu=4, mu=shift + slope[z] * X, sigma=scale[z], observed=Y)
        pm.Bernoulli("event", logit_p=slope[z], observed=BINARY)
    table = ItemTable(model, z, K, model.initial_point())
    slopes, scales = rng.normal(size=K), rng.normal(size=K)
    # A number of numpy in place of an array without dimensions.
    point = {"z": LABELS, "slope": slopes, "scale_log__": scales, "shift": np.float64(0.5)}
    expected = scipy.stats.t.logpdf(Y[:, None], 4, 0.5 + slopes * X[:, None], np.exp(scales))
    expected += np.where(BINARY[:, None], -np.logaddexp(0, -slopes), -np.logaddexp(0, slopes))
    np.testing.assert_allclose(whole(table, point), expected, rtol=1e-8)


def test_other_data(rng):
    with pm.Model() as model:
        subject, time, y = pm.Data("subject", SUBJECT), pm.Data("time", TIME), pm.Data("y_of_row", np.cos(TIME))
        z = partition()
        pm.Normal("y", normal("slope")[z][subject] * time, 1, observed=y)
    point = {"z": LABELS, "slope": rng.normal(size=K)}
    table = ItemTable(model, z, K, point, CHEAP)
    subjects, times = np.array([4, 0, 3, 1, 1, 0, 4, 2, 2, 4]), np.linspace(0, 1, 10)
    pm.set_data({"subject": subjects, "time": times, "y_of_row": np.sin(times)}, model=model)
    table.refresh()
    rows = scipy.stats.norm.logpdf(np.sin(times)[:, None], point["slope"] * times[:, None])
    expected = np.stack([rows[subjects == i].sum(0) for i in range(N)])
    np.testing.assert_allclose(whole(table, point), expected)
    np.testing.assert_array_equal(table.items("y"), subjects)
    pm.set_data({"subject": subjects + 1}, model=model)
    with pytest.raises(ValueError, match="out of bounds"):
        table.refresh(point)


def test_another_number_of_items(rng):
    with pm.Model() as model:
        x = pm.Data("x", Y)
        z = partition(x.shape[0])
        pm.Normal("y", normal("mean")[z], 1, observed=x)
    point = {"z": LABELS, "mean": rng.normal(size=K)}
    table = ItemTable(model, z, K, point, CHEAP)
    for more in (np.arange(9.0), np.zeros(1), Y):
        pm.set_data({"x": more}, model=model)
        table.refresh()
        now = point | {"z": np.zeros(len(more), dtype="int64")}
        np.testing.assert_allclose(
            whole(table, now, len(more)), scipy.stats.norm.logpdf(more[:, None], point["mean"]), rtol=1e-12
        )


def test_bounds_of_parameters_hold_row_by_row():
    """A rate that is negative for one item leaves the others possible, though the model as a whole is impossible."""
    level, slope = np.array([1.0, 0.5, 1.0, 3.0]), np.array([0.2, 2.0, -0.7, 0.0])
    rates = lambda z: normal("level")[z] + normal("slope")[z] * X  # noqa: E731
    values = whole(*table_of(lambda z: pm.Poisson("y", rates(z), observed=COUNTS), level=level, slope=slope))
    rates = level + slope * X[:, None]
    assert (rates < 0).any(0).any() and not (rates < 0).all(0).any()
    with np.errstate(invalid="ignore"):
        expected = np.where(rates < 0, -np.inf, scipy.stats.poisson.logpmf(COUNTS[:, None], rates))
    np.testing.assert_allclose(values, expected)


def test_bounds_of_several_parameters_of_a_row():
    def build(z):
        weights = normal("weights", (K, 2))[z] + np.outer(X, [0.5, -0.5])
        pm.Categorical("y", p=pt.stack([weights[:, 0], weights[:, 1], 1 - weights.sum(1)], axis=1), observed=BINARY)

    given = np.array([[0.4, 0.5], [0.3, 0.3], [0.9, 0.0], [0.0, 0.9]])
    values = whole(*table_of(build, weights=given))
    weights = given + np.outer(X, [0.5, -0.5])[:, None]
    p = np.concatenate([weights, 1 - weights.sum(2, keepdims=True)], axis=2)
    with np.errstate(invalid="ignore"):
        expected = np.where((p < 0).any(2), -np.inf, np.log(p[np.arange(N)[:, None], SLOTS, BINARY[:, None]]))
    assert np.isfinite(expected).any(0).all() and not np.isfinite(expected).all(0).any()
    np.testing.assert_allclose(values, expected)


def test_what_is_not_a_number_is_impossible():
    rates = np.array([0.0, 1.0, 800.0, -2.0])
    values = whole(*table_of(lambda z: pm.Poisson("y", pt.exp(normal("log_rate")[z]), observed=COUNTS), log_rate=rates))
    assert (values[:, 2] == -np.inf).all()
    assert np.isfinite(np.delete(values, 2, axis=1)).all()


def test_two_partitions(rng):
    with pm.Model() as model:
        rows, columns = partition(), nrm.Partition("w", nrm.DirichletProcess(1.0), n=3, max_clusters=2)
        theta = normal("theta", (K, 2))
        pm.Normal("y", theta[rows[:, None], columns[None, :]], 1, observed=np.outer(Y, [1.0, 2.0, 3.0]))
    labels = {"z": np.array([0, 3, 1, 1, 2]), "w": np.array([1, 0, 1])}
    point = labels | {"theta": rng.normal(size=(K, 2))}
    of_rows, of_columns = ItemTable(model, rows, K, point, CHEAP), ItemTable(model, columns, 2, point, CHEAP)
    assert (len(of_rows.items("y")), len(of_columns.items("y"))) == (N, 3)
    total = of_rows.values(point, labels["z"]).sum()
    np.testing.assert_allclose(of_columns.values(point, labels["w"]).sum(), total)
    expected = scipy.stats.norm.logpdf(np.outer(Y, [1, 2, 3])[:, None], point["theta"][:, labels["w"]][None]).sum(2)
    np.testing.assert_allclose(whole(of_rows, point), expected)


def test_one_slot():
    with pm.Model() as model:
        z = partition(max_clusters=1)
        pm.Normal("y", normal("mean", 1)[z], 1, observed=Y)
    table, values = ItemTable(model, z, 1, {"z": LABELS, "mean": np.zeros(1)}, CHEAP), np.empty((N, 1))
    table.fill({"z": LABELS, "mean": np.zeros(1)}, SLOTS[:1], SLOTS[:1], values)
    np.testing.assert_allclose(values[:, 0], scipy.stats.norm.logpdf(Y))


def test_labels_that_nothing_uses():
    """Data of mixtures have no rows: their parameters are integrated out."""

    def build(z):
        nrm.Mixture("y", z, nrm.PoissonGamma(1.0, 1.0), observed=COUNTS)
        pm.Normal("number", 0, 1, shape=z.shape)

    table, point = table_of(build, number=Y)
    assert table.names == []
    np.testing.assert_array_equal(whole(table, point), np.zeros((N, K)))


def test_table_in_another_process(rng):
    build = lambda z: pm.Normal("y", normal("mean")[z][SUBJECT], 1, observed=np.cos(TIME))  # noqa: E731
    table, point = table_of(build, mean=rng.normal(size=K))
    copied = cloudpickle.loads(cloudpickle.dumps(table))
    np.testing.assert_array_equal(whole(copied, point), whole(table, point))
    copied.refresh(point)
    np.testing.assert_array_equal(whole(copied, point), whole(table, point))


def rows_of(name):
    return {"y_observed" if "missing" in name else "y": SUBJECT if name == "non_centred" else range(N)}


BUILDS = EXAMPLES | {name: (build, rows_of(name)) for name, build in DISTRIBUTIONS.items()}
# The first three are compiled by a compiler of C.
SLOW = ("zero-inflated Poisson", "mixture of two", "categorical", *DISTRIBUTIONS)


@pytest.mark.parametrize("name", [pytest.param(row, marks=[pytest.mark.slow] if row in SLOW else []) for row in BUILDS])
def test_table(name, rng):
    build, expected = BUILDS[name]
    model = model_of(build)
    point = random_point(model, rng)
    table_of_items = ItemTable(model, model["z"], K, point, CHEAP)
    assert set(table_of_items.names) == set(expected)
    for term, items in expected.items():
        np.testing.assert_array_equal(table_of_items.items(term), list(items))

    # The model itself, with the label of one item changed.
    terms = [variable for variable in (*model.basic_RVs, *model.potentials) if variable.name in expected]
    log_probability = pm.pytensorf.compile(
        model.value_vars, model.logp(vars=terms, jacobian=False), on_unused_input="ignore", **CHEAP
    )

    def at(labels):
        return float(log_probability(**(point | {"z": labels})))

    labels = rng.integers(0, K, N)
    slots = rng.permutation(K)
    table = np.full((N, K + 1), 7.0)
    table_of_items.fill(point, slots, slots + 1, table)
    assert (table[:, 0] == 7.0).all()
    assert np.isfinite(table).all()
    present = at(labels)
    for i, slot in itertools.product(range(N), range(K)):
        changed = labels.copy()
        changed[i] = slot
        difference = table[i, slot + 1] - table[i, labels[i] + 1]
        np.testing.assert_allclose(difference, at(changed) - present, rtol=1e-9, atol=1e-9)
    own = table[np.arange(N), labels + 1]
    np.testing.assert_allclose(table_of_items.values(point, labels), own, rtol=1e-12)
    parts = table_of_items.values(point, labels, by_term=True)
    assert list(parts) == table_of_items.names
