"""Predictive densities of the items of a nested partition given all other items."""

import numpy as np

from pymc_nrm.families.base import Centred
from pymc_nrm.families.diffusion.messages import log_predictive_at_places
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.model.parts import joint_data, joint_family
from pymc_nrm.partitions.labels import rename_in_order
from pymc_nrm.predictions.grouped_draws import GroupedDraw, leaf_weights
from pymc_nrm.predictions.places import component_weights, places_of
from pymc_nrm.predictions.tables import log_leave_one_out_table

__all__ = ["nested_leave_one_out"]


def nested_leave_one_out(draw):
    """Log density of the data of each item given all other items, with its path and its component integrated out."""
    if draw.gammas is None:
        [family], [data] = draw.families, draw.data
        return _of_tree(draw.levels, draw.paths, family, data)
    components = draw.labels
    table = log_leave_one_out_table(components, joint_family(draw.families), joint_data(draw.data))
    # Each row has its own weights.
    largest = table.max(axis=1, keepdims=True)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    densities = np.exp(table - shift)
    with np.errstate(divide="ignore"):
        if isinstance(draw, GroupedDraw):
            return shift[:, 0] + np.log(_mix_leaves(draw.paths, draw.gammas, draw.values, components, densities))
        return shift[:, 0] + np.log(_mix_rows(draw.levels, draw.gammas, draw.values, components, densities))


@kernel
def _without(labels, item):
    """The rows of all items but one, each column with labels in order of appearance."""
    n, width = labels.shape
    others = np.empty((n - 1, width), dtype=np.int64)
    for i in range(n - 1):
        others[i] = labels[i + (i >= item)]
    for column in range(width):
        rename_in_order(others[:, column], n)
    return others


@kernel
def _mix_rows(levels, gammas, values, components, densities):
    """Density of each item over all places that the other items leave it, from its densities in the components."""
    n, n_components = values.shape[0], densities.shape[1] - 1
    mixed = np.zeros(n)
    kept = np.empty(n - 1, dtype=np.int64)
    for item in range(n):
        check_signals()
        others = _without(values, item)
        for i in range(n - 1):
            kept[i] = components[i + (i >= item)]
        places = places_of(levels, others)
        weights = component_weights(gammas, others, kept, n_components, places)
        for place in range(weights.shape[0]):
            density = 0.0
            for k in range(n_components + 1):
                density += weights[place, k] * densities[item, k]
            mixed[item] += np.exp(places.log_weights[place]) * density
    return mixed


@kernel
def _mix_leaves(paths, gammas, values, components, densities):
    """Density of each item in its leaf as the other items leave it, from its densities in the components."""
    n, n_components = values.shape[0], densities.shape[1] - 1
    mixed = np.zeros(n)
    kept, reordered = np.empty(n - 1, dtype=np.int64), np.empty_like(paths)
    for item in range(n):
        check_signals()
        # The item comes last, as one that is new.
        for i in range(n - 1):
            kept[i] = components[i + (i >= item)]
            reordered[i] = paths[i + (i >= item)]
        reordered[n - 1] = paths[item]
        for column in range(paths.shape[1]):
            rename_in_order(reordered[:, column], n)
        weights, leaves = leaf_weights(reordered, gammas, _without(values, item), kept, n_components)
        for k in range(n_components + 1):
            mixed[item] += weights[leaves[n - 1], k] * densities[item, k]
    return mixed


@kernel
def _of_tree(levels, paths, family, data):
    n = paths.shape[0]
    values = np.empty(n)
    for item in range(n):
        check_signals()
        others = _without(paths, item)
        places = places_of(levels, others)
        rows = np.empty((n - 1, data.values.shape[1]))
        for i in range(n - 1):
            rows[i] = data.values[i + (i >= item)]
        left, out = Centred(rows, data.center), Centred(data.values[item : item + 1].copy(), data.center)
        log_p = log_predictive_at_places(family, others, left, out, places.start)[0] + places.log_weights
        largest = log_p.max()
        values[item] = largest + np.log(np.exp(log_p - largest).sum())
    return values
