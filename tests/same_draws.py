"""Whether draws of fixed seeds are the same before and after a change of the code.

``python -m tests.same_draws --write FILE.npz`` writes draws, predictions and summaries of small models of every kind of
partition, with every step, family and measure; ``--compare FILE.npz`` says which of them differ now, ``--only REGEX``
runs some cases.  Kernels and graphs run in Python, so that nothing is compiled.  Names of public functions that changed
are rows of ``OLD_NAMES``.
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
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import xarray as xr
from pytensor.compile.mode import Mode

import pymc_nrm as nrm
from pymc_nrm.kernels.generic import Kernel

# New names of public functions by old ones; the script uses the old ones.
OLD_NAMES = {
    "sample_components": ("sample_cluster_parameters",),
    "predict_labels": ("cluster_probabilities",),
}
TOLERANCE = 1e-9
CASES = {}
_exp = math.exp


def public(name):
    """A public object of the package by its old name."""
    for one in (name, *OLD_NAMES.get(name, ())):
        try:
            return getattr(nrm, one)
        except AttributeError as error:
            message = str(error)
    renamed = re.search(rf"{name} is (?:pymc_nrm\.|nrm\.)?([a-z_.A-Z]+) now", message)
    if renamed is None:
        raise AttributeError(message)
    return functools.reduce(getattr, renamed[1].split("."), nrm)


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


def case(name):
    """Decorator that adds a function, which returns arrays by name, to the cases."""

    def add(function):
        CASES[name] = function
        return function

    return add


# Models ---------------------------------------------------------------------------------------------------------------

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
MEASURES = {
    "DP": nrm.DirichletProcess(1.0),
    "NIG": nrm.NormalizedInverseGaussian(0.6),
    "NGG": nrm.NormalizedGeneralizedGamma(0.5, 0.3),
    "PY": nrm.PitmanYorProcess(0.3, 1.0),
    "PY below 0": nrm.PitmanYorProcess(0.6, -0.2),
    "MFM": nrm.MixtureOfFiniteMixtures(0.7, 3.0),
}
LABELS = np.array([0, 0, 1, 1, 2, 0])
CLUSTERS = xr.DataArray(LABELS, dims="item")
ANIMALS = {"item": list("abcdef")}
GROUPS = [["a", 0], ["a", 1], ["b", 0], ["b", 0], ["a", 1], ["c", 0]]
NEW = {
    "PoissonGamma": [[1, 1], [12, 0]],
    "BernoulliBeta": [[0, 0, 1], [1, NAN, 0]],
}


def flat(measure=MEASURES["DP"], *families, observed=True, **partition):
    """A flat partition with fixed hyperparameters and a mixture for each family."""
    with pm.Model(coords=ANIMALS) as model:
        z = nrm.Partition("z", measure, dims="item", **partition)
        for k, name in enumerate(families):
            family, X = FAMILIES[name]
            nrm.Mixture(f"x{k}", z, family, **({"observed": X} if observed else {"shape": X.shape}))
    return model


def learned_flat(measure="NGG", family="NormalGamma"):
    """A flat partition whose hyperparameters NUTS samples."""
    with pm.Model(coords=ANIMALS) as model:
        alpha = pm.Gamma("alpha", 2, 1)
        z = nrm.Partition(
            "z",
            {
                "NGG": lambda: nrm.NormalizedGeneralizedGamma(alpha, pm.Beta("sigma", 1, 3)),
                "PY": lambda: nrm.PitmanYorProcess(0.2, alpha),
                "MFM": lambda: nrm.MixtureOfFiniteMixtures(alpha, 2.0),
            }[measure](),
            dims="item",
        )
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
    "flat PoissonGamma": functools.partial(learned_flat, "PY", "PoissonGamma"),
    "flat NormalWishart": functools.partial(learned_flat, "MFM", "NormalWishart"),
    "two families": functools.partial(flat, MEASURES["NIG"], "NormalGamma", "PoissonGamma"),
    "slots": slots,
    "slots MFM": functools.partial(slots, MEASURES["MFM"]),
    "slots and mixture": functools.partial(slots, mixture=True),
    "nested": functools.partial(nested, learned=True),
    "nested PY NormalGamma": functools.partial(nested, 3, family="NormalGamma", measure=MEASURES["PY"]),
    "nested tree family": functools.partial(nested, 3, False, "NormalDiffusion", learned=True),
    "nested independent": functools.partial(nested, 2, False, "IndependentNormalDiffusion", MEASURES["PY"]),
    "known paths": functools.partial(nested, 2, learned=True, paths=GROUPS),
}


# Steps ----------------------------------------------------------------------------------------------------------------


def run_step(model, make, name, draws=8, tune=3):
    """Values and statistics of one step that is called directly."""
    with model:
        step = make(model[name])
    step.setup_chain(np.random.default_rng(7), tune, draws)
    point, values, statistics = model.initial_point(random_seed=1), [], []
    for draw in range(draws):
        if draw == tune:
            step.stop_tuning()
        point, rows = step.step(point)
        values.append(point[name].copy())
        statistics.append({key: np.asarray(value) for row in rows for key, value in row.items()})
    found = {"labels": np.array(values)}
    for key in statistics[0]:
        if key != "partition_number" and "time" not in key:
            found[key] = np.array([row[key] for row in statistics], dtype=float)
    return found


STEPS = {
    "TreeGuided": {},
    "SplitMerge": {"n_moves": 2},
    "SplitMerge restricted": {"proposal": "restricted_gibbs", "n_scans": 2},
    "MarginalGibbs": {},
    "MarginalGibbs of 2": {"n_items": 2},
    "SliceSampler": {},
}


def make_step(name, options):
    step = getattr(nrm, name.split()[0], None) or getattr(nrm.published, name.split()[0])
    return lambda variable: step([variable], rng=np.random.default_rng(3), **options)


for _step, _options in STEPS.items():
    for _family in FAMILIES:
        CASES[f"step/{_step}/{_family}"] = lambda s=_step, o=_options, f=_family: run_step(
            flat(MEASURES["DP"], f), make_step(s, o), "z"
        )
    for _measure in MEASURES:
        CASES[f"step/{_step}/{_measure}"] = lambda s=_step, o=_options, m=_measure: run_step(
            flat(MEASURES[m], "PoissonGamma"), make_step(s, o), "z"
        )
    CASES[f"step/{_step}/two families"] = lambda s=_step, o=_options: run_step(
        flat(MEASURES["NIG"], "NormalGamma", "PoissonGamma"), make_step(s, o), "z"
    )
    CASES[f"step/{_step}/no data"] = lambda s=_step, o=_options: run_step(flat(MEASURES["NGG"]), make_step(s, o), "z")

for _form in ("published", "corrected"):
    CASES[f"step/PublishedTreeGuided/{_form}"] = lambda f=_form: run_step(
        flat(MEASURES["NGG"], "PoissonGamma"), make_step("PublishedTreeGuided", {"canonical": f == "corrected"}), "z"
    )
    CASES[f"step/PublishedNestedGibbs/{_form}"] = lambda f=_form: run_step(
        nested(), make_step("PublishedNestedGibbs", {"corrected": f == "corrected"}), "h"
    )
for _name in ("NGG", "PY", "MFM", "DP"):
    CASES[f"step/SlotGibbs/{_name}"] = lambda m=_name: run_step(slots(MEASURES[m]), make_step("SlotGibbs", {}), "z")
for _name in FAMILIES:
    CASES[f"step/NestedGibbs/weights/{_name}"] = lambda f=_name: run_step(
        nested(family=f), make_step("NestedGibbs", {}), "h"
    )
    CASES[f"step/NestedGibbs/known paths/{_name}"] = lambda f=_name: run_step(
        nested(family=f, paths=GROUPS), make_step("NestedGibbs", {}), "h"
    )
for _name in TREE_FAMILIES:
    for _measure in ("DP", "PY"):
        CASES[f"step/NestedGibbs/{_name}/{_measure}"] = lambda f=_name, m=_measure: run_step(
            nested(3, False, f, MEASURES[m]), make_step("NestedGibbs", {}), "h"
        )


# Runs and what follows them -------------------------------------------------------------------------------------------


@functools.cache
def run(kind):
    """Model and draws of one kind, with NUTS on hyperparameters."""
    model = KINDS[kind]()
    return model, nrm.sample(8, tune=4, chains=2, cores=1, random_seed=4, model=model, progressbar=False, quiet=True)


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


def _idata(kind):
    found = numbers(run(kind)[1])
    # Which step's acceptance rate this is changes from process to process.
    left_out = ("time", "perf_counter", "process", "partition_number", "observed", "constant_data", "acceptance_rate")
    return {key: value for key, value in found.items() if not any(word in key for word in left_out)}


def _point_estimate(kind):
    _, idata = run(kind)
    if kind.startswith("nested"):
        return _tree(nrm.nested_point_estimate(idata, random_seed=1, progressbar=False))
    if kind == "known paths":
        idata = nrm.component_draws(idata)
    return {
        f"{loss}/{key}": value
        for loss in ("variation_of_information", "binder_loss")
        for key, value in numbers(nrm.point_estimate(idata, loss=loss, random_seed=1, progressbar=False)).items()
    }


def _tree(tree):
    return {f"level {level}": tree.labels(level) for level in range(3)} | {"common_depth": tree.common_depth()}


def _options(kind, with_paths=2):
    """Options of a prediction: for two families the name of one, for known paths those of new items."""
    more = {"var_name": "x0"} if kind == "two families" else {}
    return more | ({"new_paths": [["a", 0], ["d", 0]][:with_paths]} if kind == "known paths" and with_paths else {})


def _new_rows(kind):
    if kind in ("nested", "known paths"):
        return np.array(NEW["BernoulliBeta"])
    if kind in ("flat PoissonGamma", "slots and mixture"):
        return np.array(NEW["PoissonGamma"])
    return np.array([[0.5, 0.2], [5.0, 1.0]])


def _all_rows(kind):
    """New data of all mixtures."""
    rows = _new_rows(kind)
    return {"x0": rows, "x1": np.array(NEW["PoissonGamma"])} if kind == "two families" else rows


def _all_options(kind):
    return {"new_paths": _options(kind)["new_paths"]} if kind == "known paths" else {}


def _with(name, kind, *arguments, **options):
    model, idata = run(kind)
    result = public(name)(idata, model, *arguments, progressbar=False, **options)
    return numbers(result) if isinstance(result, xr.DataTree | xr.Dataset | xr.DataArray) else {"value": result}


def _log_likelihood(kind):
    model, idata = run(kind)
    options = {"var_name": "z"} if kind == "two families" else {}
    result = nrm.compute_log_likelihood(idata.copy(), model, extend_inferencedata=False, progressbar=False, **options)
    return numbers(result)


def _replications(kind):
    found = _with("sample_posterior_predictive", kind, random_seed=2)
    if not kind.startswith("slots"):
        options = _options(kind)
        options.pop("var_name", None)
        new = _with("sample_posterior_predictive", kind, random_seed=2, new_items=2, **options)
        found |= {f"new/{key}": value for key, value in new.items()}
    return {key: value for key, value in found.items() if "posterior_predictive" in key or "predictions" in key}


def _new_slots(kind):
    model, idata = run(kind)
    if "Y" not in model:
        return {}
    found = {}
    with model:
        pm.set_data({"Y": [0.3, 5.0, 9.0]})
        try:
            for known in (None, []):
                draws = nrm.sample_new_labels(idata, model, known=known, random_seed=3, progressbar=False)
                found |= numbers(draws, f"{known}/")
            return found | numbers(public("predict_labels")(idata, model, progressbar=False), "predicted/")
        finally:
            pm.set_data({"Y": FULL[:, 0]})


def _random_measure(kind):
    model, idata = run(kind)
    options = {"tail_mass": 0.05, "max_new_atoms": 40, "random_seed": 5, "progressbar": False}
    draws = nrm.sample_random_measure(idata, model, **options, **_options(kind, 0))
    found = numbers(draws)
    functionals = {"measure_mean": (), "measure_density": (_new_rows(kind),), "measure_cdf": ([0.5, 3.0],)}
    for name, arguments in functionals.items():
        try:
            found |= numbers(public(name)(draws, model, *arguments), f"{name}/")
        except (ValueError, TypeError, NotImplementedError):
            continue  # the family has none
    return found


AFTER = {
    "idata": _idata,
    "summary": lambda kind: numbers(nrm.summary(run(kind)[1])),
    "point_estimate": _point_estimate,
    "replications": _replications,
    "log_likelihood": _log_likelihood,
    "labels": lambda kind: _with("predict_labels", kind, _all_rows(kind), **_all_options(kind)),
    "new_slots": _new_slots,
    "density": lambda kind: _with("predictive_density", kind, _new_rows(kind), **_options(kind, 1)),
    "log_density": lambda kind: _with("log_predictive_density", kind, _all_rows(kind), **_all_options(kind)),
    "components": lambda kind: _with("sample_components", kind, random_seed=1, **_options(kind, False)),
    "random_measure": _random_measure,
    "fused": lambda kind: _with("fused_estimate", kind, random_seed=1),
    "similarity": lambda kind: numbers(nrm.similarity(run(kind)[1])),
    "cluster_parameters": lambda kind: numbers(nrm.cluster_parameters(run(kind)[1], CLUSTERS)),
    "levels": lambda kind: numbers(nrm.levels(run(kind)[1])),
    "consensus_tree": lambda kind: _tree(nrm.consensus_tree(run(kind)[1])),
    "credible_ball": lambda kind: numbers(nrm.credible_ball(run(kind)[1], LABELS, progressbar=False)),
    "partition_convergence": lambda kind: numbers(nrm.partition_convergence(run(kind)[1])),
    "assignment_uncertainty": lambda kind: numbers(nrm.assignment_uncertainty(run(kind)[1], LABELS)),
}
for _kind in KINDS:
    for _name, _function in AFTER.items():
        CASES[f"run/{_kind}/{_name}"] = functools.partial(_function, _kind)


# Models without draws -------------------------------------------------------------------------------------------------


def log_densities(model):
    """Log-probability of each variable at the initial point, and its gradient."""
    point = model.initial_point(random_seed=1)
    terms = model.compile_logp(sum=False)(point)
    found = {f"logp/{k}": np.asarray(term) for k, term in enumerate(terms)}
    if model.continuous_value_vars:
        found["gradient"] = model.compile_dlogp()(point)
    return found


def _forward(model):
    return {rv.name: pm.draw(rv, draws=4, random_seed=3) for rv in [*model.free_RVs, *model.observed_RVs]}


def _densities_and_forward(make, observed=True):
    return log_densities(make()) | {f"draw/{key}": value for key, value in _forward(make()).items()}


for _kind, _make in KINDS.items():
    CASES[f"model/{_kind}"] = functools.partial(_densities_and_forward, _make)
for _measure, _value in MEASURES.items():
    CASES[f"model/prior/{_measure}"] = lambda m=_value: _densities_and_forward(lambda: flat(m, initval=LABELS))
for _family in FAMILIES:
    CASES[f"model/family/{_family}"] = lambda f=_family: (
        _densities_and_forward(lambda: flat(MEASURES["DP"], f, initval=LABELS))
        | {f"latent/{key}": value for key, value in _forward(flat(MEASURES["DP"], f, observed=False)).items()}
    )

    def _learned(f=_family):
        def make():
            X = FAMILIES[f][1]
            with pm.Model() as model:
                z = nrm.Partition("z", MEASURES["PY"], n=6, initval=LABELS)
                nrm.Mixture("x", z, getattr(nrm, f).learned("x", X), observed=X)
            return model

        return _densities_and_forward(make)

    CASES[f"model/learned/{_family}"] = _learned
for _family in TREE_FAMILIES:

    def _learned_tree(f=_family):
        def make():
            with pm.Model() as model:
                h = nrm.NestedPartition("h", MEASURES["DP"], 2, n=6)
                nrm.Mixture("x", h, getattr(nrm, f).learned("x", FULL, 2), observed=FULL)
            return model

        return _densities_and_forward(make)

    CASES[f"model/learned/{_family}"] = _learned_tree


@case("recipes/gaussian_mixture")
def _gaussian_mixture():
    diagonal = log_densities(nrm.gaussian_mixture(FULL, covariance="diagonal"))
    return log_densities(nrm.gaussian_mixture(FULL)) | {f"diagonal/{key}": value for key, value in diagonal.items()}


@case("recipes/mixture_model")
def _mixture_model():
    table = pd.DataFrame({"a": FULL[:, 0], "b": FULL[:, 1], "c": COUNTS[:, 0], "d": list("xyxxyz"), "e": LABELS > 0})
    return log_densities(nrm.mixture_model(table, kinds={"c": "count"}))


@case("elicitation")
def _elicitation():
    found = {}
    for name, sd in {"DirichletProcess": None, "PitmanYorProcess": 2.0, "MixtureOfFiniteMixtures": 1.7}.items():
        prior = nrm.elicit(getattr(nrm, name), 30, 4.0, sd=sd)
        found[name] = np.array([float(value) for value in prior.measure if np.ndim(value) == 0])
    for name, measure in MEASURES.items():
        found[f"max_clusters/{name}"] = np.array(nrm.suggest_max_clusters(measure, 30))
    return found


@case("trees")
def _trees():
    found = {}
    for name, (family, X) in FAMILIES.items():
        for method in ("bhc", "ibhc"):
            tree = getattr(nrm.trees, method)(X, family, MEASURES["NGG"], random_seed=1)
            found[f"{method}/{name}/linkage"] = tree.to_linkage()
            found[f"{method}/{name}/evidence"] = tree.log_evidence
            found[f"{method}/{name}/potential"] = tree.log_potential
    return found


@case("estimator")
def _estimator():
    model = nrm.MixtureEstimator(draws=8, tune=4, chains=2, random_state=1).fit(FULL)
    return {"labels": model.labels_, "probabilities": model.predict_proba(FULL)}


# Writing and comparing ------------------------------------------------------------------------------------------------


def results(pattern, tell):
    """Arrays of all cases whose name matches, and the errors of those that failed."""
    found, errors = {}, {}
    for name, function in CASES.items():
        if not re.search(pattern, name):
            continue
        begun = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for key, value in function().items():
                    value = np.asarray(value)  # without the metadata of dtypes, which numpy cannot store
                    found[f"{name}/{key}"] = value.astype(value.dtype.str)
        except Exception as error:
            errors[name] = error
            found[f"{name}/error"] = np.array(type(error).__name__)
        if time.perf_counter() - begun > tell:
            print(f"{name}: {time.perf_counter() - begun:.1f} s", flush=True)
    return found, errors


def differences(before, now, names):
    """Lines that say what differs."""
    lines = []
    for name in names:
        if name not in now:
            lines.append(f"{name} is missing")
        elif before[name].shape != now[name].shape:
            lines.append(f"{name} has shape {now[name].shape}, not {before[name].shape}")
        elif before[name].dtype.kind == "U":
            if before[name] != now[name]:
                lines.append(f"{name} is {now[name]}, not {before[name]}")
        elif not np.allclose(before[name], now[name], rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
            place = np.argwhere(~np.isclose(before[name], now[name], rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))[0]
            where = tuple(int(i) for i in place)
            lines.append(f"{name} at {where} is {now[name][where]}, not {before[name][where]}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write")
    parser.add_argument("--compare")
    parser.add_argument("--only", default="")
    parser.add_argument("--tell", type=float, default=1e9, help="print cases that take more seconds")
    parser.add_argument("--traceback", action="store_true")
    options = parser.parse_args()
    without_compilation()
    logging.getLogger("pymc").setLevel(logging.CRITICAL)
    begun = time.perf_counter()
    found, errors = results(options.only, options.tell)
    seconds = time.perf_counter() - begun
    if options.write:
        np.savez_compressed(options.write, **found)
    lines = []
    if options.compare:
        with np.load(options.compare) as file:
            before = {name: file[name] for name in file.files}
        ran = [name for name in CASES if re.search(options.only, name)]
        names = [name for name in before if any(name.startswith(f"{one}/") for one in ran)]
        lines = differences(before, found, names)
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
