"""The joint law of partitions and learned hyperparameters, against enumeration of the former and weighted draws of the
latter from their prior; and which priors the step takes.
"""

from functools import partial

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy.special import gammaln

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.models.learned_priors import learned_priors
from pymc_nrm.run.choose_steps import learned_variables
from pymc_nrm.testing import all_partitions
from tests.cases import PrincipalNormalWishart
from tests.exact.laws import log_marginal_of_wishart
from tests.exact.models import assert_functionals, run_steps
from tests.helpers import label_counts, mixture_of
from tests.tools.wings import rows_of_wings

X = np.array([[0.2, -0.4], [0.9, 1.8], [2.1, 0.7], [5.9, 4.1]])
MEASURE = nrm.NormalizedGeneralizedGamma(1.3, 0.3)
NAMES = ("x_share", "x_kappa", "x_excess", "x_squared_pivot", "x_below_pivot")


def make_model(d=2, **options):
    values = X[:, :d]
    return mixture_of(lambda: nrm.NormalWishart.learned("x", values), values, MEASURE, **options)


def statistics(share, kappa, excess, squares, below):
    """First and second moments of hyperparameters without bounds; squares and below have a last axis."""
    logs = [np.log(share), np.log(kappa), np.log(excess), *np.moveaxis(np.log(squares), -1, 0)]
    x = np.stack([*logs, *np.moveaxis(below, -1, 0)], axis=-1)
    return np.concatenate([x, x**2, x[..., :1] * x[..., 1:3]], axis=-1)


def exact(d, n_draws):
    """What :func:`weighted` returns for a normal-Wishart mixture."""
    rng, values = np.random.default_rng(3), X[:, :d]
    share, kappa, excess = np.exp(rng.normal([-1.0, -2.0, 1.5], [1.0, 1.5, 1.0], (n_draws, 3))).T
    squares, below = rng.chisquare(d + 2 - np.arange(d), (n_draws, d)), rng.normal(size=(n_draws, d * (d - 1) // 2))
    T = np.zeros((n_draws, d, d))
    T[:, range(d), range(d)] = np.sqrt(squares)
    T[:, *np.tril_indices(d, -1)] = below
    root = np.linalg.cholesky(np.cov(values, rowvar=False).reshape(d, d)) @ T / np.sqrt(d + 2)
    Psi = (share * excess)[:, None, None] * root @ np.swapaxes(root, 1, 2)
    drawn = statistics(share, kappa, excess, squares, below)
    return weighted(
        drawn, lambda block: log_marginal_of_wishart(values[block], values.mean(axis=0), kappa, Psi, d + 1.0 + excess)
    )


def weighted(drawn, log_marginal):
    """All partitions, their probabilities, the mean of each statistic, and Monte Carlo errors of both, from statistics
    of draws of the prior, shape (m, number), and log marginals (m,) of some items.
    """
    partitions, blocks = all_partitions(4), {}
    for block in {tuple(np.flatnonzero(labels == k)) for labels in partitions for k in range(labels.max() + 1)}:
        blocks[block] = log_marginal(list(block))
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
    return partitions, p, mean, *(np.array(one) / np.sqrt(len(drawn)) for one in (of_p, of_mean))


def run(model, start, seed, draws, read, **options):
    """Labels of draws, and statistics that are read at each point."""
    with model:
        steps = [nrm.steps.MarginalGibbs([model["z"]], rng=1), nrm.steps.LearnedGibbs(rng=1, **options)]
    point = model.initial_point() | {"z": start}
    return run_steps(steps, point, np.random.default_rng(seed), draws, lambda point: (point["z"], read(point)))


def read_wishart(point):
    positive = [np.exp(point[f"{name}_log__"]) for name in NAMES[:4]]
    return statistics(*positive, point.get("x_below_pivot", np.empty(0)))


def assert_joint_law(model, draws, read, known, **options):
    """Compare four chains with what :func:`weighted` returns."""
    partitions, p, expected, error_of_p, error_of_mean = known
    chains = [run(model, partitions[-(k % 2)], k, draws, read, **options) for k in range(4)]
    labels, drawn = (np.array(one) for one in zip(*chains, strict=True))
    found = np.array([(labels == one).all(axis=-1) for one in partitions]).astype(float)
    assert_functionals(np.moveaxis(found, 0, -1), p, error_of_p)
    assert_functionals(drawn, expected, error_of_mean)


@pytest.mark.quick("2-600-1")
@pytest.mark.parametrize(("d", "draws", "n_sweeps"), [(2, 600, 1), (2, 12000, 1), (1, 12000, 2)])
def test_partitions_and_hyperparameters_have_their_joint_law(d, draws, n_sweeps):
    assert_joint_law(make_model(d), draws, read_wishart, exact(d, 50_000), n_sweeps=n_sweeps)


# What a partition is told, and the items that the measure counts.
TOLD = {
    "": ({}, [0, 1, 2, 3]),
    "together": ({"together": [0, 0, 1, 2]}, [0, 2, 3]),
    "known": ({"known": [0, -1, 1, -1]}, [0, 1, 2, 3]),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("told", "shape", "draws"),
    [
        *(("", shape, 12_000) for shape in (0.1, 1.0, 2.0)),
        *((told, 2.0, draws) for told, draws in (("", 4000), ("together", 12_000), ("known", 12_000))),
    ],
)
def test_partitions_and_the_concentration_of_a_dirichlet_process_have_their_joint_law(told, shape, draws):
    counts, rate, (options, counted) = np.array([0, 1, 5, 8]), 0.7, TOLD[told]
    with pm.Model() as model:
        alpha = pm.Exponential("alpha", rate) if shape == 1.0 else pm.Gamma("alpha", shape, rate)
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), n=4, **options)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=counts)
    are_allowed = {"together": lambda labels: labels[0] == labels[1], "known": lambda labels: labels[0] != labels[2]}
    partitions = np.array([one for one in all_partitions(4) if are_allowed.get(told, lambda labels: True)(one)])
    a, weights, moments = np.exp(np.linspace(-400.0, 6.0, 400_001)), [], []
    for labels in partitions:
        blocks = [counts[labels == k] for k in range(labels.max() + 1)]
        log_p = sum(gammaln(1.0 + x.sum()) - (1.0 + x.sum()) * np.log(0.5 + len(x)) for x in blocks)
        log_p += gammaln(np.bincount(labels[counted])).sum()
        log_p = log_p + len(blocks) * np.log(0.5 * a) + gammaln(a) - gammaln(a + len(counted))
        # With respect to log(alpha).
        density = np.exp(log_p + shape * np.log(a) - rate * a)
        weights.append(density.sum())
        moments.append([(np.log(a) * density).sum(), (np.log(a) ** 2 * density).sum()])
    p, expected = np.array(weights) / np.sum(weights), np.sum(moments, axis=0) / np.sum(weights)

    def read(point):
        return np.array([point["alpha_log__"], point["alpha_log__"] ** 2])

    assert_joint_law(model, draws, read, (partitions, p, expected, np.zeros(len(p)), np.zeros(2)))


GAPS = np.array([[0.2, -0.4], [0.9, np.nan], [2.1, 0.7], [2.9, 2.1]])


def model_of_variances(values=GAPS):
    return mixture_of(lambda: nrm.NormalGamma.learned("x", values), values, MEASURE)


@pytest.mark.slow
@pytest.mark.parametrize("draws", [1500, 12_000])
def test_partitions_and_what_a_normal_gamma_prior_learns_have_their_joint_law(draws):
    rng, means, variances = np.random.default_rng(3), np.nanmean(GAPS, axis=0), np.nanvar(GAPS, axis=0, ddof=1)
    logs = rng.normal([-1.0, -1.0, -2.0, 1.0], [1.0, 1.0, 1.5, 1.0], (50_000, 4))
    *shares, kappa, excess = np.exp(logs.T)

    def log_marginal(block):
        total = np.zeros(len(logs))
        for share, mean, variance, column in zip(shares, means, variances, GAPS[block].T, strict=True):
            seen = column[~np.isnan(column)]
            if len(seen):
                # One feature is a normal-Wishart law.
                Psi = 2.0 * (share * variance * excess)[:, None, None]
                total += log_marginal_of_wishart(seen[:, None], mean, kappa, Psi, 2.0 * (1.0 + excess))
        return total

    def read(point):
        found = np.array([*point["x_share_log__"], point["x_kappa_log__"], point["x_excess_log__"]])
        return np.concatenate([found, found**2, found[:3] * found[3]])

    drawn = np.concatenate([logs, logs**2, logs[:, :3] * logs[:, 3:]], axis=1)
    assert_joint_law(model_of_variances(), draws, read, weighted(drawn, log_marginal), n_sweeps=1)


def log_rising(a, n):
    return gammaln(a + n) - gammaln(a)


def log_dirichlet(levels, alpha):
    """Log marginals (m,) of levels given alpha, shape (m, number of levels)."""
    counts = np.bincount(levels[~np.isnan(levels)].astype(int), minlength=alpha.shape[1])
    return log_rising(alpha, counts).sum(axis=1) - log_rising(alpha.sum(axis=1), counts.sum())


def log_binary(values, column, c):
    p = (np.nansum(column) + 0.5) / ((~np.isnan(column)).sum() + 1.0)
    return log_dirichlet(values, c[:, None] * np.array([1.0 - p, p]))


def log_categorical(values, column, c):
    counts = np.bincount(column.astype(int)) + 0.5
    return log_dirichlet(values, c[:, None] * counts / counts.sum())


def log_poisson(values, column, c):
    beta, n, total = c * len(column) / (column.sum() + 0.5), len(values), values.sum()
    log_rate = c * np.log(beta) - (c + total) * np.log(beta + n)
    return log_rising(c, total) + log_rate - gammaln(values + 1.0).sum()


COUNTS = {
    "binary": (nrm.BernoulliBeta, [[1, 0], [1, np.nan], [0, 0], [0, 1]], log_binary),
    "categorical": (nrm.CategoricalDirichlet, [[0, 1], [0, 1], [2, 1], [1, 0]], log_categorical),
    "counts": (nrm.PoissonGamma, [[0, 2], [1, 1], [3, 0], [4, 3]], log_poisson),
}


def model_of_counts(name):
    family, values, _ = COUNTS[name]
    return mixture_of(lambda: family.learned("x", values), values, MEASURE)


def moments(logs):
    """First and second moments of logarithms of the concentrations of two features."""
    return np.concatenate([logs, logs**2, logs[..., :1] * logs[..., 1:]], axis=-1)


@pytest.mark.slow
@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("draws", [800, 6000])
def test_partitions_and_concentrations_have_their_joint_law(draws, name):
    _, values, log_feature = COUNTS[name]
    mean, width = (0.0, 1.0) if name == "counts" else (2.0, 2.0)
    values, logs = np.array(values, dtype=float), np.random.default_rng(3).normal(mean, width, (50_000, 2))

    def log_marginal(block):
        return sum(log_feature(values[block, j], values[:, j], np.exp(logs[:, j])) for j in range(2))

    def read(point):
        return moments(point["x_concentration_log__"])

    assert_joint_law(model_of_counts(name), draws, read, weighted(moments(logs), log_marginal))


def log_zeros(values, column, c):
    return log_binary((values > 0.0).astype(float), (column > 0.0).astype(float), c)


def log_hurdle_poisson(values, column, zero_concentration, concentration):
    less_one, of_column = values[values > 0.0] - 1.0, column[column > 0.0] - 1.0
    return log_zeros(values, column, zero_concentration) + log_poisson(less_one, of_column, concentration)


def log_hurdle_log_normal(values, column, zero_concentration, share, kappa, excess):
    logs, of_column = np.log(values[values > 0.0]), np.log(column[column > 0.0])
    total = log_zeros(values, column, zero_concentration) - logs.sum()
    if len(logs):
        Psi = 2.0 * (share * of_column.var(ddof=1) * excess)[:, None, None]
        total += log_marginal_of_wishart(logs[:, None], of_column.mean(), kappa, Psi, 2.0 * (1.0 + excess))
    return total


# Family, the data of one feature, its log marginal, and the variables with means of their logarithms.
ZEROS = {
    "counts": (nrm.HurdlePoisson, [0, 2, 0, 7], log_hurdle_poisson, {"zero_concentration": 2.0, "concentration": 0.0}),
    "amounts": (
        nrm.HurdleLogNormal,
        [0.0, 1.2, 8.0, 1.5],
        log_hurdle_log_normal,
        {"zero_concentration": 2.0, "share": -1.0, "kappa": -2.0, "excess": 1.0},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ZEROS)
@pytest.mark.parametrize("draws", [600, 8000])
def test_partitions_and_what_families_of_zeros_learn_have_their_joint_law(draws, name):
    family, column, log_density, means = ZEROS[name]
    column, rng = np.array(column, dtype=float), np.random.default_rng(3)
    widths = [{"kappa": 1.5, "zero_concentration": 2.0}.get(key, 1.0) for key in means]
    logs = rng.normal([*means.values()], widths, (50_000, len(means)))

    def log_marginal(block):
        return log_density(column[block], column, *np.exp(logs.T))

    def read(point):
        return moments(np.concatenate([np.ravel(point[f"x_{name}_log__"]) for name in means]))

    model = mixture_of(lambda: family.learned("x", column), column, MEASURE)
    assert_joint_law(model, draws, read, weighted(moments(logs), log_marginal), n_sweeps=1)


def changed(change):
    with make_model() as model:
        change(model)
    return model


def other_family(family_class=nrm.NormalWishart, **fields):
    """A mixture whose family is not quite what ``learned`` makes."""

    def make_family():
        family, model = family_class.learned("x", X), pm.modelcontext(None)
        return family._replace(**{name: make(model, family) for name, make in fields.items()})

    return lambda: mixture_of(make_family, X, MEASURE)


def of_counts(family, means=0.0):
    """A model of a mixture whose family is made of a log-normal variable for each of two features."""
    values = [[0, 1], [0, 1], [1, 0], [1, 1]]
    return lambda: mixture_of(lambda: family(pm.LogNormal("x_concentration", means, 0.5, shape=2)), values, MEASURE)


REFUSED = {
    "a fixed number of zeros": of_counts(lambda c: nrm.BernoulliBeta(c, np.ones(2))),
    "numbers of two variables": of_counts(lambda c: nrm.BernoulliBeta(c, pm.LogNormal("e", 0.0, 1.0, shape=2))),
    "a sum": of_counts(lambda c: nrm.PoissonGamma(c, c + 1.0)),
    "a reciprocal": of_counts(lambda c: nrm.PoissonGamma(c, 1.0 / c)),
    "one variable of all features": of_counts(lambda c: nrm.PoissonGamma(c[0] * np.ones(2), c[0] * np.ones(2))),
    "a number for each level": of_counts(lambda c: nrm.CategoricalDirichlet(c[None, :] * np.ones((2, 2)))),
    "a gamma law": of_counts(lambda c: nrm.PoissonGamma(*[pm.Gamma("g", 1.0, 1.0, shape=2)] * 2)),
    "a child of a concentration": of_counts(lambda c: (nrm.PoissonGamma(c, 2.0 * c), pm.Normal("y", c))[0]),
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
    "alpha from 1 and 2 on": other_family(
        nrm.NormalGamma, alpha=lambda model, family: np.array([1.0, 2.0]) + model["x_excess"]
    ),
    "alpha from 2 on": other_family(nrm.NormalGamma, alpha=lambda model, family: family.alpha + 1.0),
    "a negative beta": other_family(nrm.NormalGamma, beta=lambda model, family: -1.0 * family.beta),
    "a kappa of two features": other_family(nrm.NormalGamma, kappa=lambda model, family: pm.LogNormal("k", shape=2)),
    "twice kappa": other_family(nrm.NormalGamma, kappa=lambda model, family: 2.0 * family.kappa),
    "beta without excess": other_family(nrm.NormalGamma, beta=lambda model, family: model["x_share"]),
    "beta with kappa": other_family(nrm.NormalGamma, beta=lambda model, family: family.beta * model["x_kappa"]),
    "one share": other_family(
        nrm.NormalGamma,
        beta=lambda model, family: pt.broadcast_to(pm.LogNormal("s", shape=1), (2,)) * model["x_excess"],
    ),
    "a gamma share": other_family(
        nrm.NormalGamma, beta=lambda model, family: pm.Gamma("s", 1.0, 1.0, shape=2) * model["x_excess"]
    ),
    "a fixed kappa": lambda: pm.do(model_of_variances(), {"x_kappa": 0.1}),
    "another transform": other_family(kappa=lambda model, family: pm.LogNormal("k", -3.0, 1.0, default_transform=None)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_priors_that_differ_are_left_to_nuts(name):
    model = REFUSED[name]()
    assert learned_priors(model) == []
    assert learned_variables(model, {}) == []
    with pytest.raises(TypeError, match="vars must be all variables of a prior"):
        nrm.steps.LearnedGibbs(model=model)


def test_log_normal_variables_with_other_constants_are_taken():
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURE, n=4)
        variables = [
            pm.LogNormal(f"x_{name}", mean, deviation, shape=shape)
            for name, mean, deviation, shape in (
                ("share", [0.5, -0.5], 0.5, 2),
                ("kappa", -2.0, 0.7, None),
                ("excess", 1.0, 2.0, None),
            )
        ]
        fields = nrm.NormalGamma.learned_fields(*variables, variances=np.array([2.0, 4.0]))
        nrm.Mixture("x", z, nrm.NormalGamma([0.0, 1.0], **fields), observed=X)
        concentration = pm.LogNormal("y_concentration", [0.0, 1.0], 0.5)
        fields = nrm.CategoricalDirichlet.learned_fields(concentration, frequencies=np.full((2, 2), [0.4, 0.6]))
        family = nrm.CategoricalDirichlet(**fields, n_levels=np.array([2, 2]))
        nrm.Mixture("y", z, family, observed=[[0, 1], [0, 1], [1, 0], [1, 1]])
    first, second = learned_priors(model)
    assert first.variables == variables
    assert second.variables == [concentration]
    np.testing.assert_array_equal(first.variances, [2.0, 4.0])
    np.testing.assert_array_equal(first.normals, [[0.5, -0.5, -2.0, 1.0], [0.5, 0.5, 0.7, 2.0]])
    np.testing.assert_array_equal(second.normals, [[0.0, 1.0], [0.5, 0.5]])
    np.testing.assert_array_equal(second.family.alpha.data, [[0.4, 0.6]] * 2)


def test_all_variables_of_a_prior_or_none():
    model = make_model()
    with model:
        pm.Normal("free")
    with pytest.raises(TypeError, match=r"\['x_share', 'x_kappa'.*got \['x_share'\]"):
        nrm.steps.LearnedGibbs([model["x_share"]], model=model)
    with pytest.raises(ValueError, match="n_sweeps must be"):
        nrm.steps.LearnedGibbs(n_sweeps=0, model=model)
    with model:
        slices = [pm.Slice([model["x_share"]])]
    assert [variable.name for variable in learned_variables(model, {})] == [
        model.rvs_to_values[model[name]].name for name in NAMES
    ]
    assert learned_variables(model, {"step": slices}) == []
    assert len(learned_variables(model, {"target_accept": 0.9})) == len(NAMES)
    assert learned_variables(make_model(), {"target_accept": 0.9}) == [], "what NUTS is told is for these"


def test_a_concentration_is_taken_if_its_law_is_gamma_and_nothing_else_depends_on_it():
    def taken(alpha, further=None, **options):
        with pm.Model() as model:
            z = nrm.Partition("z", nrm.DirichletProcess(alpha()), n=4, **options)
            nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[0, 1, 5, 8])
            if further is not None:
                further(model)
        return [rv.name for one in learned_priors(model) for rv in one.variables]

    def gamma():
        return pm.Gamma("alpha", 2.0, 1.0)

    assert taken(gamma) == taken(partial(pm.Exponential, "alpha", 1.0)) == ["alpha"]
    assert taken(partial(pm.LogNormal, "alpha", 0.0, 1.0)) == []
    assert taken(lambda: 2.0 * gamma()) == taken(lambda: pm.Gamma("alpha", pm.Gamma("b", 1.0, 1.0), 1.0)) == []
    assert taken(gamma, max_clusters=3) == []
    assert taken(gamma, together=[0, 0, 1, 2]) == taken(gamma, known=[0, -1, 1, -1]) == ["alpha"]
    assert taken(gamma, lambda model: pm.Potential("p", -model["alpha"])) == []
    assert taken(gamma, lambda model: pm.Normal("y", model["alpha"], observed=1.0)) == []
    assert taken(gamma, lambda model: pm.Deterministic("twice", 2.0 * model["alpha"])) == ["alpha"]


# Partitions of wings, from a name, a measure and a number of items.
OF_WINGS = rows_of_wings("FOR_PRIORS")


@pytest.mark.quick("gaps")
@pytest.mark.parametrize(
    "kind", ["gaps", "together", "known", "rows", "components", "two priors", "slots", "counts", "variances", *OF_WINGS]
)
def test_models_of_every_kind_are_sampled(kind):
    values = np.random.default_rng(1).normal(size=(12, 3))
    if kind in ("gaps", "variances"):
        values[[0, 4], [1, 2]] = np.nan
    of_partition = {"together": {"together": np.arange(12) // 2}, "known": {"known": [3, 3, *[-1] * 10]}}.get(kind, {})
    if kind == "slots":
        of_partition = {"max_clusters": 6}
    of_mixture = {"rows": np.arange(12) % 4} if kind == "rows" else {}
    with pm.Model() as model:
        make = OF_WINGS.get(kind, nrm.Partition)
        z = make("z", MEASURE, n=4 if kind == "rows" else 12, **of_partition)
        others = {"components": partial(PrincipalNormalWishart.learned, n_directions=2)}
        learned = (others | {"variances": nrm.NormalGamma.learned}).get(kind, nrm.NormalWishart.learned)
        nrm.Mixture("x", z, learned("x", values), observed=values, **of_mixture)
        if kind == "two priors":
            nrm.Mixture("y", z, nrm.NormalWishart.learned("y", values[:, :2]), observed=values[:, :2])
        if kind == "counts":
            counts = np.abs(values).round()
            nrm.Mixture("y", z, nrm.PoissonGamma.learned("y", counts), observed=counts)
        step = nrm.steps.LearnedGibbs(rng=1)
    point = model.initial_point()
    drawn, _ = step.step(point)
    changed = {name for name in point if not np.array_equal(point[name], drawn[name])}
    assert changed == {variable.name for variable in step.vars}
    assert len(changed) == {"two priors": 10, "counts": 6, "variances": 3}.get(kind, 5)


def test_hyperparameters_follow_the_other_variables_of_their_family():
    X = np.random.default_rng(0).normal(size=(6, 2))
    with pm.Model() as model:
        mu, alpha = pm.Normal("mu", shape=2), pm.Gamma("alpha", 2.0, 1.0)
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), n=6)
        nrm.Mixture("x", z, nrm.NormalWishart.learned("x", X)._replace(mu=mu), observed=X)
        [prior] = nrm.steps.LearnedGibbs([rv for rv in model.free_RVs if rv.name.startswith("x_")])._priors
    point = model.initial_point()
    first, second = (prior.clusters(point | {"mu": mu})[0].mu.copy() for mu in (np.zeros(2), np.array([1.0, 2.0])))
    np.testing.assert_allclose(second - first, [1.0, 2.0])
