"""Labels that index parameters: the value of a partition whose clusters own slots."""

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from pymc_nrm.common.checks import numeric_array
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.measures.base import draw_partition
from pymc_nrm.partitions.value import FlatLabels

# Forward draws with too many clusters are drawn again, at most this many times.
MOST_TRIES = 10_000


class SlotLabels(FlatLabels):
    """One slot from 0 to ``max_clusters - 1`` for each item, so that ``slope[labels]`` is the slope of every item.

    All ways of giving different slots to the clusters of a partition have the same probability::

        labels   3  0  0  3  5        clusters {0, 3}, {1, 2}, {4} in slots 3, 0, 5 of 6; slots 1, 2 and 4 are empty
    """

    def __init__(self, name, max_clusters):
        super().__init__(name)
        self.max_clusters = max_clusters

    def read(self, point):
        """Return a copy of the labels at a point."""
        return np.array(point[self.name], dtype=np.int64)

    def write(self, point, labels):
        """Return a copy of the point with these labels."""
        return {**point, self.name: labels}

    def n_clusters(self, labels):
        """Number of occupied slots of labels along the last axis of an array, or of a vector of a graph."""
        if isinstance(labels, Variable):
            return (self.symbolic_counts(labels) > 0).sum()
        return (np.diff(np.sort(labels, axis=-1), axis=-1) > 0).sum(axis=-1) + 1

    def renamed(self, labels, n, argument):
        """Check labels from a user, which keep their slots."""
        values = numeric_array(argument, labels)
        if values.shape != (n,):
            raise ValueError(f"{argument} must hold one label for each of {n} items; got shape {values.shape}")
        wrong = ~np.isfinite(values) | (values != np.floor(values)) | (values < 0) | (values >= self.max_clusters)
        if wrong.any():
            raise ValueError(
                f"{argument} must be whole numbers from 0 to {self.max_clusters - 1}, since labels of a partition with "
                f"max_clusters={self.max_clusters} are indices; got {values[wrong][:5].tolist()}"
            )
        return values.astype(np.int64)

    def symbolic_indices(self, labels, n):
        """Make labels in a graph indices of clusters from 0 to their number - 1, all 0 if a label is out of range. They
        are ranks among the occupied slots.
        """
        slots, in_range = self._safe_slots(labels)
        ranks = pt.cumsum(self.symbolic_counts(slots) > 0) - 1
        return ranks[slots], in_range

    def symbolic_sizes(self, labels, n):
        """Symbolic sizes of clusters, and whether the labels are a valid value of the partition."""
        slots, in_range = self._safe_slots(labels)
        counts = self.symbolic_counts(slots)
        return counts[(counts > 0).nonzero()], pt.and_(in_range, pt.eq(labels.shape[0], n))

    def log_share_of_names(self, n_clusters):
        """Log probability that clusters own just these slots: minus the log number of injections into the slots."""
        K = float(self.max_clusters)
        return pt.gammaln(K + 1.0 - n_clusters) - pt.gammaln(K + 1.0)

    def _safe_slots(self, labels):
        in_range = pt.and_(pt.all(labels >= 0), pt.all(labels < self.max_clusters))
        return pt.switch(in_range, labels, 0), in_range

    def symbolic_counts(self, slots):
        """Numbers of items of all slots, a vector of int64, given the slots of the items, each in range."""
        return pt.zeros(self.max_clusters, dtype="int64")[slots].inc(1)


def labels_of(name, max_clusters):
    """Return the type of the labels of a partition: slots if it has a largest number of clusters."""
    return FlatLabels(name) if max_clusters is None else SlotLabels(name, max_clusters)


@kernel
def draw_slot_labels(measure, n, max_clusters, rng):
    """Draw slots of n items, given that there are at most ``max_clusters`` clusters. All are -1 if every one of 10,000
    draws has more clusters.
    """
    for _ in range(MOST_TRIES):
        labels = draw_partition(measure, n, rng)
        n_clusters = labels.max() + 1
        if n_clusters <= max_clusters:
            # A uniformly random injection of the clusters into the slots.
            slots = np.arange(max_clusters)
            for k in range(n_clusters):
                j = k + rng.integers(0, max_clusters - k)
                slots[k], slots[j] = slots[j], slots[k]
            return slots[labels]
    return np.full(n, -1)


def failed_draw(max_clusters):
    """Message if no forward draw has few enough clusters."""
    return (
        f"none of {MOST_TRIES} draws of a partition from its prior has at most max_clusters={max_clusters} clusters: "
        "raise max_clusters, or choose a prior with fewer clusters"
    )
