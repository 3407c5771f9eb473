"""Leave-one-out densities of items whose parameters are indexed by labels."""

import numpy as np

from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.predictions.prediction_rule import log_join_without
from pymc_nrm.predictions.slot_draws import SlotDensities
from pymc_nrm.predictions.tables import log_leave_one_out_table, log_sum_rows


def slot_leave_one_out(draws, slot_draws, names, progressing):
    """Log density of the data of each item given all other items, and the parameters of all slots. Shapes: returns
    (n_draws, n).
    """
    values, densities = np.empty((len(draws), draws.n_items)), None
    for s, (draw, slot_draw) in enumerate(zip(progressing, slot_draws, strict=True)):
        if densities is None:
            densities = SlotDensities(slot_draws, names, slot_draw.point)
        table = densities(slot_draw.point)
        if draws.mixtures:
            of_clusters = log_leave_one_out_table(draw.labels, draw.family, draw.family_data)
            table += by_slot(of_clusters, own_slots(slot_draw.slots)[0], slot_draws.n_slots)
        weights = log_weights_without(draw.measure, slot_draw.slots, slot_draws.n_slots)
        values[s] = log_sum_rows(table + weights[draw.labels])
    return values


def log_weights_without(measure, slots, n_slots):
    """Log probabilities of the slot of an item that is left out of a cluster, before its data are seen. Rows are the
    clusters that the item was in, and sum to one.  The K - k slots without items share the probability of a new cluster
    equally; if there are none, the item joins an old one. Shapes: ``slots`` (n,); returns (n_clusters, n_slots).
    """
    join = log_join_without(measure, canonical_labels(slots))
    n_clusters = len(join)
    own, counts = own_slots(slots)
    weights = by_slot(join, own, n_slots)
    alone = counts == 1
    n_free = n_slots - n_clusters + alone
    free = np.ones((n_clusters, n_slots), dtype=bool)
    free[:, own] = False
    free[np.arange(n_clusters), own] = alone
    new = join[:, -1] - np.log(np.maximum(n_free, 1))
    weights = np.where(free, new[:, None], weights)
    return weights - log_sum_rows(weights)[:, None]


def own_slots(slots):
    """The slot of each cluster in order of appearance, and the sizes of the clusters."""
    _, first, counts = np.unique(canonical_labels(slots), return_index=True, return_counts=True)
    return slots[first], counts


def by_slot(table, own, n_slots):
    """Give a table a column for each slot: those of clusters, in their own slots, and the last one in all others."""
    whole = np.repeat(table[:, -1:], n_slots, axis=1)
    whole[:, own] = table[:, :-1]
    return whole
