"""What a file of predictions holds, checked: draws, mixtures, clusters of the estimate, and readings of columns."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm_predictor.components import Draws
from pymc_nrm_predictor.file_format import damaged
from pymc_nrm_predictor.mixtures import MIXTURES
from pymc_nrm_predictor.recorded_columns import recorded_columns


class Contents(NamedTuple):
    """Contents of a file."""

    draws: Draws
    mixtures: dict[str, Any]
    # Labels of the clusters of the estimate.
    clusters: np.ndarray
    # Readings of columns by mixture, and the mixtures that were made of a table.
    readings: dict[str, list[Any]]
    tables: tuple[str, ...]


def contents_of(path, description, arrays):
    """Contents of a file, or an error that says what is wrong with it."""
    try:
        return _contents(path, description, arrays)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise damaged(path, f"{type(error).__name__}: {error}") from error


def _contents(path, description, arrays):
    sizes = {}
    shapes = {"start": ("S",), "log_weight": ("N",), "share": ("N", "L"), "clusters": ("c",)}
    for name, axes in shapes.items():
        _check(path, name, arrays, axes, sizes)
    start = arrays["start"].astype(np.int64)
    if len(start) < 2 or start[0] != 0 or start[-1] != sizes["N"] or (np.diff(start) < 1).any():
        raise damaged(path, "components of draws do not follow each other")
    if sizes["L"] != sizes["c"] + 1:
        raise damaged(path, f"shares of {sizes['L'] - 1} clusters, and labels of {sizes['c']}")
    mixtures, readings, tables = {}, {}, []
    for k, about in enumerate(description["mixtures"]):
        kind = about["distribution"]
        if kind not in MIXTURES:
            raise damaged(path, f"the predictive distribution {kind!r} is unknown")
        mixture = MIXTURES[kind](about)
        arrays_of_mixture, of_mixture = {}, {"N": sizes["N"], "d": mixture.n_features}
        for name, axes in mixture.shapes.items():
            arrays_of_mixture[name] = _check(path, f"mixture_{k}_{name}", arrays, axes, of_mixture)
        side = of_mixture.get("k", of_mixture["d"])
        if of_mixture.get("t", side * (side + 1) // 2) != side * (side + 1) // 2:
            raise damaged(path, f"the arrays of mixture {k} have no lower triangles")
        n_terms = len(about.get("covariates", ()))
        if of_mixture.get("c", n_terms) != n_terms or (n_terms and side != n_terms + 1):
            raise damaged(path, f"mixture {k} has {n_terms} covariates, and arrays of another number")
        mixture.set_arrays(arrays_of_mixture)
        mixtures[mixture.name] = mixture
        if about.get("columns"):
            readings[mixture.name] = recorded_columns(about["columns"])
            tables += [mixture.name] if about.get("table") else []
    if not mixtures:
        raise damaged(path, "it has no mixture")
    draws = Draws(start, arrays["log_weight"], arrays["share"])
    return Contents(draws, mixtures, arrays["clusters"], readings, tuple(tables))


def _check(path, name, arrays, axes, sizes):
    """An array whose type, shape and values are right; lengths of axes that are new are added to the sizes."""
    if name not in arrays:
        raise damaged(path, f"the array {name!r} is missing")
    array = arrays[name]
    if array.dtype.kind not in "if" or array.ndim != len(axes):
        raise damaged(path, f"the array {name!r} has type {array.dtype} and {array.ndim} dimensions")
    for axis, length in zip(axes, array.shape, strict=True):
        if sizes.setdefault(axis, length) != length:
            raise damaged(path, f"the array {name!r} has {length} entries where {sizes[axis]} are expected")
    bad = np.isnan(array) | (array == np.inf) if name == "log_weight" else ~np.isfinite(array)
    if bad.any():
        raise damaged(path, f"the array {name!r} has values that are not finite")
    return array
