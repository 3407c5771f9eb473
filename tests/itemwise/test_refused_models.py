"""Models that use labels in a way that has no table: the error names the variable, the partition and the reason."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.distributions.dist_math import check_parameters
from pytensor.compile.ops import wrap_py

import pymc_nrm as nrm
from pymc_nrm.models.itemwise.item_table import ItemTable
from tests.itemwise.itemwise_cases import CHEAP, COUNTS, LONG, SUBJECT, TIME, K, N, X, Y, model_of, normal, random_point


@wrap_py(itypes=[pt.dvector], otypes=[pt.dvector])
def blind(mean):
    return -(mean**2)


def of_y(mean, observed=Y, sigma=1.0, **options):
    return pm.Normal("y", mean, sigma, observed=observed, **options)


def below_five_on_average(value, mean):
    return check_parameters(pm.logp(pm.Normal.dist(mean, 1.0), value), pt.lt(pt.mean(mean), 5.0))


def together(z):
    return 0.5 * pt.eq(z[:, None], z) + 0.5 * np.eye(N)


def one_item_and_all(z):
    mean = normal("mean")
    of_y(mean[z] - mean[z[0]])


def differences(z):
    mean = normal("mean")
    of_y(mean[z[1:]] - mean[z[:-1]], np.diff(Y))


def lagged(z):
    mean = normal("mean")[z]
    of_y(mean + 0.5 * pt.concatenate([[0.0], mean[:-1]]))


def sampled_index(z):
    of_y(normal("mean")[z][pm.Categorical("subject", np.ones(N) / N, shape=8)], LONG)


def scanned(z):
    path = pytensor.scan(lambda mean, last: 0.5 * last + mean, sequences=normal("mean")[z], outputs_info=pt.zeros(()))
    of_y(path[0] if isinstance(path, tuple | list) else path)


FACTOR = np.linalg.cholesky(0.5 + 0.5 * np.eye(N))
SIX = np.arange(6.0)
# Functions of labels that add variables to a model, what the error says, and which variable it names, by default y.
REFUSED = {
    "covariance": (lambda z: pm.MvNormal("y", np.zeros(N), cov=together(z), observed=Y), "Eq combines labels"),
    "mean of all items": (lambda z: of_y(normal("mean")[z].mean()), "Sum combines items before the log-probability"),
    "counts": (
        lambda z: of_y(normal("mean")[z], sigma=1 / pt.sqrt(pt.eq(z[:, None], pt.arange(K)).sum(0)[z])),
        "Sum combines items before the log-probability",
    ),
    "counts by increments": (
        lambda z: pm.Potential("balance", -(pt.zeros(K)[z].inc(1.0) ** 2).sum()),
        "labels determine which entries of a tensor are set",
        "balance",
    ),
    "largest label": (lambda z: pm.Potential("few", -z.max().astype("float64")), "Max combines items", "few"),
    "differences": (differences, "Sub combines labels of different items"),
    "lagged": (lagged, "combines labels of different items"),
    "one item and all": (one_item_and_all, "combines labels of different items"),
    "sampled index": (sampled_index, "an index that depends on 'subject', which is sampled, selects"),
    "labels of labels": (
        lambda z: of_y(normal("mean")[z][z]),
        "an index that depends on labels selects among values that depend on labels",
    ),
    "running sums": (lambda z: of_y(pt.cumsum(normal("mean")[z])), "CumOp combines items|Cumsum combines items"),
    "covariance between items": (
        lambda z: pm.MvNormal("y", normal("mean")[z], chol=FACTOR, observed=Y),
        "combines labels of different items",
    ),
    "autoregression by scan": (scanned, "Scan combines items"),
    "mixture with labels": (
        lambda z: nrm.Mixture("y", z, nrm.PoissonGamma(1.0, pt.exp(normal("rate")[z[0]])), observed=COUNTS),
        "the hyperparameters of a Mixture are the same for all of its clusters",
    ),
    "bounds of a latent variable": (
        lambda z: pm.Uniform("effect", 0, pm.HalfNormal("upper", 1, shape=K)[z]),
        "the bounds of 'effect' must not depend on the labels of partition 'z'",
        "effect",
    ),
    "operation of the user": (
        lambda z: pm.Potential("y", blind(normal("mean")[z])),
        "may combine labels of different items",
    ),
    "too short": (
        lambda z: of_y(pt.exp(normal("mean", 3))[z]),
        "axis 0 of 'mean' must have the length of max_clusters, 4, .* partition 'z'; got 3",
    ),
    "constant too short": (
        lambda z: of_y(pt.as_tensor(np.eye(3))[normal("row", ()).astype("int64") * 0, z]),
        "axis 1 of an array must have the length of max_clusters, 4, .* partition 'z'; got 3",
    ),
    "too long": (
        lambda z: of_y(normal("shift", ()) + pt.exp(normal("mean", 6))[z]),
        "axis 0 of 'mean' must have the length of max_clusters, 4, .* partition 'z'; got 6",
    ),
    "transformed parameter too long": (
        lambda z: of_y(0, sigma=pm.HalfNormal("scale", 1, shape=(2, 5))[0, z]),
        "axis 1 of 'scale' must have the length of max_clusters, 4, .* partition 'z'; got 5",
    ),
    "item out of bounds": (
        lambda z: of_y(normal("slope")[z][SUBJECT + 1] * TIME, LONG),
        "an index on which 'y' depends is out of bounds",
    ),
    "covariate that is missing": (
        lambda z: of_y(normal("slope")[z] * np.where(np.arange(N) == 2, np.nan, X)),
        "is NaN in every cluster for item 2 of partition 'z' at the initial point",
    ),
    "a constraint on two items": (
        lambda z: pm.Potential("apart", check_parameters(pt.constant(0.0), pt.neq(z[0], z[1]))),
        "a condition combines labels of several items",
        "apart",
    ),
    "a constraint on one item": (
        lambda z: pm.Potential("not_first", check_parameters(pt.constant(0.0), pt.neq(z[0], 0))),
        "a condition depends on labels of other items than the values it is about",
        "not_first",
    ),
    "a condition on the mean of all items": (
        lambda z: pm.CustomDist("y", normal("mean")[z], logp=below_five_on_average, observed=Y),
        "a condition combines labels of several items",
    ),
    "a condition on items in another order": (
        lambda z: pm.Potential("y", check_parameters(normal("mean")[z], pt.lt(normal("bound")[z[::-1]], X))),
        "a condition depends on labels of other items than the values it is about",
    ),
    "total size": (
        lambda z: of_y(normal("mean")[z], total_size=100),
        "total_size of 'y' must be None, since it depends on the labels of partition 'z'",
    ),
    "minibatch": (lambda z: of_y(normal("mean")[z] * pm.Minibatch(X, batch_size=N)), "'y' must not use pm.Minibatch"),
}
LONGER = {
    "given values": lambda z: pm.Data("values", SIX)[z] + normal("mean")[z] * pt.as_tensor(SIX)[z],
    "a value of its own": lambda z: pt.concatenate([normal("mean"), [0.0]])[z],
    "two labels in one": lambda z: normal("mean", 2 * K)[2 * z + np.arange(N) % 2],
}


@pytest.mark.parametrize("build", LONGER.values(), ids=LONGER)
def test_arrays_that_may_be_longer_than_max_clusters(build, rng):
    model = model_of(lambda z: of_y(build(z)))
    ItemTable(model, model["z"], K, random_point(model, rng), CHEAP)


@pytest.mark.parametrize(("build", "reason", "variable"), [(*row, "y")[:3] for row in REFUSED.values()], ids=REFUSED)
def test_error(build, reason, variable, rng):
    model = model_of(build)
    with pytest.raises(ValueError, match=reason) as raised:
        ItemTable(model, model["z"], K, random_point(model, rng), CHEAP)
    assert repr(variable) in str(raised.value)
    assert "'z'" in str(raised.value) or "out of bounds" in str(raised.value)


def model_with_as_many_slots(dims_of_items, dims_of_parameter, build):
    with pm.Model(coords={"item": range(N), "cluster": range(N)}) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=N, dims=dims_of_items, max_clusters=N)
        pm.Normal("y", build(pm.Normal("s", dims=dims_of_parameter, shape=N), z), 1, observed=Y)
    return model


@pytest.mark.parametrize("build", [lambda s, z: s[z], lambda s, z: pt.exp(s)[z] + 1])
def test_as_many_items_as_slots(build):
    model = model_with_as_many_slots("item", "item", build)
    with pytest.raises(ValueError, match="axis 0 of 's' must not be the dimension 'item' .* labels of partition 'z'"):
        ItemTable(model, model["z"], N, model.initial_point(), CHEAP)
    for dims, unnamed in (("cluster", []), (None, ["s"])):
        model = model_with_as_many_slots("item", dims, build)
        assert ItemTable(model, model["z"], N, model.initial_point(), CHEAP).unnamed == unnamed
