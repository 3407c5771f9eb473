"""Whether draws of fixed seeds are the same before and after a change of the code.

``python -m tests.same_draws --write FILE.npz`` writes draws, predictions and summaries of small models of every kind of
partition, with every step, family and measure; ``--compare FILE.npz`` says which of them differ now, ``--only REGEX``
runs some cases.  Kernels and graphs run in Python, so that nothing is compiled.
"""

import argparse
import functools
import logging
import math
import re
import sys
import time
import traceback
import warnings
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import xarray as xr
from pytensor.compile.mode import Mode

import pymc_nrm as nrm
from pymc_nrm.kernels.generic import Kernel
from tests.exact.cases import MEASURES

TOLERANCE = 1e-9
_exp = math.exp


def without_compilation():
    """Run all kernels, and all functions of PyTensor, in Python."""

    def interpreted(self):
        function = self.__wrapped__
        return SimpleNamespace(py_func=function, compile=lambda types: None, typeof_pyval=type, signatures=[])

    def exp(x):
        try:
            return _exp(x)
        except OverflowError:
            return math.inf

    math.exp = exp  # as in compiled kernels
    Kernel.__call__ = lambda self, *arguments: self.__wrapped__(*arguments)
    Kernel.dispatcher = property(interpreted)
    pytensor.config.mode = Mode(linker="py", optimizer="fast_compile")


NAN = np.nan
REAL = np.array([[0.0, 0.4], [0.2, 0.1], [4.0, NAN], [4.4, 3.9], [9.1, 0.2], [9.4, 0.3]])
FULL = np.where(np.isnan(REAL), 4.1, REAL)
COUNTS = np.array([[1, 4], [3, 2], [15, 4], [12, 0], [2, 9], [0, 8]])
BITS = np.array([[1, 1, 0], [1, NAN, 0], [0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 0, 1]])
LEVELS = np.array([[0, 1, 2], [0, NAN, 2], [1, 0, 0], [0, 1, 1], [1, 1, 2], [0, 1, 2]])
TOTALS = np.array([[2, 1, 0], [1, 2, 1], [0, 1, 3], [2, 0, 1], [0, 0, 4], [3, 1, 0]])
FAMILIES = {
    "NormalGamma": (nrm.NormalGamma([5.0, 0.0], 0.3, 1.5, [0.8, 1.2]), REAL),
    "NormalWishart": (nrm.NormalWishart([0.0, 1.0], 0.3, [[1.5, 0.4], [0.4, 1.0]], 5.0), FULL),
    "PoissonGamma": (nrm.PoissonGamma([1.2, 0.8], 0.4), COUNTS),
    "BernoulliBeta": (nrm.BernoulliBeta(0.6, [0.5, 0.8, 0.6]), BITS),
    "CategoricalDirichlet": (nrm.CategoricalDirichlet(0.5, 3), LEVELS),
    "MultinomialDirichlet": (nrm.MultinomialDirichlet([0.9, 1.1, 0.4], [3, 4, 4, 3, 4, 4]), TOTALS),
}
TREE_FAMILIES = {
    "NormalDiffusion": lambda depth: nrm.NormalDiffusion(4.0, [2.0] + [1.0] * depth, np.eye(2), 4.0),
    "IndependentNormalDiffusion": lambda depth: nrm.IndependentNormalDiffusion(4.0, [2.0] + [1.0] * depth, 3.0, 2.0),
}
LABELS = np.array([0, 0, 1, 1, 2, 0])
CLUSTERS = xr.DataArray(LABELS, dims="item")
ANIMALS = {"item": list("abcdef")}
GROUPS = [["a", 0], ["a", 1], ["b", 0], ["b", 0], ["a", 1], ["c", 0]]


def flat(measure=MEASURES["DP"], *families, observed=True, **partition):
    """A flat partition with fixed hyperparameters and a mixture for each family."""
    with pm.Model(coords=ANIMALS) as model:
        z = nrm.Partition("z", measure, dims="item", **partition)
        for k, name in enumerate(families):
            family, X = FAMILIES[name]
            nrm.Mixture(f"x{k}", z, family, **({"observed": X} if observed else {"shape": X.shape}))
    return model


def learned_flat(measure="NGG", family="NormalGamma"):
    with pm.Model(coords=ANIMALS) as model:
        alpha = pm.Gamma("alpha", 2, 1)
        if measure == "NGG":
            prior = nrm.NormalizedGeneralizedGamma(alpha, pm.Beta("sigma", 1, 3))
        else:
            prior = nrm.PitmanYorProcess(0.2, alpha) if measure == "PY" else nrm.MixtureOfFiniteMixtures(alpha, 2.0)
        z = nrm.Partition("z", prior, dims="item")
        X = FAMILIES[family][1]
        nrm.Mixture("x", z, getattr(nrm, family).learned("x", X), observed=X, dims=("item", "feature"))
    return model


def slots(measure=MEASURES["DP"], clusters=4, mixture=False):
    """Labels that index parameters; also with a mixture over them."""
    with pm.Model(coords={"cluster": range(clusters)}) as model:
        Y = pm.Data("Y", FULL[:, 0])
        z = nrm.Partition("z", measure, n=Y.shape[0], max_clusters="cluster")
        mu = pm.Normal("mu", 3.0, 3.0, dims="cluster")
        sigma = pm.HalfNormal("sigma", 1.0)
        pm.Normal("y", mu[z], sigma, observed=Y)
        if mixture:
            nrm.Mixture("x", z, FAMILIES["PoissonGamma"][0], observed=COUNTS)
    return model


def nested(depth=2, weights=True, family="BernoulliBeta", measure=None, learned=False, observed=True, paths=None):
    """A nested partition, with weights, with a tree family, or with known paths."""
    with pm.Model(coords=ANIMALS) as model:
        gamma = (pm.Gamma("gamma", 2, 2), pm.Gamma("gamma_0", 2, 2)) if learned else (1.0, 1.5)
        weights = nrm.HierarchicalDirichletProcess(*gamma) if weights else None
        if paths is not None:
            h = nrm.NestedPartition("h", weights=weights, paths=paths, dims="item")
        else:
            measure = measure or nrm.DirichletProcess(pm.Gamma("alpha", 2, 2) if learned else 0.8)
            h = nrm.NestedPartition("h", measure, depth, *([] if weights is None else [weights]), dims="item")
        if family in TREE_FAMILIES:
            family, X = TREE_FAMILIES[family](depth), FULL
        else:
            family, X = FAMILIES[family]
        nrm.Mixture("x", h, family, **({"observed": X} if observed else {"shape": X.shape}))
    return model


KINDS = {
    "flat": learned_flat,
    "flat PoissonGamma": partial(learned_flat, "PY", "PoissonGamma"),
    "flat NormalWishart": partial(learned_flat, "MFM", "NormalWishart"),
    "two families": partial(flat, MEASURES["NIG"], "NormalGamma", "PoissonGamma"),
    "slots": slots,
    "slots MFM": partial(slots, MEASURES["MFM"]),
    "slots and mixture": partial(slots, mixture=True),
    "nested": partial(nested, learned=True),
    "nested PY NormalGamma": partial(nested, 3, family="NormalGamma", measure=MEASURES["PY"]),
    "nested tree family": partial(nested, 3, False, "NormalDiffusion", learned=True),
    "nested independent": partial(nested, 2, False, "IndependentNormalDiffusion", MEASURES["PY"]),
    "known paths": partial(nested, 2, learned=True, paths=GROUPS),
}


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
    "TreeGuided": (nrm.TreeGuided, {}),
    "SplitMerge": (nrm.SplitMerge, {"n_moves": 2}),
    "SplitMerge restricted": (nrm.SplitMerge, {"proposal": "restricted_gibbs", "n_scans": 2}),
    "MarginalGibbs": (nrm.MarginalGibbs, {}),
    "MarginalGibbs of 2": (nrm.MarginalGibbs, {"n_items": 2}),
    "SliceSampler": (nrm.SliceSampler, {}),
}
FLAT = {
    **{family: partial(flat, MEASURES["DP"], family) for family in FAMILIES},
    **{name: partial(flat, measure, "PoissonGamma") for name, measure in MEASURES.items()},
    "two families": partial(flat, MEASURES["NIG"], "NormalGamma", "PoissonGamma"),
    "no data": partial(flat, MEASURES["NGG"]),
}
LEE_CHOI, HUANG, GIBBS = nrm.published.PublishedTreeGuided, nrm.published.PublishedNestedGibbs, (nrm.NestedGibbs, {})
# A model, a step and its options by the name of a case.
ROWS = {
    **{f"{step}/{name}": (make, *STEPS[step]) for step in STEPS for name, make in FLAT.items()},
    "PublishedTreeGuided/published": (FLAT["NGG"], LEE_CHOI, {"canonical": False}),
    "PublishedTreeGuided/corrected": (FLAT["NGG"], LEE_CHOI, {"canonical": True}),
    "PublishedNestedGibbs/published": (nested, HUANG, {"corrected": False}),
    "PublishedNestedGibbs/corrected": (nested, HUANG, {"corrected": True}),
    **{f"SlotGibbs/{m}": (partial(slots, MEASURES[m]), nrm.SlotGibbs, {}) for m in ("NGG", "PY", "MFM", "DP")},
    **{f"NestedGibbs/weights/{f}": (partial(nested, family=f), *GIBBS) for f in FAMILIES},
    **{f"NestedGibbs/known paths/{f}": (partial(nested, family=f, paths=GROUPS), *GIBBS) for f in FAMILIES},
    **{
        f"NestedGibbs/{family}/{measure}": (partial(nested, 3, False, family, MEASURES[measure]), *GIBBS)
        for family in TREE_FAMILIES
        for measure in ("DP", "PY")
    },
}


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
        rows = {rv.name: model.rvs_to_values[rv].eval() for rv in model.observed_RVs if rv.name.startswith("x")}
        paths = {"new_paths": GROUPS} if kind == "known paths" else {}
        return numbers(function(idata, model, rows or None, progressbar=False, **options, **paths))

    return of


def of_draws(function, *arguments, **options):
    """Numbers that a function of draws returns; of an estimated tree, its levels."""

    def of(kind):
        found = function(run(kind)[0], *arguments, **options)
        if isinstance(found, nrm.stats.ItemTree):
            return {f"level {level}": found.labels(level) for level in range(3)} | {"depth": found.common_depth()}
        return numbers(found)

    return of


SEEDED = {"random_seed": 1, "progressbar": False}
AFTER = {
    "idata": everything,
    "summary": of_draws(nrm.summary),
    "similarity": of_draws(nrm.similarity),
    "levels": of_draws(nrm.levels),
    "point_estimate": of_draws(nrm.point_estimate, **SEEDED),
    "point_estimates": of_draws(nrm.point_estimates, loss="binder_loss", **SEEDED),
    "nested_point_estimate": of_draws(nrm.nested_point_estimate, **SEEDED),
    "consensus_tree": of_draws(nrm.consensus_tree),
    "credible_ball": of_draws(nrm.credible_ball, LABELS, progressbar=False),
    "partition_convergence": of_draws(nrm.partition_convergence),
    "assignment_uncertainty": of_draws(nrm.assignment_uncertainty, LABELS),
    "cluster_parameters": of_draws(nrm.cluster_parameters, CLUSTERS),
    "log_likelihood": of_model(nrm.compute_log_likelihood, extend_inferencedata=False),
    "replications": of_model(nrm.sample_posterior_predictive, random_seed=2),
    "new_items": of_model(nrm.sample_posterior_predictive, random_seed=2, new_items=2),
    "components": of_model(nrm.sample_cluster_parameters, random_seed=1),
    "random_measure": of_model(nrm.sample_random_measure, tail_mass=0.05, max_new_atoms=40, random_seed=5),
    "fused": of_model(nrm.fused_estimate, random_seed=1),
    "labels": of_new_rows(nrm.cluster_probabilities),
    "log_density": of_new_rows(nrm.log_predictive_density),
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
    **{f"model/{kind}": partial(whole, make) for kind, make in KINDS.items()},
    **{f"model/prior/{name}": partial(whole, partial(flat, m, initval=LABELS)) for name, m in MEASURES.items()},
    **{f"model/family/{f}": partial(whole, partial(flat, MEASURES["DP"], f, initval=LABELS)) for f in FAMILIES},
    **{f"model/latent/{f}": partial(whole, partial(flat, MEASURES["DP"], f, observed=False)) for f in FAMILIES},
    "recipes/mixture_model": lambda: log_densities(nrm.mixture_model(TABLE, kinds={"c": "count"})),
    **{f"trees/{name}": partial(tree_of, *row) for name, row in FAMILIES.items()},
}


def results(pattern):
    """Arrays of all cases whose name matches, and the errors of those that failed."""
    found, errors = {}, {}
    for name in filter(re.compile(pattern).search, CASES):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for key, value in CASES[name]().items():
                    value = np.asarray(value)  # without the metadata of dtypes, which numpy cannot store
                    found[f"{name}/{key}"] = value.astype(value.dtype.str)
        except Exception as error:
            errors[name] = error
            found[f"{name}/error"] = np.array(type(error).__name__)
    return found, errors


def differences(before, now):
    for name, old in before.items():
        new = now.get(name)
        if new is None or new.shape != old.shape:
            yield f"{name} is missing" if new is None else f"{name} has shape {new.shape}, not {old.shape}"
            continue
        same = new == old if old.dtype.kind == "U" else np.isclose(old, new, TOLERANCE, TOLERANCE, equal_nan=True)
        for where in np.argwhere(~same)[:1]:
            yield f"{name} at {where.tolist()} is {new[tuple(where)]}, not {old[tuple(where)]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write")
    parser.add_argument("--compare")
    parser.add_argument("--only", default="")
    parser.add_argument("--traceback", action="store_true")
    options = parser.parse_args()
    without_compilation()
    logging.getLogger("pymc").setLevel(logging.CRITICAL)
    begun = time.perf_counter()
    found, errors = results(options.only)
    seconds = time.perf_counter() - begun
    if options.write:
        np.savez_compressed(options.write, **found)
    lines = []
    if options.compare:
        ran = tuple(f"{name}/" for name in CASES if re.search(options.only, name))
        with np.load(options.compare) as file:
            before = {name: file[name] for name in file.files}
        lines = list(differences({name: old for name, old in before.items() if name.startswith(ran)}, found))
        errors = {name: error for name, error in errors.items() if f"{name}/error" not in before}
        print("\n".join(lines))
    for name, error in errors.items() if options.compare or options.traceback else ():
        print(f"{name} failed: {type(error).__name__}: {str(error)[:300]}")
        if options.traceback:
            traceback.print_exception(error)
    refused = "fail that did not" if options.compare else "are refused"
    print(f"{len(found)} arrays in {seconds:.0f} s, {len(lines)} differ, {len(errors)} cases {refused}")
    return bool(lines or (options.compare and errors))


if __name__ == "__main__":
    sys.exit(main())
