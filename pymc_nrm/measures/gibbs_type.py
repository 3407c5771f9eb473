"""What all priors of Gibbs type share: given the auxiliary variable, a cluster of m items has the weight ``m - sigma``.

For mixtures of finitely many components, sigma is negative.
"""

import math

import numpy as np

from pymc_nrm.generic import kernel
from pymc_nrm.measures.base import Weights


@kernel
def gibbs_type_weights(n, sigma, log_new):
    """Tables of weights.

    Parameters
    ----------
    n : int
        Number of items.
    sigma : float
        Below 1.
    log_new : float
        Log weight of a new cluster.

    Returns
    -------
    Weights

    Examples
    --------
    >>> gibbs_type_weights(2, 0.5, 0.0).join.round(4).tolist()
    [0.0, -0.6931, 0.4055]
    """
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
    """Draw one of the clusters of the first i items with probabilities proportional to ``m - sigma``.

    Parameters
    ----------
    rng : numpy.random.Generator
    labels : ndarray of int64, shape (at least i,)
    counts : ndarray of int64
        Sizes of the clusters.
    i : int
    sigma : float
        In [0, 1).

    Returns
    -------
    int
    """
    # Propose a cluster of m items with probability m / i, accept it with probability (m - sigma) / m.
    label = labels[rng.integers(0, i)]
    while rng.random() * counts[label] > counts[label] - sigma:
        label = labels[rng.integers(0, i)]
    return label
