"""The log joint density of hidden states and their data, rows and parameters integrated out."""

import numpy as np

from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.partitions.clusters import ordered_labels
from pymc_nrm.states.partitions.columns import count_transitions
from pymc_nrm.states.partitions.tables import log_states


@shared_kernel
def log_joint_terms(state, prior, family, data):
    """Log probability of the labels of a state of kernels, and log density of the data given them."""
    n_states = state.size[0]
    counts = np.zeros((n_states + 1, n_states), dtype=np.int64)
    count_transitions(ordered_labels(state), prior.starts, n_states, counts)
    log_likelihood = 0.0
    for k in range(n_states):
        log_likelihood += log_marginal(family, state.statistics[state.active[k]])
    return log_states(counts, n_states, prior), log_likelihood
