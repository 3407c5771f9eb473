"""Flat partitions: one label for each item, numbered in order of appearance."""

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply
from pytensor.tensor.basic import get_underlying_scalar_constant_value

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.kernel_op import KernelOp, number_as_input
from pymc_nrm.measures.base import draw_partition, symbolic_log_eppf
from pymc_nrm.partitions.kind import Kind
from pymc_nrm.partitions.labels import canonical_labels

# What labels of clusters without slots must be, in messages.
IN_ORDER = "numbered from 0 in order of appearance, as pandas.factorize(labels)[0] numbers them"


def safe_indices(labels, n):
    """Labels in a graph, all 0 if any is outside 0 to n - 1, and whether all were in this range."""
    in_range = pt.and_(pt.all(labels >= 0), pt.all(labels < n))
    return pt.switch(in_range, labels, 0), in_range


@kernel
def in_order(labels):
    """Whether labels are numbered from 0 in order of appearance."""
    n_clusters = 0
    for i in range(labels.shape[0]):
        if not 0 <= labels[i] <= n_clusters:
            return False
        n_clusters = max(n_clusters, labels[i] + 1)
    return True


@kernel
def below(labels, n_labels):
    """Whether labels are from 0 to ``n_labels - 1``."""
    is_below = True
    for i in range(labels.shape[0]):
        is_below &= 0 <= labels[i] < n_labels
    return is_below


@kernel
def _sizes(labels, n):
    """Sizes of clusters, a single size if labels are out of order, and whether they are in order."""
    n_items, n_clusters, in_order, n_known = labels.shape[0], 0, True, n.item()
    sizes = np.zeros(n_items, dtype=np.int64)
    for i in range(n_items):
        label = labels[i]
        if label >= n_clusters:
            in_order &= label == n_clusters
            n_clusters += 1
        in_order &= label >= 0
        sizes[label if in_order else 0] += 1
    if not in_order:
        n_clusters = 1
        sizes[0] = n_items
    return sizes[:n_clusters].copy(), np.asarray(in_order and n_items == n_known)


@kernel
def _indices(labels, n):
    """Kernel of :func:`safe_indices`."""
    in_range, n_known = True, n.item()
    for i in range(labels.shape[0]):
        in_range &= 0 <= labels[i] < n_known
    indices = np.ascontiguousarray(labels)
    if not in_range:
        indices = np.zeros(labels.shape[0], dtype=np.int64)
    return indices, np.asarray(in_range)


class _ReadLabels(KernelOp):
    """One operation instead of twenty to compile; NUTS, which evaluates it most, pays for each pass over labels."""

    constant = (0, 1)

    def make_node(self, labels, n):
        labels, n = pt.as_tensor(labels).astype("int64"), pt.as_tensor(n).astype("int64")
        known = get_underlying_scalar_constant_value(n, raise_not_constant=False)
        n = n if known is n else number_as_input(int(known))
        return Apply(self, [labels, n], [self.first_output(labels), pt.TensorType("bool", shape=())()])


class Sizes(_ReadLabels):
    """Sizes of clusters of labels in order of appearance, and whether they are in this order."""

    kernel = _sizes

    def first_output(self, labels):
        return pt.lvector()


class Indices(_ReadLabels):
    """Labels unchanged, or all 0 if any is outside 0 to n - 1, and whether all were in this range."""

    kernel = _indices
    # Labels are not copied.
    view_map = {0: [0]}

    def first_output(self, labels):
        return labels.type()


@kernel
def _draw_labels(rng, n, measure):
    return draw_partition(measure, n, rng)


class Flat(Kind):
    """One label for each item: base of the kinds of flat partitions."""

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
        """Log probability of these labels of the clusters, given the partition: no others are possible."""
        return 0.0

    def log_density(self, priors, labels, n):
        sizes, valid = self.symbolic_sizes(labels, n)
        log_probability = symbolic_log_eppf(priors[0], pt.maximum(sizes, 1)) + self.log_share_of_names(sizes.shape[0])
        return pt.switch(valid, log_probability, -np.inf)


class InOrder(Flat):
    """Labels numbered from 0 in order of appearance: the one labelling of a partition that a model uses."""

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
        return Indices()(labels, n)

    words_of_labels, test_of_labels = IN_ORDER, (in_order,)

    def symbolic_test(self, labels):
        return Sizes()(labels, labels.shape[0])[1]


class Ordered(InOrder):
    """Clusters without slots, whose items are exchangeable: the kind of a partition without options."""

    only_mixtures = (
        "partition {name!r}, which has no slots: give it max_clusters to index parameters with its labels, or use a "
        "Mixture"
    )
    description, sampled_by = "without max_clusters", "such as TreeGuided samples"
    draw = staticmethod(_draw_labels)

    def units_of_every_start(self):
        """Items, as kernels see them, that a chain on a subset of the items must hold to start a chain on all."""
        return np.empty(0, dtype=np.int64)

    # Whether items may be in any cluster, or only in the clusters of the units of every start.
    opens_clusters = True

    def with_new_clusters(self, family):
        """The family of :meth:`kernel_parts` for guide trees, which may divide items into any clusters."""
        return family

    def symbolic_sizes(self, labels, n):
        return Sizes()(labels, n)
