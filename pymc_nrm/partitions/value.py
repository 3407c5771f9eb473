"""The value of a partition in a model: its shape, its canonical form, and how points hold it."""

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.partitions.clusters import ordered_labels
from pymc_nrm.partitions.labels import canonical_labels

_TYPES = (np.uint8, np.uint16, np.uint32)


class FlatLabels:
    """One label for each item, numbered from 0 in order of appearance.

    Labels are names of clusters.  Of all ways to name the clusters of a partition this one is its value in a model.

    Parameters
    ----------
    name : str
        Name of the partition, under which points hold its value.

    Examples
    --------
    >>> value = FlatLabels("z")
    >>> labels = value.read({"z": np.array([4, 4, 1])})
    >>> labels.tolist(), int(value.n_clusters(labels))
    ([0, 0, 1], 2)
    """

    def __init__(self, name):
        self.name = name

    @staticmethod
    def shape(n):
        """Shape of the value of a partition of n items."""
        return (n,)

    def read(self, point):
        """Labels at a point, as int64; those of a start may have been out of order."""
        return canonical_labels(point[self.name])

    def write(self, point, state):
        """The point with the clusters of a state in place of its own."""
        return {**point, self.name: ordered_labels(state)}

    @staticmethod
    def n_clusters(labels):
        """Number of clusters along the last axis of an array or a tensor."""
        return labels.max(axis=-1) + 1

    @staticmethod
    def renamed(labels, n, argument):
        """Labels of a user in canonical form.

        Parameters
        ----------
        labels : array_like of int, shape (n,)
            Equal integers mean the same cluster.
        n : int
        argument : str
            What messages call them.

        Returns
        -------
        ndarray of int64, shape (n,)

        Raises
        ------
        TypeError, ValueError
            If they are not one whole number for each item.
        """
        canonical = canonical_labels(labels, argument)
        if canonical.shape != FlatLabels.shape(n):
            raise ValueError(f"{argument} must hold one label for each of {n} items; got {len(canonical)}")
        return canonical

    @staticmethod
    def symbolic_indices(labels, n):
        """Labels in a graph that may index arrays: zeros in place of labels outside of 0 to n - 1.

        Kernels and graphs check no bounds.  Steps that know nothing of partitions, as of ``pm.sample_smc``, propose any
        whole numbers.

        Parameters
        ----------
        labels : vector of int64
            Any whole numbers.
        n : scalar of int64

        Returns
        -------
        indices : vector of int64
        in_range : scalar of bool
            Whether they are the labels themselves.
        """
        in_range = pt.and_(pt.all(labels >= 0), pt.all(labels < n))
        return pt.switch(in_range, labels, 0), in_range

    @staticmethod
    def symbolic_sizes(labels, n):
        """Sizes of clusters in a graph, and whether the labels are a value of the partition.

        Parameters
        ----------
        labels : vector of int64
            Any whole numbers.
        n : scalar of int64

        Returns
        -------
        sizes : vector of int64
            One entry for each cluster, all above 0 where the labels are a value.
        valid : scalar of bool
        """
        indices, in_range = FlatLabels.symbolic_indices(labels, n)
        n_clusters = FlatLabels.n_clusters(indices)
        sizes = pt.zeros(n_clusters, dtype="int64")[indices].inc(1)
        # Writing positions from the last to the first leaves the first appearance of every label.
        positions = pt.arange(labels.shape[0])[::-1]
        first = pt.zeros(n_clusters, dtype="int64")[indices[::-1]].set(positions)
        ordered = pt.and_(in_range, pt.and_(pt.all(sizes > 0), pt.all(first[1:] > first[:-1])))
        return sizes, pt.and_(ordered, pt.eq(labels.shape[0], n))


def smallest_type(largest):
    """The smallest unsigned type that holds labels up to this one.

    Examples
    --------
    >>> smallest_type(255).__name__, smallest_type(256).__name__
    ('uint8', 'uint16')
    """
    return next(dtype for dtype in _TYPES if largest <= np.iinfo(dtype).max)
