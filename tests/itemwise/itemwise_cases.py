"""Models whose parameters are indexed by the labels of a partition of five items, in four slots."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pytensor.compile.mode import Mode

N, K = 5, 4
X = np.array([-0.5, 0.4, 0.9, 1.3, 2.0])
Y = np.array([0.2, -1.0, 0.7, 1.9, -0.4])
COUNTS = np.array([0, 3, 1, 5, 2])
BINARY = np.array([0, 1, 1, 0, 1])
SUBJECT = np.array([0, 0, 1, 2, 2, 2, 3, 4])
TIME = np.array([0.0, 1.0, 0.5, 0.0, 1.0, 2.0, 0.7, 0.0])
LONG = np.sin(np.arange(8.0))
CHEAP = {"mode": Mode(linker="py", optimizer="minimum_compile")}
EXAMPLES = {}


def random_point(model, rng):
    """Values of the value variables, drawn where densities are finite."""
    shapes = {rv: rv.shape.eval() for rv in model.free_RVs}
    point = {}
    for rv in model.free_RVs:
        value = model.rvs_to_values[rv]
        transform = model.rvs_to_transforms[rv]
        shape = shapes[rv] if transform is None else transform.forward(rv, *rv.owner.inputs).shape.eval()
        noise = rng.normal(size=tuple(shape))
        point[value.name] = noise if value.dtype.startswith("float") else rng.integers(0, 3, tuple(shape))
    return point


def example(function):
    """Register a function of labels that adds variables to a model and returns the items of the rows of each term."""
    EXAMPLES[function.__name__] = function
    return function


def normal(name, shape=K):
    return pm.Normal(name, 0, 1, shape=shape)


@example
def mixture_of_regressions(z):
    slope, intercept, scale = normal("slope"), normal("intercept"), pm.LogNormal("scale", 0, 1, shape=K)
    pm.Normal("y", intercept[z] + slope[z] * X, scale[z], observed=Y)
    return {"y": range(N)}


@example
def student_t(z):
    scale = pm.HalfNormal("scale", 1, shape=K)
    pm.StudentT("y", nu=4, mu=normal("mean")[z], sigma=scale[z], observed=Y)
    return {"y": range(N)}


@example
def poisson_regression(z):
    design = np.stack([np.ones(N), X, X**2], axis=1)
    pm.Poisson("y", pm.math.exp((design * normal("beta", (K, 3))[z]).sum(-1)), observed=COUNTS)
    return {"y": range(N)}


@example
def matrix_product(z):
    pm.Normal("y", (normal("beta", (K, 2))[z] @ np.array([[0.3], [0.7]]))[:, 0], 1, observed=Y)
    return {"y": range(N)}


@example
def repeated_measures(z):
    pm.Normal("y", normal("slope")[z][SUBJECT] * TIME, pm.HalfNormal("scale", 1), observed=LONG)
    return {"y": SUBJECT}


@example
def labels_of_rows(z):
    subject = pm.Data("subject", SUBJECT)
    y = np.ma.masked_array(LONG, mask=np.arange(8) == 3)
    pm.Normal("y", normal("mean")[z[subject]], 1, observed=y)
    return {"y_observed": np.delete(SUBJECT, 3), "y_unobserved": SUBJECT[3:4]}


@example
def several_terms(z):
    mean = normal("mean")
    pm.Normal("y", mean[z], 1, observed=Y)
    pm.Bernoulli("event", logit_p=normal("logit")[z], observed=BINARY)
    effect = pm.Normal("effect", mean[z], 1)
    pm.Potential("both", -((mean[z][:, None] - effect[:, None] * np.array([1.0, 2.0])) ** 2))
    return {"y": range(N), "effect": range(N), "event": range(N), "both": range(N)}


@example
def survival_with_potentials(z):
    shape, scale = pm.LogNormal("shape", 0, 1, shape=K), pm.LogNormal("scale", 0, 1, shape=K)
    time = np.abs(Y) + 0.3
    pm.Potential("died", (BINARY * pm.logp(pm.Weibull.dist(shape[z], scale[z]), time)).sum() - 3)
    pm.Potential("lived", -2.0 * ((1 - BINARY) * (time / scale[z]) ** shape[z]).sum() + normal("other", ()))
    pm.Potential("both", shape[z].sum() / 3.0 - (scale[z] * X).sum())
    return {"died": range(N), "lived": range(N), "both": [*range(N), *range(N)]}


@example
def two_partitions(z):
    w = pm.Categorical("w", np.ones(3) / 3, shape=N)
    pm.Normal("y", normal("theta", (K, 3))[z, w], 1, observed=Y)
    return {"y": range(N)}


@example
def multivariate_means(z):
    pm.MvNormal("y", normal("mean", (K, 2))[z], chol=np.array([[1.0, 0.0], [0.4, 0.8]]), observed=np.stack([X, Y], 1))
    return {"y": range(N)}


@example
def multivariate_factors(z):
    factor = pt.tril(normal("factor", (K, 2, 2)))
    pm.MvNormal("y", np.zeros(2), chol=factor[z], observed=np.stack([X, Y], 1))
    return {"y": range(N)}


@example
def censored_weibull(z):
    shape, scale = pm.LogNormal("shape", 0, 1, shape=K), pm.LogNormal("scale", 0, 1, shape=K)
    weibull = pm.Weibull.dist(shape[z], scale[z])
    pm.Censored("y", weibull, lower=None, upper=1.0, observed=np.minimum(np.abs(Y), 1.0))
    return {"y": range(N)}


@example
def take(z):
    pm.Normal("y", pt.take(normal("mean"), z), 1, observed=Y)
    return {"y": range(N)}


@example
def one_hot(z):
    chosen = pt.eq(z[:, None], pt.arange(K)[None, :])
    pm.Normal("y", (chosen * normal("mean")).sum(1), 1, observed=Y)
    return {"y": range(N)}


@example
def one_hot_product(z):
    pm.Normal("y", pt.dot(pt.eq(z[:, None], pt.arange(K)).astype("float64"), normal("mean")), 1, observed=Y)
    return {"y": range(N)}


@example
def switch(z):
    pm.Normal("y", pt.switch(pt.eq(z, 0), normal("a", ()), normal("b", ())), 1, observed=Y)
    return {"y": range(N)}


@example
def custom_dist(z):
    pm.CustomDist("y", normal("mean")[z], logp=lambda value, mean: -pt.abs(value - mean), observed=Y)
    return {"y": range(N)}


@example
def random_walks(z):
    start = pm.Normal.dist(0, 10)
    steps = np.cumsum(np.outer(Y, X), axis=1)
    pm.GaussianRandomWalk("y", normal("drift")[z], 1.0, init_dist=start, shape=(N, 5), observed=steps)
    return {"y": range(N)}


@example
def zero_inflated_poisson(z):
    psi = pm.Beta("psi", 1, 1, shape=K)
    pm.ZeroInflatedPoisson("y", psi[z], pt.exp(normal("log_rate")[z]), observed=COUNTS)
    return {"y": range(N)}


@example
def mixture_of_two(z):
    pm.Mixture("y", w=[0.4, 0.6], comp_dists=pm.Normal.dist(normal("means", (K, 2))[z], 1.0), observed=Y)
    return {"y": range(N)}


@example
def reshaped(z):
    sparse_like = pt.concatenate([normal("mean")[z], normal("nu")[z][:1]]).reshape((3, 2))
    pm.Normal("y", sparse_like, 1, observed=np.append(Y, 1.0).reshape(3, 2))
    return {"y": [0, 1, 2, 3, 4, 0]}


@example
def categorical(z):
    pm.Categorical("y", logit_p=normal("logit", (K, 3))[z], observed=np.array([0, 2, 1, 1, 0]))
    return {"y": range(N)}


@example
def random_effects(z):
    effect = pm.Normal("effect", normal("mean")[z], pm.LogNormal("scale", 0, 1, shape=K)[z])
    pm.Normal("y", effect[SUBJECT], 1, observed=LONG)
    return {"effect": range(N)}


@example
def negative_binomial(z):
    size = pm.Exponential("size", 1, shape=K)
    pm.NegativeBinomial("y", mu=pt.exp(normal("log_mean")[z] + 0.3 * X), alpha=size[z], observed=COUNTS)
    return {"y": range(N)}


@example
def anchored(z):
    mean = pt.set_subtensor(normal("mean")[0], 0.0)
    shifted = pt.set_subtensor(mean[z][1:3], normal("nu")[z][:2])
    pm.Normal("y", shifted, 1, observed=Y)
    return {"y": [0, 0, 1, 3, 4]}


@example
def lagged_only(z):
    pm.Normal("y", pt.concatenate([[0.0], normal("mean")[z][:-1]]), 1, observed=Y)
    return {"y": [-1, 0, 1, 2, 3]}


@example
def one_item(z):
    pm.Normal("y", normal("mean")[z[3]] * X, 1, observed=Y)
    return {"y": [3]}


@example
def series(z):
    effect = normal("effect", (K, 6))[z]
    pm.Normal("y", pt.cumsum(effect, axis=1)[:, ::-2], 1, observed=np.outer(Y, X[:3]))
    return {"y": range(N)}


@example
def by_mask(z):
    chosen = np.array([True, False, True, True, False])
    pm.Normal("y", normal("mean")[z][chosen], 1, observed=Y[chosen])
    return {"y": [0, 2, 3]}


@example
def ordered_categories(z):
    pm.OrderedLogistic("y", eta=normal("mean")[z], cutpoints=np.array([-1.0, 1.0]), observed=np.array([0, 1, 2, 1, 0]))
    return {"y": range(N)}


@example
def multinomial(z):
    counts = np.array([[3, 1, 1], [0, 5, 0], [2, 2, 1], [1, 1, 3], [0, 0, 5]])
    pm.Multinomial("y", n=5, p=pm.Dirichlet("p", np.ones(3), shape=(K, 3))[z], observed=counts)
    return {"y": range(N)}


@example
def truncated(z):
    pm.Truncated("y", pm.Normal.dist(normal("mean")[z], 1.0), lower=0.0, observed=np.abs(Y))
    return {"y": range(N)}


@example
def by_scan(z):
    """A recursion over time."""
    decay, data = pm.Beta("decay", 2, 2, shape=K)[z], np.outer(X, np.ones(3))
    levels = pytensor.scan(
        lambda last, rate: rate * last + 1.0, outputs_info=pt.ones(N), non_sequences=decay, n_steps=3
    )
    levels = levels[0] if isinstance(levels, tuple | list) else levels
    pm.Normal("y", levels.T, 1, observed=data)
    return {"y": range(N)}
