"""Mixtures of experts with weights that follow covariates: the steps of the package, PyMC's NUTS and nutpie."""

import time
import warnings
from typing import NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from common.chains import run_chains
from common.functionals import rates
from common.part import Part, groups, markdown, skipping, spread, where
from peers.stick_breaking import values_of
from peers.stock_steps import nutpie_chains
from scipy import stats
from scipy.special import log_softmax, logsumexp

import pymc_nrm as nrm
from pymc_nrm.steps.weighted_gibbs import ComponentLabels

N, N_CHAINS, TUNE = 500, 2, 400
OURS, BY_HAND = "WeightedNUTS", "pm.NormalMixture, NUTS of PyMC"
NUTPIE, EXPORTED = "pm.NormalMixture, nutpie", "nrm.summed_out, nutpie"
RATES = [("log_density", "log density"), ("entropy", "entropy"), ("mean", "mean")]
# Items and components of the draw of all labels, and its target in milliseconds.
MANY, MANY_COMPONENTS, DRAW_TARGET = 10_000, 8, 2.0
NEW = np.array([[1.0, -1.5], [1.0, 0.3]])


class Problem(NamedTuple):
    """Covariates, with a column of ones, and responses."""

    X: np.ndarray
    y: np.ndarray


def problem_of(n_experts, apart, n=N):
    """Linear experts with a softmax gate in one covariate, which overlap or not."""
    rng = np.random.default_rng(n_experts)
    x = rng.uniform(-2.0, 2.0, n)
    X = np.column_stack([np.ones(n), x])
    gate = rng.normal(0.0, 1.5, (2, n_experts))
    z = (X @ gate + rng.gumbel(size=(n, n_experts))).argmax(axis=1)
    level = np.linspace(-1.0, 1.0, n_experts) * n_experts * (1.5 if apart else 0.5)
    return Problem(X, level[z] + rng.normal(0.0, 1.0, n_experts)[z] * x + 0.5 * rng.normal(size=n))


def priors(n_experts):
    """Gate, intercepts, slopes and scales of experts; the means of all responses have shape (n, experts)."""
    gate = pm.Normal("gate", 0.0, 1.5, shape=(2, n_experts))
    level, slope = pm.Normal("level", 0.0, 3.0, shape=n_experts), pm.Normal("slope", 0.0, 2.0, shape=n_experts)
    return gate, level, slope, pm.HalfNormal("scale", 1.0, shape=n_experts)


def our_model(problem, n_experts):
    with pm.Model() as model:
        gate, level, slope, scale = priors(n_experts)
        z = nrm.Partition("z", log_weights=pt.as_tensor(problem.X) @ gate, n=len(problem.y))
        pm.Normal("y", level[z] + slope[z] * problem.X[:, 1], scale[z], observed=problem.y)
    return model


def mixture_by_hand(problem, n_experts):
    with pm.Model() as model:
        gate, level, slope, scale = priors(n_experts)
        w = pm.math.softmax(pt.as_tensor(problem.X) @ gate, axis=1)
        mu = level + slope * problem.X[:, 1:]
        pm.NormalMixture("y", w=w, mu=mu, sigma=scale, observed=problem.y)
    return model


def functionals(problem, values):
    """Log density of the data, mean entropy of the weights, and the regression mean at a new point."""
    log_weights = log_softmax(problem.X @ values["gate"], axis=1)
    means = values["level"] + values["slope"] * problem.X[:, 1:]
    log_density = logsumexp(log_weights + stats.norm.logpdf(problem.y[:, None], means, values["scale"]), axis=1).sum()
    entropy = -(np.exp(log_weights) * log_weights).sum(axis=1).mean()
    weights = np.exp(log_softmax(NEW @ values["gate"], axis=1))
    return log_density, entropy, (weights * (values["level"] + values["slope"] * NEW[:, 1:])).sum(axis=1)[0]


def chains_of_steps(make_model, make_step, problem, n_experts, seconds):
    """Functionals of the draws of chains of a step of PyMC, the chains, and wall seconds until the first draw."""

    def make():
        with make_model(problem, n_experts) as model:
            step = make_step()
        return model, step, [model.initial_point()] * N_CHAINS

    model, chains, compilation = run_chains(make, tune=TUNE, seconds=seconds)
    chains = list(chains)
    drawn = [[functionals(problem, values) for values in values_of(model, chain.points)] for chain in chains]
    return drawn, chains, compilation


def chains_of_nutpie(model, problem, seconds):
    """The same of nutpie, whose time includes tuning."""
    chains, compilation = nutpie_chains(model, N_CHAINS, tune=TUNE, seconds=seconds)
    chains = list(chains)
    return [[functionals(problem, point) for point in chain.points] for chain in chains], chains, compilation


METHODS = {
    OURS: lambda *given: chains_of_steps(our_model, nrm.steps.WeightedNUTS, *given),
    BY_HAND: lambda *given: chains_of_steps(mixture_by_hand, pm.NUTS, *given),
    NUTPIE: lambda problem, k, seconds: chains_of_nutpie(mixture_by_hand(problem, k), problem, seconds),
    EXPORTED: lambda problem, k, seconds: chains_of_nutpie(nrm.summed_out(our_model(problem, k)), problem, seconds),
}


def draw_of_labels():
    """Milliseconds of a draw of all labels given everything else, and of the gradient of the summed-out target."""
    problem = problem_of(MANY_COMPONENTS, apart=False, n=MANY)
    model = our_model(problem, MANY_COMPONENTS)
    point = model.initial_point()
    labels = ComponentLabels(model, model["z"], point)
    prior, _, _ = labels.target.at(point)
    shares, rng = labels.shares(prior), np.random.default_rng(1)
    no_mixtures = np.zeros((MANY, MANY_COMPONENTS))
    labels.draw(rng, point, shares, no_mixtures)
    times = []
    for _ in range(50):
        begin = time.process_time()
        labels.draw(rng, point, shares, no_mixtures)
        times.append(1e3 * (time.process_time() - begin))
    return spread(times)


def measure(quick, note):
    warnings.filterwarnings("ignore", category=UserWarning)
    rows = [{"method": "draw of labels", "n": MANY, "experts": MANY_COMPONENTS} | draw_of_labels()]
    print(rows[-1], flush=True)
    for n_experts in (3,) if quick else (3, 8):
        for apart in (False,) if quick else (False, True):
            problem = problem_of(n_experts, apart)
            for method, run in METHODS.items():
                with skipping(method, note):
                    drawn, chains, compilation = run(problem, n_experts, 3.0 if quick else 10.0)
                    rows.append({"method": method, "experts": n_experts, "data": "apart" if apart else "overlapping"})
                    rows[-1] |= {"compilation": compilation} | rates(drawn, chains, dict(RATES))
                    print(rows[-1], flush=True)
    return rows


def table(rows):
    text = (
        f"Linear experts with a softmax gate, n = {N}, {N_CHAINS} chains: milliseconds of a draw, and effective "
        "samples of the log density of the data per CPU second after tuning.\n\n"
    )
    cells = [
        [K, data, *(f"{row['milliseconds']:.2g}: {row['rate_log_density']:.3g}" for row in chosen)]
        for (K, data), chosen in groups([row for row in rows if "data" in row], "experts", "data").items()
    ]
    return text + markdown(["K", "experts", *METHODS], cells)


def headline(rows):
    claims = []
    [draw] = where(rows, method="draw of labels")
    claim = f"Own weights: labels of {MANY:,} items, {MANY_COMPONENTS} components"
    claims.append((claim, f"{draw['median']:.2g} ms", f"at most {DRAW_TARGET:g} ms", draw["median"] <= DRAW_TARGET))
    speeds, times = [], []
    for ours in where(rows, method=OURS):
        [peer] = where(rows, method=BY_HAND, experts=ours["experts"], data=ours["data"])
        speeds += [ours[f"rate_{name}"] / peer[f"rate_{name}"] for name, _ in RATES]
        times.append(ours["compilation"] / peer["compilation"])
    text = f"{np.median(speeds):.2g} times, {min(speeds):.2g} to {max(speeds):.2g}"
    claim = "Own weights: ESS per CPU second over pm.NormalMixture under NUTS of PyMC"
    claims.append((claim, text, "at least 0.8 times", np.median(speeds) >= 0.8))
    text = f"{min(times):.2g} to {max(times):.2g} times"
    claims.append(("Own weights: compilation over pm.NormalMixture", text, "at most twice", max(times) <= 2.0))
    return claims


MEANING = (
    "Where pm.Mixture can be written it is as fast, and nutpie is faster than the NUTS of PyMC with either; the "
    "package adds labels, several rows for each item, conjugate mixtures, summaries and predictions."
)
PART = Part("own_weights", measure, table, headline=headline, meaning=MEANING, peers=("pymc", "nutpie"))
