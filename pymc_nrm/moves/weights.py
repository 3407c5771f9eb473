"""Weights of clusters given an auxiliary variable that is drawn given the partition."""

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.measures.base import Weights, draw_log_auxiliary, log_joint_term, weights


@kernel
def draw_weights(rng, measure, n, n_clusters):
    """Draw u; return the weights given u, log u, and the term of the log joint density that depends on n and u."""
    log_u = draw_log_auxiliary(measure, n, n_clusters, rng)
    return weights(measure, n, log_u), log_u, log_joint_term(measure, n, log_u)


def weights_of_two(table):
    """Weights for two items, on which kernels are compiled without much work."""
    return Weights(table.join[:3], table.moment[:3])
