"""Draws of a nested partition with known paths: where a new item goes is known but for its component."""

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.partitions.labels import canonical_columns
from pymc_nrm.partitions.nested_laws.forward import draw_further_nested
from pymc_nrm.partitions.nested_laws.known_paths import KnownPaths, canonical_paths
from pymc_nrm.partitions.nested_laws.next_item import Places, component_weights, nodes_of_paths
from pymc_nrm.posterior.draws import Draws
from pymc_nrm.posterior.tree_draws import without_item


class KnownTreeDraws(Draws):
    """Draws of a nested partition with known paths; its components play the part of clusters."""

    takes_new_paths = True
    # Paths of new items, numbered on from those of the old ones; one row stands for any number of items; int64 of shape
    # (m, depth).
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
