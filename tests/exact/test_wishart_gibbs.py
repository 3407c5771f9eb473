"""The joint law of partitions and learned hyperparameters, against enumeration of the former and weighted draws of the
latter from their prior; and which priors the step takes.
"""

from functools import partial

import numpy as np
import pymc as pm
import pytest
from scipy.special import gammaln

import pymc_nrm as nrm
from pymc_nrm.families.principal_normal_wishart import PrincipalNormalWishart
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.models.learned_wishart import learned_wisharts
from pymc_nrm.partitions.labels import all_partitions, label_counts
from pymc_nrm.run import slot_steps
from pymc_nrm.run.slot_steps import wishart_variables
from pymc_nrm.testing import largest_z, mean_and_error

X = np.array([[0.2, -0.4], [0.9, 1.8], [2.1, 0.7], [5.9, 4.1]])
MEASURE = nrm.NormalizedGeneralizedGamma(1.3, 0.3)
NAMES = ("x_share", "x_kappa", "x_excess", "x_squared_pivot", "x_below_pivot")


def make_model(d=2, **options):
    values = X[:, :d]
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURE, n=4, **options)
        nrm.Mixture("x", z, nrm.NormalWishart.learned("x", values), observed=values)
    return model


def statistics(share, kappa, excess, squares, below):
    """First and second moments of hyperparameters without bounds; squares and below have a last axis."""
    logs = [np.log(share), np.log(kappa), np.log(excess), *np.moveaxis(np.log(squares), -1, 0)]
    x = np.stack([*logs, *np.moveaxis(below, -1, 0)], axis=-1)
    return np.concatenate([x, x**2, x[..., :1] * x[..., 1:3]], axis=-1)


def log_marginal(rows, mu, kappa, Psi, nu):
    """Log marginals (m,) of a cluster by Murphy (2007), eq. 266, for m values of the hyperparameters but mu."""
    n, d = rows.shape
    mean = rows.mean(axis=0)
    scatter = (rows - mean).T @ (rows - mean) + (kappa * n / (kappa + n))[:, None, None] * np.outer(
        mean - mu, mean - mu
    )
    half = (nu + n) / 2
    log_gammas = sum(gammaln(half - i / 2) - gammaln(nu / 2 - i / 2) for i in range(d))
    return (
        -n * d / 2 * np.log(np.pi)
        + d / 2 * np.log(kappa / (kappa + n))
        + nu / 2 * np.linalg.slogdet(Psi)[1]
        - half * np.linalg.slogdet(Psi + scatter)[1]
        + log_gammas
    )


def exact(d, n_draws):
    """All partitions, their probabilities, the mean of each statistic, and Monte Carlo errors of both."""
    rng, values = np.random.default_rng(3), X[:, :d]
    share, kappa, excess = (np.exp(rng.normal(mean, 1.0, n_draws)) for mean in (-1.0, -3.0, 1.5))
    squares, below = rng.chisquare(d + 2 - np.arange(d), (n_draws, d)), rng.normal(size=(n_draws, d * (d - 1) // 2))
    T = np.zeros((n_draws, d, d))
    T[:, range(d), range(d)] = np.sqrt(squares)
    T[:, *np.tril_indices(d, -1)] = below
    root = np.linalg.cholesky(np.cov(values, rowvar=False).reshape(d, d)) @ T / np.sqrt(d + 2)
    Psi = (share * excess)[:, None, None] * root @ np.swapaxes(root, 1, 2)
    drawn, partitions, blocks = statistics(share, kappa, excess, squares, below), all_partitions(4), {}
    for block in {tuple(np.flatnonzero(labels == k)) for labels in partitions for k in range(labels.max() + 1)}:
        blocks[block] = log_marginal(values[list(block)], values.mean(axis=0), kappa, Psi, d + 1.0 + excess)
    weights = [
        np.exp(
            log_eppf(MEASURE, label_counts(labels))
            + sum(blocks[tuple(np.flatnonzero(labels == k))] for k in range(labels.max() + 1))
        )
        for labels in partitions
    ]
    total = np.sum(weights, axis=0)
    p, mean = np.mean(weights, axis=1) / total.mean(), total @ drawn / total.sum()
    # Errors of ratios of means.
    of_p = [(one / total.mean() - total / total.mean() * q).std() for one, q in zip(weights, p, strict=True)]
    of_mean = ((drawn - mean) * (total / total.mean())[:, None]).std(axis=0)
    return partitions, p, mean, *(np.array(one) / np.sqrt(n_draws) for one in (of_p, of_mean))


def run(model, seed, draws, **options):
    rng, labels, drawn = np.random.default_rng(seed), [], []
    with model:
        steps = [nrm.MarginalGibbs([model["z"]], rng=1), nrm.WishartGibbs(rng=1, **options)]
    for step in steps:
        step.setup_chain(rng.spawn(1)[0], 0, draws)
    point = model.initial_point() | {"z": np.arange(4) if seed % 2 else np.zeros(4, dtype=int)}
    for _ in range(draws):
        for step in steps:
            point, _ = step.step(point)
        labels.append(point["z"])
        logs = [np.exp(point[f"{name}_log__"]) for name in NAMES[:4]]
        drawn.append(statistics(*logs, point.get("x_below_pivot", np.empty(0))))
    return np.array(labels), np.array(drawn)


@pytest.mark.quick("2-600-1")
@pytest.mark.parametrize(("d", "draws", "n_sweeps"), [(2, 600, 1), (2, 12000, 1), (1, 12000, 2)])
def test_partitions_and_hyperparameters_have_their_joint_law(d, draws, n_sweeps):
    model = make_model(d)
    labels, drawn = (
        np.array(one) for one in zip(*(run(model, k, draws, n_sweeps=n_sweeps) for k in range(4)), strict=True)
    )
    partitions, p, expected, error_of_p, error_of_mean = exact(d, 50_000)
    found = np.array([(labels == one).all(axis=-1) for one in partitions]).astype(float)
    for values, wanted, error in ((np.moveaxis(found, 0, -1), p, error_of_p), (drawn, expected, error_of_mean)):
        mean, error_of_chains, _ = mean_and_error(values)
        assert np.all(np.abs(mean - wanted) < largest_z(labels.shape, len(wanted)) * np.hypot(error_of_chains, error))


def changed(change):
    with make_model() as model:
        change(model)
    return model


def other_family(**fields):
    """A change that puts a mixture with other hyperparameters in the place of that of ``make_model``."""

    def model():
        with pm.Model() as model:
            z = nrm.Partition("z", MEASURE, n=4)
            family = nrm.NormalWishart.learned("x", X)
            made = {name: make(model, family) for name, make in fields.items()}
            nrm.Mixture("x", z, family._replace(**made), observed=X)
        return model

    return model


REFUSED = {
    "a potential": lambda: changed(lambda model: pm.Potential("p", -model["x_share"])),
    "a child": lambda: changed(lambda model: pm.Normal("y", model["x_squared_pivot"][0])),
    "another mixture": lambda: changed(
        lambda model: nrm.Mixture(
            "y", model["z"], nrm.NormalWishart([0, 0], model["x_kappa"], np.eye(2), 5), observed=X
        )
    ),
    "an observed share": lambda: pm.observe(make_model(), {"x_share": 0.5}),
    "a fixed excess": lambda: pm.do(make_model(), {"x_excess": 2.0}),
    "another kappa": other_family(kappa=lambda model, family: pm.Gamma("k", 1.0, 1.0)),
    "a random law of kappa": other_family(kappa=lambda model, family: pm.LogNormal("k", pm.Normal("m"), 1.0)),
    "another scale": other_family(Psi=lambda model, family: 2.0 * family.Psi),
    "more degrees of freedom": other_family(nu=lambda model, family: family.nu + 1.0),
    "a mu that depends on it": other_family(mu=lambda model, family: family.mu + model["x_share"]),
    "another transform": other_family(kappa=lambda model, family: pm.LogNormal("k", -3.0, 1.0, default_transform=None)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_priors_that_differ_are_left_to_nuts(name):
    model = REFUSED[name]()
    assert learned_wisharts(model) == []
    assert wishart_variables(model, {}) == []
    with pytest.raises(TypeError, match="vars must be all variables of priors"):
        nrm.WishartGibbs(model=model)


def test_another_log_normal_kappa_is_taken():
    model = other_family(kappa=lambda model, family: pm.LogNormal("k", -2.0, 0.5))()
    [found] = learned_wisharts(model)
    assert found.variables[1].name == "k"
    np.testing.assert_array_equal(found.laws, [[-1.0, 1.0], [-2.0, 0.5], [1.5, 1.0]])


def test_all_variables_of_a_prior_or_none(monkeypatch):
    model = make_model()
    assert wishart_variables(model, {}) == []
    monkeypatch.setattr(slot_steps, "LEAST_FEATURES", 2)
    with pytest.raises(TypeError, match=r"\['x_share', 'x_kappa'.*Got \['x_share'\]"):
        nrm.WishartGibbs([model["x_share"]], model=model)
    with pytest.raises(ValueError, match="n_sweeps must be"):
        nrm.WishartGibbs(n_sweeps=0, model=model)
    with model:
        slices = [pm.Slice([model["x_share"]])]
    assert [variable.name for variable in wishart_variables(model, {})] == [
        model.rvs_to_values[model[name]].name for name in NAMES
    ]
    assert wishart_variables(model, {"step": slices}) == wishart_variables(model, {"target_accept": 0.9}) == []


@pytest.mark.quick("gaps")
@pytest.mark.parametrize("kind", ["gaps", "together", "known", "rows", "components", "two priors", "slots", "nested"])
def test_models_of_every_kind_are_sampled(kind):
    values = np.random.default_rng(1).normal(size=(12, 3))
    if kind == "gaps":
        values[[0, 4], [1, 2]] = np.nan
    of_partition = {"together": {"together": np.arange(12) // 2}, "known": {"known": [3, 3, *[-1] * 10]}}.get(kind, {})
    if kind == "slots":
        of_partition = {"max_clusters": 6}
    of_mixture = {"rows": np.arange(12) % 4} if kind == "rows" else {}
    with pm.Model() as model:
        if kind == "nested":
            weights = nrm.HierarchicalDirichletProcess(1.0)
            z = nrm.NestedPartition("z", nrm.DirichletProcess(1.0), depth=2, n=12, weights=weights)
        else:
            z = nrm.Partition("z", MEASURE, n=4 if kind == "rows" else 12, **of_partition)
        learned = (
            nrm.NormalWishart.learned
            if kind != "components"
            else partial(PrincipalNormalWishart.learned, n_components=2)
        )
        nrm.Mixture("x", z, learned("x", values), observed=values, **of_mixture)
        if kind == "two priors":
            nrm.Mixture("y", z, nrm.NormalWishart.learned("y", values[:, :2]), observed=values[:, :2])
        step = nrm.WishartGibbs(rng=1)
    point = model.initial_point()
    drawn, _ = step.step(point)
    changed = {name for name in point if not np.array_equal(point[name], drawn[name])}
    assert changed == {variable.name for variable in step.vars}
    assert len(changed) == (10 if kind == "two priors" else 5)
