"""Random numbers, categorical draws and mixture densities of LANES rows side by side; results for a row do not depend
on the others.
"""

import math

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import LANES, exp_within, log_above_one

_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_FIRST_FACTOR, _SECOND_FACTOR = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_FIRST_STEP, _SECOND_STEP = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_FIVE, _SIX, _PLACE = np.uint64(5), np.uint64(6), np.uint64(26)
_UNIT = 2.0**-53


@kernel(inner_loop=True)
def take_items(order, begin, end, items):
    """Write up to LANES items from ``begin`` to ``end``, and return how many; the first item fills all other lanes."""
    for lane in range(LANES):
        items[lane] = order[begin + lane if begin + lane < end else begin]
    return min(end - begin, LANES)


@kernel(inner_loop=True)
def philox(words, first_key, second_key):
    """Replace counters of four words of 32 bits, (4, LANES), by random words, given a key of two; all are uint64."""
    for _ in range(10):
        for lane in range(LANES):
            # All words are short; only with masks do compilers use short multiplications.
            first, second = _FIRST_FACTOR * (words[0, lane] & _LOW), _SECOND_FACTOR * (words[2, lane] & _LOW)
            words[0, lane] = (second >> _HALF) ^ words[1, lane] ^ first_key
            words[2, lane] = (first >> _HALF) ^ words[3, lane] ^ second_key
            words[1, lane], words[3, lane] = second & _LOW, first & _LOW
        first_key = (first_key + _FIRST_STEP) & _LOW
        second_key = (second_key + _SECOND_STEP) & _LOW


@kernel(inner_loop=True)
def draw_uniforms(seed, call, first, items, words, uniforms):
    """Draw numbers in [0, 1) of 53 bits for the rows ``first + items`` (LANES,), functions of the seed (uint64), the
    call and the row; ``words`` (4, LANES), uint64, are overwritten.
    """
    for lane in range(LANES):
        row = np.uint64(first + items[lane])
        words[0, lane], words[1, lane] = row & _LOW, row >> _HALF
        words[2, lane], words[3, lane] = np.uint64(call), np.uint64(0)
    philox(words, seed & _LOW, seed >> _HALF)
    for lane in range(LANES):
        # Vector units convert signed integers faster.
        number = np.int64(((words[0, lane] >> _FIVE) << _PLACE) + (words[1, lane] >> _SIX))
        uniforms[lane] = float(number) * _UNIT


@kernel(inner_loop=True)
def draw_columns(uniforms, values, n_columns, likely, chosen):
    """Draw the columns of LANES rows as in ``column_at``; ``values`` (n_columns, LANES) are overwritten."""
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
            raise ValueError("a row cannot be assigned to any cluster: all weights are 0, or one is not finite")
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
    """Write the log of the sum of exponentials of a row, NaN if a value is NaN; weights / total are its shares."""
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


@kernel(inner_loop=True)
def draw_parts(uniforms, weights, total, n_parts, parts):
    """Draw parts with probabilities weights / total, arbitrary if a weight is NaN; uniforms are overwritten."""
    for lane in range(LANES):
        uniforms[lane] *= total[lane]
        parts[lane] = 0
    for part in range(n_parts - 1):
        for lane in range(LANES):
            uniforms[lane] -= weights[part, lane]
            parts[lane] += uniforms[lane] >= 0.0
