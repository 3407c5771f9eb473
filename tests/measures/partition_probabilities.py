"""Probabilities of partitions in exact arithmetic, and of the extensions of a partition by one item."""

import math

import numpy as np

from pymc_nrm.measures.base import log_eppf


def log_of(fraction):
    """Logarithm of a Fraction whose parts doubles may not hold."""
    return math.log(fraction.numerator) - math.log(fraction.denominator)


def log_extensions(measure, counts):
    """Log probabilities of a partition with one more item: in a new cluster, then in any cluster of each size."""
    extensions = [log_eppf(measure, np.array([*counts, 1]))]
    for m in set(counts):
        larger = counts.copy()
        larger[counts.index(m)] += 1
        extensions.append(math.log(counts.count(m)) + log_eppf(measure, np.array(larger)))
    return extensions
