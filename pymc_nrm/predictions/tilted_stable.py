"""Exact draws of the total mass of a generalized gamma measure: exponentially tilted positive stable variables.

Let Y have the Laplace transform ``exp(-a/sigma ((1+s)^sigma - 1))``.  In Zolotarev's representation of the stable law
(Kanter 1975, "Stable densities under change of scale and total variation inequalities", section 4), with
``q = sigma / (1 - sigma)``, ``Y = a e^x`` and an angle in (0, pi), the joint log density of angle and x is

    h(x, R) = sigma R - q x - a (1 - sigma) expm1(sigma R - q x) / sigma - a e^x,

up to a constant, where ``sigma R`` is the log of Zolotarev's function at the angle, relative to its value at 0.  Given
the angle, h is concave in x.  Since h is jointly concave, the log of the integral I of ``exp h`` over x is concave in
R.  Since I decreases in R, and R is convex in the angle, the marginal of the angle is log-concave with its mode at 0.
Like the double rejection of Devroye (2009, "Random variate generation for exponentially and polynomially tilted stable
distributions"), the draw rejects twice, at a cost bounded over all a and sigma; the bounds used here follow from
log-concavity alone.  All hats are flat around the mode and exponential beyond.
"""

import math

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import draw_log_gamma
from pymc_nrm.measures.quadrature import expm1_ratio

# Tangents touch h where it has dropped by an amount in this range.  On either side of the mode, the mass of a hat with
# one flat and one tangent piece is then at most 1 / (1 - exp(-1/2)) times the integral.  Proof: let the drop at a
# distance of 1 be d.  By concavity the slope there is at least d, so the hat has mass at most max(1, 1/d), and the
# integral is at least (1 - exp(-d)) / d.
_LEAST_DROP, _LARGEST_DROP = 0.5, 2.0
_LOG_HAT_RATIO = -math.log(-math.expm1(-0.5))

# The hat of the angle turns from flat to exponential where the log mass of the hat of I has fallen by an amount in this
# range.
_LEAST_FALL, _LARGEST_FALL = 2.0, 3.0


@kernel
def _log_sine_ratio(c, rest, angle):
    """Log of ``sin((1-c) angle) / ((1-c) sin(angle))``, divided by c, where ``rest = 1 - c``."""
    if c < 0.5:
        x = 2.0 * math.sin(0.5 * c * angle) ** 2 + math.sin(c * angle) / math.tan(angle)
        return (math.log1p(-x) - math.log1p(-c)) / c
    return math.log(math.sin(rest * angle) / (rest * math.sin(angle))) / c


@kernel
def zolotarev_exponent(sigma, angle):
    """R at an angle in [0, pi): log of Zolotarev's function relative to its value at 0, divided by sigma in (0, 1)."""
    rest = 1.0 - sigma
    if angle < 0.1:
        # log(sin x / x) = -x^2/6 - x^4/180 - x^6/2835 - x^8/37800 - ...
        p, square = sigma * rest, angle * angle
        last = square / 37800.0 * (9.0 - p * (27.0 - p * (30.0 - 9.0 * p)))
        return square * (0.5 + square * ((1.0 - p) / 36.0 + square * ((1.0 - p) ** 2 / 405.0 + last)))
    return _log_sine_ratio(rest, sigma, angle) + _log_sine_ratio(sigma, rest, angle)


@kernel
def _log_joint(x, a, sigma, R):
    y = R - x / (1.0 - sigma)
    return sigma * y - a * (1.0 - sigma) * expm1_ratio(sigma, y) - a * math.exp(x)


@kernel
def _slope(x, a, sigma, R):
    return a * math.exp(sigma * (R - x / (1.0 - sigma))) - a * math.exp(x) - sigma / (1.0 - sigma)


@kernel
def _mode(a, sigma, R):
    """Root of ``log a + sigma R - q x = log(a e^x + q)``; the difference is concave, so Newton steps converge."""
    q = sigma / (1.0 - sigma)
    log_ratio = math.log(q) - math.log(a)
    x = 0.0
    for _ in range(100):
        gap = log_ratio - x
        log_sum = x + max(gap, 0.0) + math.log1p(math.exp(-abs(gap)))
        share = 1.0 / (1.0 + math.exp(gap)) if gap < 700.0 else 0.0
        step = (sigma * R - q * x - log_sum) / (q + share)
        x += step
        if abs(step) <= 1e-14 * (1.0 + abs(x)):
            break
    return x


@kernel
def _drop_distance(mode, top, side, a, sigma, R):
    """Distance from the mode, to the right (side 1) or left (side -1), at which h has dropped by roughly one."""
    q = sigma / (1.0 - sigma)
    curvature = q * a * math.exp(sigma * R - q * mode) + a * math.exp(mode)
    step = math.sqrt(2.0 / curvature)
    near, far = 0.0, math.inf
    for _ in range(2200):
        drop = top - _log_joint(mode + side * step, a, sigma, R)
        if drop < _LEAST_DROP:
            near = step
        elif drop <= _LARGEST_DROP:
            return step
        else:
            far = step
        step = 2.0 * near if math.isinf(far) else 0.5 * (near + far)
    raise ValueError("the law of the remaining mass is too narrow for floating-point numbers")


@kernel
def _hat(a, sigma, R):
    """Hat of ``exp h(., R)``: log mass, mode, h there, lengths of the flat parts, slopes beyond (left, right)."""
    mode = _mode(a, sigma, R)
    top = _log_joint(mode, a, sigma, R)
    left, right = _drop_distance(mode, top, -1.0, a, sigma, R), _drop_distance(mode, top, 1.0, a, sigma, R)
    slope_left, slope_right = _slope(mode - left, a, sigma, R), -_slope(mode + right, a, sigma, R)
    # The tangent reaches the height of the mode at the distance minus drop / slope.
    left -= (top - _log_joint(mode - left, a, sigma, R)) / slope_left
    right -= (top - _log_joint(mode + right, a, sigma, R)) / slope_right
    mass = left + right + 1.0 / slope_left + 1.0 / slope_right
    return top + math.log(mass), mode, top, left, right, slope_left, slope_right


@kernel
def _turning_angle(a, sigma, log_mass_0):
    """Angle below pi/2 at which the log mass of the hat has fallen by about two, and this log mass; pi if none is."""
    near, far = 0.0, 0.5 * math.pi
    log_mass = _hat(a, sigma, zolotarev_exponent(sigma, far))[0]
    if log_mass_0 - log_mass < _LEAST_FALL:
        return math.pi, log_mass_0
    # R is about angle^2 / 2, and I about exp(-a R).
    angle = min(2.2 / math.sqrt(a), far)
    for _ in range(2200):
        log_mass = _hat(a, sigma, zolotarev_exponent(sigma, angle))[0]
        fall = log_mass_0 - log_mass
        if fall < _LEAST_FALL:
            near = angle
        elif fall <= _LARGEST_FALL:
            break
        else:
            far = angle
        angle = 0.5 * (near + far)
    return angle, log_mass


@kernel
def draw_log_tilted_stable(rng, a, sigma):
    """Draw log Y where ``E exp(-s Y) = exp(-a/sigma ((1+s)^sigma - 1))``; for sigma = 0, Y is gamma of shape a."""
    if not (a > 0.0 and a < math.inf and sigma >= 0.0 and sigma < 1.0):
        raise ValueError("the remaining mass needs a finite positive mean and sigma in [0, 1)")
    if sigma == 0.0:
        return draw_log_gamma(rng, a)
    log_mass_0 = _hat(a, sigma, 0.0)[0]
    turn, log_mass_turn = _turning_angle(a, sigma, log_mass_0)
    # By concavity, log I(angle) <= log I(turn) - (angle / turn - 1)(log I(0) - log I(turn)) beyond the turn, and
    # log_mass - log(hat ratio) <= log I <= log_mass.
    decay = (log_mass_0 - _LOG_HAT_RATIO - log_mass_turn) / turn
    tail = math.exp(log_mass_turn - log_mass_0) / decay if turn < math.pi else 0.0
    for _ in range(100_000):
        place = rng.random() * (turn + tail)
        if place < turn:
            angle, log_bound = place, log_mass_0
        else:
            angle = turn - math.log1p(-rng.random()) / decay
            log_bound = log_mass_turn - (angle - turn) * decay
        if angle >= math.pi:
            continue
        R = zolotarev_exponent(sigma, angle)
        log_mass, mode, top, left, right, slope_left, slope_right = _hat(a, sigma, R)
        if math.log1p(-rng.random()) > log_mass - log_bound - _LOG_HAT_RATIO:
            continue
        place = rng.random() * (left + right + 1.0 / slope_left + 1.0 / slope_right)
        fall = 0.0
        if place < left + right:
            x = mode - left + place
        else:
            fall = -math.log1p(-rng.random())
            if place < left + right + 1.0 / slope_left:
                x = mode - left - fall / slope_left
            else:
                x = mode + right + fall / slope_right
        if math.log1p(-rng.random()) <= _log_joint(x, a, sigma, R) - top + fall:
            return math.log(a) + x
    raise ValueError("100,000 proposals of the remaining mass were rejected")
