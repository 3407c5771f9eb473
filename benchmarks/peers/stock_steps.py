"""The same Dirichlet process mixture of Gaussians under steps of the package, and in stock PyMC under those of PyMC."""

import numpy as np
import pymc as pm
from pymc.step_methods import CompoundStep

import pymc_nrm as nrm
from peers import stick_breaking

ALPHA, N_COMPONENTS = 1.0, 30
FAMILY = nrm.NormalWishart(mu=0.0, kappa=0.1, Psi=5.0 * np.eye(2), nu=8.0)
SUMMED_OUT = "NUTS, labels summed out"


def marginal_model(X):
    return stick_breaking.marginal_model(X, FAMILY, ALPHA, N_COMPONENTS)


def model_and_step(X, name, n_chains):
    """Model, step, and the starts of chains; the step is one of the package, or NUTS with or without labels."""
    if hasattr(nrm, name):
        with pm.Model() as model:
            z = nrm.Partition("z", nrm.DirichletProcess(ALPHA), n=len(X))
            nrm.Mixture("x", z, FAMILY, observed=X)
            step = getattr(nrm, name)([z])
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
