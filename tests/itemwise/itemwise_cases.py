"""Models whose parameters are indexed by the labels of a partition of five items, in four slots."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pytensor.compile.mode import Mode

import pymc_nrm as nrm

N, K = 5, 4
X = np.array([-0.5, 0.4, 0.9, 1.3, 2.0])
Y = np.array([0.2, -1.0, 0.7, 1.9, -0.4])
COUNTS = np.array([0, 3, 1, 5, 2])
BINARY = np.array([0, 1, 1, 0, 1])
SUBJECT = np.array([0, 0, 1, 2, 2, 2, 3, 4])
TIME = np.array([0.0, 1.0, 0.5, 0.0, 1.0, 2.0, 0.7, 0.0])
LONG = np.sin(np.arange(8.0))
CHEAP = {"mode": Mode(linker="py", optimizer="minimum_compile")}


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


def model_of(build, n=N, max_clusters=K):
    """A model in which a function of labels that index parameters adds variables."""
    with pm.Model() as model:
        build(nrm.Partition("z", nrm.DirichletProcess(1.0), n=n, max_clusters=max_clusters))
    return model


def normal(name, shape=K):
    return pm.Normal(name, 0, 1, shape=shape)


def positive(name, shape=K):
    return pm.LogNormal(name, 0, 1, shape=shape)


def of_y(mean, sigma=1.0, observed=Y):
    return pm.Normal("y", mean, sigma, observed=observed)


def labels_of_rows(z):
    y = np.ma.masked_array(LONG, mask=np.arange(8) == 3)
    of_y(normal("mean")[z[pm.Data("subject", SUBJECT)]], observed=y)


def several_terms(z):
    mean = normal("mean")
    of_y(mean[z])
    pm.Bernoulli("event", logit_p=normal("logit")[z], observed=BINARY)
    effect = pm.Normal("effect", mean[z], 1)
    pm.Potential("both", -((mean[z][:, None] - effect[:, None] * np.array([1.0, 2.0])) ** 2))


def survival_with_potentials(z):
    shape, scale = positive("shape"), positive("scale")
    time = np.abs(Y) + 0.3
    pm.Potential("died", (BINARY * pm.logp(pm.Weibull.dist(shape[z], scale[z]), time)).sum() - 3)
    pm.Potential("lived", -2.0 * ((1 - BINARY) * (time / scale[z]) ** shape[z]).sum() + normal("other", ()))
    pm.Potential("both", shape[z].sum() / 3.0 - (scale[z] * X).sum())


def censored_weibull(z):
    weibull = pm.Weibull.dist(positive("shape")[z], positive("scale")[z])
    pm.Censored("y", weibull, lower=None, upper=1.0, observed=np.minimum(np.abs(Y), 1.0))


def random_walks(z):
    steps = np.cumsum(np.outer(Y, X), axis=1)
    start = pm.Normal.dist(0, 10)
    pm.GaussianRandomWalk("y", normal("drift")[z], 1.0, init_dist=start, shape=(N, 5), observed=steps)


def reshaped(z):
    sparse_like = pt.concatenate([normal("mean")[z], normal("nu")[z][:1]]).reshape((3, 2))
    of_y(sparse_like, observed=np.append(Y, 1.0).reshape(3, 2))


def random_effects(z):
    of_y(pm.Normal("effect", normal("mean")[z], positive("scale")[z])[SUBJECT], observed=LONG)


def anchored(z):
    mean = pt.set_subtensor(normal("mean")[0], 0.0)
    of_y(pt.set_subtensor(mean[z][1:3], normal("nu")[z][:2]))


def by_scan(z):
    decay = pm.Beta("decay", 2, 2, shape=K)[z]
    levels = pytensor.scan(lambda last, rate: rate * last + 1.0, None, pt.ones(N), decay, n_steps=3)
    levels = levels[0] if isinstance(levels, tuple | list) else levels
    of_y(levels.T, observed=np.outer(X, np.ones(3)))


DESIGN, CHOSEN = np.stack([np.ones(N), X, X**2], axis=1), np.array([True, False, True, True, False])
PAIRS, ORDER = np.stack([X, Y], 1), np.array([0, 1, 2, 1, 0])
OF_FIVE = np.array([[3, 1, 1], [0, 5, 0], [2, 2, 1], [1, 1, 3], [0, 0, 5]])
ALL = range(N)

# Functions of labels that add variables to a model, by what they show; the items of the rows of y are all items.
OF_ALL = {
    "mixture of regressions": lambda z: of_y(normal("intercept")[z] + normal("slope")[z] * X, positive("scale")[z]),
    "Student's t": lambda z: pm.StudentT(
        "y", nu=4, mu=normal("mean")[z], sigma=pm.HalfNormal("scale", 1, shape=K)[z], observed=Y
    ),
    "Poisson regression": lambda z: pm.Poisson("y", pt.exp((DESIGN * normal("b", (K, 3))[z]).sum(-1)), observed=COUNTS),
    "matrix product": lambda z: of_y((normal("beta", (K, 2))[z] @ np.array([[0.3], [0.7]]))[:, 0]),
    "two partitions": lambda z: of_y(normal("theta", (K, 3))[z, pm.Categorical("w", np.ones(3) / 3, shape=N)]),
    "multivariate means": lambda z: pm.MvNormal(
        "y", normal("mean", (K, 2))[z], chol=np.array([[1.0, 0.0], [0.4, 0.8]]), observed=PAIRS
    ),
    "multivariate factors": lambda z: pm.MvNormal(
        "y", np.zeros(2), chol=pt.tril(normal("factor", (K, 2, 2)))[z], observed=PAIRS
    ),
    "censored Weibull": censored_weibull,
    "take": lambda z: of_y(pt.take(normal("mean"), z)),
    "one-hot": lambda z: of_y((pt.eq(z[:, None], pt.arange(K)[None, :]) * normal("mean")).sum(1)),
    "one-hot product": lambda z: of_y(pt.dot(pt.eq(z[:, None], pt.arange(K)).astype("float64"), normal("mean"))),
    "switch": lambda z: of_y(pt.switch(pt.eq(z, 0), normal("a", ()), normal("b", ()))),
    "custom distribution": lambda z: pm.CustomDist(
        "y", normal("mean")[z], logp=lambda value, mean: -pt.abs(value - mean), observed=Y
    ),
    "random walks": random_walks,
    "zero-inflated Poisson": lambda z: pm.ZeroInflatedPoisson(
        "y", pm.Beta("psi", 1, 1, shape=K)[z], pt.exp(normal("log_rate")[z]), observed=COUNTS
    ),
    "mixture of two": lambda z: pm.Mixture(
        "y", w=[0.4, 0.6], comp_dists=pm.Normal.dist(normal("means", (K, 2))[z], 1.0), observed=Y
    ),
    "categorical": lambda z: pm.Categorical("y", logit_p=normal("logit", (K, 3))[z], observed=ORDER),
    "negative binomial": lambda z: pm.NegativeBinomial(
        "y", mu=pt.exp(normal("log_mean")[z] + 0.3 * X), alpha=pm.Exponential("size", 1, shape=K)[z], observed=COUNTS
    ),
    "series": lambda z: of_y(pt.cumsum(normal("effect", (K, 6))[z], axis=1)[:, ::-2], observed=np.outer(Y, X[:3])),
    "ordered categories": lambda z: pm.OrderedLogistic(
        "y", eta=normal("mean")[z], cutpoints=np.array([-1.0, 1.0]), observed=ORDER
    ),
    "multinomial": lambda z: pm.Multinomial(
        "y", n=5, p=pm.Dirichlet("p", np.ones(3), shape=(K, 3))[z], observed=OF_FIVE
    ),
    "truncated": lambda z: pm.Truncated("y", pm.Normal.dist(normal("mean")[z], 1.0), lower=0.0, observed=np.abs(Y)),
    "by scan": by_scan,
}
# Others, with the items of the rows of each term.
EXAMPLES = {name: (build, {"y": ALL}) for name, build in OF_ALL.items()} | {
    "repeated measures": (
        lambda z: of_y(normal("slope")[z][SUBJECT] * TIME, pm.HalfNormal("scale", 1), LONG),
        {"y": SUBJECT},
    ),
    "labels of rows": (labels_of_rows, {"y_observed": np.delete(SUBJECT, 3), "y_unobserved": SUBJECT[3:4]}),
    "several terms": (several_terms, dict.fromkeys(["y", "effect", "event", "both"], ALL)),
    "survival with potentials": (survival_with_potentials, {"died": ALL, "lived": ALL, "both": [*ALL, *ALL]}),
    "reshaped": (reshaped, {"y": [0, 1, 2, 3, 4, 0]}),
    "random effects": (random_effects, {"effect": ALL}),
    "anchored": (anchored, {"y": [0, 0, 1, 3, 4]}),
    "lagged only": (lambda z: of_y(pt.concatenate([[0.0], normal("mean")[z][:-1]])), {"y": [-1, 0, 1, 2, 3]}),
    "one item": (lambda z: of_y(normal("mean")[z[3]] * X), {"y": [3]}),
    "by mask": (lambda z: of_y(normal("mean")[z][CHOSEN], observed=Y[CHOSEN]), {"y": [0, 2, 3]}),
}
