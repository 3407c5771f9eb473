"""The value of a partition in a model: its shape, its canonical form, and how to read and write it at a point."""

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.partitions.clusters import ordered_labels
from pymc_nrm.partitions.labels import canonical_labels

_TYPES = (np.uint8, np.uint16, np.uint32)


class FlatLabels:
    """One label for each item, numbered from 0 in order of appearance.

    Labels are names of clusters.  Among all ways of naming the clusters of a partition, a model uses only this one.
    """

    def __init__(self, name):
        self.name = name

    @staticmethod
    def shape(n):
        """Shape of the value of a partition of n items."""
        return (n,)

    # Number of slots of a partition whose labels index parameters.
    max_clusters = None

    def read(self, point):
        """Return the canonical labels at a point; those of a start may be in another order."""
        return canonical_labels(point[self.name])

    def write(self, point, state):
        """Return a copy of the point with the labels of a state."""
        return {**point, self.name: ordered_labels(state)}

    @staticmethod
    def n_clusters(labels):
        """Number of clusters of labels along the last axis of an array or tensor."""
        return labels.max(axis=-1) + 1

    @staticmethod
    def renamed(labels, n, argument):
        """Bring labels from a user to canonical form, and check that there is one for each item."""
        canonical = canonical_labels(labels, argument)
        if canonical.shape != FlatLabels.shape(n):
            raise ValueError(f"{argument} must hold one label for each of {n} items; got {len(canonical)}")
        return canonical

    @staticmethod
    def log_share_of_names(n_clusters):
        """Log probability of these names of the clusters, given the partition: there are no others."""
        return 0.0

    @staticmethod
    def symbolic_indices(labels, n):
        """Make labels in a graph safe as indices: all become 0 if any is outside 0 to n - 1.

        Neither kernels nor graphs check bounds, and samplers that know nothing about partitions, such as
        ``pm.sample_smc``, may propose any whole numbers. ``in_range`` says whether all labels are from 0 to n - 1, so
        that ``indices`` equals ``labels``.
        """
        in_range = pt.and_(pt.all(labels >= 0), pt.all(labels < n))
        return pt.switch(in_range, labels, 0), in_range

    @staticmethod
    def symbolic_sizes(labels, n):
        """Symbolic sizes of clusters, and whether the labels are a valid value of the partition. All sizes are positive
        if the labels are n canonical labels.
        """
        indices, in_range = FlatLabels.symbolic_indices(labels, n)
        n_clusters = FlatLabels.n_clusters(indices)
        sizes = pt.zeros(n_clusters, dtype="int64")[indices].inc(1)
        # Later writes win, so writing positions from last to first leaves the first appearance of every label.
        positions = pt.arange(labels.shape[0])[::-1]
        first = pt.zeros(n_clusters, dtype="int64")[indices[::-1]].set(positions)
        ordered = pt.and_(in_range, pt.and_(pt.all(sizes > 0), pt.all(first[1:] > first[:-1])))
        return sizes, pt.and_(ordered, pt.eq(labels.shape[0], n))


def smallest_type(largest):
    """Return the smallest unsigned integer type that holds labels from 0 to ``largest``."""
    return next(dtype for dtype in _TYPES if largest <= np.iinfo(dtype).max)
