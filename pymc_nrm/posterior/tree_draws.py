"""Draws of a nested partition: a new item goes to a leaf of the tree, or to new nodes below an inner node."""

import numpy as np

from pymc_nrm.families.base import Centred
from pymc_nrm.families.diffusion.draws import draw_given_data
from pymc_nrm.families.diffusion.messages import log_predictive_at_places
from pymc_nrm.families.needs import ITEMS
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.models.parts import joint_data, joint_family
from pymc_nrm.partitions.labels import rename_in_order
from pymc_nrm.partitions.nested_laws.forward import draw_further_nested, draw_further_paths
from pymc_nrm.partitions.nested_laws.next_item import component_weights, places_of
from pymc_nrm.posterior.draws import Draws
from pymc_nrm.posterior.estimate_nodes import probabilities_of_nodes
from pymc_nrm.posterior.tables import log_predictive_table


class TreeDraws(Draws):
    """Draws of a nested partition without weights, whose data belong to the nodes of a tree."""

    new_weight = ("new_node_weight", ("level",))
    needs_of_data = ()

    def clusters(self, value):
        return None

    def paths(self, draw):
        """Nodes of the items at levels 1 to depth, shape (n, depth)."""
        return np.ascontiguousarray(draw.value[:, : self.kind.depth])

    def places(self, draw):
        """The places of one more item."""
        return places_of(draw.prior[0], draw.value)

    def log_weights(self, draw, families, data, points, n_points):
        places = self.places(draw)
        return self._log_densities(draw, places, families, data, points, n_points) + places.log_weights

    def _log_densities(self, draw, places, families, data, points, n_points):
        """Log density of the data of new items at each place, shape (n_points, n_places)."""
        table = np.zeros((n_points, len(places.above)))
        for family, rows, new in zip(families, data, points, strict=True):
            table += log_predictive_at_places(family, self.paths(draw), rows, new, places.start)
        return table

    def labels_with_new(self, draw, n_new, rng):
        return draw_further_paths(rng, draw.prior[0], draw.value, n_new)

    def weight_of_new(self, draw):
        """Probability that the node of one more item is new, before its data are seen, at levels 1 to depth."""
        places = self.places(draw)
        return np.array([np.exp(places.log_weights[:first]).sum() for first in places.start[1:-1]])

    def leave_one_out(self, draw):
        [family], [data] = draw.families, draw.data
        return _leave_out_of_tree(draw.prior[0], self.paths(draw), family, data)

    def draw_data(self, draw, layout, value, rng):
        family, data = self.mixture(draw, layout.name)
        return draw_given_data(family, value, data, rng)

    def predict(self, X_new, estimate, progressbar):
        return probabilities_of_nodes(self, X_new, estimate, progressbar)


class WeightedTreeDraws(TreeDraws):
    """Draws of a nested partition with weights: data come from a component, by the weights of the node."""

    needs_of_data = ITEMS
    clusters, draw_data = Draws.clusters, Draws.draw_data

    def _log_densities(self, draw, places, families, data, points, n_points):
        n_components = int(draw.labels.max()) + 1
        weights = component_weights(draw.prior[1], draw.value, draw.labels, n_components, places)
        family, rows, new = joint_family(families), joint_data(data), joint_data(points)
        table = log_predictive_table(draw.labels, family, rows, new, n_points)
        largest = table.max(axis=1, keepdims=True)
        shift = np.where(np.isfinite(largest), largest, 0.0)
        with np.errstate(divide="ignore"):
            return shift + np.log(np.exp(table - shift) @ weights.T)

    def labels_with_new(self, draw, n_new, rng):
        return draw_further_nested(rng, *draw.prior, draw.value, n_new)

    def leave_one_out(self, draw):
        table = self.leave_one_out_table(draw)
        # Each row has its own weights.
        largest = table.max(axis=1)
        shift = np.where(np.isfinite(largest), largest, 0.0)
        with np.errstate(divide="ignore"):
            mixed = _mix_left_out(*draw.prior, draw.value, draw.labels, np.exp(table - shift[:, None]))
            return shift + np.log(mixed)


@kernel
def without_item(labels, item):
    """The rows of all items but one, each column with labels in order of appearance."""
    n, width = labels.shape
    others = np.empty((n - 1, width), dtype=np.int64)
    for i in range(n - 1):
        others[i] = labels[i + (i >= item)]
    for column in range(width):
        rename_in_order(others[:, column], n)
    return others


@kernel
def _mix_left_out(levels, gammas, values, components, densities):
    """Density of each item over all places that the other items leave it, from its densities in the components."""
    n, n_components = values.shape[0], densities.shape[1] - 1
    mixed = np.zeros(n)
    kept = np.empty(n - 1, dtype=np.int64)
    for item in range(n):
        check_signals()
        others = without_item(values, item)
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
def _leave_out_of_tree(levels, paths, family, data):
    n = paths.shape[0]
    values = np.empty(n)
    for item in range(n):
        check_signals()
        others = without_item(paths, item)
        places = places_of(levels, others)
        rows = np.empty((n - 1, data.values.shape[1]))
        for i in range(n - 1):
            rows[i] = data.values[i + (i >= item)]
        left, out = Centred(rows, data.center), Centred(data.values[item : item + 1].copy(), data.center)
        log_p = log_predictive_at_places(family, others, left, out, places.start)[0] + places.log_weights
        largest = log_p.max()
        values[item] = largest + np.log(np.exp(log_p - largest).sum())
    return values
