"""Items without any known value, whose labels reflect the prior alone."""

import numpy as np
from pytensor.tensor.basic import Alloc

from pymc_nrm.common.pymc_internals import find_observations
from pymc_nrm.models.missing_entries import gaps_of
from pymc_nrm.models.rvs import kind_of, mixtures_of, n_items, other_uses, rows_of
from pymc_nrm.models.values import computed_by
from pymc_nrm.partitions.flat import Flat
from pymc_nrm.partitions.known_labels import KnownLabels
from pymc_nrm.partitions.together import Together
from pymc_nrm.partitions.weighted_components import WeightedComponents


def items_with_values(model, partition):
    """Whether each item has a known value in a mixture over a partition, bool (n,); None if all have or none has.

    It is None as well where something else may determine the label of an item: its neighbours in a sequence of hidden
    states, weights of its own, parameters that labels index, or data of a mixture that is latent.
    """
    kind = kind_of(partition)
    is_flat = isinstance(kind, Flat) and not kind.has_neighbours
    if not is_flat or partition not in model.free_RVs or _has_own_weights(partition) or other_uses(model, partition):
        return None
    mixtures, observed = mixtures_of(model, partition), find_observations(model)
    if any(mixture.name not in observed for mixture in mixtures):
        return None
    n = n_items(partition)
    has_value = np.zeros(n, dtype=bool)
    for mixture in mixtures:
        gaps = gaps_of(model.rvs_to_values[mixture])
        values = np.asarray(observed[mixture.name] if gaps is None else gaps.values)
        rows, items = ~np.isnan(values.reshape(len(values), -1)).all(axis=1), rows_of(mixture)
        items = np.arange(len(values)) if isinstance(items, slice) else np.asarray(items)
        if items.max(initial=-1) >= n or len(items) != len(rows):
            # Data and labels have other lengths while a user sets them one after the other.
            return None
        has_value[items[rows]] = True
    if isinstance(kind, Together):
        # One item of a group determines the cluster of all of them.
        has_value = (np.bincount(kind.groups, has_value) > 0)[kind.groups]
    if isinstance(kind, KnownLabels):
        has_value |= kind.known >= 0
    return None if has_value.all() or not has_value.any() else has_value


def _has_own_weights(partition):
    """Whether the weights of components may differ between items."""
    if not isinstance(kind_of(partition), WeightedComponents):
        return False
    [log_weights] = partition.owner.op.prior_inputs(partition.owner)
    return not computed_by(log_weights, Alloc)
