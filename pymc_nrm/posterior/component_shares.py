"""Weights of the components of a mixture with weights of the user's own, by clusters of an estimate."""

import numpy as np

from pymc_nrm.models.rvs import kind_of
from pymc_nrm.partitions.weighted_components import WeightedComponents
from pymc_nrm.posterior.new_weights import NewWeights
from pymc_nrm.stats.contingency import contingency_table
from pymc_nrm.stats.point_estimate import evenly_spaced
from pymc_nrm.stats.result import with_chains

# Weights are computed in so many draws.
_MOST_DRAWS = 200


def component_shares(model, rv, posterior, labels, kept=slice(None)):
    """Draws (S, n_clusters) of the weight of the component of a cluster, the mean over items, who may have weights of
    their own; None if weights are not the user's, or the draws lack what they depend on.

    In each draw a cluster has the mean weight of the components of its items.  ``labels`` are of the items that are
    kept, an index.
    """
    if not isinstance(kind_of(rv), WeightedComponents):
        return None
    used = evenly_spaced(with_chains(posterior), _MOST_DRAWS)
    if not all(variable.name in used for variable in model.free_RVs):
        return None
    weights = NewWeights(model, rv, used)
    rows, shares = weights.present_rows(), []
    components_of_items = used[rv.name].transpose("chain", "draw", ...).values
    for s, components in enumerate(components_of_items.reshape(-1, components_of_items.shape[-1])[:, kept]):
        log_weights = weights.at(s, rows)
        item_weights = np.exp(log_weights - np.logaddexp.reduce(log_weights, axis=-1, keepdims=True))
        mean = np.atleast_2d(item_weights).mean(axis=0)
        members = contingency_table(labels, components, int(labels.max()) + 1, len(mean))
        shares.append(members @ mean / members.sum(axis=1))
    return np.stack(shares)
