"""The law of jumps given u, which every move of a sweep needs."""

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.measures.base import draw_log_auxiliary, log_joint_term, weights
from pymc_nrm.moves.slice_jumps import jump_law

__all__ = ["draw_law"]


@kernel
def _draw_law(rng, measure, n, n_clusters):
    log_u = draw_log_auxiliary(measure, n, n_clusters, rng)
    # Weights of clusters given u do not depend on the number of items.
    return jump_law(weights(measure, 3, log_u)), log_u, log_joint_term(measure, n, log_u)


def draw_law(rng, measure, chain):
    """Draw u given the partition; return the law of jumps, log u, and the term of the joint density in n and u."""
    return _draw_law(rng, measure, chain.n, len(chain.clusters.counts))
