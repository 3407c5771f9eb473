"""Slice sampling of a number (Neal 2003, "Slice sampling", sections 4.1 and 4.2)."""

from pymc_nrm.kernels.generic import generic, kernel


@generic
def log_height(target, x):
    """Log density, up to a constant, of a target of :func:`slice_sample`."""
    raise NotImplementedError


@kernel
def slice_sample(rng, target, x, width):
    """Draw from a transition that leaves the density of a target on the real line invariant.

    It is right for every width, and fast for one of about two standard deviations.
    """
    level = log_height(target, x) - rng.standard_exponential()
    low = x - width * rng.random()
    high = low + width
    while log_height(target, low) > level:
        low -= width
    while log_height(target, high) > level:
        high += width
    while True:
        y = low + (high - low) * rng.random()
        # The interval shrinks to x if heights there are NaN.
        if log_height(target, y) >= level or y == x:
            return y
        if y < x:
            low = y
        else:
            high = y
