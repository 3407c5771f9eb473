"""Labels summed out: value and gradient of what NUTS sees, against mixtures written by hand."""

import itertools

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
import xarray as xr
from pymc.distributions.dist_math import check_parameters

import pymc_nrm as nrm
from pymc_nrm.models.itemwise.summed_out import SummedOut, summed_out_total

N = 5
COVARIATES = np.random.default_rng(1).normal(size=(N, 2))
# The item of each row of the first likelihood: one, two, three or no rows for an item.
ITEMS = np.array([3, 0, 1, 0, 3, 3])
Y = np.array([0.3, -1.0, 2.0, 0.1, 1.2, -0.4])
# Item 1 has a missing value, which the model draws.
W = np.array([0.5, np.nan, -0.7, 1.1, 0.2])
BLOCKED = np.zeros((N, 3))
BLOCKED[2, 1] = -np.inf


def parameters(n_components):
    """Log weights, and means, scales and locations of the components; one of the locations is 0."""
    weights = pm.Normal("gate", 0.0, 1.0, shape=(2, n_components - 1)) if n_components > 1 else np.zeros((2, 0))
    log_weights = nrm.log_stick_breaking(pt.dot(COVARIATES, weights)) + BLOCKED[:, :n_components]
    spread = pm.HalfNormal("spread", 1.0)
    mean = pm.Normal("mean", 0.0, spread, shape=n_components)
    scale = pm.Gamma("scale", 2.0, 2.0, shape=n_components)
    location = pt.set_subtensor(pt.zeros(n_components)[1:], pm.Normal("location", shape=n_components - 1))
    return log_weights, mean, scale, location


def model_of(n_components):
    with pm.Model() as model:
        log_weights, mean, scale, location = parameters(n_components)
        z = nrm.Partition("z", log_weights=log_weights, n=N, max_clusters=n_components)
        pm.StudentT("y", 4.0, mu=mean[z][ITEMS], sigma=scale[z[ITEMS]], observed=Y)
        with pytest.warns(UserWarning, match="imput"):
            pm.Normal("w", location[z], 1.0, observed=W)
    return model


def by_hand(n_components):
    with pm.Model() as model:
        log_weights, mean, scale, location = parameters(n_components)
        missing = pm.Flat("w_unobserved", shape=1)
        w = pt.set_subtensor(pt.as_tensor(W)[[1]], missing)
        table = log_weights - pt.logsumexp(log_weights, axis=1, keepdims=True)
        rows = pm.logp(pm.StudentT.dist(4.0, mu=mean, sigma=scale), Y[:, None])
        of_items = [sum((rows[r] for r in range(len(Y)) if ITEMS[r] == i), pt.zeros(n_components)) for i in range(N)]
        table = table + pt.stack(of_items) + pm.logp(pm.Normal.dist(location, 1.0), w[:, None])
        pm.Potential("mixture", pt.log(pt.exp(table).sum(axis=1)).sum())
    return model


@pytest.mark.parametrize("n_components", [3, 1])
def test_the_target_is_a_mixture_written_by_hand(n_components):
    model, expected = model_of(n_components), by_hand(n_components)
    total = summed_out_total(model, [SummedOut(model, model["z"], model.initial_point())])

    ours, theirs = ([one.rvs_to_values[one[rv.name]] for rv in expected.free_RVs] for one in (model, expected))
    assert {value.name for value in ours} == {v.name for v in model.value_vars} - {"z"}
    mode = "FAST_COMPILE"
    found = pytensor.function(ours, [total, *pt.grad(total, ours)], mode=mode)
    logp = expected.logp()
    wanted = pytensor.function(theirs, [logp, *pt.grad(logp, theirs)], mode=mode)
    rng = np.random.default_rng(2)
    for _ in range(3):
        point = [rng.normal(size=np.shape(expected.initial_point()[value.name])) for value in theirs]
        for one, other in zip(found(*point), wanted(*point), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


@pytest.mark.slow
def test_a_model_without_labels_is_the_mixture_of_pymc():
    """As pm.NormalMixture, so that every sampler has the same posterior."""
    y = np.random.default_rng(3).normal(size=20)
    for n_components in (3, 8):
        with pm.Model() as model:
            share = pm.Dirichlet("share", np.ones(n_components))
            z = nrm.Partition("z", log_weights=pt.log(share), n=len(y))
            mean, sd = pm.Normal("mean", 0.0, 2.0, shape=n_components), pm.HalfNormal("sd", shape=n_components)
            pm.Normal("y", mean[z], sd[z], observed=y)
        with pm.Model() as expected:
            share = pm.Dirichlet("share", np.ones(n_components))
            mean, sd = pm.Normal("mean", 0.0, 2.0, shape=n_components), pm.HalfNormal("sd", shape=n_components)
            pm.NormalMixture("y", share, mean, sd, observed=y)
        summed = nrm.summed_out(model)
        values = [[one.rvs_to_values[one[name]] for name in ("share", "mean", "sd")] for one in (summed, expected)]
        functions = [
            pytensor.function(own, [one.logp(), *pt.grad(one.logp(), own)], mode="FAST_COMPILE")
            for one, own in zip((summed, expected), values, strict=True)
        ]
        start, rng = expected.initial_point(), np.random.default_rng(n_components)
        point = [rng.normal(size=np.shape(start[value.name])) for value in values[1]]
        for one, other in zip(functions[0](*point), functions[1](*point), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


V = np.array([0.3, -1.0, 2.0, 0.1])


def half_log_normal(z, mu, sigma):
    return (-0.5 * ((V - mu[z]) / sigma) ** 2).sum() - 4 * pt.log(sigma)


# Terms that are scalars, of which a part depends on no label, or that use labels for their shape alone.
SCALARS = {
    "potential": lambda z, mu, sigma: pm.Potential("lik", half_log_normal(z, mu, sigma)),
    "penalty": lambda z, mu, sigma: pm.Potential("pen", mu[z].sum() - 3 * sigma**2),
    "factor": lambda z, mu, sigma: pm.Potential("lik", sigma * ((-0.5 * (V - mu[z]) ** 2).sum() - 3.0)),
    "negative": lambda z, mu, sigma: pm.Potential("lik", -(sigma - mu[z].sum()) / 2.0 - (sigma**2 + mu.sum())),
    "checked": lambda z, mu, sigma: pm.Potential(
        "lik", check_parameters(half_log_normal(z, mu, sigma) - sigma, pt.gt(sigma, 0.0), pt.all(pt.lt(mu[z], 9.0)))
    ),
    "likelihood of the user": lambda z, mu, sigma: pm.CustomDist(
        "v",
        mu[z],
        sigma,
        logp=lambda v, m, s: (-0.5 * ((v - m) / s) ** 2).sum() - 4 * pt.log(s),
        signature="(n),()->(n)",
        observed=V,
    ),
    "shape": lambda z, mu, sigma: pm.Normal("w", 0.0, sigma * pt.ones_like(z), observed=V),
    "shape alone": lambda z, mu, sigma: pm.Normal("x", pt.zeros(z.shape), sigma, observed=V),
    "short integers": lambda z, mu, sigma: pm.Potential("p", sigma - pt.as_tensor(np.array([0, 1], "uint8"))[z].sum()),
    "multiples": lambda z, mu, sigma: pm.Potential("p", 2 * pt.as_tensor(np.array([0, 100], "int8"))[z].sum()),
    "truth values": lambda z, mu, sigma: pm.Potential("p", -pt.neq(z, [0, 1, 1, 0]).sum()),
    "several": lambda z, mu, sigma: [SCALARS[name](z, mu, sigma) for name in ("potential", "penalty", "shape alone")],
}


@pytest.mark.parametrize("add", SCALARS.values(), ids=SCALARS)
def test_the_sum_over_all_labels_is_enumerated(add):
    with pm.Model() as model:
        z = nrm.Partition("z", log_weights=np.log([0.4, 0.6]), n=4)
        mu, sigma = pm.Normal("mu", shape=2), pm.HalfNormal("sigma")
        pm.Normal("y", mu[z], 1.0, observed=V[::-1].copy())
        add(z, mu, sigma)
    assert_enumerated(model)


# What reads a variable whose labels are summed out, or a deterministic of it.
READERS = {
    "data": lambda y: pm.Normal("read", y, 2.0, observed=V),
    "potential": lambda y: pm.Potential("read", -((y - V) ** 2).sum()),
    "deterministic": lambda y: pm.Normal("read", pm.Deterministic("double", 2 * y), 2.0, observed=V),
    "latent": lambda y: pm.Normal("read", y[0], 2.0),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_what_reads_the_data_reads_them_still(read):
    with pm.Model() as model:
        z = nrm.Partition("z", log_weights=np.log([0.4, 0.6]), n=4)
        mu, sigma = pm.Normal("mu", shape=2), pm.HalfNormal("sigma")
        y = pm.Normal("y", mu[z], sigma, observed=V[::-1].copy())
        read(y)
    summed = assert_enumerated(model)
    assert {"y", "z"}.isdisjoint(summed.named_vars)


def assert_enumerated(model):
    summed = nrm.summed_out(model)
    assert {variable.name for variable in summed.free_RVs} - {"read"} == {"mu", "sigma"}
    joint, density = model.compile_logp(mode="FAST_COMPILE"), summed.compile_logp(mode="FAST_COMPILE")
    for values in ([0.2, -0.9, 0.3], [1.5, 0.1, -1.2]):
        point = {"mu": np.array(values[:2]), "sigma_log__": np.array(values[2])}
        point |= {"read": np.array(0.7)} if "read" in {variable.name for variable in summed.free_RVs} else {}
        every = [joint(point | {"z": np.array(labels)}) for labels in itertools.product(range(2), repeat=4)]
        assert density(point) == pytest.approx(np.logaddexp.reduce(every), rel=1e-9)
    return summed


def test_labels_of_two_partitions_in_one_term_are_not_drawn_apart():
    with pm.Model() as model:
        z, w = (nrm.Partition(name, log_weights=np.log([0.4, 0.6]), n=4) for name in "zw")
        mu, nu = pm.Normal("mu", shape=2), pm.Normal("nu", shape=2)
        pm.Normal("y", mu[z] + nu[w], 1.0, observed=V)
    posterior = xr.Dataset({name: (("chain", "draw", f"{name}_dim_0"), np.zeros((1, 3, 2))) for name in ("mu", "nu")})
    for function in (nrm.summed_out, lambda model: nrm.draw_labels(posterior, model, random_seed=1)):
        with pytest.raises(ValueError, match="'y' must depend on the labels of one partition"):
            function(model)


def test_items_of_rows_stay_when_data_change():
    """Labels are summed out for each item, so that rows that change their item would count for the old one."""
    rng, items = np.random.default_rng(5), np.array([0, 0, 1, 1, 2, 2])
    with pm.Model() as model:
        item, y = pm.Data("item", items), pm.Data("y_data", rng.normal(size=6))
        z = nrm.Partition("z", log_weights=np.log([0.3, 0.7]), n=3)
        pm.Normal("y", pt.as_tensor([-1.0, 1.0])[z[item]], pm.HalfNormal("sd"), observed=y)
    summed = nrm.summed_out(model)
    density = summed.compile_logp(mode="FAST_COMPILE")
    before = density(summed.initial_point())
    pm.set_data({"y_data": rng.normal(size=6)}, model=summed)
    assert density(summed.initial_point()) != before
    pm.set_data({"item": np.array([0, 1, 1, 1, 2, 2])}, model=summed)
    with pytest.raises(ValueError, match="'item' must not change, since it indexes labels of 'z'"):
        density(summed.initial_point())
