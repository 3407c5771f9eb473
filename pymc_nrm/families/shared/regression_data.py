"""Covariates and responses of regressions, checked."""

import math

import numpy as np

from pymc_nrm.families.shared.moments import LARGEST_DISTANCE, LARGEST_RATIO, check_shape


def checked_covariates(title, W, shape):
    """Covariates (*shape, p) of a family, checked; the first axis of ``shape`` counts items."""
    W = np.ascontiguousarray(W, dtype="float64")
    if W.shape[:-1] != shape:
        wanted = f"one row for each of the {shape[0]} items"
        if len(shape) == 2:
            wanted = f"shape ({shape[0]}, {shape[1]}, p), as the {shape[0]} items have {shape[1]} responses"
        got = len(W) if len(shape) == 1 else f"shape {W.shape}"
        raise ValueError(f"covariates of {title} must have {wanted}; got {got}")
    bad = ~(np.abs(W) <= LARGEST_DISTANCE)
    if bad.any():
        row, *places, column = (int(k) for k in np.argwhere(bad)[0])
        where = f"row {row}, column {column}" if not places else f"item {row}, response {places[0]}, column {column}"
        raise ValueError(
            f"covariates of {title} must be finite, without missing values, and at most {LARGEST_DISTANCE:.0e}; got "
            f"{W[(row, *places, column)]} in {where}"
        )
    return W


def center_of_responses(W, y):
    """Coefficients (p,) of a fit of all rows, which leaves residuals with digits to spare wherever responses are.

    Shapes: ``W`` (N, p), ``y`` (N,), without missing values.
    """
    scale = np.maximum(np.abs(W).max(axis=0, initial=0.0), 1e-300)
    return np.linalg.lstsq(W / scale, y, rcond=None)[0] / scale


def check_regression(family, residuals, title):
    """Refuse responses and prior means that doubles do not resolve. Shapes: ``residuals`` (n, m), of items."""
    name = type(family).__name__
    check_shape(f"alpha of {name}", family.alpha, "variance", "beta")
    width, residuals = math.sqrt(family.beta), np.nan_to_num(np.abs(residuals), nan=0.0).max(axis=1, initial=0.0)
    if residuals.max(initial=0.0) > min(LARGEST_RATIO * width, LARGEST_DISTANCE):
        item = int(residuals.argmax())
        raise ValueError(
            f"{title}: the response of item {item} is {residuals[item]:.6g} away from a linear fit of all data, "
            f"{residuals[item] / width:.2g} times the width {width:.2g} of a cluster; doubles resolve at most "
            f"{LARGEST_RATIO:.0e}. If it is a code for a missing value, make it NaN; or choose larger beta"
        )
    length = np.linalg.norm(np.linalg.cholesky(family.Lambda).T @ family.mu)
    if not length <= LARGEST_RATIO * width:
        raise ValueError(
            f"mu of {name} must be within {LARGEST_RATIO:.0e} prior standard deviations of a linear fit of all data: "
            f"doubles resolve no more; got {length / width:.2g}"
        )
