"""What is computed from the models: draws of steps, runs and what follows from them, densities, trees."""

import functools
from functools import partial

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.families.definitions.principal_normal_wishart import PrincipalNormalWishart
from pymc_nrm.families.derived.spherical_principal_normal_wishart import SphericalPrincipalNormalWishart
from tests.tools.same_draws.models import (
    BROAD,
    CLUSTERS,
    COUNTS,
    FAMILIES,
    FULL,
    KINDS,
    KNOWN,
    LABELS,
    MEASURES,
    MORE_FAMILIES,
    REAL,
    TOGETHER,
    WIDE,
    flat,
    own_weights,
    principal,
    rows_of_items,
    slots,
)
from tests.tools.wings import rows_of_wings


def run_step(make, step, options, draws=8, tune=3):
    """Values and statistics of a step of the first variable of a model, called directly."""
    with make() as model:
        variable = model.free_RVs[0]
        step = step([variable], rng=np.random.default_rng(3), **options)
    step.setup_chain(np.random.default_rng(7), tune, draws)
    point, values, statistics = model.initial_point(random_seed=1), [], []
    for draw in range(draws):
        if draw == tune:
            step.stop_tuning()
        point, rows = step.step(point)
        values.append(point[variable.name].copy())
        statistics.append({key: np.asarray(value) for row in rows for key, value in row.items()})
    kept = [key for key in statistics[0] if key != "partition_number" and "time" not in key]
    return {"labels": np.array(values)} | {key: np.array([row[key] for row in statistics], dtype=float) for key in kept}


STEPS = {
    "TreeGuided": (nrm.steps.TreeGuided, {}),
    "SplitMerge": (nrm.steps.SplitMerge, {"n_moves": 2}),
    "SplitMerge restricted": (nrm.steps.SplitMerge, {"proposal": "restricted_gibbs", "n_scans": 2}),
    "MarginalGibbs": (nrm.steps.MarginalGibbs, {}),
    "MarginalGibbs of 2": (nrm.steps.MarginalGibbs, {"n_items": 2}),
    "SliceSampler": (nrm.steps.SliceSampler, {}),
}
FLAT = {
    **{family: partial(flat, MEASURES["DP"], family) for family in FAMILIES},
    **{name: partial(flat, measure, "PoissonGamma") for name, measure in MEASURES.items()},
    "two families": partial(flat, MEASURES["NIG"], "NormalGamma", "PoissonGamma"),
    "no data": partial(flat, MEASURES["NGG"]),
    **{family: partial(flat, MEASURES["DP"], family) for family in MORE_FAMILIES},
    **{f"together {name}": partial(flat, MEASURES["NGG"], name, together=TOGETHER) for name in FAMILIES},
    **{f"known labels {name}": partial(flat, MEASURES["NGG"], name, known=KNOWN) for name in FAMILIES},
    **{f"rows of items {name}": partial(rows_of_items, name) for name in FAMILIES if name != "MultinomialDirichlet"},
    "three families": partial(flat, MEASURES["NIG"], "NormalWishart", "PoissonGamma", "BernoulliBeta"),
    "PrincipalNormalWishart": partial(principal, PrincipalNormalWishart, WIDE),
    "SphericalPrincipalNormalWishart": partial(principal, SphericalPrincipalNormalWishart, BROAD),
}
# A model, a step and its options by the name of a case.
ROWS = {
    **{f"{step}/{name}": (make, *STEPS[step]) for step in STEPS for name, make in FLAT.items()},
    **{f"SlotGibbs/{m}": (partial(slots, MEASURES[m]), nrm.steps.SlotGibbs, {}) for m in ("NGG", "PY", "MFM", "DP")},
    "WeightedGibbs": (own_weights, nrm.steps.WeightedGibbs, {}),
    "WeightedGibbs/mixture": (partial(own_weights, mixture=True), nrm.steps.WeightedGibbs, {}),
} | rows_of_wings("STEPS", "same_draws")


@functools.cache
def run(kind):
    """Draws of one kind and their model, with NUTS on hyperparameters."""
    model = KINDS[kind]()
    return nrm.sample(8, tune=4, chains=2, cores=1, random_seed=4, model=model, progressbar=False, quiet=True), model


def numbers(tree, prefix=""):
    """Arrays of numbers of a dataset, a tree of them, or a table."""
    if isinstance(tree, xr.DataTree):
        return {
            key: value
            for node in tree.subtree
            for key, value in numbers(node.to_dataset(), f"{prefix}{node.path.strip('/')}/").items()
        }
    if isinstance(tree, xr.DataArray):
        tree = tree.to_dataset(name="values")
    if isinstance(tree, pd.DataFrame):
        return {f"{prefix}{name}": pd.to_numeric(tree[name], errors="coerce").to_numpy(float) for name in tree}
    return {f"{prefix}{name}": array.values for name, array in tree.data_vars.items() if array.dtype.kind in "biuf"}


def everything(kind):
    # Which step's acceptance rate this is changes from process to process.
    left_out = ("time", "perf_counter", "process", "partition_number", "observed", "constant_data", "acceptance_rate")
    found = numbers(run(kind)[0])
    return {key: value for key, value in found.items() if not any(word in key for word in left_out)}


def of_model(function, **options):
    """Numbers that a function of draws and their model returns."""
    return lambda kind: numbers(function(*run(kind), progressbar=False, **options))


def of_new_rows(function, **options):
    """Numbers that are predicted for new rows of every mixture, which are those of the model again."""

    def of(kind):
        idata, model = run(kind)
        mixtures = [rv for rv in model.observed_RVs if rv.name.startswith("x")]
        rows = NEW_ROWS.get(kind) or {rv.name: model.rvs_to_values[rv].eval() for rv in mixtures}
        return numbers(function(idata, model, rows or None, progressbar=False, **options, **OPTIONS.get(kind, {})))

    return of


def of_draws(function, *arguments, **options):
    """Numbers that a function of draws returns."""
    return lambda kind: numbers(function(run(kind)[0], *arguments, **options))


SEEDED = {"random_seed": 1, "progressbar": False}
# Rows that are predicted where they are not the values of the mixtures.
NEW_ROWS = {
    "gaps": {"x": REAL, "x1": COUNTS},
    "rows of items": {"x0": REAL[:5], "x1": COUNTS[:5]},
    "chunks": {"x": FULL},
}
# Options of predictions that a kind of partition needs.
OPTIONS = rows_of_wings("OPTIONS", "same_draws")
AFTER = {
    "idata": everything,
    "summary": of_draws(nrm.summary),
    "similarity": of_draws(nrm.similarity),
    "levels": of_draws(nrm.stats.levels),
    "point_estimate": of_draws(nrm.point_estimate, **SEEDED),
    "point_estimates": of_draws(nrm.point_estimates, loss="binder_loss", **SEEDED),
    "credible_ball": of_draws(nrm.credible_ball, LABELS, progressbar=False),
    "partition_convergence": of_draws(nrm.stats.partition_convergence),
    "assignment_uncertainty": of_draws(nrm.stats.assignment_uncertainty, LABELS),
    "cluster_parameters": of_draws(nrm.stats.cluster_parameters, CLUSTERS),
    "log_likelihood": of_model(nrm.compute_log_likelihood, extend_inferencedata=False),
    "replications": of_model(nrm.sample_posterior_predictive, random_seed=2),
    "new_items": of_model(nrm.sample_posterior_predictive, random_seed=2, new_items=2),
    "components": of_model(nrm.sample_cluster_parameters, random_seed=1),
    "random_measure": of_model(
        nrm.random_measure.sample_random_measure, tail_mass=0.05, max_new_atoms=40, random_seed=5
    ),
    "fused": of_model(nrm.fused_estimate, random_seed=1),
    "labels": of_new_rows(nrm.cluster_probabilities),
    "log_density": of_new_rows(nrm.log_predictive_density),
}


# Further functions of draws and their model, which return arrays.
FURTHER = {
    f"run/{kind}/{name}": lambda kind=kind, function=function: function(*run(kind))
    for name, (kinds, function) in rows_of_wings("AFTER", "same_draws").items()
    for kind in kinds
}


def of_one(function, *arguments, model=False, **options):
    """What a function returns for one of several partitions or mixtures."""
    return lambda kind, name: (of_model if model else of_draws)(function, *arguments, var_name=name, **options)(kind)


NAMED = {
    "similarity": of_one(nrm.similarity),
    "point_estimate": of_one(nrm.point_estimate, **SEEDED),
    "point_estimates": of_one(nrm.point_estimates, loss="binder_loss", **SEEDED),
    "credible_ball": of_one(nrm.credible_ball, LABELS, progressbar=False),
    "partition_convergence": of_one(nrm.stats.partition_convergence),
    "assignment_uncertainty": of_one(nrm.stats.assignment_uncertainty, LABELS),
    "log_likelihood": of_one(nrm.compute_log_likelihood, model=True, extend_inferencedata=False),
    "fused": of_one(nrm.fused_estimate, model=True, random_seed=1),
}
NAMED_MIXTURES = {
    "components": of_one(nrm.sample_cluster_parameters, model=True, random_seed=1),
    "random_measure": of_one(
        nrm.random_measure.sample_random_measure, model=True, tail_mass=0.05, max_new_atoms=40, random_seed=5
    ),
}
# Kinds of models with several partitions or mixtures, and the one that is meant.
SEVERAL = {
    **{f"several/{name} of {z}": (function, "several", z) for name, function in NAMED.items() for z in ("z", "w", "v")},
    **{
        f"{kind}/{name} of {x}": (function, kind, x)
        for name, function in NAMED_MIXTURES.items()
        for kind, x in (("several", "x"), ("gaps", "x"), ("rows of items", "x0"))
    },
}


def log_densities(model):
    """Log-probability of each variable at the initial point, and its gradient."""
    point = model.initial_point(random_seed=1)
    terms = model.compile_logp(sum=False)(point)
    found = {f"logp/{k}": np.asarray(term) for k, term in enumerate(terms)}
    if model.continuous_value_vars:
        found["gradient"] = model.compile_dlogp()(point)
    return found


def forward(model):
    variables = [*model.free_RVs, *model.observed_RVs]
    return {f"draw/{rv.name}": pm.draw(rv, draws=4, random_seed=3) for rv in variables}


def whole(make):
    return log_densities(make()) | forward(make())


def tree_of(family, X):
    found = [getattr(nrm.trees, name)(X, family, MEASURES["NGG"], random_seed=1) for name in ("bhc", "ibhc")]
    return {f"{k}": np.append(tree.to_linkage(), tree.log_evidence) for k, tree in enumerate(found)}


TABLE = pd.DataFrame({"a": FULL[:, 0], "b": FULL[:, 1], "c": COUNTS[:, 0], "d": list("xyxxyz"), "e": LABELS > 0})


CASES = {
    **{f"step/{name}": partial(run_step, *row) for name, row in ROWS.items()},
    **{f"run/{kind}/{name}": partial(function, kind) for kind in KINDS for name, function in AFTER.items()},
    **{f"run/{name}": partial(*row) for name, row in SEVERAL.items()},
    **FURTHER,
    **{f"model/{kind}": partial(whole, make) for kind, make in KINDS.items()},
    **{f"model/prior/{name}": partial(whole, partial(flat, m, initval=LABELS)) for name, m in MEASURES.items()},
    **{f"model/family/{f}": partial(whole, partial(flat, MEASURES["DP"], f, initval=LABELS)) for f in FAMILIES},
    **{f"model/latent/{f}": partial(whole, partial(flat, MEASURES["DP"], f, observed=False)) for f in FAMILIES},
    "recipes/mixture_model": lambda: log_densities(nrm.mixture_model(TABLE, kinds={"c": "count"})),
    **{f"trees/{name}": partial(tree_of, *row) for name, row in FAMILIES.items()},
}
