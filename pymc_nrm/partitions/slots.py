"""Flat partitions whose clusters occupy slots, so that labels index parameters."""

import math

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from pymc_nrm.common.checks import check_count, numeric_array
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.measures.base import draw_partition
from pymc_nrm.partitions.flat import Flat, below, safe_indices

# Steps store a row of numbers for each slot.
_MOST_SLOTS = 10**6
# Forward draws with too many clusters are repeated, at most this many times.
MOST_TRIES = 10_000


@kernel
def _draw_slots(rng, n, measure, max_clusters):
    """Draw slots of n items given at most ``max_clusters`` clusters; all are -1 if that fails."""
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


def log_share_of_slots(max_clusters, n_clusters):
    """Log probability that clusters occupy exactly these slots: minus the log number of injections into slots."""
    # PyTensor would compute the second term in single precision.
    K = float(max_clusters)
    return pt.gammaln(K + 1.0 - n_clusters) - math.lgamma(K + 1.0)


class IndexLabels(Flat):
    """One label from 0 to ``max_clusters - 1`` for each item, as an index of parameters; base of three kinds."""

    # The argument of users that determines the number of labels, and what one label stands for.
    argument_of_slots, one_label = "max_clusters", "cluster"
    why_not_fused = "labels index parameters"

    def __init__(self, max_clusters, title):
        check_count(title, max_clusters, 1, _MOST_SLOTS)
        super().__init__(int(max_clusters))
        self.max_clusters = int(max_clusters)
        self.words_of_labels = f"whole numbers from 0 to {self.max_clusters - 1}"
        self.test_of_labels = below, self.max_clusters

    def read(self, point):
        return np.array(point[self.name], dtype=np.int64)

    def write(self, point, labels):
        return {**point, self.name: labels}

    def n_clusters(self, labels):
        if isinstance(labels, Variable):
            return (self.symbolic_counts(labels) > 0).sum()
        return (np.diff(np.sort(labels, axis=-1), axis=-1) > 0).sum(axis=-1) + 1

    def renamed(self, labels, n, argument):
        values = numeric_array(argument, labels)
        if values.shape != (n,):
            raise ValueError(f"{argument} must hold one label for each of {n} items; got shape {values.shape}")
        wrong = ~np.isfinite(values) | (values != np.floor(values)) | (values < 0) | (values >= self.max_clusters)
        if wrong.any():
            raise ValueError(
                f"{argument} must be whole numbers from 0 to {self.max_clusters - 1}, since labels of a partition with "
                f"{self.max_clusters} {self.places} are indices; got {values[wrong][:5].tolist()}"
            )
        return values.astype(np.int64)

    def symbolic_indices(self, labels, n):
        slots, in_range = safe_indices(labels, self.max_clusters)
        ranks = pt.cumsum(self.symbolic_counts(slots) > 0) - 1
        return ranks[slots], in_range

    def symbolic_test(self, labels):
        return safe_indices(labels, self.max_clusters)[1]

    def symbolic_counts(self, slots):
        """Numbers of items of all slots, a vector of int64, given the slots of the items, each in range."""
        return pt.zeros(self.max_clusters, dtype="int64")[slots].inc(1)


class SlotLabels(IndexLabels):
    """Labels of exchangeable slots, whose parameters :class:`~pymc_nrm.steps.SlotNUTS` samples."""

    places = "slots"


class Slots(SlotLabels):
    """One slot from 0 to ``max_clusters - 1`` for each item, so that ``slope[labels]`` is the slope of every item.

    All assignments of different slots to the clusters of a partition have the same probability::

        labels   3  0  0  3  5        clusters {0, 3}, {1, 2}, {4} in slots 3, 0, 5 of 6; slots 1, 2 and 4 are empty
    """

    description, sampled_by = "with max_clusters", "for SlotGibbs, which nrm.sample chooses"
    draw = staticmethod(_draw_slots)

    def __init__(self, max_clusters, title="max_clusters of a Partition"):
        super().__init__(max_clusters, title)
        self.draw_options = self.key
        self.failed_draw = (
            f"none of {MOST_TRIES} draws of a partition from its prior has at most max_clusters={max_clusters} "
            "clusters: raise max_clusters, or choose a prior with fewer clusters"
        )

    def symbolic_sizes(self, labels, n):
        slots, in_range = safe_indices(labels, self.max_clusters)
        counts = self.symbolic_counts(slots)
        return counts[(counts > 0).nonzero()], pt.and_(in_range, pt.eq(labels.shape[0], n))

    def log_share_of_names(self, n_clusters):
        return log_share_of_slots(self.max_clusters, n_clusters)
