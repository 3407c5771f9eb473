"""The state of a chain at the driver: exact sums of clusters, and pending changes of labels in blocks."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import Centred, add_item, prepare_data, statistics_size
from pymc_nrm.families.components import add_densities_of_items, component_panel, write_component
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.families.features import features
from pymc_nrm.families.gaps import check_filled
from pymc_nrm.families.product import product_data
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.moves.chunks.exact_sums import move_rows, quanta_of
from pymc_nrm.moves.chunks.rows_in_lanes import draw_columns, draw_uniforms, take_items


class Changes(NamedTuple):
    """Changes of labels that the next pass makes first: a row of cluster k and side s gets label ``target[k, s]``, and
    then the rows ``rows``, in increasing order, get the labels ``labels``.
    """

    target: Any
    rows: Any
    labels: Any


def no_changes(n_clusters, new_names=None):
    """Changes that only rename clusters, if any."""
    names = np.arange(n_clusters) if new_names is None else new_names
    return Changes(np.stack([names, names], axis=1), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


class Preparation(NamedTuple):
    """A family, with hyperparameters of full shape, and the centre and grid that the data of all blocks share; None for
    families whose data have neither.  ``places`` are its columns, or None for all.
    """

    family: Any
    center: Any = None
    grid: Any = None
    places: Any = None

    def __call__(self, values):
        """Rows (m, d) as kernels read them."""
        values = values if self.places is None else np.ascontiguousarray(values[:, self.places])
        check_filled(type(self.family), values, "rows in chunks")
        if self.center is None:
            data = prepare_data(self.family, values)
            return data if self.grid is None else data._replace(grid=self.grid)
        return Centred(values - self.center, self.center, self.grid)

    def is_like(self, other):
        """Whether both prepare data in the same way; hyperparameters may differ."""
        same = isinstance(other, Preparation) and all(
            field is other_field for field, other_field in zip(self[1:], other[1:], strict=True)
        )
        return type(self.family) is type(other.family) and same


class Preparations(NamedTuple):
    """The family of all mixtures of a partition, and how the data of each are prepared."""

    family: Any
    parts: Any

    def __call__(self, values):
        """Rows (m, d) as kernels read them."""
        return product_data([part(values) for part in self.parts])

    def is_like(self, other):
        """Whether both prepare data in the same way; hyperparameters may differ."""
        return self.parts is getattr(other, "parts", None)


class Block:
    """Rows ``first`` to ``first + n - 1``, their labels and sides, and the positions of the rows of the sample among
    them.

    ``read`` returns the values (n, d), float64.  ``kept`` says whether prepared data stay in memory.
    """

    def __init__(self, first, n, read, kept=True):
        self.first, self.n, self.read, self.kept = first, n, read, kept
        self.labels, self.sides = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int8)
        self._preparation, self._data = None, None

    def unread(self):
        """Return the block without its reader, for another process."""
        return Block(self.first, self.n, None, kept=False)

    def reset(self):
        """Put all rows into one cluster."""
        self.labels.fill(0)
        self.sides.fill(0)

    def data(self, preparation):
        """The rows as kernels read them."""
        if not self.kept:
            return preparation(self.read())
        if self._preparation is None or not preparation.is_like(self._preparation):
            self._data = preparation(self.read())
        self._preparation = preparation
        return self._data

    def slice_of(self, rows):
        """The slice of increasing row numbers that are in this block."""
        return slice(*np.searchsorted(rows, [self.first, self.first + self.n]))

    def begin(self, changes):
        """Make the pending changes of labels."""
        make_changes(self.labels, self.sides, changes.target)
        here = self.slice_of(changes.rows)
        self.labels[changes.rows[here] - self.first] = changes.labels[here]

    def labels_of(self, rows):
        """Labels of increasing row numbers, and 0 for rows of other blocks."""
        labels, here = np.zeros(len(rows), dtype=np.int64), self.slice_of(rows)
        labels[here] = self.labels[rows[here] - self.first]
        return labels


@kernel(threaded=True)
def make_changes(labels, sides, target):
    """Give rows the labels of ``target`` (n_clusters, n_sides), and side 0."""
    changes = False
    for k in range(target.shape[0]):
        for side in range(target.shape[1]):
            changes |= target[k, side] != k
    for i in range(labels.shape[0] if changes else 0):
        labels[i] = target[labels[i], sides[i]]
    sides.fill(0)


class Atoms(NamedTuple):
    """Atoms above the level: parameters (n_atoms, size) and logarithms of jumps (n_atoms,).

    ``names[k]`` is the new label of the rows of cluster k, or -1 if they draw one of the atoms; ``atom_of_cluster[k]``
    is then the atom of the cluster, or -1 if it has none.
    """

    names: Any
    atom_of_cluster: Any
    parameters: Any
    log_jumps: Any


@shared_kernel(components=True, inner_loop=True, threaded=True)
def relabel_rows(labels, before, first, family, data, atoms, seed, call):
    """Draw the labels (n,) of the rows whose atoms are above the level, and write their previous atoms, -1 for none,
    into ``before`` (n,), or the new label of other rows.
    """
    n_atoms, n_drawing, drawing = atoms.log_jumps.shape[0], 0, np.empty(labels.shape[0], dtype=np.int32)
    for row in range(labels.shape[0]):
        name, before[row] = atoms.names[labels[row]], atoms.atom_of_cluster[labels[row]]
        if name >= 0:
            labels[row] = before[row] = name
        else:
            drawing[n_drawing] = row
            n_drawing += 1
    width = (n_atoms + LANES - 1) // LANES * LANES
    panel, values = component_panel(family, width), np.empty((n_atoms, LANES))
    words, uniforms = np.empty((4, LANES), np.uint64), np.empty(LANES)
    for k in range(n_atoms):
        write_component(family, atoms.parameters[k], panel, k)
    items, likely, chosen = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)
    for begin in range(0, n_drawing, LANES):
        n_here = take_items(drawing, begin, n_drawing, items)
        if n_atoms > 1:
            for lane in range(LANES):
                likely[lane] = max(before[items[lane]], 0)
            draw_uniforms(seed, call, first, items, words, uniforms)
            for k in range(n_atoms):
                for lane in range(LANES):
                    values[k, lane] = atoms.log_jumps[k]
            add_densities_of_items(family, panel, data, items, n_atoms, values)
            draw_columns(uniforms, values, n_atoms, likely, chosen)
        for lane in range(n_here):
            labels[items[lane]] = chosen[lane]


def relabel(block, message):
    """Draw labels given atoms; return the changes of their counts and sums, and the labels of the sample."""
    changes, preparation, quanta, atoms, seed, call, sample = message
    block.begin(changes)
    data, before = block.data(preparation), np.empty(block.n, dtype=np.int32)
    relabel_rows(block.labels, before, block.first, preparation.family, data, atoms, seed, call)
    counts, sums = moved(block, before, block.labels, preparation.family, data, quanta, len(atoms.log_jumps))
    return counts, sums, block.labels_of(sample)


def moved(block, before, after, family, data, quanta, n_clusters):
    """Changes of the counts (n_clusters,) and sums (n_clusters, size) of clusters by :func:`move_rows`."""
    counts, sums = np.zeros(n_clusters, dtype=np.int64), np.zeros((n_clusters, len(quanta.quantum)), dtype=np.int64)
    if not move_rows(before, after, family, data, quanta, counts, sums):
        raise ValueError(
            f"rows {block.first} to {block.first + block.n - 1} must not change during a run: their statistics are "
            "larger than when they were first read"
        )
    return counts, sums


def gather_rows(block, message):
    """Labels (m,) and values (m, d) of increasing row numbers."""
    changes, rows, n_columns = message
    block.begin(changes)
    values, here = np.zeros((len(rows), n_columns)), block.slice_of(rows)
    values[here] = block.read()[rows[here] - block.first]
    return block.labels_of(rows), values


def read_labels(block, message):
    """Labels (m,) of increasing row numbers, after the changes."""
    changes, rows = message
    block.begin(changes)
    return (block.labels_of(rows),)


def sum_clusters(block, message):
    """Counts (n_clusters,) and sums (n_clusters, size) of the labels after the changes."""
    changes, preparation, quanta, n_clusters = message
    block.begin(changes)
    family, data = preparation.family, block.data(preparation)
    return moved(block, np.full(block.n, -1, dtype=np.int32), block.labels, family, data, quanta, n_clusters)


def rounded_rows(preparation, data, n, quanta):
    """Statistics of n prepared rows as numbers of quanta, int64 (n, size)."""
    rows = np.arange(n, dtype=np.int32)
    _, sums = moved(Block(0, n, None), np.full_like(rows, -1), rows, preparation.family, data, quanta, n)
    return sums


def largest_values(block, preparation):
    """Largest absolute values of the features (d,) of the rows of a block, as kernels read them; 0 without any."""
    return np.fmax.reduce(np.abs(block.data(preparation).values), axis=0, initial=0.0)


def largest_statistics(block, preparation):
    """Largest absolute statistics of the rows of a block (size,)."""
    largest = np.zeros(statistics_size(preparation.family))
    find_largest(block.n, preparation.family, block.data(preparation), largest)
    return largest


@shared_kernel(threaded=True)
def find_largest(n, family, data, largest):
    """Write the largest absolute statistics of n rows."""
    memory = np.zeros(largest.shape[0])
    for i in range(n):
        memory.fill(0.0)
        add_item(family, memory, data, i, 1.0)
        for j in range(largest.shape[0]):
            largest[j] = max(largest[j], abs(memory[j]))


class Clusters(NamedTuple):
    """Counts (n_clusters,) and sums of statistics in quanta (n_clusters, size), both int64."""

    counts: Any
    sums: Any


def measured_quanta(engine, preparation):
    """Quanta of the statistics of all rows."""
    return quanta_of(np.max(list(engine.each(largest_statistics, preparation)), axis=0), engine.n_rows)


class Chain:
    """Clusters of the rows of an engine, and the state of its passes.

    ``sample`` are row numbers in increasing order, chosen independently of labels; their values (n_sample, d) and
    labels are at the driver.  ``preparation`` may be replaced by one with other hyperparameters.
    """

    def __init__(self, engine, preparation, sample, sample_values, quanta=None):
        self.engine, self.preparation = engine, preparation
        self.sample, self.sample_values = sample, sample_values
        self.n, self.n_columns = engine.n_rows, sample_values.shape[1]
        self.quanta = measured_quanta(engine, preparation) if quanta is None else quanta
        self.sample_data = preparation(sample_values)
        # Positions of the rows of the sample, for proposals that use near rows; distances are computed by column.
        self.points = np.asfortranarray(features(self.sample_data, np.random.default_rng(0)))
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
        """Draw the seed for the random numbers of the rows of a sweep."""
        self.seed, self.call = rng.integers(2**64, dtype=np.uint64), 0

    def next_call(self):
        """Seed and number of another call, for which rows have new random numbers."""
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
