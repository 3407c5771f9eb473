"""Draws of a nested partition: a new item goes to a leaf of the tree, or to new nodes below an inner node."""

import numpy as np

from pymc_nrm.common.result_names import added_names, result_dataset
from pymc_nrm.families.base import Centred
from pymc_nrm.families.needs import ITEMS
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.models.parts import joint_data, joint_family
from pymc_nrm.nested.families.base import draw_given_data, log_predictive_at_places
from pymc_nrm.nested.partitions.nested import Nested
from pymc_nrm.nested.partitions.nested_draws import (
    Places,
    component_weights,
    draw_further_nested,
    draw_further_paths,
    nodes_of_paths,
    places_of,
)
from pymc_nrm.nested.partitions.nested_levels import KnownPaths
from pymc_nrm.nested.stats.item_tree import ItemTree
from pymc_nrm.nested.stats.nested_point_estimate import nested_point_estimate
from pymc_nrm.partitions.labels import canonical_columns, rename_in_order
from pymc_nrm.partitions.user_labels import canonical_paths
from pymc_nrm.posterior.draws import Draws
from pymc_nrm.posterior.tables import log_of_sums, log_predictive_table, log_sum_rows


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
        paths = self._estimate_paths(estimate)
        depth, n_labels = paths.shape[1], int(paths.max()) + 1
        items = self.new_items(X_new)
        total, new = 0.0, 0.0
        for draw, table in items.tables("Predicting clusters", progressbar):
            joined = np.exp(table - log_sum_rows(table)[:, None])
            places = self.places(draw)
            by_level = []
            for level in range(1, depth + 1):
                # Places above this level have no node of it.
                first = places.start[level]
                cells = (places.nodes[:, level:] - first) * n_labels + paths[:, level - 1, None]
                members = np.bincount(cells.ravel(), minlength=(len(places.counts) - first) * n_labels)
                by_level.append(joined[:, first:] @ (members.reshape(-1, n_labels) / places.counts[first:, None]))
            total = total + np.stack(by_level, axis=1)
            new = new + np.column_stack([joined[:, :first].sum(axis=1) for first in places.start[1:-1]])
        total, new = total / len(self), new / len(self)
        level, cluster = added_names({items.dim, *items.coords}, "level", "cluster")
        return result_dataset(
            {
                "probability": ((items.dim, level, cluster), total),
                "new_cluster_probability": ((items.dim, level), new),
                "labels": ((items.dim, level), _best_paths(paths, total, new)),
            },
            coords={**items.coords, level: np.arange(1, depth + 1), cluster: np.arange(n_labels)},
        )

    def _estimate_paths(self, estimate):
        """Paths of the items in the estimate, shape (n, depth), each level labelled in order of appearance."""
        depth, n = self.kind.depth, self.n_items
        if estimate is None:
            if self.is_observed:
                return self.paths(next(iter(self)))
            stored = self.posterior[self.partition].isel({self.dims[1]: slice(0, depth)})
            estimate = nested_point_estimate(stored, random_seed=0)
        if not isinstance(estimate, ItemTree):
            return Nested(depth).renamed(estimate, n, "estimate")
        if estimate.information.get("method") == "majority_rule":
            raise ValueError(
                "estimate must have the levels of the draws, as nested_point_estimate and maximum_clade_credibility "
                "have them; got a consensus tree, whose levels are its own"
            )
        deepest = int(estimate.level.max())
        if estimate.n_items != n or deepest > depth:
            raise ValueError(
                f"estimate must be a tree of {n} items and at most {depth} levels; got {estimate.n_items} items and "
                f"{deepest} levels"
            )
        return np.column_stack([estimate.labels(level) for level in range(1, depth + 1)])


class WeightedTreeDraws(TreeDraws):
    """Draws of a nested partition with weights: data come from a component, by the weights of the node."""

    needs_of_data = ITEMS
    clusters, draw_data = Draws.clusters, Draws.draw_data

    def _log_densities(self, draw, places, families, data, points, n_points):
        n_components = int(draw.labels.max()) + 1
        weights = component_weights(draw.prior[1], draw.value, draw.labels, n_components, places)
        family, rows, new = joint_family(families), joint_data(data), joint_data(points)
        table = log_predictive_table(draw.labels, family, rows, new, n_points)
        return log_of_sums(table, lambda densities: densities @ weights.T)

    def labels_with_new(self, draw, n_new, rng):
        return draw_further_nested(rng, *draw.prior, draw.value, n_new)

    def leave_one_out(self, draw):
        def mixed(densities):
            # Each row has its own weights.
            return _mix_left_out(*draw.prior, draw.value, draw.labels, densities)[:, None]

        return log_of_sums(self.leave_one_out_table(draw), mixed)[:, 0]


@kernel
def without_item(labels, item):
    """The rows of all items but one, each column with labels in order of appearance."""
    n, width = labels.shape
    remaining = np.empty((n - 1, width), dtype=np.int64)
    for i in range(n - 1):
        remaining[i] = labels[i + (i >= item)]
    for column in range(width):
        rename_in_order(remaining[:, column], n)
    return remaining


@kernel
def _mix_left_out(levels, gammas, values, components, densities):
    """Density of each item over all places that the other items leave it, from its densities in the components."""
    n, n_components = values.shape[0], densities.shape[1] - 1
    mixed = np.zeros(n)
    kept = np.empty(n - 1, dtype=np.int64)
    for item in range(n):
        check_signals()
        remaining = without_item(values, item)
        for i in range(n - 1):
            kept[i] = components[i + (i >= item)]
        places = places_of(levels, remaining)
        weights = component_weights(gammas, remaining, kept, n_components, places)
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
        remaining = without_item(paths, item)
        places = places_of(levels, remaining)
        rows = np.empty((n - 1, data.values.shape[1]))
        for i in range(n - 1):
            rows[i] = data.values[i + (i >= item)]
        left, out = Centred(rows, data.center), Centred(data.values[item : item + 1].copy(), data.center)
        log_p = log_predictive_at_places(family, remaining, left, out, places.start)[0] + places.log_weights
        largest = log_p.max()
        values[item] = largest + np.log(np.exp(log_p - largest).sum())
    return values


class KnownTreeDraws(Draws):
    """Draws of a nested partition with known paths; its components play the part of clusters."""

    takes_new_paths = True
    # Paths of new items, numbered on from the paths of the old ones; one row stands for any number of items; int64 of
    # shape (m, depth).
    new_paths = ()

    def take_new_paths(self, new_paths):
        if new_paths is not None:
            self.new_paths, _ = canonical_paths("new_paths", new_paths, self.kind.nodes)

    def _check_new_paths(self, n_new):
        if not len(self.new_paths):
            raise ValueError("new_paths must have the groups of the new items, since groups are known; got None")
        if len(self.new_paths) not in (1, n_new):
            raise ValueError(
                f"new_paths must have one row for each of the {n_new} new items, or one row for all; got "
                f"{len(self.new_paths)}"
            )

    def check_one_item(self):
        if len(self.new_paths) != 1:
            raise ValueError(f"new_paths must have one row, the group of the item; got {len(self.new_paths)} rows")

    def log_join(self, draw, n_new):
        self._check_new_paths(n_new)
        longer = np.vstack([self.kind.known_paths, self.new_paths])
        weights, leaves = _leaf_weights(longer, draw.prior[1], draw.value, draw.labels, int(draw.labels.max()) + 1)
        return np.log(weights[leaves[len(draw.labels) :]])

    def log_join_others(self, draw):
        paths, n_components = self.kind.known_paths, int(draw.labels.max()) + 1
        with np.errstate(divide="ignore"):
            return np.log(_weights_left_out(paths, draw.prior[1], draw.value, draw.labels, n_components))

    def labels_with_new(self, draw, n_new, rng):
        paths = self.kind.known_paths
        if n_new:
            self._check_new_paths(n_new)
            paths = np.vstack([paths, np.broadcast_to(self.new_paths, (n_new, paths.shape[1]))])
        return draw_further_nested(rng, KnownPaths(paths), draw.prior[1], draw.value, n_new)


@kernel
def _leaf_weights(paths, gammas, values, components, n_components):
    """Probabilities of the component of one more item at all nodes, some of which may have no items yet. ``leaves`` has
    the row of ``weights`` of each path's leaf. Shapes: ``paths`` (at least n, depth), ``gammas`` (depth + 1,),
    ``values`` (n, 2 depth + 1), ``components`` (n,); returns ``weights`` (n_nodes, n_components + 1), ``leaves`` (at
    least n,).
    """
    n, depth = values.shape[0], gammas.shape[0] - 1
    start, nodes, above, counts, _ = nodes_of_paths(paths, depth)
    # A node without customers has the weights of its parent.
    places = Places(start, nodes[:n].copy(), above, counts, np.zeros(above.shape[0]))
    return component_weights(gammas, values, components, n_components, places), nodes[:, depth].copy()


@kernel
def _weights_left_out(paths, gammas, values, components, n_components):
    """Probabilities of the component of each item in its leaf, as the other items leave it."""
    n = values.shape[0]
    weights = np.empty((n, n_components + 1))
    kept, reordered = np.empty(n - 1, dtype=np.int64), np.empty_like(paths)
    for item in range(n):
        check_signals()
        # The item comes last, as one that is new.
        for i in range(n - 1):
            kept[i] = components[i + (i >= item)]
            reordered[i] = paths[i + (i >= item)]
        reordered[n - 1] = paths[item]
        canonical_columns(reordered, n)
        nodes, leaves = _leaf_weights(reordered, gammas, without_item(values, item), kept, n_components)
        weights[item] = nodes[leaves[n - 1]]
    return weights


def _best_paths(paths, probabilities, new):
    """From the root down, the most probable child of the node above, or -1 for a new one and all below it. Shapes:
    ``paths`` (n, depth), ``probabilities`` (m, depth, n_nodes), ``new`` (m, depth); returns (m, depth).
    """
    labels = np.full(new.shape, -1, dtype="int64")
    for item, by_level in enumerate(probabilities):
        inside, above = np.ones(len(paths), dtype=bool), 1.0
        for level, level_probabilities in enumerate(by_level):
            children = np.unique(paths[inside, level])
            best = children[np.argmax(level_probabilities[children])]
            if level_probabilities[best] < above - level_probabilities[children].sum():
                break
            labels[item, level], above = best, level_probabilities[best]
            inside &= paths[:, level] == best
    return labels
