"""Nested partitions: paths of items in a random or known tree of fixed depth and, with weights, their tables."""

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply

from pymc_nrm.common.checks import check_count, numeric_array
from pymc_nrm.common.marks import NESTED
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.kernel_op import KernelOp
from pymc_nrm.measures.prediction_rules import levels_of, symbolic_levels_of
from pymc_nrm.nested.families import base
from pymc_nrm.nested.partitions.nested_draws import draw_nested, draw_paths
from pymc_nrm.nested.partitions.nested_levels import HierarchicalDirichletProcess, symbolic_log_nested_prior
from pymc_nrm.partitions.flat import IN_ORDER, Sizes, in_order, safe_indices
from pymc_nrm.partitions.kind import Kind
from pymc_nrm.partitions.labels import canonical_columns, canonical_labels
from pymc_nrm.partitions.user_labels import canonical_paths

# Each level has a column of labels, and its own hyperparameters.
_MOST_LEVELS = 100


@kernel
def _draw_paths(rng, n, measure):
    return draw_paths(rng, levels_of(measure), n)


@kernel
def _draw_tables(rng, n, measure, weights):
    gammas = np.concatenate((np.array([weights.gamma_0]), weights.gamma))
    return draw_nested(rng, levels_of(measure), gammas, n)


@kernel
def nested_in_order(paths):
    """Whether each column is numbered from 0 in order of appearance, and each node is part of one node of the column
    before it.
    """
    for column in range(paths.shape[1]):
        if not in_order(paths[:, column]):
            return False
        parents = np.full(paths.shape[0], -1)
        for i in range(paths.shape[0] if column else 0):
            node, parent = paths[i, column], paths[i, column - 1]
            if parents[node] not in (-1, parent):
                return False
            parents[node] = parent
    return True


@kernel
def _test_of_paths(paths):
    return np.asarray(nested_in_order(paths))


class TestOfPaths(KernelOp):
    """Whether labels are those of a tree; see :func:`nested_in_order`."""

    kernel, constant = _test_of_paths, (0,)

    def make_node(self, paths):
        return Apply(self, [pt.as_tensor(paths).astype("int64")], [pt.TensorType("bool", shape=())()])


class Nested(Kind):
    """Nodes of an item at levels 1 to ``depth``, shape (n, depth), each column numbered in order of appearance.

    A node is part of one node of the level above.
    """

    title = "NestedPartition"
    value_core, field_core = "(n,m)", "(l)"
    description = "without weights"
    takes_trees, tree_law = True, base
    only_mixtures = "nested partition {name!r}, which only a Mixture may use"
    progress = ("n_nodes", "Nodes")
    draw = staticmethod(_draw_paths)

    def __init__(self, depth, title="depth of a NestedPartition", key=()):
        check_count(title, depth, 1, _MOST_LEVELS)
        super().__init__(int(depth), *key)
        self.depth = int(depth)
        self.columns = self._columns()

    def _columns(self):
        return [f"level_{level}" for level in range(1, self.depth + 1)]

    def shape(self, n):
        return (n, len(self.columns))

    def coords(self):
        return {"column": self.columns}

    def read(self, point):
        values = np.array(point[self.name], dtype=np.int64, order="C")
        if values.min(initial=0) < 0 or values.max(initial=0) >= len(values):
            return np.column_stack([canonical_labels(column) for column in values.T])
        canonical_columns(values, len(values))
        return values

    def write(self, point, values):
        return {**point, self.name: values}

    def n_nodes(self, labels):
        """Numbers of nodes of levels 1 to depth, from a value, an array or a tensor."""
        return labels[..., : self.depth].max(axis=-2) + 1

    def deterministics(self, labels):
        return {"n_nodes": self.n_nodes(labels)}

    def marks(self):
        return {NESTED: self.depth}

    def symbolic_indices(self, labels, n):
        indices, in_range = safe_indices(labels, n)
        return pt.specify_shape(indices, (None, self.depth)), in_range

    words_of_labels = "nested, and each column numbered from 0 in order of appearance"
    test_of_labels = (nested_in_order,)

    def symbolic_test(self, labels):
        return TestOfPaths()(labels)

    def random_columns(self):
        return {column: (..., place) for place, column in enumerate(self.columns)}

    def renamed(self, labels, n, argument):
        array = numeric_array(argument, labels)
        shapes = {(n, self.depth), self.shape(n)}
        if array.shape not in shapes:
            allowed = " or ".join(map(str, sorted(shapes)))
            raise ValueError(f"{argument} must have shape {allowed}; got shape {array.shape}")
        columns = [canonical_labels(column, argument) for column in np.asarray(array).T]
        for level in range(1, self.depth):
            columns[level] = canonical_labels(columns[level - 1] * (columns[level].max() + 1) + columns[level])
        values = np.column_stack([*columns, *self._default_tables(columns, n)])
        for fine, coarse in self.refinements():
            if not _refines(values[:, fine], values[:, coarse]):
                raise ValueError(
                    f"{argument} must be nested: items that share {self.columns[fine]} must share "
                    f"{self.columns[coarse]}"
                )
        return values

    def _default_tables(self, columns, n):
        """Further columns for the columns that a user has given."""
        return []

    def refinements(self):
        """Pairs of columns of which the first must be finer than the second."""
        return [(level, level - 1) for level in range(1, self.depth)]

    def kernel_prior(self, priors):
        """Return prediction rules of the levels and, with weights, the concentrations of levels 0 to depth."""
        return levels_of(priors[0]), None

    def log_density(self, priors, labels, n):
        return symbolic_log_nested_prior(self, symbolic_levels_of(priors[0]), None, labels, n)


class WeightedNested(Nested):
    """Nodes, then tables at levels ``depth`` to 0; the last table is the component of an item.

    A table is part of one table of the level above, and belongs to one node of its level.
    """

    further_priors = {HierarchicalDirichletProcess: ("(l)", "()")}
    description = "with weights"
    takes_trees = False
    flat_columns = {"components": -1}
    draw = staticmethod(_draw_tables)

    def _columns(self):
        return [*super()._columns(), *(f"table_{level}" for level in range(self.depth, -1, -1))]

    def n_components(self, labels):
        """Number of components of a value, an array or a tensor."""
        return labels[..., -1].max(axis=-1) + 1

    def deterministics(self, labels):
        return {**super().deterministics(labels), "n_components": self.n_components(labels)}

    def cluster_labels(self, labels):
        return labels[:, -1]

    def symbolic_indices(self, labels, n):
        return safe_indices(labels, n)

    words_of_labels, test_of_labels = IN_ORDER, (in_order,)

    def symbolic_test(self, labels):
        return Sizes()(labels, labels.shape[0])[1]

    def _default_tables(self, columns, n):
        # Every node has one table, and there is one component.
        return [*columns[::-1], np.zeros(n, dtype=np.int64)] if len(columns) == self.depth else []

    def refinements(self):
        tables = [2 * self.depth - level for level in range(self.depth + 1)]
        pairs = [(tables[level], level - 1) for level in range(1, self.depth + 1)]
        pairs += [(tables[level], tables[level - 1]) for level in range(1, self.depth + 1)]
        return sorted([*super().refinements(), *pairs])

    def kernel_prior(self, priors):
        measure, weights = priors
        return levels_of(measure), np.concatenate([[weights.gamma_0], weights.gamma])

    def log_density(self, priors, labels, n):
        measure, weights = priors
        gammas = pt.concatenate([weights.gamma_0[None], weights.gamma])
        return symbolic_log_nested_prior(self, symbolic_levels_of(measure), gammas, labels, n)


def _refines(fine, coarse):
    """Whether items with one label of ``fine``, in order of appearance, share their label of ``coarse``."""
    first = np.unique(fine, return_index=True)[1]
    return bool((coarse == coarse[first][fine]).all())


class KnownTree(WeightedNested):
    """Known paths and random tables; columns are as in random trees with weights.

    ``known_paths`` are canonical, shape (n, depth); ``nodes`` are parents and labels of nodes, for each level, as the
    user wrote them.
    """

    field_core = "(n,l)"
    argument = "paths"

    def __init__(self, paths, title="paths of a NestedPartition"):
        self.known_paths, self.nodes = canonical_paths(title, paths)
        self.n_items = len(self.known_paths)
        super().__init__(self.known_paths.shape[1], key=(self.known_paths.tobytes(), repr(self.nodes).encode()))

    def random_columns(self):
        # Known paths are the same in every draw.
        return dict(list(super().random_columns().items())[self.depth :])

    def renamed(self, labels, n, argument):
        values = super().renamed(labels, n, argument)
        if (values[:, : self.depth] != self.known_paths).any():
            raise ValueError(f"{argument} must have the known tree of paths; got another tree")
        return values

    def default_start(self, zeros, priors):
        paths = priors[0].paths
        # Every node has one table, and there is one component.
        return pt.concatenate([paths, paths[:, ::-1], pt.zeros_like(paths[:, :1])], axis=1)
