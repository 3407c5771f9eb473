"""The state of a chain at the driver: exact sums of clusters, and changes of labels that blocks have yet to make."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.features import features
from pymc_nrm.moves.chunks.exact_sums import quanta_of
from pymc_nrm.moves.chunks.passes import largest_statistics, no_changes, read_labels, sum_clusters


class Clusters(NamedTuple):
    """Counts (n_clusters,) and sums of statistics in quanta (n_clusters, size), both int64."""

    counts: Any
    sums: Any


def measured_quanta(engine, preparation):
    """Quanta of the statistics of all rows."""
    return quanta_of(np.max(list(engine.each(largest_statistics, preparation)), axis=0), engine.n_rows)


class Chain:
    """Clusters of the rows of an engine, and what its passes need.

    ``sample`` are row numbers in increasing order, chosen without looking at labels; their values (n_sample, d) and
    labels are at the driver.  ``preparation`` may be replaced by one with other hyperparameters.
    """

    def __init__(self, engine, preparation, sample, sample_values, quanta=None):
        self.engine, self.preparation = engine, preparation
        self.sample, self.sample_values = sample, sample_values
        self.n, self.n_columns = engine.n_rows, sample_values.shape[1]
        self.quanta = measured_quanta(engine, preparation) if quanta is None else quanta
        self.sample_data = preparation(sample_values)
        # Where the rows of the sample are, for proposals that look at near rows.
        self.points = features(self.sample_data, np.random.default_rng(0))
        self._whole = None
        self.reset()

    def reset(self):
        """Put all rows into one cluster."""
        self.engine.reset()
        self.changes = no_changes(1)
        if self._whole is None:
            self._whole = Clusters(*self.engine.run(sum_clusters, (self.changes, self.preparation, self.quanta, 1)))
        self.clusters = self._whole
        self._sample_labels = np.zeros(len(self.sample), dtype=np.int64)
        self.seed, self.call = np.uint64(0), 0

    def restore(self, labels):
        """Give all rows the labels (n,) of an earlier chain, 0 to K - 1."""
        n_clusters = int(labels.max()) + 1
        self.engine.set_labels(labels)
        self.changes = no_changes(n_clusters)
        clusters = self.engine.run(sum_clusters, (self.changes, self.preparation, self.quanta, n_clusters))
        self.set(Clusters(*clusters), self.changes, labels[self.sample].astype(np.int64))

    def begin_sweep(self, rng):
        """Draw the seed of the numbers of rows of a sweep."""
        self.seed, self.call = rng.integers(2**64, dtype=np.uint64), 0

    def next_call(self):
        """Seed and number of another call, which draws numbers of rows of its own."""
        self.call += 1
        return self.seed, self.call

    def take_changes(self):
        """Changes of labels for the next pass."""
        changes, self.changes = self.changes, no_changes(len(self.clusters.counts))
        return changes

    def set(self, clusters, changes, sample_labels=None):
        """Replace the clusters, with changes of labels for the next pass."""
        self.clusters, self.changes, self._sample_labels = clusters, changes, sample_labels

    def statistics(self, sums=None):
        """Statistics of the clusters, or of sums (..., size)."""
        return (self.clusters.sums if sums is None else sums) * self.quanta.quantum

    def sample_labels(self):
        """Labels of the sample, (n_sample,)."""
        if self._sample_labels is None:
            [self._sample_labels] = self.engine.run(read_labels, (self.take_changes(), self.sample))
        return self._sample_labels

    def labels(self):
        """Labels of all rows, (n,)."""
        self.engine.run(read_labels, (self.take_changes(), self.sample))
        return self.engine.labels()
