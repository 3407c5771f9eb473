"""Flat partitions of items in groups that always share a cluster: twins, repeated measurements, must-links.

The measure is the prior of the partition of the *groups*: each counts once, whatever its size, and a single item is a
group of one.  The data of a group are the data of all its items.  This prior needs no constant, unlike the distribution
of a partition of all items given that groups stay together, whose constant depends on hyperparameters.  Kernels of
steps see groups instead of items, see ``grouped.py``.
"""

from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.measures.base import draw_partition
from pymc_nrm.partitions.flat import Ordered
from pymc_nrm.partitions.grouped import Grouped, grouped_rows
from pymc_nrm.partitions.user_labels import canonical_paths


class Groups(NamedTuple):
    """Group of each item, numbered in order of appearance: an input of the random variable."""

    # Int64 of shape (n,).
    groups: Any


@kernel
def _draw_groups(rng, n, measure, groups):
    return draw_partition(measure, groups.groups.max() + 1, rng)[groups.groups]


class Together(Ordered):
    """Items of one group share their cluster; the measure counts groups.

    ``groups`` are whole numbers or strings, one for each item.
    """

    further_priors = {Groups: ("(n)",)}
    only_mixtures = "partition {name!r}, some of whose items stay together: use a Mixture"
    draw = staticmethod(_draw_groups)

    argument = "together"

    def __init__(self, groups, title="together of a Partition"):
        paths, _ = canonical_paths(title, groups)
        self.groups = paths[:, -1].copy()
        self.n_items, self._sizes = len(self.groups), np.bincount(self.groups)
        self._rows = grouped_rows(None, self.groups, len(self._sizes))
        self.first = self._rows.members[self._rows.start[:-1]]
        super().__init__(self.groups.tobytes())

    def further_fields(self, n):
        return [pt.constant(self.groups)]

    def read(self, point):
        return super().read(point)[self.first]

    def write(self, point, state):
        point = super().write(point, state)
        return {**point, self.name: self.of_items(point[self.name])}

    def of_items(self, labels):
        return labels[self.groups]

    def kernel_parts(self, family, data):
        return Grouped(family), self._rows._replace(rows=data)

    def renamed(self, labels, n, argument):
        canonical = super().renamed(labels, n, argument)
        apart = canonical != self.of_items(canonical[self.first])
        if apart.any():
            item = int(np.argmax(apart))
            raise ValueError(
                f"{argument} must have one label for each group of together; items {self.first[self.groups[item]]} and "
                f"{item} are in one group"
            )
        return canonical

    def symbolic_sizes(self, labels, n):
        # Another number of labels is not a value, but must not be read beyond their end.
        items = labels[pt.minimum(np.arange(len(self.groups)), labels.shape[0] - 1)]
        sizes, valid = super().symbolic_sizes(items[self.first], len(self.first))
        together = pt.all(pt.eq(items, items[self.first[self.groups]]))
        return sizes, valid & together & pt.eq(labels.shape[0], n)

    def counts(self, labels):
        return super().counts(labels[self.first])

    def log_join_others(self, labels, join):
        # The other items of its group determine the cluster of an item.
        told = self._sizes[self.groups] > 1
        join[told] = -np.inf
        join[told, labels[told]] = 0.0
        return join
