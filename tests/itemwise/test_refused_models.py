"""Models that use labels in a way that has no table: the error names the variable, the partition and the reason."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from itemwise_cases import CHEAP, COUNTS, LONG, SUBJECT, TIME, K, N, X, Y, normal, random_point
from pytensor.compile.ops import wrap_py

import pymc_nrm as nrm
from pymc_nrm.itemwise.item_table import ItemTable

REFUSED = {}


def refused(reason, name="y"):
    """Register a function of labels with what the error says and whom it is about."""

    def register(function):
        REFUSED[function.__name__] = function, reason, name
        return function

    return register


@refused("Eq combines labels of different items")
def covariance(z):
    together = pt.eq(z[:, None], z)
    pm.MvNormal("y", np.zeros(N), cov=0.5 * together + 0.5 * np.eye(N), observed=Y)


@refused("Sum runs over items before the log-probability")
def mean_of_all_items(z):
    pm.Normal("y", normal("mean")[z].mean(), 1, observed=Y)


@refused("Sum runs over items before the log-probability")
def counts(z):
    size = pt.eq(z[:, None], pt.arange(K)).sum(0)
    pm.Normal("y", normal("mean")[z], 1 / pt.sqrt(size[z]), observed=Y)


@refused("labels say which entries of a tensor are changed", "balance")
def counts_by_increments(z):
    pm.Potential("balance", -(pt.zeros(K)[z].inc(1.0) ** 2).sum())


@refused("Max runs over items before the log-probability", "few")
def largest_label(z):
    pm.Potential("few", -z.max().astype("float64"))


@refused("Sub combines labels of different items")
def differences_of_neighbours(z):
    mean = normal("mean")
    pm.Normal("y", mean[z[1:]] - mean[z[:-1]], 1, observed=np.diff(Y))


@refused("combines labels of different items")
def lagged_means(z):
    mean = normal("mean")[z]
    pm.Normal("y", mean + 0.5 * pt.concatenate([[0.0], mean[:-1]]), 1, observed=Y)


@refused("combines labels of different items")
def one_item_and_all(z):
    mean = normal("mean")
    pm.Normal("y", mean[z] - mean[z[0]], 1, observed=Y)


@refused("picked by an index that depends on 'subject', which is sampled")
def sampled_index(z):
    subject = pm.Categorical("subject", np.ones(N) / N, shape=8)
    pm.Normal("y", normal("mean")[z][subject], 1, observed=LONG)


@refused("picked by an index that depends on labels as well")
def labels_of_labels(z):
    pm.Normal("y", normal("mean")[z][z], 1, observed=Y)


@refused("CumOp runs over items|Cumsum runs over items")
def running_sums(z):
    pm.Normal("y", pt.cumsum(normal("mean")[z]), 1, observed=Y)


@refused("combines labels of different items")
def covariance_between_items(z):
    factor = np.linalg.cholesky(0.5 + 0.5 * np.eye(N))
    pm.MvNormal("y", normal("mean")[z], chol=factor, observed=Y)


@refused("Scan runs over items")
def autoregression_by_scan(z):
    path = pytensor.scan(lambda mean, last: 0.5 * last + mean, sequences=normal("mean")[z], outputs_info=pt.zeros(()))
    pm.Normal("y", path[0] if isinstance(path, tuple | list) else path, 1, observed=Y)


@refused("the hyperparameters of a Mixture are the same for all of its clusters")
def mixture_with_labels(z):
    nrm.Mixture("y", z, nrm.PoissonGamma(1.0, pt.exp(normal("rate")[z[0]])), observed=COUNTS)


@refused("the bounds of 'effect' depend on the labels of partition 'z'", "effect")
def bounds_of_a_latent_variable(z):
    pm.Uniform("effect", 0, pm.HalfNormal("upper", 1, shape=K)[z])


@refused("is an operation of which nothing shows that it keeps the labels of items apart")
def operation_of_the_user(z):
    pm.Potential("y", blind(normal("mean")[z]))


@wrap_py(itypes=[pt.dvector], otypes=[pt.dvector])
def blind(mean):
    return -(mean**2)


@refused("indexes 'mean' with the labels of partition 'z', which has 4 slots, but axis 0 has length 3")
def parameter_too_short(z):
    pm.Normal("y", pt.exp(normal("mean", 3))[z], 1, observed=Y)


@refused("indexes an array with the labels of partition 'z', which has 4 slots, but axis 1 has length 3")
def constant_too_short(z):
    pm.Normal("y", pt.as_tensor(np.eye(3))[normal("row", ()).astype("int64") * 0, z], 1, observed=Y)


@refused("indexes 'mean' with the labels of partition 'z', which has 4 slots, but axis 0 has length 6")
def parameter_too_long(z):
    pm.Normal("y", normal("shift", ()) + pt.exp(normal("mean", 6))[z], 1, observed=Y)


@refused("indexes 'scale' with the labels of partition 'z', which has 4 slots, but axis 1 has length 5")
def transformed_parameter_too_long(z):
    pm.Normal("y", 0, pm.HalfNormal("scale", 1, shape=(2, 5))[0, z], observed=Y)


@refused("an index that 'y' depends on is out of bounds")
def item_out_of_bounds(z):
    pm.Normal("y", normal("slope")[z][SUBJECT + 1] * TIME, 1, observed=LONG)


@refused("is NaN in every cluster for item 2 of partition 'z' where sampling starts")
def covariate_that_is_missing(z):
    pm.Normal("y", normal("slope")[z] * np.where(np.arange(N) == 2, np.nan, X), 1, observed=Y)


@refused("total_size of 'y' must be None, since it depends on the labels of partition 'z'")
def total_size(z):
    pm.Normal("y", normal("mean")[z], 1, observed=Y, total_size=100)


@refused("'y' uses pm.Minibatch")
def minibatch_of_covariates(z):
    pm.Normal("y", normal("mean")[z] * pm.Minibatch(X, batch_size=N), 1, observed=Y)


def given_values(z):
    return pm.Data("values", np.arange(6.0))[z] + normal("mean")[z] * pt.as_tensor(np.arange(6.0))[z]


def with_a_value_of_its_own(z):
    return pt.concatenate([normal("mean"), [0.0]])[z]


def two_labels_in_one(z):
    return normal("mean", 2 * K)[2 * z + np.arange(N) % 2]


@pytest.mark.parametrize("build", [given_values, with_a_value_of_its_own, two_labels_in_one])
def test_arrays_that_may_be_longer_than_max_clusters(build, rng):
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=N, max_clusters=K)
        pm.Normal("y", build(z), 1, observed=Y)
    ItemTable(model, z, K, random_point(model, rng), CHEAP)


@pytest.mark.parametrize("name", REFUSED)
def test_error(name, rng):
    build, reason, variable = REFUSED[name]
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=N, max_clusters=K)
        build(z)
    with pytest.raises(ValueError, match=reason) as raised:
        ItemTable(model, z, K, random_point(model, rng), CHEAP)
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
    with pytest.raises(ValueError, match="indexes 's' with the labels of partition 'z', but its axis 0"):
        ItemTable(model, model["z"], N, model.initial_point(), CHEAP)
    for dims, unnamed in (("cluster", []), (None, ["s"])):
        model = model_with_as_many_slots("item", dims, build)
        assert ItemTable(model, model["z"], N, model.initial_point(), CHEAP).unnamed == unnamed
