"""Exact draws from log-concave densities, by rejection sampling under tangents of the log density."""

import math

from pymc_nrm.kernels.generic import generic, kernel

# The outer tangents touch the log density where it is below its maximum by an amount in this range.
_LEAST_DROP, _LARGEST_DROP = 0.5, 2.0


@generic
def log_density(target, x):
    """Log density, up to a constant, of a target of :func:`draw_log_concave`."""
    raise NotImplementedError


@generic
def log_density_derivative(target, x):
    """Derivative of :func:`log_density` with respect to x."""
    raise NotImplementedError


@kernel
def draw_log_concave(rng, target):
    """Draw exactly from a log-concave density on the real line.

    Rejection sampling uses the minimum of three tangents of the log density: one near the mode, and one on either side
    where the log density has dropped by about one (after Devroye 1986, "Non-uniform random variate generation", VII.2,
    and Gilks & Wild 1992).  Every tangent bounds a concave function from above, so the draw is exact wherever the
    tangents touch.
    """
    mode, width = _near_mode(target)
    top = log_density(target, mode)
    a = _point_below(target, mode, top, -width)
    b = _point_below(target, mode, top, width)
    slope_a, slope, slope_b = (
        log_density_derivative(target, a),
        log_density_derivative(target, mode),
        log_density_derivative(target, b),
    )
    if not (slope_a > 0.0 and slope_b < 0.0 and slope_a < math.inf and slope_b > -math.inf):
        raise ValueError("target of draw_log_concave must be a log-concave probability density")

    #        left    right          Three tangents bound the log density (dotted).  Below, positions are relative to the
    #         ._______.             mode, and heights to the log density at the mode.
    #        / . ' ' . \
    #       /.           .\
    #      /.             .\
    #       a     mode    b
    height_a = log_density(target, a) - top - slope_a * (a - mode)
    height_b = log_density(target, b) - top - slope_b * (b - mode)
    left = min(max(height_a / (slope - slope_a), a - mode), 0.0) if slope < slope_a else 0.0
    right = max(min(height_b / (slope - slope_b), b - mode), 0.0) if slope > slope_b else 0.0
    mass_left = math.exp(height_a + slope_a * left) / slope_a
    mass_right = math.exp(height_b + slope_b * right) / -slope_b
    rise = slope * (right - left)
    steep = abs(rise) > 1e-8
    mass_middle = math.exp(slope * left) * (math.expm1(rise) / slope if steep else right - left)
    total = mass_left + mass_middle + mass_right

    for _ in range(1000):
        threshold = rng.random() * total
        uniform = 1.0 - rng.random()
        if threshold < mass_left:
            x = left + math.log(uniform) / slope_a
            bound = height_a + slope_a * x
        elif threshold < mass_left + mass_right:
            x = right + math.log(uniform) / slope_b
            bound = height_b + slope_b * x
        else:
            x = left + (math.log1p(uniform * math.expm1(rise)) / slope if steep else uniform * (right - left))
            bound = slope * x
        if math.log(1.0 - rng.random()) <= log_density(target, mode + x) - top - bound:
            return mode + x
    raise ValueError("target of draw_log_concave must be a log-concave probability density")


@kernel
def _near_mode(target):
    """A point where the log density is within about 0.1 of its maximum, and the width of the final bracket."""
    low, high = 0.0, 0.0
    slope_low = slope_high = log_density_derivative(target, 0.0)
    if slope_low == 0.0:
        return 0.0, 1.0
    step = 1.0
    if slope_low > 0.0:
        while slope_high > 0.0 and step < 1e307:
            low, slope_low = high, slope_high
            high = low + step
            slope_high = log_density_derivative(target, high)
            step *= 2.0
    else:
        while slope_low < 0.0 and step < 1e307:
            high, slope_high = low, slope_low
            low = high - step
            slope_low = log_density_derivative(target, low)
            step *= 2.0
    if not (slope_low >= 0.0 and slope_high <= 0.0):
        raise ValueError("target of draw_log_concave must have a mode")
    value_low, value_high = log_density(target, low), log_density(target, high)
    # Bisect: the bracket may be as wide as the largest double, and the mode as narrow as one unit in the last place.
    for _ in range(2200):
        # The tangents at the two ends meet at or above the maximum: stop if they meet close to it.
        gap = value_high - value_low - slope_high * (high - low)
        crossing = gap / (slope_low - slope_high) if slope_low > slope_high else 0.0
        if value_low + slope_low * crossing - max(value_low, value_high) < 0.1:
            break
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        slope = log_density_derivative(target, middle)
        if slope > 0.0:
            low, slope_low, value_low = middle, slope, log_density(target, middle)
        else:
            high, slope_high, value_high = middle, slope, log_density(target, middle)
    return (low if value_low > value_high else high), high - low


@kernel
def _point_below(target, mode, top, step):
    """A point where the log density is about one below ``top``, on the side of the mode to which ``step`` points."""
    near, far = 0.0, math.inf * step
    for _ in range(2200):
        x = mode + step
        drop = top - log_density(target, x)
        if drop < _LEAST_DROP:
            near = step
        elif drop <= _LARGEST_DROP:
            return x
        else:
            far = step
        proposal = 2.0 * near if math.isinf(far) else 0.5 * (near + far)
        if mode + proposal == mode + near or mode + proposal == mode + far:
            # The density drops between two neighbouring doubles.
            return mode + (far if math.isfinite(far) else near)
        step = proposal
    return mode + step
