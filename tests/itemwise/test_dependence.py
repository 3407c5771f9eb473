"""What depends on the label of which item, and which parameters of slots the rest of a model ties together."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.distributions import transforms
from pytensor.compile.ops import wrap_py
from pytensor.scalar import basic as scalar_basic
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.special import log_softmax

import pymc_nrm as nrm
from pymc_nrm.models.itemwise.flow import LabelFlow, PresentValues
from pymc_nrm.models.itemwise.graphs import expanded
from pymc_nrm.models.itemwise.item_table import computed_by_slot
from pymc_nrm.models.itemwise.local_variables import always_holds, local_variables
from pymc_nrm.models.itemwise.rules import NotItemwise
from tests.itemwise.itemwise_cases import SUBJECT, K, N, X, model_of, normal

Y = np.linspace(-1.0, 1.0, N)


@wrap_py(itypes=[pt.dvector], otypes=[pt.dvector])
def of_the_user(mu):
    return mu


def scanned(mu):
    return pytensor.scan(lambda one, last: last + one, sequences=mu, outputs_info=pt.zeros(()), return_updates=False)


# Functions of the parameters of slots whose sum is a term of the log-probability.
TIES = {
    "hinge": lambda mu: -3 * pt.maximum(mu[0] - mu[1], 0.0),
    "hinge far away": lambda mu: -3 * pt.maximum(mu[0] - mu[1] - 1e3, 0.0),
    "order": lambda mu: pt.switch(pt.all(mu[1:] > mu[:-1]), 0.0, -np.inf),
    "soft order": lambda mu: pt.switch(pt.all(mu[1:] > mu[:-1]), 0.0, -20.0),
    "largest": lambda mu: -5 * pt.maximum(pt.abs(mu) - 4, 0.0).max(),
    "sum": lambda mu: -2 * pt.maximum(mu.sum() - 12, 0.0),
    "every entry": lambda mu: -(mu**2),
    "one entry": lambda mu: -(mu[2] ** 2),
    "last entry": lambda mu: -(mu[-1] ** 2),
    "entries of some": lambda mu: -(mu[np.array([0, 3])] ** 2),
    "mask": lambda mu: mu[np.array([True, False, True, False])],
    "slice": lambda mu: mu[1:3],
    "differences": lambda mu: -pt.abs(mu[1:] - mu[:-1]),
    "pairs": lambda mu: -pt.exp(-((mu[:, None] - mu[None, :]) ** 2)),
    "mean": lambda mu: mu.mean(),
    "product": lambda mu: mu.prod(),
    "largest of all": lambda mu: mu.max(),
    "smallest of all": lambda mu: mu.min(),
    "argmax": lambda mu: pt.argmax(mu).astype("float64"),
    "sorted": lambda mu: pt.sort(mu)[0],
    "sorted by": lambda mu: pt.argsort(mu).astype("float64")[0],
    "cumulative": lambda mu: pt.cumsum(mu),
    "softmax": lambda mu: pt.special.softmax(mu)[0],
    "log of sums": lambda mu: pt.logsumexp(mu),
    "inner product": lambda mu: pt.dot(mu, mu),
    "matrix": lambda mu: pt.dot(np.ones((2, K)), mu),
    "quadratic form": lambda mu: mu @ (0.5 * np.eye(K) + 0.5) @ mu,
    "any": lambda mu: pt.switch(pt.any(mu > 100), -np.inf, 0.0),
    "number above": lambda mu: -(mu > 50).sum().astype("float64"),
    "number by shape": lambda mu: -1.0 * pt.nonzero(mu > 50)[0].shape[0],
    "picked by itself": lambda mu: mu[(mu > 0).astype("int64")],
    "determinant": lambda mu: pt.log(1 + pt.linalg.det(pt.diag(mu)) ** 2),
    "reversed": lambda mu: mu * mu[::-1],
    "rolled": lambda mu: mu * pt.roll(mu, 1),
    "set": lambda mu: pt.set_subtensor(pt.zeros(K)[:1], mu[1:2]),
    "increased": lambda mu: pt.inc_subtensor(pt.zeros(2)[0], mu[1]),
    "joined": lambda mu: pt.concatenate([mu, mu]).sum(),
    "reshaped": lambda mu: mu.reshape((2, 2)).sum(0),
    "scan": scanned,
    "operation of the user": of_the_user,
    "scaled to nothing": lambda mu: 1e-300 * mu.sum(),
    "rounded": lambda mu: -pt.floor(pt.abs(mu.sum()) / 1e6),
    "condition": lambda mu: pm.logp(pm.Normal.dist(0, mu + 100.0), np.zeros(K)),
    "size of clusters": lambda mu: pt.switch(mu.sum() > 1e5, -1.0, 0.0),
}


def add_tied(z, tie, term):
    mu, free = pm.Normal("mu", 0, 2, shape=K), normal("free")
    if term == "potential":
        pm.Potential("tie", tie(mu))
    elif term == "variable":
        pm.Normal("tied", tie(mu).sum(), 1)
    pm.Normal("y", mu[z] + free[z] + (tie(mu).sum() if term == "likelihood" else 0.0), 1, observed=Y)


@pytest.mark.every(2)
@pytest.mark.parametrize("term", ["potential", "likelihood", "variable"])
@pytest.mark.parametrize("name", TIES)
def test_slots_that_are_tied(name, term):
    assert names(model_of(lambda z: add_tied(z, TIES[name], term))) == ["free"]


def names(model):
    return [rv.name for rv in local_variables(model, model["z"], K, model.initial_point())]


# Ways to read parameters at labels only.
READ = {
    "labels": lambda mu, z: mu[z],
    "rows of items": lambda mu, z: mu[z][np.arange(N)[::-1]],
    "labels of some items": lambda mu, z: mu[z[np.array([0, 2, 2, 1, 4])]],
    "function before": lambda mu, z: pt.exp(mu)[z],
    "function after": lambda mu, z: pt.exp(mu[z]) + 1,
    "take": lambda mu, z: pt.take(mu, z),
    "sum over items": lambda mu, z: mu[z].sum() + pt.zeros(N),
    "all pairs of items": lambda mu, z: (mu[z][:, None] * mu[z]).sum(1),
    "single labels": lambda mu, z: pt.stack([mu[z[i]] for i in range(N)]),
    "matrix of labels": lambda mu, z: mu[z[:, None]][:, 0],
    "centred": lambda mu, z: mu[z] - mu[z].mean(),
    "two columns": lambda mu, z: pt.stack([mu, mu**2], axis=1)[z, np.array([0, 1, 0, 1, 1])],
    "across": lambda mu, z: pt.stack([mu, mu**2])[:, z].sum(0),
    "small labels": lambda mu, z: mu[z.astype("int8")],
    "repeated": lambda mu, z: mu[pt.repeat(z, 2)].reshape((N, 2)).sum(1),
}

NOT_READ_AT_LABELS = {
    "other entry": lambda mu, z: mu[(z + 1) % K],
    "from the end": lambda mu, z: mu[::-1][z],
    "half of the labels": lambda mu, z: mu[z // 2],
    "by equality": lambda mu, z: pt.eq(z[:, None], np.arange(K)) @ mu,
    "largest label": lambda mu, z: mu[: z.max() + 1].sum() + pt.zeros(N),
    "chosen label": lambda mu, z: mu[pt.switch(z > 0, z, 3)],
    "data": lambda mu, z: mu[pm.Data("which", np.array([0, 1, 2, 3, 3]))] + 0.0 * z,
}


@pytest.mark.parametrize("name", [*READ, *NOT_READ_AT_LABELS])
def test_ways_to_read_parameters(name):
    model = model_of(lambda z: pm.Normal("y", (READ | NOT_READ_AT_LABELS)[name](normal("mu"), z), 1, observed=Y))
    assert names(model) == (["mu"] if name in READ else [])


@pytest.mark.slow
def test_priors_that_keep_slots_apart():
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=N, max_clusters=K)
        tau = pm.HalfNormal("tau", 1)
        scale = pm.LogNormal("scale", 0, 1, shape=K)
        pm.Gamma("gamma", 2, scale, shape=K)
        pm.Beta("beta", scale, 1 + scale, shape=K)
        pm.Uniform("uniform", 0, scale, shape=K)
        pm.Truncated("truncated", pm.Normal.dist(0, tau), lower=0, shape=K)
        pm.StudentT("t", nu=3, mu=0, sigma=pt.sqrt(scale) / (1 + scale), shape=K)
        chol, _, _ = pm.LKJCholeskyCov("chol", 2, n=2, sd_dist=pm.HalfNormal.dist(1))
        vectors = pm.MvNormal("vectors", np.zeros(2), chol=chol, shape=(K, 2))
        pm.Dirichlet("shares", np.ones(3), shape=(K, 3))
        pm.Normal("row", pt.sort(vectors, axis=1)[:, 0], 1, shape=K)
        pm.MvNormal("y", vectors[z], chol=chol, observed=np.c_[Y, Y])
    expected = ["scale", "gamma", "beta", "uniform", "truncated", "t", "vectors", "shares", "row"]
    assert names(model) == expected


def test_priors_that_tie_slots():
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=N, max_clusters=K)
        sign = pm.Normal("sign", 1, 1, shape=K)
        pm.Normal("of any sign", 0, sign, shape=K, initval=np.zeros(K))
        pm.Dirichlet("weights", np.ones(K))
        pm.GaussianRandomWalk("walk", 0, 1, init_dist=pm.Normal.dist(), shape=K)
        pm.MvNormal("field", np.zeros(K), 0.5 * np.eye(K) + 0.5)
        pm.Flat("flat", shape=K)
        pm.ZeroSumNormal("sum to zero", shape=K)
        pm.Normal("ordered", shape=K, transform=transforms.ordered, initval=np.arange(1.0 * K))
        pm.Normal("second", pm.Normal("first", shape=K)[::-1], 1, shape=K)
        pm.Uniform("bounded", 0, pm.Normal("upper", 5, 1, shape=K), shape=K)
        pm.Normal("y", sign[z], 1, observed=Y)
    # Given upper bounds or the first variable, those that depend on them are drawn one by one.
    assert names(model) == ["of any sign", "second", "bounded"]


# Half of these draws have no value, or a density that the model does not say.
CUT = {
    "in order": lambda: pm.Normal(
        "mu", shape=(K, 3), transform=transforms.ordered, initval=np.ones((K, 1)) * [0.0, 1.0, 2.0]
    ),
    "positive": lambda: pm.Normal("mu", shape=K, transform=transforms.log, initval=np.ones(K)),
    "below a half": lambda: pm.Beta("mu", 1, 1, shape=K, default_transform=transforms.Interval(0, 0.5)),
    "a chain": lambda: pm.LogNormal("mu", shape=K, transform=transforms.Interval(-1, 1)),
    "a density alone": lambda: pm.CustomDist("mu", 0.0, logp=lambda value, mu: -abs(value - mu), shape=K),
}


@pytest.mark.parametrize("name", CUT)
def test_priors_that_transforms_cut_are_left_to_nuts(name):
    def observed(z):
        mu = CUT[name]()
        return pm.Normal("y", mu[z, 0] if mu.ndim > 1 else mu[z], 1, observed=Y)

    assert names(model_of(observed)) == []


def test_as_many_items_as_slots():
    model = model_of(lambda z: pm.Normal("latent", normal("mean")[z], 1, shape=K), n=K)
    assert names(model) == ["mean"]


RNG = np.random.default_rng(4)
VECTOR, MATRIX, CUBE = (pt.constant(RNG.normal(size=shape)) for shape in [K, (K, 3), (K, 2, 3)])
SQUARE = pt.constant(RNG.normal(size=(K, 3, 3)))
WEIGHTS = RNG.normal(size=(6, 3))


def scan(step, sequences, outputs_info, non_sequences=None, n_steps=None):
    return pytensor.scan(step, sequences, outputs_info, non_sequences, n_steps, return_updates=False)


# Functions of labels.
FOLLOWED = {
    "index in front": lambda z: MATRIX[z],
    "index of a later axis": lambda z: CUBE.transpose(1, 0, 2)[:, z],
    "indices that are apart": lambda z: CUBE.transpose(0, 2, 1)[z, :, np.array([0, 1, 1, 0, 1])],
    "index of two dimensions": lambda z: VECTOR[z[np.array([[0, 1], [4, 2]])]],
    "slices": lambda z: MATRIX[z][1:4:2, ::-1],
    "single column": lambda z: MATRIX[z][:, 1],
    "columns": lambda z: MATRIX[z][:, np.array([0, 2])],
    "columns of a picked row": lambda z: CUBE[z][2][:, np.array([[0, 2, 1], [1, 1, 1]])],
    "entries of a picked row": lambda z: CUBE[z][:, np.array([0, 1, 1]), np.array([2, 0, 1])],
    "new axes": lambda z: VECTOR[z][None, :, None] * X[:, None, None],
    "row of another axis": lambda z: MATRIX.T[:, z].T[SUBJECT],
    "mask": lambda z: MATRIX[z][np.array([True, False, True, True, False])],
    "mask of both axes": lambda z: MATRIX[z][np.arange(15).reshape(5, 3) % 2 == 0],
    "only the shape": lambda z: pt.zeros_like(VECTOR[z]) + X,
    "filled": lambda z: pt.second(VECTOR[z[::-1]], VECTOR[z]),
    "switch": lambda z: pt.switch(z > 1, X, VECTOR[z]),
    "product on the left": lambda z: pt.dot(MATRIX[z], WEIGHTS.T),
    "product on the right": lambda z: pt.dot(WEIGHTS, MATRIX[z].T),
    "batched product": lambda z: CUBE[z] @ WEIGHTS.T,
    "batched product on the right": lambda z: WEIGHTS[:3, None, :2] @ CUBE[z[:3]],
    "solved": lambda z: pt.linalg.solve(SQUARE[z], MATRIX[z][:, :, None]),
    "determinant": lambda z: pt.linalg.det(SQUARE[z]),
    "diagonal": lambda z: pt.diagonal(SQUARE[z], axis1=1, axis2=2),
    "diagonal of items": lambda z: pt.diagonal(VECTOR[z][:, None] * X),
    "reduced": lambda z: CUBE[z].max(axis=(1, 2)) - CUBE[z].prod(2).sum(1),
    "keeps dimensions": lambda z: MATRIX[z] / MATRIX[z].sum(1, keepdims=True),
    "softmax": lambda z: log_softmax(MATRIX[z], axis=1),
    "log of sums": lambda z: pt.logsumexp(MATRIX[z], axis=1),
    "sorted": lambda z: pt.sort(MATRIX[z], axis=1),
    "cumulative": lambda z: pt.cumsum(MATRIX[z], axis=1),
    "largest": lambda z: pt.argmax(MATRIX[z], axis=1),
    "joined along items": lambda z: pt.concatenate([VECTOR[z], X, VECTOR[z[2:]]]),
    "joined along another axis": lambda z: pt.concatenate([MATRIX[z], np.ones((N, 1))], axis=1),
    "stacked": lambda z: pt.stack([VECTOR[z], VECTOR[z] ** 2, X]),
    "scalars": lambda z: pt.stack([VECTOR[z[3]], pt.constant(1.0), VECTOR[z[0]]]),
    "split": lambda z: pt.split(VECTOR[z], splits_size=[2, 3], n_splits=2)[1],
    "split of another axis": lambda z: pt.split(MATRIX[z], splits_size=[1, 2], n_splits=2, axis=1)[0],
    "reshaped": lambda z: MATRIX[z].reshape((3, 5)),
    "one dimension": lambda z: MATRIX[z].ravel(),
    "repeated": lambda z: pt.repeat(VECTOR[z], np.array([1, 0, 2, 1, 3])),
    "allocated": lambda z: pt.alloc(VECTOR[z], 2, N),
    "set": lambda z: pt.set_subtensor(MATRIX[z][:, 1], X),
    "set from others": lambda z: pt.set_subtensor(pt.zeros((N, 2))[1:3, 0], VECTOR[z][3:]),
    "increased": lambda z: pt.inc_subtensor(pt.zeros(7)[np.array([6, 0, 2, 1, 3])], VECTOR[z]),
    "increased twice by one item": lambda z: MATRIX[z][:, :1] + pt.inc_subtensor(MATRIX[z][1:3], 1.0)[:, 1:],
    "one-hot": lambda z: pt.eq(z[:, None], np.arange(K)) @ MATRIX,
    "all of one item": lambda z: pt.linalg.inv(SQUARE[z[2]]),
    "scan over sequences": lambda z: scan(lambda x, last: last * x + 1.0, MATRIX[z].T, [VECTOR[z]]),
    "scan over constants": lambda z: scan(lambda x, last, mean: last * x + mean, X, [pt.zeros(N)], VECTOR[z])[:, 1:],
    "scan with two taps": lambda z: scan(
        lambda a, b, mean: a - b * mean, None, [{"initial": pt.ones((2, N)), "taps": [-2, -1]}], VECTOR[z], 4
    ),
    "scan without a state": lambda z: scan(lambda x: pt.exp(x), MATRIX[z].T, [None]),
}


def followed(z, graph):
    return LabelFlow({z: np.arange(N)}, PresentValues({z: np.zeros(N, dtype="int64")}))(*expanded([graph]))


def value(z, graph, labels):
    return PresentValues({z: labels})(*expanded([graph]))


def changes(z, graph):
    """Whether entries change with the label of each item, shape (N, ...)."""
    found = []
    for i in range(N):
        labels = [np.full(N, 1) for _ in range(K)]
        for slot in range(K):
            labels[slot][i] = slot
        values = np.array([value(z, graph, one) for one in labels])
        found.append((values != values[0]).any(axis=0))
    return np.array(found)


@pytest.mark.parametrize("name", FOLLOWED)
def test_rule(name):
    z = pt.lvector("z")
    graph = FOLLOWED[name](z)
    items = followed(z, graph)
    found = changes(z, graph)
    if items is None:
        assert not found.any()
        return
    assert items.ndim == graph.ndim
    items = np.broadcast_to(items, found.shape[1:])
    for i in range(N):
        # An entry may not change because values are equal by chance, or constant.
        assert not (found[i] & (items != i)).any()
        assert found[i].any() or not (items == i).any() or name in ("largest", "joined along another axis")


@pytest.mark.parametrize("name", FOLLOWED)
def test_functions_before_the_index_have_the_same_values(name, rng):
    z = pt.lvector("z")
    graph = pt.exp(0.5 * FOLLOWED[name](z)) * 3 - 1
    [lifted] = computed_by_slot([graph])
    for labels in rng.integers(0, K, (4, N)):
        np.testing.assert_allclose(value(z, lifted, labels), value(z, graph, labels), rtol=1e-13)


def test_functions_of_several_indexed_parameters(rng):
    z, w = pt.lvector("z"), pt.lvector("w")
    other = pt.constant(rng.normal(size=K))
    graphs = [VECTOR[z] * other[w], VECTOR[z] * other[z] + 1, VECTOR[z] + other[z[::-1]], MATRIX[z, w % 3] * VECTOR[z]]
    for labels, more in rng.integers(0, K, (4, 2, N)):
        for graph, lifted in zip(graphs, computed_by_slot(graphs), strict=True):
            values = [PresentValues({z: labels, w: more})(one) for one in (graph, lifted)]
            np.testing.assert_allclose(values[1], values[0], rtol=1e-14)
    names = [str(graph.owner.op).split("{")[0] for graph in computed_by_slot(graphs)]
    assert names == ["Mul", "AdvancedSubtensor", "Add", "Mul"]


UNDECIDED = {
    "number of different labels": lambda z: X * pt.unique(z).shape[0],
    "items of a cluster": lambda z: X * pt.nonzero(pt.eq(z, 0))[0].shape[0],
    "mask by labels": lambda z: X * VECTOR[z][pt.gt(z, 1)].shape[0],
    "length by a label": lambda z: X * pt.arange(z[0] + z[1]).shape[0],
    "slice by labels": lambda z: X * pt.as_tensor(X)[: z[0]].shape[0],
    "filled to a label": lambda z: pt.alloc(VECTOR[z[1]], z[0]),
    "ones for each different label": lambda z: X * pt.ones_like(pt.unique(z)).sum(),
    "choice": lambda z: pt.choose(z, VECTOR),
}


@pytest.mark.parametrize("name", UNDECIDED)
def test_shapes_by_labels_and_operations_without_a_rule(name):
    z = pt.lvector("z")
    with pytest.raises(NotItemwise):
        followed(z, UNDECIDED[name](z))


def test_shapes_that_labels_do_not_change():
    z, x = pt.lvector("z"), pt.vector("x")
    for graph in (x[z].shape[0], x[z][:, None].sum(1).shape, pt.logsumexp(x[z], axis=0).shape, x[z][1:].shape):
        present = PresentValues({z: np.zeros(N, dtype="int64"), x: np.zeros(K)})
        assert LabelFlow({z: np.arange(N)}, present)(*expanded([graph])) is None


MIXED = {
    "Sum": lambda z: MATRIX[z].sum(0),
    "Dot": lambda z: pt.dot(MATRIX[z].T, WEIGHTS[:5]),
    "Cumsum": lambda z: pt.cumsum(MATRIX[z], axis=0),
    "Sort": lambda z: pt.sort(VECTOR[z]),
    "Argmax": lambda z: pt.argmax(MATRIX[z], axis=0),
    "Cholesky": lambda z: pt.linalg.cholesky(VECTOR[z] * VECTOR[z][:, None]),
    "Mul": lambda z: VECTOR[z] * VECTOR[z][:, None],
    "indexing": lambda z: MATRIX[z, z[::-1] % 3],
    "selects among": lambda z: VECTOR[z][z],
    "Add": lambda z: scan(lambda last: last + last[::-1], None, [VECTOR[z]], n_steps=2),
    "Scan": lambda z: scan(lambda x, last: 0.5 * last + x, VECTOR[z], [pt.zeros(())]),
}


@pytest.mark.parametrize("name", MIXED)
def test_labels_of_several_items(name):
    z = pt.lvector("z")
    with pytest.raises(NotItemwise, match=name if name != "Cholesky" else "Mul"):
        followed(z, MIXED[name](z))


class Lowered(scalar_basic.Exp):
    """A subclass of an operation that is positive, which is not."""

    def impl(self, x):
        return super().impl(x) - 5.0


def test_a_subclass_of_an_operation_does_not_pass_for_it():
    x = pt.dscalar()
    own = Elemwise(Lowered(scalar_basic.upgrade_to_float, name="exp"))
    assert always_holds(pt.exp(x) > 0.0)
    assert not always_holds(own(x) > 0.0)
