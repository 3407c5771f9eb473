"""What LearnedGibbs believes of its variables given all others is what the model says: differences of the log density,
at points where everything else takes other values; and whatever the model changes, the step follows or leaves to NUTS.
"""

import copy
from functools import partial

import cloudpickle
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pymc.distributions import transforms
from pymc.distributions.dist_math import check_parameters
from pymc.model.fgraph import clone_model
from pymc.model.transform.optimization import freeze_dims_and_data
from pytensor.raise_op import Assert
from pytensor.scalar import Mul
from pytensor.tensor.elemwise import Elemwise
from scipy.special import gammaln
from scipy.stats import wishart

import pymc_nrm as nrm
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.learned.draws import ConcentrationTarget, log_height
from pymc_nrm.families.learned.gammas import GammaTarget, share_shift
from pymc_nrm.models.learned_priors import (
    LearnedConcentrations,
    LearnedGammas,
    LearnedWishart,
    learned_priors,
)
from tests.cases import PrincipalNormalWishart, SphericalPrincipalNormalWishart

X = np.array([[0.2, -0.4, 1.0], [0.9, 1.8, 0.1], [2.1, 0.7, -0.3], [5.9, 4.1, 0.2], [1.2, 0.3, 0.8], [0.4, 2.2, 0.5]])
COUNTS = np.abs(X).round()
POSITIVE = np.abs(X)
AMOUNTS = POSITIVE * (COUNTS > 0)
LABELS = np.array([[0, 0, 1, 1, 0, 2], [0, 1, 0, 2, 2, 2]])


class Log10(transforms.LogTransform):
    """A logarithm to another base passes for the natural one, if a class passes for its parent."""

    name = "log10"

    def backward(self, value, *inputs):
        return pt.exp(value * np.log(10.0))

    def forward(self, value, *inputs):
        return pt.log(value) / np.log(10.0)

    def log_jac_det(self, value, *inputs):
        return value * np.log(10.0) + np.log(np.log(10.0))


def halved():
    """A transform of the right class that computes something else."""
    transform = transforms.LogTransform()
    transform.backward = lambda value, *inputs: pt.exp(0.5 * value)
    transform.log_jac_det = lambda value, *inputs: 0.5 * value - np.log(2.0)
    return transform


class Halves(Mul):
    """A product and a half."""

    def impl(self, *inputs):
        return 0.5 * super().impl(*inputs)


class OtherProcess(nrm.DirichletProcess):
    """A subclass of a measure, which may have another density."""


class OtherGamma(nrm.NormalGamma):
    """A subclass of a family, which may have another density."""


class OtherCounts(nrm.PoissonGamma):
    """A subclass of a family of counts."""


class SquaredCounts(nrm.PoissonGamma):
    """Hyperparameters that are not in proportion to the variable."""

    @staticmethod
    def learned_fields(concentration, *, means):
        return {"alpha": concentration**2, "beta": concentration**2 / means}

    log_marginals_of_feature = nrm.PoissonGamma.log_marginals_of_feature


def squared_counts():
    concentration = pm.LogNormal("x_concentration", shape=3)
    return SquaredCounts(**SquaredCounts.learned_fields(concentration, means=np.array([1.0, 2.0, 3.0])))


def learned_gammas():
    return nrm.NormalGamma.learned("x", X)


def model_of(family=learned_gammas, values=X, measure=None, change=None, mixture=None, **fields):
    """A model of one mixture; functions of the model make its measure, and fields in place of those of its family."""
    with pm.Model() as model:
        measure = nrm.DirichletProcess(1.0) if measure is None else measure(model)
        z = nrm.Partition("z", measure, n=6)
        family = family()
        family = family._replace(**{name: make(model, family) for name, make in fields.items()})
        nrm.Mixture("x", z, family, observed=values, **(mixture or {}))
        if change is not None:
            change(model)
    return model


def gamma_alpha(model):
    return nrm.DirichletProcess(pm.Gamma("alpha", 2.0, 1.0))


def uniform_mu(model, family):
    return pm.Uniform("mu", 0.0, 3.0 * model["alpha"], shape=3)


def second_mixture(mu, model):
    nrm.Mixture("y", model["z"], nrm.NormalGamma(mu(model), 1.0, 2.0, 2.0), observed=X)


def in_a_closure(model, family):
    """A mean whose transform, not its distribution, has a share in it."""
    ends = transforms.Interval(bounds_fn=lambda *inputs: (pt.zeros(3), model["x_share"]))
    return pm.Uniform("mu", 0.0, 100.0, shape=3, default_transform=None, transform=ends)


def with_data(model, family):
    return pm.Normal("mu", pm.Data("centre", [1.0, 2.0, 3.0]), pm.HalfNormal("tau"), shape=3)


def variables_of(model):
    return [model[f"x_{name}"] for name in ("share", "kappa", "excess")]


def scale_for_other_variances(model, family):
    return nrm.NormalGamma.learned_fields(*variables_of(model), variances=np.array([1.0, 2.0, 3.0]))["beta"]


def fields_of_another_family():
    fields = nrm.HurdleLogNormal.learned("x", AMOUNTS)._asdict()
    return nrm.NormalGamma(*(fields[name] for name in nrm.NormalGamma._fields))


WISHART = partial(nrm.NormalWishart.learned, "x", X)
GAPS = np.where(X > 4.0, np.nan, X)
FEATURES, EVERYTHING = ["x_share", "x_kappa", "x_excess"], ["x_squared_pivot", "x_below_pivot"]
TAKEN = {
    "mu whose bounds are a concentration": (
        lambda: model_of(measure=gamma_alpha, mu=uniform_mu),
        FEATURES,
    ),
    "ordered mu": (
        lambda: model_of(
            mu=lambda model, family: pm.Normal("mu", shape=3, transform=transforms.ordered, initval=[0.0, 1.0, 2.0])
        ),
        FEATURES,
    ),
    "mu of data and a scale": (lambda: model_of(WISHART, mu=with_data), [*FEATURES, *EVERYTHING]),
    "mu of a truncated variable": (
        lambda: model_of(
            measure=gamma_alpha,
            mu=lambda model, family: (
                np.ones(3) * pm.Truncated("mu", pm.Normal.dist(), lower=0.0, upper=model["alpha"] + 1)
            ),
        ),
        FEATURES,
    ),
    "sigma bounded by alpha": (
        lambda: model_of(
            measure=lambda model: nrm.NormalizedGeneralizedGamma(
                alpha := pm.Gamma("alpha", 2.0, 1.0), pm.Uniform("sigma", 0.0, alpha / (1.0 + alpha))
            )
        ),
        FEATURES,
    ),
    "alpha": (lambda: model_of(WISHART, measure=gamma_alpha), [*FEATURES, *EVERYTHING, "alpha"]),
    "gaps": (lambda: model_of(WISHART, GAPS, measure=gamma_alpha), [*FEATURES, *EVERYTHING, "alpha"]),
    "rows": (
        lambda: model_of(mixture={"rows": [0, 1, 2, 3, 4, 5]}, mu=lambda model, family: pm.Normal("mu", shape=3)),
        FEATURES,
    ),
    "counts": (
        lambda: model_of(partial(nrm.PoissonGamma.learned, "x", COUNTS), COUNTS, measure=gamma_alpha),
        ["x_concentration", "alpha"],
    ),
    "binary": (
        lambda: model_of(partial(nrm.BernoulliBeta.learned, "x", np.minimum(COUNTS, 1)), np.minimum(COUNTS, 1)),
        ["x_concentration"],
    ),
    "categories": (
        lambda: model_of(partial(nrm.CategoricalDirichlet.learned, "x", COUNTS), COUNTS),
        ["x_concentration"],
    ),
    "directions": (
        lambda: model_of(partial(PrincipalNormalWishart.learned, "x", X, 2), X, measure=gamma_alpha),
        [*FEATURES, *EVERYTHING, "alpha"],
    ),
    "few directions": (
        lambda: model_of(partial(SphericalPrincipalNormalWishart.learned, "x", X, 2), X, measure=gamma_alpha),
        [*FEATURES, *EVERYTHING, "alpha"],
    ),
    "zeros and counts": (
        lambda: model_of(partial(nrm.HurdlePoisson.learned, "x", COUNTS), COUNTS, measure=gamma_alpha),
        ["x_zero_concentration", "x_concentration", "alpha"],
    ),
    "zeros and amounts": (
        lambda: model_of(partial(nrm.HurdleLogNormal.learned, "x", AMOUNTS), AMOUNTS, mu=with_data),
        ["x_zero_concentration", *FEATURES],
    ),
    "logarithms": (
        lambda: model_of(lambda: nrm.LogNormalGamma.learned("x", POSITIVE, [1, 0, 1]), POSITIVE, measure=gamma_alpha),
        [*FEATURES, "alpha"],
    ),
    "logarithms with covariances": (
        lambda: model_of(lambda: nrm.LogNormalWishart.learned("x", POSITIVE, [1, 0, 1]), POSITIVE),
        [*FEATURES, *EVERYTHING],
    ),
    "a second mixture reads mu": (
        lambda: model_of(
            mu=lambda model, family: pm.Uniform("mu", -5.0, pm.HalfNormal("end"), shape=3),
            change=partial(second_mixture, lambda model: model["mu"]),
        ),
        FEATURES,
    ),
    "a scale for other variances": (lambda: model_of(beta=scale_for_other_variances), FEATURES),
    "fields of a hurdle family": (lambda: model_of(fields_of_another_family, POSITIVE), FEATURES),
    "alpha is set": (lambda: pm.do(model_of(measure=gamma_alpha, mu=uniform_mu), {"alpha": 2.0}), FEATURES),
}


def with_share(law):
    """A mixture with another variable of the name x_share, as ``learned`` uses it."""

    def make():
        variance = X.var(axis=0, ddof=1)
        variables = law(), pm.LogNormal("x_kappa", -3.0, 1.0), pm.LogNormal("x_excess", 1.0, 1.0)
        return nrm.NormalGamma(X.mean(axis=0), **nrm.NormalGamma.learned_fields(*variables, variances=variance))

    return lambda: model_of(make)


LEFT = {
    "a transform to base 10": with_share(lambda: pm.LogNormal("x_share", shape=3, default_transform=Log10())),
    "a transform that was changed": with_share(lambda: pm.LogNormal("x_share", shape=3, default_transform=halved())),
    "an interval": with_share(
        lambda: pm.LogNormal("x_share", shape=3, default_transform=transforms.Interval(0.0, None))
    ),
    "a truncated share": with_share(lambda: pm.Truncated("x_share", pm.LogNormal.dist(), upper=0.5, shape=3)),
    "a censored share": with_share(lambda: pm.Censored("x_share", pm.LogNormal.dist(), None, 0.5, shape=3)),
    "a share of its own density": with_share(
        lambda: pm.CustomDist(
            "x_share",
            -1.0,
            logp=lambda value, mu: pm.logp(pm.LogNormal.dist(mu, 1.0), value) - value,
            shape=3,
            default_transform=transforms.log,
        )
    ),
    "a share of one entry": with_share(lambda: pm.LogNormal("x_share", shape=1)),
    "a random scale": with_share(lambda: pm.LogNormal("x_share", 0.0, pm.HalfNormal("scale"), shape=3)),
    "a checked constant": with_share(
        lambda: pm.LogNormal("x_share", check_parameters(pt.constant(0.0), pt.constant(True)), shape=3)
    ),
    "a share in a transform": lambda: model_of(mu=in_a_closure),
    "mu below the first share": lambda: model_of(
        mu=lambda model, family: pm.Uniform("mu", 0.0, model["x_share"][0], shape=3)
    ),
    "kappa of the measure": lambda: model_of(
        change=lambda model: pm.Normal("y", nrm.Partition("w", nrm.DirichletProcess(model["x_kappa"]), n=3).max())
    ),
    "a Deterministic in a potential": lambda: model_of(
        change=lambda model: pm.Potential("p", -pm.Deterministic("twice", 2.0 * model["x_excess"]))
    ),
    "another mixture": lambda: model_of(change=partial(second_mixture, lambda model: model["x_kappa"] * np.ones(3))),
    "a checked scale": lambda: model_of(
        beta=lambda model, family: check_parameters(family.beta, pt.all(model["x_share"] < 0.5))
    ),
    "an asserted excess": lambda: model_of(
        alpha=lambda model, family: 1.0 + Assert("small")(model["x_excess"], model["x_excess"] < 3.0)
    ),
    "an asserted concentration": lambda: model_of(
        partial(nrm.PoissonGamma.learned, "x", COUNTS),
        COUNTS,
        alpha=lambda model, family: Assert("small")(family.alpha, pt.all(family.alpha < 3.0)),
    ),
    "another product": lambda: model_of(
        beta=lambda model, family: Elemwise(Halves(pt.mul.scalar_op.output_types_preference, name="mul"))(
            *family.beta.owner.inputs
        )
    ),
    "the same form by hand": lambda: model_of(
        lambda: nrm.PoissonGamma(c := pm.LogNormal("c", shape=3), 2.0 * c), COUNTS
    ),
    "a subclass of the family": lambda: model_of(lambda: OtherGamma(*nrm.NormalGamma.learned("x", X))),
    "a subclass of a family of counts": lambda: model_of(
        lambda: OtherCounts(*nrm.PoissonGamma.learned("x", COUNTS)), COUNTS
    ),
    "zeros of another concentration": lambda: model_of(
        partial(nrm.HurdlePoisson.learned, "x", COUNTS), COUNTS, zeros=lambda model, family: 2.0 * family.zeros
    ),
    "a second use of a concentration of zeros": lambda: model_of(
        partial(nrm.HurdlePoisson.learned, "x", COUNTS),
        COUNTS,
        change=lambda model: pm.Potential("p", -model["x_zero_concentration"].sum()),
    ),
    "another function of the concentration": lambda: model_of(squared_counts, COUNTS),
    "a transformed alpha": lambda: model_of(
        lambda: nrm.PoissonGamma(1.0, 1.0),
        COUNTS,
        measure=lambda model: nrm.DirichletProcess(pm.Gamma("alpha", 2.0, 1.0, default_transform=Log10())),
    ),
    "a subclass of the measure": lambda: model_of(
        lambda: nrm.PoissonGamma(1.0, 1.0),
        COUNTS,
        measure=lambda model: OtherProcess(pm.Gamma("alpha", 2.0, 1.0)),
    ),
    "alpha as a bound": lambda: model_of(
        lambda: nrm.PoissonGamma(1.0, 1.0),
        COUNTS,
        measure=gamma_alpha,
        change=lambda model: pm.Uniform("w", 0.0, model["alpha"]),
    ),
    "a checked alpha": lambda: model_of(
        lambda: nrm.PoissonGamma(1.0, 1.0),
        COUNTS,
        measure=lambda model: nrm.DirichletProcess(Assert("small")(alpha := pm.Gamma("alpha", 2.0, 1.0), alpha < 3.0)),
    ),
}


def taken(model):
    return [rv.name for prior in learned_priors(model) for rv in prior.variables]


def normal(x, mean, deviation):
    return -0.5 * np.sum(((x - mean) / deviation) ** 2)


def log_conditional(prior, point):
    """Log density, up to a constant, that the step ascribes to its variables given everything else."""
    learned, values = prior._learned, [np.asarray(point[name]) for name in prior.names]
    family, rows = prior.clusters(point)
    if isinstance(learned, LearnedGammas):
        (share, kappa, excess), d = map(np.exp, values), len(learned.variances)
        family = family._replace(
            kappa=np.full(d, kappa), alpha=np.full(d, 1.0 + excess), beta=share * learned.variances * excess
        )
        total = normal(np.concatenate([np.atleast_1d(one) for one in values]), *learned.normals)
    elif isinstance(learned, LearnedConcentrations):
        changed = {"alpha": family.alpha.T * np.exp(values[0])}
        if hasattr(family, "beta"):
            changed["beta"] = family.beta * np.exp(values[0])
        family = family._replace(**{name: np.ascontiguousarray(value.T) for name, value in changed.items()})
        total = normal(values[0], *learned.normals)
    else:
        assert isinstance(learned, LearnedWishart)
        family, d = getattr(family, "leading", lambda: family)(), len(learned.scale)
        share, kappa, excess, squares = map(np.exp, values[:4])
        T = np.diag(np.sqrt(squares))
        T[np.tril_indices(d, -1)] = values[4]
        root = learned.scale @ T
        family = type(family)(family.mu, float(kappa), share * excess * root @ root.T, d + 1.0 + float(excess))
        # The density of T T', and the Jacobian of the logarithms of squares, as in tests/families/test_learned.py.
        total = wishart.logpdf(T @ T.T, df=d + 2, scale=np.eye(d))
        total += ((d - np.arange(d) - 1) / 2 + 1) @ values[3]
        total += normal(np.array(values[:3]), *learned.normals.T)
    return total + sum(log_marginal(family, row) for row in rows)


def log_conditional_of_alpha(process, point):
    learned, log_alpha, labels = process._learned, point[process._name], point["z"]
    alpha, n = np.exp(log_alpha), len(labels)
    total = learned.shape * log_alpha - learned.rate * alpha + (labels.max() + 1) * log_alpha
    return total + gammaln(alpha) - gammaln(alpha + n)


def heights(prior, point):
    """For each coordinate that slices move, two of its log densities with the points of the model they belong to."""
    _, family, rows, *_ = prior.arguments(None, point, 1)
    learned, names = prior._learned, prior.names
    if isinstance(learned, LearnedConcentrations):
        [name] = names
        for j, (mean, deviation) in enumerate(learned.normals.T):
            yield [
                (
                    log_height(ConcentrationTarget(family, rows, j, mean, deviation), point[name][j] + step),
                    point | {name: point[name] + step * (np.arange(len(point[name])) == j)},
                )
                for step in (0.0, 0.6)
            ]
        return
    d, logs = len(learned.variances), np.concatenate([np.atleast_1d(point[name]) for name in names])
    for place in range(d + 2):
        pair = []
        for step in (0.0, 0.6):
            # Of shares, slices move log(beta / (alpha v)).
            moved = logs - share_shift(logs) * (np.arange(d + 2) < d)
            moved[place] += step
            target = GammaTarget(family, rows, learned.variances, moved.copy(), place, learned.normals)
            shares = moved[:d] + share_shift(moved)
            values = shares, np.array(moved[d]), np.array(moved[d + 1])
            pair.append((log_height(target, moved[place]), point | dict(zip(names, values, strict=True))))
        yield pair


ZEROS = ("zeros and counts", "zeros and amounts")
SLICED = ("mu whose bounds are a concentration", "counts", "binary", "categories", *ZEROS)


@pytest.mark.quick("counts", "categories")
@pytest.mark.parametrize("name", SLICED)
def test_slices_are_of_the_conditional(name):
    model = TAKEN[name][0]()
    rng, start = np.random.default_rng(2), model.initial_point() | {"z": LABELS[0]}
    for prior in nrm.steps.LearnedGibbs(model=model)._priors:
        point = start | {key: start[key] + rng.normal(0.0, 0.7, np.shape(start[key])) for key in prior.names}
        for (low, before), (high, after) in heights(prior, point):
            expected = log_conditional(prior, after) - log_conditional(prior, before)
            np.testing.assert_allclose(high - low, expected, rtol=1e-8, atol=1e-8)


QUICK = ("mu whose bounds are a concentration", "a second mixture reads mu", "counts")


@pytest.mark.quick(*QUICK)
@pytest.mark.parametrize("name", TAKEN)
def test_conditionals_are_those_of_the_model(name):
    model, names = TAKEN[name][0](), TAKEN[name][1]
    assert sorted(taken(model)) == sorted(names)
    step, log_density = nrm.steps.LearnedGibbs(model=model), model.compile_logp(mode="FAST_COMPILE")
    conditionals = [partial(log_conditional, prior) for prior in step._priors]
    conditionals += [partial(log_conditional_of_alpha, process) for process in step._processes]
    start, rng = model.initial_point(), np.random.default_rng(1)

    def moved(point, names):
        return point | {name: point[name] + rng.normal(0.0, 0.7, np.shape(point[name])) for name in names}

    for labels in LABELS:
        # Everything else is somewhere else each time.
        point = moved(start, start.keys() - {"z"}) | {"z": labels}
        for learned, conditional in zip(learned_priors(model), conditionals, strict=True):
            other = moved(point, [model.rvs_to_values[rv].name for rv in learned.variables])
            difference, expected = conditional(other) - conditional(point), log_density(other) - log_density(point)
            assert np.isfinite(expected)
            np.testing.assert_allclose(difference, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", LEFT)
def test_what_is_not_recognised_whole_is_left_to_nuts(name):
    assert taken(LEFT[name]()) == []


FAMILIES = {
    "normal-gamma": (nrm.NormalGamma.learned, X),
    "one column": (nrm.NormalGamma.learned, X[:, 0]),
    "normal-Wishart": (nrm.NormalWishart.learned, X),
    "directions": (partial(PrincipalNormalWishart.learned, n_directions=2), X),
    "few directions": (partial(SphericalPrincipalNormalWishart.learned, n_directions=2), X),
    "binary": (nrm.BernoulliBeta.learned, np.minimum(COUNTS, 1)),
    "categories": (nrm.CategoricalDirichlet.learned, COUNTS),
    "counts": (nrm.PoissonGamma.learned, COUNTS),
    "zeros and counts": (nrm.HurdlePoisson.learned, COUNTS),
    "zeros and amounts": (nrm.HurdleLogNormal.learned, AMOUNTS),
    "counts in one column": (nrm.PoissonGamma.learned, COUNTS[:, :1]),
    "a scatter of one column": (nrm.NormalWishart.learned, X[:, :1]),
}
COPIES = {
    "itself": lambda model: model,
    "copy": lambda model: model.copy(),
    "clone_model": clone_model,
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: cloudpickle.loads(cloudpickle.dumps(model)),
    "freeze": freeze_dims_and_data,
    "do": lambda model: pm.do(model, {"other": 1.0}),
    "observe": lambda model: pm.observe(model, {"other": 1.0}),
}


@pytest.mark.parametrize("kind", FAMILIES)
def test_priors_are_found_in_copies_of_a_model(kind):
    learned, values = FAMILIES[kind]

    def change(model):
        pm.Normal("other", 0.0, 1.0)
        pm.Normal("y", model["other"] + pm.Data("given", [1.0, 2.0]), observed=[0.0, 1.0])

    model = model_of(partial(learned, "x", values), values, measure=gamma_alpha, change=change)
    expected = taken(model)
    assert "x_concentration" in expected or "x_excess" in expected
    assert {name: taken(make(model)) for name, make in COPIES.items()} == dict.fromkeys(COPIES, expected)
