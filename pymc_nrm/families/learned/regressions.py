"""What ``learned`` of families of regressions adds to the model at hand."""

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.families.shared.sample_covariance import sample_moments


def learned_regression(family_class, prior, moments, tensor, values, y):
    """Add the hyperpriors of a regression with an intercept; return the fields of the family that they determine.

    Shapes: ``moments`` are the mean and the variance of the responses, ``tensor`` (..., p) are the covariates of the
    model, ``values`` (N, p) and ``y`` (N,) those and the responses of the rows that count.
    """
    m, v = moments
    center, C = sample_moments(family_class, values, "covariates")
    share = prior.log_normal("share", -1.0, 1.0)
    kappa = prior.log_normal("kappa", -2.0, 2.0)
    g = prior.log_normal("g", 0.0, 2.0)
    excess = prior.log_normal("excess", 1.0, 1.0)
    shifted = tensor - center
    is_array = isinstance(shifted, np.ndarray)
    ones = np.ones_like(shifted[..., :1]) if is_array else pt.ones_like(shifted[..., :1])
    design = (np if is_array else pt).concatenate([ones, shifted], axis=-1)
    p = len(center)
    of_intercept, of_slopes = np.zeros((p + 1, p + 1)), np.zeros((p + 1, p + 1))
    of_intercept[0, 0], of_slopes[1:, 1:] = 1.0, C
    return {
        "covariates": design,
        "mu": np.array([m, *_common_slopes(values, y)]),
        "Lambda": kappa * of_intercept + of_slopes / g,
        "alpha": 1.0 + excess,
        "beta": share * v * excess,
    }


def _common_slopes(W, y):
    """Slopes (p,) of the least-squares line, shrunk to 0 by what chance explains of the response."""
    present = ~np.isnan(y)
    W, y = W[present] - W[present].mean(axis=0), y[present] - y[present].mean()
    scale = np.maximum(np.abs(W).max(axis=0), 1e-300)
    slopes = np.linalg.lstsq(W / scale, y, rcond=None)[0] / scale
    fit, degrees = W @ slopes, len(y) - 1 - W.shape[1]
    explained, left = fit @ fit, (y - fit) @ (y - fit)
    if degrees < 1 or not explained > 0.0:
        return np.zeros(W.shape[1])
    return max(0.0, 1.0 - W.shape[1] / degrees * (left / explained)) * slopes
