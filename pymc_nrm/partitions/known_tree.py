"""Nested partitions whose tree is known: groups, or groups within groups, with weights over shared components."""

import pytensor.tensor as pt

from pymc_nrm.partitions.nested import WeightedNested
from pymc_nrm.partitions.nested_laws.levels import canonical_paths


class KnownTree(WeightedNested):
    """Paths are known and tables are random; columns are those of random trees with weights.

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
            raise ValueError(f"{argument} must have the known tree, that of paths; it has another one")
        return values

    def default_start(self, zeros, priors):
        paths = priors[0].paths
        # Every node has one table, and there is one component.
        return pt.concatenate([paths, paths[:, ::-1], pt.zeros_like(paths[:, :1])], axis=1)
