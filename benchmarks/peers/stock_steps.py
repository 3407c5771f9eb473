"""The same Dirichlet process mixture of Gaussians under steps of the package, and in stock PyMC under those of PyMC."""

import time

import numpy as np
import pymc as pm
from common.data import dirichlet_process
from pymc.step_methods import CompoundStep

import pymc_nrm as nrm
from peers import stick_breaking


def compiled(model):
    """Compile the model with nutpie; return it and the seconds this took, including first evaluations."""
    import nutpie

    start = time.perf_counter()
    program = nutpie.compile_pymc_model(model)
    nutpie.sample(program, draws=2, tune=2, chains=1, cores=1, seed=1, progress_bar=False)
    return program, time.perf_counter() - start


def _trace(program, tune, seconds, seed):
    """The trace of one chain that is stopped after a number of CPU seconds, and the seconds that it took."""
    import nutpie

    begin = time.process_time()
    options = {"chains": 1, "cores": 1, "seed": seed, "progress_bar": False, "save_warmup": True}
    sampler = nutpie.sample(program, draws=100_000, tune=tune, blocking=False, **options)
    while time.process_time() - begin < seconds:
        time.sleep(0.1)
    return sampler.abort(), time.process_time() - begin


def _points(draws):
    """Values of the random variables for each draw of the only chain."""
    values = {name: array.values[0] for name, array in draws.data_vars.items()}
    return [{name: x[s] for name, x in values.items()} for s in range(draws.sizes["draw"])]


def _has_draws(trace):
    return "posterior" in trace.children and trace.posterior.sizes["draw"] > 0


def run(program, *, tune, seconds, seed):
    """Draws of one chain that is stopped after a number of CPU seconds, including tuning."""
    trace, elapsed = _trace(program, tune, seconds, seed)
    steps = float(trace.warmup_sample_stats.n_steps.sum())
    n_tune = trace.warmup_sample_stats.sizes["draw"]
    if not _has_draws(trace):
        return [], 0.0, elapsed, n_tune, 0
    share = steps / (steps + float(trace.sample_stats.n_steps.sum()))
    divergences = int(np.sum(trace.sample_stats.diverging.values))
    return _points(trace.posterior), elapsed * (1 - share), elapsed * share, n_tune, divergences


def follow(program, *, tune, seconds, seed):
    """All draws of one chain, those of tuning included, and the CPU seconds to each by its leapfrog steps."""
    trace, elapsed = _trace(program, tune, seconds, seed)
    points = _points(trace.warmup_posterior)
    steps = trace.warmup_sample_stats.n_steps.values[0].astype(float)
    if _has_draws(trace):
        points += _points(trace.posterior)
        steps = np.concatenate([steps, trace.sample_stats.n_steps.values[0]])
    return points, elapsed * np.cumsum(steps) / steps.sum()


ALPHA, N_COMPONENTS = 1.0, 30
FAMILY = nrm.NormalWishart(mu=0.0, kappa=0.1, Psi=5.0 * np.eye(2), nu=8.0)
SUMMED_OUT = "NUTS, labels summed out"


def marginal_model(X):
    return stick_breaking.marginal_model(X, FAMILY, ALPHA, N_COMPONENTS)


def model_and_step(X, name, n_chains):
    """Model, step, and the starts of chains; the step is one of the package, or NUTS with or without labels."""
    if hasattr(nrm, name):
        with dirichlet_process(X, FAMILY) as model:
            step = getattr(nrm, name)([model["z"]])
        return model, step, [model.initial_point()] * n_chains
    if name.endswith(SUMMED_OUT):
        model = marginal_model(X)
        with model:
            starts, step = pm.init_nuts(chains=n_chains, random_seed=1, progressbar=False, quiet=True)
        return model, step, starts
    model = stick_breaking.label_model(X, FAMILY, ALPHA, N_COMPONENTS)
    with model:
        continuous = [variable for variable in model.free_RVs if variable.name != "labels"]
        step = CompoundStep([pm.NUTS(continuous), pm.CategoricalGibbsMetropolis([model["labels"]])])
    labels = [np.random.default_rng(seed + 1).integers(0, N_COMPONENTS, len(X)) for seed in range(n_chains)]
    return model, step, [model.initial_point() | {"labels": start} for start in labels]


def draw_labels(X, values, seed):
    """Labels given each draw of the other variables, shape (draws, n)."""
    rng = np.random.default_rng(100 + seed)
    draws = [stick_breaking.draw_labels(X, point, FAMILY, rng) for point in values]
    return np.array(draws, dtype=np.int64).reshape(len(draws), len(X))


def labels_of(X, model, points, seed):
    """Labels of the draws of a chain, shape (draws, n): from the points, or drawn for each."""
    for name in ("z", "labels"):
        if name in points[0]:
            return np.array([point[name] for point in points])
    return draw_labels(X, stick_breaking.values_of(model, points), seed)
