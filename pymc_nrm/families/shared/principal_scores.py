"""Scores of the rows of a table along principal directions, and along all others."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.common.checks import check_count
from pymc_nrm.common.supports import AboveFeatures
from pymc_nrm.families.shared.sample_covariance import check_columns_vary, check_variances

# Directions must be orthogonal up to this.
_LARGEST_ERROR = 1e-8
# Log densities are right within 1e-6 nats while squares of residuals, in units of the noise, sum to this.
_LARGEST_SUM = 1e10


class AboveComponents(AboveFeatures):
    """Numbers above the number of leading directions minus 1."""

    description = "finite and greater than the number of leading directions minus 1"

    def __init__(self, k=None):
        self.k = k

    def given(self, parameters):
        Psi = parameters.Psi
        return self if Psi is None else AboveComponents(Psi.shape[0])

    def inside(self, x, d):
        return super().inside(x, self.k)


class Scores(NamedTuple):
    """Data of a kernel: scores of the leading directions (n, k), lengths along the others (n, q), a grid for the
    former, and the logarithm of the volume of the map from scores to data.
    """

    values: Any
    residuals: Any
    grid: Any
    log_volume: Any

    def take_items(self, items):
        return self._replace(values=self.values[items], residuals=self.residuals[items])


def check_orthogonal(family, center, scale, directions):
    """Check that the map to scores is known, and that directions are orthonormal columns, shape (d, p)."""
    title = type(family).__name__
    if center is None or scale is None or directions is None:
        raise ValueError(f"center, scale and directions of {title} must be constants")
    if np.abs(directions.T @ directions - np.eye(directions.shape[1])).max() > _LARGEST_ERROR:
        raise ValueError(f"directions of {title} must be an orthogonal matrix, or columns of one")


def check_residuals(residuals, noise, title):
    """Refuse lengths (n, q) along the other directions beside whose squares doubles do not resolve the clusters."""
    with np.errstate(over="ignore"):
        squares = residuals**2 / noise
        total = squares.sum()
    if total <= _LARGEST_SUM:
        return
    item, place = np.unravel_index(squares.argmax(), squares.shape)
    raise ValueError(
        f"{title}: item {item} is {np.sqrt(squares[item, place]):.2g} times the standard deviation of the noise away "
        f"from the leading directions; squares of such distances sum to {total:.2g}, and beyond {_LARGEST_SUM:.0e} "
        "doubles do not hold log densities. Remove outliers, take more directions, or choose larger noise"
    )


def check_n_directions(n_directions, X):
    """Check the number of leading directions: the data (n, d) must vary along another one, which has the noise."""
    n, d = X.shape
    if n < 3 or d < 2:
        raise ValueError(f"X must have at least three items and two features; got n = {n}, d = {d}")
    check_count(f"n_directions of {n} items with {d} features", n_directions, 1, min(d - 1, n - 2))


def principal_directions(X):
    """Means and standard deviations of columns, principal directions of the scaled columns, and variances along them.

    Directions are orthonormal columns in order of decreasing variance; the entry of largest size of each is positive.
    They are p = min(n, d).  Shapes: ``X`` (n, d); returns (d,), (d,), (d, p), (p,).
    """
    check_columns_vary(X)
    check_variances(X.var(axis=0, ddof=1))
    center, scale = X.mean(axis=0), X.std(axis=0, ddof=1)
    _, lengths, rows = np.linalg.svd((X - center) / scale, full_matrices=False)
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)
    return center, scale, np.ascontiguousarray((rows * np.sign(largest)).T), lengths**2 / (len(X) - 1)
