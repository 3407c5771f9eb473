"""What every posterior draw holds for a nested partition with known paths: components, and groups of new items."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.model.parts import joint_data, joint_family
from pymc_nrm.partitions.nested_laws.forward import draw_further_nested
from pymc_nrm.partitions.nested_laws.known_paths import KnownPaths, canonical_paths
from pymc_nrm.predictions.nested_draws import NestedDraws
from pymc_nrm.predictions.places import Places, component_weights, nodes_of_paths
from pymc_nrm.predictions.tables import log_predictive_table

__all__ = ["GroupedDraw", "GroupedDraws", "leaf_weights"]


class GroupedDraw(NamedTuple):
    """One posterior draw of a nested partition with known paths, in the form that kernels read.

    Its methods are those of :class:`~pymc_nrm.predictions.partition_draws.PartitionDraw`, with components as clusters:
    where a new item goes is known but for its component.
    """

    # Paths and tables; columns in order of appearance; int64 of shape (n, 2 depth + 1).
    values: Any
    # Paths of new items, numbered on from those of the old ones; one row stands for any number of items; int64 of shape
    # (m, depth).
    new_paths: Any
    # Concentrations of the weights; float64 of shape (depth + 1,).
    gammas: Any
    # One for each mixture, hyperparameters of full shape and localised, see `localise`.
    families: tuple
    # Prepared data of each mixture.
    data: tuple

    @property
    def paths(self):
        """Nodes of the items at levels 1 to depth, shape (n, depth)."""
        return np.ascontiguousarray(self.values[:, : len(self.gammas) - 1])

    @property
    def labels(self):
        """Components of the items, shape (n,)."""
        return np.ascontiguousarray(self.values[:, -1])

    def component_weights(self):
        """Probabilities of the component of each new item before its data are seen, the last column for a new one."""
        components = self.labels
        longer = np.vstack([self.paths, self.new_paths])
        weights, leaves = leaf_weights(longer, self.gammas, self.values, components, int(components.max()) + 1)
        return weights[leaves[len(components) :]]

    def log_weights(self, families, data, points, n_points):
        """Log joint weights of the component of one more item and of its data, shape (n_points, n_components + 1)."""
        _check_new_paths(self.new_paths, n_points)
        table = log_predictive_table(
            self.labels, joint_family(families), joint_data(data), joint_data(points), n_points
        )
        return table + np.log(self.component_weights())

    def labels_with_new(self, n_new, rng):
        """Value of the items and of new ones, drawn from their law given the old ones, shape (n + n_new, width)."""
        if n_new:
            _check_new_paths(self.new_paths, n_new)
        new = np.broadcast_to(self.new_paths, (n_new, self.new_paths.shape[1])) if n_new else self.new_paths[:0]
        known = KnownPaths(np.vstack([self.paths, new]))
        return draw_further_nested(rng, known, self.gammas, self.values, n_new)

    def new_weight(self):
        """Probability that the component of one more item is new, before its data are seen; there is one new path."""
        return self.component_weights()[0, -1]


class GroupedDraws(NestedDraws):
    """An iterable of the posterior draws of a nested partition with known paths, one :class:`GroupedDraw` for each.

    Arguments are those of :class:`~pymc_nrm.predictions.partition_draws.PartitionDraws`, and ``new_paths``, the groups
    of new items as the user writes them, or None if there are no new items.
    """

    def __init__(self, idata, model, partition, new_paths=None):
        super().__init__(idata, model, partition)
        nodes = self._value.nodes
        if new_paths is None:
            self.new_paths = np.empty((0, len(nodes)), dtype=np.int64)
        else:
            self.new_paths, _ = canonical_paths("new_paths", new_paths, nodes)

    def _draw(self, labels, measure, families, data):
        _, gammas = measure
        return GroupedDraw(labels, self.new_paths, gammas, families, data)


@kernel
def leaf_weights(paths, gammas, values, components, n_components):
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


def _check_new_paths(new_paths, n_new):
    if not len(new_paths):
        raise ValueError("new_paths must have the groups of the new items, since groups are known; got None")
    if len(new_paths) not in (1, n_new):
        raise ValueError(
            f"new_paths must have one row for each of the {n_new} new items, or one row for all; got {len(new_paths)}"
        )
