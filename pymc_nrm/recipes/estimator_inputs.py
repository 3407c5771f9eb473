"""Tables, matrices and parameters as estimators take them, by the conventions of scikit-learn."""

import inspect
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy
import xarray as xr

from pymc_nrm.partitions.known_labels import KnownLabels
from pymc_nrm.stats.contingency import contingency_table


def as_matrix(X, least_samples=1):
    """Convert data (n, d) to a matrix of floats; NaN means missing, and stands for masked entries."""
    values = as_array(X)
    if values.dtype.kind == "c" or (values.dtype.kind == "O" and any(isinstance(v, complex) for v in values.flat)):
        raise ValueError(f"Complex data not supported: X must be real numbers; got {values.dtype}")
    if values.ndim != 2:
        raise ValueError(
            f"X must be a matrix, shape (n_samples, n_features); got shape {values.shape}. Reshape your data: "
            "X.reshape(-1, 1) if it has a single feature, X.reshape(1, -1) if it is a single sample"
        )
    n, d = values.shape
    if d == 0:
        raise ValueError(f"X has 0 feature(s) (shape=({n}, 0)) while a minimum of 1 is required.")
    if n < least_samples:
        raise ValueError(f"X has {n} sample(s) (shape=({n}, {d})) while a minimum of {least_samples} is required.")
    if values.dtype.kind not in "biufO":
        raise TypeError(f"X must be real numbers; got {values.dtype}. DataFrames may have text and categories")
    if values.dtype.kind == "O":
        values = np.where(pd.isna(values), np.nan, values)
        text = next((value for value in values.flat if isinstance(value, str | bytes)), None)
        if text is not None:
            raise TypeError(
                f"X must be real numbers; got text such as {text!r}. DataFrames may have text and categories"
            )
    # An error here reads "float() argument must be a string or a real number, not 'dict'".
    values = values.astype("float64")
    if np.isinf(values).any():
        row, column = np.argwhere(np.isinf(values))[0]
        raise ValueError(f"X must not have infinity; got {values[row, column]} in row {row}, column {column}")
    return values


def as_array(X):
    """Convert data to an array without a change of type; masked entries become NaN."""
    if scipy.sparse.issparse(X):
        raise TypeError("Sparse data are not supported: X must be a dense matrix, such as X.toarray()")
    if isinstance(X, np.ma.MaskedArray):
        return X.astype(object).filled(np.nan) if np.ma.is_masked(X) else X.data
    try:
        return np.asarray(X)
    except ValueError as error:
        raise ValueError("X must have rows of one length; got rows of different lengths") from error


def known_labels(y, n):
    """Check known labels of n items; return their codes from 0, -1 where unknown, int64 (n,), and their names."""
    kind = KnownLabels(y, "y")
    if kind.n_items != n:
        raise ValueError(
            f"y must have a known label, or -1, NaN or None, for each of the {n} samples; got {kind.n_items} labels"
        )
    return kind.known, kind.names


def named_clusters(labels, known):
    """Give clusters from 0 the known label of most of their items, each label once; the others follow the largest."""
    if known is None:
        return labels
    values, codes = np.unique(known[known >= 0], return_inverse=True)
    counts = contingency_table(labels[known >= 0], codes, labels.max() + 1, len(values))
    names = np.full(len(counts), -1)
    pairs = np.argwhere(counts > 0)
    for cluster, code in pairs[np.argsort(-counts[counts > 0], kind="stable")]:
        if names[cluster] < 0 and values[code] not in names:
            names[cluster] = values[code]
    names[names < 0] = values.max(initial=-1) + 1 + np.arange(np.count_nonzero(names < 0))
    return names[labels]


def class_estimate(labels, known):
    """Labels and probabilities of items if every cluster of every draw has a known label.

    Shapes: ``labels`` (draws, n), ``known`` (n,), of codes.  The label of an item is its most probable one, which makes
    the expected number of wrong labels least.
    """
    first = [np.argmax(known == code) for code in range(known.max() + 1)]
    probability = np.stack([(labels == labels[:, [item]]).mean(axis=0) for item in first], axis=1)
    labels = probability.argmax(axis=1)
    return xr.Dataset({"labels": ("item", labels), "probability": (("item", "cluster"), probability)})


def cluster_names(n_codes, names):
    """What users call clusters, by their codes: known labels first, then other clusters; the last is a new one."""
    others = np.arange(n_codes - len(names))
    if any(isinstance(name, str) for name in names):
        return np.array([*map(str, names), *(f"other {k + 1}" for k in others), "new"], dtype=object)
    return np.array([*names, *(max((-1, *names)) + 1 + others), -1], dtype="int64")


def check_n_features(estimator, n_features):
    """Check that new data have as many features as the data given to ``fit``."""
    if n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {n_features} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input"
        )


def not_fitted(estimator):
    """The error of a method called before ``fit``, as scikit-learn raises it if scikit-learn is installed."""
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        NotFittedError = ValueError
    return NotFittedError(f"this {type(estimator).__name__} is not fitted yet: call fit(X) first")


class Parameters:
    """Base of an estimator whose constructor stores each argument under its own name, unchanged."""

    @classmethod
    def _defaults(cls):
        signature = inspect.signature(cls.__init__)
        return {name: spec.default for name, spec in signature.parameters.items() if name != "self"}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> Self:
        """Change arguments of the constructor; they are checked by ``fit``."""
        for name, value in params.items():
            if name not in self._defaults():
                raise ValueError(f"parameters of {type(self).__name__} are {', '.join(self._defaults())}; got {name!r}")
            setattr(self, name, value)
        return self

    def __repr__(self):
        changed = {name: getattr(self, name) for name, default in self._defaults().items()}
        shown = [f"{name}={value!r}" for name, value in changed.items() if repr(value) != repr(self._defaults()[name])]
        return f"{type(self).__name__}({', '.join(shown)})"
