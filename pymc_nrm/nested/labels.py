"""The value of a nested partition in a model: paths of items and, with weights, their tables at every level."""

import numpy as np

from pymc_nrm.common.checks import numeric_array
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.partitions.labels import canonical_labels

__all__ = ["NestedLabels", "canonical_columns", "rename_in_order"]


@kernel
def rename_in_order(labels, n_labels):
    """Rename labels from 0 to ``n_labels - 1`` in order of appearance, in place; return how many there are."""
    names = np.full(n_labels, -1, dtype=np.int64)
    n_names = 0
    for i in range(labels.shape[0]):
        if names[labels[i]] < 0:
            names[labels[i]] = n_names
            n_names += 1
        labels[i] = names[labels[i]]
    return n_names


@kernel
def canonical_columns(values, n_labels):
    """Rename the labels of each column, from 0 to ``n_labels - 1``, in order of appearance, in place."""
    for column in range(values.shape[1]):
        rename_in_order(values[:, column], n_labels)


class NestedLabels:
    """Labels of a nested partition, shape (n, depth) without weights and (n, 2 depth + 1) with weights.

    Columns are the nodes of an item at levels 1 to depth and, with weights, its tables at levels depth to 0, of which
    the last one is its component.  Each column is numbered from 0 in order of appearance.  A node is part of one node
    of the level above it; a table is part of one table of the level above it, and stands in one node of its level.
    """

    # Number of slots of a partition whose labels index parameters.
    max_clusters = None

    def __init__(self, name, depth, has_weights, paths=None):
        self.name, self.depth, self.has_weights, self.paths = name, depth, has_weights, paths
        self.columns = [f"level_{level}" for level in range(1, depth + 1)]
        if has_weights:
            self.columns += [f"table_{level}" for level in range(depth, -1, -1)]

    def shape(self, n):
        """Shape of the value of a nested partition of n items."""
        return (n, len(self.columns))

    def read(self, point):
        """Return a copy of the value at a point, its columns in canonical form."""
        values = np.array(point[self.name], dtype=np.int64, order="C")
        if values.min(initial=0) < 0 or values.max(initial=0) >= len(values):
            return np.column_stack([canonical_labels(column) for column in values.T])
        canonical_columns(values, len(values))
        return values

    def write(self, point, values):
        """Return a copy of the point with another value."""
        return {**point, self.name: values}

    def n_nodes(self, labels):
        """Numbers of nodes of levels 1 to depth, from a value, an array or a tensor."""
        return labels[..., : self.depth].max(axis=-2) + 1

    @staticmethod
    def n_components(labels):
        """Number of components of a value with weights, an array or a tensor."""
        return labels[..., -1].max(axis=-1) + 1

    def renamed(self, labels, n, argument):
        """Bring labels from a user to canonical form, and check them. Shapes: ``labels`` (n, depth) or (n, 2 depth +
        1).
        """
        array = numeric_array(argument, labels)
        shapes = {(n, self.depth), self.shape(n)}
        if array.shape not in shapes:
            allowed = " or ".join(map(str, sorted(shapes)))
            raise ValueError(f"{argument} must have shape {allowed}; got shape {array.shape}")
        columns = [canonical_labels(column, argument) for column in np.asarray(array).T]
        for level in range(1, self.depth):
            columns[level] = _within(columns[level - 1], columns[level])
        if self.has_weights and len(columns) == self.depth:
            columns += [*columns[::-1], np.zeros(n, dtype=np.int64)]
        values = np.column_stack(columns)
        if self.paths is not None and (values[:, : self.depth] != self.paths).any():
            raise ValueError(f"{argument} must have the known tree, that of paths; it has another one")
        for fine, coarse in self.refinements():
            if not _refines(values[:, fine], values[:, coarse]):
                raise ValueError(
                    f"{argument} must be nested: items that share {self.columns[fine]} must share "
                    f"{self.columns[coarse]}"
                )
        return values

    def refinements(self):
        """Pairs of columns of which the first must be finer than the second."""
        depth = self.depth
        pairs = [(level, level - 1) for level in range(1, depth)]
        if self.has_weights:
            tables = [2 * depth - level for level in range(depth + 1)]
            pairs += [(tables[level], level - 1) for level in range(1, depth + 1)]
            pairs += [(tables[level], tables[level - 1]) for level in range(1, depth + 1)]
        return sorted(pairs)


def _within(above, labels):
    """Labels of pairs of a label above and one of this level."""
    return canonical_labels(above * (labels.max() + 1) + labels)


def _refines(fine, coarse):
    """Whether items with one label of ``fine``, in order of appearance, share their label of ``coarse``."""
    first = np.unique(fine, return_index=True)[1]
    return bool((coarse == coarse[first][fine]).all())
