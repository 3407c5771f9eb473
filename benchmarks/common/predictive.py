"""Predictive densities of a Dirichlet process mixture, one for each draw of labels."""

import numpy as np

from pymc_nrm.families.base import localise, log_predictive, prepare_data
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.partitions.clusters import build_state


@kernel
def _add_densities(labels, family, data, n_items, alpha, values):
    """Add the density of one more item, at the rows of the data after the first ``n_items``, to ``values``."""
    state = build_state(labels, family, data)
    for j in range(values.shape[0]):
        for k in range(state.size[0] + 1):
            slot = state.active[k]
            count = float(state.counts[slot]) if k < state.size[0] else alpha
            values[j] += (
                count / (n_items + alpha) * np.exp(log_predictive(family, state.cache[slot], data, n_items + j))
            )


def densities(family, alpha, X, labels, points):
    """Density of one more item at each point given each partition, under a Dirichlet process."""
    data = prepare_data(family, np.concatenate([X, points]))
    family = localise(family, data)
    values = np.zeros((len(labels), len(points)))
    for row, value in zip(labels, values, strict=True):
        _add_densities(row, family, data, len(X), alpha, value)
    return values
