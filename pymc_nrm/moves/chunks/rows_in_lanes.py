"""Categorical draws and mixture densities of LANES rows side by side; those of a row do not depend on the others."""

import math

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import LANES, exp_within, log_above_one


@kernel(inner_loop=True)
def draw_columns(uniforms, values, n_columns, likely, chosen):
    """Draw the columns of LANES rows as ``column_at``; ``values`` (n_columns, LANES) are overwritten."""
    reference, total = np.empty(LANES), np.zeros(LANES)
    n_above = 0
    for lane in range(LANES):
        reference[lane] = values[likely[lane], lane]
    for k in range(n_columns):
        for lane in range(LANES):
            n_above += values[k, lane] > reference[lane] + 500.0
    if n_above > 0:
        for k in range(n_columns):
            for lane in range(LANES):
                reference[lane] = max(reference[lane], values[k, lane])
    for k in range(n_columns):
        for lane in range(LANES):
            x = values[k, lane] - reference[lane]
            weight = 0.0 if x <= -40.0 else exp_within(-40.0 if x <= -40.0 else x)
            values[k, lane] = weight
            total[lane] += weight
    for lane in range(LANES):
        if not 0.0 < total[lane] < np.inf:
            raise ValueError("a row cannot be drawn into a cluster: all weights are 0, or one is not finite")
        threshold, column = uniforms[lane] * total[lane] - values[likely[lane], lane], likely[lane]
        if threshold >= 0.0:
            for k in range(n_columns):
                if k != likely[lane] and values[k, lane] > 0.0:
                    column = k
                    if threshold < values[k, lane]:
                        break
                    threshold -= values[k, lane]
        chosen[lane] = column


@kernel(inner_loop=True)
def mix_columns(values, n_columns, weights, total, mix):
    """Write the log of the sum of exponentials of a row, NaN if a value is; weights / total are its shares."""
    for lane in range(LANES):
        mix[lane] = values[0, lane]
        total[lane] = 0.0
    for k in range(1, n_columns):
        for lane in range(LANES):
            mix[lane] = max(mix[lane], values[k, lane])
    for k in range(n_columns):
        for lane in range(LANES):
            x = values[k, lane] - mix[lane]
            weights[k, lane] = 0.0 if x <= -700.0 else exp_within(-700.0 if x <= -700.0 else x)
            total[lane] += weights[k, lane]
    for lane in range(LANES):
        mix[lane] = mix[lane] + log_above_one(total[lane]) if 1.0 <= total[lane] < math.inf else math.nan
