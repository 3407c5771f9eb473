"""Flat partitions: one label for each item, numbered in order of appearance, or clusters that own slots."""

import math

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply, Variable

from pymc_nrm.common.checks import check_count, numeric_array
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.kernel_op import KernelOp
from pymc_nrm.measures.base import draw_partition, symbolic_log_eppf
from pymc_nrm.partitions.kind import Kind
from pymc_nrm.partitions.labels import canonical_labels


def safe_indices(labels, n):
    """Labels in a graph, all 0 if any is outside 0 to n - 1, and whether they were in this range."""
    in_range = pt.and_(pt.all(labels >= 0), pt.all(labels < n))
    return pt.switch(in_range, labels, 0), in_range


@kernel
def _read_labels(labels, n):
    """Sizes of clusters, one if labels are out of order; whether they are in order; then :func:`safe_indices`."""
    n_items, n = labels.shape[0], n.item()
    sizes, indices = np.zeros(n_items, dtype=np.int64), np.empty(n_items, dtype=np.int64)
    n_clusters = 0
    in_order = in_range = True
    for i in range(n_items):
        label = labels[i]
        indices[i] = label
        in_range &= 0 <= label < n
        in_order &= 0 <= label <= n_clusters
        if in_order:
            sizes[label] += 1
            n_clusters = max(n_clusters, label + 1)
    if not in_order:
        n_clusters = 1
        sizes[0] = n_items
    if not in_range:
        indices.fill(0)
    return sizes[:n_clusters].copy(), np.asarray(in_order and n_items == n), indices, np.asarray(in_range)


class ReadLabels(KernelOp):
    """Labels in order of appearance as a graph reads them: one operation in place of twenty to compile."""

    kernel = _read_labels

    def make_node(self, labels, n):
        labels = pt.as_tensor(labels).astype("int64")
        truth = pt.TensorType("bool", shape=())
        outputs = [pt.lvector(), truth(), labels.type(), truth()]
        return Apply(self, [labels, pt.as_tensor(n).astype("int64")], outputs)

    def connection_pattern(self, node):
        return [[False] * 4] * 2

    def pullback(self, inputs, outputs, cotangents):
        return [disconnected_type() for _ in inputs]


@kernel
def _draw_labels(rng, n, measure):
    return draw_partition(measure, n, rng)


class Flat(Kind):
    """One label for each item: what kinds of flat partitions share."""

    def shape(self, n):
        return (n,)

    def n_clusters(self, labels):
        """Number of clusters of labels along the last axis of an array or tensor."""
        raise NotImplementedError

    def deterministics(self, labels):
        return {"n_clusters": self.n_clusters(labels)}

    def symbolic_sizes(self, labels, n):
        """Symbolic sizes of clusters as the measure counts them, and whether the labels are a value of this kind."""
        raise NotImplementedError

    def log_share_of_names(self, n_clusters):
        """Log probability of these names of the clusters, given the partition: there are no others."""
        return 0.0

    def log_density(self, priors, labels, n):
        sizes, valid = self.symbolic_sizes(labels, n)
        log_probability = symbolic_log_eppf(priors[0], pt.maximum(sizes, 1)) + self.log_share_of_names(sizes.shape[0])
        return pt.switch(valid, log_probability, -np.inf)


class Ordered(Flat):
    """Labels are numbered from 0 in order of appearance: of all ways of naming the clusters, a model uses this one."""

    only_mixtures = (
        "partition {name!r}, which has no slots: give it max_clusters to index parameters with its labels, or use a "
        "Mixture"
    )
    description, sampled_by = "without max_clusters", "such as TreeGuided samples"
    draw = staticmethod(_draw_labels)

    def read(self, point):
        return canonical_labels(point[self.name])

    def write(self, point, state):
        return {**point, self.name: canonical_labels(state.labels)}

    def n_clusters(self, labels):
        return labels.max(axis=-1) + 1

    def renamed(self, labels, n, argument):
        canonical = canonical_labels(labels, argument)
        if canonical.shape != (n,):
            raise ValueError(f"{argument} must hold one label for each of {n} items; got {len(canonical)}")
        return canonical

    def symbolic_indices(self, labels, n):
        return ReadLabels()(labels, n)[2:]

    def symbolic_sizes(self, labels, n):
        return ReadLabels()(labels, n)[:2]


# Steps keep some numbers for each slot.
_MOST_SLOTS = 10**6
# Forward draws with too many clusters are drawn again, at most this many times.
MOST_TRIES = 10_000


@kernel
def _draw_slots(rng, n, measure, max_clusters):
    """Draw slots of n items given that there are at most ``max_clusters`` clusters; all are -1 if that fails."""
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


class Slots(Flat):
    """One slot from 0 to ``max_clusters - 1`` for each item, so that ``slope[labels]`` is the slope of every item.

    All ways of giving different slots to the clusters of a partition have the same probability::

        labels   3  0  0  3  5        clusters {0, 3}, {1, 2}, {4} in slots 3, 0, 5 of 6; slots 1, 2 and 4 are empty
    """

    description, sampled_by = "with max_clusters", "for SlotGibbs, which nrm.sample chooses"
    draw = staticmethod(_draw_slots)

    def __init__(self, max_clusters, title="max_clusters of a Partition"):
        check_count(title, max_clusters, 1, _MOST_SLOTS)
        super().__init__(int(max_clusters))
        self.max_clusters = int(max_clusters)
        self.draw_options = self.key
        self.failed_draw = (
            f"none of {MOST_TRIES} draws of a partition from its prior has at most max_clusters={max_clusters} "
            "clusters: raise max_clusters, or choose a prior with fewer clusters"
        )

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
                f"max_clusters={self.max_clusters} are indices; got {values[wrong][:5].tolist()}"
            )
        return values.astype(np.int64)

    def symbolic_indices(self, labels, n):
        slots, in_range = safe_indices(labels, self.max_clusters)
        ranks = pt.cumsum(self.symbolic_counts(slots) > 0) - 1
        return ranks[slots], in_range

    def symbolic_sizes(self, labels, n):
        slots, in_range = safe_indices(labels, self.max_clusters)
        counts = self.symbolic_counts(slots)
        return counts[(counts > 0).nonzero()], pt.and_(in_range, pt.eq(labels.shape[0], n))

    def log_share_of_names(self, n_clusters):
        """Log probability that clusters own just these slots: minus the log number of injections into the slots."""
        # PyTensor would compute the second term in single precision.
        K = float(self.max_clusters)
        return pt.gammaln(K + 1.0 - n_clusters) - math.lgamma(K + 1.0)

    def symbolic_counts(self, slots):
        """Numbers of items of all slots, a vector of int64, given the slots of the items, each in range."""
        return pt.zeros(self.max_clusters, dtype="int64")[slots].inc(1)
