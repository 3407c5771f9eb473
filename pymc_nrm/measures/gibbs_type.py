"""What all priors of Gibbs type share: given the auxiliary variable, a cluster of m items has the weight ``m - sigma``.

For mixtures of finitely many components, sigma is negative.
"""

import math

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.measures.base import Weights


@kernel
def gibbs_type_weights(n, sigma, log_new):
    """Tables of weights."""
    join = np.empty(n + 1)
    moment = np.empty(n + 1)
    join[0] = log_new
    moment[0] = 0.0
    for m in range(1, n + 1):
        join[m] = math.log(m - sigma)
        moment[m] = moment[m - 1] + join[m - 1]
    return Weights(join, moment)


@kernel
def draw_cluster(rng, labels, counts, i, sigma):
    """Draw one of the clusters of the first i items with probabilities proportional to ``m - sigma``."""
    # Propose a cluster of m items with probability m / i, accept it with probability (m - sigma) / m.
    label = labels[rng.integers(0, i)]
    while rng.random() * counts[label] > counts[label] - sigma:
        label = labels[rng.integers(0, i)]
    return label


@kernel
def size_factors(counts, sigma):
    """Number of items, and the log of the product of ``(1 - sigma)_(m - 1)`` over the sizes m of clusters."""
    n, total = 0, 0.0
    for m in counts:
        n += m
        # log Gamma(m - sigma) - log Gamma(1 - sigma), of which the latter diverges as sigma tends to 1.
        if m > 1:
            total += math.lgamma(m - sigma) - math.lgamma(2.0 - sigma) + math.log1p(-sigma)
    return n, total


def symbolic_size_factors(counts, sigma):
    """The log of the same product as a symbolic scalar."""
    total = pt.gammaln(pt.maximum(counts, 2) - sigma).sum() - counts.shape[0] * pt.gammaln(2.0 - sigma)
    return total + pt.gt(counts, 1).sum() * pt.log1p(-sigma)
