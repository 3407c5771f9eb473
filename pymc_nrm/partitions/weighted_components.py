"""Labels with probabilities of the user's own: one component of a fixed number for each item, given weights."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.common.marks import COMPONENTS
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.special import index_at
from pymc_nrm.partitions.flat import safe_indices
from pymc_nrm.partitions.slots import IndexLabels


class LogWeights(NamedTuple):
    """Log weights of the components of each item, in place of a measure; rows need not be normalised."""

    # Tensor or ndarray of float64, shape (n, K); minus infinity makes a component impossible.
    log_weights: Any


@kernel
def draw_of_rows(rng, table):
    """Draw an index from each row of a table of log weights, shape (n, K); -1 where no weight is positive."""
    n, n_components = table.shape
    labels, weights = np.full(n, -1), np.empty(n_components)
    for i in range(n):
        if i % 1024 == 0:
            check_signals()
        largest, total = -math.inf, 0.0
        for k in range(n_components):
            largest = max(largest, table[i, k])
        if not largest > -math.inf:
            continue
        for k in range(n_components):
            weights[k] = math.exp(table[i, k] - largest)
            total += weights[k]
        labels[i] = index_at(weights, n_components, rng.random() * total)
    return labels


@kernel
def _draw_components(rng, n, weights):
    return draw_of_rows(rng, weights.log_weights)


def log_shares(log_weights):
    """Log probabilities of components from log weights, a tensor of shape (n, K)."""
    return log_weights - pt.logsumexp(log_weights, axis=1, keepdims=True)


class WeightedComponents(IndexLabels):
    """The component of each item, from 0 to K - 1; items are independent given their weights."""

    description, sampled_by = "with log_weights", "for WeightedNUTS, which nrm.sample chooses"
    places = "components"
    field_core = "(m,k)"
    argument = "log_weights"
    draw = staticmethod(_draw_components)
    failed_draw = "log_weights must have a finite entry in every row; in a draw from the prior a row has none"

    def marks(self):
        return super().marks() | {COMPONENTS: self.max_clusters}

    def log_density(self, priors, labels, n):
        shares = log_shares(priors[0].log_weights)
        slots, in_range = safe_indices(labels, self.max_clusters)
        valid = pt.and_(in_range, pt.and_(pt.eq(labels.shape[0], n), pt.eq(shares.shape[0], n)))
        # Data and weights may have other lengths while a user sets them one after the other.
        rows = pt.minimum(pt.arange(slots.shape[0]), shares.shape[0] - 1)
        return pt.switch(valid, shares[rows, slots].sum(), -np.inf)

    def default_start(self, zeros, priors):
        # The likeliest component of each item: others may be impossible.
        return pt.argmax(priors[0].log_weights, axis=1).astype(zeros.dtype)
