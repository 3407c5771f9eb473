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
    return check and check(namespace)


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


def _within(values, low, high, name):
    values = np.asarray(values, dtype="float64")
    inside = (values >= low - 1e-9) & (values <= high + 1e-9)
    return None if inside.all() else f"{name} has {values[~inside][:3]}"


def _summary(namespace):
    table = namespace["result"]
    if not isinstance(table, pd.DataFrame | xr.Dataset) or not len(table):
        return f"summary is {type(table).__name__} of length {len(table)}"
    return None


def _point_estimates(namespace):
    result = namespace["result"]
    for labels in result["labels"].values:
        if problem := labels_problem(labels):
            return problem
    distances = result["distance"].values[~np.eye(result.sizes["clustering"], dtype=bool)]
    if not (distances > 0).all():
        return "two partitions are equal"
    return _within(result["share"].values, 1e-9, 1.0, "share") or _within(result["share"].sum(), 1.0, 1.0, "total")


def _similarity(namespace):
    values = np.asarray(namespace["result"])
    problem = _within(values, 0.0, 1.0, "similarity")
    if problem is None and not np.array_equal(values, values.T):
        return "similarity is not symmetric"
    return problem or (None if (np.diagonal(values) == 1.0).all() else "similarity of an item with itself is not 1")


def _numbers(namespace):
    """No number in a Dataset is nan or below zero."""
    result = namespace["result"]
    for name, values in result.data_vars.items() if isinstance(result, xr.Dataset) else [("result", result)]:
        array = np.asarray(values)
        if array.dtype.kind == "f" and not (array >= -1e-9).all():
            return f"{name} has {array[~(array >= -1e-9)][:3]}"
    return None


def _components(namespace):
    result = namespace["result"]
    occupied = result["size"].values > 0
    if (result["size"].sum("cluster") != namespace["n"]).any():
        return "sizes of clusters do not add up to the number of items"
    for name in ("mean", "variance", "covariance", "probability", "rate"):
        if name in result:
            values = result[name].values[occupied]
            problem = not_finite(**{name: values})
            if problem is not None:
                return problem
            if name in ("variance", "rate", "probability") and (values < 0).any():
                return f"{name} is {values.min()}"
    return None


def _random_measure(namespace):
    result = namespace["result"]
    totals = result["weight"].sum("atom").values
    problem = _within(result["weight"].values, 0.0, 1.0, "weight") or _within(totals, 1.0, 1.0, "sum of weights")
    if problem is None and "cdf" in namespace:
        values = namespace["cdf"]
        values = next(iter(values.data_vars.values())).values if isinstance(values, xr.Dataset) else values.values
        problem = _within(values, 0.0, 1.0, "cdf")
        if problem is None and (np.diff(values, axis=-1) < -1e-9).any():
            return "a distribution function falls"
    if problem is None and "density" in namespace:
        return _numbers({"result": namespace["density"]})
    return problem


def _density(namespace):
    result = namespace["result"]
    return _within(result["new_cluster_weight"].values, 0.0, 1.0, "new_cluster_weight") or _numbers(namespace)


def _new_labels(namespace):
    result = namespace["result"]
    totals = result["probability"].sum("cluster") + result["new_cluster_probability"]
    return _within(result["probability"].values, 0.0, 1.0, "probability") or _within(totals, 1.0, 1.0, "total")


def _finite(namespace, group):
    """No value of a group of a result, or of the whole one, is missing or infinite."""
    result = namespace["result"]
    result = result[group] if isinstance(result, xr.DataTree) and group in result.children else result
    return not_finite(**{name: array.values for name, array in result.data_vars.items()})


CHECKS = {
    "steps": steps_problem,
    "trees": tree_problem,
    "from_data": lambda namespace: not_finite(**namespace["result"]._asdict()),
    "plots": lambda namespace: None if namespace["result"].viz is not None else "an empty collection",
    "summary": _summary,
    "point_estimate": lambda namespace: labels_problem(namespace["result"]["labels"].values),
    "point_estimates": _point_estimates,
    "similarity": _similarity,
    "credible_ball": _numbers,
    "assignment_uncertainty": _numbers,
    "sample_cluster_parameters": _components,
    "compute_log_likelihood": lambda namespace: _finite(namespace, "log_likelihood"),
    "sample_posterior_predictive": lambda namespace: _finite(namespace, "posterior_predictive"),
    "sample_random_measure": _random_measure,
    "predictive_density": _density,
    "cluster_probabilities": _new_labels,
}
