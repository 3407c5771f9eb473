"""Affinities of the components of one draw, in closed form, and how close they make them."""

import numpy as np

from pymc_nrm.families.affinities import log_affinities

# Of the affinity: the larger, the less a small overlap counts.
_POWER = 0.75


def has_affinities(family_class):
    """Whether :func:`log_affinities` is defined for a class of families."""
    return log_affinities.dispatch(family_class) is not log_affinities.dispatch(object)


def closeness(log_affinity):
    """Closeness of components, from 0 to 1: a power of their affinity, given its log.

    Of two Gaussians of one covariance whose means are r standard deviations apart, the affinity is ``exp(-r^2 / 8)``
    and the closeness ``exp(-3 r^2 / 32)``: .43 for r = 3 and .03 for r = 6.
    """
    return np.exp(_POWER * log_affinity)
