"""The same Dirichlet process mixture of Gaussians under steps of the package, and in stock PyMC under those of PyMC."""

import time
from functools import partial

import numpy as np
import pymc as pm
from common.chains import Chain, run_chains
from common.data import dirichlet_process
from pymc.step_methods import CompoundStep

import pymc_nrm as nrm
from peers import stick_breaking


def nutpie_chains(model, n_chains, *, tune, seconds, all_draws=False):
    """Chains of nutpie that end after a number of CPU seconds, tuning included, and wall seconds of compilation. Points
    are values of the random variables.
    """
    import nutpie

    begin = time.perf_counter()
    program = nutpie.compile_pymc_model(model)
    nutpie.sample(program, draws=2, tune=2, chains=1, cores=1, seed=1, progress_bar=False)
    compilation = time.perf_counter() - begin
    return (_nutpie_chain(program, tune, seconds, seed + 1, all_draws) for seed in range(n_chains)), compilation


def _nutpie_chain(program, tune, seconds, seed, all_draws):
    """One chain, whose CPU seconds are divided among its draws by their leapfrog steps."""
    import nutpie

    begin = time.process_time()
    options = {"chains": 1, "cores": 1, "seed": seed, "progress_bar": False, "save_warmup": True}
    sampler = nutpie.sample(program, draws=100_000, tune=tune, blocking=False, **options)
    while time.process_time() - begin < seconds:
        time.sleep(0.1)
    trace, elapsed = sampler.abort(), time.process_time() - begin
    parts = [(trace.warmup_posterior, trace.warmup_sample_stats)]
    if "posterior" in trace.children and trace.posterior.sizes["draw"] > 0:
        parts.append((trace.posterior, trace.sample_stats))
    points = [point for draws, _ in parts for point in _points(draws)]
    steps = np.concatenate([stats.n_steps.values[0] for _, stats in parts]).astype(float)
    times, n_tune = elapsed * np.cumsum(steps) / steps.sum(), parts[0][0].sizes["draw"]
    stats = [[{"diverging": one}] for _, found in parts[1:] for one in found.diverging.values[0]]
    if all_draws:
        return Chain(points, times, times[n_tune - 1], n_tune, stats)
    return Chain(points[n_tune:], times[n_tune:] - times[n_tune - 1], times[n_tune - 1], n_tune, stats)


def _points(draws):
    """Values of the random variables for each draw of the only chain."""
    values = {name: array.values[0] for name, array in draws.data_vars.items()}
    return [{name: x[s] for name, x in values.items()} for s in range(draws.sizes["draw"])]


ALPHA, N_COMPONENTS = 1.0, 30
FAMILY = nrm.NormalWishart(mu=0.0, kappa=0.1, Psi=5.0 * np.eye(2), nu=8.0)
SUMMED_OUT, NUTPIE = "NUTS, labels summed out", "nutpie, labels summed out"


def marginal_model(X):
    return stick_breaking.marginal_model(X, FAMILY, ALPHA, N_COMPONENTS)


def model_and_step(X, name, n_chains):
    """Model, step, and the starts of chains; the step is one of the package, or NUTS with or without labels."""
    if hasattr(nrm, name):
        with dirichlet_process(X, FAMILY) as model:
            step = getattr(nrm.steps, name)([model["z"]])
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


def chains_of(X, name, n_chains, *, tuning_seconds=np.inf, **limits):
    """Model, chains and wall seconds of compilation of a method; no model where points are values of variables."""
    if name.endswith(NUTPIE):
        return None, *nutpie_chains(marginal_model(X), n_chains, **limits)
    return run_chains(partial(model_and_step, X, name, n_chains), tuning_seconds=tuning_seconds, **limits)


def values_of(model, points):
    """Values of the random variables for each point of a chain."""
    return points if model is None else stick_breaking.values_of(model, points)


def labels_of(X, model, points, seed):
    """Labels of the draws of a chain, shape (draws, n): from the points, or drawn given the variables of each."""
    for name in ("z", "labels"):
        if points and name in points[0]:
            return np.array([point[name] for point in points])
    rng = np.random.default_rng(100 + seed)
    draws = [stick_breaking.draw_labels(X, point, FAMILY, rng) for point in values_of(model, points)]
    return np.array(draws, dtype=np.int64).reshape(len(draws), len(X))
