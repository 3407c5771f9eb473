"""Whether the result of an example is right, as far as that can be known without another sampler."""

import functools

import numpy as np
import pandas as pd
import pytensor
import pytensor.tensor as pt
import xarray as xr
from pytensor.compile.mode import Mode
from scipy import sparse

from pymc_nrm.families.arguments import broadcast_hyperparameters, numeric_data
from pymc_nrm.families.base import complete, log_likelihood
from pymc_nrm.measures.base import log_eppf, log_joint_term, symbolic_log_eppf, weights
from pymc_nrm.partitions.labels import label_counts
from pymc_nrm.trees.inputs import select_items

from . import reference

# Nats, as a share of the largest term, and as a share of the log factorials of counts, whose sums nearly cancel.
ABSOLUTE, RELATIVE, OF_FACTORIALS = 1e-6, 1e-10, 2e-15
LARGEST_FOR_FRACTIONS = 60


def problem_of(case, namespace):
    """What is wrong with the result of an example, or None."""
    check = CHECKS.get(case.kind.removeprefix("nrm."))
    return check and check(namespace.get("result"), namespace)


def not_finite(**values):
    """The first of some numbers or arrays that is not finite everywhere, with what it holds, or None."""
    for name, given in values.items():
        bad = ~np.isfinite(given)
        if bad.any():
            return f"{name} is {np.asarray(given)[bad][:3]}"
    return None


def labels_problem(labels, n=None):
    """Labels of one draw must be 0, 1, ... in order of appearance."""
    labels = np.asarray(labels)
    if labels.dtype.kind not in "iu" or labels.ndim != 1 or (n is not None and len(labels) != n):
        return f"labels of type {labels.dtype} and shape {labels.shape}"
    seen = np.maximum.accumulate(labels)
    if labels[0] != 0 or labels.min() < 0 or (labels[1:] > seen[:-1] + 1).any():
        return f"labels {labels.tolist()} are not in order of appearance"
    return None


def differs(value, expected, scale=0.0):
    """Whether two log probabilities disagree; ``scale`` is the size of their largest terms."""
    if not np.isfinite(expected):
        return value != expected
    return not abs(value - expected) <= ABSOLUTE + RELATIVE * max(abs(expected), scale)


def steps_problem(namespace):
    """Labels, statistics, and the log joint against exact arithmetic and against the symbolic log-probability."""
    points, statistics = namespace["points"], namespace["statistics"]
    step = namespace["step"]
    measure = namespace["measure"]
    n = len(points[0]["z"])
    given = step.target.at(points[-1])[0]
    family, X = _family_and_values(namespace, n)
    for point, row in zip(points[1:], statistics, strict=True):
        labels = point["z"]
        problem = labels_problem(labels, n) or not_finite(log_joint=row["log_joint"], entropy=row["entropy"])
        if problem is not None:
            return problem
        counts = label_counts(labels)
        if row["n_clusters"] != len(counts) or not row["u"] >= 0.0:
            return f"n_clusters is {row['n_clusters']} for {labels.tolist()}, u is {row['u']}"
        shares = counts / n
        if abs(row["entropy"] + (shares * np.log(shares)).sum()) > 1e-9:
            return f"entropy is {row['entropy']} for {labels.tolist()}"
        expected, scale = _log_likelihood(family, X, labels)
        if expected is None:
            continue
        if 1e-300 < row["u"] < np.inf:
            log_u = float(np.log(row["u"]))
            prior = log_joint_term(given, n, log_u)
            moments = weights(given, n, log_u).moment[counts]
            scale = max(scale, abs(prior), abs(moments).max(), abs(n * log_u))
            if differs(row["log_joint"], prior + moments.sum() + expected, scale):
                return f"log_joint is {row['log_joint']}, exactly {prior + moments.sum() + expected}"
    return eppf_problem(measure, given, counts) or (None if X is None else twin_problem(family, X, labels))


def eppf_problem(measure, given, counts):
    """The log probability of a partition, as a kernel and a symbolic one compute it."""
    value = log_eppf(given, counts)
    symbolic = float(_compiled_eppf(type(measure))(*map(float, given), counts))
    if not np.isfinite(value):
        return f"log EPPF is {value}"
    if differs(value, symbolic):
        return f"log EPPF is {value}, its symbolic form {symbolic}"
    exact = float(reference.LOG_EPPFS.get(type(measure).__name__, lambda *_: value)(*map(float, given), counts))
    return f"log EPPF is {value}, exactly {exact}" if differs(value, exact) else None


def twin_problem(family, X, labels):
    """The symbolic log-likelihood, which NUTS sees, against exact arithmetic."""
    expected, scale = _log_likelihood(family, X, labels)
    if expected is None:
        return None
    fields = [np.asarray(value, dtype="float64") for value in family]
    value = float(_compiled_likelihood(type(family))(*fields, X, labels))
    if differs(value, expected, scale):
        return f"the symbolic log-likelihood is {value}, exactly {expected}"
    return None


_INTERPRETED = Mode(linker="py", optimizer="fast_compile")


@functools.cache
def _compiled_eppf(measure_class):
    inputs = [pt.dscalar(name) for name in measure_class._fields]
    counts = pt.lvector("counts")
    value = symbolic_log_eppf(measure_class(*inputs), counts)
    return pytensor.function([*inputs, counts], value, mode=_INTERPRETED, on_unused_input="ignore")


@functools.cache
def _compiled_likelihood(family_class):
    inputs = [pt.tensor(name, shape=(None,) * len(spec.core)) for name, spec in family_class.hyperparameters.items()]
    X, labels = pt.dmatrix("X"), pt.lvector("labels")
    value = log_likelihood(family_class(*inputs), X, labels)
    return pytensor.function([*inputs, X, labels], value, mode=_INTERPRETED, on_unused_input="ignore")


def _family_and_values(namespace, n):
    """Family of full shape and data as a dense matrix: None without data, no values where there is nothing exact."""
    if "x" not in namespace:
        return None, None
    if namespace["x"] in namespace["model"].free_RVs:
        return namespace["family"], None
    # pm.Data has turned whole numbers into 32 bits, in which large counts are others.
    values = numeric_data("X", namespace["model"].named_vars.get("X", namespace["X"]))
    values = np.asarray(values.toarray() if sparse.issparse(values) else values, dtype="float64")
    values = values[:, None] if values.ndim == 1 else values
    if values.size > LARGEST_FOR_FRACTIONS:
        return namespace["family"], None
    family = broadcast_hyperparameters(complete(namespace["family"], values), *values.shape)
    fields = [value.eval() if hasattr(value, "eval") else value for value in family]
    return type(family)(*[np.asarray(value, dtype="float64") for value in fields]), values


def _log_likelihood(family, X, labels):
    """Sum of the exact log marginals of the clusters or None, and the size of their largest terms."""
    if X is None:
        return (0.0 if family is None else None), 0.0
    exact = reference.LOG_MARGINALS[type(family).__name__]
    if type(family).__name__ == "MultinomialDirichlet":
        family = family._replace(total=0.0)
    parts = [exact(*select_items(family, X, labels == label)) for label in range(labels.max() + 1)]
    if any(part is None for part in parts):
        return None, 0.0
    scale = max(map(abs, parts))
    if type(family).__name__ in ("MultinomialDirichlet", "PoissonGamma"):
        # What rounding costs here is no share of the sum.
        scale = max(scale, OF_FACTORIALS / RELATIVE * float(reference.log_factorials(X.sum(axis=1))))
    return sum(parts), scale


def tree_problem(namespace):
    """A tree's labels, evidence and heights; results of functions of trees."""
    tree = namespace["tree"]
    numbers = {name: getattr(tree, name) for name in ("log_evidence", "log_u", "log_marginal")}
    problem = labels_problem(tree.labels) or not_finite(**numbers)
    if problem is not None:
        return problem
    result = namespace.get("result")
    if isinstance(result, tuple) and isinstance(result[0], np.ndarray):
        linkage = result[0]
        n = len(tree.labels)
        if linkage.shape != (n - 1, 4) or not np.isfinite(linkage).all() or (np.diff(linkage[:, 2]) < 0).any():
            return f"linkage matrix of shape {linkage.shape} with heights {linkage[:, 2][:5]}"
    elif isinstance(result, np.ndarray | float) and np.isnan(result).any():
        return "nan in the result"
    elif hasattr(result, "log_bound") and not (np.isfinite(result.log_bound) and result.log_gain >= -1e-9):
        return f"log_bound is {result.log_bound}, log_gain {result.log_gain}"
    return None


def outside(low, high, **values):
    """The first of some arrays with an entry that is outside of an interval, with what it holds, or None."""
    for name, given in values.items():
        given = np.asarray(given, dtype="float64")
        inside = (given >= low - 1e-9) & (given <= high + 1e-9)
        if not inside.all():
            return f"{name} has {given[~inside][:3]}"
    return None


def unless(fine, problem):
    return None if fine else problem


def below_0(result):
    """The first float array of a Dataset with an entry that is nan or below zero, or None."""
    arrays = result.data_vars if isinstance(result, xr.Dataset) else {"result": result}
    return outside(0.0, np.inf, **{name: array for name, array in arrays.items() if array.dtype.kind == "f"})


def _point_estimates(result, _):
    distances = result["distance"].values[~np.eye(result.sizes["clustering"], dtype=bool)]
    problems = [labels_problem(labels) for labels in result["labels"].values]
    problems += [unless((distances > 0).all(), "two partitions are equal")]
    problems += [outside(1e-9, 1.0, share=result["share"]), outside(1.0, 1.0, total=result["share"].sum())]
    return next(filter(None, problems), None)


def _similarity(result, _):
    values = np.asarray(result)
    is_fine = np.array_equal(values, values.T) and (np.diagonal(values) == 1.0).all()
    return outside(0.0, 1.0, similarity=values) or unless(is_fine, "similarity is asymmetric or not 1 on the diagonal")


def _components(result, namespace):
    occupied = result["size"].values > 0
    if (result["size"].sum("cluster") != namespace["n"]).any():
        return "sizes of clusters do not add up to the number of items"
    positive = ("variance", "probability", "rate")
    found = {name: result[name].values[occupied] for name in ("mean", "covariance", *positive) if name in result}
    return not_finite(**found) or outside(0.0, np.inf, **{name: found[name] for name in positive if name in found})


def _random_measure(result, namespace):
    problem = outside(0.0, 1.0, weight=result["weight"]) or outside(1.0, 1.0, total=result["weight"].sum("atom"))
    if problem is None and "cdf" in namespace:
        values = namespace["cdf"]
        values = next(iter(values.data_vars.values())).values if isinstance(values, xr.Dataset) else values.values
        is_rising = (np.diff(values, axis=-1) >= -1e-9).all()
        problem = outside(0.0, 1.0, cdf=values) or unless(is_rising, "a distribution function falls")
    return problem or ("density" in namespace and below_0(namespace["density"])) or None


def _new_labels(result, _):
    totals = result["probability"].sum("cluster") + result["new_cluster_probability"]
    return outside(0.0, 1.0, probability=result["probability"]) or outside(1.0, 1.0, total=totals)


def _finite(group):
    """A check that no value of a group of a result, or of the whole one, is missing or infinite."""

    def check(result, _):
        found = result[group] if isinstance(result, xr.DataTree) and group in result.children else result
        return not_finite(**{name: array.values for name, array in found.data_vars.items()})

    return check


# Checks of a result, and of all names of its program.
CHECKS = {
    "steps": lambda _, namespace: steps_problem(namespace),
    "trees": lambda _, namespace: tree_problem(namespace),
    "from_data": lambda result, _: not_finite(**result._asdict()),
    "plots": lambda result, _: unless(result.viz is not None, "an empty collection"),
    "summary": lambda result, _: unless(isinstance(result, pd.DataFrame | xr.Dataset) and len(result), "no table"),
    "point_estimate": lambda result, _: labels_problem(result["labels"].values),
    "point_estimates": _point_estimates,
    "similarity": _similarity,
    "credible_ball": lambda result, _: below_0(result),
    "assignment_uncertainty": lambda result, _: below_0(result),
    "sample_cluster_parameters": _components,
    "compute_log_likelihood": _finite("log_likelihood"),
    "sample_posterior_predictive": _finite("posterior_predictive"),
    "sample_random_measure": _random_measure,
    "predictive_density": lambda result, _: (
        outside(0.0, 1.0, new_cluster_weight=result["new_cluster_weight"]) or below_0(result)
    ),
    "cluster_probabilities": _new_labels,
}
